# SPDX-License-Identifier: Apache-2.0
"""Read ROS 2 recordings: MCAP files, complete or cut off, and rosbag2 folders.

Files are not trusted: their size bounds all allocations, and every failure raises RbdynError.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rbdyn_ros.errors import Finding, ParameterError, RbdynError, quote
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.recording.mcap_file import Attached, McapFile, Message, Topic
from rbdyn_ros.recording.schemas import missing_extra

BAG_SUFFIXES = (".mcap", ".db3")
#: End of ROS 2 time, whose seconds have 32 bits [ns]. A sum of four times still fits into 64 bits.
END_OF_TIME = 2**31 * NANOSECONDS


def recording_error(code: str, text: str, source: str = "") -> ParameterError:
    """Return the error about a recording that cannot be used; source: path of its file."""
    return ParameterError(Finding(code, text, "error", "recording"), source)


def existing(path: object) -> Path:
    """Return the path of an existing recording.

    Raises:
        ParameterError: `path` is not a path, or there is no such file or folder.
    """
    if not isinstance(path, str | Path):
        text = f"expected the path of a recording, got {path!r}"
        raise ParameterError(Finding("not-a-path", text, "error", "recording"))
    source = Path(path)
    try:
        found = source.exists()
    except (OSError, ValueError):  # the path has a NUL or is too long
        found = False
    if not found:
        raise recording_error(
            "no-recording", "there is no such file or folder", quote(str(source))
        )
    return source


def damaged(source: str, error: Exception) -> ParameterError:
    """Return the error about a damaged recording, from the exception that a library raised."""
    reason = str(error).split("\n")[0][:200] or type(error).__name__
    text = (
        f"the recording cannot be read: {reason.rstrip('.')}. The file is damaged or the "
        "recording was cut off; `mcap recover` or `ros2 bag reindex` may repair it"
    )
    return recording_error("damaged-recording", text, source)


@dataclass(slots=True)
class Recording:
    """A recording; each call of `messages` reads it from its beginning.

    Args:
        path: an .mcap or .db3 file, or a rosbag2 folder.

    Attributes:
        topics: topics found so far.
        attached: attachments found so far.
        truncated: whether the file was cut off; valid after all messages have been read.
    """

    path: Path
    topics: dict[str, Topic]
    attached: list[Attached]
    truncated: bool

    def __init__(self, path: Path) -> None:
        self.path, self.topics, self.attached, self.truncated = path, {}, [], False

    def messages(self, wanted: Callable[[Topic], bool]) -> Iterator[Message]:
        """Yield the messages of the wanted topics, in the order in which they were recorded.

        Raises:
            ParameterError: the file is not a recording, or is damaged.
        """
        read = self._chunked if self._is_mcap() else self._by_rosbags
        try:
            for message in read(wanted):
                self._check_time(message)
                yield message
        except RbdynError:
            raise
        except Exception as error:
            # the libraries raise exceptions of many types; exceptions of the caller pass
            raise damaged(str(self.path), error) from error

    def _check_time(self, message: Message) -> None:
        if abs(message.time_ns) < END_OF_TIME:
            return
        text = (
            f"a message of {quote(message.topic.name)} was recorded at {message.time_ns} ns; "
            f"times of ROS 2 must be before {END_OF_TIME} ns, in the year 2038"
        )
        raise recording_error("bad-time", text, str(self.path))

    def _is_mcap(self) -> bool:
        return self.path.suffix.lower() == ".mcap" and self.path.is_file()

    def _chunked(self, wanted: Callable[[Topic], bool]) -> Iterator[Message]:
        reader = McapFile(self.path, wanted)
        self.topics, self.attached = reader.topics, reader.attached
        yield from reader.messages()
        self.truncated = reader.truncated

    def _by_rosbags(self, wanted: Callable[[Topic], bool]) -> Iterator[Message]:
        try:
            from rosbags.rosbag2 import Reader
        except ImportError as error:
            raise missing_extra("rosbags") from error
        self._check_metadata()
        with Reader(self.path) as bag:
            chosen, topics = [], {}
            for one in bag.connections:
                topic = Topic(one.topic, one.msgtype, str(getattr(one.msgdef, "data", "") or ""))
                topics[one.id] = self.topics[one.topic] = topic
                if wanted(topic):
                    chosen.append(one)
            if not chosen:
                return
            for connection, time_ns, raw in bag.messages(chosen):
                yield Message(topics[connection.id], time_ns, bytes(raw))

    def _check_metadata(self) -> None:
        if self.path.is_dir() and not (self.path / "metadata.yaml").exists():
            text = (
                "the folder has no metadata.yaml: it is not a rosbag2 recording, or was cut off; "
                f"`ros2 bag reindex {self.path}` may repair it"
            )
            raise recording_error("no-metadata", text, str(self.path))
