# SPDX-License-Identifier: Apache-2.0
"""After ResetSimulation with each scope the topics have the right stamps and states."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("simulation_interfaces.srv", reason="simulation_interfaces is not built")

from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from simulation_interfaces.srv import ResetSimulation
from tf2_msgs.msg import TFMessage

import rbdyn_ros as rb
from rbdyn_ros.nanoseconds import nanoseconds

TIME, STATE, SPAWNED, DEFAULT, ALL = 1, 2, 4, 0, 255
TICK = 1_000_000
OFTEN = ("-p", "tf_rate:=1000.0", "-p", "clock_rate:=1000.0")


class Stamps:
    """The stamps [ns] on three topics in order of arrival, and the last joint_states."""

    def __init__(self, peer):
        self.of = {"joint_states": [], "/tf": [], "/clock": []}
        self.state = None
        node = peer.node
        node.create_subscription(JointState, "joint_states", self._state, 100)
        node.create_subscription(TFMessage, "/tf", self._transforms, 100)
        node.create_subscription(Clock, "/clock", self._clock, 100)

    def _state(self, message):
        self.state = message
        self.of["joint_states"].append(nanoseconds(message.header.stamp))

    def _transforms(self, message):
        self.of["/tf"].append(nanoseconds(message.transforms[0].header.stamp))

    def _clock(self, message):
        self.of["/clock"].append(nanoseconds(message.clock))

    def last(self):
        return {stamps[-1] if stamps else None for stamps in self.of.values()}

    def forget(self):
        for stamps in self.of.values():
            stamps.clear()

    def ascend(self):
        return all(stamps == sorted(stamps) for stamps in self.of.values())


def reset(peer, scope):
    request = ResetSimulation.Request(scope=scope)
    result = peer.call(ResetSimulation, "simulator/reset_simulation", request).result
    return result.result, result.error_message


@pytest.fixture
def stamps(simulate, peer, two_joints):
    """Yield the stamps of a paused simulator, which SIGTERM ends after the test."""
    sha = rb.load_urdf(two_joints).sha256()
    simulator = simulate(
        two_joints, "--ros-args", *OFTEN, "-p", f"required_sha256:={sha}", clock=True
    )
    stamps = Stamps(peer)
    peer.until(lambda: all(stamps.of.values()))
    yield stamps
    simulator.end_well(15)


def fall(peer, stamps):
    """Let the arm fall for a while, then pause; return the last stamp [ns] and positions."""
    begin = nanoseconds(stamps.state.header.stamp)
    peer.pause(False)
    # run for 200 ticks, so that delayed messages from before have arrived
    peer.until(lambda: nanoseconds(stamps.state.header.stamp) > begin + 200 * TICK)
    peer.pause(True)
    peer.until_tf(lambda: len(stamps.last()) == 1 and None not in stamps.last())
    peer.until(lambda: len(set(stamps.of["joint_states"][-2:])) == 1)  # time is paused
    assert abs(stamps.state.position[1]) > 1e-3
    return nanoseconds(stamps.state.header.stamp), list(stamps.state.position)


def test_a_paused_simulation_can_be_reset_by_scope(stamps, peer):
    now, _ = fall(peer, stamps)
    assert reset(peer, STATE) == (1, "")
    peer.until_tf(lambda: stamps.last() == {now + TICK})
    assert (list(stamps.state.position), list(stamps.state.velocity)) == ([1.25, 0.0], [0.0, 0.0])
    assert stamps.ascend()

    now, there = fall(peer, stamps)
    assert stamps.ascend()
    assert reset(peer, SPAWNED) == (1, "")  # no entity was spawned: no effect
    seen = len(stamps.of["joint_states"])
    peer.until(lambda: len(stamps.of["joint_states"]) > seen + 1)
    assert (stamps.last(), list(stamps.state.position)) == ({now}, there)
    code, why = reset(peer, 8)
    assert code == 0
    assert "scope 8" in why
    assert (stamps.last(), stamps.ascend()) == ({now}, True)

    stamps.forget()
    assert reset(peer, TIME) == (1, "")
    peer.until_tf(lambda: stamps.last() == {0})
    assert list(stamps.state.position) == there
    for scope in (DEFAULT, ALL, TIME | STATE):
        stamps.forget()  # drop stamps from before the reset
        fall(peer, stamps)
        assert stamps.ascend()
        assert reset(peer, scope) == (1, "")
        peer.until_tf(lambda: stamps.last() == {0})
        assert list(stamps.state.position) == [1.25, 0.0]
        assert not any(stamps.state.velocity)


def test_resetting_the_state_of_a_running_robot_does_not_set_back_stamps(stamps, peer):
    for _ in range(10):
        begin = nanoseconds(stamps.state.header.stamp)
        peer.until(lambda: nanoseconds(stamps.state.header.stamp) > begin + 20 * TICK)  # noqa: B023
        assert reset(peer, STATE) == (1, "")
    peer.trigger("simulator/reset")
    assert stamps.ascend()
    for stamp in stamps.of.values():
        assert len(set(stamp)) == len(stamp)
    peer.pause(True)
    peer.until_tf(lambda: len(stamps.last()) == 1)
    assert peer.trigger("simulator/step") == "one tick"
