"""Films of recorded runs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.recording.run import Run
from rbdyn_ros.view.pictures.animation import MOST_FRAMES, SUFFIXES, animate


def film_run(run: Run, path: str | Path, fps: float = 25.0) -> None:
    """Write a film of a run, a second a second, to a .gif or .mp4 file.

    Args:
        run: of read_run.
        path: of the file; what is there is replaced.
        fps: frames a second, in a .gif rounded to what it can count.

    Raises:
        ParameterError: fps makes no film, or the file cannot be written; see rb.animate.
    """
    if not 0.0 < fps < math.inf:
        text = f"fps is {fps!r}; allowed is a finite number greater than 0"
        raise ParameterError(Finding("bad-fps", text, "error", "fps", None, repr(fps)))
    if Path(path).suffix.lower() == SUFFIXES[0]:
        fps = 100.0 / max(2, round(100.0 / fps))  # it counts in 1/100 s, see animate
    frames = 1 + math.floor(run.duration * fps)
    if frames > MOST_FRAMES:
        text = (
            f"a film of {run.duration:g} s at {fps:g} a second has {frames} frames; allowed are "
            f"{MOST_FRAMES}: choose a part of it, or fewer a second"
        )
        raise ParameterError(Finding("bad-fps", text, "error", "fps"))
    chosen = [run.at(float(run.time[0]) + k / fps) for k in range(frames)]
    animate(run.m, np.asarray(run.qpos[chosen]), path, fps=fps)
