# SPDX-License-Identifier: Apache-2.0
"""After a rehearsal no kernel is left to be loaded or compiled when an arm needs it."""

import pytest
from closed_loop import ClosedLoop, model

from rbdyn_ros.control.arm.settings import EFFORT_MODES
from rbdyn_ros.control.base import state_kernels
from rbdyn_ros.control.blind import blind_arm
from rbdyn_ros.control.states import gate_kernels
from rbdyn_ros.dynamics.entry import Entry
from rbdyn_ros.engine.compiler.jit import DISABLED

MODULES = (gate_kernels, state_kernels, blind_arm)


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
@pytest.mark.parametrize("mode", EFFORT_MODES[1:])
def test_a_lie_meets_compiled_kernels(mode):
    entries = [each for part in MODULES for each in vars(part).values() if isinstance(each, Entry)]
    for entry in entries:
        entry.call = entry._compile_and_call
    ClosedLoop(model(), mode=mode).controller.rehearse(mode)
    waiting = [each for each in entries if each.call == each._compile_and_call]
    assert not [each.kernel.py_func.__name__ for each in waiting]
