# SPDX-License-Identifier: Apache-2.0
"""None of the ordinary uses in uses.py ends in a fault, with four arms.

Each use runs in each of its modes with one of the arms; with --uses all it runs with all arms.
"""

from uses import USES, cases, fault_of

#: This use ends in a tracking fault: friction of 4 % of the effort limits holds light joints back.
#: Computed torque has no integral term, with which the arm would press on walls.
BEHIND = "path_with_three_times_the_friction", "computed_torque"
EVERY = list(cases())


def bounded():
    """Return cases: each use in each of its modes with one arm; the arms take turns."""
    found = {}
    for file, name, mode in EVERY:
        found.setdefault((name, mode), []).append((file, name, mode))
    return [cases[k % len(cases)] for k, cases in enumerate(found.values())]


def pytest_generate_tests(metafunc):
    if "use" in metafunc.fixturenames:
        chosen = EVERY if metafunc.config.getoption("uses") == "all" else bounded()
        metafunc.parametrize("use", chosen, ids="-".join)


def test_an_ordinary_use_ends_without_a_fault(use):
    code, fastest = fault_of(*use)
    assert code == ("tracking" if use[1:] == BEHIND else "")
    assert fastest <= 1.0


def test_there_are_forty_uses():
    assert len(USES) >= 40
