# SPDX-License-Identifier: Apache-2.0
"""rb.draw_connectivity: draw the bodies, the spanning tree and the chords of a Model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.loading.output import output_path, write_whole
from rbdyn_ros.model.model import Model, check_model
from rbdyn_ros.report.describe import joint_type, loop_type
from rbdyn_ros.report.tree import base_link
from rbdyn_ros.view.pictures.canvas import BLUE, GREY, INK, VERMILLION, new_figure
from rbdyn_ros.view.pictures.layout import lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png", ".pdf")

NAME_SIZE, LABEL_SIZE, TYPE_SIZE, TITLE_SIZE = 8.0, 7.5, 6.5, 10.0  # font size [point]
LONGEST_NAME = 28
MARGIN, TITLE_SPACE = 0.35, 0.3  # sizes [inch]
MOST_PIXELS = 12_000  # longest side of a .png
POINTS = 61  # number of points of a curve
LANES = 4  # number of lanes, which keep neighbouring chords apart


def draw_connectivity(m: Model, path: str | Path) -> None:
    """Draw the connectivity graph of a Model to a .svg, .png or .pdf file.

    The base is hollow, and the column of a body is its distance from the base. Tree joints are
    solid lines, chords are dashed. Arrows point from predecessor to successor. A large graph has
    no names of joints, and a very large graph has no names at all. Source: RBDA section 4.1.

    Raises:
        ModelError: m is not a Model.
        ParameterError: the suffix is unknown, the file cannot be written, or matplotlib is not
            installed.
    """
    check_model(m, "draw_connectivity")
    target = output_path(path, "a picture", SUFFIXES)
    picture = _Picture(m)
    picture.draw_tree()
    picture.draw_bodies()
    picture.draw_chords()
    kind = target.suffix.lower()[1:]
    write_whole(target, lambda file: picture.figure.savefig(file, format=kind))


class _Picture:
    """A picture that is being drawn.

    Attributes:
        layout: positions of the bodies.
        curves: curves of the chords.
        taken: rectangles (x0, y0, x1, y1) of texts and bodies [inch].
        figure, axes: figure and axes with the size of the graph, in inches.
    """

    def __init__(self, m: Model) -> None:
        self.m = m
        self.names = [_shown(base_link(m) or "world"), *map(_shown, m.body_names[1:])]
        self.joints = [_shown(name) for name in m.jnt_names]
        self.types = [
            joint_type(m, j) + ", reversed" * int(m.jnt_reversed[j]) for j in range(m.njnt)
        ]
        labels = [
            max(_width(joint, LABEL_SIZE), _width(kind, TYPE_SIZE))
            for joint, kind in zip(self.joints, self.types, strict=True)
        ]
        widths = [_width(name, NAME_SIZE) for name in self.names]
        self.layout = lay_out(m.graph, widths, labels)
        places = np.column_stack([self.layout.x, self.layout.y])
        self.curves = [
            chord_curve(places[p], places[s], self.layout.radius, k, places)
            for k, (p, s) in enumerate(m.loop_bodyid)
        ]
        self.taken: list[Array] = []
        side = 0.5 * max(widths) if self.layout.names else 0.0
        self.figure, self.axes = self.paper(np.vstack([places, *self.curves]), side)

    def paper(self, points: Array, side: float) -> "tuple[Figure, Axes]":
        """Return a figure and axes for points (n, 2) [inch], with margins and a title.

        side: additional margin on the left and on the right [inch].
        """
        m = self.m
        title = f"{_shown(m.name)}:  N_B = {m.graph.N_B}, N_J = {m.graph.N_J}, N_L = {m.graph.N_L}"
        left, bottom = points.min(axis=0) - MARGIN - (side, 0.15)
        right, top = points.max(axis=0) + MARGIN + (side, TITLE_SPACE)
        width, height = max(right - left, _width(title, TITLE_SIZE) + 2 * MARGIN), top - bottom
        figure = new_figure(width, height, min(150.0, MOST_PIXELS / max(width, height)))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(left, left + width), ylim=(bottom, top))
        axes.set_axis_off()
        axes.text(left + 0.2, top - 0.15, title, size=TITLE_SIZE, color=INK, va="top",
                  parse_math=False)  # fmt: skip
        return figure, axes

    def draw_tree(self) -> None:
        from matplotlib.collections import LineCollection

        at, m, lines = self.layout, self.m, []
        for j, (joint, kind) in enumerate(zip(self.joints, self.types, strict=True)):
            i, parent = j + 1, m.graph.lam[j]
            bend, y = at.bend[parent], at.y[i]
            start = (at.x[parent], at.y[parent])
            lines.append([start, (bend, start[1]), (bend, y), (at.x[i], y)])
            middle = 0.5 * (bend + at.x[i] - at.radius)
            if at.names:
                self.arrow(middle, y, 180.0 if m.jnt_reversed[j] else 0.0, INK)
            if at.edge_labels:
                self.write(middle, y + 0.12, joint, LABEL_SIZE, INK)
                self.write(middle, y - 0.11, kind, TYPE_SIZE, GREY)
        self.axes.add_collection(LineCollection(lines, colors=INK, linewidths=1.0, zorder=1))

    def draw_bodies(self) -> None:
        from matplotlib.collections import EllipseCollection

        at, number = self.layout, len(self.names)
        size = np.full(number, 2.0 * at.radius)
        bodies = EllipseCollection(
            size, size, np.zeros(number), units="xy", edgecolors=INK, zorder=3,
            facecolors=["white", *[BLUE] * (number - 1)], linewidths=1.2 if at.names else 0.4,
            offsets=np.column_stack([at.x, at.y]), offset_transform=self.axes.transData,
        )  # fmt: skip
        self.axes.add_collection(bodies)
        if not at.names:
            return
        for i, (x, y, name) in enumerate(zip(at.x, at.y, self.names, strict=True)):
            self.taken.append(np.array([x, y, x, y]) + at.radius * np.array([-1, -1, 1, 1]))
            self.axes.text(x, y - 0.005, str(i), size=7.0, color="white" if i else INK,
                           ha="center", va="center_baseline", zorder=4)  # fmt: skip
            self.write(x, y - at.radius - 0.1, name, NAME_SIZE, INK)

    def draw_chords(self) -> None:
        for k, curve in enumerate(self.curves):
            self.axes.plot(*curve.T, color=VERMILLION, linewidth=1.2, linestyle=(0, (5, 3)),
                           zorder=2)  # fmt: skip
            if self.layout.edge_labels:
                text = f"{_shown(self.m.loop_names[k])}  {loop_type(self.m, k)}"
                size = np.array([_width(text, LABEL_SIZE), 0.14])
                spot = curve[free_spot(curve, size, self.taken)]
                self.write(spot[0], spot[1], text, LABEL_SIZE, VERMILLION)
            half = len(curve) // 2
            at = half + free_spot(curve[half:], np.array([0.1, 0.1]), self.taken)
            step = curve[at + 1] - curve[at - 1]
            angle = float(np.degrees(np.arctan2(step[1], step[0])))
            self.arrow(curve[at, 0], curve[at, 1], angle, VERMILLION)
            self.taken.append(np.concatenate([curve[at] - 0.05, curve[at] + 0.05]))

    def arrow(self, x: float, y: float, angle: float, color: str) -> None:
        """Draw an arrow head at a point, in the direction `angle` [degree]."""
        marker = (3, 0, angle - 90.0)
        self.axes.plot([x], [y], marker=marker, markersize=6.0, color=color, markeredgewidth=0,
                       zorder=2)  # fmt: skip

    def write(self, x: float, y: float, text: str, size: float, color: str) -> None:
        """Write a text on a white ground, centred at a point [inch]; size: font size [pt]."""
        half = 0.5 * np.array([_width(text, size), 1.3 * size / 72.0])
        self.taken.append(np.array([x - half[0], y - half[1], x + half[0], y + half[1]]))
        background = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none"}
        self.axes.text(x, y, text, size=size, color=color, ha="center", va="center", zorder=4,
                       parse_math=False, bbox=background)  # fmt: skip


def _shown(name: str) -> str:
    """Return a name as it is drawn: without unprintable characters, and cut if it is long."""
    name = "".join(c if c.isprintable() else "?" for c in name)
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."


def _width(text: str, size: float) -> float:
    """Return the approximate width of a text [inch]."""
    return 0.6 * len(text) * size / 72.0


def chord_curve(p: Array, s: Array, radius: float, lane: int, bodies: Array) -> Array:
    """Return the points (POINTS, 2) of a curve between two bodies.

    Between bodies in one row the curve rises above the names of joints. Otherwise it bends
    sideways, preferably to the right, far enough to pass other bodies.

    Args:
        p: position of the predecessor [inch].
        s: position of the successor [inch].
        radius: radius of a body [inch].
        lane: number of the lane, which keeps neighbouring chords apart.
        bodies: (n, 2) positions of all bodies, which the curve avoids [inch].
    """
    across, apart = s - p, lane % LANES
    if abs(across[1]) < radius:
        up = np.array([0.0, radius])
        lift = up + np.array([0.0, 0.4 + 0.08 * min(abs(across[0]), 6.0) + 0.2 * apart])
        return _bezier(p + up, p + lift, s + lift, s + up)
    right = np.array([abs(across[1]), -across[0] * np.sign(across[1])])
    ends = (bodies == p).all(axis=1) | (bodies == s).all(axis=1)
    curves = []
    for lean in (0.25, 0.15, 0.35, 0.05, 0.45, -0.15, -0.3):
        aside = (lean + 0.1 * apart) * right
        curves.append(_bezier(p, p + across / 3.0 + aside, s - across / 3.0 + aside, s))
    # choose the first of the curves that cross the fewest bodies
    return min(curves, key=lambda curve: _crossed(curve, bodies[~ends], 1.5 * radius))


def _bezier(a: Array, b: Array, c: Array, d: Array) -> Array:
    t = np.linspace(0.0, 1.0, POINTS)[:, None]
    return (1 - t) ** 3 * a + 3 * t * (1 - t) * ((1 - t) * b + t * c) + t**3 * d


def _crossed(curve: Array, bodies: Array, radius: float) -> int:
    """Return the number of bodies that are nearer to a curve than `radius`."""
    distance = np.linalg.norm(bodies[:, None] - curve[None], axis=2)
    return int((distance < radius).any(axis=1).sum())


def free_spot(curve: Array, size: Array, taken: Sequence[Array]) -> int:
    """Return the index of the point of a curve where a label covers the fewest other texts.

    Args:
        curve: (n, 2) points [inch]; the ends are left out, the middle is preferred.
        size: (2,) width and height of the label [inch].
        taken: occupied rectangles (x0, y0, x1, y1) [inch].
    """
    first = len(curve) // 6
    candidates = curve[first : len(curve) - first]
    low, high = candidates - 0.5 * size, candidates + 0.5 * size
    cost = 1e-3 * np.abs(np.arange(len(candidates)) - 0.5 * len(candidates))
    for x0, y0, x1, y1 in taken:
        across = np.minimum(high[:, 0], x1) - np.maximum(low[:, 0], x0)
        along = np.minimum(high[:, 1], y1) - np.maximum(low[:, 1], y0)
        cost += np.maximum(across, 0.0) * np.maximum(along, 0.0) * 100.0
    return first + int(np.argmin(cost))
