# SPDX-License-Identifier: Apache-2.0
"""Recordings are read from bags in both formats and from CSV files; bad recordings are refused."""

import subprocess
import sys

import numpy as np
import pytest
from support.refusals import refused, worded

from rbdyn_ros.errors import ParameterError
from rbdyn_ros.identification.data.csv_files import write_csv
from rbdyn_ros.identification.data.recordings import read_recording
from rbdyn_ros.identification.data.samples import Samples

pytest.importorskip("rosbags")
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

STATE = "sensor_msgs/msg/JointState"
STORE = get_typestore(Stores.LATEST)
START = 1_700_000_000_123_456_789  # [ns]; a double cannot store all digits
NAMES = ("shoulder", "elbow")


def stamp(ns):
    return STORE.types["builtin_interfaces/msg/Time"](sec=ns // 10**9, nanosec=ns % 10**9)


def state(ns, names, position, velocity, effort):
    header = STORE.types["std_msgs/msg/Header"](stamp=stamp(ns), frame_id="")
    columns = [np.asarray(column, np.float64) for column in (position, velocity, effort)]
    return STORE.types[STATE](header, list(names), *columns)


def motion(count=50, period_ns=2_000_000):
    """Return stamps [ns], and positions, velocities and efforts (count, 2) of NAMES."""
    t = np.arange(count)[:, None] * 0.01 + np.array([0.0, 1.0])
    return START + period_ns * np.arange(count), np.sin(t), np.cos(t), 10.0 * np.sin(2 * t)


def messages(names=NAMES, **kwargs):
    stamps, *columns = motion(**kwargs)
    return [state(int(ns), names, *row) for ns, *row in zip(stamps, *columns, strict=True)]


def write_bag(path, topics, plugin=StoragePlugin.MCAP, behind=b""):
    """Write a bag with topics {name: (type, messages)}, whose times of arrival have jitter.

    The bytes `behind` follow each message.
    """
    with Writer(path, version=9, storage_plugin=plugin) as bag:
        for topic, (kind, rows) in topics.items():
            connection = bag.add_connection(topic, kind, typestore=STORE)
            for k, message in enumerate(rows):
                arrival = START + 2_000_000 * k + 500_000 * (k % 3)
                bag.write(connection, arrival, bytes(STORE.serialize_cdr(message, kind)) + behind)
    return path


def bag_of(tmp_path, rows, topic="/joint_states"):
    return write_bag(tmp_path / "bag", {topic: (STATE, rows)})


def refusal(path, names=NAMES, **kwargs):
    """Return the code of the error with which a recording is refused."""
    with pytest.raises(ParameterError) as caught:
        read_recording(path, names, **kwargs)
    error = caught.value
    assert str(path) in str(error)
    worded(error.code, error.findings[0].message)
    return error.code


@pytest.mark.parametrize("plugin", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_bags_of_all_formats_are_read(tmp_path, plugin):
    # messages have one more joint and another order, and a gripper publishes on the same topic
    stamps, position, velocity, effort = motion()
    rows = []
    for k, ns in enumerate(stamps):
        names = ("elbow", "wrist", "shoulder")
        columns = [np.insert(c[k, ::-1], 1, 99.0) for c in (position, velocity, effort)]
        rows.append(state(int(ns), names, *columns))
        rows.append(state(int(ns) + 1000, ("finger",), [0.1], [], []))
    path = write_bag(tmp_path / "bag", {"/joint_states": (STATE, rows)}, plugin)
    for source in (path, str(path), next(f for f in path.iterdir() if f.suffix != ".yaml")):
        read = read_recording(source, NAMES)
        assert read.names == NAMES
        # times are stamps, not times of arrival
        assert read.time == pytest.approx(0.002 * np.arange(50), abs=1e-12)
        assert np.array_equal(read.qpos, position)
        assert np.array_equal(read.qvel, velocity)
        assert np.array_equal(read.effort, effort)
        assert read.left_out == 0


def test_other_topics_are_ignored(tmp_path):
    text = STORE.types["std_msgs/msg/String"]("hello")
    topics = {
        "/chatter": ("std_msgs/msg/String", [text]),
        "/arm/joint_states": (STATE, messages()),
    }
    path = write_bag(tmp_path / "bag", topics)
    assert len(read_recording(path, NAMES, topic="arm/joint_states").time) == 50
    assert refusal(path) == "no-topic"
    assert refusal(path, topic="/chatter") == "wrong-type"


def test_unused_bytes_behind_messages_are_skipped(tmp_path):
    """Fast DDS reserves room to align the first number of an empty array of velocities."""
    stamps, position, _, effort = motion()
    rows = [
        state(int(ns), NAMES, q, (), e) for ns, q, e in zip(stamps, position, effort, strict=True)
    ]
    path = write_bag(tmp_path / "bag", {"/joint_states": (STATE, rows)}, behind=b"\xcd" * 4)
    np.testing.assert_array_equal(read_recording(path, NAMES).qpos, position)


def test_velocities_may_be_missing(tmp_path):
    rows = messages()
    rows[7].velocity = np.zeros(0)
    assert read_recording(bag_of(tmp_path, rows), NAMES).qvel is None


def test_efforts_may_come_from_another_topic(tmp_path):
    states, efforts = messages(), []
    for row in states:
        row.effort = np.zeros(0)
    # efforts have other stamps; they are linear in time, so interpolation is exact
    for k in range(30):
        ns = START + 10_500_000 + 2_500_000 * k
        t = 1e-9 * (ns - START)
        efforts.append(state(ns, NAMES, [], [], [3.0 * t, 1.0 - t]))
    topics = {"/joint_states": (STATE, states), "/arm/efforts": (STATE, efforts)}
    path = write_bag(tmp_path / "bag", topics)
    assert refusal(path) == "no-efforts"
    read = read_recording(path, NAMES, effort_topic="arm/efforts")
    first = 0.012  # time of the first state that lies between two efforts
    assert np.array_equal(read.qpos, motion()[1][6:42])
    assert read.effort[:, 0] == pytest.approx(3.0 * (read.time + first), abs=1e-9)
    assert read.effort[:, 1] == pytest.approx(1.0 - (read.time + first), abs=1e-9)
    late = [state(START + 10**12 + k, NAMES, [], [], [0.0, 0.0]) for k in range(30)]
    path = write_bag(tmp_path / "late", {**topics, "/arm/efforts": (STATE, late)})
    assert refusal(path, effort_topic="arm/efforts") == "no-efforts"


def test_a_gap_of_another_topic_is_not_interpolated(tmp_path):
    """Interpolated over a long pause, efforts would be a straight line."""
    states = messages(count=300)
    stamps = START + 2_000_000 * np.arange(-5, 305)
    efforts = [state(int(ns), NAMES, [1.0, 1.0], [], [1e-9 * (ns - START)] * 2) for ns in stamps]
    for pause, code in ((40, ""), (80, "gap")):  # pauses of 80 ms and 160 ms
        topics = {
            "/joint_states": (STATE, states),
            "/efforts": (STATE, efforts[:100] + efforts[100 + pause :]),
        }
        path = write_bag(tmp_path / str(pause), topics)
        for more in ("effort_topic", "motor_topic"):
            if code:
                assert refusal(path, **{more: "efforts"}) == code
            else:
                assert len(read_recording(path, NAMES, **{more: "efforts"}).time) == 300
    # pauses before the first and after the last state are allowed
    states = states[200:280]
    path = write_bag(tmp_path / "later", {**topics, "/joint_states": (STATE, states)})
    read = read_recording(path, NAMES, effort_topic="efforts")
    assert read.effort[:, 0] == pytest.approx(0.4 + read.time, abs=1e-9)


def test_angles_of_motors_are_read_from_a_topic_or_from_columns(tmp_path):
    motors = [state(START + 2_500_000 * k, ("elbow",), [0.25 * k], [], []) for k in range(50)]
    topics = {"/joint_states": (STATE, messages()), "/motors": (STATE, motors)}
    path = write_bag(tmp_path / "bag", topics)
    read = read_recording(path, NAMES, motor_topic="motors")
    assert list(read.motors) == ["elbow"]
    assert read.motors["elbow"] == pytest.approx(100.0 * read.time, abs=1e-9)
    assert read_recording(path, NAMES).motors == {}
    assert refusal(path, ("shoulder",), motor_topic="motors") == "other-joints"
    late = [state(START + 10**12 + k, NAMES, [1.0, 1.0], [], []) for k in range(30)]
    late = write_bag(tmp_path / "late", {**topics, "/motors": (STATE, late)})
    assert refusal(late, motor_topic="motors") == "no-positions"
    write_csv(tmp_path / "r.csv", read)
    again = read_recording(tmp_path / "r.csv", NAMES)
    assert again.motors["elbow"] == pytest.approx(read.motors["elbow"])
    assert again.effort == pytest.approx(read.effort)


def test_a_few_incomplete_messages_are_skipped(tmp_path):
    rows = messages(count=200)
    rows[0].effort = np.full(2, np.nan)
    rows[9] = state(START + 18_000_000, ("elbow",), [1.0], [1.0], [1.0])
    read = read_recording(bag_of(tmp_path, rows), NAMES)
    assert read.left_out == 2
    assert len(read.time) == 198
    assert read.time[0] == 0.0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda row: setattr(row, "position", np.array([0.0, np.nan])),
        lambda row: setattr(row, "effort", np.array([np.inf, 0.0])),
        lambda row: setattr(row, "name", ["shoulder", "elbo"]),
        lambda row: setattr(row, "position", np.zeros(1)),
    ],
)
def test_many_incomplete_messages_are_refused(tmp_path, spoil):
    rows = messages()
    for row in rows[20:23]:
        spoil(row)
    assert refusal(bag_of(tmp_path, rows)) == "incomplete-samples"


