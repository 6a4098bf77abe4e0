# SPDX-License-Identifier: Apache-2.0
"""Lock-step over DDS: the simulator waits for commands, and a run repeats bit for bit."""

import signal

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("rbdyn_interfaces.msg", reason="rbdyn_interfaces is not built")

from commander import law
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from support.refusals import worded

import rbdyn_ros as rb
from rbdyn_interfaces.msg import Statistics
from rbdyn_ros.nanoseconds import nanoseconds

LOCKSTEP = ("--ros-args", "-p", "time_mode:=lockstep", "-p", "stats_rate:=20.0")
STANDING = (*LOCKSTEP, "-p", "start_paused:=true", "-p", "lockstep_timeout:=0.0")


def run(peer, commander, stats):
    """Let a commander answer ticks until it ends; return the state's hash and the joint_states."""
    taken = stats[-1].accepted if stats else 0
    peer.until(lambda: stats and stats[-1].accepted > taken)
    peer.pause(False)
    said = commander.wait()
    peer.pause(True)
    states = peer.collect(JointState, "joint_states")
    peer.until(lambda: states)  # repeated while paused
    assert "answered" in said
    return peer.trigger("simulator/state_hash"), states[-1]


def expected(path, ticks):
    """Return qpos and qvel that the engine reaches in some ticks with the law of commander.py."""
    m = rb.load_urdf(path)
    d = rb.make_data(m)
    d.qpos = [1.25, 0.0]
    limit = np.array(m.jnt_effort)
    for _ in range(ticks):
        d.qfrc_applied = np.clip(law(np.array(d.qpos), np.array(d.qvel)), -limit, limit)
        rb.step(m, d)
    return d.qpos, d.qvel


