"""A simulated arm lives in simulated time: only its simulator's clock makes states old."""

import functools
import signal
import time

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")

from arm_pair import SEVEN_START, start_pair

from rbdyn_ros.loading.assets import bundled_robot

ARM = bundled_robot("seven_dof_arm")
#: Longer than any timeout of a state [s].
STOPPED = 0.5


@pytest.fixture
def pair(simulate, control, peer):
    """An arm and its controller as `computed_torque.launch.py sim:=true` starts them."""
    given = {"mode": "computed_torque", "state_timeout": "0.08", "friction_compensation": "1.0"}
    clocked = functools.partial(simulate, clock=True)
    return start_pair(clocked, control, peer, ARM, SEVEN_START, lockstep=True, **given)


def test_a_process_that_is_stopped_makes_no_state_old(pair):
    pair.arm_it("computed_torque")
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
