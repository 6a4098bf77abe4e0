# SPDX-License-Identifier: Apache-2.0
"""Models with each joint type and force that specialised code has, which few real robots have."""

from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.description.parts.types import Mimic
from support import robots, states, trees
from support.smooth import with_soft_limits
from support.systems import once

BODY = rb.shapes.box((0.6, 0.2, 0.3), mass=1.5, at=rb.pose((0.2, 0.1, -0.1)))
QUARTER = np.pi / 2


@contextmanager
def registered():
    """Register the joint types and the motion of some Models for the duration of a block."""
    known = set(JOINT_SPECS)
    _register()
    try:
        yield
    finally:
        for name in set(JOINT_SPECS) - known:
            del JOINT_SPECS[name]


@once
def _register():
    @rb.register_joint("specialised_screw", parameters=("lead",))
    def screw(q, qd, p, E, r, S, S_dot):
        c, s = np.cos(q[0]), np.sin(q[0])
        E[0, 0], E[0, 1], E[1, 0], E[1, 1] = c, s, -s, c
        pitch = p[0]
        if q[0] < 0.0:  # the code has a branch
            pitch = 0.5 * p[0]
        r[2] = pitch * q[0]
        S[2, 0], S[5, 0] = 1.0, pitch

    @rb.register_joint("specialised_slides", nv=2, coordinates=("m", "m"))
    def slides(q, qd, p, E, r, S, S_dot):
        r[0], r[1] = q[0], q[1]
        S[3, 0], S[4, 1] = 1.0, 1.0

    @rb.register_motion("specialised_swing")
    def swing(t, q, qd, qdd):
        q[0], qd[0], qdd[0] = 0.4 * np.sin(3 * t), 1.2 * np.cos(3 * t), -3.6 * np.sin(3 * t)


def library():
    """Return joints of all types, half of them reversed, with damping, friction and limits."""
    count = len(trees.LIBRARY)
    tree = trees.auto_tree(
        count, 1.5, kinds=trees.LIBRARY, shuffle=False, reversals=0.5, offsets=0.5, damping=0.3
    )
    m = trees.build(tree)
    slides = m.jnt_type == rb.JointType.SLIDE
    return m.replaced(
        dof_frictionloss=np.full(m.nv, 0.1),
        jnt_limited=slides,
        jnt_range=np.where(slides[:, None], [-0.1, 0.1], [-np.inf, np.inf]),
        jnt_stiffness=np.full(m.njnt, 3.0),
    )


def balls():
    """Return ball joints with cones, which most random states exceed, and an inner free joint."""
    m = trees.build(trees.auto_tree(6, 1.5, kinds=("spherical", "revolute", "floating"), seed=3))
    ball = m.jnt_type == rb.JointType.BALL
    return m.replaced(
        jnt_limited=ball,
        jnt_range=np.where(ball[:, None], [0.0, 0.8], [-np.inf, np.inf]),
        jnt_stiffness=np.where(ball, 2.0, 0.0),
    )


def springs():
    """Return a system with springs in joints and spring-dampers between points."""
    builder = rb.SystemBuilder("springs").body("a", BODY).body("b", BODY).body("c", BODY)
    builder.joint("slide", "prismatic", "base", "a", axis=(0, 0, 1), stiffness=20.0, rest=0.1)
    builder.joint("hinge", "revolute", "a", "b", axis=(0, 1, 0), xyz=(0.3, 0, 0.1), stiffness=5.0)
    builder.joint("ball", "spherical", "b", "c", xyz=(0, 0.2, 0), stiffness=3.0)
    ends = {"point1": (0.1, 0.2, 0.3), "point2": (0, 0.4, 0)}
    builder.spring("ac", "a", "c", stiffness=30.0, damping=2.0, length=0.2, **ends)
    builder.spring("wb", "base", "b", stiffness=10.0, damping=0.5, **ends)
    return rb.build(builder)


def coordinates():
    """Return joints with a limit for each coordinate, and a spring with ends in one point."""
    limits = (rb.Limit(-0.1, 0.2), rb.Limit(-0.3, 0.1))
    builder = rb.SystemBuilder("coordinates").body("a", BODY).body("b", BODY).body("c", BODY)
    builder.joint("in", "cylindrical", "base", "a", axis=(0, 0, 1), limits=limits)
    builder.joint("turn", "universal", "a", "b", axis=(0, 0, 1), axis2=(1, 0, 0), limits=limits)
    builder.joint("hinge", "revolute", "b", "c", axis=(0, 1, 0), limit=rb.Limit(-0.2, 0.2))
    builder.spring("one", "b", "c", stiffness=100.0, damping=5.0, length=0.3)
    return with_soft_limits(rb.build(builder))


