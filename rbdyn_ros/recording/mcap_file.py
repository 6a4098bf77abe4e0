# SPDX-License-Identifier: Apache-2.0
"""Read an MCAP file sequentially, even if it ends in the middle of a record.

The library mcap parses the records. The index at the end of a file is not used, so the file of a
killed process can be read up to its last record. Sizes in the file are not trusted.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from io import BufferedReader, FileIO
from pathlib import Path
from struct import error as StructError  # noqa: N812 - a class
from typing import Any

from rbdyn_ros.recording.schemas import LIBRARY, missing_extra

MAGIC_SIZE = 8
#: Sizes of the largest record and the largest unpacked chunk [bytes]; usual chunks are smaller.
MOST_BYTES, MOST_UNPACKED = 512 << 20, 64 << 20
MOST_TOPICS = 10_000


class DamagedError(Exception):
    """Raised when a file is damaged."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a recording.

    Attributes:
        name: full name of the topic.
        typename: name of the type of its messages.
        definition: definition of this type in the file.
        encoding: encoding of its messages, such as cdr.
    """

    name: str
    typename: str
    definition: str
    encoding: str = "cdr"


@dataclass(frozen=True, slots=True)
class Message:
    """A recorded message: its topic, the time at which it was recorded [ns] and its bytes."""

    topic: Topic
    time_ns: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class Attached:
    """An attachment of a recording: a file within the file."""

    name: str
    media_type: str
    data: bytes


class McapFile:
    """Reads an MCAP file once, from its beginning to its end.

    Args:
        path: path of the file.
        wanted: function that returns whether to read a topic.

    Attributes:
        topics: topics found so far, by name.
        attached: attachments found so far.
        truncated: whether the file was cut off, or a full disk ended it early.
    """

    def __init__(self, path: Path, wanted: Callable[[Topic], bool]) -> None:
        self._path, self._wanted = path, wanted
        self.topics: dict[str, Topic] = {}
        self.attached: list[Attached] = []
        self.truncated = False
        self._schemas: dict[int, tuple[str, str]] = {0: ("", "")}
        self._channels: dict[int, tuple[Topic, bool]] = {}

    def messages(self) -> Iterator[Message]:
        """Yield the messages of the wanted topics in file order.

        Raises:
            DamagedError: the file is not an MCAP file, or is damaged.
            ParameterError: mcap is not installed.
            OSError: the file cannot be read.
        """
        try:
            from mcap import records
        except ImportError as problem:
            raise missing_extra(problem.name or "mcap") from problem
        own = False
        with _Bounded(self._path) as file:
            found = self._records(file)
            for record, at in found:
                if isinstance(record, records.Header):
                    own = record.library == LIBRARY
                if isinstance(record, records.DataEnd):
                    self.truncated |= own and not _has_summary(found)
                    return
                if not isinstance(record, records.Chunk):
                    yield from self._taken(record)
                    continue
                for part in _parts(record, at):
                    yield from self._taken(part)

    def _records(self, file: "_Bounded") -> Iterator[tuple[Any, int]]:
        """Yield each record and its offset [bytes], up to the end or the cut of the file."""
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
                raise DamagedError("it is not an MCAP file") from problem
            except RecordLengthLimitExceeded as problem:
                text = f"the record at byte {at} has more than {MOST_BYTES} bytes"
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
                raise DamagedError(f"a message refers to the unknown channel {record.channel_id}")
            if wanted:
                yield Message(topic, record.log_time, record.data)
        elif isinstance(record, records.Attachment):
            self.attached.append(Attached(record.name, record.media_type, record.data))
        elif isinstance(record, records.Metadata):
            self.truncated |= record.name == LIBRARY
        elif isinstance(record, records.Schema):
            self._schemas[record.id] = record.name, record.data.decode(errors="replace")
        elif isinstance(record, records.Channel):
            self._add_channel(record)

    def _add_channel(self, channel: Any) -> None:
        if channel.schema_id not in self._schemas:
            raise DamagedError(f"{channel.topic!r:.80} refers to the unknown type "
                               f"{channel.schema_id}")  # fmt: skip
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
    """A file whose `read` allocates at most as many bytes as the file has."""

    def __init__(self, path: Path) -> None:
        super().__init__(FileIO(path))
        self.size = os.fstat(self.fileno()).st_size

    def read(self, size: int | None = -1, /) -> bytes:
        """Return up to `size` bytes; None or a negative number: all bytes."""
        return super().read(self.size if size is None else min(size, self.size))


def _has_summary(rest: Iterator[tuple[Any, int]]) -> bool:
    """Return whether the rest of a file has a summary, which it lacks after a full disk."""
    from mcap import records

    return all(x.summary_start for x, _ in rest if isinstance(x, records.Footer))


def _parts(chunk: Any, at: int) -> list[Any]:
    """Check the sizes of a chunk and return its records; raise DamagedError if they are wrong."""
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
    except Exception as problem:  # the libraries raise exceptions of many types
        raise DamagedError(f"{where} cannot be decompressed ({problem})") from problem


def _unpacked(compression: str, data: bytes, size: int) -> bytes:
    """Unpack a chunk; raise ValueError unless the result has the declared size.

    The library mcap does not check this size.
    """
    if compression == "zstd":
        import zstandard

        if zstandard.frame_content_size(data) not in (-1, size):
            raise ValueError("its declared size is not the size in its data")
        data = zstandard.decompress(data, size)
    elif compression == "lz4":
        import lz4.frame  # type: ignore[import-untyped]

        data = lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size)
    elif compression:
        raise ValueError(f"unknown compression {compression!r:.40}; allowed are zstd and lz4")
    if len(data) != size:
        raise ValueError(f"it has {len(data)} bytes, not the declared {size}")
    return data
