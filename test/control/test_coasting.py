# SPDX-License-Identifier: Apache-2.0
"""Without new states an armed arm coasts on predicted states, until a state arrives or a fault."""

import numpy as np
import pytest
from battery import Case, moving
from closed_loop import armed, model
from support.arm_kernels import Stopping

from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.blind.coasting import DAMPING

PANDA = "panda.urdf"


def without_states(loop, duration):
    """Run without states for a time [s]; return the largest error of the predicted velocities."""
    k, worst = loop.dofs, 0.0
    loop.publish = False
    loop.run(0.03)
    begun, v = loop.now, loop.d.qvel[k].copy()
    while loop.now < begun + (duration - 0.03) * 1e9:
        loop.tick()
        due = v * np.exp(-DAMPING * (loop.now - begun) * 1e-9)
        worst = max(worst, float(np.abs(loop.d.qvel[k] - due).max()))
    loop.publish = True
    return worst


@pytest.mark.parametrize("mode", ["hold", "computed_torque", "impedance"])
def test_a_light_arm_slows_down_gently_while_states_are_missing(mode):
    """If the last effort continued to act, velocities would be wrong by 2 rad/s after 60 ms."""
    loop = moving(Case("loss", mode, 1.0, PANDA))
    assert np.abs(loop.d.qvel).max() > 1.0
    assert without_states(loop, 0.07) < 0.1
    assert loop.controller.fault is None


def test_the_law_and_its_path_continue_after_a_short_loss_of_states():
    loop = moving(Case("loss", "computed_torque", 0.2, PANDA))
    without_states(loop, 0.06)
    assert loop.controller._blind.s.coasts
    loop.run(1.0)
    assert not loop.controller._blind.s.coasts
    assert loop.controller.fault is None
    assert np.abs(loop.controller.progress().desired[0] - loop.d.qpos[loop.dofs]).max() < 1e-3


def test_time_on_the_path_goes_on_while_an_arm_coasts():
    loop = moving(Case("loss", "computed_torque", 0.2))
    target, seen = loop.controller.progress().desired[0], []
    for k in range(70):
        seen.append(loop.state())
        loop.publish = k >= 30
        old = seen[max(k - 30, 0)]
        loop.tick(**{row: old[row] for row in ("position", "velocity", "stamp")})
    assert loop.controller._blind.s.coasts
    assert loop.controller.fault is None
    moved = loop.controller.progress().desired[0] - target
    np.testing.assert_allclose(moved, 0.039 * loop.controller.progress().desired[1], atol=1e-3)


def test_the_efforts_of_a_coasting_arm_leave_out_friction():
    m = model()
    q, v = np.linspace(-1.0, 1.0, m.nv), np.linspace(1.0, -0.5, m.nv)
    arm = Arm(m, friction=Friction.of(m.nv, 1.0, 5.0))
    blind = Stopping(arm, ControlSettings(), Limits.of(m))
    blind.coast(0, 0.0, 0.001, q, v, np.zeros(m.nv))
    expected = Arm(m).inverse_dynamics(q, v, -DAMPING * v, np.empty(m.nv))
    np.testing.assert_allclose(blind.effort, expected, atol=1e-12)


def test_an_arm_in_a_dry_run_does_not_coast():
    loop = armed(dry_run=True)
    loop.publish = False
    loop.run(0.07)
    assert loop.answer is None
