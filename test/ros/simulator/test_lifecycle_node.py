# SPDX-License-Identifier: Apache-2.0
"""With autostart:=false, lifecycle transitions start, pause and end the simulator."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from sensor_msgs.msg import JointState

from rbdyn_ros.nanoseconds import nanoseconds

WAIT = "waiting for the lifecycle transition configure"


@pytest.fixture
def change(peer):
    """Return change(transition), which returns whether it succeeded, and the new state."""

    def call(transition):
        request = ChangeState.Request()
        request.transition.id = transition
        done = peer.call(ChangeState, "simulator/change_state", request).success
        if transition == Transition.TRANSITION_UNCONFIGURED_SHUTDOWN:
            return done, ""
        return done, peer.call(
            GetState, "simulator/get_state", GetState.Request()
        ).current_state.label

    return call


def test_the_simulator_follows_the_lifecycle(simulate, peer, change, two_joints):
    simulator = simulate(two_joints, "--ros-args", "-p", "autostart:=false", wait=False)
    simulator.wait_for(WAIT)
    state = peer.call(GetState, "simulator/get_state", GetState.Request()).current_state
    assert state.label == "unconfigured"
    assert peer.node.count_publishers("joint_states") == 0
    refused = peer.set_parameters({"real_time_factor": 0.0, "faults.link_loss": "yes"})
    assert "allowed is a number from 0.01 to 100" in refused[0]
    assert "allowed is true or false" in refused[1]
    assert change(Transition.TRANSITION_CONFIGURE) == (True, "inactive")
    peer.until(lambda: peer.node.count_publishers("joint_states") == 1)
    states = peer.collect(JointState, "joint_states")
    peer.spin(0.5)
    assert not states
    assert peer.set_parameters({"faults.encoder_bias": [0.25]}) == [""]
    assert change(Transition.TRANSITION_ACTIVATE) == (True, "active")
    peer.until(lambda: len(states) > 20)
    assert states[-1].position[0] > 0.7  # the fault set while inactive has an effect
    assert change(Transition.TRANSITION_DEACTIVATE) == (True, "inactive")
    peer.until(lambda: states[-1] == states[-2])  # the last state is repeated
    stands = nanoseconds(states[-1].header.stamp)
    seen = len(states)
    peer.until(lambda: len(states) > seen)
    assert {nanoseconds(state.header.stamp) for state in states[seen:]} == {stands}
    assert change(Transition.TRANSITION_CLEANUP) == (False, "inactive")
    assert "cleanup is not possible" in simulator.text()
    assert change(Transition.TRANSITION_ACTIVATE) == (True, "active")
    peer.until(lambda: nanoseconds(states[-1].header.stamp) > stands + 20_000_000)
    request = ChangeState.Request()
    request.transition.id = Transition.TRANSITION_ACTIVE_SHUTDOWN
    client = peer.client(ChangeState, "simulator/change_state")
    ended = lambda: simulator.process.poll() is not None  # noqa: E731
    peer.repeat(lambda: client.call_async(request), ended)  # the node may end without an answer
    assert simulator.process.returncode == 0
    assert "Traceback" not in simulator.text()


def test_a_node_that_cannot_be_configured_ends_cleanly(simulate, peer, change, tmp_path):
    arguments = ("--ros-args", "-p", "autostart:=false")
    (tmp_path / "broken.urdf").write_text("<robot>")
    simulator = simulate(tmp_path / "broken.urdf", *arguments, wait=False)
    simulator.wait_for(WAIT)
    assert change(Transition.TRANSITION_CONFIGURE) == (False, "unconfigured")
    simulator.wait_for("broken.urdf")
    assert peer.node.count_publishers("joint_states") == 0
    simulator.end_well()
