"""The battery of lies, one case a kind, and its rows and the faults in docs/guides/real_arm.md."""

from pathlib import Path

import pytest
from battery import MODES, Case, allowed, cases, judged
from support.lies import LIES, NONE

from rbdyn_ros.control.faults import CODES, FAULTS

PAGE = (Path(__file__).parents[2] / "docs/guides/real_arm.md").read_text(encoding="utf-8")
#: Each kind meets another mode, at 20 % of the velocity limits; battery.py runs all modes, speeds,
#: robots and frictions.
KINDS = [case.lie for case in cases(modes=MODES[:1], speeds=(0.2,))]
#: Lies about velocities are worst where feedback is strong.
WORST = ["velocity_sign", "velocity_zero", "frozen", "lag_75_ms", "loss"]
CASES = [Case(name, MODES[k % 4], 0.2) for k, name in enumerate(KINDS)]
CASES += [Case(name, "hold", 1.0) for name in WORST]
#: The held arm oscillates, and its driver applies the last efforts until its timeout.
CASES += [Case("velocity_degrees", "computed_torque", 0.0)]


def fault_rows():
    """Return the rows of the table of faults."""
    return [f"| `{kind.code}` | {kind.cause} | {kind.reaction} |" for kind in FAULTS]


def lie_rows():
    """Return the rows of the table of lies."""
    rows = []
    for lie in LIES:
        codes = dict.fromkeys((*lie.codes, *lie.still))
        words = ", ".join("no fault" if code == NONE else f"`{code}`" for code in codes)
        rows.append(f"| {lie.kind} | {lie.what} | {words} |")
    return rows


def test_the_page_has_the_faults_of_the_code():
    table = PAGE.split("| code | cause | reaction |\n|---|---|---|\n")[1].split("\n\n")[0]
    assert table.splitlines() == fault_rows()


def test_the_page_has_the_lies_of_the_battery():
    table = PAGE.split("| kind | states | faults |\n|---|---|---|\n")[1].split("\n\n")[0]
    assert table.splitlines() == lie_rows()


def test_every_lie_ends_in_a_known_fault():
    names = [lie.name for lie in LIES]
    assert len(set(names)) == len(names)
    for lie in LIES:
        assert set(lie.codes) | set(lie.still) <= CODES | {NONE}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.lie}-{case.mode}-{case.speed}")
def test_an_arm_whose_states_lie_stays_where_it_is_safe(case):
    """At most 0.3 rad beyond a trusted fault at the onset, and 120 % of a velocity limit."""
    verdict = judged(case)
    assert verdict.well, verdict
    assert allowed(case, verdict), verdict
