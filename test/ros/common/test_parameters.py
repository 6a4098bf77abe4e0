# SPDX-License-Identifier: Apache-2.0
"""Declared parameters of simulator and arm controller have types, defaults and ranges."""

import math

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.ros.arm import parameters as arm
from rbdyn_ros.ros.common.settings.parameters import Parameter, live, per_joint
from rbdyn_ros.ros.simulator import parameters as simulator

ROWS = [
    pytest.param(row, id=f"{node}-{row.name}")
    for node, table in (("simulator", simulator.PARAMETERS), ("arm", arm.PARAMETERS))
    for row in table
]


@pytest.mark.parametrize("row", ROWS)
def test_defaults_are_allowed_values_and_wrong_types_are_refused(row):
    default = row.default
    names, numbers = isinstance(default, tuple), isinstance(default, list)
    assert row.checked(default) == (list(default) if names else default)
    wrong_ones = [object(), math.nan, 1e99, [math.nan], [1e99] * 7, ["a", 1.0]]
    wrong_ones += [] if names else [None, [""]]
    wrong_ones += [] if numbers else [[1.0]]
    for wrong in wrong_ones:
        with pytest.raises(rb.ParameterError) as caught:
            row.checked(wrong)
        assert (caught.value.code, caught.value.element) == ("parameter", row.name)


@pytest.mark.parametrize("table", [simulator.PARAMETERS, arm.PARAMETERS])
def test_parameter_names_are_unique_and_grouped_by_role(table):
    names = [row.name for row in table]
    assert len(set(names)) == len(names)
    roles = [row.role for row in table]
    assert sorted(roles, key=list(dict.fromkeys(roles)).index) == roles
    assert all(roles)


def test_types_of_parameters_have_the_names_used_in_ros():
    rows = [Parameter("p", default, "") for default in (True, 1, 1.0, "", (), [1.0, 2.0])]
    types = [row.type for row in [*rows, per_joint("p", 0.0, "", "")]]
    assert types == ["bool", "int", "double", "string", "string[]", "double[2]", "double[]"]


def test_an_empty_list_of_names_is_read_in_both_forms_that_ros_sends():
    """ROS has no type for an empty list: it arrives as no value or as one empty string."""
    names = Parameter("names", (), "")
    assert names.checked(None) == names.checked([""]) == names.checked([]) == []
    assert names.checked(["a", "b"]) == ["a", "b"]
    with refused(rb.ParameterError, "parameter", "names"):
        names.checked("a")


def test_a_list_needs_one_number_or_one_number_per_joint():
    noise = per_joint("noise", 0.0, "", "rad", 0.0, 10.0)
    assert noise.checked([1]) == [1.0]
    assert noise.checked([1.0, 2.0]) == [1.0, 2.0]
    for wrong in ([], [-1.0], 1.0):
        with refused(rb.ParameterError, "parameter", "noise", found=repr(wrong)):
            noise.checked(wrong)


def test_integers_are_accepted_as_doubles_but_booleans_are_not():
    rate = Parameter("rate", 1.0, "", low=0.0, high=10.0)
    assert rate.checked(2) == 2.0
    assert isinstance(rate.checked(2), float)
    with refused(rb.ParameterError, "parameter", "rate"):
        rate.checked(True)


def test_all_wrong_values_are_reported_at_once():
    table = Parameter("a", 1, "", "", 0, 5), Parameter("b", "x", "", choices=("x", "y"))
    assert live({"a": 3.0, "b": "y", "other": object()}, table) == {"a": 3, "b": "y"}
    with refused(rb.ParameterError, ["parameter", "parameter"], "a"):
        live({"a": 6, "b": "z"}, table)


@pytest.mark.parametrize(
    "row",
    [
        Parameter("count", 1, "", "", 0, 5),
        Parameter("flag", True, ""),
        Parameter("text", "", ""),
        Parameter("place", [0.0, 0.0], "", "m", -1.0, 1.0),
    ],
    ids=lambda row: row.type,
)
def test_the_error_about_a_value_names_the_value_and_the_allowed_values(row):
    wrong = np.inf
    with refused(rb.ParameterError, "parameter", row.name, found="inf", allowed=row.allowed):
        row.checked(wrong)
