"""A simulator that records itself: all topics, every state, and ends that are no ends."""

import hashlib
import signal

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("mcap", reason="mcap is not installed")
pytest.importorskip("rosbags", reason="rosbags is not installed")

from rclpy.serialization import deserialize_message
from rosbags.highlevel import AnyReader
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

import rbdyn_ros as rb
from rbdyn_ros.recording.reader import read_run
from rbdyn_ros.recording.schemas import STATE, Schemas
from rbdyn_ros.recording.state_message import pack, unpack
from rbdyn_ros.ros.record import definition, type_name

SENSORS = """
rbdyn_sensors: 1
sensors:
  imu: {type: imu, link: arm, rate: 100}
"""


JOINT_STATE = "sensor_msgs/msg/JointState"


def record(urdf, path, *more):
    return ("--ros-args", "-p", f"urdf:={urdf}", "-p", f"record:={path}", *more)


def state_hash(run, k, tick):
    """Return what ~/state_hash says of a state, made from the recorded one."""
    digest = hashlib.sha256(np.int64(tick).tobytes())
    digest.update(run.qpos[k].tobytes())
    digest.update(run.qvel[k].tobytes())
    return digest.hexdigest()


def numbers(message):
    """Return what a JointState says, bit by bit; bytes that only fill gaps are anything."""
    stamp = message.header.stamp
    arrays = (message.position, message.velocity, message.effort)
    return stamp.sec, stamp.nanosec, *(np.array(array).tobytes() for array in arrays)


def ticks(path):
    with AnyReader([path]) as bag:
        chosen = [c for c in bag.connections if c.msgtype == STATE]
        return [unpack(bytes(raw)).tick for _, _, raw in bag.messages(chosen)]


def test_a_run_is_recorded_and_read_back(simulate, peer, two_joints, tmp_path):
    path = tmp_path / "run.mcap"
    simulator = simulate(*record(two_joints, path), entry="node", clock=True)
    states = peer.hear(JointState, "joint_states", 1000)
    efforts = peer.publisher(Float64MultiArray, "effort_commands")
    by_name = peer.publisher(JointState, "joint_commands")
    command = JointState(name=states[0].name[1:], position=[0.25])
    peer.insist(by_name, command, lambda: states[-1].header.stamp.sec >= 1)
    peer.insist(
        efforts,
        Float64MultiArray(data=[1.0, -1.0]),
        lambda: states[-1].effort[0] == 1.0 and states[-1].header.stamp.sec >= 2,
    )
    peer.pause(True)
    said = peer.trigger("simulator/state_hash")
    heard = list(states)
    simulator.end_well()
    assert f"recorded {path}" in simulator.text()

    run = read_run(path)
    assert run.exact
    assert not run.truncated
    assert run.m.name == "two"
    assert run.notes == ()
    found = ticks(path)
    assert found == list(range(found[0], found[0] + len(found)))  # each tick, none twice
    assert found[0] <= 1
    assert len(found) > 2000
    assert said == state_hash(run, -1, found[-1])
    # what was published is in it, to the last bit
    with AnyReader([path]) as bag:
        topics = {c.topic: c.msgtype for c in bag.connections}
        of_states = [c for c in bag.connections if c.topic == "/joint_states"]
        kept = {numbers(bag.deserialize(raw, JOINT_STATE)) for *_, raw in bag.messages(of_states)}
        times = {c.topic: [] for c in bag.connections}
        for connection, time_ns, _ in bag.messages():
            times[connection.topic].append(time_ns)
    assert {numbers(message) for message in heard} <= kept
    for topic in (
        *("/joint_states", "/tf", "/tf_static", "/clock", "/robot_description"),
        *("/simulator/state", "/simulator/stats", "/diagnostics"),
        *("/joint_commands", "/effort_commands"),
    ):
        assert times[topic], topic
        # in the time of the simulation, whatever the wall says
        assert 0 <= min(times[topic]) <= max(times[topic]) <= times["/simulator/state"][-1]
    assert topics["/simulator/stats"] == "rbdyn_interfaces/msg/Statistics"
    assert run.commanded["/joint_commands"].position[0].tolist() == [0.25]
    assert run.commanded["/effort_commands"].names == run.m.jnt_names
    assert run.effort[-1].tolist() == [1.0, -1.0]


def test_a_simulator_that_is_killed(simulate, peer, two_joints, tmp_path):
    path = tmp_path / "run.mcap"
    simulator = simulate(*record(two_joints, path), entry="node")
    states = peer.hear(JointState, "joint_states", 1000)
    first = states[0].header.stamp.sec
    peer.until(lambda: states[-1].header.stamp.sec >= first + 3)
    simulator.end(signal.SIGKILL)
    run = read_run(path)
    assert run.truncated
    assert run.duration > 1.0  # of at least 2 s all but the last chunk
    assert "who recorded it was killed" in run.notes[0]
    d, step = rb.make_data(run.m), run.m.opt.timestep
    k = len(run.time) // 2
    d.qpos, d.qvel, d.time = run.qpos[k], run.qvel[k], float(run.clock[k])
    rb.step(run.m, d)
    assert np.allclose(d.qpos, run.qpos[k + 1], rtol=0.0, atol=1e-12)
    assert np.isclose(d.time, run.clock[k + 1], atol=step * 1e-6)


