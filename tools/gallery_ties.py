# SPDX-License-Identifier: Apache-2.0
"""Constraints in the gallery: prescribed motion, couplings, gears, lengths, rolling, loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from shown import MASS, Places, Shown, ramp, wxyz
from solids import Picture, Solid, ball, box, cylinder, gear_wheel

import rbdyn_ros as rb
from rbdyn_ros.view.pictures.canvas import INK, VERMILLION


def driven() -> Shown:
    rod = rb.shapes.cylinder(0.02, 1.0, density=2700.0, at=rb.pose((0, 0, -0.5)))
    m = rb.build(
        rb.SystemBuilder("driven")
        .body("cart", MASS)
        .body("rod", rod)
        .joint("rail", "prismatic", "base", "cart", axis=(1, 0, 0))
        .joint("pivot", "revolute", "cart", "rod", axis=(0, -1, 0))
        .drive("rail", rb.Trajectory((0.0, 1.0, 2.0, 3.0), ((-0.6,), (-0.25,), (0.15,), (0.5,))))
    )
    ground = cylinder(0.05, 2.2, axis="x")
    cart = box((0.3, 0.22, 0.2)) + cylinder(0.06, 0.4, axis="y")
    swing = box((0.07, 0.06, 0.9), (0, -0.17, -0.45)) + ball(0.11, (0, -0.17, -0.9), rows=12)

    def more(picture: Picture, places: Places) -> None:
        at = places["cart"][0] + (0.0, 0.0, 0.22)
        picture.arrow(at + np.outer(np.linspace(-0.2, 0.35, 8), (1, 0, 0)), INK)

    shown = {"cart": cart, "rod": swing}
    poses, times = ramp([0.5], [-0.3], 4), (0.0, 1.0, 2.0, 3.0)
    arrow = (0.4, 0.2, 0.35)
    return Shown(m, ground, shown, poses, ("pivot",), arrow, (-70, 14), more, times)


def couple() -> Shown:
    m = rb.build(
        rb.SystemBuilder("gripper")
        .body("left", MASS)
        .body("right", MASS)
        .joint("thumb", "prismatic", "base", "left", axis=(1, 0, 0))
        .joint("finger", "prismatic", "base", "right", axis=(1, 0, 0))
        .couple("finger", follows="thumb", ratio=-1.0)
    )
    ground = box((1.5, 0.3, 0.16), (0, 0, -0.1)) + cylinder(0.15, 0.3, (0, 0, -0.3))
    finger = box((0.12, 0.26, 0.6), (0, 0, 0.3))

    def more(picture: Picture, places: Places) -> None:
        at = places["right"][0] + (0.0, -0.13, 0.35)
        picture.arrow(at - np.outer(np.linspace(0, 0.35, 8), (1, 0, 0)), INK)
        at = places["left"][0] + (0.0, -0.13, 0.35)
        picture.arrow(at + np.outer(np.linspace(0, 0.35, 8), (1, 0, 0)))

    shown = {"left": finger, "right": finger}
    return Shown(m, ground, shown, ramp([0.06], [0.3], 3), (), view=(-65, 20), more=more)


def gear() -> Shown:
    m = rb.build(
        rb.SystemBuilder("gear")
        .body("large", MASS)
        .body("small", MASS)
        .joint("axle_1", "revolute", "base", "large", axis=(0, 0, 1))
        .joint("axle_2", "revolute", "base", "small", axis=(0, 0, 1), xyz=(0.78, 0, 0))
        .gear("teeth", {"axle_1": 2.0, "axle_2": 1.0})
    )
    ground = box((1.5, 0.3, 0.1), (0.35, 0, -0.25))
    ground += cylinder(0.07, 0.5) + cylinder(0.07, 0.5, (0.78, 0, 0))
    large = gear_wheel(0.5, 0.12, 18) + box((0.4, 0.08, 0.06), (0.22, 0, 0.09))
    small = gear_wheel(0.25, 0.12, 9) + box((0.2, 0.08, 0.06), (0.11, 0, 0.09))
    poses = [np.array([0.35, -0.7])]
    shown = {"large": large, "small": small}
    return Shown(m, ground, shown, poses, ("axle_1", "axle_2"), (0.2, 0.2, 0.3), (-70, 40))


def rod() -> Shown:
    length, angles = 1.0, np.linspace(1.2, 0.5, 4)
    poses = [length * np.array([np.cos(a), np.sin(a)]) for a in angles]
    m = rb.build(
        rb.SystemBuilder("rod")
        .body("slider_1", MASS)
        .body("slider_2", MASS)
        .joint("rail_1", "prismatic", "base", "slider_1", axis=(1, 0, 0))
        .joint("rail_2", "prismatic", "base", "slider_2", axis=(0, 1, 0))
        .rod("strut", "slider_1", "slider_2", length)
    )
    ground = box((1.3, 0.1, 0.08), (0.5, 0, -0.08)) + box((0.1, 1.3, 0.08), (0, 0.5, -0.08))

    def more(picture: Picture, places: Places) -> None:
        for x, y in poses:
            picture.line([(x, 0, 0.1), (0, y, 0.1)], "#C9C9C9", 1.6)
        ends = np.array([places[name][0] + (0, 0, 0.1) for name in ("slider_1", "slider_2")])
        picture.line(ends, INK, 3.0, marker="o", markersize=5)

    block = box((0.2, 0.2, 0.2))
    shown = {"slider_1": block, "slider_2": block}
    arrow = (0.5, 0.2, 0.3)
    return Shown(m, ground, shown, poses, ("rail_1", "rail_2"), arrow, (-60, 40), more)


def band() -> Shown:
    side, top, length = 0.35, 1.0, 1.6  # the cable runs over one point
    m = rb.build(
        rb.SystemBuilder("band")
        .body("left", MASS)
        .body("right", MASS)
        .joint("guide_1", "prismatic", "base", "left", axis=(0, 0, 1), xyz=(-side, 0, 0))
        .joint("guide_2", "prismatic", "base", "right", axis=(0, 0, 1), xyz=(side, 0, 0))
        .band(
            "cable",
            [("left", (0, 0, 0)), ("base", (0, 0, top)), ("right", (0, 0, 0))],
            length,
            closed=False,
        )
    )
    ground = box((0.9, 0.12, 0.08), (0, 0.16, top)) + cylinder(0.06, 0.3, (0, 0.05, top), "y")

    def more(picture: Picture, places: Places) -> None:
        way = [places["left"][0], np.array((0, -0.1, top)), places["right"][0]]
        picture.line(np.array(way), INK, 2.2)

    block = box((0.24, 0.24, 0.2))
    poses = []
    for z in (0.15, 0.3, 0.5):
        rest = length - np.hypot(side, top - z)
        poses.append(np.array([z, top - np.sqrt(rest**2 - side**2)]))
    shown = {"left": block, "right": block}
    arrow = (0.45, 0.2, 0.3)
    return Shown(m, ground, shown, poses, ("guide_1", "guide_2"), arrow, (-65, 16), more)


def roll() -> Shown:
    radius = 0.35
    m = rb.build(
        rb.SystemBuilder("coin")
        .body("coin", MASS)
        .joint("free", "floating", "base", "coin", xyz=(0, 0, radius))
        .roll("edge", "coin", "base", radius, axis=(0, 1, 0))
    )
    ground = box((2.6, 1.0, 0.06), (0, 0, -0.03))
    coin = cylinder(radius, 0.08, axis="y") + box((0.06, 0.14, 0.26), (0, 0, 0.14))

    def more(picture: Picture, places: Places) -> None:
        at = places["coin"][0]
        picture.screw(at, np.array([0, 1, 0, radius, 0, 0]), 0.4, 0.16, -0.35)

    poses = [np.append((radius * a, 0, 0), wxyz((0, a, 0))) for a in (-2.6, -1.2, 0.1, 1.4)]
    return Shown(m, ground, {"coin": coin}, poses, (), view=(-66, 22), more=more)


def loop() -> Shown:
    s = rb.SystemBuilder("four_bar")
    for name in ("crank", "coupler", "rocker"):
        s.body(name, MASS)
    turns: dict[str, Any] = {"axis": (0, 0, 1)}
    s.joint("A", "revolute", "base", "crank", **turns)
    s.joint("B", "revolute", "crank", "coupler", xyz=(0.4, 0, 0), **turns)
    s.joint("D", "revolute", "base", "rocker", xyz=(1.2, 0, 0), **turns)
    ends = {"X_P": rb.pose((1.2, 0, 0)), "X_S": rb.pose((0.8, 0, 0))}
    m = rb.build(s.loop("C", "revolute", "coupler", "rocker", **turns, **ends))
    ground = box((1.5, 0.2, 0.08), (0.6, 0, -0.14))
    ground += cylinder(0.06, 0.2) + cylinder(0.06, 0.2, (1.2, 0, 0))

    def bar(length: float, level: float) -> Solid:
        pins = cylinder(0.09, 0.06, (0, 0, level)) + cylinder(0.09, 0.06, (length, 0, level))
        return box((length, 0.1, 0.06), (length / 2, 0, level)) + pins

    def more(picture: Picture, places: Places) -> None:
        p, R = places["rocker"]
        angle = np.linspace(0.0, 2.0 * np.pi, 40)[:, None]
        ring = 0.2 * (np.cos(angle) * R[:, 0] + np.sin(angle) * R[:, 1])
        picture.line(p + R @ (0.8, 0, 0.1) + ring, VERMILLION, 1.6, linestyle=(0, (3, 2)))

    shown = {"crank": bar(0.4, 0.0), "coupler": bar(1.2, 0.06), "rocker": bar(0.8, 0.0)}
    poses, guess = [], np.array([0.2, 0.6, 2.0])
    for angle in (0.2, 0.8, 1.4, 2.0):
        guess = rb.assemble(m, np.append(angle, guess[1:]), fixed=["A"])
        poses.append(guess)
    return Shown(m, ground, shown, poses, ("A",), (0.2, 0.2, 0.2), (-75, 48), more)
