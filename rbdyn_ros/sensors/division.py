# SPDX-License-Identifier: Apache-2.0
"""The robot, cut at the fixed joints that have a force/torque sensor.

Links joined by fixed joints are one body, and the engine does not compute forces inside a body. So
a measured fixed joint becomes a prismatic joint that a prescribed motion holds still. This adds no
degree of freedom, so qpos and qvel keep their layout, and the engine computes the force across the
joint as for any other joint.
"""

import copy
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.description.parts.types import Description, Joint, Limit, Trajectory
from rbdyn_ros.errors import Finding, ModelError, exactly, quote
from rbdyn_ros.model.compile import compile_model
from rbdyn_ros.model.declared.joints import TYPE_OF_NAME, JointType
from rbdyn_ros.model.declared.model_fields import REPLACEABLE
from rbdyn_ros.model.model import Model

_STANDS_STILL = Trajectory((0.0, 1.0), ((0.0,), (0.0,)))

#: Masses whose relative difference is smaller count as equal.
SAME = 1e-9

#: Prefixes of the names of Model arrays that a cut does not change.
_UNCHANGED = ("dof_", "qpos", "spring_", "length_", "gear_")


@dataclass(frozen=True, slots=True)
class Divided:
    """A robot that is cut into parts at fixed joints.

    Attributes:
        m: the Model of its parts.
        outside: (nbody,) for each body of the robot, the part on which its external wrenches act.
        touching: (nbody,) for each body, the part on which its contact wrenches act.
        body: for each part, the body of the robot to which it belongs.
    """

    m: Model
    outside: NDArray[np.int64]
    touching: NDArray[np.int64]
    body: NDArray[np.int64]


def divide(m: Model, description: Description, cuts: Mapping[str, str]) -> Divided:
    """Cut a robot at fixed joints.

    Args:
        m: Model of the robot.
        description: the description of m.
        cuts: names of the measured fixed joints, each with the side on which external wrenches on
            its body act, "child" or "parent".

    Raises:
        ModelError: m was loaded from another description.
    """
    joints = tuple(_open(joint) if joint.name in cuts else joint for joint in description.joints)
    if m.nmimic == 0:
        joints = tuple(replace(joint, mimic=None) for joint in joints)
    parts = compile_model(
        replace(description, joints=joints, geometries=(), obstacles=()), _floating_base(m, joints)
    )
    if not _has_layout(parts, m, cuts):
        text = f"the Model '{m.name}' was not loaded from the description '{description.name}'"
        raise ModelError(Finding("not-its-description", text))
    kept = {
        name: getattr(m, name)
        for name in REPLACEABLE
        if name.startswith(_UNCHANGED) and getattr(m, name).shape == getattr(parts, name).shape
    }
    parts = parts.replaced(**kept)
    sides = {parts.jnt_id(name): side for name, side in cuts.items() if name in parts.jnt_names}
    body = np.array([0, *(parts.jnt_bodyid[parts.jnt_id(name)] for name in m.jnt_names)])
    pushed = np.array([_part_pushed(parts, part, sides) for part in body])
    shapes = {geometry.link for geometry in description.geometries}
    touching = np.array(
        [_part_touching(m, parts, i, shapes, pushed[i]) for i in range(m.nbody)], np.int64
    )
    whole = np.zeros(parts.nbody, np.int64)
    for j, name in enumerate(parts.jnt_names):
        own = name not in cuts
        whole[j + 1] = m.jnt_id(name) + 1 if own else whole[parts.body_parentid[j + 1]]
    return Divided(parts, pushed, touching, whole)


def check_masses(parts: Model, body: NDArray[np.int64], m: Model) -> None:
    """Check that the parts of each body together have the body's mass in m.

    Args:
        parts: the Model of the parts.
        body: the body of m to which each part belongs.
        m: the robot.

    Raises:
        ModelError: a body's mass in m differs.
    """
    found = np.bincount(body, parts.body_mass, m.nbody)
    for i in range(1, m.nbody):
        if abs(found[i] - m.body_mass[i]) > SAME * found[i]:
            text = (
                f"body {quote(m.body_names[i])} has {exactly(m.body_mass[i])} kg in the Model and "
                f"{exactly(found[i])} kg in its description and payloads; a Suite measures with "
                "the masses of the description, and of the payloads given to Suite.use"
            )
            raise ModelError(Finding("not-its-description", text, "error", m.body_names[i]))


def copy_options(parts: Model, m: Model) -> None:
    """Copy gravity, timestep, `passive` and `exact_stops` of the robot to the parts."""
    parts.opt.gravity = copy.copy(m.opt.gravity)
    parts.opt.timestep = m.opt.timestep
    parts.opt.passive, parts.opt.exact_stops = m.opt.passive, m.opt.exact_stops


def _open(joint: Joint) -> Joint:
    return replace(
        joint,
        type="prismatic",
        axis=(0.0, 0.0, 1.0),
        limit=Limit(),
        mimic=None,
        motion=_STANDS_STILL,
    )


def _floating_base(m: Model, joints: Collection[Joint]) -> str:
    """Return the type of the joint of a floating base, or "" for a fixed base."""
    if m.njnt == 0 or m.jnt_names[0] in {joint.name for joint in joints}:
        return ""
    names = {kind: name for name, kind in TYPE_OF_NAME.items()}
    return names[JointType(m.jnt_type[0])]


def _has_layout(parts: Model, m: Model, cuts: Collection[str]) -> bool:
    """Return whether the parts have the coordinates, constraints and links of the robot."""
    names = tuple(name for name in parts.jnt_names if name not in cuts)
    sizes = ("nq", "nv", "nmimic", "nefc")
    same = all(getattr(parts, size) == getattr(m, size) for size in sizes)
    return bool(same and names == m.jnt_names and parts.frame_names == m.frame_names)


def _part_pushed(parts: Model, part: int, sides: Mapping[int, str]) -> int:
    """Return the part on which external wrenches act: `part` or a part outwards from it.

    The search goes beyond each cut whose external wrenches act on the outer side.
    """
    for j, side in sides.items():
        if parts.body_parentid[j + 1] == part:
            outward = "parent" if parts.jnt_reversed[j] else "child"
            if side == outward:
                return _part_pushed(parts, j + 1, sides)
    return part


def _part_touching(m: Model, parts: Model, body: int, shapes: Collection[str], pushed: int) -> int:
    """Return the part on which a body's contacts act: its only part with shapes, or `pushed`."""
    with_shapes = {
        int(parts.frame_bodyid[parts.frame_id(name)])
        for name, of in zip(m.frame_names, m.frame_bodyid, strict=True)
        if of == body and name in shapes
    }
    return with_shapes.pop() if len(with_shapes) == 1 else pushed
