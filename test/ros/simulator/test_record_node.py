# SPDX-License-Identifier: Apache-2.0
"""A simulator records all topics and every state of its run, even if it is killed."""

import hashlib
import signal

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("mcap", reason="mcap is not installed")
pytest.importorskip("rosbags", reason="rosbags is not installed")

from geometry_msgs.msg import Inertia, Vector3
from rclpy.serialization import deserialize_message
from rosbags.highlevel import AnyReader
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import rbdyn_ros as rb
from rbdyn_ros.recording.reader import read_run
from rbdyn_ros.recording.schemas import STATE, Schemas
from rbdyn_ros.recording.topics import Messages
from rbdyn_ros.recording.writer import RunFile
from rbdyn_ros.ros.simulator.topics.record import NodeRecording, definition, type_name

SENSORS = """
rbdyn_sensors: 1
sensors:
  imu: {type: imu, link: arm, rate: 100}
"""


JOINT_STATE = "sensor_msgs/msg/JointState"


def record(urdf, path, *more):
    return ("--ros-args", "-p", f"urdf:={urdf}", "-p", f"record:={path}", *more)


def state_hash(run, k, tick):
    """Return the hash of recorded state number k; ~/state_hash computes the same at this tick."""
    digest = hashlib.sha256(np.int64(tick).tobytes())
    digest.update(run.qpos[k].tobytes())
    digest.update(run.qvel[k].tobytes())
    if run.stick_qfrc is not None:
        digest.update(run.stick_qfrc[k].tobytes())
    return digest.hexdigest()


def numbers(message):
    """Return stamp and numbers of a JointState, in a form that compares bit by bit."""
    stamp = message.header.stamp
    arrays = (message.position, message.velocity, message.effort)
    return stamp.sec, stamp.nanosec, *(np.array(array).tobytes() for array in arrays)


def states_in(path):
    """Return every message of type State in a complete file."""
    store = Schemas().store
    with AnyReader([path]) as bag:
        chosen = [c for c in bag.connections if c.msgtype == STATE]
        return [store.deserialize_cdr(raw, STATE) for _, _, raw in bag.messages(chosen)]


def test_a_recorded_run_has_every_state_and_all_published_messages(
    simulate, peer, two_joints, tmp_path
):
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
    found = [state.tick for state in states_in(path)]
    steps = np.diff([0, *found])
    assert (steps[1:] > 0).all()  # no state is recorded twice
    assert found[-1] > 2000
    # states may be missing only if the log reports slow publishing
    assert (steps <= 1).all() or "publishing is too slow: skipped" in simulator.text()
    assert said == state_hash(run, -1, found[-1])
    # the recording contains the received messages, bit by bit
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
        # all times are simulated times
        assert 0 <= min(times[topic]) <= max(times[topic]) <= times["/simulator/state"][-1]
    assert topics["/simulator/stats"] == "rbdyn_interfaces/msg/Statistics"
    assert run.commanded["/joint_commands"].position[0].tolist() == [0.25]
    assert run.commanded["/effort_commands"].names == run.m.jnt_names
    assert [1.0, -1.0] in run.effort.tolist()  # in some states; later ones may have no command


