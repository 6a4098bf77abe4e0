# SPDX-License-Identifier: Apache-2.0
"""After ~/load_state a lock-step run repeats the future of the saved state bit for bit."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("rbdyn_interfaces.srv", reason="rbdyn_interfaces is not built")

from commander import Commander
from geometry_msgs.msg import Inertia
from sensor_msgs.msg import Imu, JointState
from std_srvs.srv import Trigger
from support.refusals import worded

from rbdyn_interfaces import srv
from rbdyn_ros.nanoseconds import nanoseconds
from rbdyn_ros.ros.simulator.services.simulation_services import MOST_STATES

pytestmark = pytest.mark.skipif(
    not hasattr(srv, "SaveState"), reason="rbdyn_interfaces is older than rbdyn_ros"
)

SENSORS = """rbdyn_sensors: 1
sensors:
  imu: {type: imu, link: arm, noise: {angular_velocity: {stddev: 0.02, bias_walk: 0.01},
    linear_acceleration: {stddev: 0.1, bias: [0.1, 0.2, 0.3]}}}
"""


@pytest.fixture
def ask(peer):
    def call(kind, service, **fields):
        return peer.call(kind, f"/simulator/{service}", kind.Request(**fields))

    return call


def until_tick(peer, commander, tick):
    """Let the commander answer until a tick, counted from its first; return the state's hash."""
    commander.end, commander.done = tick, False
    peer.until(lambda: commander.done)
    return peer.trigger("simulator/state_hash")


def readings(messages):
    return {
        nanoseconds(m.header.stamp): (
            (m.angular_velocity.x, m.angular_velocity.y, m.angular_velocity.z),
            (m.linear_acceleration.x, m.linear_acceleration.y, m.linear_acceleration.z),
        )
        for m in messages
    }


def test_a_lockstep_run_with_noise_and_delays_repeats_after_loading_a_state(
    simulate, peer, ask, two_joints, tmp_path
):
    sensors = tmp_path / "sensors.yaml"
    sensors.write_text(SENSORS)
    given = ("time_mode:=lockstep", "lockstep_timeout:=0.0", "seed:=7", f"sensors:={sensors}")
    faults = (
        *("faults.command_delay:=0.003", "faults.command_jitter:=0.002"),
        *("faults.encoder_noise:=[0.001]", "faults.effort_noise:=[0.1]"),
    )
    simulate(two_joints, "--ros-args", *(w for p in (*given, *faults) for w in ("-p", p)))
    imu = peer.collect(Imu, "imu/data", 1000)
    commander = Commander(peer.node, ["turn", "lift"], 1)
    begin = until_tick(peer, commander, 30)
    saved = ask(srv.SaveState, "save_state", name="half")
    assert saved.success, saved.message
    assert saved.state_hash == begin
    expected = until_tick(peer, commander, 80)
    measured = readings(imu)

    # change everything else before loading the state
    assert peer.set_parameters({"faults.encoder_noise": [0.5], "faults.stuck_joints": ["turn"]})
    assert ask(srv.SetPayload, "set_payload", link="arm", inertia=Inertia(m=3.0)).success
    assert ask(srv.Reset, "reset_with", state=True, reseed=True, seed=99).success
    assert until_tick(peer, commander, 100) != expected
    imu.clear()
    commander.end, commander.done = 80, False
    loaded = ask(srv.LoadState, "load_state", name="half")
    assert loaded.success, loaded.message
    peer.until(lambda: commander.done)
    assert peer.trigger("simulator/state_hash") == expected
    # compare readings of ticks 30 to 80; a busy machine may lose some of either run
    peer.until(lambda: len(readings(imu).keys() & measured.keys()) > 40)
    again = readings(imu)
    both = again.keys() & measured.keys()
    assert {stamp: measured[stamp] for stamp in both} == {stamp: again[stamp] for stamp in both}
    peer.pause(True)
    assert ask(srv.LoadState, "load_state", name="half").state_hash == begin


def test_unknown_names_and_too_many_saved_states_are_refused(simulate, peer, ask, two_joints):
    simulate(two_joints, "--ros-args", "-p", "start_paused:=true")

    def refused(kind, service, name, code):
        answer = ask(kind, service, name=name)
        assert not answer.success
        worded(code, answer.message)
        return answer.message

    refused(srv.LoadState, "load_state", "half", "unknown-state")
    for k in range(MOST_STATES):
        assert ask(srv.SaveState, "save_state", name=f"state-{k}").success
    assert "state-3" in refused(srv.LoadState, "load_state", "state_3", "unknown-state")
    refused(srv.SaveState, "save_state", "another", "too-many-states")
    # the name of a saved state can be used again
    assert ask(srv.SaveState, "save_state", name="state-3").success
    for name in ("", "a/b", "two words", "x" * 65):
        refused(srv.SaveState, "save_state", name, "bad-name")
    before = peer.trigger("simulator/state_hash")
    assert ask(Trigger, "step").success
    assert ask(srv.LoadState, "load_state", name="state-9").state_hash == before


def test_after_loading_a_state_the_node_does_not_repeat_later_joint_states(
    simulate, peer, ask, two_joints
):
    """A paused node repeats its last joint_states, unless these are later than a loaded state."""
    given = ("start_paused:=true", "faults.state_delay:=0.002")
    simulate(two_joints, "--ros-args", *(w for p in given for w in ("-p", p)))
    assert ask(srv.SaveState, "save_state", name="begin").success
    states = peer.collect(JointState, "joint_states")
    for _ in range(4):
        assert ask(Trigger, "step").success
    peer.until(lambda: len(states) > 2)
    assert ask(srv.LoadState, "load_state", name="begin").success
    peer.spin(0.2)  # let earlier messages arrive
    states.clear()
    peer.spin(2.5)
    assert len(states) < 2  # repeated states would come every second
