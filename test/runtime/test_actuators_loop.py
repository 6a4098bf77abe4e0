# SPDX-License-Identifier: Apache-2.0
"""The loop measures, saves and resets the values of actuators."""

from functools import partial

import numpy as np
import pytest
from running import WALKING, commanded, rail, walk

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.runtime.types import EFFORT

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

MOTOR = rb.ActuatorSpec(
    "x", gear=20.0, armature=1e-4, motorconst=(0.05, 0.05), motorconst_error=0.1, resistance=0.5,
    inductance=0.01, stiffness=2000.0, gear_damping=2.0, delay=0.003,
)  # fmt: skip


@pytest.mark.parametrize(("current", "specialize"), [(False, False), (True, False), (True, True)])
def test_states_have_the_actuators_and_the_effort_that_a_drive_reports(start, current, specialize):
    m = rb.with_actuators(rail(), [MOTOR])
    loop = start(m, **WALKING, report_current=current, specialize=specialize)
    loop.orders.command(commanded(0, EFFORT, effort=10.0))
    states = walk(loop, 200)
    d = rb.make_data(m)
    d.qfrc_applied[0] = 10.0
    (rb.specialize(m).step if specialize else partial(rb.step, m))(d, 200)
    state = states[-1]
    assert state.qpos[0] == d.qpos[0]
    assert state.act.tobytes() == d.act.tobytes()
    assert state.effort[0] == 10.0
    reported = d.act[0] if current else 20.0 * 0.05 * d.act[0]
    assert state.measured_effort[0] == reported
    assert reported == pytest.approx(10.0, rel=1e-3)


def test_a_loaded_state_restores_the_actuators_and_a_reset_clears_them(start):
    loop = start(rb.with_actuators(rail(), [MOTOR]), **WALKING)
    loop.orders.command(commanded(0, EFFORT, effort=10.0))
    walk(loop, 30)
    saved, before = loop.save_state(), loop.readout.latest().hash()
    expected = [state.row.tobytes() for state in walk(loop, 50)]
    loop.load_state(saved)
    assert loop.readout.latest().hash() == before
    assert [state.row.tobytes() for state in walk(loop, 50)] == expected
    loop.plant.reset()
    state = walk(loop, 1)[0]
    assert np.abs(state.act[3:5]).max() < 1e-6