def test_a_killed_simulator_leaves_a_readable_recording(simulate, peer, two_joints, tmp_path):
    path = tmp_path / "run.mcap"
    simulator = simulate(*record(two_joints, path), entry="node")
    states = peer.hear(JointState, "joint_states", 1000)
    peer.until(lambda: path.stat().st_size > 20_000)
    last = states[-1].header.stamp  # these states will be on disk when the simulator is killed
    peer.until(lambda: states[-1].header.stamp.sec > last.sec + 2)
    simulator.end(signal.SIGKILL)
    run = read_run(path)
    assert run.truncated
    assert "it was cut off" in run.notes[0]
    # from each state the engine computes the next one, bit by bit
    d, step = rb.make_data(run.m), run.m.opt.timestep
    neighbours = np.flatnonzero(np.diff(run.clock) < 1.5 * step)
    assert len(neighbours) > 50
    for k in neighbours[:: len(neighbours) // 20]:
        d.qpos, d.qvel, d.time = run.qpos[k], run.qvel[k], float(run.clock[k])
        rb.step(run.m, d)
        assert d.qpos.tobytes() == run.qpos[k + 1].tobytes()
        assert d.qvel.tobytes() == run.qvel[k + 1].tobytes()


def test_a_recording_contains_the_robot_as_it_was_simulated(simulate, peer, two_joints, tmp_path):
    """Gravity and a payload change during the run; the file has the Model of the last states."""
    srv = pytest.importorskip("rbdyn_interfaces.srv", reason="rbdyn_interfaces is not built")
    path, start = tmp_path / "run.mcap", rb.load_urdf(two_joints)
    simulator = simulate(*record(two_joints, path))
    states = peer.hear(JointState, "joint_states", 100)
    gravity = srv.SetGravity.Request(gravity=Vector3(x=3.0, z=-9.0))
    assert peer.call(srv.SetGravity, "simulator/set_gravity", gravity).success
    load = Inertia(m=0.5, ixx=0.01, iyy=0.01, izz=0.01)
    payload = srv.SetPayload.Request(link=start.body_names[-1], inertia=load)
    assert peer.call(srv.SetPayload, "simulator/set_payload", payload).success
    heard = len(states)
    peer.until(lambda: len(states) > heard + 300)
    simulator.end_well()
    run = read_run(path)
    assert run.m.opt.gravity.tolist() == [3.0, 0.0, -9.0]
    assert run.m.body_mass[-1] == start.body_mass[-1] + 0.5
    assert any("payload" in note for note in run.notes)
    # find two successive states, as a busy machine may skip some
    d, h = rb.make_data(run.m), run.m.opt.timestep
    k = int(np.flatnonzero(np.abs(np.diff(run.clock) - h) < 1e-9)[-1])
    run.restore(d, k)
    d.qfrc_applied = run.effort[k + 1]
    rb.step(run.m, d)
    assert d.qpos.tobytes() == run.qpos[k + 1].tobytes()


def test_several_robots_with_sensors_are_in_one_file(simulate, peer, two_joints, tmp_path):
    path, sensors = tmp_path / "run.mcap", tmp_path / "sensors.yaml"
    sensors.write_text(SENSORS)
    simulator = simulate(
        *record(two_joints, path, "-p", "robots:=[a, b]", "-p", f"sensors:={sensors}"),
        entry="node",
        wait=False,
    )
    simulator.wait_for("b: simulating 'two'")
    states = {name: peer.hear(JointState, f"{name}/joint_states", 1000) for name in "ab"}
    peer.until(lambda: all(len(some) > 100 for some in states.values()))
    simulator.end_well()
    with AnyReader([path]) as bag:
        topics = {c.topic for c in bag.connections if c.msgcount}
    for name in "ab":
        run = read_run(path, name=name)
        assert run.name == name
        assert len(run.time) > 100
        # the recording also gets topics without other subscribers
        assert f"/{name}/imu/data_raw" in topics or f"/{name}/imu/data" in topics
        assert f"/{name}/robot_description" in topics


def test_a_recording_in_fast_mode_has_simulated_times(simulate, peer, two_joints, tmp_path):
    path = tmp_path / "run.mcap"
    more = ("-p", "time_mode:=fast", "-p", "publish_rate:=100.0", "-p", "clock_rate:=100.0")
    simulator = simulate(*record(two_joints, path, *more), entry="node")
    states = peer.hear(JointState, "joint_states")
    first = states[0].header.stamp.sec
    peer.until(lambda: states[-1].header.stamp.sec > first + 5)
    simulator.end_well()
    run = read_run(path)
    assert run.duration >= 5.0
    # at most every tenth tick is recorded
    assert (np.diff(run.clock) > 0.0099).all()


def test_read_run_returns_the_states_since_the_last_reset_of_time(
    simulate, peer, two_joints, tmp_path
):
    Reset = pytest.importorskip("rbdyn_interfaces.srv").Reset
    path = tmp_path / "run.mcap"
    simulator = simulate(*record(two_joints, path), entry="node", clock=True)
    states = peer.hear(JointState, "joint_states", 1000)
    peer.until(lambda: states[-1].header.stamp.sec >= 2)
    answer = peer.call(Reset, "simulator/reset_with", Reset.Request(time=True, state=True))
    assert answer.success, answer.message
    peer.until(lambda: states[-1].header.stamp.sec < 1)
    peer.until(lambda: states[-1].header.stamp.sec >= 1)
    simulator.end_well()
    run, found = read_run(path), states_in(path)
    last = max(state.epoch for state in found)
    assert {state.epoch for state in found} == {last - 1, last}
    # the file has the earlier states, but read_run leaves them out
    after = [state for state in found if state.epoch == last]
    assert run.clock.tolist() == [state.time for state in after]
    assert run.clock[0] < 1.0 < run.clock[-1]
    (note,) = run.notes
    assert "reset" in note


def test_a_bad_path_of_a_recording_is_refused_at_the_start(simulate, two_joints, tmp_path):
    (tmp_path / "mine.mcap").write_text("mine")
    for path, words in (
        (tmp_path / "mine.mcap", "exists already (4 bytes)"),
        (tmp_path / "run.bag", "a recording is written to a .mcap file"),
        (tmp_path / "no" / "run.mcap", "there is no such folder"),
    ):
        simulator = simulate(*record(two_joints, path), entry="node", wait=False)
        simulator.wait_for(words)
        assert simulator.process.wait(60.0) == 2
        assert "simulating" not in simulator.text()
        assert "Traceback" not in simulator.text()
    assert (tmp_path / "mine.mcap").read_text() == "mine"


def test_a_second_simulator_does_not_record_to_the_same_file(simulate, peer, two_joints, tmp_path):
    path = tmp_path / "run.mcap"
    first = simulate(*record(two_joints, path), entry="node")
    peer.hear(JointState, "joint_states", 1000)
    second = simulate(*record(two_joints, path), entry="node", wait=False)
    second.wait_for("another process is recording to it")
    assert second.process.wait(60.0) == 2
    first.end_well()
    assert not read_run(path).truncated


def test_deleting_the_recording_is_logged_at_once_and_at_the_end(simulate, two_joints, tmp_path):
    path = tmp_path / "run.mcap"
    simulator = simulate(*record(two_joints, path), entry="node")
    path.unlink()
    simulator.wait_for("it was deleted")
    assert simulator.process.poll() is None  # the simulator keeps running
    assert simulator.end() == 1
    assert simulator.text().count(f"the recording {path} cannot be continued") == 2
    assert f"recorded {path}" not in simulator.text()


def test_closing_a_recording_returns_its_failures(tmp_path):
    recording = NodeRecording(tmp_path / "run.mcap")
    assert recording.close() == ("", True)
    recording._file = RunFile(recording.path, trouble=lambda _: None)
    recording._file.failure, recording._file.dropped = "no space is left", 7
    assert recording.close() == ("no space is left; 7 messages dropped", False)


def test_a_recorded_state_is_a_valid_message_with_all_its_numbers():
    kind = pytest.importorskip("rbdyn_interfaces.msg").State
    if not hasattr(kind(), "act"):
        pytest.skip("rbdyn_interfaces is older than rbdyn_ros")
    rng = np.random.default_rng(1)
    numbers = [rng.normal(size=size) for size in (7, 6, 0, 6, 12, 0, 14, 6, 3)]
    raw = Messages(Schemas()).state(1_234_567_890_000_000_001, 9, 0.5, 3, numbers)
    message = deserialize_message(raw, kind)
    assert (message.stamp.sec, message.stamp.nanosec) == (1_234_567_890, 1)
    assert (message.tick, message.epoch, message.time) == (9, 3, 0.5)
    names = ("qpos", "qvel", "qacc", "effort", "xfrc", "contact", "stick", "stick_qfrc", "act")
    for name, given in zip(names, numbers, strict=True):
        assert np.array(getattr(message, name)).tobytes() == given.tobytes()


@pytest.mark.parametrize(
    "typename",
    [
        *("sensor_msgs/msg/JointState", "sensor_msgs/msg/Imu", "nav_msgs/msg/Odometry"),
        *("diagnostic_msgs/msg/DiagnosticStatus", "trajectory_msgs/msg/JointTrajectoryPoint"),
        *("geometry_msgs/msg/PoseWithCovariance", "std_msgs/msg/MultiArrayLayout"),
    ],
)
def test_installed_types_have_the_definitions_of_rosbags(typename):
    """Definitions made from message classes must equal the definitions in the package rosbags."""
    from rosbags.typesys import get_types_from_msg

    ours = get_types_from_msg(definition(typename), typename)[typename][1]
    assert str(ours) == str(Schemas().store.fielddefs[typename][1])
    assert type_name(JointState) == "sensor_msgs/msg/JointState"