def test_several_robots_as_fast_as_they_go_and_sensors(simulate, peer, two_joints, tmp_path):
    path, sensors = tmp_path / "run.mcap", tmp_path / "sensors.yaml"
    sensors.write_text(SENSORS)
    simulator = simulate(
        *record(two_joints, path, "-p", "robots:=[a, b]", "-p", f"sensors:={sensors}"),
        entry="node",
        wait=False,
    )
    simulator.wait_for("b: simulating 'two'")
    states = {name: peer.hear(JointState, f"{name}/joint_states", 1000) for name in "ab"}
    peer.until(lambda: all(len(some) > 500 for some in states.values()))
    simulator.end_well()
    with AnyReader([path]) as bag:
        topics = {c.topic for c in bag.connections if c.msgcount}
    for name in "ab":
        run = read_run(path, name=name)
        assert run.name == name
        assert len(run.time) > 500
        # nobody listened to the sensor but the recording
        assert f"/{name}/imu/data_raw" in topics or f"/{name}/imu/data" in topics
        assert f"/{name}/robot_description" in topics


def test_fast_mode_is_in_simulated_time(simulate, peer, two_joints, tmp_path):
    path = tmp_path / "run.mcap"
    more = ("-p", "time_mode:=fast", "-p", "publish_rate:=100.0", "-p", "clock_rate:=100.0")
    simulator = simulate(*record(two_joints, path, *more), entry="node")
    states = peer.hear(JointState, "joint_states")
    first = states[0].header.stamp.sec
    peer.until(lambda: states[-1].header.stamp.sec > first + 20)
    simulator.end_well()
    run = read_run(path)
    assert run.duration > 19.0
    # what is handed over is every tenth tick, or fewer where the publisher was too slow
    assert (np.diff(run.clock) > 0.0099).all()


def test_a_reset_of_time_is_a_new_beginning(simulate, peer, two_joints, tmp_path):
    path = tmp_path / "run.mcap"
    simulator = simulate(*record(two_joints, path), entry="node")
    states = peer.hear(JointState, "joint_states", 1000)
    peer.until(lambda: len(states) > 300)
    answer = peer.call(Trigger, "simulator/reset", Trigger.Request())
    assert answer.success
    count = len(states)
    peer.until(lambda: len(states) > count + 300)
    simulator.end_well()
    run = read_run(path)
    assert (np.diff(run.time) > 0.0).all()


def test_it_is_refused_before_anything_starts(simulate, two_joints, tmp_path):
    for path, words in (
        (tmp_path / "run.bag", "a recording is written to a file .mcap"),
        (tmp_path / "no" / "run.mcap", "there is no such folder"),
    ):
        simulator = simulate(*record(two_joints, path), entry="node", wait=False)
        simulator.wait_for(words)
        assert simulator.process.wait(60.0) == 2
        assert "simulating" not in simulator.text()
        assert "Traceback" not in simulator.text()


def test_bytes_of_a_state_are_those_of_ros():
    kind = pytest.importorskip("rbdyn_interfaces.msg").State
    rng = np.random.default_rng(1)
    numbers = [rng.normal(size=size) for size in (7, 6, 0, 6, 12, 0)]
    raw = pack(1_234_567_890_000_000_001, 9, 0.5, 3, numbers)
    message = deserialize_message(raw, kind)
    assert (message.stamp.sec, message.stamp.nanosec) == (1_234_567_890, 1)
    assert (message.tick, message.epoch, message.time) == (9, 3, 0.5)
    for name, given in zip(
        ("qpos", "qvel", "qacc", "effort", "xfrc", "contact"), numbers, strict=True
    ):
        assert np.array(getattr(message, name)).tobytes() == given.tobytes()


@pytest.mark.parametrize(
    "typename",
    [
        *("sensor_msgs/msg/JointState", "sensor_msgs/msg/Imu", "nav_msgs/msg/Odometry"),
        *("diagnostic_msgs/msg/DiagnosticStatus", "trajectory_msgs/msg/JointTrajectoryPoint"),
        *("geometry_msgs/msg/PoseWithCovariance", "std_msgs/msg/MultiArrayLayout"),
    ],
)
def test_definitions_of_installed_types(typename):
    """Said by the class of a message, they are those that rosbags ships."""
    from rosbags.typesys import get_types_from_msg

    ours = get_types_from_msg(definition(typename), typename)[typename][1]
    assert str(ours) == str(Schemas().store.fielddefs[typename][1])
    assert type_name(JointState) == "sensor_msgs/msg/JointState"
