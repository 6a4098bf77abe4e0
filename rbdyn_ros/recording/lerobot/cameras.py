# SPDX-License-Identifier: Apache-2.0
"""Read the colour cameras of a recording: their times, and their pictures one after another."""

import importlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.checks.names import free_name
from rbdyn_ros.errors import RbdynError, listing, quote
from rbdyn_ros.nanoseconds import NANOSECONDS, nanoseconds
from rbdyn_ros.recording import topics
from rbdyn_ros.recording.bags import Recording, recording_error
from rbdyn_ros.recording.collect import BACK, STATES
from rbdyn_ros.recording.mcap_file import Message, Topic
from rbdyn_ros.recording.schemas import STATE, Schemas

IMAGE, END = "sensor_msgs/msg/Image", "/image_raw"
#: For each encoding of colour pictures, the indices of its red, green and blue channel.
ENCODINGS = {"rgb8": [0, 1, 2], "bgr8": [2, 1, 0]}

Picture = NDArray[np.uint8]


@dataclass(slots=True)
class Camera:
    """A camera of a recording.

    Attributes:
        topic: topic of the pictures.
        name: name of the camera in the dataset, without slashes.
        height, width: size of the pictures [pixels].
        stamps: times at which the pictures were taken [ns], in the order of the recording.
        before: number of pictures that were recorded before the last reset of time.
    """

    topic: str
    name: str
    height: int
    width: int
    stamps: list[int] = field(default_factory=list)
    before: int = 0


class Cameras:
    """Reads the colour cameras of a recording.

    Args:
        path: path of the recording.

    Attributes:
        found: the cameras by topic, in the order of their names.
        ignored: topics whose pictures cannot be read, with their encodings.

    Raises:
        ParameterError: the recording cannot be read, the size of pictures is odd, or their size or
            encoding changes.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._schemas = path, Schemas()
        self.ignored: dict[str, str] = {}
        cameras: dict[str, Camera] = {}
        for topic, stamp, picture in self._messages():
            height, width = picture.shape[:2]
            camera = cameras.setdefault(topic, Camera(topic, "", height, width))
            self._check_size(camera, height, width)
            camera.stamps.append(stamp)
        self.found = {name: cameras[name] for name in sorted(cameras)}
        if mixed := self.found.keys() & self.ignored.keys():
            text = f"the encoding of the pictures of {listing(sorted(mixed))} changes"
            raise recording_error("picture-encoding", text, str(path))
        names: set[str] = set()
        for camera in self.found.values():
            camera.name = free_name(_name(camera.topic), names)
            names.add(camera.name)
        if self.found:
            self._count_before()

    def _count_before(self) -> None:
        """Set `before` of each camera; the states show when time was reset."""
        seen, clocks = dict.fromkeys(self.found, 0), dict[str, tuple[int, int]]()
        for message in Recording(self._path).messages(lambda x: x.name in seen or _is_state(x)):
            name = message.topic.name
            if name in seen:
                seen[name] += 1
                continue
            epoch, stamp = _clock(message)
            last_epoch, last = clocks.get(name, (epoch, stamp))
            clocks[name] = epoch, stamp
            if epoch != last_epoch or stamp < last - BACK:
                for camera in self.found.values():
                    camera.before = seen[camera.topic]

    def pictures(self) -> Iterator[tuple[str, Picture]]:
        """Yield the topic and the picture of each message (height, width, 3): red, green, blue."""
        for topic, _, picture in self._messages():
            yield topic, picture

    def _messages(self) -> Iterator[tuple[str, int, Picture]]:
        for message in Recording(self._path).messages(_is_image):
            name = message.topic.name
            try:
                image = self._schemas.deserialize(message.raw, IMAGE)
                if image.encoding not in ENCODINGS:
                    self.ignored[name] = str(image.encoding)
                    continue
                stamp = nanoseconds(image.header.stamp)
                picture = _pixels(image)
            except RbdynError:
                raise
            except Exception as error:  # for wrong bytes, rosbags raises errors of many types
                text = f"a message of {quote(name)} is not a valid {IMAGE}: {error}"
                raise recording_error("wrong-message", text, str(self._path)) from error
            yield name, stamp, picture

    def _check_size(self, camera: Camera, height: int, width: int) -> None:
        """Raise ParameterError if a size is not the camera's, or is impossible in a video."""
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


def _is_state(topic: Topic) -> bool:
    named = topic.typename == topics.JOINT_STATE and topic.name.rsplit("/", 1)[-1] == STATES
    return (named or topic.typename == STATE) and topic.encoding in ("cdr", "")


def _clock(message: Message) -> tuple[int, int]:
    """Return epoch and stamp [ns] of a State or JointState, which read_run has checked.

    A State begins with its stamp, tick, time and epoch; a JointState begins with its stamp, and
    its epoch counts as 0.
    """
    order = "<" if message.raw[1] else ">"
    second, rest = struct.unpack_from(f"{order}iI", message.raw, 4)
    stamp = NANOSECONDS * second + rest
    if message.topic.typename != STATE:
        return 0, stamp or message.time_ns
    return struct.unpack_from(f"{order}I", message.raw, 28)[0], stamp


def _name(topic: str) -> str:
    """Return the name of a camera from its topic; in the root namespace it is `camera`."""
    return topic.removesuffix(END).strip("/").replace("/", "_") or "camera"


def _pixels(image: Any) -> Picture:
    """Return the pixels of a sensor_msgs/Image (height, width, 3); ValueError: too few bytes."""
    rows = np.asarray(image.data, np.uint8)[: image.height * image.step]
    rows = rows.reshape(image.height, image.step)[:, : 3 * image.width]
    return rows.reshape(image.height, image.width, 3)[:, :, ENCODINGS[image.encoding]]


CODEC, FORMAT = "libx264", "yuv420p"
#: Every second frame is a key frame, as in LeRobot, because learning reads single frames.
KEY_EVERY = 2
#: Quality of the video (CRF); with 18 a picture can hardly be distinguished from the original.
QUALITY = 18


class VideoFile:
    """Writes an mp4 file with one picture for each frame; frame k is at the time k / fps.

    Args:
        path: path of the file.
        camera: camera with the size of the pictures.
        fps: frames per second.
    """

    def __init__(self, path: Path, camera: Camera, fps: int) -> None:
        # import without types, because the type of a stream depends on its codec
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
        """Write the last pictures and close the file."""
        self._file.mux(self._stream.encode())
        self._file.close()


def video_info(camera: Camera, fps: int) -> dict[str, Any]:
    """Return the entry about a camera's video for LeRobot's info.json."""
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