def test_time_that_goes_back_is_refused(tmp_path):
    rows = messages() + messages()
    assert refusal(bag_of(tmp_path, rows)) == "time-goes-back"


def test_repeated_stamps_are_refused(tmp_path):
    rows = messages(count=300)
    rows[5].header = rows[4].header
    path = bag_of(tmp_path, rows)
    read = read_recording(path, NAMES)
    assert len(read.time) == 299
    # of two messages with equal stamps the first is kept
    assert read.qpos[5, 0] == motion(count=300)[1][6, 0]
    for k in range(10, 30, 2):
        rows[k].header = rows[k - 1].header
    path = write_bag(tmp_path / "more", {"/joint_states": (STATE, rows)})
    assert refusal(path) == "repeated-stamps"


def test_missing_stamps_are_refused(tmp_path):
    rows = messages()
    for row in rows:
        row.header.stamp = stamp(0)
    assert refusal(bag_of(tmp_path, rows)) == "no-stamps"


def test_a_recording_without_messages_is_refused(tmp_path):
    assert refusal(bag_of(tmp_path, [])) == "empty-recording"
    path = write_bag(tmp_path / "few", {"/joint_states": (STATE, messages(count=3))})
    assert refusal(path) == "empty-recording"


def test_a_recording_of_another_robot_is_refused(tmp_path):
    assert refusal(bag_of(tmp_path, messages(("shoulder_1", "elbow_1")))) == "other-joints"


