# SPDX-License-Identifier: Apache-2.0
"""For a simulated arm, states age only by the clock of its simulator."""

import signal
import time

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")

from arm_pair import SEVEN_START, start_pair

from rbdyn_ros.ros.arm.arm_time import ArmTime
from rbdyn_ros.share import bundled_robot

ARM = bundled_robot("seven_dof_arm")
#: Longer than any timeout of a state [s].
STOPPED = 0.5


S = 10**9


def test_the_clock_is_used_only_for_states_that_are_stamped_with_it():
    arm = ArmTime(None, simulated=False)  # without a subscription
    arm.arrival(1_700_000_000 * S)  # the wall clock of a driver
    arm.hear(5 * S, armed=False)
    assert not arm.simulated
    arm.arrival(5 * S)
    arm.hear(5 * S, armed=False)
    assert arm.simulated
    assert arm.now() == 5 * S
    # the state arrives when the clock has already advanced
    arm.hear(6 * S, armed=True)
    assert arm.arrival(5 * S + 1) == 6 * S
    # the choice stays while the arm is armed
    arm.hear(60 * S, armed=True)
    assert arm.simulated


def test_an_armed_arm_uses_a_clock_that_starts_late():
    arm = ArmTime(None, simulated=False)
    arm.arrival(1_700_000_000 * S)  # this stamp is of another clock than the simulator's
    arm.hear(5 * S, armed=True)
    assert not arm.simulated
    arm.arrival(5 * S)
    before = arm.now()
    arm.hear(5 * S, armed=True)
    assert arm.simulated
    assert 0 <= arm.now() - before < 10 * S  # the time neither jumps nor goes back
    now = arm.now()
    time.sleep(0.01)
    assert arm.now() == now
    arm.hear(6 * S, armed=True)
    assert arm.now() == now + S


def test_the_time_of_an_armed_arm_does_not_go_back_with_a_reset():
    arm = ArmTime(None, simulated=False)
    arm.arrival(50 * S)
    arm.hear(50 * S, armed=False)
    arm.hear(1 * S, armed=True)
    assert arm.now() == 50 * S
    arm.hear(3 * S, armed=True)
    assert arm.now() == 52 * S
    arm.arrival(3 * S)
    arm.hear(3 * S, armed=False)
    assert arm.now() == 3 * S


@pytest.fixture
def pair(simulate, control, peer):
    """Yield an arm and its controller, started as by `computed_torque.launch.py sim:=true`."""
    given = {"mode": "computed_torque", "state_timeout": "0.08", "friction_compensation": "1.0"}
    return start_pair(simulate, control, peer, ARM, SEVEN_START, lockstep=True, **given)


def test_a_stopped_process_does_not_age_the_states(pair):
    pair.arm_it("computed_torque")
    pair.until_commanded()  # the simulator waits for commands only from now on
    pair.arm.wait(0.1)
    for stopped in (pair.controller, pair.simulator):
        stopped.process.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED)
        stopped.process.send_signal(signal.SIGCONT)
        pair.arm.wait(0.3)
    level, message, _ = pair.report()
    assert level == 0, message
    assert not any("fault" in said for said in pair.said), pair.said
    pair.end_well()


def test_states_that_are_lost_in_simulated_time_are_a_fault(pair):
    pair.arm_it("computed_torque")
    assert pair.peer.set_parameters({"faults.link_loss": True}) == [""]
    pair.until_said("fault", "age")
