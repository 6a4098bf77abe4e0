# SPDX-License-Identifier: Apache-2.0
"""rb.animate: write a film of a robot's motion in its world."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.shapes import Appearance, read_appearance
from rbdyn_ros.dynamics.entry import check_pair
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.dynamics.stages import step
from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.loading.output import output_path
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model, check_model
from rbdyn_ros.view.notebook import Film
from rbdyn_ros.view.pictures.film import check_writer, write_film
from rbdyn_ros.view.render.renderer import Renderer
from rbdyn_ros.view.scene.plain import plain_looks

SUFFIXES = (".gif", ".mp4")
MOST_FRAMES = 20_000
#: Allowed widths and heights of a film [pixels].
EDGES = range(16, 4097)


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
    size: tuple[int, int] = (640, 480),
    elevation: float = 20.0,
    azimuth: float = -60.0,
) -> Film:
    """Write a film of a motion to a .gif or .mp4 file (.mp4 needs ffmpeg).

    Frames are drawn without a display, as by `rb.render`. The camera stands still and shows the
    whole motion. Contact points are green. An arrow shows the force at each, as in the view: the
    arrow of a force as large as the robot's weight is half as long as the robot. A .gif counts
    time in 1/100 s, so fps is rounded to 100 / n.

    Args:
        m: the Model.
        motion: qpos of every frame (frames, nq); or a Data, which is simulated and keeps the last
            state.
        path: output file; replaced if it exists.
        looks: source of the <visual> elements: the file or URDF text of the robot; None: draw each
            body's contact geometries, or a box with its mass and inertia if it has none.
        package_dirs: as for load_urdf.
        contacts: for every frame the contacts to draw (k, 6): a point [m] and the force there on
            the second geometry [N]; only for an array of positions. None: no contacts are drawn; a
            Data shows its own.
        duration: simulated time [s], required for a Data; None for an array of positions.
        fps: frames per second; the film runs in real time.
        size: width and height of the picture [pixels].
        elevation: elevation of the camera above the horizon [degree].
        azimuth: azimuth of the camera about z from x [degree].

    Returns:
        The film, which a notebook plays, with warnings about visuals that were left out or
        replaced.

    Raises:
        ModelError: a Data was not made for m, its simulation diverges, or `looks` is another
            robot.
        DescriptionError: the file in `looks` is refused.
        ParameterError: positions or contacts have another shape or are not finite, another
            argument is out of range, the suffix is unknown, no picture can be drawn on this
            machine, or Pillow or ffmpeg is not installed.
    """
    check_model(m, "animate")
    target = output_path(path, "a film", SUFFIXES)
    fps = _positive("fps", fps)
    if target.suffix.lower() == ".gif":
        fps = 100.0 / max(2, round(100.0 / fps))
    edges = _edges(size)
    check_writer(target)
    if looks is None:
        looks = plain_looks(m)
    elif not isinstance(looks, Appearance):
        looks = read_appearance(looks, package_dirs=package_dirs)
    up, around = math.radians(elevation), math.radians(azimuth)
    flat = math.cos(up)
    direction = np.array([flat * math.cos(around), flat * math.sin(around), math.sin(up)])
    with Renderer(m, looks) as renderer:
        if isinstance(motion, Data):
            if contacts is not None:
                text = "contacts are for an array of positions; a Data shows its own"
                raise ParameterError(Finding("bad-contacts", text, "error", "contacts"))
            instants = _simulated(m, motion, _positive("duration", duration), fps)
        else:
            instants = _given(m, motion, contacts, duration, fps)
        camera, place = renderer.framing(instants, edges, direction)
        frames = (renderer.draw(one, camera, place, marks=True) for one in instants)
        write_film(target, fps, frames)
        return Film(target, (*looks.findings, *renderer.findings))


def _given(
    m: Model, motion: ArrayLike, contacts: Sequence[ArrayLike] | None, duration: object, fps: float
) -> list[Instant]:
    """Return the instants of positions at fps [Hz]; raise ParameterError if one is invalid."""
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
        text = "duration is allowed for a Data only; an array has one row per frame"
        raise ParameterError(Finding("bad-duration", text, "error", "duration"))
    still = np.zeros(m.nv)
    touching = _contacts(contacts, len(qpos))
    return [
        Instant(k / fps, row, still, still, points=points)  # the time is for prescribed motions
        for k, (row, points) in enumerate(zip(qpos, touching, strict=True))
    ]


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


def _simulated(m: Model, d: Data, duration: float, fps: float) -> list[Instant]:
    """Simulate a Data for a duration [s]; return its instants at fps [Hz].

    Raises:
        ParameterError: there are more than MOST_FRAMES frames.
        ModelError: the Data belongs to another Model, or the simulation diverges.
    """
    check_pair(m, d)
    frames = 1 + round(duration * fps)
    if frames > MOST_FRAMES:
        text = f"a film of {duration:g} s has {frames} frames; allowed are {MOST_FRAMES}"
        raise ParameterError(Finding("bad-duration", text, "error", "duration"))
    done, instants = 0, list[Instant]()
    for k in range(frames):
        due = round(k / (fps * m.opt.timestep))
        step(m, d, due - done)
        done = due
        if not np.isfinite(d.qpos).all():
            text = f"the simulation diverged: qpos is not finite at time {d.time:g} s"
            raise ModelError(Finding("diverged", text, "error", m.name))
        instants.append(Instant.of(m, d))
    return instants


def _edges(size: object) -> tuple[int, int]:
    pair = size if isinstance(size, tuple | list) and len(size) == 2 else (0, 0)
    if all(isinstance(edge, int) and edge in EDGES for edge in pair):
        return int(pair[0]), int(pair[1])
    text = (
        f"size is {size!r}; allowed are a width and a height of {EDGES.start} to "
        f"{EDGES.stop - 1} pixels"
    )
    raise ParameterError(Finding("bad-size", text, "error", "size", None, repr(size)))


def _positive(name: str, value: object) -> float:
    if isinstance(value, int | float) and 0.0 < value < math.inf:
        return float(value)
    text = f"{name} is {value!r}; allowed is a finite number greater than 0"
    raise ParameterError(Finding(f"bad-{name}", text, "error", name, None, repr(value)))


def _kind(value: object) -> str:
    shape = getattr(value, "shape", None)
    return f"one of shape {shape}" if shape is not None else type(value).__name__