@pytest.mark.parametrize("plugin", [StoragePlugin.MCAP, StoragePlugin.SQLITE3])
def test_a_truncated_recording_is_refused(tmp_path, plugin):
    path = write_bag(tmp_path / "bag", {"/joint_states": (STATE, messages())}, plugin)
    file = next(f for f in path.iterdir() if f.suffix != ".yaml")
    whole = file.read_bytes()
    for share in (0.0, 0.01, 0.3, 0.6, 0.95):
        file.write_bytes(whole[: int(share * len(whole))])
        assert refusal(path) == "damaged-recording", share
    file.unlink()
    assert refusal(path) == "damaged-recording"
    (path / "metadata.yaml").unlink()
    assert refusal(path) == "no-metadata"


def test_damaged_bytes_raise_only_rbdyn_errors(tmp_path):
    path = bag_of(tmp_path, messages())
    file = next(path.glob("*.mcap"))
    whole, rng = file.read_bytes(), np.random.default_rng(1)
    for _ in range(60):
        spoilt = bytearray(whole)
        for k in rng.integers(len(spoilt), size=5):
            spoilt[k] = rng.integers(256)
        file.write_bytes(spoilt)
        try:  # the damaged byte may be a digit, and then there is no error
            read = read_recording(path, NAMES)
        except ParameterError:
            continue
        assert np.isfinite(read.qpos).all()


@pytest.mark.parametrize("path", ["nowhere.csv", "no/such/bag", "nul\0.mcap"])
def test_a_missing_file_is_refused(path):
    with refused(ParameterError, "no-recording"):
        read_recording(path, NAMES)


def test_a_recording_must_be_a_path():
    with refused(ParameterError, "not-a-path", "recording"):
        read_recording(3, NAMES)


