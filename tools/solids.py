# SPDX-License-Identifier: Apache-2.0
"""Orthographic pictures of solids with a depth buffer, and arrows for motions.

Everything is in world coordinates [m]. A solid is a list of convex faces, each (corners, 3) with
its corners counter-clockwise as seen from outside.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbdyn_ros.view.pictures.canvas import GREY, INK, VERMILLION, new_figure

Floats = NDArray[np.float64]
Solid = list[Floats]

LIGHT = np.array([0.35, -0.55, 0.76])
WIDTH, HEIGHT, DPI = 3.2, 2.4, 150  # size of a picture [inch]
FINE = 3  # pixels of the depth buffer per pixel of the picture
TURN = 1.5 * np.pi  # arc of the arrow of an angular velocity [rad]


def box(size: ArrayLike, at: ArrayLike = (0, 0, 0)) -> Solid:
    """Return a box about a point."""
    half, faces = 0.5 * np.asarray(size, float), []
    for k in range(3):
        a, b, c = np.roll(np.eye(3), -k, axis=0)
        ring = np.array([b + c, b - c, -b - c, c - b]) * half
        faces += [ring + half * a, ring - half * a]
    return [np.asarray(at, float) + face for face in _outwards(faces, np.zeros(3))]


def cylinder(
    radius: float, length: float, at: ArrayLike = (0, 0, 0), axis: str = "z", sides: int = 40
) -> Solid:
    """Return a cylinder about a point, along x, y or z."""
    order = np.roll(np.arange(3), "zxy".index(axis))  # permute z to the axis
    angle = np.linspace(0.0, 2.0 * np.pi, sides + 1)
    rim = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    low, high = (np.column_stack([rim, np.full(len(rim), z)]) for z in (-length / 2, length / 2))
    wall = [np.array([low[k], low[k + 1], high[k + 1], high[k]]) for k in range(sides)]
    solid = [face[:, order] for face in [*wall, low[:-1], high[:-1]]]
    return [np.asarray(at, float) + face for face in _outwards(solid, np.zeros(3))]


def ball(radius: float, at: ArrayLike = (0, 0, 0), rows: int = 10) -> Solid:
    """Return a ball about a point."""
    up, round_ = np.linspace(0.0, np.pi, rows + 1), np.linspace(0.0, 2.0 * np.pi, 2 * rows + 1)
    ring = np.stack([np.cos(round_), np.sin(round_), np.zeros(len(round_))], axis=1)
    sphere = radius * (
        np.sin(up)[:, None, None] * ring + np.cos(up)[:, None, None] * np.array([0.0, 0.0, 1.0])
    )
    solid = [
        np.array([sphere[i, k], sphere[i, k + 1], sphere[i + 1, k + 1], sphere[i + 1, k]])
        for i in range(rows)
        for k in range(2 * rows)
    ]
    return [np.asarray(at, float) + face for face in _outwards(solid, np.zeros(3))]


def gear_wheel(radius: float, width: float, teeth: int, first: float = 0.0) -> Solid:
    """Return a gear wheel about z at the origin, with a tooth centred at `first` [rad]."""
    faces = cylinder(radius - 0.03, width)
    for k in range(teeth):
        angle = first + 2.0 * np.pi * k / teeth
        R = about_z(angle)
        tooth = box((0.1, 2.6 * radius / teeth, width), (radius, 0, 0))
        faces += moved(tooth, R, np.zeros(3))
    return faces


def _outwards(faces: Solid, middle: Floats) -> Solid:
    """Return the faces of a convex solid with outward normals."""
    return [facing(face, face.mean(axis=0) - middle) for face in faces]


def facing(face: Floats, direction: Floats) -> Floats:
    """Return a face with its normal along a direction."""
    return face if normal(face) @ direction > 0.0 else face[::-1]


def normal(face: Floats) -> Floats:
    """Return the unit normal of a face by Newell's method."""
    whole: Floats = np.cross(face, np.roll(face, -1, axis=0)).sum(axis=0)
    length: float = float(np.linalg.norm(whole))
    return np.asarray(whole / length)


