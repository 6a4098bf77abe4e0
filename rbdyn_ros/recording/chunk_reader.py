"""Reads an MCAP file from its beginning to where it ends, even in the middle of a record.

The index at the end is not needed, so a file of a process that was killed is read as far as it
goes. Checksums are checked. No length in the file is believed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from struct import Struct, error
from typing import Any, BinaryIO

from rbdyn_ros.recording.chunks import MAGIC
from rbdyn_ros.recording.schemas import missing_extra

#: What a record may take, and a chunk unpack to [bytes].
MOST_BYTES = 512 << 20
MOST_TOPICS = 10_000

_HEAD = Struct("<BQ")
_MESSAGE = Struct("<HIQQ")
_SCHEMA, _CHANNEL, _MESSAGES, _CHUNK, _ATTACHMENT, _DATA_END = 3, 4, 5, 6, 9, 15


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


class ChunkReader:
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
        try:
            from mcap import records
            from mcap.data_stream import ReadDataStream
        except ImportError as problem:
            raise missing_extra(problem.name or "mcap") from problem
        self._records: Any = records
        self._stream_of = ReadDataStream
        self._path, self._wanted = path, wanted
        self.topics: dict[str, Topic] = {}
        self.attached: list[Attached] = []
        self.truncated = False
        self._schemas: dict[int, tuple[str, str]] = {0: ("", "")}
        self._channels: dict[int, Topic] = {}
        self._chosen: dict[int, Topic] = {}

    def messages(self) -> Iterator[Message]:
        """Return the messages of what is wanted, in the order of the file.

        Raises:
            DamagedError: the file is no MCAP file, or damaged.
            OSError: it cannot be read.
        """
        size = self._path.stat().st_size
        with self._path.open("rb") as file:
            start = file.read(len(MAGIC))
            if start != MAGIC:
                if MAGIC.startswith(start):
                    raise DamagedError("it is empty" if not start else "it ends too early")
                raise DamagedError("it is no MCAP file")
            while True:
                at = file.tell()
                head = file.read(_HEAD.size)
                if len(head) < _HEAD.size:
                    self.truncated = True
                    return
                opcode, length = _HEAD.unpack(head)
                if opcode == _DATA_END:
                    return
                if length > size - file.tell():
                    self._demand_cut_off(opcode, at)
                    return
                yield from self._record(file, opcode, length, at)

    def _demand_cut_off(self, opcode: int, at: int) -> None:
        """Tell a record that was cut off from bytes that are none."""
        if not 1 <= opcode <= _DATA_END:
            raise DamagedError(f"at byte {at} is no record of an MCAP file")
        self.truncated = True

    def _record(self, file: BinaryIO, opcode: int, length: int, at: int) -> Iterator[Message]:
        if opcode not in (_SCHEMA, _CHANNEL, _MESSAGES, _CHUNK, _ATTACHMENT):
            file.seek(length, 1)
            return
        if length > MOST_BYTES:
            raise DamagedError(
                f"the record at byte {at} has {length} bytes; allowed are {MOST_BYTES}"
            )
        try:
            data = file.read(length)
            if opcode == _CHUNK:
                yield from self._chunk(self._parsed(self._records.Chunk, data), at)
            elif opcode == _MESSAGES:
                yield from self._message(data, 0, length)
            else:
                self._declare(opcode, data)
        except (error, ValueError, KeyError, EOFError, self._end_of_file()) as problem:
            raise DamagedError(f"the record at byte {at} is malformed ({problem})") from problem

    @staticmethod
    def _end_of_file() -> type[Exception]:
        from mcap.exceptions import EndOfFile

        return EndOfFile

    def _parsed(self, kind: Any, data: bytes) -> Any:
        return kind.read(self._stream_of(BytesIO(data)))

    def _chunk(self, chunk: Any, at: int) -> Iterator[Message]:
        raw = _unpacked(chunk, at)
        if chunk.uncompressed_crc and zlib.crc32(raw) != chunk.uncompressed_crc:
            raise DamagedError(f"the checksum (CRC) of the chunk at byte {at} is wrong")
        place, end = 0, len(raw)
        while place < end:
            opcode, length = _HEAD.unpack_from(raw, place)
            place += _HEAD.size
            if length > end - place:
                raise DamagedError(f"a record in the chunk at byte {at} is longer than the chunk")
            if opcode == _MESSAGES:
                yield from self._message(raw, place, length)
            elif opcode in (_SCHEMA, _CHANNEL):
                self._declare(opcode, raw[place : place + length])
            place += length

    def _message(self, data: bytes, at: int, length: int) -> Iterator[Message]:
        channel, _, time_ns, _ = _MESSAGE.unpack_from(data, at)
        topic = self._chosen.get(channel)
        if topic is not None:
            yield Message(topic, time_ns, data[at + _MESSAGE.size : at + length])
        elif channel not in self._channels:
            raise DamagedError(f"a message is of channel {channel}, which there is not")

    def _declare(self, opcode: int, data: bytes) -> None:
        records = self._records
        if opcode == _ATTACHMENT:
            one = self._parsed(records.Attachment, data)
            self.attached.append(Attached(one.name, one.media_type, one.data))
        elif opcode == _SCHEMA:
            schema = self._parsed(records.Schema, data)
            text = schema.data.decode(errors="replace")
            self._schemas[schema.id] = schema.name, text
        else:
            channel = self._parsed(records.Channel, data)
            typename, text = self._schemas[channel.schema_id]
            topic = Topic(channel.topic, typename, text, channel.message_encoding)
            if self._channels.get(channel.id, topic) != topic:
                raise DamagedError(f"two topics have the channel {channel.id}")
            if channel.id in self._channels:
                return
            if len(self._channels) >= MOST_TOPICS:
                raise DamagedError(f"it has more than {MOST_TOPICS} topics")
            self._channels[channel.id] = topic
            self.topics.setdefault(topic.name, topic)
            if self._wanted(topic):
                self._chosen[channel.id] = topic


def _unpacked(chunk: Any, at: int) -> bytes:
    """Return what is in a chunk."""
    size: int = chunk.uncompressed_size
    if size > MOST_BYTES:
        raise DamagedError(
            f"the chunk at byte {at} unpacks to {size} bytes; allowed are {MOST_BYTES}"
        )
    try:
        raw = _decompressed(chunk.compression, chunk.data, size)
    except ImportError as problem:
        raise missing_extra(problem.name or "zstandard") from problem
    except DamagedError:
        raise
    except Exception as problem:
        text = f"the chunk at byte {at} does not unpack, its bytes are damaged ({problem})"
        raise DamagedError(text) from problem
    if len(raw) != size:
        raise DamagedError(f"the chunk at byte {at} unpacks to {len(raw)} bytes instead of {size}")
    return raw


def _decompressed(compression: str, data: bytes, size: int) -> bytes:
    if compression == "":
        return data
    if compression == "zstd":
        import zstandard

        if zstandard.frame_content_size(data) not in (-1, size):
            raise ValueError("its size is contradictory")
        return bytes(zstandard.ZstdDecompressor().decompress(data, max_output_size=size))
    if compression == "lz4":
        import lz4.frame  # type: ignore[import-untyped]

        return bytes(lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size))
    raise DamagedError(f"it is compressed by {compression!r:.40}; known are zstd and lz4")
