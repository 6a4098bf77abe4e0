# SPDX-License-Identifier: Apache-2.0
"""Rows of the battery of lies on the controller of a generated package, see generated_arm.py."""

from dataclasses import replace

import numpy as np
import pytest
from battery import FARTHEST, FASTEST, Case, beyond, lied, moving, references
from closed_loop import BENT, FILES, model
from generated_arm import GeneratedArm, allowed, judged, kind_of
from support.control_package import needs_gxx
from support.lies import frozen, lie_of

ROWS = (
    ("nan", "gravity", 0.2),
    ("infinite_effort", "hold", 0.2),
    ("velocity_sign", "computed_torque", 1.0),
    ("velocity_zero", "hold", 1.0),
    ("position_drift", "impedance", 0.2),
    ("swapped", "impedance", 1.0),
    ("frozen", "hold", 1.0),
    ("frozen_joint", "computed_torque", 0.2),
    ("frozen_noisy", "impedance", 1.0),
    ("frozen_positions", "gravity", 0.2),
    ("loss", "computed_torque", 0.2),
    ("stall", "gravity", 0.2),
    ("lag_50_ms", "impedance", 0.2),
    ("clock_jump", "hold", 0.2),
    ("clock_back", "gravity", 0.2),
    ("half_pace", "gravity", 0.2),
    ("double_pace", "impedance", 0.2),
    ("same_stamp", "gravity", 0.2),
    ("unknown_payload", "hold", 0.0),
    ("gravity", "hold", 0.0),
    ("constant_offset", "computed_torque", 0.2),
)


@needs_gxx
@pytest.mark.parametrize("row", ROWS, ids="{0[0]}-{0[1]}".format)
def test_an_arm_whose_states_lie_stays_where_it_is_safe(row):
    """At most 0.3 rad beyond a trusted fault at the onset, and 120 % of a velocity limit."""
    case = Case(*row)
    verdict = judged(case)
    assert verdict.well, verdict
    assert allowed(case, verdict), verdict


@needs_gxx
@pytest.mark.parametrize("friction", [False, True])
def test_encoders_that_freeze_together_are_not_taken_for_friction(friction):
    """Measured efforts go on, and follow the commands."""
    case = Case("frozen", "computed_torque", 0.0, friction=friction)
    stopped, going = references(replace(case, lie=""))
    loop = moving(case, kind_of(case))
    q, v, _ = lied(loop, replace(lie_of("frozen"), liar=frozen("position", "velocity")))
    k = loop.dofs
    assert loop.controller.fault.code == "frozen"
    assert (np.abs(v[:, k]) / loop.gate.limits.velocity).max() < FASTEST
    assert beyond(q[:, k], np.concatenate([stopped, going])[:, k]) < FARTHEST


@needs_gxx
def test_a_load_that_nobody_declared_does_not_move_an_arm_for_long():
    loop = GeneratedArm(model(), gate={"blend_time": 0.05})
    loop.controller.set_mode("computed_torque")
    loop.arm().run(0.3)
    loop.push[loop.dofs] = 0.05 * loop.gate.limits.effort
    loop.run(1.0)
    assert loop.controller.fault is None, loop.controller.status()
    assert np.abs(loop.d.qpos - BENT[FILES[0]]).max() < 1e-4
