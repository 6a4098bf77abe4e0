# SPDX-License-Identifier: Apache-2.0
"""The table of families of cases of which most run nightly."""

import re
from pathlib import Path

import pytest
from support.nightly import ONE_IN, runs


@pytest.mark.parametrize("name", ONE_IN)
def test_a_family_exists_and_some_of_its_cases_run(name):
    file, _, test = name.partition("::")
    assert re.search(rf"^def {test}\(", (Path(__file__).parent / file).read_text(), re.MULTILINE)
    assert ONE_IN[name] > 1
    assert runs(0, ONE_IN[name])


@pytest.mark.parametrize("period", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("one_in", sorted(set(ONE_IN.values())))
def test_cases_are_spread_over_every_value_of_a_parameter(period, one_in):
    chosen = [k for k in range(10 * period * one_in) if runs(k, one_in)]
    assert len(chosen) == pytest.approx(10 * period, abs=2)
    assert {k % period for k in chosen} == set(range(period))
