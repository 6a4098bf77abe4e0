# SPDX-License-Identifier: Apache-2.0
"""The arm controller's parameters have defaults and ranges, and set the library's settings."""

import math
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest
from support.refusals import refused

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.states.gate import GateSettings
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.ros.arm import parameters as arm_params
from rbdyn_ros.ros.arm.parameters import PARAMETERS
from rbdyn_ros.ros.arm.safety_parameters import TIGHTENING
from rbdyn_ros.ros.common.settings import parameters
from rbdyn_ros.share import bundled_robot


def defaults(**others):
    """Return the parameters: the defaults changed by `others`; `__` in a name stands for a dot."""
    values = {p.name: p.checked(p.default) for p in PARAMETERS}
    changed = {name.replace("__", "."): value for name, value in others.items()}
    assert set(changed) <= set(values)
    return SimpleNamespace(**values | changed)


def test_the_default_parameters_are_the_safe_choices():
    values = defaults()
    assert values.dry_run is True
    assert values.mode == "idle"
    assert values.arm_without_effort is False
    assert values.start_up_test is True
    assert values.friction_compensation == 0.0


def test_only_limits_can_be_changed_while_the_node_runs():
    live = {p.name for p in PARAMETERS if p.live}
    assert live == set(TIGHTENING)


@pytest.mark.parametrize("name", TIGHTENING)
@pytest.mark.parametrize("wrong", ["above", -1.0, math.nan, math.inf, -math.inf, "fast", True])
def test_the_refusal_of_a_limit_names_the_allowed_range(name, wrong):
    """The range is checked at the start and at each change; an armed arm's limits only tighten."""
    (row,) = (p for p in PARAMETERS if p.name == name)
    value = 1.001 * row.high if wrong == "above" else wrong
    with refused(ParameterError, "parameter", name) as caught:
        parameters.live({name: value}, PARAMETERS)
    assert f"from {row.low:g} to {row.high:g}" in str(caught.value)


def test_acceleration_limit_and_latency_limit_have_upper_bounds():
    rows = {p.name: p for p in PARAMETERS}
    # the velocity may change by 5 rad/s in the 5 ms of a measurement; a latency above
    # state_timeout is a fault of age
    assert rows["acceleration_limit"].high == 1000.0
    assert rows["latency_limit"].high == 0.1


def test_node_and_library_have_the_same_defaults():
    """Each default is written in two places, which must agree."""
    assert plain_settings(arm_params.settings(defaults())) == plain_settings(ControlSettings())
    assert arm_params.gate_settings(defaults(), False) == GateSettings()


def plain_settings(settings):
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return {k: v if isinstance(v, str) else np.array(v).tolist() for k, v in values.items()}


def test_every_setting_is_a_parameter():
    targets = {field.name for kind in (ControlSettings, GateSettings) for field in fields(kind)}
    rows = [p.setting or p.name for p in PARAMETERS]
    assert len(set(rows)) == len(rows)
    assert targets <= set(rows)
    assert {p.setting for p in PARAMETERS if p.setting} <= targets
    assert arm_params.gate_settings(defaults(), True).simulated
    assert arm_params.gate_settings(defaults(simulated_clock=True), False).simulated
    assert arm_params.settings(defaults(impedance__frame="tool")).frame == "tool"


def test_one_gain_applies_to_all_joints_and_a_list_has_a_gain_for_each_joint():
    values = defaults(impedance__stiffness=[3.0], impedance__damping=[1.0, 2.0])
    settings = arm_params.settings(values)
    assert settings.impedance_stiffness == 3.0
    assert settings.impedance_damping == [1.0, 2.0]


def test_friction_comes_from_the_robot_or_from_parameters():
    m = rb.load_urdf(str(bundled_robot("seven_dof_arm")))
    own = arm_params.friction_of(defaults(friction_compensation=0.5), m)
    np.testing.assert_allclose(own.viscous, 0.5 * np.array([1.5, 1.5, 1, 1, 0.5, 0.3, 0.2]))
    np.testing.assert_allclose(own.coulomb, 0.5 * np.array([0.6, 0.6, 0.5, 0.5, 0.3, 0.2, 0.1]))
    given = defaults(
        friction_compensation=1.0,
        friction__from_robot=False,
        friction__viscous=[4.0],
        friction__coulomb=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
        friction__stribeck=[0.25],
    )
    found = arm_params.friction_of(given, m)
    np.testing.assert_array_equal(found.viscous, np.full(7, 4.0))
    np.testing.assert_array_equal(found.coulomb, np.arange(1.0, 8.0))
    np.testing.assert_array_equal(found.stribeck, np.full(7, 0.25))
    assert not arm_params.friction_of(defaults(), m).viscous.any()


def test_friction_parameters_need_one_value_per_joint():
    m = rb.load_urdf(str(bundled_robot("seven_dof_arm")))
    with refused(rb.ParameterError, "bad-argument", "coulomb of friction"):
        arm_params.friction_of(
            defaults(friction__from_robot=False, friction__coulomb=[1.0, 2.0]), m
        )
