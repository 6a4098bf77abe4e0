# SPDX-License-Identifier: Apache-2.0
"""Generated trees and real robots in random states, with forces on joints and bodies."""

from dataclasses import dataclass

import numpy as np
from support import robots, states, trees

import rbdyn_ros as rb
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.textbook.spatial import Array
from rbdyn_ros.textbook.system import System

SIMPLE = {
    f"{label}-n{nb}-b{branching}": {"nb": nb, "branching": branching, "kinds": kinds, "seed": seed}
    for seed, (label, kinds, nb, branching) in enumerate(
        [
            ("hinge", trees.HINGES, 1, 1.0),
            ("hinge", trees.HINGES, 7, 1.0),
            ("hinge", trees.HINGES, 15, 2.0),
            ("slide", ("prismatic",), 5, 1.0),
            ("mixed", trees.SIMPLE, 6, 1.0),
            ("mixed", trees.SIMPLE, 13, 1.6),
        ]
    )
}
SIMPLE["reversed"] = {"nb": 9, "branching": 1.5, "reversals": 0.5, "offsets": 0.5, "seed": 9}
SIMPLE["massless"] = {"nb": 9, "branching": 1.5, "massless": (1, 2, 4), "seed": 10}
SIMPLE["deep"] = {"nb": 30, "kinds": trees.HINGES, "seed": 11}

SCREWS = {"screws": {"nb": 8, "branching": 1.5, "kinds": ("helical", *trees.SIMPLE), "seed": 12}}

#: Trees with every type of joint, some of them reversed.
LIBRARY = {
    f"library-{seed}": {
        "nb": len(trees.LIBRARY),
        "branching": 1.5,
        "kinds": trees.LIBRARY,
        "shuffle": False,
        "reversals": 0.4,
        "offsets": 0.5,
        "seed": seed,
    }
    for seed in (1, 2)
}

ARMS = ("panda", "ur5_robot", "xarm7", "z1", "kinova", "baxter", "allegro_right_hand")
LEGGED = ("solo12", "talos_reduced", "icub", "g1_29dof_rev_1_0", "anymal-kinova")

TREES = SIMPLE | SCREWS | LIBRARY
ROBOTS = (*ARMS, *LEGGED)
#: All trees and robots: (name, whether the base floats).
ALL = [(name, floating) for name in (*TREES, *ROBOTS) for floating in (False, True)]


@dataclass
class Moving:
    """A system in a random state.

    Its Data holds the results of rb.inverse; f_ext has the external forces for the textbook.
    """

    m: rb.Model
    d: rb.Data
    s: System
    f_ext: list[Array]
    where: str

    @property
    def state(self):
        return self.s, self.d.qpos, self.d.qvel


def moving(name, floating=False, seed=5):
    """Return a system in TREES or ROBOTS in a random state, without rotors and passive forces."""
    if name in TREES:
        m = trees.build(trees.auto_tree(**TREES[name]), floating).replaced()
    else:
        m = robots.load(robots.find(f"{name}.urdf"), floating)
    m = m.replaced(dof_armature=0.0 * m.dof_armature)
    m.opt.passive = False
    d = rb.make_data(m)
    states.randomise(m, d, seed)
    d.xfrc_applied[1:] *= 0.1 * m.body_mass[1:, None]
    rb.inverse(m, d)
    f_ext = [states.at_world_origin(d, i) for i in range(m.nbody)]
    return Moving(m, d, System.of(m), f_ext, f"{name}, {'floating' if floating else 'fixed'}")


def ids(params):
    return [f"{name}-{'floating' if floating else 'fixed'}" for name, floating in params]


def motion_about_origin(m, d, motion):
    """Refer velocities or accelerations (nbody, 6), [angular; linear], to the world's origin.

    In Data they refer to subtree_com of the tree.
    """
    com = d.subtree_com[m.body_rootid]
    linear = motion[:, 3:] + np.cross(com, motion[:, :3])
    return np.hstack([motion[:, :3], linear])


def force_about_origin(m, d, force):
    """Refer forces of Data (nbody, 6), [moment; force], to the world's origin."""
    com = d.subtree_com[m.body_rootid]
    return np.hstack([force[:, :3] + np.cross(com, force[:, 3:]), force[:, 3:]])


def axes_are_simple(m):
    """Return whether the algorithm of Luh, Walker and Paul supports all joints."""
    return set(m.jnt_type) <= {JointType.HINGE, JointType.SLIDE}
