# SPDX-License-Identifier: Apache-2.0
"""Draw one picture of the gallery: bodies at several positions, and the motion subspace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from solids import Floats, Picture, Solid, moved

import rbdyn_ros as rb
from rbdyn_ros.view.pictures.canvas import BLUE

STAND = "#A9A9A9"  # color of the ground
MASS = rb.shapes.box((0.2, 0.2, 0.2), mass=1.0)
Places = dict[str, tuple[Floats, Floats]]  # position and rotation of each body


@dataclass(frozen=True, slots=True)
class Shown:
    """One picture.

    Attributes:
        m: the Model that places the bodies.
        ground: solids that do not move.
        bodies: solids of each body in its own frame.
        poses: qpos of each drawn position; the last position is drawn solid.
        joints: joints whose S is drawn.
        arrow: length of a straight arrow, radius of a round arrow, and its position on the axis.
        view: azimuth and elevation of the viewer [degree].
        more: function that adds lines, given the last pose of every body.
        times: time of each pose, for joints with prescribed motion.
    """

    m: rb.Model
    ground: Solid
    bodies: dict[str, Solid]
    poses: Sequence[Floats]
    joints: tuple[str, ...]
    arrow: tuple[float, float, float] = (0.55, 0.3, 0.35)
    view: tuple[float, float] = (-60.0, 24.0)
    more: Callable[[Picture, Places], None] | None = None
    times: Sequence[float] = field(default_factory=tuple)


def draw(shown: Shown, path: Path) -> None:
    """Draw one picture to a .png file."""
    picture = Picture(*shown.view)
    d = rb.make_data(shown.m)
    places: Places = {}
    for k, qpos in enumerate(shown.poses):
        d.qpos[:] = qpos
        if len(shown.times):
            rb.reset_data(shown.m, d)
            d.time = shown.times[k]
            d.qpos[:] = qpos
        last = k == len(shown.poses) - 1
        if k == 0:
            picture.add(shown.ground, STAND)
        for name, solid in shown.bodies.items():
            places[name] = rb.frame_pose(shown.m, d, name)
            p, R = places[name]
            picture.add(
                moved(solid, R, p), BLUE, 1.0 if last else 0.1 + 0.2 * k / len(shown.poses)
            )
    for joint in shown.joints:
        _arrows(picture, shown, d, joint)
    if shown.more:
        shown.more(picture, places)
    picture.save(path)


def _arrows(picture: Picture, shown: Shown, d: rb.Data, joint: str) -> None:
    """Add the columns of S of a joint as arrows."""
    m, j = shown.m, shown.m.jnt_id(joint)
    start = int(m.jnt_qposadr_all[j])
    model = rb.jcalc(m, j, d.qpos_all[start : start + m.jnt_kind(j).nq])
    p, R = rb.frame_pose(m, d, m.body_names[j + 1])
    for column in model.S.T:
        s = np.concatenate([R @ column[:3], R @ column[3:]])
        picture.screw(p, s, *shown.arrow)


def one_joint(kind: str, **properties: Any) -> rb.Model:
    """Return a Model of one body on one joint."""
    system = rb.SystemBuilder(kind).body("body", MASS)
    return rb.build(system.joint("joint", kind, "base", "body", **properties))


def ramp(first: Sequence[float], last: Sequence[float], count: int = 5) -> list[Floats]:
    """Return evenly spaced positions from the first to the last."""
    return list(np.linspace(first, last, count))


def wxyz(vector: ArrayLike) -> Floats:
    """Return the quaternion of a rotation vector."""
    turn = np.asarray(vector, float)
    angle = float(np.linalg.norm(turn))
    axis = turn / max(angle, 1e-12)
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis])
