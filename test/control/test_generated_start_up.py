# SPDX-License-Identifier: Apache-2.0
"""The start-up test of a generated controller finds the same errors as the node arm_controller."""

import numpy as np
import pytest
from closed_loop import FILES, model
from generated_arm import GeneratedArm
from support.control_package import SILENT, needs_gxx, package_of
from test_start_up import ERRORS, LATER, MOVED, SPEED, UR5, Tried, begins

from rbdyn_ros.control.arming.start_up import TEXTS
from rbdyn_ros.errors import RbdynError

pytestmark = needs_gxx


class TriedCode(Tried, GeneratedArm):
    """An arm that a generated controller tests; it takes the arguments of Tried."""


#: Codes of the refusals: the start-up test found an error, or a fault stopped the test.
REFUSED, STOPPED = 12, 13
ROWS = ("sign_0", "sign_5", "ratio_0_0.3", "ratio_5_2.0", "wrists", "delay_20", "filter_50")
ROWS += ("velocity_sign", "effort_milli", "drift")


@pytest.mark.parametrize("name", ROWS)
def test_the_start_up_test_of_generated_code_finds_errors_of_the_arm(name):
    lie, word = ERRORS[name]
    loop = TriedCode(lie=lie() if name.startswith(("delay", "filter")) else lie)
    found = loop.tried()
    assert found
    assert "start-up test found: " in found
    assert "{" not in found
    assert word is None or word in found
    assert loop.far < MOVED
    assert loop.fast < SPEED


@pytest.mark.parametrize("file", FILES)
def test_generated_code_moves_a_correct_arm_as_python_does(file):
    one, other = TriedCode(file), Tried(file)
    assert (one.tried(), other.tried()) == ("", "")
    assert one.far == pytest.approx(other.far, rel=1e-6)
    assert one.now == other.now
    np.testing.assert_allclose(one.d.qpos, other.d.qpos, atol=1e-9)
    one.run(0.3)
    assert one.controller.fault is None


@pytest.mark.parametrize("onset", [0.05, 0.25, 0.77])
@pytest.mark.parametrize("name", ["frozen", "nan", "jump", "sign"])
def test_a_false_state_ends_the_start_up_test_of_generated_code(name, onset):
    loop = TriedCode(lie=begins(onset, LATER[name]))
    assert loop.tried()
    assert loop.far < MOVED
    assert loop.fast < SPEED


def test_unreadable_states_end_the_start_up_test_of_generated_code():
    loop = TriedCode(UR5)
    loop.controller.try_arm(loop.now)
    loop.run(0.3)
    assert loop.controller.testing
    code = loop.controller._own
    for _ in range(31):
        code.update(loop.d.qpos, loop.d.qvel, 0.001, readable=False)
    assert code.phase == "testing"
    for _ in range(3):
        code.update(loop.d.qpos, loop.d.qvel, 0.001, readable=False)
    assert code.phase == "silent"  # an effort of the test acts for at most 30 ms and two periods
    assert code.event() == REFUSED
    assert "ms apart" in code.sentence
    assert code.fault[0] == ""
    loop.controller.disarm()
    loop.d.qvel[:] = 0.0
    loop.run(0.1)
    assert loop.tried() == ""  # the test may be started again


def test_a_fault_that_stops_the_test_of_generated_code_is_not_latched():
    loop = TriedCode(UR5)
    loop.controller.try_arm(loop.now)
    loop.run(0.3)
    code = loop.controller._own
    code.update(np.full(6, np.nan), loop.d.qvel, 0.001)
    assert code.event() == STOPPED
    assert "the start-up test was stopped: fault finite" in code.sentence
    assert "clear_fault" not in code.sentence


def test_generated_code_refuses_a_joint_without_room_for_its_start_up_test():
    m = model(UR5)
    m = m.replaced(jnt_range=np.where(np.arange(6)[:, None] == 5, [[0.395, 0.405]], m.jnt_range))
    loop = GeneratedArm(m, start_up_test=True)
    loop.run(0.3)
    with pytest.raises(RbdynError):
        loop.controller.try_arm(loop.now)
    assert "needs 0.017 of room" in loop.controller._own.sentence  # Python's message


def test_messages_of_the_generated_start_up_test_match_python():
    text = package_of(model(UR5)).files()["src/tables.hpp"]
    for sentence in TEXTS.values():
        assert sentence.replace("'", "").replace("%", "\\045") in text.replace("'", "")


def test_generated_code_that_was_not_called_for_minutes_sends_nothing():
    loop = GeneratedArm(model(UR5))
    loop.run(0.05)
    loop.controller.try_arm(loop.now)
    loop.run(0.1)
    code, q = loop.controller._own, loop.d.qpos.copy()
    given = q, np.zeros(6), 0.001
    assert code.update(*given, readable=False, waited=300.0) == SILENT
    assert code.update(*given, readable=False) == SILENT
    assert code.phase == "silent"


@pytest.mark.parametrize("mode", ["gravity", "hold"])
def test_generated_code_sends_nothing_for_a_valid_state_after_a_pause_of_minutes(mode):
    loop = GeneratedArm(model(UR5), mode=mode)
    loop.run(0.05)
    loop.controller.try_arm(loop.now)
    loop.run(0.1)
    code, q = loop.controller._own, loop.d.qpos + 0.2
    assert code.update(q, np.zeros(6), 0.001, waited=300.0) == SILENT
    for _ in range(100):
        assert code.update(q, np.zeros(6), 0.001) == SILENT
    assert code.phase == "silent"
    assert code.fault == ("age", True)
