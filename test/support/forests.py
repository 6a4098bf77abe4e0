# SPDX-License-Identifier: Apache-2.0
"""Build several trees on one base, with rotors, mimic joints, driven joints and friction."""

from dataclasses import replace

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.description.parts.types import Description, Mimic, Trajectory
from rbdyn_ros.model.declared.joints import JointClass
from support import states, trees

#: Joint types whose positions are the integral of the velocities: they allow springs and rotors.
FLAT = (
    "revolute",
    "prismatic",
    "helical",
    "cylindrical",
    "universal",
    "spherical_ypr",
    "planar",
    "rack_pinion",
)
SINGLE = tuple(kind for kind in FLAT if JOINT_SPECS[kind].dofs == 1)
LIMIT = 0.7


def forest(kinds, seed, count=2, coupled=False, driven=False, losses=False, **odd):
    """Return the Description of `count` trees on one base.

    Args:
        kinds: types of joints, distributed over the trees; each type is used.
        seed: seed of all random numbers.
        count: number of trees.
        coupled: whether the second of every three joints with one coordinate follows the first.
        driven: whether every second revolute and every second universal joint is driven over time.
        losses: whether all joints have damping and friction; types in FLAT have limits and
            springs.
        odd: arguments `reversals` and `offsets` of trees.auto_tree.
    """
    rng = np.random.default_rng([seed, 5])
    links, joints = [], []
    for k in range(count):
        own = kinds[k::count]
        tree = trees.auto_tree(len(own), 1.6, kinds=own, seed=seed + k, shuffle=False, **odd)
        links += [
            replace(x, name=_name(k, x.name)) for x in tree.links if x.name != "base" or not k
        ]
        joints += [_renamed(k, joint) for joint in tree.joints]
    joints = [replace(j, armature=rng.uniform(0.0, 0.3)) if j.type in FLAT else j for j in joints]
    if losses:
        joints = [_with_losses(joint, rng) for joint in joints]
    if coupled:
        joints = _coupled(joints, rng)
    if driven:
        joints = _driven(joints)
    return Description(f"forest-{seed}", tuple(links), tuple(joints), base="base")


def randomise(m, d, seed):
    """Write a random state in which no joint is within 0.1 of a limit or of standstill."""
    rng = np.random.default_rng([seed, 6])
    states.randomise(m, d, seed)
    d.qvel = rng.choice((-1.0, 1.0), m.nv) * rng.uniform(0.1, 1.0, m.nv)
    for j in range(m.njnt):
        q = states.joint_slices(m, j)[0]
        if states.quaternion(m.jnt_type[j]) is None and m.jnt_class[j] == JointClass.FREE:
            d.qpos[q] = np.sign(d.qpos[q]) * rng.choice(
                (LIMIT - 0.2, LIMIT + 0.1), q.stop - q.start
            )
    d.time = 0.37


def _name(k, name):
    return name if name == "base" else f"{name}_{k}"


def _renamed(k, joint):
    return replace(
        joint,
        name=_name(k, joint.name),
        parent=_name(k, joint.parent),
        child=_name(k, joint.child),
    )


def _with_losses(joint, rng):
    joint = replace(joint, damping=rng.uniform(0.0, 0.5), friction=rng.uniform(0.0, 0.5))
    if joint.type not in FLAT:
        return joint
    dofs = JOINT_SPECS[joint.type].dofs
    limit = rb.Limit(-LIMIT, LIMIT)
    limits = {"limit": limit} if dofs == 1 else {"limits": (limit,) * dofs}
    rest = tuple(rng.uniform(-0.2, 0.2, dofs))
    return replace(joint, stiffness=rng.uniform(0.5, 2.0), rest=rest, **limits)


def _coupled(joints, rng):
    single = [k for k, joint in enumerate(joints) if joint.type in SINGLE]
    for followed, follower in zip(single[::3], single[1::3], strict=False):
        ratio = rng.choice((-1.0, 1.0)) * rng.uniform(0.3, 1.5)
        mimic = Mimic(joints[followed].name, ratio, rng.uniform(-0.5, 0.5))
        joints[follower] = replace(joints[follower], mimic=mimic, stiffness=0.0, rest=())
    return joints


def _driven(joints):
    for kind in ("revolute", "universal"):
        places = [k for k, j in enumerate(joints) if j.type == kind and j.mimic is None]
        for k in places[::2]:
            dofs = JOINT_SPECS[kind].dofs
            rows = ((0.0,) * dofs, (0.8,) * dofs, (-0.3,) * dofs, (0.0,) * dofs)
            motion = Trajectory((0.0, 0.5, 1.2, 2.0), rows, True)
            joints[k] = replace(joints[k], motion=motion, stiffness=0.0, rest=())
    return joints
