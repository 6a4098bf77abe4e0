# SPDX-License-Identifier: Apache-2.0
"""Other programs can read recordings, also those that a full or slow disk has cut short."""

import errno
import os
import resource
import struct
import threading
import time
import warnings
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("mcap", reason="mcap is not installed")
pytest.importorskip("rosbags", reason="rosbags is not installed")

from mcap.exceptions import EndOfFile
from mcap.reader import NonSeekingReader, make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader
from rosbags.interfaces import QosDurability
from support.refusals import refused

from rbdyn_ros.errors import ParameterError
from rbdyn_ros.recording import claim, writer
from rbdyn_ros.recording.bags import Recording
from rbdyn_ros.recording.qos import offered
from rbdyn_ros.recording.schemas import STATE, STATE_FIELDS, Schemas
from rbdyn_ros.recording.topics import Messages
from rbdyn_ros.recording.writer import RunFile, check_recordable

TOPIC, PERIOD = "/simulator/state", 1_000_000


def lists(k, n=6):
    rng = np.random.default_rng(k)
    return [rng.normal(size=size) for size in (n, n, n, n, 0, 12, 14, n, 3)]


SCHEMAS = Schemas()
MESSAGES = Messages(SCHEMAS)


def state(k):
    return MESSAGES.state(k * PERIOD, k, k * 1e-3, k // 500, lists(k))


def states(messages):
    return [SCHEMAS.store.deserialize_cdr(message.raw, STATE) for message in messages]


def ticks(messages):
    return [one.tick for one in states(messages)]


def write(path, count, **more):
    with RunFile(path, **more) as file:
        for k in range(count):
            file.add(TOPIC, STATE, state(k), k * PERIOD)
    return file


def read(path):
    recording = Recording(path)
    return list(recording.messages(lambda _: True)), recording


def test_fields_match_the_msg_file(request):
    text = (request.config.rootpath / "rbdyn_interfaces/msg/State.msg").read_text()
    lines = [line.split("#")[0].split() for line in text.splitlines()]
    assert [line for line in lines if line] == [line.split() for line in STATE_FIELDS.splitlines()]


def test_other_readers_read_the_same_recording(tmp_path):
    path = tmp_path / "run.mcap"
    write(path, 1200)
    with path.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True, decoder_factories=[DecoderFactory()])
        counts = reader.get_summary().statistics
        assert counts.message_count == 1200
        assert (counts.message_start_time, counts.message_end_time) == (0, 1199 * PERIOD)
        decoded = [message for *_, message in reader.iter_decoded_messages()]
        assert reader.get_header().profile == "ros2"
    with AnyReader([path]) as bag:
        by_rosbags = [(t, bag.deserialize(raw, c.msgtype)) for c, t, raw in bag.messages()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from mcap_ros2.reader import read_ros2_messages
    by_ros2 = [one.ros_msg for one in read_ros2_messages(str(path))]
    ours = states(read(path)[0])
    assert len(decoded) == len(by_rosbags) == len(by_ros2) == len(ours) == 1200
    for k, (time_ns, message) in enumerate(by_rosbags):
        assert time_ns == k * PERIOD
        expected = lists(k)[0].tobytes()
        assert message.qpos.tobytes() == ours[k].qpos.tobytes() == expected
        assert np.array(by_ros2[k].qpos).tobytes() == expected
        assert np.array(decoded[k].contact).tobytes() == lists(k)[5].tobytes()
        assert by_ros2[k].tick == message.tick == k


def test_a_reader_can_start_at_a_given_time(tmp_path):
    path = tmp_path / "run.mcap"
    write(path, 9000)
    with path.open("rb") as stream:
        reader = make_reader(stream)
        assert len(reader.get_summary().chunk_indexes) > 1
        found = [m.log_time for *_, m in reader.iter_messages(starting_at=5 * 10**9)]
    assert found == [k * PERIOD for k in range(5000, 9000)]


def test_latched_topics_keep_their_durability(tmp_path):
    path = tmp_path / "run.mcap"
    with RunFile(path) as file:
        kept = file.channel("/robot_description", "std_msgs/msg/String", offered(1, latched=True))
        file.put(kept, 5, b"\0\1\0\0\1\0\0\0\0")
        file.add("/plain", "std_msgs/msg/String", b"\0\1\0\0\1\0\0\0\0", 6)
    with AnyReader([path]) as bag:
        qos = {c.topic: c.ext.offered_qos_profiles[0] for c in bag.connections}
    assert qos["/robot_description"].durability == QosDurability.TRANSIENT_LOCAL
    assert qos["/robot_description"].depth == 1
    assert qos["/plain"].durability == QosDurability.VOLATILE


def test_a_killed_process_leaves_a_readable_file(tmp_path):
    """Without an end of the file, readers still find all chunks; they are written every second."""
    path = tmp_path / "run.mcap"
    with RunFile(path) as file:
        for k in range(300):
            file.add(TOPIC, STATE, state(k), k * PERIOD)
        deadline = time.monotonic() + 30.0
        while path.stat().st_size < 1000:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        so_far = path.read_bytes()
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(so_far)
    messages, recording = read(cut)
    assert recording.truncated
    assert ticks(messages) == list(range(300))
    with cut.open("rb") as stream:
        rest = NonSeekingReader(stream).iter_messages(log_time_order=False)
        assert [message.log_time for *_, message in islice(rest, 300)][-1] == 299 * PERIOD
        with pytest.raises(EndOfFile):
            next(rest)


def test_a_cut_file_is_read_up_to_the_cut(tmp_path):
    path, cut = tmp_path / "run.mcap", tmp_path / "cut.mcap"
    write(path, 9000)
    whole = path.read_bytes()
    counts = []
    for share in (0.001, 0.2, 0.5, 0.9, 0.99):
        cut.write_bytes(whole[: int(share * len(whole))])
        messages, _ = read(cut)
        assert ticks(messages) == list(range(len(messages)))
        counts.append(len(messages))
    assert counts == sorted(counts)
    assert counts[0] == 0 < counts[2] < 9000


class Disk:
    """A file on a simulated disk: it can be full, and its writes wait for a gate."""

    def __init__(self, stream):
        self.stream, self.is_full, self.gate = stream, False, threading.Event()
        self.gate.set()

    def write(self, data):
        self.gate.wait(30.0)
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.stream.write(data)

    def __getattr__(self, name):
        return getattr(self.stream, name)


@pytest.fixture
def disk(monkeypatch):
    """Return a list that gets the Disk of the next recording."""
    made, opened = [], writer.opened
    monkeypatch.setattr(
        writer, "opened", lambda *given: made.append(Disk(opened(*given))) or made[0]
    )
    return made


def test_messages_after_close_are_left_out(tmp_path):
    with RunFile(tmp_path / "run.mcap") as file:
        file.add(TOPIC, STATE, state(0), 0)
    file.add(TOPIC, STATE, state(1), PERIOD)
    assert file.complete
    assert file.summary == f"recorded {file.path}"


def test_a_full_disk_ends_only_the_recording(tmp_path, disk):
    reports = []
    file = RunFile(tmp_path / "run.mcap", trouble=reports.append)
    disk[0].is_full = True
    for k in range(2000):
        file.add(TOPIC, STATE, state(k), k * PERIOD)
    deadline = time.monotonic() + 30.0
    while not reports:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    file.add(TOPIC, STATE, state(0), 0)
    file.close()
    assert len(reports) == 1
    assert "No space left on device" in reports[0]
    assert file.dropped > 0
    assert "can be read" in file.failure
    assert not file.complete


@pytest.mark.parametrize("left", [0, 40, 4000])
def test_other_programs_can_read_a_recording_from_a_full_disk(tmp_path, monkeypatch, left):
    """The operating system can refuse to extend the file at any byte of a record."""
    monkeypatch.setattr(writer, "CHUNK_AGE", 0.0)
    path, soft, hard = tmp_path / "run.mcap", *resource.getrlimit(resource.RLIMIT_FSIZE)
    file = RunFile(path, trouble=(reports := []).append)
    deadline = time.monotonic() + 60.0
    file.add(TOPIC, STATE, state(0), 0)
    while (before := path.stat().st_size) < 500 or file._bytes:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    resource.setrlimit(resource.RLIMIT_FSIZE, (before + 100 + left, hard))
    try:
        for k in range(1, 100_000):
            file.add(TOPIC, STATE, state(k), k * PERIOD)
            if reports:
                break
            time.sleep(1e-4)
        file.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(reports) == 1
    assert "File too large" in reports[0]
    messages, found = read(path)
    assert ticks(messages) == list(range(len(messages)))
    assert found.truncated
    with path.open("rb") as stream:
        others = [raw for _, _, raw in make_reader(stream).iter_messages()]
    assert len(others) == len(messages) > 0
    with AnyReader([path]) as bag:
        assert len(list(bag.messages())) == len(messages)


@pytest.mark.parametrize("left", [2**20, 0])
def test_a_recording_on_a_nearly_full_disk_leaves_space_for_its_index(tmp_path, monkeypatch, left):
    """Messages of sensors with latency are not in order, so readers need the index."""
    reports, path = [], tmp_path / "run.mcap"
    monkeypatch.setattr(writer, "CHUNK_AGE", 0.0)
    file = RunFile(path, trouble=reports.append)
    deadline = time.monotonic() + 60.0
    for k in (0, 2, 1, 3):
        file.add(TOPIC, STATE, state(k), k * PERIOD)
        while file._bytes:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    real = os.fstatvfs(0)
    full = SimpleNamespace(f_bavail=left, f_frsize=1, f_blocks=real.f_blocks or 1)
    monkeypatch.setattr(writer.os, "fstatvfs", lambda _: full)
    while not reports:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    file.add(TOPIC, STATE, state(4), 0)
    file.close()
    assert len(reports) == 1
    assert "the disk is full" in reports[0]
    assert file.dropped == 1
    messages, found = read(path)
    assert ticks(messages) == [0, 2, 1, 3]
    assert found.truncated
    with AnyReader([path]) as bag:
        assert [time for _, time, _ in bag.messages()] == [0, PERIOD, 2 * PERIOD, 3 * PERIOD]


def spoil(path, how):
    """Delete, move, replace or shorten a file, as another program might."""
    if how == "deleted":
        path.unlink()
    elif how == "moved":
        path.rename(path.with_name("moved.mcap"))
    elif how == "deleted, and another one":
        path.unlink()
        path.touch()
    else:
        path.write_bytes(b"")


@pytest.mark.parametrize("how", ["deleted", "moved", "deleted, and another one", "shortened"])
@pytest.mark.parametrize("at_the_end", [False, True])
def test_damage_by_another_program_is_reported(tmp_path, monkeypatch, how, at_the_end):
    monkeypatch.setattr(writer, "CHUNK_AGE", 1e9 if at_the_end else 0.0)
    reports, path = [], tmp_path / "run.mcap"
    file = RunFile(path, trouble=reports.append)
    for k in range(3000):
        file.add(TOPIC, STATE, state(k), k * PERIOD)
    deadline = time.monotonic() + 30.0
    while path.stat().st_size < 10_000 or file._bytes:  # wait until all messages are written
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert file.complete
    spoil(path, how)
    while not (reports or at_the_end):  # no further message is needed for the report
        assert time.monotonic() < deadline
        time.sleep(0.02)
    file.close()
    assert len(reports) == 1
    assert how.split(",")[0] in reports[0]
    assert not file.complete
    assert file.summary.startswith(file.failure)
    assert "recorded" not in file.summary
    if how == "moved":
        assert read(path.with_name("moved.mcap"))[0]


def test_a_disk_that_hangs_when_the_recording_is_closed_is_reported(tmp_path, monkeypatch, disk):
    monkeypatch.setattr(writer, "PATIENCE", 0.2)
    file = RunFile(tmp_path / "run.mcap")
    file.add(TOPIC, STATE, state(0), 0)
    disk[0].gate.clear()
    file.close()
    assert not file.complete
    assert "cut off" in file.summary
    disk[0].gate.set()


def test_a_slow_disk_drops_messages_with_one_warning(tmp_path, monkeypatch, disk):
    monkeypatch.setattr(writer, "MOST_MESSAGES", 100)
    reports = []
    file = RunFile(tmp_path / "run.mcap", trouble=reports.append)
    disk[0].gate.clear()
    channel = file.channel(TOPIC, STATE)
    deadline = time.monotonic() + 30.0
    k = 0
    while file.dropped == 0:  # the writer's thread is blocked, but put() is not
        assert time.monotonic() < deadline
        file.put(channel, k * PERIOD, state(k))
        k += 1
    disk[0].gate.set()
    file.close()
    assert len(reports) == 1
    assert not file.complete
    messages, recording = read(tmp_path / "run.mcap")
    assert len(messages) + file.dropped == k
    assert not recording.truncated


def test_no_message_of_several_threads_is_lost(tmp_path):
    path = tmp_path / "run.mcap"
    with RunFile(path) as file:
        channels = [file.channel(f"/r{n}/simulator/state", STATE) for n in range(4)]
        raw = state(1)

        def fill(channel):
            for k in range(2000):
                file.put(channel, k, raw)

        threads = [threading.Thread(target=fill, args=(channel,)) for channel in channels]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    messages, _ = read(path)
    for n in range(4):
        times = [m.time_ns for m in messages if m.topic.name == f"/r{n}/simulator/state"]
        assert times == list(range(2000))


def test_paths_that_are_not_writable_are_refused(tmp_path):
    (tmp_path / "folder.mcap").mkdir()
    for path, code in (
        (tmp_path / "run.bag", "unknown-suffix"),
        (tmp_path / "folder.mcap", "unwritable-file"),
        (tmp_path / "no" / "run.mcap", "unwritable-file"),
        ("/proc/run.mcap", "unwritable-file"),
        (3, "not-a-path"),
        ("a\0b.mcap", "unwritable-file"),
    ):
        with refused(ParameterError, code, "path"):
            RunFile(path)
        if path != tmp_path / "folder.mcap":
            with refused(ParameterError, code, "path"):
                check_recordable(path)
    check_recordable(tmp_path / "run.mcap")
    assert not (tmp_path / "run.mcap").exists()


def test_an_existing_file_is_kept_unless_overwrite_is_set(tmp_path):
    path, notes = tmp_path / "run.mcap", tmp_path / "notes.mcap"
    write(path, 10)
    notes.write_text("mine")
    for there in (path, notes):
        before = there.read_bytes()
        for begin in (RunFile, check_recordable):
            with refused(ParameterError, "occupied-file", "path"):
                begin(there)
        assert there.read_bytes() == before
    size = path.stat().st_size
    write(path, 3, overwrite=True)
    assert ticks(read(path)[0]) == [0, 1, 2]
    assert path.stat().st_size < size  # no bytes of the old file remain


def test_an_empty_file_is_replaced(tmp_path):
    path = tmp_path / "run.mcap"
    path.touch()
    check_recordable(path)
    assert path.read_bytes() == b""
    write(path, 3)
    assert ticks(read(path)[0]) == [0, 1, 2]


def test_a_file_is_locked_while_it_is_written(tmp_path):
    """Locks belong to open files, so this process can stand for two processes."""
    path = tmp_path / "run.mcap"
    with RunFile(path) as file:
        for k in range(50):
            file.add(TOPIC, STATE, state(k), k * PERIOD)
        for begin in (lambda: RunFile(path, overwrite=True), lambda: check_recordable(path)):
            with refused(ParameterError, "unwritable-file", "path"):
                begin()
    assert ticks(read(path)[0]) == list(range(50))
    write(path, 3, overwrite=True)  # the file is no longer locked


def test_an_existing_file_is_kept_if_a_package_is_missing(tmp_path, monkeypatch):
    path = tmp_path / "run.mcap"
    path.write_text("mine")
    monkeypatch.setattr(writer.importlib.util, "find_spec", lambda _: None)
    with refused(ParameterError, "no-record-extra"):
        RunFile(path, overwrite=True)
    assert path.read_text() == "mine"


def test_a_file_that_is_removed_while_the_recorder_opens_it_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "run.mcap"
    monkeypatch.setattr(claim.fcntl, "flock", lambda *_: path.unlink())
    with refused(ParameterError, "unwritable-file", "path"):
        RunFile(path)


def test_a_recording_is_written_on_a_file_system_without_locks(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(claim.fcntl, "flock", flock)
    write(tmp_path / "run.mcap", 3)
    assert ticks(read(tmp_path / "run.mcap")[0]) == [0, 1, 2]


def test_unknown_types_are_refused(tmp_path):
    name = "no_msgs/msg/Thing"
    with (
        RunFile(tmp_path / "run.mcap") as file,
        refused(ParameterError, "unknown-type", found=name),
    ):
        file.channel("/thing", name)


def test_a_flipped_bit_is_found(tmp_path):
    """The checksum or zstd detects the damage, so no wrong number is read."""
    path = tmp_path / "run.mcap"
    write(path, 400)
    whole = path.read_bytes()
    chunk = whole.index(struct.pack("<B", 6), 8)
    rng = np.random.default_rng(0)
    for at in rng.integers(chunk + 60, chunk + 4000, size=40):
        spoilt = bytearray(whole)
        spoilt[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(spoilt)
        with pytest.raises(ParameterError) as caught:
            read(path)
        assert caught.value.code == "damaged-recording"  # the message depends on the bit
    spoilt = bytearray(whole)
    # change the checksum, which follows the opcode, the length, two times and the size
    spoilt[chunk + 33] ^= 1
    path.write_bytes(spoilt)
    with refused(ParameterError, "damaged-recording", "recording"):
        read(path)
