# SPDX-License-Identifier: Apache-2.0
"""Write pictures as an animated GIF or MP4."""

import importlib.util
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.loading.output import unwritable, write_whole
from rbdyn_ros.view.pictures.canvas import missing_extra
from rbdyn_ros.view.render.lens import Pixels

#: Number of colours of a GIF; they are taken from its first frame.
COLORS = 256


def check_writer(path: Path) -> None:
    """Raise ParameterError if the writer (.gif: Pillow, .mp4: ffmpeg) is not installed."""
    if path.suffix.lower() == ".gif":
        if importlib.util.find_spec("PIL") is None:
            raise missing_extra("Pillow", "camera")
    elif shutil.which("ffmpeg") is None:
        text = "an .mp4 film needs the program ffmpeg, which is not installed; a .gif does not"
        raise ParameterError(Finding("no-ffmpeg", text, "error", "path", None, str(path)))


def write_film(path: Path, fps: float, frames: Iterator[Pixels]) -> None:
    """Write a film to a .gif or .mp4 file, whose path check_writer has accepted.

    Args:
        path: output file.
        fps: frames per second.
        frames: the pictures, (height, width, 3), at least one.

    Raises:
        ParameterError: the file cannot be written.
    """
    write = _write_gif if path.suffix.lower() == ".gif" else _write_mp4
    write(path, fps, frames)


def _write_gif(path: Path, fps: float, frames: Iterator[Pixels]) -> None:
    from PIL import Image

    images = (Image.fromarray(pixels) for pixels in frames)
    # use one palette for all frames, without dithering, to avoid flicker
    first = next(images).quantize(COLORS, Image.Quantize.MAXCOVERAGE, 3, dither=Image.Dither.NONE)
    rest: Any = (one.quantize(palette=first, dither=Image.Dither.NONE) for one in images)

    def write(file: BinaryIO) -> None:
        shown = 10 * round(100.0 / fps)  # [ms]
        first.save(file, "GIF", save_all=True, append_images=rest, duration=shown, loop=0)

    write_whole(path, write)


def _write_mp4(path: Path, fps: float, frames: Iterator[Pixels]) -> None:
    first = next(frames)
    height, width, _ = first.shape
    source = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}")
    even = ("-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2", "-pix_fmt", "yuv420p")
    words = ["ffmpeg", "-y", "-loglevel", "error", *source, "-i", "-", *even, str(path)]
    try:
        process = subprocess.Popen(words, stdin=subprocess.PIPE)  # noqa: S603
        with process:
            assert process.stdin is not None
            process.stdin.write(first.tobytes())
            for pixels in frames:
                process.stdin.write(pixels.tobytes())
    except OSError as error:
        raise unwritable(path, error) from error
    if process.returncode:
        raise unwritable(path, subprocess.CalledProcessError(process.returncode, "ffmpeg"))
