# SPDX-License-Identifier: Apache-2.0
"""Cases of the battery of lies with the controller of a generated package (generated_arm.py)."""

import pytest
from battery import Case
from generated_arm import allowed, judged
from support.control_package import needs_gxx

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
def test_an_arm_with_false_states_stays_within_safe_distances(row):
    """The joints stay within 0.3 rad of a trusted fault and 120 % of a velocity limit."""
    case = Case(*row)
    verdict = judged(case)
    assert verdict.well, verdict
    assert allowed(case, verdict), verdict
