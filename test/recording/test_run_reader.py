# SPDX-License-Identifier: Apache-2.0
"""Recordings of other programs are read; damaged and hostile recordings are refused."""

import struct

import numpy as np
import pytest

pytest.importorskip("mcap", reason="mcap is not installed")
pytest.importorskip("rosbags", reason="rosbags is not installed")

import zstandard
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from support.refusals import refused
from test_recorder import TWO, moved

import rbdyn_ros as rb
from rbdyn_ros.errors import DescriptionError, ParameterError, RbdynError
from rbdyn_ros.recording import mcap_file, schemas, series
from rbdyn_ros.recording.reader import read_run
from rbdyn_ros.recording.recorder import Recorder, model_bytes
from rbdyn_ros.recording.schemas import STATE, Schemas
from rbdyn_ros.recording.topics import Messages
from rbdyn_ros.recording.writer import RunFile

STORE = get_typestore(Stores.LATEST)
pack = Messages(Schemas()).state
JOINT_STATE, STRING = "sensor_msgs/msg/JointState", "std_msgs/msg/String"
TF = "tf2_msgs/msg/TFMessage"
START = 1_700_000_000_000_000_000  # [ns], as in real recordings


def header(stamp):
    Time, Header = STORE.types["builtin_interfaces/msg/Time"], STORE.types["std_msgs/msg/Header"]
    return Header(stamp=Time(sec=stamp // 10**9, nanosec=stamp % 10**9), frame_id="")


def joint_state(stamp, names, position=(), velocity=(), effort=()):
    fields = {"position": position, "velocity": velocity, "effort": effort}
    arrays = {key: np.array(values, np.float64) for key, values in fields.items()}
    message = STORE.types[JOINT_STATE](header=header(stamp), name=list(names), **arrays)
    return bytes(STORE.serialize_cdr(message, JOINT_STATE))


def text(content):
    return bytes(STORE.serialize_cdr(STORE.types[STRING](data=content), STRING))


def bag(path, rows, plugin=StoragePlugin.SQLITE3):
    """Write rows (topic, type, time [ns], bytes) as `ros2 bag record` does; return the path."""
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        connections = {}
        for topic, typename, time_ns, raw in rows:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, typename, typestore=STORE)
            writer.write(connections[topic], time_ns, raw)
    return path


def mcap(path, rows):
    with RunFile(path, overwrite=True) as file:
        for topic, typename, time_ns, raw in rows:
            file.add(topic, typename, raw, time_ns)
    return path


def real_robot(lag=0, names=("elbow", "shoulder"), count=100):
    rows = [("/robot_description", STRING, START, text(TWO))]
    for k in range(count):
        stamp = START + k * 2_000_000
        raw = joint_state(stamp, names, (0.1 * k, -0.1 * k), (k, -k), (2 * k, -2 * k))
        rows.append(("/joint_states", JOINT_STATE, stamp + lag, raw))
    return rows


@pytest.mark.parametrize("plugin", list(StoragePlugin))
def test_joint_states_of_a_real_robot_are_read(tmp_path, plugin):
    run = read_run(bag(tmp_path / "bag", real_robot(), plugin))
    k = np.arange(100)
    assert not run.exact
    assert np.allclose(run.time, 0.002 * k, atol=1e-12)
    assert run.stamps[0] == START
    assert np.allclose(run.qpos, np.outer(k, [-0.1, 0.1]))  # shoulder and elbow
    assert np.array_equal(run.qvel, np.outer(k, [-1.0, 1.0]))
    assert np.array_equal(run.effort, np.outer(k, [-2.0, 2.0]))
    assert run.m.name == "two"


def test_two_drivers_may_publish_at_the_same_time(tmp_path):
    """Two nodes that follow /clock may publish messages with the same stamp."""
    rows = []
    for k in range(5):
        stamp = START + k * 10_000_000
        for name, sign in (("elbow", 1), ("shoulder", -1)):
            raw = joint_state(stamp, [name], [0.1 * sign * k], [sign * k], [2 * sign * k])
            rows.append(("/joint_states", JOINT_STATE, stamp, raw))
    run = read_run(bag(tmp_path / "bag", [*real_robot(count=0), *rows]))
    k = np.arange(5)
    assert np.allclose(run.time, 0.01 * k, rtol=0, atol=1e-12)
    assert np.allclose(run.qpos, np.outer(k, [-0.1, 0.1]), rtol=0, atol=1e-15)  # shoulder, elbow
    assert np.array_equal(run.qvel, np.outer(k, [-1.0, 1.0]))
    assert np.array_equal(run.effort, np.outer(k, [-2.0, 2.0]))


def padded(raw, empty, more=0):
    """Return a message with 4 unused bytes for each empty array, as from Fast DDS, and `more`."""
    return raw + b"\xcd" * (4 * empty + more)


def test_unused_bytes_behind_messages_are_skipped(tmp_path):
    """Fast DDS reserves room to align the first number of each empty array."""
    positions = joint_state(START, ["shoulder", "elbow"], [0.1, 0.2])
    state = pack(0, 0, 0.0, 0, [np.full(2, 0.5)] * 4 + [np.empty(0)] * 5)
    moved_base = transforms(START, ("map", "base", (1.0, 2.0, 3.0), ONE_TURN))
    for rows, expected in (
        ([("/joint_states", JOINT_STATE, START, padded(positions, 2))], [0.1, 0.2]),
        ([("/simulator/state", STATE, START, padded(state, 5))], [0.5, 0.5]),
        (
            [
                ("/joint_states", JOINT_STATE, START, padded(positions, 2, 3)),
                ("/joint_commands", JOINT_STATE, START, padded(joint_state(START, []), 3)),
                ("/tf", TF, START, padded(moved_base, 0, 3)),
            ],
            [0.1, 0.2],
        ),
    ):
        run = read_run(mcap(tmp_path / "run.mcap", rows), _file(tmp_path))
        assert run.qpos.tolist() == [expected]
    for raw in (padded(positions, 2, 4), padded(joint_state(START, [], [1.0] * 3), 2, 4)):
        rows = [("/joint_states", JOINT_STATE, START, raw)]
        with refused(ParameterError, "wrong-message", "recording"):
            read_run(mcap(tmp_path / "run.mcap", rows), _file(tmp_path))


def test_missing_and_unknown_joint_names_are_refused(tmp_path):
    rows = real_robot()
    for k in range(50):
        stamp = START + 10**6 + k * 2_000_000
        rows.append(("/joint_states", JOINT_STATE, stamp, joint_state(stamp, ["gripper"], [1.0])))
    run = read_run(bag(tmp_path / "bag", rows))
    assert len(run.time) == 150
    assert np.isfinite(run.qpos).all()  # a joint keeps its position until its next message
    assert np.isnan(run.qvel).any()
    assert "'gripper'" in run.notes[0]
    rows = [("/joint_states", JOINT_STATE, START, joint_state(START, ["elbow"], [0.5]))]
    run = read_run(bag(tmp_path / "bag2", rows), _file(tmp_path))
    assert run.qpos.tolist() == [[0.0, 0.5]]
    assert np.isnan(run.effort).all()
    assert "'shoulder'" in run.notes[0]


def _file(folder):
    path = folder / "two.urdf"
    path.write_text(TWO)
    return path


def test_commands_have_the_time_of_their_arrival(tmp_path):
    """Commands have no stamps, and the recorder's clock may differ from the stamps' clock."""
    lag = 7_000_000_000_000
    for shift in (0, lag):
        rows = real_robot(shift)
        at = START + 50_000_000
        raw = joint_state(0, ["elbow"], [1.5])
        rows.append(("/joint_commands", JOINT_STATE, at + shift, raw))
        numbers = STORE.types["std_msgs/msg/Float64MultiArray"]
        layout = STORE.types["std_msgs/msg/MultiArrayLayout"](dim=[], data_offset=0)
        efforts = numbers(layout=layout, data=np.array([3.0, 4.0]))
        raw = bytes(STORE.serialize_cdr(efforts, numbers.__msgtype__))
        rows.append(("/effort_commands", numbers.__msgtype__, at + shift, raw))
        rows.sort(key=lambda row: row[2])
        run = read_run(mcap(tmp_path / f"run{shift}.mcap", rows))
        joint = run.commanded["/joint_commands"]
        assert joint.names == ("elbow",)
        assert np.allclose(joint.time, 0.05, atol=1e-9)
        assert joint.position.tolist() == [[1.5]]
        assert np.isnan(joint.effort).all()
        assert run.commanded["/effort_commands"].names == ("shoulder", "elbow")
        assert run.commanded["/effort_commands"].effort.tolist() == [[3.0, 4.0]]


def test_the_pose_of_a_floating_base_comes_from_odometry(tmp_path):
    kinds = STORE.types
    point = kinds["geometry_msgs/msg/Point"](x=1.0, y=2.0, z=3.0)
    turn = kinds["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=2**-0.5, w=2**-0.5)
    vector = kinds["geometry_msgs/msg/Vector3"]
    pose = kinds["geometry_msgs/msg/Pose"](position=point, orientation=turn)
    twist = kinds["geometry_msgs/msg/Twist"](linear=vector(1.0, 0.0, 0.0), angular=vector(0, 0, 5))
    odometry = kinds["nav_msgs/msg/Odometry"]
    message = odometry(
        header=header(START),
        child_frame_id="base",
        pose=kinds["geometry_msgs/msg/PoseWithCovariance"](pose=pose, covariance=np.zeros(36)),
        twist=kinds["geometry_msgs/msg/TwistWithCovariance"](twist=twist, covariance=np.zeros(36)),
    )
    raw = bytes(STORE.serialize_cdr(message, odometry.__msgtype__))
    rows = [*real_robot(), ("/odom", odometry.__msgtype__, START, raw)]
    rows.sort(key=lambda row: row[2])
    run = read_run(mcap(tmp_path / "run.mcap", rows))
    assert run.m.nq == 9
    assert np.allclose(run.qpos[50, :7], [1, 2, 3, 2**-0.5, 0, 0, 2**-0.5])
    # after a quarter turn about z the link's x axis is the world's y axis
    assert np.allclose(run.qvel[50, :6], [0, 1, 0, 0, 0, 5])


def transforms(stamp, *rows):
    """Return the bytes of a TFMessage with rows (parent, child, position, quaternion xyzw)."""
    kinds = {name: STORE.types[f"geometry_msgs/msg/{name}"] for name in
             ("Vector3", "Quaternion", "Transform", "TransformStamped")}  # fmt: skip
    stamped = []
    for parent, child, position, turn in rows:
        head = header(stamp)
        head.frame_id = parent
        pose = kinds["Transform"](kinds["Vector3"](*position), kinds["Quaternion"](*turn))
        stamped.append(kinds["TransformStamped"](head, child, pose))
    kind = STORE.types[TF]
    return bytes(STORE.serialize_cdr(kind(transforms=stamped), TF))


# quaternions of a quarter turn about z, and of no rotation
ONE_TURN, NO_TURN = (0.0, 0.0, 2**-0.5, 2**-0.5), (0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize("prefix", ["", "left/"])
def test_the_pose_of_a_floating_base_comes_from_tf(tmp_path, prefix):
    """The pose is the product of all transforms to the world, and stays until the next message."""
    space = f"/{prefix}".rstrip("/")
    rows = [(f"{space}{topic}", *rest) for topic, *rest in real_robot()]
    root = f"{prefix}base"
    rows.append(("/tf_static", TF, START, transforms(0, ("map", "odom", (1.0, 0, 0), ONE_TURN))))
    for k in range(10):
        at = START + k * 20_000_000
        pose = transforms(
            at,
            # a quarter turn about x
            ("odom", root, (0.1 * k, 0, 0.5), (2**-0.5, 0.0, 0.0, 2**-0.5)),
            (root, f"{prefix}upper", (9.0, 9, 9), NO_TURN),
        )
        rows.append(("/tf", TF, at, pose))
    rows.sort(key=lambda row: row[2])
    run = read_run(mcap(tmp_path / "run.mcap", rows))
    assert run.m.nq == 9
    held = 0.1 * (np.arange(100) // 10)
    # the x axis of odom is the map's y axis; the two quarter turns, about z and x, are together a
    # third of a turn about (1, 1, 1)
    expected = np.column_stack([np.ones(100), held, np.full(100, 0.5)])
    assert np.allclose(run.qpos[:, :3], expected, rtol=0.0, atol=1e-12)
    quat = run.qpos[:, 3:7] * np.sign(run.qpos[:, 3:4])
    assert np.allclose(quat, 0.5, rtol=0.0, atol=1e-12)
    assert np.isnan(run.qvel[:, :6]).all()
    assert "/tf" in run.notes[0]


def test_a_base_whose_transform_does_not_change_is_fixed(tmp_path):
    """Transforms that form a cycle or are not finite are ignored."""
    for pose in (
        [("map", "base", (1.0, 2, 3), ONE_TURN)],
        [("base", "odom", (1.0, 2, 3), NO_TURN), ("odom", "base", (0.0, 0, 0), NO_TURN)],
        [("map", "base", (np.nan, 2, 3), NO_TURN)],
        [("map", "base", (1.0, 2, 3), (0.0, 0, 0, 0))],
        [("map", "base", (1e300, 2, 3), NO_TURN), ("map", "base", (1.0, 2, 3), (1e-300, 0, 0, 0))],
    ):
        rows = [*real_robot(), ("/tf", TF, START, transforms(START, *pose))]
        run = read_run(mcap(tmp_path / "run.mcap", rows))
        assert run.m.nq == 2
        assert run.notes == ()
    rows[-1] = ("/tf", TF, START, b"\0\1\0\0" + b"\xff" * 40)
    with refused(ParameterError, "wrong-message", "recording"):
        read_run(mcap(tmp_path / "run.mcap", rows))


def test_a_part_of_a_recording_is_read_between_two_times(tmp_path):
    moved(rb.load_urdf(TWO), 1000, tmp_path / "run.mcap")
    whole = read_run(tmp_path / "run.mcap")
    part = read_run(tmp_path / "run.mcap", start=0.25, end=0.5)
    inside = (whole.time >= 0.25 - 1e-9) & (whole.time <= 0.5 + 1e-9)
    assert np.array_equal(part.qpos, whole.qpos[inside])
    assert np.allclose(part.time, whole.time[inside], atol=1e-12)
    with refused(ParameterError, "nothing-then", "recording"):
        read_run(tmp_path / "run.mcap", start=100.0)
    for start, end in ((-1.0, 1.0), (2.0, 1.0), (np.nan, 1.0)):
        with refused(ParameterError, "bad-span", "recording"):
            read_run(tmp_path / "run.mcap", start=start, end=end)


def test_one_of_several_robots_is_read(tmp_path):
    rows = []
    for k in range(10):
        for n, name in enumerate(("left", "right")):
            raw = pack(k, k, 0.0, 0, [np.full(2, float(n))] * 4 + [np.empty(0)] * 5)
            rows.append((f"/{name}/simulator/state", STATE, k, raw))
    rows += [(f"/{name}/robot_description", STRING, 10, text(TWO)) for name in ("left", "right")]
    path = mcap(tmp_path / "run.mcap", rows)
    assert (read_run(path, name="right").qpos == 1.0).all()
    assert read_run(path, name="/left").name == "left"
    with refused(ParameterError, "several-robots", "recording"):
        read_run(path)
    with refused(ParameterError, "no-robot", "recording"):
        read_run(path, name="rigth")


def test_a_recording_of_another_robot_is_refused(tmp_path):
    moved(rb.load_urdf(TWO), 10, tmp_path / "run.mcap")
    other = tmp_path / "other.urdf"
    other.write_text(TWO.replace("continuous", "fixed", 1))
    with refused(ParameterError, "other-robot", "recording"):
        read_run(tmp_path / "run.mcap", other)
    rows = real_robot(names=("joint_1", "joint_2"))
    with refused(ParameterError, "other-robot", "recording"):
        read_run(bag(tmp_path / "bag", rows))
    with refused(ParameterError, "no-description", "recording"):
        read_run(bag(tmp_path / "bag2", real_robot()[1:]))
    broken = [("/robot_description", STRING, START, text("<robot"))]
    with refused(DescriptionError, "malformed-xml"):
        read_run(bag(tmp_path / "bag3", broken + real_robot()[1:]))


def test_missing_files_and_other_suffixes_are_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    for name in ("run.bag", "metadata.yaml"):
        (tmp_path / name).write_text("x")
    for path, code in (
        (tmp_path / "no.mcap", "no-recording"),
        ("a\0b.mcap", "no-recording"),
        (3, "not-a-path"),
        (tmp_path / "run.bag", "unknown-suffix"),
        (tmp_path / "metadata.yaml", "unknown-suffix"),
        (tmp_path / "folder", "no-metadata"),
    ):
        with refused(ParameterError, code, "recording"):
            read_run(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x89MCAP",
        b"hello world",
        np.random.default_rng(0).bytes(1000),
        b"\x89MCAP0\r\n" + b"\xff" * 100,
    ],
)
def test_other_files_with_the_suffix_of_a_recording_are_refused(tmp_path, content):
    path = tmp_path / "run.mcap"
    path.write_bytes(content)
    with refused(ParameterError, "damaged-recording", "recording"):
        read_run(path)


@pytest.mark.parametrize(
    ("topic", "typename", "raw", "code"),
    [
        ("/chatter", STRING, text("hello"), "no-states"),
        ("/joint_states", JOINT_STATE, b"\0\1\0\0", "wrong-message"),
        ("/simulator/state", STATE, b"\0\1\0\0" + b"\xff" * 60, "wrong-message"),
    ],
)
def test_recordings_without_states_are_refused(tmp_path, topic, typename, raw, code):
    path = mcap(tmp_path / "run.mcap", [(topic, typename, 0, raw)])
    with refused(ParameterError, code, "recording"):
        read_run(path)


def test_values_that_are_not_finite_are_refused(tmp_path):
    m = rb.load_urdf(TWO)
    raw = pack(0, 0, 0.0, 0, [np.array([np.nan, 0.0]), *[np.zeros(2)] * 3, *[np.empty(0)] * 5])
    path = mcap(tmp_path / "run.mcap", [("/simulator/state", STATE, 0, raw)])
    with refused(ParameterError, "not-finite", "recording"):
        read_run(path, robot=m)
    rows = [("/joint_states", JOINT_STATE, k, joint_state(k, ["elbow"], [x]))
            for k, x in ((1, 0.5), (2, np.nan), (3, np.inf))]  # fmt: skip
    run = read_run(mcap(tmp_path / "run.mcap", rows), m)
    assert run.qpos[:, 1].tolist() == [0.5, 0.5, 0.5]


def test_states_of_different_lengths_are_refused(tmp_path):
    rows = []
    for k, n in enumerate((2, 3)):
        raw = pack(k, k, 0.0, 0, [np.zeros(n)] * 4 + [np.empty(0)] * 5)
        rows.append(("/simulator/state", STATE, k, raw))
    with refused(ParameterError, "wrong-message", "recording"):
        read_run(mcap(tmp_path / "r.mcap", rows))


def record(opcode, data):
    return struct.pack("<BQ", opcode, len(data)) + data


def hostile_chunk(size, compression, data):
    words = compression.encode()
    body = struct.pack("<QQQII", 0, 0, size, 0, len(words)) + words
    return b"\x89MCAP0\r\n" + record(6, body + struct.pack("<Q", len(data)) + data)


def test_records_that_declare_wrong_sizes_are_refused(tmp_path):
    path = tmp_path / "run.mcap"
    bomb = zstandard.ZstdCompressor().compress(bytes(50_000_000))
    for content in (
        hostile_chunk(2**60, "zstd", b"x"),
        hostile_chunk(100, "zstd", bomb),
        hostile_chunk(100, "zstd", b"no zstd"),
        hostile_chunk(100, "brotli", b"x"),
        hostile_chunk(9, "", b"\5" + b"\xff" * 8),
        hostile_chunk(5, "", b"abc"),
        b"\x89MCAP0\r\n" + record(4, b"\xff" * 60) + record(15, bytes(4)),
        b"\x89MCAP0\r\n" + record(5, struct.pack("<HIQQ", 9, 0, 0, 0)),
    ):
        path.write_bytes(content)
        with refused(ParameterError, "damaged-recording", "recording"):
            read_run(path)
    path.write_bytes(b"\x89MCAP0\r\n" + struct.pack("<BQ", 6, 2**28))
    with refused(ParameterError, "no-states", "recording"):
        read_run(path)


def test_a_recording_beyond_the_memory_is_refused(tmp_path, monkeypatch):
    moved(rb.load_urdf(TWO), 100, tmp_path / "run.mcap")
    monkeypatch.setattr(series.Budget.__init__, "__defaults__", (500,))
    with refused(ParameterError, "large-recording", "recording"):
        read_run(tmp_path / "run.mcap")


def test_a_file_with_random_wrong_bytes_is_read_or_refused(tmp_path):
    moved(rb.load_urdf(TWO), 50, tmp_path / "run.mcap", TWO)
    whole, rng = (tmp_path / "run.mcap").read_bytes(), np.random.default_rng(2)
    path = tmp_path / "spoilt.mcap"
    for _ in range(60):
        spoilt = bytearray(whole)
        for k in rng.integers(len(spoilt), size=4):
            spoilt[k] = rng.integers(256)
        path.write_bytes(spoilt)
        try:
            run = read_run(path)
        except RbdynError:
            continue
        assert np.isfinite(run.qpos).all()


def test_a_damaged_model_in_a_recording_is_refused(tmp_path):
    """If the recording has a robot_description, the Model is ignored with a note instead."""
    raw = pack(0, 0, 0.0, 0, [np.zeros(2)] * 4 + [np.empty(0)] * 5)
    for with_urdf in (False, True):
        with RunFile(tmp_path / "run.mcap", overwrite=True) as file:
            file.add("/simulator/state", STATE, raw, 0)
            file.attach("model.npz", "x", b"PK\3\4 no archive")
            if with_urdf:
                file.add("/robot_description", STRING, text(TWO), 0)
        if with_urdf:
            run = read_run(tmp_path / "run.mcap")
            assert run.m.name == "two"
            assert "its Model cannot be used" in run.notes[0]
        else:
            with refused(RbdynError, "damaged-file"):
                read_run(tmp_path / "run.mcap")


def test_too_many_topics_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(mcap_file, "MOST_TOPICS", 5)
    rows = [(f"/t{k}", STRING, 0, text("x")) for k in range(9)]
    with refused(ParameterError, "damaged-recording", "recording"):
        read_run(mcap(tmp_path / "run.mcap", rows))


def test_the_simulated_time_is_kept_beside_the_time_of_the_run(tmp_path):
    """Only the simulated time determines the positions of joints with a prescribed motion."""
    m = rb.load_urdf(TWO)
    d = rb.make_data(m)
    d.time = 3.0
    with Recorder(m, tmp_path / "run.mcap") as recorder:
        recorder.write(d)
    run = read_run(tmp_path / "run.mcap")
    assert run.clock.tolist() == [3.0]
    assert run.time.tolist() == [0.0]
    assert run.at(-1.0) == run.at(5.0) == 0


def test_message_types_are_found_by_name():
    found = {"a/msg/B": "C[3] c\nstd_msgs/Header h", "a/msg/C": "int8 x"}
    schemas = Schemas(found.get)
    assert "MSG: a/C" in schemas.text("a/msg/B")
    assert "MSG: std_msgs/Header" in schemas.text("a/msg/B")
    assert schemas.message("a/msg/C")(x=1).x == 1


@pytest.mark.parametrize("time_ns", [2**31 * 10**9, 2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("topic", ["/joint_states", "/joint_commands", "/simulator/state"])
def test_times_that_ros_cannot_have_are_refused(tmp_path, topic, time_ns):
    """Times in MCAP have 64 bits, times in ROS fewer, so their differences would overflow."""
    rows = real_robot(count=3)
    if topic == "/simulator/state":
        lists = [np.zeros(2)] * 6 + [np.zeros(7), np.zeros(2), np.empty(0)]
        rows.append((topic, STATE, time_ns, pack(0, 0, 0.0, 0, lists)))
    else:
        rows.append((topic, JOINT_STATE, time_ns, joint_state(START, ["elbow"], [0.5])))
    with refused(ParameterError, "bad-time", "recording"):
        read_run(mcap(tmp_path / "run.mcap", rows))


@pytest.mark.parametrize("clock", [np.nan, np.inf])
def test_simulated_times_that_are_not_finite_are_refused(tmp_path, clock):
    """Prescribed motions need a finite simulated time."""
    m = rb.load_urdf(TWO)
    lists = [np.zeros(2)] * 4 + [np.empty(0)] * 5
    with RunFile(tmp_path / "run.mcap") as file:
        file.attach("model.npz", "application/x-rbdyn-model", model_bytes(m))
        for k in range(3):
            raw = pack(k * 10**6, k, clock if k == 1 else 1e-3 * k, 0, lists)
            file.add("/simulator/state", STATE, raw, k * 10**6)
    with refused(ParameterError, "not-finite", "recording"):
        read_run(tmp_path / "run.mcap")


@pytest.mark.parametrize("known", range(len(schemas.LATER)))
def test_a_recording_without_a_memory_of_friction_is_read(tmp_path, monkeypatch, known):
    """States of older versions lack the arrays that were added later."""
    path, (_, older) = tmp_path / "run.mcap", schemas.older_state(known)
    monkeypatch.setattr(schemas, "STATE_FIELDS", older)
    then = Schemas()
    with RunFile(path, then) as file:
        file.attach("model.npz", "application/x-rbdyn-model", model_bytes(rb.load_urdf(TWO)))
        time = then.message("builtin_interfaces/msg/Time")
        names = ("qpos", "qvel", "qacc", "effort", "xfrc", "contact", *schemas.LATER[:known])
        for k in range(3):
            lists = {name: np.full(2, float(k)) for name in names[:4]}
            lists |= {name: np.empty(0) for name in names[4:]}
            stamp = time(sec=k, nanosec=0)
            state = then.message(STATE)(stamp=stamp, tick=k, time=float(k), epoch=0, **lists)
            raw = then.serialize(STATE, state)
            file.add("/simulator/state", STATE, raw, k * 10**9)
    monkeypatch.undo()
    run = read_run(path)
    assert run.qpos.tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert run.stick is None
    assert run.stick_qfrc is None
