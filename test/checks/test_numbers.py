# SPDX-License-Identifier: Apache-2.0
"""The functions with which every part of the package checks numbers."""

from fractions import Fraction

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.checks.numbers import count, finite, flag
from rbdyn_ros.errors import apart, exactly


def test_a_message_prints_a_number_with_enough_digits_to_differ_from_its_limit():
    for value, limit in ((6.28319, 2 * np.pi), (1e12 * (1 + 1e-15), 1e12), (0.1 + 0.2, 0.3)):
        found, most = apart(value, limit)
        assert found != most
        assert (float(found) > float(most)) == (value > limit)
        assert float(exactly(limit)) == limit
        with refused(rb.ParameterError, "bad-argument", "x") as caught:
            finite("x", max(value, limit), high=min(value, limit))
        said = caught.value.findings[0]
        assert float(said.found) > float(said.allowed.split()[-1])
    assert apart(0.5, 0.25) == ("0.5", "0.25")
    assert apart(1.0, 1.0) == ("1", "1")
    assert apart(np.pi, 3.0, np.inf, digits=3) == ("3.14", "3", "inf")
    assert exactly(1e-3) == "0.001"


NOT_A_NUMBER = ["1", b"1", True, np.bool_(1), None, 1j, [1.0], np.nan, np.inf, 10**400, object()]


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), np.int64(1), Fraction(1)])
def test_a_number_becomes_a_float(value):
    assert type(finite("x", value)) is float
    assert finite("x", value) == 1.0


@pytest.mark.parametrize("value", NOT_A_NUMBER, ids=lambda value: repr(value)[:20])
def test_values_that_are_not_a_number_are_refused(value):
    with refused(rb.ParameterError, "bad-argument", "x"):
        finite("x", value)


@pytest.mark.parametrize(
    ("value", "bounds"),
    [
        (-0.1, {"low": 0.0}),
        (1.1, {"high": 1.0}),
        (0.0, {"above": 0.0}),
        (2.0, {"above": 0.0, "high": 1.0}),
        (2.0, {"low": 0.0, "high": 1.0}),
    ],
)
def test_a_number_outside_its_range_is_refused(value, bounds):
    with refused(rb.ModelError, "range", "the joint"):
        finite("x", value, error=rb.ModelError, code="range", element="the joint", **bounds)


@pytest.mark.parametrize(
    "value", [(1, 2, 3), [1, 2.0, Fraction(3)], np.array([1, 2, 3], np.int8), range(1, 4)]
)
def test_an_array_is_a_read_only_copy(value):
    values = finite("x", value, (3,))
    assert values.dtype == np.float64
    assert values.tolist() == [1.0, 2.0, 3.0]
    assert not values.flags.writeable


@pytest.mark.parametrize(
    "value",
    [
        [1, 2],
        [1, 2, 3, 4],
        [[1, 2, 3]],
        1.0,
        "123",
        [1, 2, "3"],
        [1, 2, True],
        [1, [2], 3],
        [1, 2, None],
        [1, np.nan, 3],
        [1, 2, np.inf],
        [1, 2, 10**400],
        {1, 2, 3},
        np.array([True, False, True]),
        np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 0, 1]),
    ],
    ids=repr,
)
def test_arrays_of_another_shape_or_type_are_refused(value):
    with refused(rb.ParameterError, "bad-argument", "x"):
        finite("x", value, (3,))


def test_none_in_a_shape_allows_any_length():
    assert finite("x", np.zeros((5, 2)), (None, 2)).shape == (5, 2)
    assert finite("x", [[1.0]], None).shape == (1, 1)
    assert finite("x", 1.0, None).shape == ()


def test_one_number_fills_an_array_where_that_is_allowed():
    assert finite("x", 2, (3,), fill=True).tolist() == [2.0, 2.0, 2.0]
    with refused(rb.ParameterError, "bad-argument", "x"):
        finite("x", -2, (3,), low=0.0, fill=True)


@pytest.mark.parametrize("value", [-1, 6, 1.0, "1", True, np.bool_(0), None])
def test_a_count_is_a_whole_number_in_its_range(value):
    assert count("n", np.int32(5), 0, 5) == 5
    with refused(rb.ParameterError, "bad-argument", "n"):
        count("n", value, 0, 5)


@pytest.mark.parametrize("value", [0, 1, "True", None])
def test_a_flag_is_true_or_false(value):
    assert flag("x", np.bool_(1)) is True
    with refused(rb.ParameterError, "bad-argument", "x"):
        flag("x", value)
