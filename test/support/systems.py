# SPDX-License-Identifier: Apache-2.0
"""Systems with constraints, springs, drives and user-defined joints, which trees.py lacks."""

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.description.parts.geometries import (
    Box,
    Capsule,
    Cylinder,
    Geometry,
    Obstacle,
    Plane,
    Points,
    Sphere,
    Surface,
)
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import (
    Description,
    Gear,
    GearTerm,
    Joint,
    Length,
    Link,
    Mimic,
    Roll,
    Spring,
    Trajectory,
)
from rbdyn_ros.model.declared import callbacks
from support import trees

BRICK = trees.random_inertial(np.random.default_rng(1))


def twist(q, _qd, p, E, r, S, _S_dot):
    """Compute a screw along z; p[0] is its lead [m/rad]."""
    E[0, 0], E[0, 1] = np.cos(q[0]), np.sin(q[0])
    E[1, 0], E[1, 1] = -np.sin(q[0]), np.cos(q[0])
    r[2] = p[0] * q[0]
    S[2, 0], S[5, 0] = 1.0, p[0]


def swing(t, q, qd, qdd):
    q[0], qd[0], qdd[0] = np.sin(t), np.cos(t), -np.sin(t)


def once(register):
    """Return a function that registers joint types and motions, and compiles them only once.

    Its later calls put the registered functions back, which a test may have replaced or removed.
    """
    registries = callbacks.JOINTS, callbacks.MOTIONS, JOINT_SPECS
    added = []

    def again():
        if not added:
            before = [set(names) for names in registries]
            register()
            for names, known in zip(registries, before, strict=True):
                added.append({name: names[name] for name in names.keys() - known})
        for names, own in zip(registries, added, strict=True):
            names.update(own)

    return again


@once
def register():
    rb.register_joint("storage_twist", parameters=("lead",))(twist)
    rb.register_motion("storage_swing")(swing)


def everything():
    """Return a system with every kind of part that a Model can have."""
    tree = trees.auto_tree(
        14,
        1.6,
        kinds=trees.LIBRARY,
        seed=3,
        damping=0.2,
        shuffle=False,
        reversals=0.4,
        offsets=0.5,
    )
    more = (
        Joint("screw", "storage_twist", "base", "nut", parameters={"lead": 0.1}),
        Joint("sway", "revolute", "nut", "flag", motion="storage_swing"),
        Joint("wave", "universal", "flag", "tip", axis=(1.0, 0.0, 0.0), axis2=(0.0, 1.0, 0.0),
              motion=Trajectory((0.0, 1.0, 2.0), ((0.0, 0.0), (1.0, 0.5), (0.0, 0.0)), True)),
        Joint("cross", "universal", "nut", "yoke", axis=(1.0, 0.0, 0.0), axis2=(0.0, 1.0, 0.0),
              limits=(rb.Limit(-1.0, 1.0), rb.Limit(-0.5, 0.5))),
        Joint("door", "revolute", "base", "leaf", limit=rb.Limit(-1.0, 1.0, 5.0, 2.0),
              stiffness=3.0, rest=(0.1,), friction=0.2, armature=0.01),
        Joint("finger", "revolute", "leaf", "knuckle", axis=(0.0, 1.0, 0.0), damping=0.1,
              mimic=Mimic("door", -0.5, 0.2), armature=0.02),
        Joint("slide", "prismatic", "knuckle", "nail", mimic=Mimic("finger", 0.3)),
        Joint("echo", "revolute", "tip", "bell", mimic=Mimic("sway", 2.0, -0.1)),
        Joint("worm", "revolute", "base", "wheel", axis=(0.0, 0.0, 1.0), actuated=False,
              transmission=((0.0, 0.0, 1.0, 20.0, 0.0, 0.0),)),
        Joint("air", "floating", "base", "marble", Pose((0.0, 0.0, 0.1))),
        Joint("hover", "floating", "base", "plate"),
        Joint("chord", "revolute", "link14", "leaf", Pose((0.1, 0.0, 0.0)), closes_loop=True),
        Joint("seam", "fixed", "base", "plate", Pose((0.5, 0.0, 0.2)), closes_loop=True),
    )  # fmt: skip
    names = ("nut", "flag", "tip", "yoke", "leaf", "knuckle", "nail", "bell", "wheel", "marble",
             "plate")  # fmt: skip
    links = [Link(name, BRICK) for name in names]
    spring = Spring("coil", "link1", "leaf", (0.1, 0.0, 0.0), (0.0, 0.0, 0.0), 10.0, 0.5, 0.3)
    constraints = (
        Length("rod", ("nail", "marble"), ((0.1, 0.0, 0.0), (0.0, 0.05, 0.0)), 0.6),
        Length("band", ("link1", "link2", "yoke"), ((0.1, 0.0, 0.0),) * 3, 3.0, closed=True),
        Gear("train", (GearTerm("door"), GearTerm("cross", 2.0, 1), GearTerm("slide", 0.5)), 0.1),
        Roll("ball", "marble", "base", 0.1),
    )
    tilted = Pose((0.0, 0.0, -0.1), (0.8, 0.6, 0.0, 0.0))
    geometries = (
        Geometry("heel", "leaf", Box((0.2, 0.1, 0.05)), tilted),
        Geometry("sole", "plate", Points(((0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.0, 0.1, 0.02)))),
        Geometry("shell", "marble", Sphere(0.1), surface=Surface(stiffness=1e3, damping=5.0)),
        Geometry("rim", "nail", Cylinder(0.1, 0.02), surface=Surface(0.3, 0.01, viscosity=2.0)),
        Geometry("finger", "knuckle", Capsule(0.02, 0.1), tilted),
    )
    obstacles = (
        Obstacle("floor", Plane(), Pose((0.0, 0.0, -0.3))),
        Obstacle("step", Box((1.0, 1.0, 0.2)), tilted, 0.5),
        Obstacle("pole", Sphere(0.2), Pose((0.3, 0.0, 0.0))),
    )
    return Description(
        "everything",
        (*tree.links, *links),
        (*tree.joints, *more),
        base="base",
        springs=(spring,),
        constraints=constraints,
        geometries=geometries,
        obstacles=obstacles,
    )
