# SPDX-License-Identifier: Apache-2.0
"""Write pictures as H.264 in an mp4 file, with PyAV."""

from __future__ import annotations

import importlib
from fractions import Fraction
from pathlib import Path
from typing import Any

from rbdyn_ros.recording.lerobot.cameras import Camera, Picture

CODEC, FORMAT = "libx264", "yuv420p"
#: Every second frame is complete, as in LeRobot: a learner reads single frames.
KEY_EVERY = 2
#: Quality: 18 looks the same as the original.
QUALITY = 18


class VideoFile:
    """An mp4 file with one picture a frame; frame k is at k / fps.

    Args:
        path: of the file.
        camera: gives the size of the pictures.
        fps: frames per second.
    """

    def __init__(self, path: Path, camera: Camera, fps: int) -> None:
        # not the import: the type of a stream depends on its codec
        self._av: Any = importlib.import_module("av")
        self._file: Any = self._av.open(str(path), "w")
        options = {"g": str(KEY_EVERY), "crf": str(QUALITY), "bf": "0"}
        self._stream: Any = self._file.add_stream(CODEC, rate=fps, options=options)
        self._stream.width, self._stream.height = camera.width, camera.height
        self._stream.pix_fmt = FORMAT
        self._frames, self._period = 0, Fraction(1, fps)

    def add(self, picture: Picture) -> None:
        """Append a picture (height, width, 3)."""
        frame = self._av.VideoFrame.from_ndarray(picture, format="rgb24")
        frame.pts, self._frames = self._frames, self._frames + 1
        frame.time_base = self._period
        self._file.mux(self._stream.encode(frame))

    def close(self) -> None:
        """Write the rest."""
        self._file.mux(self._stream.encode())
        self._file.close()


def video_info(camera: Camera, fps: int) -> dict[str, Any]:
    """Return what LeRobot keeps of a video."""
    return {
        "video.height": camera.height,
        "video.width": camera.width,
        "video.codec": "h264",
        "video.pix_fmt": FORMAT,
        "video.is_depth_map": False,
        "video.fps": fps,
        "video.channels": 3,
        "has_audio": False,
    }