@pytest.mark.fresh_start  # so that hash seeds and addresses differ
@pytest.mark.parametrize("ticks", [600, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_a_run_with_random_commander_delays_repeats(simulate, peer, command, two_joints, ticks):
    found = []
    for seed in range(2):
        simulator = simulate(two_joints, *STANDING)
        stats = peer.collect(Statistics, "simulator/stats")
        commander = command("turn,lift", ticks, "--jitter", seed)
        found.append(run(peer, commander, stats))
        peer.until(lambda: stats[-1].ticks >= ticks)  # noqa: B023
        assert stats[-1].ticks == ticks
        simulator.end_well()
    (first, one), (second, other) = found
    assert first == second
    for name in ("name", "position", "velocity", "effort"):
        assert getattr(one, name) == getattr(other, name)
    qpos, qvel = expected(two_joints, ticks)
    np.testing.assert_array_equal(one.position, qpos)
    np.testing.assert_array_equal(one.velocity, qvel)


def test_repeated_commands_have_no_effect(simulate, peer, command, two_joints):
    pytest.importorskip("simulation_interfaces.srv")
    from simulation_interfaces.srv import ResetSimulation

    simulator = simulate(two_joints, *STANDING)
    stats = peer.collect(Statistics, "simulator/stats")
    calm, last = run(peer, command("lift,turn", 300), stats)
    everything = ResetSimulation.Request(scope=ResetSimulation.Request.SCOPE_ALL)
    reset = peer.call(ResetSimulation, "simulator/reset_simulation", everything)
    assert reset.result.result == reset.result.RESULT_OK
    refused = stats[-1].rejected
    flooded, again = run(peer, command("lift,turn", 300, "--flood", 20), stats)
    assert flooded == calm
    assert again.position == last.position
    peer.until(lambda: stats[-1].rejected > refused + 100)
    simulator.end_well()


class Answers:
    """Sends commands with the stamps of ticks."""

    def __init__(self, simulator, peer, stats):
        self.simulator, self.peer, self.stats = simulator, peer, stats
        self.publisher = peer.publisher(JointState, "joint_commands")
        self.states = peer.collect(JointState, "joint_states")
        peer.until(lambda: self.states)
        self.base = nanoseconds(self.states[-1].header.stamp)

    def tick(self):
        """Return the tick of the newest state, counted from the first received one."""
        return (nanoseconds(self.states[-1].header.stamp) - self.base) / 1e6

    def send(self, stamp_ns, **efforts):
        command = JointState(name=list(efforts), effort=list(efforts.values()))
        command.header.stamp.sec, command.header.stamp.nanosec = divmod(stamp_ns, 10**9)
        self.publisher.publish(command)

    def accepted(self, stamp_ns, **efforts):
        """Send a command, again if it was lost, until it is accepted."""
        taken = self.stats[-1].accepted
        accepted = lambda: self.stats[-1].accepted > taken  # noqa: E731
        self.peer.repeat(lambda: self.send(stamp_ns, **efforts), accepted)

    def refused(self, send, words):
        """Call send() until the log has a new refusal; a topic logs at most one per second."""
        before = self.simulator.text().count(words)
        for _ in range(400):
            send()
            self.peer.spin(0.3)
            if self.simulator.text().count(words) > before:
                return
        raise AssertionError(f"'{words}' is not in the log:\n{self.simulator.text()}")


def test_a_tick_uses_the_commands_with_its_stamp(simulate, peer, two_joints):
    simulator = simulate(two_joints, *STANDING)
    stats = peer.collect(Statistics, "simulator/stats")
    answers = Answers(simulator, peer, stats)
    base, both = answers.base, {"lift": 1.0, "turn": 0.5}
    wanted = f"the simulation waits for tick 0 (stamp {base // 10**9}.{base % 10**9:09d})"
    answers.refused(lambda: answers.send(base + 5_000_000, **both), f"for tick 5; {wanted}")
    answers.refused(
        lambda: answers.send(base + 1, **both), f"which is not the time of a tick; {wanted}"
    )
    unstamped = "refused a message on joint_commands: the command has no stamp"
    answers.refused(lambda: answers.send(0, **both), unstamped)
    efforts = peer.publisher(Float64MultiArray, "effort_commands")
    answers.refused(
        lambda: efforts.publish(Float64MultiArray(data=[1.0, 0.5])),
        "refused a message on effort_commands: the command has no stamp",
    )
    peer.until(lambda: stats and stats[-1].rejected >= 4)
    assert stats[-1].accepted == 0

    # each command is for one joint, so a tick needs both commands
    answers.accepted(base, lift=1.0)
    answers.accepted(base, turn=0.5)
    assert answers.tick() == 0
    peer.pause(False)
    peer.until(lambda: answers.tick() == 1 and stats[-1].waiting)
    assert list(answers.states[-1].effort) == [1.0, 0.5]
    answers.accepted(base + 1_000_000, turn=0.25)
    peer.spin(0.3)
    assert answers.tick() == 1
    answers.accepted(base + 1_000_000, lift=-1.0)
    peer.until(lambda: answers.tick() == 2)
    assert list(answers.states[-1].effort) == [-1.0, 0.25]
    late = (
        f"stamped for tick 1; the simulation waits for tick 2 (stamp {(base + 2_000_000) // 10**9}"
    )
    answers.refused(lambda: answers.send(base + 1_000_000, **both), late)

    # while the simulator waits for commands, it still pauses, steps, resets and ends
    peer.pause(True)
    assert answers.tick() == 2
    answers.accepted(base + 2_000_000, **both)
    assert answers.tick() == 2
    assert peer.trigger("simulator/step") == "one tick"
    peer.until(lambda: answers.tick() == 3)
    refused = peer.call(Trigger, "simulator/step", Trigger.Request())
    assert not refused.success
    worded("~/step", refused.message)
    assert "'lift', 'turn'" in refused.message
    answers.accepted(base + 3_000_000, lift=1.0)
    answers.accepted(base + 3_000_000, turn=1.0)
    peer.spin(0.2)
    assert answers.tick() == 3  # the refused step is not made later
    # a reset counts as a tick and discards accepted commands
    peer.trigger("simulator/reset")
    peer.until(lambda: answers.tick() == 4)
    peer.pause(False)
    peer.until(lambda: stats[-1].waiting)
    peer.trigger("simulator/reset")
    peer.until(lambda: answers.tick() == 5)
    assert list(answers.states[-1].position) == [1.25, 0.0]
    answers.accepted(base + 5_000_000, **both)
    peer.until(lambda: answers.tick() == 6 and stats[-1].waiting)
    simulator.end_well()


def test_time_runs_on_while_the_commander_is_silent(simulate, peer, command, two_joints):
    parameters = ("-p", "lockstep_timeout:=0.5", "-p", "on_timeout:=hold")
    simulator = simulate(two_joints, *LOCKSTEP, *parameters)
    stats = peer.collect(Statistics, "simulator/stats")
    states = peer.collect(JointState, "joint_states")

    def answered():
        taken = stats[-1].accepted
        peer.until(lambda: stats[-1].accepted > taken + 100 and not stats[-1].stale_joints)

    def free():
        """Wait until time advances without commands while the simulator holds the robot."""
        peer.until(lambda: stats[-1].stale_joints == 2)

        def goes_on():
            alone = [s for s in stats if s.accepted == stats[-1].accepted and s.stale_joints == 2]
            return len(alone) > 1 and alone[-1].ticks > alone[0].ticks + 300

        peer.until(goes_on)
        seen = len(states)
        peer.until(lambda: len(states) > seen + 20 and at_rest(states[-20:]))

    def at_rest(some):
        return all(abs(v) < 1e-6 for state in some for v in state.velocity)

    peer.until(lambda: stats)
    commander = command("lift,turn", 0)
    answered()
    commander.signal(signal.SIGSTOP)
    free()
    commander.signal(signal.SIGCONT)
    answered()
    commander.signal(signal.SIGKILL)
    free()
    command("lift,turn", 0)
    answered()
    simulator.end_well()
