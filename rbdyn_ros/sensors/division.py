"""The robot cut at the fixed joints that are measured.

Links joined by fixed joints are one body, and no engine knows the force between parts of a body.
So a joint that is measured becomes one that could slide, and whose motion is given: it stands
still. It has no freedom, so positions and velocities are those of the robot, entry by entry, and
the force across it is found as that of every joint.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.description.types import Description, Joint, Limit, Trajectory
from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.model.compile import compile_model
from rbdyn_ros.model.joints import TYPE_OF_NAME, JointType
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.model_fields import REPLACEABLE

Array = NDArray[np.float64]

_STANDS_STILL = Trajectory((0.0, 1.0), ((0.0,), (0.0,)))

#: Parts of a Model that a cut does not touch, by what the names of their arrays begin with.
_UNTOUCHED = ("dof_", "qpos", "spring_", "length_", "gear_")


@dataclass(frozen=True, slots=True)
class Divided:
    """A robot cut at fixed joints.

    Attributes:
        m: the Model of its parts.
        outside: (nbody,) by body of the robot, the part that pushes on it act on.
        touching: (nbody,) the same for contact.
        body: (nbody,) by body of the robot, the part that has its frame.
    """

    m: Model
    outside: NDArray[np.int64]
    touching: NDArray[np.int64]
    body: NDArray[np.int64]


def divide(m: Model, description: Description, cuts: Mapping[str, str]) -> Divided:
    """Cut a robot at fixed joints.

    Args:
        m: its Model.
        description: what m was made of.
        cuts: by name of a fixed joint that is measured, the side that pushes on the body count
            for, "child" or "parent".

    Raises:
        ModelError: m was made of another description.
    """
    # the loops of the robot stay where they are, whatever is cut
    marked = [replace(j, closes_loop=j.name in m.loop_names) for j in description.joints]
    joints = tuple(_open(joint) if joint.name in cuts else joint for joint in marked)
    if m.nmimic == 0:
        joints = tuple(replace(joint, mimic=None) for joint in joints)
    parts = compile_model(
        replace(description, joints=joints, geometries=(), obstacles=()), _floating_base(m, joints)
    )
    if not _alike(parts, m, cuts):
        text = f"the Model '{m.name}' was not made of the description '{description.name}'"
        raise ModelError(Finding("not-its-description", text))
    kept = {
        name: getattr(m, name)
        for name in REPLACEABLE
        if name.startswith(_UNTOUCHED) and getattr(m, name).shape == getattr(parts, name).shape
    }
    parts = parts.replaced(**kept)
    sides = {parts.jnt_id(name): side for name, side in cuts.items() if name in parts.jnt_names}
    body = np.array([0, *(parts.jnt_bodyid[parts.jnt_id(name)] for name in m.jnt_names)])
    pushed = np.array([_part_pushed(parts, part, sides) for part in body])
    shapes = {geometry.link for geometry in description.geometries}
    touching = np.array(
        [_part_touching(m, parts, i, shapes, pushed[i]) for i in range(m.nbody)], np.int64
    )
    return Divided(parts, pushed, touching, body)


def follow_options(parts: Model, m: Model) -> None:
    """Give the parts the gravity and the other options of the robot."""
    parts.opt.gravity = copy.copy(m.opt.gravity)
    parts.opt.timestep = m.opt.timestep
    parts.opt.passive = m.opt.passive


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
    """Return the type of the joint that lets the base move; empty if there is none."""
    if m.njnt == 0 or m.jnt_names[0] in {joint.name for joint in joints}:
        return ""
    names = {kind: name for name, kind in TYPE_OF_NAME.items()}
    return names[JointType(m.jnt_type[0])]


def _alike(parts: Model, m: Model, cuts: Collection[str]) -> bool:
    """Whether the parts have the coordinates and the links of the robot."""
    names = tuple(name for name in parts.jnt_names if name not in cuts)
    sizes = (parts.nq, parts.nv, parts.nmimic) == (m.nq, m.nv, m.nmimic)
    return bool(sizes and names == m.jnt_names and parts.frame_names == m.frame_names)


def _part_pushed(parts: Model, part: int, sides: Mapping[int, str]) -> int:
    """Return the part of a body that pushes count for: beyond each cut whose child side does."""
    for j, side in sides.items():
        if parts.body_parentid[j + 1] == part:
            outward = "parent" if parts.jnt_reversed[j] else "child"
            if side == outward:
                return _part_pushed(parts, j + 1, sides)
    return part


def _part_touching(m: Model, parts: Model, body: int, shapes: Collection[str], pushed: int) -> int:
    """Return the part of a body that touches: the only one with geometries, or as for pushes."""
    with_shapes = {
        int(parts.frame_bodyid[parts.frame_id(name)])
        for name, of in zip(m.frame_names, m.frame_bodyid, strict=True)
        if of == body and name in shapes
    }
    return with_shapes.pop() if len(with_shapes) == 1 else pushed