def about_z(angle: float) -> Floats:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def moved(solid: Solid, R: Floats, p: Floats) -> Solid:
    return [face @ R.T + p for face in solid]


class Picture:
    """Solids and arrows in orthographic projection.

    Args:
        azimuth: direction of the viewer, about z from x [degree].
        elevation: direction of the viewer above the horizon [degree].
    """

    def __init__(self, azimuth: float = -60.0, elevation: float = 24.0) -> None:
        a, e = np.radians(azimuth), np.radians(elevation)
        towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        self.view = np.column_stack([right, np.cross(towards, right), towards])
        self.faces: list[tuple[Floats, Floats, float]] = []
        self.lines: list[tuple[Floats, dict[str, Any]]] = []
        self.heads: list[tuple[Floats, Floats, str]] = []

    def add(self, solid: Solid, color: str, alpha: float = 1.0) -> None:
        """Add a shaded solid. A translucent solid covers the solids added before it."""
        from matplotlib.colors import to_rgb

        light = LIGHT / np.linalg.norm(LIGHT)
        for face in solid:
            out = normal(face)
            if out @ self.view[:, 2] > 1e-6:
                bright = 0.62 + 0.38 * max(0.0, float(out @ light))
                shade = np.minimum(1.0, bright * (np.array(to_rgb(color)) + 0.1))
                self.faces.append((face @ self.view, shade, alpha))

    def line(self, points: ArrayLike, color: str = GREY, width: float = 1.0, **look: Any) -> None:
        """Add a line in front of all solids."""
        flat = np.asarray(points, float) @ self.view[:, :2]
        self.lines.append((flat, {"color": color, "linewidth": width, **look}))

    def arrow(self, points: Floats, color: str = VERMILLION) -> None:
        """Add a line with a head at its end."""
        self.line(points[:-1], "white", 4.2, solid_capstyle="round")
        self.line(points[:-1], color, 1.8, solid_capstyle="round")
        flat = points @ self.view[:, :2]
        self.heads.append((flat[-1], flat[-1] - flat[-2], color))

    def screw(self, p: Floats, s: Floats, length: float, radius: float, pole: float) -> None:
        """Add the arrows of a spatial velocity [angular; linear] at a point of the body.

        A rotation is an arrow around its axis, which is a thin line; a translation is straight.

        Args:
            p: origin of the body's frame.
            s: unit velocity at p, in world axes.
            length: length of a straight arrow.
            radius: radius of a round arrow.
            pole: position of a round arrow along the axis, from the point nearest to p.
        """
        w, v = s[:3], s[3:]
        if not np.any(w):
            self.arrow(np.linspace(p, p + length * v / np.linalg.norm(v), 8))
            return
        axis = w / np.linalg.norm(w)
        foot = p + np.cross(w, v) / (w @ w)
        middle = foot + pole * axis
        self.line([foot - 0.25 * pole * axis, middle + 0.35 * length * axis], VERMILLION, 0.9,
                  linestyle=(0, (4, 2, 1, 2)))  # fmt: skip
        side = np.cross(axis, self.view[:, 2])
        side /= max(float(np.linalg.norm(side)), 1e-9)
        angle = np.linspace(-0.25 * TURN, 0.75 * TURN, 40)[:, None]
        other = np.cross(axis, side)
        self.arrow(middle + radius * (np.cos(angle) * side + np.sin(angle) * other))
        if abs(w @ v) > 1e-12:
            rise = np.sign(w @ v) * axis
            self.arrow(np.linspace(middle, middle + length * rise, 8))

    def triad(self, R: Floats, p: Floats, length: float) -> None:
        """Add the axes of a frame as thin lines."""
        for k, name in enumerate("xyz"):
            tip = p + length * R[:, k]
            self.line([p, tip], INK, 0.9)
            self.heads.append((tip @ self.view[:, :2], np.zeros(2), name))

    def save(self, path: Path) -> None:
        """Draw everything as large as it fits."""
        figure = new_figure(WIDTH, HEIGHT, DPI)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        low, high = self._window()
        axes.imshow(self._pixels(low, high), extent=(low[0], high[0], low[1], high[1]))
        for points, look in self.lines:
            axes.plot(*points.T, **look)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        axes.set_axis_off()
        size = high[0] - low[0]
        for tip, direction, color in self.heads:
            if np.any(direction):
                _head(axes, tip, direction / np.linalg.norm(direction) * size * 0.045, color)
            else:
                axes.text(tip[0], tip[1], color, size=6.5, color=INK, ha="center", va="center",
                          style="italic")  # fmt: skip
        figure.savefig(path, metadata={"Software": None})
        _fewer_colors(path)

    def _window(self) -> tuple[Floats, Floats]:
        """Return the corners of the shown area, with the aspect ratio of the picture."""
        flat = [face[:, :2] for face, _, _ in self.faces] + [line for line, _ in self.lines]
        corners = np.concatenate([*flat, *(tip[None] for tip, _, _ in self.heads)])
        low, high = corners.min(axis=0), corners.max(axis=0)
        shape = np.array([WIDTH, HEIGHT])
        half = 0.53 * float(((high - low) / shape).max()) * shape
        return 0.5 * (low + high) - half, 0.5 * (low + high) + half

    def _pixels(self, low: Floats, high: Floats) -> Floats:
        """Return the solids as an image (rows, columns, 3)."""
        shape = np.array([WIDTH, HEIGHT]) * DPI * FINE
        columns, rows = (round(side) for side in shape)
        scale = np.array([1.0, -1.0]) * shape / (high - low)
        corner = np.array([low[0], high[1]])
        image, depth = np.ones((rows, columns, 3)), np.full((rows, columns), -np.inf)
        for alpha in sorted({alpha for _, _, alpha in self.faces}, key=lambda a: (a < 1.0, a)):
            paint, near = np.ones((rows, columns, 3)), np.full((rows, columns), -np.inf)
            for face, shade, of in self.faces:
                if of == alpha:
                    flat = np.column_stack([(face[:, :2] - corner) * scale, face[:, 2]])
                    for k in range(1, len(flat) - 1):
                        _fill(paint, near, flat[[0, k, k + 1]], shade)
            seen = near > depth
            image[seen] += alpha * (paint[seen] - image[seen])
            if alpha == 1.0:
                depth = np.maximum(depth, near)
        shrunk: Floats = image.reshape(rows // FINE, FINE, columns // FINE, FINE, 3).mean((1, 3))
        return shrunk


def _fill(image: Floats, depth: Floats, triangle: Floats, shade: Floats) -> None:
    """Paint a triangle (3, 3), in pixels and depth, where no other triangle is nearer."""
    rows, columns = depth.shape
    low = np.maximum(np.floor(triangle[:, :2].min(axis=0)), 0.0).astype(int)
    high = np.ceil(triangle[:, :2].max(axis=0)).astype(int)
    high = np.minimum(high, (columns, rows))
    (x0, y0, z0), (x1, y1, z1), (x2, y2, z2) = triangle
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if abs(area) < 1e-9 or np.any(high <= low):
        return
    y, x = np.mgrid[low[1] : high[1], low[0] : high[0]] + 0.5
    b = ((x - x0) * (y2 - y0) - (x2 - x0) * (y - y0)) / area
    c = ((x1 - x0) * (y - y0) - (x - x0) * (y1 - y0)) / area
    z = z0 + b * (z1 - z0) + c * (z2 - z0)
    part = slice(low[1], high[1]), slice(low[0], high[0])
    inside = (b >= -1e-9) & (c >= -1e-9) & (b + c <= 1.0 + 1e-9) & (z > depth[part])
    depth[part][inside] = z[inside]
    image[part][inside] = shade


def _fewer_colors(path: Path) -> None:
    """Rewrite a picture with a palette of 128 colours, which makes the file a third as large."""
    from PIL import Image

    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def _head(axes: Any, tip: Floats, along: Floats, color: str) -> None:
    across = 0.42 * np.array([-along[1], along[0]])
    axes.fill(*np.array([tip + 0.35 * along, tip - 0.65 * along + across,
                         tip - 0.65 * along - across]).T, color=color, zorder=5,
              edgecolor="white", linewidth=0.6)  # fmt: skip
