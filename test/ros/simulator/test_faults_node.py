# SPDX-License-Identifier: Apache-2.0
"""Faults that are set at run time change joint_states and the effect of commands."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("rbdyn_interfaces.msg", reason="rbdyn_interfaces is not built")

from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from rbdyn_interfaces.msg import Statistics
from rbdyn_interfaces.srv import Reset
from rbdyn_ros.nanoseconds import nanoseconds

TICK = 1_000_000
# Without gravity the robot rests at (1.25, 0) until it gets a command.
STILL = (
    *("--ros-args", "-p", "gravity:=[0.0, 0.0, 0.0]", "-p", "start_paused:=true"),
    *(
        "-p",
        "clock_rate:=1000.0",
        "-p",
        "seed:=5",
        "-p",
        "command_timeout:=100.0",
        "-p",
        "stats_rate:=20.0",
    ),
)


class Steps:
    """A paused simulator that the test steps tick by tick, and its joint_states."""

    def __init__(self, peer):
        self.peer = peer
        self.states = peer.collect(JointState, "joint_states", 100)
        self.clocks = peer.collect(Clock, "/clock", 100)
        self.stats = peer.collect(Statistics, "simulator/stats")
        self.publisher = peer.publisher(Float64MultiArray, "effort_commands")
        peer.until(lambda: self.clocks and self.states and self.stats)
        self.base = nanoseconds(self.states[-1].header.stamp)

    def now(self):
        return (nanoseconds(self.clocks[-1].clock) - self.base) / TICK

    def measured(self):
        return (nanoseconds(self.states[-1].header.stamp) - self.base) / TICK

    def tick(self, ticks):
        """Make ticks one by one; wait for each on /clock, as a busy machine may lose an answer."""
        for _ in range(ticks):
            self._ask("step", self.now() + 1)

    def _ask(self, name, now):
        """Call a service, again if the request was lost, until the clock shows tick `now`."""
        client = self.peer.client(Trigger, f"simulator/{name}")
        ask = lambda: client.call_async(Trigger.Request())  # noqa: E731
        self.peer.repeat(ask, lambda: self.now() == now)

    def step(self, ticks=1, late=0):
        """Make ticks; after each, wait for the state `late` ticks earlier; return the last."""
        for _ in range(ticks):
            self.tick(1)
            self.peer.until(lambda: self.measured() == self.now() - late)
        return self.states[-1]

    def command(self, *efforts):
        """Send efforts, and wait until the simulator has accepted them."""
        taken = self.stats[-1].accepted
        send = lambda: self.publisher.publish(Float64MultiArray(data=efforts))  # noqa: E731
        self.peer.repeat(send, lambda: self.stats[-1].accepted > taken)

    def fault(self, **values):
        changes = {f"faults.{name}": value for name, value in values.items()}
        assert self.peer.set_parameters(changes) == [""] * len(values)

    def reset(self):
        """Reset the robot; return its first state after the reset."""
        now = self.now() + 1
        self._ask("reset", now)
        self.peer.until(lambda: self.measured() == now)
        return self.states[-1]


@pytest.fixture
def steps(simulate, peer, two_joints):
    simulator = simulate(two_joints, *STILL, clock=True)
    yield Steps(peer)
    simulator.end_well()


def test_faults_give_encoders_a_bias_a_resolution_and_noise(steps):
    assert list(steps.step().position) == [1.25, 0.0]
    steps.fault(encoder_bias=[0.5, -0.5])
    assert list(steps.step().position) == [1.75, -0.5]
    steps.fault(encoder_resolution=[0.2])
    assert list(steps.step().position) == [9 * 0.2, -2 * 0.2]  # 8.75 and -2.5 steps, rounded
    steps.fault(encoder_bias=[0.0], encoder_resolution=[0.0, 0.0])
    assert list(steps.step().position) == [1.25, 0.0]

    def noise():
        steps.reset()
        states = [steps.step() for _ in range(5)]
        return np.array([[*state.position, *state.velocity] for state in states])

    steps.fault(encoder_noise=[0.01, 0.0], velocity_noise=[0.0, 0.1])
    drawn = noise()
    assert len(np.unique(drawn[:, 0])) == len(np.unique(drawn[:, 3])) == 5
    assert (np.abs(drawn - [1.25, 0, 0, 0]) < [0.05, 1e-9, 1e-9, 0.5]).all()  # 5 sigma
    assert not drawn[:, 1:3].any()
    np.testing.assert_array_equal(noise(), drawn)  # a reset restarts the random numbers

    for seed, same in ((6, False), (5, True)):
        request = Reset.Request(state=True, reseed=True, seed=seed)
        shown = steps.now() + 1
        assert steps.peer.call(Reset, "simulator/reset_with", request).success
        # wait for the state after this reset, so that noise() finds no older state
        steps.peer.until(lambda: steps.now() == steps.measured() == shown)  # noqa: B023
        assert np.array_equal(noise(), drawn) == same


def test_states_and_commands_can_be_delayed_or_lost_and_joints_can_stick(steps):
    steps.fault(state_delay=0.003)
    steps.tick(3)  # earlier states are published at once
    steps.step(5, late=3)
    steps.fault(state_delay=0.0)
    steps.step()

    steps.command(1.0, -0.25)
    assert list(steps.step().effort) == [1.0, -0.25]
    steps.fault(command_delay=0.004)
    steps.command(2.0, -0.5)
    for _ in range(4):
        assert list(steps.step().effort) == [1.0, -0.25]
    assert list(steps.step().effort) == [2.0, -0.5]
    steps.fault(command_delay=0.0, command_drop=1.0)
    steps.command(4.0, -1.0)
    assert list(steps.step(10).effort) == [2.0, -0.5]
    steps.fault(command_drop=0.0, link_loss=True)
    before = steps.measured()
    steps.command(8.0, -2.0)
    steps.tick(10)
    seen = len(steps.states)
    steps.peer.spin(1.5)  # repeated states are lost, too
    assert (steps.measured(), len(steps.states)) == (before, seen)
    steps.fault(link_loss=False)
    assert list(steps.step().effort) == [2.0, -0.5]

    there = list(steps.states[-1].position)
    steps.fault(stuck_joints=["turn"])
    stuck = steps.step(5)
    assert (stuck.position[1], stuck.velocity[1]) == pytest.approx((there[1], 0.0), abs=1e-11)
    assert stuck.position[0] > there[0]
    steps.fault(stuck_joints=[""])
    assert steps.step(5).position[1] < there[1]
