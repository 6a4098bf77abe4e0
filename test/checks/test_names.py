# SPDX-License-Identifier: Apache-2.0
"""The functions with which every part of the package checks names."""

import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.checks.names import chosen, name_faults, one_of, strings

JOINTS = ("hip", "knee", "ankle")


def broken(name):
    return "is broken" if name == "ankle" else ""


def test_known_names_are_returned_in_the_given_order():
    assert chosen(["knee", "hip"], JOINTS, "joint") == ("knee", "hip")
    assert chosen([], JOINTS, "joint") == ()


@pytest.mark.parametrize(
    ("names", "element"),
    [
        ("hip", ""),
        (None, ""),
        (["hip", "kne"], "kne"),
        (["hip", "hip"], "hip"),
        (["hip", 5], "5"),
        (["hip", ["knee"]], "['knee']"),
        (["knee", "ankle"], "ankle"),
    ],
)
def test_invalid_lists_of_names_are_refused(names, element):
    with refused(rb.ParameterError, "joints", element):
        chosen(names, JOINTS, "joint", broken, code="joints")


def test_a_string_in_place_of_a_list_of_strings_is_refused():
    assert strings("head", ["a", "b"]) == ("a", "b")
    assert strings("head", iter(())) == ()
    for value in ("ab", b"ab", None, 5, ["a", 5], [b"a"]):
        with refused(rb.ParameterError, "bad-argument", "head"):
            strings("head", value)


def test_all_errors_of_a_list_can_be_collected():
    faults = dict(name_faults(["hip", "hip", "toe", "ankle"], JOINTS, "joint", broken))
    assert list(faults) == ["hip", "toe", "ankle"]


def test_the_error_about_an_unknown_name_suggests_the_nearest_name():
    with refused(rb.ModelError, "choice", "integrator", found="'eulr'") as caught:
        one_of("integrator", "eulr", ["euler", "rk4"], rb.ModelError, "choice")
    assert "did you mean 'euler'?" in str(caught.value)
    with refused(rb.ParameterError, "bad-argument", "integrator"):
        one_of("integrator", 5, ["euler", "rk4"])
