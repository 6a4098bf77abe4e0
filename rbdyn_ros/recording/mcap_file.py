"""Reads an MCAP file from its beginning to where it ends, even in the middle of a record.

The library mcap parses it. Here its index at the end is not asked for, so a file of a process
that was killed is read as far as it goes; and no size in the file is believed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from io import BufferedReader, FileIO
from pathlib import Path
from struct import error as StructError  # noqa: N812 - it is a class
from typing import Any

from rbdyn_ros.recording.schemas import missing_extra

MAGIC_SIZE = 8
#: What a record may take, and a chunk unpack to [bytes]; chunks are small in every writer.
MOST_BYTES, MOST_UNPACKED = 512 << 20, 64 << 20
MOST_TOPICS = 10_000


class DamagedError(Exception):
    """What is wrong with a file, as the part of a sentence."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a recording.

    Attributes:
        name: full.
        typename: of its messages.
        definition: of the type as the file has it.
        encoding: of its messages.
    """

    name: str
    typename: str
    definition: str
    encoding: str = "cdr"


@dataclass(frozen=True, slots=True)
class Message:
    """A message: its topic, when it was recorded [ns], and its bytes."""

    topic: Topic
    time_ns: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class Attached:
    """A file in the file."""

    name: str
    media_type: str
    data: bytes


class McapFile:
    """Reads a file once.

    Args:
        path: of the file.
        wanted: says which topics are.

    Attributes:
        topics: found so far, by name.
        attached: files found so far.
        truncated: the file ends without its end.
    """

    def __init__(self, path: Path, wanted: Callable[[Topic], bool]) -> None:
        self._path, self._wanted = path, wanted
        self.topics: dict[str, Topic] = {}
        self.attached: list[Attached] = []
        self.truncated = False
        self._schemas: dict[int, tuple[str, str]] = {0: ("", "")}
        self._channels: dict[int, tuple[Topic, bool]] = {}

    def messages(self) -> Iterator[Message]:
        """Return the messages of what is wanted, in the order of the file.

        Raises:
            DamagedError: the file is no MCAP file, or damaged.
            ParameterError: mcap is not installed.
            OSError: it cannot be read.
        """
        try:
            from mcap import records
        except ImportError as problem:
            raise missing_extra(problem.name or "mcap") from problem
        with _Bounded(self._path) as file:
            for record, at in self._records(file):
                if isinstance(record, records.DataEnd):
                    return
                if not isinstance(record, records.Chunk):
                    yield from self._taken(record)
                    continue
                for part in _parts(record, at):
                    yield from self._taken(part)

    def _records(self, file: _Bounded) -> Iterator[tuple[Any, int]]:
        """Return the records and the byte each begins at; what was cut off ends them."""
        from mcap.exceptions import EndOfFile, InvalidMagic, RecordLengthLimitExceeded
        from mcap.stream_reader import StreamReader

        if file.size < MAGIC_SIZE:
            raise DamagedError("it ends too early" if file.size else "it is empty")
        found = StreamReader(
            file, emit_chunks=True, validate_crcs=True, record_size_limit=MOST_BYTES
        ).records
        at = MAGIC_SIZE
        while True:
            try:
                record = next(found, None)
            except InvalidMagic as problem:
                raise DamagedError("it is no MCAP file") from problem
            except RecordLengthLimitExceeded as problem:
                text = f"the record at byte {at} has too many bytes; allowed are {MOST_BYTES}"
                raise DamagedError(text) from problem
            except (EndOfFile, StructError, ValueError, OverflowError) as problem:
                if not isinstance(problem, EndOfFile | StructError) or file.tell() < file.size:
                    text = f"the record at byte {at} is malformed ({problem})"
                    raise DamagedError(text) from problem
                self.truncated = True
                return
            if record is None:
                return
            yield record, at
            at = file.tell()

    def _taken(self, record: Any) -> Iterator[Message]:
        from mcap import records

        if isinstance(record, records.Message):
            topic, wanted = self._channels.get(record.channel_id, (None, False))
            if topic is None:
                text = f"a message is of channel {record.channel_id}, which there is not"
                raise DamagedError(text)
            if wanted:
                yield Message(topic, record.log_time, record.data)
        elif isinstance(record, records.Attachment):
            self.attached.append(Attached(record.name, record.media_type, record.data))
        elif isinstance(record, records.Schema):
            self._schemas[record.id] = record.name, record.data.decode(errors="replace")
        elif isinstance(record, records.Channel):
            self._add_channel(record)

    def _add_channel(self, channel: Any) -> None:
        if channel.schema_id not in self._schemas:
            raise DamagedError(f"{channel.topic!r:.80} is of type {channel.schema_id}, "
                               "which there is not")  # fmt: skip
        typename, text = self._schemas[channel.schema_id]
        topic = Topic(channel.topic, typename, text, channel.message_encoding)
        if channel.id in self._channels:
            if self._channels[channel.id][0] != topic:
                raise DamagedError(f"two topics have the channel {channel.id}")
            return
        if len(self._channels) >= MOST_TOPICS:
            raise DamagedError(f"it has more than {MOST_TOPICS} topics")
        self.topics.setdefault(topic.name, topic)
        self._channels[channel.id] = topic, self._wanted(topic)


class _Bounded(BufferedReader):
    """A file of which never more is asked for than it has: what is asked for is allocated."""

    def __init__(self, path: Path) -> None:
        super().__init__(FileIO(path))
        self.size = os.fstat(self.fileno()).st_size

    def read(self, size: int | None = -1, /) -> bytes:
        """Return so many bytes, or what is left."""
        return super().read(self.size if size is None else min(size, self.size))


def _parts(chunk: Any, at: int) -> list[Any]:
    """Return the records in a chunk; its sizes are judged before it is unpacked."""
    from mcap.stream_reader import CRCValidationError, breakup_chunk

    where = f"the chunk at byte {at}"
    if chunk.uncompressed_size > MOST_UNPACKED:
        raise DamagedError(
            f"{where} unpacks to {chunk.uncompressed_size} bytes; allowed are {MOST_UNPACKED}"
        )
    try:
        raw = _unpacked(chunk.compression, chunk.data, chunk.uncompressed_size)
        return breakup_chunk(replace(chunk, compression="", data=raw), validate_crc=True)
    except ImportError as problem:
        raise missing_extra(problem.name or "zstandard") from problem
    except CRCValidationError as problem:
        raise DamagedError(f"the checksum (CRC) of {where} is wrong") from problem
    except Exception as problem:  # of several libraries
        text = f"{where} does not unpack, its bytes are damaged ({problem})"
        raise DamagedError(text) from problem


def _unpacked(compression: str, data: bytes, size: int) -> bytes:
    """Return what a chunk says it has; the library mcap would unpack as much as there is."""
    if compression == "zstd":
        import zstandard

        if zstandard.frame_content_size(data) not in (-1, size):
            raise ValueError("its size is contradictory")
        data = zstandard.decompress(data, size)
    elif compression == "lz4":
        import lz4.frame  # type: ignore[import-untyped]

        data = lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size)
    elif compression:
        raise ValueError(f"it is compressed by {compression!r:.40}; known are zstd and lz4")
    if len(data) != size:
        raise ValueError(f"it unpacks to {len(data)} bytes instead of {size}")
    return data
