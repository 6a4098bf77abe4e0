"""The table of the arm controller's parameters: its example file, the docs, what they become."""

import re
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.control.gate import GateSettings
from rbdyn_ros.control.settings import MODES, Settings
from rbdyn_ros.loading.assets import bundled_robot
from rbdyn_ros.ros.arm import parameters as arm_params
from rbdyn_ros.ros.arm.parameters import PARAMETERS

ROOT = Path(__file__).parents[3]


def defaults(**others):
    """Return the values of the table, some of them others; points in names are two underscores."""
    values = {p.name: p.checked(p.default) for p in PARAMETERS}
    changed = {name.replace("__", "."): value for name, value in others.items()}
    assert set(changed) <= set(values)
    return SimpleNamespace(**values | changed)


def flat(content, prefix=""):
    """Join the keys of nested tables by points, as ROS does."""
    found = {}
    for key, value in content.items():
        inner = isinstance(value, dict)
        found |= flat(value, f"{prefix}{key}.") if inner else {prefix + key: value}
    return found


def plain(parameter):
    return list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default


def test_the_example_file_holds_every_default_in_order():
    content = yaml.safe_load((ROOT / "config" / "arm_controller.yaml").read_text())
    found = flat(content["/**"]["ros__parameters"])
    assert list(found.items()) == [(p.name, plain(p)) for p in PARAMETERS]


def test_the_reference_holds_every_parameter_with_what_is_allowed():
    text = (ROOT / "docs/reference/arm_controller.md").read_text()
    table = text[text.index("| parameter of the controller |") :].split("\n\n")[0]
    rows = [re.split(r" ?\| ?", line)[1:-1] for line in table.splitlines()[2:]]
    assert [row[0] for row in rows] == [f"`{p.name}`" for p in PARAMETERS]
    for parameter, (_, _, default, allowed, meaning) in zip(PARAMETERS, rows, strict=True):
        assert yaml.safe_load(default.strip("`")) == plain(parameter)
        unit = f" [{parameter.unit}]" if parameter.unit else ""
        assert allowed == parameter.allowed + unit
        assert meaning == parameter.doc + (" *" if parameter.live else "")


@pytest.mark.parametrize("parameter", PARAMETERS, ids=lambda p: p.name)
def test_defaults_are_allowed(parameter):
    assert parameter.checked(parameter.default) == plain(parameter)
    with pytest.raises(rb.ParameterError, match=f"parameter '{parameter.name}' is"):
        parameter.checked(object())


def test_what_makes_an_arm_safe_is_so_by_default():
    values = defaults()
    assert values.dry_run is True
    assert values.mode == "idle"
    assert values.arm_without_effort is False
    assert values.friction_compensation == 0.0


def test_only_limits_may_change_while_it_runs():
    live = {p.name for p in PARAMETERS if p.live}
    assert live == set(arm_params.TIGHTENING)


def test_the_library_has_the_same_defaults():
    """One source each: a default that is changed in one place only is found here."""
    assert plain_settings(arm_params.settings(defaults())) == plain_settings(Settings())
    assert arm_params.gate_settings(defaults(), False) == GateSettings()


def plain_settings(settings):
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return {k: v if isinstance(v, str) else np.array(v).tolist() for k, v in values.items()}


#: Parameters whose names in Settings and GateSettings are others.
RENAMED = {
    "computed_torque.stiffness": "stiffness",
    "computed_torque.damping": "damping",
    "impedance.stiffness": "impedance_stiffness",
    "impedance.damping": "impedance_damping",
    "impedance.feedforward": "feedforward",
    "impedance.frame": "frame",
    "impedance.cartesian_stiffness": "cartesian_stiffness",
    "impedance.damping_ratio": "damping_ratio",
    "impedance.null_stiffness": "null_stiffness",
    "impedance.null_damping": "null_damping",
}


def other(parameter):
    """Return a value that is allowed and not the default."""
    default = parameter.default
    if isinstance(default, bool):
        return not default
    if isinstance(default, str):
        return next((c for c in parameter.choices if c != default), "other")
    if isinstance(default, list):
        return [number / 2.0 + 0.125 for number in default]
    return default / 2.0 + 0.015625


TARGETS = {field.name for kind in (Settings, GateSettings) for field in fields(kind)}
SET = [p for p in PARAMETERS if RENAMED.get(p.name, p.name) in TARGETS]


def test_every_setting_is_a_parameter():
    own = {RENAMED.get(p.name, p.name) for p in SET}
    assert own == TARGETS - {"simulated"}  # that is use_sim_time, which every node has
    assert arm_params.gate_settings(defaults(), True).simulated


@pytest.mark.parametrize("parameter", SET, ids=lambda p: p.name)
def test_a_parameter_changes_its_setting_and_no_other(parameter):
    value = parameter.checked(other(parameter))
    values = defaults(**{parameter.name.replace(".", "__"): value})
    changed = {}
    gate = partial(arm_params.gate_settings, simulated=False)
    for make in (arm_params.settings, gate):
        before, after = (plain_settings(make(v)) for v in (defaults(), values))
        changed |= {name: after[name] for name in after if after[name] != before[name]}
    expected = value[0] if isinstance(value, list) and len(value) == 1 else value
    assert changed == {RENAMED.get(parameter.name, parameter.name): expected}


def test_modes_are_those_of_the_library():
    (mode,) = (p for p in PARAMETERS if p.name == "mode")
    assert mode.choices == MODES


def test_gains_are_of_all_joints_or_of_each():
    values = defaults(impedance__stiffness=[3.0], impedance__damping=[1.0, 2.0])
    settings = arm_params.settings(values)
    assert settings.impedance_stiffness == 3.0
    assert settings.impedance_damping == [1.0, 2.0]


def test_friction_is_a_share_of_that_of_the_robot_or_of_the_parameters():
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


def test_another_number_of_frictions_is_refused():
    m = rb.load_urdf(str(bundled_robot("seven_dof_arm")))
    with pytest.raises(rb.ParameterError, match="coulomb"):
        arm_params.friction_of(
            defaults(friction__from_robot=False, friction__coulomb=[1.0, 2.0]), m
        )
