# SPDX-License-Identifier: Apache-2.0
"""Real robots and generated trees in this library and in MuJoCo, for comparisons."""

import functools

import pytest

from support import robots, trees

TREES = {
    "chain-hinge": {"nb": 8, "kinds": ("revolute",), "seed": 1},
    "chain-slide": {"nb": 5, "kinds": ("prismatic",), "seed": 2},
    "tree-mixed": {"nb": 12, "branching": 2.0, "kinds": trees.SIMPLE, "seed": 3, "damping": 0.5},
    "tree-planar": {"nb": 6, "branching": 1.5, "kinds": ("planar", "revolute"), "seed": 4},
    "tree-ball": {"nb": 7, "branching": 1.5, "kinds": ("spherical", "revolute"), "seed": 5},
    "tree-free-inside": {"nb": 6, "branching": 2.0, "kinds": ("floating", "revolute"), "seed": 6},
    "tree-all": {
        "nb": 15,
        "branching": 1.7,
        "kinds": trees.ALL,
        "seed": 7,
        "damping": 0.3,
        "shuffle": False,
    },
    "tree-fixed": {"nb": 10, "branching": 1.6, "kinds": ("revolute", "fixed"), "seed": 8},
}
BASES = {"fixed": False, "floating": True}

each_base = pytest.mark.parametrize("base", BASES)


@functools.cache
def tree(name):
    """Return the Description of a generated tree."""
    return trees.auto_tree(**TREES[name])


def tree_pair(name, base):
    from support import mujoco_twin

    description = tree(name)
    theirs = mujoco_twin.from_description(description, BASES[base])
    return trees.build(description, BASES[base]), theirs


#: Robots whose URDF MuJoCo reads differently, with the reason.
MISREAD = {"bolt.urdf": "MuJoCo drops the inertia of a fixed link without mass (FL_FOOT)"}


def robot_pair(path, base):
    """Return our Model and MuJoCo's model of a robot, or skip the test with MuJoCo's reason."""
    from support import mujoco_twin

    if path.name in MISREAD:
        pytest.skip(MISREAD[path.name])
    try:
        theirs = mujoco_twin.from_urdf(path, BASES[base])
    except mujoco_twin.RefusedError as reason:
        pytest.skip(f"MuJoCo refuses the robot: {reason}")
    return robots.load(path, BASES[base]), theirs
