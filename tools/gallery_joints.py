# SPDX-License-Identifier: Apache-2.0
"""Joint types in the gallery: the types of the library, and a user-defined type."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np
from shown import MASS, Places, Shown, one_joint, ramp, wxyz
from solids import Floats, Picture, about_z, ball, box, cylinder, facing, gear_wheel, moved

import rbdyn_ros as rb
from rbdyn_ros.view.pictures.canvas import INK


def revolute() -> Shown:
    ground = box((0.5, 0.5, 0.14), (0, 0, -0.2)) + cylinder(0.07, 0.35)
    bar = box((0.8, 0.16, 0.12), (0.4, 0, 0)) + cylinder(0.15, 0.14)
    m = one_joint("revolute", axis=(0, 0, 1))
    return Shown(m, ground, {"body": bar}, ramp([-0.5], [1.2]), ("joint",))


def continuous() -> Shown:
    ground = box((0.14, 0.3, 0.8), (0, 0, -0.4)) + cylinder(0.06, 0.5, (0, -0.1, 0), "y")
    crank = box((0.75, 0.07, 0.14), (0.2, -0.25, 0)) + cylinder(0.13, 0.09, (0, -0.25, 0), "y")
    crank += cylinder(0.06, 0.3, (0.5, -0.4, 0), "y") + cylinder(0.12, 0.09, (-0.2, -0.25, 0), "y")
    m = one_joint("continuous", axis=(0, -1, 0))
    arrow = (0.55, 0.25, 0.45)
    return Shown(m, ground, {"body": crank}, ramp([-4.6], [0.5], 7), ("joint",), arrow, (-55, 16))


def prismatic() -> Shown:
    ground = box((0.14, 0.14, 1.5)) + box((0.5, 0.5, 0.08), (0, 0, -0.75))
    m = one_joint("prismatic", axis=(0, 0, 1))
    slider = box((0.44, 0.44, 0.2))
    return Shown(m, ground, {"body": slider}, ramp([-0.5], [0.3], 4), ("joint",), (0.75, 0, 0))


def fixed() -> Shown:
    m = rb.build(
        rb.SystemBuilder("fixed")
        .body("body", MASS)
        .joint("joint", "fixed", "base", "body", xyz=(0.25, 0.0, 0.15))
    )
    plate = box((0.6, 0.5, 0.12))
    for x, y in ((-0.2, -0.15), (-0.2, 0.15), (0.2, -0.15), (0.2, 0.15)):
        plate += cylinder(0.05, 0.06, (x, y, 0.09))
    ground = box((0.8, 0.6, 0.2), (0, 0, -0.01))
    return Shown(m, ground, {"body": plate}, ramp([], [], 1), ())


def helical() -> Shown:
    pitch = 0.06
    ground = cylinder(0.12, 1.5) + box((0.5, 0.5, 0.08), (0, 0, -0.79))
    for q in np.arange(-12.2, 12.2, 0.1):
        thread = box((0.06, 0.03, 0.06), (0.13, 0, pitch * q))
        ground += moved(thread, about_z(q), np.zeros(3))
    m = one_joint("helical", axis=(0, 0, 1), pitch=pitch)
    nut = box((0.5, 0.5, 0.16))
    return Shown(m, ground, {"body": nut}, ramp([-7.3], [3.2], 4), ("joint",), (0.45, 0.32, 0.3))


def cylindrical() -> Shown:
    ground = cylinder(0.08, 1.6) + box((0.5, 0.5, 0.08), (0, 0, -0.84))
    sleeve = cylinder(0.17, 0.28) + box((0.5, 0.09, 0.09), (0.35, 0, 0))
    m = one_joint("cylindrical", axis=(0, 0, 1))
    poses = ramp([-1.2, -0.5], [0.9, 0.15], 4)
    return Shown(m, ground, {"body": sleeve}, poses, ("joint",), (0.95, 0.3, 0.3))


def universal() -> Shown:
    ground = cylinder(0.08, 0.4, (0, 0, -0.55)) + box((0.66, 0.16, 0.1), (0, 0, -0.32))
    for side in (-1, 1):
        ground += box((0.1, 0.16, 0.36), (0.28 * side, 0, -0.1))
    ground += cylinder(0.05, 0.62, axis="x")
    fork = cylinder(0.08, 0.4, (0, 0, 0.5)) + box((0.16, 0.5, 0.1), (0, 0, 0.3))
    for side in (-1, 1):
        fork += box((0.16, 0.1, 0.36), (0, 0.2 * side, 0.12))
    fork += cylinder(0.05, 0.5, axis="y")
    m = one_joint("universal", axis=(1, 0, 0), axis2=(0, 1, 0))
    poses = ramp([-0.5, -0.5], [0.35, 0.45], 3)
    return Shown(m, ground, {"body": fork}, poses, ("joint",), (0.5, 0.17, 0.62), (-52, 18))


def rack_pinion() -> Shown:
    radius, teeth = 0.4, 12
    gap = 2.0 * np.pi * radius / teeth
    ground = box((2.6, 0.16, 0.16), (0, radius + 0.14, 0))
    for k in range(-6, 7):
        ground += box((0.09, 0.12, 0.16), (k * gap, radius + 0.01, 0))
    pinion = gear_wheel(radius, 0.14, teeth, first=(0.5 + 0.5 / 6.0) * np.pi)
    pinion += box((0.3, 0.08, 0.1), (0.15, 0, 0.1))
    m = one_joint("rack_pinion", axis=(0, 0, 1), axis2=(1, 0, 0), radius=radius)
    poses = ramp([-2.0], [1.5], 4)
    return Shown(m, ground, {"body": pinion}, poses, ("joint",), (0.4, 0.2, 0.3), (-75, 50))


def _on_a_table(kind: str, poses: list[Floats], along_body: bool) -> Shown:
    """Return a puck on a table; a dashed line shows its coordinates (along_body: see _way)."""
    ground = box((2.0, 1.5, 0.06), (0, 0, -0.09))
    puck = box((0.42, 0.26, 0.12)) + box((0.12, 0.1, 0.12), (0.26, 0, 0))
    m = one_joint(kind, axis=(0, 0, 1), axis2=(1, 0, 0))
    more = _way(along_body)
    arrow = (0.5, 0.22, 0.2)
    return Shown(m, ground, {"body": puck}, poses, ("joint",), arrow, (-70, 45), more)


def _way(along_body: bool) -> Callable[[Picture, Places], None]:
    """Return a function that draws the path from F_p along the coordinates, one after another.

    Args:
        along_body: whether the coordinates are along the axes of the successor.
    """

    def more(picture: Picture, places: Places) -> None:
        p, R = places["body"]
        axes = R if along_body else np.eye(3)
        steps = axes * (axes.T @ p)  # a step along each axis, as columns
        way = np.vstack([np.zeros(3), np.cumsum(steps, axis=1).T])
        picture.line(way, INK, 1.1, linestyle=(0, (3, 2)))
        picture.triad(np.eye(3), np.zeros(3), 0.3)

    return more


PLACES = np.linspace((-0.65, -0.3, 0.5), (0.4, 0.3, -0.5), 5)  # x, y, angle of the puck


def planar() -> Shown:
    return _on_a_table("planar", list(PLACES), False)


def planar_fp() -> Shown:
    return _on_a_table("planar_fp", [place[[2, 0, 1]] for place in PLACES], False)


def planar_fs() -> Shown:
    poses = [np.append(a, (about_z(a).T @ (x, y, 0.0))[:2]) for x, y, a in PLACES]
    return _on_a_table("planar_fs", poses, True)


def spherical() -> Shown:
    ground = cylinder(0.27, 0.2, (0, 0, -0.14)) + cylinder(0.13, 0.3, (0, 0, -0.36))
    stick = ball(0.21, rows=14) + cylinder(0.05, 0.8, (0, 0, 0.5))
    stick += box((0.34, 0.04, 0.2), (0.18, 0, 0.8))
    poses = [wxyz(vector) for vector in ramp([-0.5, -0.5, -1.2], [0.1, 0.25, 0.3], 4)]
    m = one_joint("spherical")
    return Shown(m, ground, {"body": stick}, poses, ("joint",), (0.4, 0.15, 0.58), (-52, 20))


def spherical_ypr() -> Shown:
    ground = cylinder(0.03, 0.9, (0, 0, -0.5)) + box((0.6, 0.6, 0.05), (0, 0, -0.95))
    plane = box((1.0, 0.13, 0.13)) + box((0.24, 1.1, 0.04), (0.05, 0, 0))
    plane += box((0.14, 0.4, 0.03), (-0.44, 0, 0.03)) + box((0.16, 0.03, 0.24), (-0.44, 0, 0.16))
    m = one_joint("spherical_ypr")
    poses = ramp([-0.5, 0.0, 0.0], [0.45, -0.35, 0.6], 3)
    return Shown(m, ground, {"body": plane}, poses, ("joint",), (0.5, 0.15, 0.68), (-40, 22))


def _in_space(kind: str, poses: list[Floats], along_body: bool) -> Shown:
    """Return a satellite; a dashed line shows its coordinates (along_body: see _way)."""
    ground = box((0.5, 0.5, 0.04), (0, 0, -0.02))
    craft = box((0.26, 0.26, 0.32)) + cylinder(0.05, 0.2, (0, 0, 0.24))
    for side in (-1, 1):
        craft += box((0.22, 0.5, 0.03), (0, 0.42 * side, 0)) + box(
            (0.04, 0.1, 0.04), (0, 0.15 * side, 0)
        )
    arrow = (0.62, 0.14, 0.4)
    m = one_joint(kind)
    return Shown(m, ground, {"body": craft}, poses, ("joint",), arrow, (-40, 26), _way(along_body))


CRAFT = np.linspace((-0.1, 1.3, 0.2), (1.0, 0.5, 0.8), 3)  # positions of the satellite
TURNS = [wxyz(vector) for vector in np.linspace((0.7, -0.5, 0.3), (0.2, 0.25, -0.3), 3)]


def floating() -> Shown:
    return _in_space("floating", [np.append(*at) for at in zip(CRAFT, TURNS, strict=True)], False)


def sixdof_fp() -> Shown:
    poses = [np.append(q, p) for p, q in zip(CRAFT, TURNS, strict=True)]
    return _in_space("sixdof_fp", poses, False)


def sixdof_fs() -> Shown:
    m, poses = one_joint("sixdof_fp"), []
    for p, q in zip(CRAFT, TURNS, strict=True):
        poses.append(np.append(q, rb.jcalc(m, "joint", np.append(q, p)).E @ p))
    return _in_space("sixdof_fs", poses, True)


def barrel_cam() -> Shown:
    path = Path(__file__).resolve().parents[1] / "examples" / "cam_joint.py"
    spec = importlib.util.spec_from_file_location("cam_joint", path)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))  # registers barrel_cam
    lift, lobes = 0.3, 2.0
    m = one_joint("barrel_cam", lift=lift, lobes=lobes)
    ground = cylinder(0.06, 1.5, (0, 0, 0.1)) + cylinder(0.33, 0.02, (0, 0, -0.45))
    angle = np.linspace(0.0, 2.0 * np.pi, 73)
    top = 0.5 * lift * (1.0 - np.cos(lobes * angle))
    rim = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(73)])
    up, edges = np.array([0.0, 0.0, 1.0]), (0.36 * rim, 0.5 * rim)
    for k in range(72):
        ends = [k, k + 1]
        high = [edge[ends] + np.outer(top[ends], up) for edge in edges]
        ground.append(facing(np.vstack([high[0], high[1][::-1]]), up))
        for edge, crest, side in zip(edges, high, (-1.0, 1.0), strict=True):
            ground.append(facing(np.vstack([crest, edge[ends][::-1] - 0.5 * up]), side * rim[k]))
    arm = cylinder(0.12, 0.2, (0, 0, 0.06)) + box((0.6, 0.08, 0.08), (0.3, 0, 0.06))
    arm += cylinder(0.06, 0.14, (0.43, 0, 0.06), "x")
    arrow = (0.4, 0.25, 0.45)
    return Shown(m, ground, {"body": arm}, ramp([-3.3], [-1.95], 4), ("joint",), arrow, (-60, 32))