def test_other_suffixes_are_refused(tmp_path):
    for name in ("motion.bag", "metadata.yaml"):
        file = tmp_path / name
        file.write_text("")
        assert refusal(file) == "unknown-suffix"


def test_a_missing_library_is_refused(tmp_path):
    path = bag_of(tmp_path, messages())
    code = (
        "import sys; sys.modules['rosbags'] = None\n"
        "from rbdyn_ros.identification.data.recordings import read_recording\n"
        f"read_recording({str(path)!r}, ['elbow'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert 'pip install "rbdyn_ros[identify]"; or record to CSV' in done.stderr


# CSV files


def samples(velocities=True):
    _, qpos, qvel, effort = motion()
    return Samples(NAMES, 0.002 * np.arange(50), qpos, qvel if velocities else None, effort)


@pytest.mark.parametrize("velocities", [True, False])
def test_a_csv_file_can_be_written_and_read(tmp_path, velocities):
    path = tmp_path / "recording.csv"
    written = samples(velocities)
    write_csv(path, written)
    read = read_recording(path, NAMES)
    assert read.names == NAMES
    for field in ("time", "qpos", "effort"):
        # 12 digits are written
        assert getattr(read, field) == pytest.approx(getattr(written, field), abs=1e-11)
    assert (read.qvel is None) == (not velocities)
    if velocities:
        assert read.qvel == pytest.approx(written.qvel, abs=1e-11)
    # read one of the two joints alone
    alone = read_recording(path, ["elbow"])
    assert np.array_equal(alone.qpos[:, 0], read.qpos[:, 1])
    assert np.array_equal(alone.effort[:, 0], read.effort[:, 1])


def test_csv_files_of_other_tools_are_read(tmp_path):
    path = tmp_path / "recording.csv"
    rows = "".join(f"{k},{5 + 0.01 * k},,{k}e-1, {2 * k}\n" for k in range(20))
    path.write_text('\ufeffnote,"time",text,a.position, a.effort\n'.lstrip() + rows, "utf-8")
    read = read_recording(path, ["a"])
    assert read.time == pytest.approx(0.01 * np.arange(20))
    assert read.qpos[:, 0] == pytest.approx(0.1 * np.arange(20))
    assert read.effort[:, 0] == pytest.approx(2.0 * np.arange(20))


FIELDS = "time", "qpos", "qvel", "effort"
HEADER = "time,shoulder.position,elbow.position,shoulder.effort,elbow.effort\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "no-header"),
        ("\n\n", "no-header"),
        ("Time,a\n", "no-header"),
        ("time;a.position\n", "no-header"),
        ("time,shoulder.position\n", "no-column"),
        (HEADER.replace("elbow.effort", "elbow.efort"), "no-column"),
        (HEADER.replace("elbow.effort", "elbow.position"), "two-columns"),
        (HEADER, "empty-recording"),
        (HEADER + "0,1,2,3,4\n" * 3 + "0,1,2\n", "no-table"),
        (HEADER + "0,1,2,x,4\n", "no-table"),
        (HEADER + "0,1,nan,3,4\n" * 20, "incomplete-samples"),
        (HEADER + "nan,1,2,3,4\n" * 20, "incomplete-samples"),
        (HEADER + "1,1,2,3,4\n" * 20, "repeated-stamps"),
        (HEADER + "1,1,2,3,4\n0,1,2,3,4\n" * 20, "time-goes-back"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_unusable_csv_files_are_refused(tmp_path, text, code):
    path = tmp_path / "recording.csv"
    path.write_text(text)
    assert refusal(path) == code


def test_a_csv_file_that_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "recording.csv"
    path.write_bytes(b"\xff\xfe\x00\x01" * 100)
    assert refusal(path) == "unreadable-file"
    path.write_bytes(HEADER.encode() + b"0,1,\xff,3,4\n")
    assert refusal(path) == "unreadable-file"
    path.write_bytes(HEADER.encode() + b"0,1,2,3,4\n" * 5000 + b"0,1,\xff,3,4\n")
    assert refusal(path) == "no-table"


def test_an_incomplete_last_line_of_a_csv_file_is_skipped(tmp_path):
    path = tmp_path / "recording.csv"
    rows = "".join(f"{k},1,2,3,4\n" for k in range(20))
    for tail in ("20,1,2", "20,1,2,3,", "20,1,2,3,-", "20,1,2,3,4.0e", "2", ""):
        path.write_text(HEADER + rows + tail)
        assert len(read_recording(path, NAMES).time) == 20, tail
    # the last line is complete, but does not end with a line break
    path.write_text(HEADER + rows + "20,1,2,3,4")
    assert len(read_recording(path, NAMES).time) == 21


@pytest.mark.parametrize("odd", ["two\nlines", " space ", "com,ma", 'quo"te', "a.position"])
def test_a_csv_file_may_have_unusual_names(tmp_path, odd):
    path = tmp_path / "recording.csv"
    written = samples()
    write_csv(path, Samples((odd, odd.strip() + "2"), *[getattr(written, f) for f in FIELDS]))
    read = read_recording(path, [odd])
    assert read.qpos[:, 0] == pytest.approx(written.qpos[:, 0], abs=1e-11)


def test_too_long_lines_of_a_csv_file_are_refused(tmp_path):
    path = tmp_path / "recording.csv"
    path.write_text("time," + 400_000 * "abc," + "\n")
    assert refusal(path) == "no-header"


def test_positions_of_other_joints_are_read(tmp_path):
    csv = tmp_path / "recording.csv"
    write_csv(csv, samples())
    rows = messages()
    # a gripper publishes on the same topic at another rate
    rows += [state(START + k, ("finger",), [0.01 * k], [], []) for k in (1, 2, 3)]
    rows.sort(key=lambda row: row.header.stamp.nanosec)
    for path, finger in ((csv, None), (bag_of(tmp_path, rows), [0.01, 0.02, 0.03])):
        read = read_recording(path, ["elbow"], others=["shoulder", "finger", "toe"])
        assert read.others["shoulder"] == pytest.approx(motion()[1][:, 0], abs=1e-11)
        assert len(read.time) == 50
        assert read.names == ("elbow",)
        if finger is None:
            assert set(read.others) == {"shoulder"}
        else:
            assert read.others["finger"] == pytest.approx(finger)
            assert set(read.others) == {"shoulder", "finger"}


def test_a_joint_is_left_out_only_if_it_has_no_numbers(tmp_path):
    stamps, q, v, tau = motion()
    fingers = bag_of(tmp_path, messages())
    assert read_recording(fingers, [*NAMES, "finger"], partly=True).names == NAMES
    rows = [
        state(ns, [*NAMES, "wrist"], [*q[k], np.nan], [*v[k], 1.0], [*tau[k], np.nan])
        for k, ns in enumerate(stamps.tolist())
    ]
    path = write_bag(tmp_path / "wrist", {"/joint_states": (STATE, rows)})
    assert refusal(path, [*NAMES, "wrist"], partly=True) == "incomplete-samples"


@pytest.mark.filterwarnings("error")
def test_too_large_numbers_are_refused(tmp_path):
    path = tmp_path / "recording.csv"
    path.write_text(HEADER + "".join(f"{k},1,2,3,{4e300 if k == 5 else 1}\n" for k in range(20)))
    assert refusal(path) == "large-number"


def test_names_of_topics_are_refused_for_a_csv_file(tmp_path):
    path = tmp_path / "recording.csv"
    write_csv(path, samples())
    assert refusal(path, effort_topic="efforts") == "no-topics"
    assert refusal(path, topic="other") == "no-topics"


def test_a_csv_file_is_written_completely_or_not_at_all(tmp_path):
    path = tmp_path / "recording.csv"
    path.write_text("before")
    broken = Samples(NAMES, np.zeros(3), np.zeros((2, 2)), None, np.zeros((3, 2)))
    with refused(ParameterError, "unwritable-file", "path"):
        write_csv(path, broken)
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["recording.csv"]


def test_a_joint_is_left_out_only_if_it_has_no_column(tmp_path):
    path = tmp_path / "recording.csv"
    rows = "".join(f"{k},{k},{k},{k}\n" for k in range(20))
    for column in ("elbow.effort", "elbow.velocity", "elbow.motor", "elbow.position"):
        path.write_text(f"time,shoulder.position,shoulder.effort,{column}\n{rows}")
        with refused(ParameterError, "no-column"):
            read_recording(path, NAMES, partly=True)
    path.write_text(f"time,shoulder.position,shoulder.effort,toe.position\n{rows}")
    assert read_recording(path, NAMES, partly=True).names == ("shoulder",)
