# SPDX-License-Identifier: Apache-2.0
"""rb.animate: films of a motion of a robot in its world."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.shapes import Appearance, read_appearance
from rbdyn_ros.dynamics.entry import check_pair
from rbdyn_ros.dynamics.instant import contact_points
from rbdyn_ros.dynamics.stages import kinematics, make_data, step
from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.loading.output import output_path
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model, check_model
from rbdyn_ros.view.notebook import Film
from rbdyn_ros.view.pictures.canvas import GREEN, GREY, INK, VERMILLION, new_figure
from rbdyn_ros.view.pictures.film import check_writer, write_film
from rbdyn_ros.view.pictures.scene import NO_LOOKS, BodyPoses, PictureScene

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".gif", ".mp4")
MOST_FRAMES = 20_000

#: Size of a contact point [1/72 inch]; radius and length of the head of an arrow, relative to the
#: size of the robot, and corners of its base.
TOUCH, HEAD, SIDES = 3.5, (0.015, 0.03), 8

#: Direction to the light, and the brightness of a surface along it.
LIGHT, DARKEST = np.array([0.36, -0.48, 0.8]), 0.45


def animate(
    m: Model,
    motion: Data | ArrayLike,
    path: str | Path,
    *,
    looks: Appearance | str | bytes | Path | None = None,
    package_dirs: Sequence[str | Path] = (),
    contacts: Sequence[ArrayLike] | None = None,
    duration: float | None = None,
    fps: float = 25.0,
    size: tuple[float, float] = (6.4, 4.8),
    elevation: float = 20.0,
    azimuth: float = -60.0,
) -> Film:
    """Write a film of a motion to a .gif or .mp4 file (the latter needs ffmpeg).

    The camera stands still. A body is drawn by its visuals, meshes with fewer triangles than their
    files have; without visuals by its contact geometries, and without these by a box with its mass
    and inertia, in a colour for each tree. Boxes and spheres of the world are drawn behind the
    bodies. Contact points are green, with an arrow for the force of each, as in the view: the
    weight of the robot is half as long as the robot. A .gif counts time in 1/100 s, so fps is
    rounded to 100 / n.

    Args:
        m: the Model.
        motion: qpos of every frame (frames, nq); or a Data, which is simulated and left in its
            last state.
        path: output file; replaced if it exists.
        looks: source of the <visual> elements: the file or URDF text of the robot.
        package_dirs: as for load_urdf.
        contacts: the contacts to draw in every frame (frames), each (k, 6): a point [m] and the
            force there on the second geometry [N]; only with positions. A Data shows its own.
        duration: simulated time [s]; only with a Data.
        fps: frames per second; the film runs in real time.
        size: size of the picture [inch], at 100 dots per inch.
        elevation: elevation of the camera above the horizon [degree].
        azimuth: azimuth of the camera about z from x [degree].

    Returns:
        The film, which a notebook plays, with warnings about visuals that were left out or
        replaced.

    Raises:
        ModelError: if a Data was not made for m, its simulation diverges, or `looks` is another
            robot.
        DescriptionError: the file in `looks` is refused.
        ParameterError: positions or contacts of another shape or not finite, other arguments out
            of range, another suffix, or matplotlib, Pillow or ffmpeg is not installed.
    """
    check_model(m, "animate")
    target = output_path(path, "a film", SUFFIXES)
    fps = _positive("fps", fps)
    if target.suffix.lower() == ".gif":
        fps = 100.0 / max(2, round(100.0 / fps))
    figure = new_figure(_positive("size", size[0]), _positive("size", size[1]), 100.0)
    check_writer(target)
    if not isinstance(looks, Appearance):
        looks = NO_LOOKS if looks is None else read_appearance(looks, package_dirs=package_dirs)
    if isinstance(motion, Data):
        if contacts is not None:
            text = "contacts are for an array of positions; a Data shows its own"
            raise ParameterError(Finding("bad-contacts", text, "error", "contacts"))
        poses, touching = _simulated(m, motion, _positive("duration", duration), fps)
    else:
        poses = _given(m, motion, duration, fps)
        touching = _contacts(contacts, len(poses.xpos))
    scene = PictureScene(m, poses, looks, touching)
    write_film(target, figure, fps, _drawn(figure, scene, elevation, azimuth))
    return Film(target, scene.findings)


def _given(m: Model, motion: ArrayLike, duration: object, fps: float) -> BodyPoses:
    try:
        qpos = np.asarray(motion, np.float64)
    except (TypeError, ValueError):
        qpos = np.empty(0)
    if qpos.ndim != 2 or qpos.shape[1] != m.nq or not 1 <= len(qpos) <= MOST_FRAMES:
        text = (
            f"a motion is a Data or an array of positions (frames, {m.nq}) with 1 to "
            f"{MOST_FRAMES} frames, not {_kind(motion)}"
        )
        raise ParameterError(Finding("bad-motion", text, "error", "motion"))
    if not np.isfinite(qpos).all():
        first = int(np.flatnonzero(~np.isfinite(qpos).all(axis=1))[0])
        text = f"the positions of frame {first} are not finite"
        raise ParameterError(Finding("bad-motion", text, "error", "motion"))
    if duration is not None:
        text = "duration is for a Data to simulate; an array has one row per frame"
        raise ParameterError(Finding("bad-duration", text, "error", "duration"))
    d = make_data(m)

    def frame(k: int) -> Data:
        d.qpos[:] = qpos[k]
        vars(d)["_time"][...] = k / fps  # for joints with prescribed motion
        return d

    return _poses(m, len(qpos), frame)


def _contacts(contacts: Sequence[ArrayLike] | None, frames: int) -> list[Array]:
    if contacts is None:
        return [np.zeros((0, 6))] * frames
    try:
        found = [np.asarray(each, np.float64) for each in contacts]
    except (TypeError, ValueError):
        found = []
    sound = all(each.shape[1:] == (6,) and np.isfinite(each).all() for each in found)
    if len(found) != frames or not sound:
        text = f"contacts must be arrays (k, 6) of finite numbers, one for each frame ({frames})"
        raise ParameterError(Finding("bad-contacts", text, "error", "contacts"))
    return found


def _simulated(m: Model, d: Data, duration: float, fps: float) -> tuple[BodyPoses, list[Array]]:
    check_pair(m, d)
    frames = 1 + round(duration * fps)
    if frames > MOST_FRAMES:
        text = f"a film of {duration:g} s has {frames} frames; allowed are {MOST_FRAMES}"
        raise ParameterError(Finding("bad-duration", text, "error", "duration"))
    done, touching = 0, list[Array]()

    def frame(k: int) -> Data:
        nonlocal done
        due = round(k / (fps * m.opt.timestep))
        step(m, d, due - done)
        done = due
        touching.append(contact_points(d))
        if not np.isfinite(d.qpos).all():
            text = f"the simulation diverged: qpos is not finite at time {d.time:g} s"
            raise ModelError(Finding("diverged", text, "error", m.name))
        return d.copy()  # kinematics would change d

    return _poses(m, frames, frame), touching


def _poses(m: Model, frames: int, at: Callable[[int], Data]) -> BodyPoses:
    kept: list[list[Any]] = []
    for k in range(frames):
        d = at(k)
        kinematics(m, d)
        kept.append([getattr(d, name).copy() for name in BodyPoses.__slots__])
    xpos, xmat = (np.array(part) for part in zip(*kept, strict=True))
    return BodyPoses(xpos, xmat.reshape(frames, m.nbody, 3, 3))


def _drawn(
    figure: Figure, scene: PictureScene, elevation: float, azimuth: float
) -> Iterator[None]:
    """Draw the frames into the figure, one after the other."""
    from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

    axes = _axes(figure, scene, elevation, azimuth)
    for floor in scene.floors():
        axes.add_collection(Poly3DCollection([floor], facecolors=GREY, alpha=0.25, zorder=0))
    for one in scene.obstacles:  # one large triangle would cover all that stands on it
        shades = _shaded(one.triangles, np.tile(one.color, (len(one.triangles), 1)))
        shape = Poly3DCollection(one.triangles, facecolors=shades, edgecolors=shades, zorder=0.5)
        axes.add_collection(shape)
    shown: list[tuple[Any, Array]] = []
    for segments, color in ((scene.links, INK), (scene.others, VERMILLION)):
        if segments.size:
            lines = Line3DCollection(segments[0], colors=color, linewidths=1.6, zorder=2)
            axes.add_collection(lines)
            shown.append((lines, segments))
    solids = Poly3DCollection(np.zeros((1, 3, 3)), linewidths=0.3, zorder=1)
    axes.add_collection(solids)
    shafts = Line3DCollection(np.zeros((0, 2, 3)), colors=GREEN, linewidths=1.6, zorder=3)
    heads = Poly3DCollection(np.zeros((1, 3, 3)), facecolors=GREEN, linewidths=0.0, zorder=3)
    axes.add_collection(shafts)
    axes.add_collection(heads)
    (balls,) = axes.plot([], [], [], "o", color=GREEN, markersize=TOUCH, zorder=3)
    colors = scene.colors()
    for k in range(len(scene.links)):
        triangles = scene.triangles(k)
        solids.set_verts(triangles)
        shades = _shaded(triangles, colors)
        solids.set(facecolors=shades, edgecolors=shades)  # edges hide the seams
        for lines, segments in shown:
            lines.set_segments(segments[k])
        shafts.set_segments(scene.forces[k])
        heads.set_verts(_heads(scene.forces[k], scene.size))
        balls.set_data_3d(*scene.touches[k].T)
        yield


def _heads(arrows: Array, size: float) -> Array:
    """Return the triangles (n, 3, 3) of the heads of arrows (k, 2, 3): cones at their ends."""
    radius, length = HEAD[0] * size, HEAD[1] * size
    way = arrows[:, 1] - arrows[:, 0]
    way /= np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
    aside = np.cross(way, np.eye(3)[np.abs(way).argmin(axis=1)])
    aside /= np.maximum(np.linalg.norm(aside, axis=1, keepdims=True), 1e-300)
    angles = np.linspace(0.0, 2.0 * np.pi, SIDES + 1)[:, None, None]
    ring = arrows[:, 1] + radius * (np.cos(angles) * aside + np.sin(angles) * np.cross(way, aside))
    tips = np.broadcast_to(arrows[:, 1] + length * way, ring.shape)
    triangles: Array = np.stack([ring[:-1], ring[1:], tips[1:]], axis=2)
    return triangles.reshape(-1, 3, 3)


def _shaded(triangles: Array, colors: Array) -> Array:
    """Return the colours (n, 4) of triangles in the light."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    lengths = np.maximum(np.linalg.norm(normals, axis=1), 1e-30)
    bright = DARKEST + (1.0 - DARKEST) * np.abs(normals @ LIGHT) / lengths  # both sides are lit
    return np.column_stack([colors[:, :3] * bright[:, None], colors[:, 3]])


def _axes(figure: Figure, scene: PictureScene, elevation: float, azimuth: float) -> Any:
    """Return axes that contain all frames, with one scale for x, y and z."""
    from matplotlib.ticker import MaxNLocator

    axes: Any = figure.add_axes((0.0, 0.05, 1.0, 0.95), projection="3d")
    axes.computed_zorder = False  # lines stay visible through the boxes
    low, high = scene.extent()
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    axes.set_box_aspect(high - low, zoom=0.9)
    axes.view_init(elevation, azimuth)
    shares = (high - low) / (high - low).max()
    for axis, share in zip((axes.xaxis, axes.yaxis, axes.zaxis), shares, strict=True):
        axis.set_major_locator(MaxNLocator(max(2, round(6 * share))))
    return axes


def _positive(name: str, value: object) -> float:
    if isinstance(value, int | float) and 0.0 < value < math.inf:
        return float(value)
    text = f"{name} is {value!r}; allowed is a finite number greater than 0"
    raise ParameterError(Finding(f"bad-{name}", text, "error", name, None, repr(value)))


def _kind(value: object) -> str:
    shape = getattr(value, "shape", None)
    return f"one of shape {shape}" if shape is not None else type(value).__name__
