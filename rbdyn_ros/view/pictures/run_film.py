# SPDX-License-Identifier: Apache-2.0
"""Write a film of a recorded run."""

import functools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.recording.run import RecordedRun
from rbdyn_ros.view.pictures.animation import MOST_FRAMES, SUFFIXES, animate


def film_run(
    run: RecordedRun,
    path: str | Path,
    fps: float = 25.0,
    looks: str | Path | None = None,
    package_dirs: Sequence[str | Path] = (),
) -> tuple[Finding, ...]:
    """Write a film of a run, in real time, to a .gif or .mp4 file.

    Contact forces are drawn if the recording has them, see RecordedRun.instant. If the visuals
    belong to another robot, the robot of the run is drawn without visuals.

    Args:
        run: result of read_run.
        path: output file; replaced if it exists.
        fps: frames per second; in a .gif rounded to 100 / n.
        looks: file of the robot, for its visuals; None: the URDF in the recording.
        package_dirs: as for load_urdf.

    Returns:
        Warnings about visuals that were left out or replaced.

    Raises:
        ParameterError: fps is out of range, or the file cannot be written; see rb.animate.
    """
    if not 0.0 < fps < math.inf:
        text = f"fps is {fps!r}; allowed is a finite number greater than 0"
        raise ParameterError(Finding("bad-fps", text, "error", "fps", None, repr(fps)))
    if Path(path).suffix.lower() == SUFFIXES[0]:
        fps = 100.0 / max(2, round(100.0 / fps))  # a .gif counts time in 1/100 s
    frames = 1 + math.floor(run.duration * fps)
    if frames > MOST_FRAMES:
        text = (
            f"a film of {run.duration:g} s at {fps:g} frames/s has {frames} frames; allowed are "
            f"{MOST_FRAMES}: choose a part of it or a lower rate"
        )
        raise ParameterError(Finding("bad-fps", text, "error", "fps"))
    chosen = [run.at(float(run.time[0]) + k / fps) for k in range(frames)]
    source = looks if looks is not None else run.urdf or None
    points = [run.instant(k).points for k in chosen]
    contacts = [np.zeros((0, 6)) if each is None else each for each in points]
    positions = np.asarray(run.qpos[chosen])
    write = functools.partial(animate, run.m, positions, path, fps=fps, contacts=contacts)
    try:
        return write(looks=source, package_dirs=package_dirs).findings
    except ModelError as error:
        write(looks=None)
        return error.findings
