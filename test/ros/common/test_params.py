"""The table of parameters, and the example file that lists them all."""

import math
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import yaml

import rbdyn_ros as rb
from rbdyn_ros.ros.common.parameters import Parameter
from rbdyn_ros.ros.simulator.parameters import PARAMETERS

FILE = Path(__file__).parents[3] / "config" / "simulator.yaml"


def test_the_example_file_holds_every_default():
    content = yaml.safe_load(FILE.read_text())["/**"]["ros__parameters"]
    expected = {
        p.name: list(p.default) if isinstance(p.default, tuple) else p.default for p in PARAMETERS
    }
    assert _flat(content) == expected


def _flat(content, prefix=""):
    """Join the keys of nested tables by points, as ROS does."""
    flat = {}
    for key, value in content.items():
        inner = isinstance(value, dict)
        flat |= _flat(value, f"{prefix}{key}.") if inner else {prefix + key: value}
    return flat


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda p: p.name)
def test_defaults_are_allowed_and_other_types_are_not(parameter):
    default = parameter.default
    names, numbers = isinstance(default, tuple), isinstance(default, list)
    assert parameter.checked(default) == (list(default) if names else default)
    wrong_ones = [object(), math.nan, 1e99, [math.nan], [1e99] * 7, ["a", 1.0]]
    wrong_ones += [] if names else [None, [""]]
    wrong_ones += [] if numbers else [[1.0]]
    for wrong in wrong_ones:
        with pytest.raises(rb.ParameterError, match=f"parameter '{parameter.name}' is"):
            parameter.checked(wrong)


def test_names_are_taken_without_empty_ones():
    """ROS has no type for an empty list: it arrives as nothing, or as one empty text."""
    names = Parameter("names", (), "")
    assert names.checked(None) == names.checked([""]) == names.checked([]) == []
    assert names.checked(["a", "b"]) == ["a", "b"]
    with pytest.raises(rb.ParameterError, match="'names' is 'a'; allowed is a list of names"):
        names.checked("a")


def test_a_list_is_for_all_joints_or_for_each():
    noise = Parameter("noise", [0.0], "", "rad", 0.0, 10.0, fixed=False)
    assert noise.checked([1]) == [1.0]
    assert noise.checked([1.0, 2.0]) == [1.0, 2.0]
    allowed = "a list of one number, or of one for each joint, from 0 to 10"
    for wrong in ([], [-1.0], 1.0):
        with pytest.raises(rb.ParameterError, match=allowed):
            noise.checked(wrong)


def test_whole_numbers_are_taken_for_floats_but_booleans_are_not():
    rate = Parameter("rate", 1.0, "", low=0.0, high=10.0)
    assert rate.checked(2) == 2.0
    assert isinstance(rate.checked(2), float)
    with pytest.raises(rb.ParameterError):
        rate.checked(True)
