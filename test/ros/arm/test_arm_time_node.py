# SPDX-License-Identifier: Apache-2.0
"""The controller measures the age of a simulated arm's states by the simulator's clock."""

import signal
import time

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")

from arm_pair import SEVEN_START, start_pair

from rbdyn_ros.ros.arm.arm_time import ArmTime
from rbdyn_ros.share import bundled_robot

ARM = bundled_robot("seven_dof_arm")
#: Time for which a process is stopped; it exceeds the timeouts of states [s].
STOPPED = 0.5


S = 10**9


def test_the_simulated_clock_is_used_only_for_states_stamped_by_this_clock():
    arm = ArmTime(None, simulated=False)  # no node, so no subscription to /clock
    arm.arrival(1_700_000_000 * S)  # stamped with the wall time of a driver
    arm.hear(5 * S, armed=False)
    assert not arm.simulated
    arm.arrival(5 * S)
    arm.hear(5 * S, armed=False)
    assert arm.simulated
    assert arm.now() == 5 * S
    # the clock is ahead of the state's stamp when the state arrives
    arm.hear(6 * S, armed=True)
    assert arm.arrival(5 * S + 1) == 6 * S
    # an armed arm keeps its clock, even if states are old
    arm.hear(60 * S, armed=True)
    assert arm.simulated


def test_an_armed_arm_uses_a_clock_that_starts_late():
    arm = ArmTime(None, simulated=False)
    arm.arrival(1_700_000_000 * S)  # not stamped by the simulator's clock
    arm.hear(5 * S, armed=True)
    assert not arm.simulated
    arm.arrival(5 * S)
    before = arm.now()
    arm.hear(5 * S, armed=True)
    assert arm.simulated
    assert 0 <= arm.now() - before < 10 * S  # changing the clock makes no jump
    now = arm.now()
    time.sleep(0.01)
    assert arm.now() == now
    arm.hear(6 * S, armed=True)
    assert arm.now() == now + S


def test_a_reset_does_not_set_back_the_time_of_an_armed_arm():
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


def test_states_do_not_age_while_a_process_is_stopped(pair):
    pair.arm_it("computed_torque")
    pair.until_commanded()  # from now on the simulator waits for commands
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


def test_losing_states_for_some_simulated_time_is_a_fault(pair):
    pair.arm_it("computed_torque")
    assert pair.peer.set_parameters({"faults.link_loss": True}) == [""]
    pair.until_said("fault", "age")
