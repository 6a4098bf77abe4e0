"""Writes what is drawn, frame by frame, as an animated GIF or an MP4."""

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


def demand_writer(path: Path) -> None:
    """Raise ParameterError unless what a .gif or .mp4 file needs is installed."""
    if path.suffix.lower() == ".gif":
        if importlib.util.find_spec("PIL") is None:
            raise missing_extra("Pillow")
    elif not _ffmpeg_is_there():
        text = "an .mp4 film needs the program ffmpeg, which is not installed; a .gif does not"
        raise ParameterError(Finding("no-ffmpeg", text, "error", "path", None, str(path)))


def write_film(path: Path, figure: Figure, fps: float, frames: Iterator[None]) -> None:
    """Write a .gif or .mp4 file; demand_writer has agreed to it.

    Args:
        path: of the file.
        figure: what each frame is drawn into.
        fps: frames a second.
        frames: draws the next frame each time it is asked for one.

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
    # all frames share the colours of the first, so that nothing flickers
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


def _ffmpeg_is_there() -> bool:
    from matplotlib.animation import FFMpegWriter

    return bool(FFMpegWriter.isAvailable())