def yaw_pitch_roll():
    """Return a chain of yaw-pitch-roll joints with hinges between them."""
    kinds = ("spherical_ypr", "revolute")
    return rb.build(trees.auto_tree(3, kinds=kinds, shuffle=False, reversals=0.5, offsets=0.5))


def user_defined():
    """Return a reversed joint of a user-defined type between hinges."""
    builder = rb.SystemBuilder("user").body("a", BODY).body("b", BODY).body("c", BODY)
    builder.joint("first", "revolute", "base", "a", axis=(0, 1, 0), damping=0.2)
    builder.joint("own", "specialised_screw", "b", "a", xyz=(0.3, 0, 0.1), lead=0.2)
    builder.joint("last", "revolute", "b", "c", axis=(1, 0, 0), xyz=(0, 0.2, 0))
    return rb.build(builder)


def mixed_user_joints():
    """Return two user-defined joints on one base, with one and two dofs."""
    builder = rb.SystemBuilder("mixed").body("a", BODY).body("b", BODY)
    builder.joint("screw", "specialised_screw", "base", "a", lead=0.2)
    builder.joint("slides", "specialised_slides", "base", "b")
    return rb.build(builder)


def driven():
    """Return a joint that is driven over time, between free hinges."""
    builder = rb.SystemBuilder("driven").body("a", BODY).body("b", BODY).body("c", BODY)
    builder.joint("first", "revolute", "base", "a", axis=(0, 1, 0))
    builder.joint("given", "prismatic", "a", "b", xyz=(0.3, 0, 0.1), axis=(0.6, 0, 0.8))
    builder.joint("last", "revolute", "b", "c", axis=(1, 0, 0), xyz=(0, 0.2, 0))
    builder.spring("across", "base", "b", stiffness=40.0, damping=2.0, length=0.1,
                   point1=(0.2, 0, 0.1), point2=(0, 0.3, 0))  # fmt: skip
    return rb.build(builder.drive("given", "specialised_swing"))


def coupled():
    """Return a branching tree in which every second joint follows the joint before it."""
    tree = trees.auto_tree(8, 1.5, seed=5, reversals=0.4, offsets=0.4, damping=0.2)
    joints = tuple(
        replace(joint, mimic=Mimic(tree.joints[k - 1].name, 0.7 - 0.3 * k, 0.1))
        if k % 2
        else joint
        for k, joint in enumerate(tree.joints)
    )
    return rb.build(replace(tree, joints=joints))


def geared():
    """Return a tree with gears between joints, whose constraints have independent rows."""
    builder = rb.SystemBuilder("geared").body("a", BODY).body("b", BODY).body("c", BODY)
    builder.joint("first", "revolute", "base", "a", axis=(0, 1, 0), damping=0.1)
    builder.joint("middle", "prismatic", "a", "b", xyz=(0.3, 0, 0.1), axis=(0.6, 0, 0.8))
    builder.joint("last", "revolute", "b", "c", axis=(1, 0, 0), xyz=(0, 0.2, 0))
    return rb.build(builder.gear("pair", {"first": 1.0, "last": 1.7}, 0.3))


def quadruped():
    """Return a real robot whose floating base has velocities in its own axes."""
    return rb.load_urdf(robots.find("solo12.urdf"), floating_base="sixdof_fs", strict=False)


MAKERS = {
    made.__name__: made
    for made in (
        library, balls, springs, coordinates, yaw_pitch_roll, user_defined, driven, coupled,
        geared, quadruped,
    )
}  # fmt: skip


@cache
def _made(name):
    return MAKERS[name]()


def model(name):
    """Return the Model of a function of this file, or of a real robot by the name of its URDF."""
    if name.endswith(".urdf"):
        return rb.load_urdf(robots.find(name), strict=False)
    return _made(name).replaced()


def put_near_singularity(m, d, distance):
    """Move the first yaw-pitch-roll joint close to its singularity, with a velocity."""
    j = int(np.flatnonzero(m.jnt_type == rb.JointType.YPR)[0])
    d.qpos[m.jnt_qposadr[j] + 1] = QUARTER - distance
    d.qvel[states.joint_slices(m, j)[1]] = (0.4, 1.0, -0.7)
