"""The table of parameters, and the example file that lists them all."""

import math
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import yaml

import rbdyn_ros as rb
from rbdyn_ros.ros.params import PARAMETERS, Parameter

FILE = Path(__file__).parents[2] / "config" / "simulator.yaml"


def test_the_example_file_holds_every_default():
    content = yaml.safe_load(FILE.read_text())["/**"]["ros__parameters"]
    expected = {p.name: p.default for p in PARAMETERS}
    assert content == expected


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda p: p.name)
def test_defaults_are_allowed_and_other_types_are_not(parameter):
    assert parameter.checked(parameter.default) == parameter.default
    for wrong in (None, object(), [1.0], math.nan, 1e99):
        with pytest.raises(rb.ParameterError, match=f"parameter '{parameter.name}' is"):
            parameter.checked(wrong)


def test_whole_numbers_are_taken_for_floats_but_booleans_are_not():
    rate = Parameter("rate", 1.0, "", low=0.0, high=10.0)
    assert rate.checked(2) == 2.0
    assert isinstance(rate.checked(2), float)
    with pytest.raises(rb.ParameterError):
        rate.checked(True)
