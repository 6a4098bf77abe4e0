# SPDX-License-Identifier: Apache-2.0
"""Write a recording in the background, without blocking the threads that add messages.

A message is only appended to a list. A thread compresses and writes the messages with the library
mcap. A chunk ends when it is large or old, so a killed process loses at most the last second.
"""

import errno
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from rbdyn_ros.errors import ParameterError, counted
from rbdyn_ros.loading.output import Output, output_path, unwritable
from rbdyn_ros.recording.claim import LostFileError, abandon, check_kept, locked, occupied, opened
from rbdyn_ros.recording.qos import offered
from rbdyn_ros.recording.schemas import LIBRARY, Schemas, missing_extra

if TYPE_CHECKING:
    from mcap.writer import Writer

SUFFIX = ".mcap"
#: A chunk is written when it has this size [bytes] or this age [s].
CHUNK_SIZE, CHUNK_AGE = 1 << 20, 0.5
#: Period at which the writer looks for messages [s].
LOOK = 0.1
#: Largest backlog if the disk is slow [bytes, messages]; further messages are dropped.
MOST_BYTES, MOST_MESSAGES = 128 << 20, 500_000
#: Longest time for writing the backlog at the end [s], because the nodes must end within 15 s.
PATIENCE = 10.0
READABLE = "The part written before can be read"
#: Space on the disk reserved for the end of the file, and for the index of each chunk [bytes].
RESERVE, INDEX = 4 << 20, 1 << 10
#: Bytes at the end of a file without a summary: the records DataEnd and Footer, and the magic.
#: Source: https://mcap.dev/spec
END = b"\x0f\x04" + bytes(11) + b"\x02\x14" + bytes(27) + b"\x89MCAP0\r\n"


def _say(message: str) -> None:
    print(f"rbdyn: {message}", file=sys.stderr)


