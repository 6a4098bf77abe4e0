# SPDX-License-Identifier: Apache-2.0
"""The colour cameras of a recording: when they measured, and their pictures one after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.errors import RbdynError, quote
from rbdyn_ros.nanoseconds import nanoseconds
from rbdyn_ros.recording.bags import Recording, recording_error
from rbdyn_ros.recording.mcap_file import Topic
from rbdyn_ros.recording.schemas import Schemas

IMAGE, END = "sensor_msgs/msg/Image", "/image_raw"
#: Encodings of colour pictures, each with the order of its channels as red, green, blue.
ENCODINGS = {"rgb8": [0, 1, 2], "bgr8": [2, 1, 0]}

Picture = NDArray[np.uint8]


@dataclass(slots=True)
class Camera:
    """A camera of a recording.

    Attributes:
        topic: with its pictures.
        height, width: of the pictures [pixel].
        stamps: when they were measured [ns], in the order of the recording.
    """

    topic: str
    height: int
    width: int
    stamps: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name in the dataset, which has no slashes."""
        return self.topic.removesuffix(END).strip("/").replace("/", "_")


class Cameras:
    """Reads the colour cameras of a recording.

    Args:
        path: of the recording.

    Attributes:
        found: the cameras by topic, in the order of their names.

    Raises:
        ParameterError: the recording cannot be read, or the size of pictures changes or is odd.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._schemas = path, Schemas()
        cameras: dict[str, Camera] = {}
        for topic, stamp, picture in self._messages():
            height, width = picture.shape[:2]
            camera = cameras.setdefault(topic, Camera(topic, height, width))
            self._check_size(camera, height, width)
            camera.stamps.append(stamp)
        self.found = {name: cameras[name] for name in sorted(cameras)}

    def pictures(self) -> Iterator[tuple[str, Picture]]:
        """Yield the topic and the picture (height, width, 3) of every message, red first."""
        for topic, _, picture in self._messages():
            yield topic, picture

    def _messages(self) -> Iterator[tuple[str, int, Picture]]:
        for message in Recording(self._path).messages(_is_image):
            name = message.topic.name
            try:
                image = self._schemas.deserialize(message.raw, IMAGE)
                if image.encoding not in ENCODINGS:
                    continue
                stamp = nanoseconds(image.header.stamp)
                picture = _pixels(image)
            except RbdynError:
                raise
            except Exception as error:  # from rosbags, if the bytes do not match the type
                text = f"a message of {quote(name)} is not a valid {IMAGE}: {error}"
                raise recording_error("wrong-message", text, str(self._path)) from error
            yield name, stamp, picture

    def _check_size(self, camera: Camera, height: int, width: int) -> None:
        """Raise ParameterError for a size that one video cannot have."""
        text = ""
        if (height, width) != (camera.height, camera.width):
            text = f"changes from {camera.width} x {camera.height} to {width} x {height}"
        elif height % 2 or width % 2 or not height * width:
            text = f"is {width} x {height}; both numbers must be even for H.264"
        if text:
            text = f"the size of the pictures of {quote(camera.topic)} {text}"
            raise recording_error("picture-size", text, str(self._path))


def _is_image(topic: Topic) -> bool:
    named = topic.typename == IMAGE and topic.name.endswith(END)
    return named and topic.encoding in ("cdr", "")


def _pixels(image: Any) -> Picture:
    """Return the pixels of a sensor_msgs/Image; raises ValueError if it has too few bytes."""
    rows = np.asarray(image.data, np.uint8)[: image.height * image.step]
    rows = rows.reshape(image.height, image.step)[:, : 3 * image.width]
    return rows.reshape(image.height, image.width, 3)[:, :, ENCODINGS[image.encoding]]
