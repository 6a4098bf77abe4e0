# SPDX-License-Identifier: Apache-2.0
"""Write a figure frame by frame as an animated GIF or MP4."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.loading.output import unwritable, write_whole
from rbdyn_ros.view.pictures.canvas import missing_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_writer(path: Path) -> None:
    """Raise ParameterError unless the writer of .gif or .mp4 files is installed."""
    if path.suffix.lower() == ".gif":
        if importlib.util.find_spec("PIL") is None:
            raise missing_extra("Pillow")
    elif not _has_ffmpeg():
        text = "an .mp4 film needs the program ffmpeg, which is not installed; a .gif does not"
        raise ParameterError(Finding("no-ffmpeg", text, "error", "path", None, str(path)))


def write_film(path: Path, figure: Figure, fps: float, frames: Iterator[None]) -> None:
    """Write a .gif or .mp4 file that passed check_writer.

    Args:
        path: output file.
        figure: figure that holds each frame.
        fps: frames per second.
        frames: iterator that draws the next frame at each step.

    Raises:
        ParameterError: the file cannot be written.
    """
    write = _write_gif if path.suffix.lower() == ".gif" else _write_mp4
    write(path, figure, fps, frames)


def _write_gif(path: Path, figure: Figure, fps: float, frames: Iterator[None]) -> None:
    from PIL import Image

    def image() -> Any:
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]  # type: ignore[attr-defined]
        return Image.fromarray(np.ascontiguousarray(pixels))

    next(frames)
    first = image().quantize(64)
    # one palette for all frames avoids flicker
    rest = (image().quantize(palette=first, dither=Image.Dither.NONE) for _ in frames)

    def write(file: BinaryIO) -> None:
        shown = 10 * round(100.0 / fps)  # [ms]
        first.save(file, "GIF", save_all=True, append_images=rest, duration=shown, loop=0)

    write_whole(path, write)


def _write_mp4(path: Path, figure: Figure, fps: float, frames: Iterator[None]) -> None:
    from matplotlib.animation import FFMpegWriter

    writer = FFMpegWriter(fps=fps)  # type: ignore[arg-type]
    try:
        with writer.saving(figure, str(path), figure.dpi):
            for _ in frames:
                writer.grab_frame()
    except (OSError, subprocess.CalledProcessError) as error:
        raise unwritable(path, error) from error


def _has_ffmpeg() -> bool:
    from matplotlib.animation import FFMpegWriter

    return bool(FFMpegWriter.isAvailable())
