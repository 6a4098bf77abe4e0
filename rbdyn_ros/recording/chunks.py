"""Composes an MCAP file: chunks of messages, each readable once written, and an index at the end.

The records and their layout are those of the library mcap. Its own writer decides by size alone
when a chunk ends and takes ten times as long for a message; here whoever writes ends a chunk.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from struct import Struct
from typing import TYPE_CHECKING, Any, BinaryIO

from rbdyn_ros.recording.schemas import missing_extra

if TYPE_CHECKING:
    from mcap.records import McapRecord

MAGIC = b"\x89MCAP0\r\n"
LIBRARY = "rbdyn_ros"
_MESSAGE = Struct("<BQHIQQ")  # opcode, length, channel, sequence, log time, publish time
_OPCODE, _AFTER_LENGTH = 0x05, 22  # of a message: bytes between its length and its data


class ChunkFile:
    """An MCAP file that is written; by one thread.

    Args:
        stream: empty, and opened for writing; it stays open.
        profile: of the file.

    Raises:
        ParameterError: mcap, or zstandard, is not installed.
    """

    def __init__(self, stream: BinaryIO, profile: str = "ros2") -> None:
        try:
            import zstandard
            from mcap import records
            from mcap.data_stream import RecordBuilder
        except ImportError as error:
            raise missing_extra(error.name or "mcap") from error
        self._records, self._builder = records, RecordBuilder
        # the fastest level: it already halves what doubles of a motion take
        self._compress = zstandard.ZstdCompressor(level=1).compress
        self._stream, self._at = stream, 0
        self._schemas: list[Any] = []
        self._channels: list[Any] = []
        self._chunk_indices: list[Any] = []
        self._attachment_indices: list[Any] = []
        self._counts: dict[int, int] = {}
        self._extent: tuple[int, int] | None = None
        self._begin_chunk()
        self._write(MAGIC)
        self._write_record(records.Header(profile=profile, library=LIBRARY))

    def _begin_chunk(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._index: dict[int, list[tuple[int, int]]] = {}
        self._first, self._last = 2**64, 0

    @property
    def size(self) -> int:
        """Bytes in the chunk that is not written yet, before they are compressed."""
        return self._size

    def add_channel(
        self, topic: str, typename: str, schema: str, metadata: Mapping[str, str]
    ) -> int:
        """Say what messages of a topic are; return the number of the channel."""
        known = {one.name: one.id for one in self._schemas}
        if typename not in known:
            known[typename] = len(self._schemas) + 1
            kind = self._records.Schema(
                id=known[typename], name=typename, encoding="ros2msg", data=schema.encode()
            )
            self._schemas.append(kind)
            self._put(self._bytes(kind))
        channel = self._records.Channel(
            id=len(self._channels) + 1,
            topic=topic,
            message_encoding="cdr",
            metadata=dict(metadata),
            schema_id=known[typename],
        )
        self._channels.append(channel)
        self._put(self._bytes(channel))
        number: int = channel.id
        return number

    def add_message(self, channel: int, time_ns: int, data: bytes) -> None:
        """Put a message into the chunk; both its times are the same."""
        sequence = self._counts.get(channel, 0)
        self._counts[channel] = sequence + 1
        self._index.setdefault(channel, []).append((time_ns, self._size))
        self._first, self._last = min(self._first, time_ns), max(self._last, time_ns)
        length = _AFTER_LENGTH + len(data)
        self._parts.append(
            _MESSAGE.pack(_OPCODE, length, channel, sequence & 0xFFFFFFFF, time_ns, time_ns)
        )
        self._parts.append(data)
        self._size += 9 + length

    def _put(self, record: bytes) -> None:
        self._parts.append(record)
        self._size += len(record)

    def end_chunk(self) -> None:
        """Write the chunk, so that whoever reads the file finds it even if no more follows.

        Raises:
            OSError: the disk is full, or gone.
        """
        if not self._parts:
            return
        records, raw = self._records, b"".join(self._parts)
        first = self._first if self._index else 0
        chunk = records.Chunk(
            compression="zstd",
            data=self._compress(raw),
            message_start_time=first,
            message_end_time=self._last,
            uncompressed_crc=zlib.crc32(raw),
            uncompressed_size=len(raw),
        )
        start, whole = self._at, self._bytes(chunk)
        offsets, indices = {}, []
        behind = start + len(whole)
        for channel, entries in self._index.items():
            offsets[channel] = behind
            one = records.MessageIndex(channel_id=channel, records=entries)
            indices.append(self._bytes(one))
            behind += len(indices[-1])
        self._write(b"".join([whole, *indices]))
        self._chunk_indices.append(
            records.ChunkIndex(
                chunk_length=len(whole),
                chunk_start_offset=start,
                compression="zstd",
                compressed_size=len(chunk.data),
                message_end_time=self._last,
                message_index_length=behind - start - len(whole),
                message_index_offsets=offsets,
                message_start_time=first,
                uncompressed_size=len(raw),
            )
        )
        if self._index:
            known = self._extent or (first, self._last)
            self._extent = min(known[0], first), max(known[1], self._last)
        self._begin_chunk()

    def attach(self, name: str, media_type: str, data: bytes, time_ns: int) -> None:
        """Write a file into the file; the chunk before it ends."""
        self.end_chunk()
        start = self._at
        self._write_record(
            self._records.Attachment(
                create_time=0, log_time=time_ns, name=name, media_type=media_type, data=data
            )
        )
        self._attachment_indices.append(
            self._records.AttachmentIndex(
                offset=start,
                length=self._at - start,
                log_time=time_ns,
                create_time=0,
                data_size=len(data),
                name=name,
                media_type=media_type,
            )
        )

    def finish(self) -> None:
        """Write the last chunk and the summary, which lets others find what is where."""
        self.end_chunk()
        records = self._records
        self._write_record(records.DataEnd(0))
        begin = self._at
        groups = (
            self._schemas,
            self._channels,
            [self._statistics()],
            self._chunk_indices,
            self._attachment_indices,
        )
        parts: list[bytes] = []
        offsets: list[bytes] = []
        for group in groups:
            start = begin + sum(len(part) for part in parts)
            parts.append(b"".join(map(self._bytes, group)))
            if group:
                opcode = parts[-1][0]
                offset = records.SummaryOffset(opcode, start, len(parts[-1]))
                offsets.append(self._bytes(offset))
        behind = begin + sum(len(part) for part in parts)
        summary = b"".join([*parts, *offsets])
        # the checksum covers the footer up to itself
        footer = Struct("<BQQQ").pack(0x02, 20, begin, behind)
        crc = zlib.crc32(footer, zlib.crc32(summary))
        self._write(summary + footer + crc.to_bytes(4, "little") + MAGIC)

    def _statistics(self) -> McapRecord:
        first, last = self._extent or (0, 0)
        found: McapRecord = self._records.Statistics(
            attachment_count=len(self._attachment_indices),
            channel_count=len(self._channels),
            channel_message_counts=dict(self._counts),
            chunk_count=len(self._chunk_indices),
            message_count=sum(self._counts.values()),
            message_end_time=last,
            message_start_time=first,
            metadata_count=0,
            schema_count=len(self._schemas),
        )
        return found

    def _bytes(self, record: McapRecord) -> bytes:
        builder: Any = self._builder()
        record.write(builder)
        return bytes(builder.end())

    def _write_record(self, record: McapRecord) -> None:
        self._write(self._bytes(record))

    def _write(self, data: bytes) -> None:
        """Write all of it; what is there of a part that failed is cut off by the reader."""
        view = memoryview(data)
        while view:
            view = view[self._stream.write(view) :]
        self._at += len(data)
