# SPDX-License-Identifier: Apache-2.0
"""The table of tests with many cases, most of which run only nightly."""

import re
from pathlib import Path

import pytest
from support.nightly import INSTEAD, LONG, ONE_IN, UNKNOWN, runs


def test_every_test_of_the_nightly_lists_exists():
    for name in (*(ONE_IN | LONG | INSTEAD), *INSTEAD.values()):
        file, _, test = name.partition("::")
        text = (Path(__file__).parent / file).read_text()
        assert re.search(rf"^def {test}\(", text, re.MULTILINE), name
    assert min(ONE_IN.values()) > 1
    assert all(runs(0, one_in) for one_in in ONE_IN.values())
    assert INSTEAD.keys().isdisjoint(INSTEAD.values())
    assert not UNKNOWN


@pytest.mark.parametrize("period", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("one_in", sorted(set(ONE_IN.values())))
def test_the_chosen_cases_include_every_value_of_a_parameter(period, one_in):
    chosen = [k for k in range(10 * period * one_in) if runs(k, one_in)]
    assert len(chosen) == pytest.approx(10 * period, abs=2)
    assert {k % period for k in chosen} == set(range(period))
