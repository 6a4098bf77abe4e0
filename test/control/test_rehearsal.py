# SPDX-License-Identifier: Apache-2.0
"""`rehearse` compiles all kernels that an arm needs, before the arm moves."""

import pytest
from closed_loop import ClosedLoop, model
from positioned_arm import PositionedArm

from rbdyn_ros.control.arm.settings import EFFORT_MODES
from rbdyn_ros.control.arming import position_start_up, start_up
from rbdyn_ros.control.base import state_kernels
from rbdyn_ros.control.blind import blind_arm
from rbdyn_ros.control.states import gate_kernels
from rbdyn_ros.dynamics.entry import Entry
from rbdyn_ros.engine.compiler.jit import DISABLED

MODULES = (gate_kernels, state_kernels, blind_arm)


pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")


def waiting_after(rehearse, modules):
    """Return the names of the kernels in these modules that a rehearsal does not compile."""
    entries = [each for part in modules for each in vars(part).values() if isinstance(each, Entry)]
    assert entries
    for entry in entries:
        entry.call = entry._compile_and_call
    rehearse()
    waiting = [each for each in entries if each.call == each._compile_and_call]
    return [each.kernel.py_func.__name__ for each in waiting]


@pytest.mark.parametrize("mode", EFFORT_MODES[1:])
def test_a_rehearsal_compiles_all_kernels_that_handle_false_states(mode):
    controller = ClosedLoop(model(), mode=mode).controller
    assert waiting_after(lambda: controller.rehearse(mode), MODULES) == []


@pytest.mark.parametrize("limits", ["usual", "narrow"])
def test_kernels_are_compiled_before_the_start_up_test(limits):
    """The kernels are compiled even if joints have no room to move in the rehearsal."""
    m = model()
    m = m if limits == "usual" else m.replaced(jnt_range=[[-1e-3, 1e-3]] * 6)
    controller = ClosedLoop(m).controller
    assert waiting_after(lambda: controller.rehearse("gravity"), [start_up]) == []


def test_kernels_are_compiled_before_the_start_up_test_of_a_position_arm():
    modules = start_up, position_start_up
    controller = PositionedArm().controller
    waiting = waiting_after(lambda: controller.rehearse("tracking"), modules)
    assert waiting == ["begin", "advance"]  # only the test with efforts calls these
