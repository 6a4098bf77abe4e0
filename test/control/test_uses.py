# SPDX-License-Identifier: Apache-2.0
"""Ordinary uses of four arms end without a fault: the list of uses.py.

Each use runs with one to three of the arms, in one of its modes; --uses all runs all.
"""

import pytest
from closed_loop import FILES
from support.nightly import runs
from uses import USES, cases, fault_of

#: Friction of 4 % of the effort limits holds light joints, and computed torque has no integral, so
#: they stay `tracking_tolerance` behind the path: fault `tracking`.
BEHIND = "path_with_three_times_the_friction", "computed_torque"
EVERY = list(cases())


def bounded():
    """Return one mode of each second use and arm; the modes take turns."""
    found = {}
    for file, name, mode in EVERY:
        modes = USES[name].modes
        turn = list(USES).index(name) + FILES.index(file)
        if mode == modes[turn % len(modes)]:
            found[file, name] = file, name, mode
    return [case for k, case in enumerate(found.values()) if runs(k, 2)]


def pytest_generate_tests(metafunc):
    if "use" in metafunc.fixturenames:
        chosen = EVERY if metafunc.config.getoption("uses") == "all" else bounded()
        marked = [
            pytest.param(case, marks=marks(*case[1:]) or (), id="-".join(case)) for case in chosen
        ]
        metafunc.parametrize("use", marked)


def marks(name, mode):
    if (name, mode) == BEHIND:
        return pytest.mark.xfail(reason="S2: computed torque has no integral")
    return None


def test_an_ordinary_use_ends_without_a_fault(use):
    code, fastest = fault_of(*use)
    assert code == ""
    assert fastest <= 1.0


def test_there_are_forty_uses():
    assert len(USES) >= 40