class RunFile(Output):
    """A recording that is being written; thread-safe.

    Args:
        path: path of an .mcap file.
        schemas: the message types; None: the standard types of ROS 2 and State.
        trouble: called with a text once when messages are dropped and once when writing fails.
        overwrite: whether to replace an existing file; an empty file is replaced in any case.

    Attributes:
        path: path of the file.
        dropped: number of dropped messages.
        failure: the reason why writing has failed; "": it has not failed.

    Raises:
        ParameterError: the file cannot be written, exists already, or is written by another
            process; or a package is not installed.
    """

    def __init__(
        self,
        path: str | Path,
        schemas: Schemas | None = None,
        trouble: Callable[[str], object] = _say,
        *,
        overwrite: bool = False,
    ) -> None:
        self.path = output_path(path, "a recording", (SUFFIX,))
        self.dropped, self.failure = 0, ""
        self._schemas, self._trouble = schemas or Schemas(), trouble
        _check_packages()  # check this before an existing file is overwritten
        self._stream = opened(self.path, overwrite)
        try:
            self._file = _begun(self._stream)
            self._size = self._stream.tell()  # size of all complete records [bytes]
        except (OSError, ParameterError) as error:
            abandon(self._stream)
            if isinstance(error, ParameterError):
                raise
            raise unwritable(self.path, error) from error
        self._typed: dict[str, int] = {}  # number of each type in the file, by name
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, int, bytes]] = []
        self._channels: dict[tuple[str, str], int] = {}
        self._news: list[Callable[[], Any]] = []  # functions that write channels and attachments
        self._bytes, self._closed, self._warned = 0, False, False
        self._chunks = 0  # approximate number of chunks in the file
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rbdyn-record", daemon=True)
        self._thread.start()

    def channel(self, topic: str, typename: str, metadata: Mapping[str, str] | None = None) -> int:
        """Return the channel number of a topic, for `put`.

        Args:
            topic: full name of the topic.
            typename: type of its messages, such as sensor_msgs/msg/JointState.
            metadata: metadata of the channel, see `offered`; None: there are none.

        Raises:
            ParameterError: the type is unknown.
        """
        key = topic, typename
        found = self._channels.get(key)
        if found is not None:
            return found
        schema = self._schemas.text(typename)
        more = offered() if metadata is None else metadata
        with self._lock:
            if key not in self._channels:
                self._channels[key] = len(self._channels) + 1
                self._news.append(lambda: self._register(topic, typename, schema, more))
        return self._channels[key]

    def put(self, channel: int, time_ns: int, cdr: bytes) -> None:
        """Add a message without waiting; after `close` the message is ignored.

        Args:
            channel: channel of its topic.
            time_ns: time at which the message was sent, on the clock of the stamps [ns].
            cdr: the serialized message.
        """
        with self._lock:
            if self._closed:
                return
            full = self._bytes > MOST_BYTES or len(self._waiting) >= MOST_MESSAGES
            if full or self.failure:
                self.dropped += 1
                return
            self._waiting.append((channel, max(time_ns, 0), cdr))
            self._bytes += len(cdr)
            if self._bytes > CHUNK_SIZE:
                self._wake.set()

    def add(self, topic: str, typename: str, cdr: bytes, time_ns: int) -> None:
        """Add a message of a topic by name; see `channel` and `put`."""
        self.put(self.channel(topic, typename), time_ns, cdr)

    def attach(self, name: str, media_type: str, data: bytes, time_ns: int = 0) -> None:
        """Add an attachment with a name, a media type and a time [ns]."""
        with self._lock:
            self._news.append(
                lambda: self._file.add_attachment(0, time_ns, name, media_type, data)
            )

    @property
    def summary(self) -> str:
        """Path of the file, or the reason of a failure; and the number of dropped messages."""
        left_out = f"; {counted(self.dropped, 'message')} dropped" if self.dropped else ""
        return f"{self.failure or f'recorded {self.path}'}{left_out}"

    @property
    def complete(self) -> bool:
        """Whether no message has been lost: each is in the file or will be written."""
        return not self.failure and not self.dropped

    def close(self) -> None:
        """Write the backlog and the summary, and close the file; it may be closed already."""
        with self._lock:
            self._closed = True
        self._wake.set()
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            with self._lock:
                self.failure = (
                    f"the recording {self.path} is cut off: its disk did not take the rest "
                    f"within {PATIENCE:g} s. {READABLE}"
                )

    # functions of the background thread

    def _run(self) -> None:
        try:
            self._serve()
        except Exception as error:  # noqa: BLE001 - a failing recording must not end the simulation
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            if not isinstance(error, LostFileError):
                reason = f"{reason}. {READABLE}"
            with self._lock:
                self.failure = f"the recording {self.path} cannot be continued: {reason}"
                self.dropped += len(self._waiting)
                self._waiting, self._bytes = [], 0
            if not isinstance(error, LostFileError):
                self._end_early(reason)
            self._trouble(f"{self.failure}; everything else continues")
        finally:
            abandon(self._stream)

    def _end_early(self, reason: str) -> None:
        """End the file after a failure so that other programs can read it."""
        try:
            if self._is_full():
                self._file.add_metadata(LIBRARY, {"ended": reason})
                self._file.finish()  # type: ignore[no-untyped-call]  # mcap has no types
                self._stream.flush()
                return
        except OSError:  # another process has used the reserved space
            pass
        _end_without_summary(self._stream, self._size)

    def _is_full(self) -> bool:
        disk = os.fstatvfs(self._stream.fileno())
        left = disk.f_bavail * disk.f_frsize
        return disk.f_blocks > 0 and left < RESERVE + INDEX * self._chunks

    def _serve(self) -> None:
        written = time.monotonic()
        closed = False
        while not closed:
            self._wake.wait(LOOK)
            self._wake.clear()
            if self._is_full():
                raise OSError(errno.ENOSPC, "the disk is full")
            with self._lock:
                batch, self._waiting = self._waiting, []
                news, self._news = self._news, []
                closed, taken = self._closed, self._bytes
                tell = self.dropped and not self._warned
            # check this before writing, which would hide that the file was lost
            check_kept(self.path, self._stream, self._size)
            for what in news:
                what()
            for channel, time_ns, cdr in batch:
                self._file.add_message(channel, time_ns, cdr, publish_time=time_ns)
            if time.monotonic() - written > CHUNK_AGE:
                self._file.flush()  # type: ignore[no-untyped-call]  # mcap has no types
                written = time.monotonic()
                self._chunks += 1 + taken // CHUNK_SIZE
            self._stream.flush()
            self._size = self._stream.tell()
            with self._lock:
                self._bytes -= taken
            if tell:
                self._warned = True
                self._trouble(
                    f"the disk is too slow for the recording {self.path}: messages are dropped"
                )
        self._file.finish()  # type: ignore[no-untyped-call]  # mcap has no types
        self._stream.close()  # also writes what is still in the buffer

    def _register(
        self, topic: str, typename: str, schema: str, metadata: Mapping[str, str]
    ) -> None:
        if typename not in self._typed:
            kind = self._file.register_schema(typename, "ros2msg", schema.encode())
            self._typed[typename] = kind
        self._file.register_channel(topic, "cdr", self._typed[typename], dict(metadata))


def _begun(stream: BinaryIO) -> "Writer":
    try:
        from mcap.writer import CompressionType, Writer

        writer = Writer(stream, chunk_size=CHUNK_SIZE, compression=CompressionType.ZSTD)
    except ImportError as error:
        raise missing_extra(error.name or "mcap") from error
    writer.start("ros2", LIBRARY)
    stream.flush()
    return writer


def _end_without_summary(stream: BinaryIO, size: int) -> None:
    """End a file after its last complete record, `size` bytes, if there is no space for more."""
    try:
        os.ftruncate(stream.fileno(), size)
        os.pwrite(stream.fileno(), END, size)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())  # so that closing discards the rest of the buffer
        os.close(nowhere)
    except OSError:  # the disk is full, so the file stays cut off
        return


def _check_packages() -> None:
    for package in ("mcap", "zstandard"):
        if importlib.util.find_spec(package) is None:
            raise missing_extra(package)


def check_recordable(path: str | Path) -> None:
    """Raise ParameterError if no recording can be written to a path; no file is changed."""
    target = output_path(path, "a recording", (SUFFIX,))
    Schemas()
    _check_packages()
    was_there = target.exists()
    with locked(target) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size:
            raise occupied(target, size)
        if not was_there:
            target.unlink()
