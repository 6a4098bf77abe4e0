# SPDX-License-Identifier: Apache-2.0
"""Presets of arms give names, joints and limits, also for drivers without efforts."""

import re
from dataclasses import replace

import pytest
from support.refusals import refused

pytest.importorskip("rclpy", reason="rclpy is not installed")

from test_arm_params import defaults

from rbdyn_ros.errors import DescriptionError, ParameterError
from rbdyn_ros.ros.arm import presets
from rbdyn_ros.ros.arm.command_topics import TOPICS
from rbdyn_ros.ros.arm.parameters import PARAMETERS, friction_of

FILES = presets.preset_files()
ALL = [preset for path in FILES for preset in presets.presets_in(path)]
ROWS = {row.name: row for row in PARAMETERS}

each_preset = pytest.mark.parametrize("preset", ALL, ids=lambda preset: preset.name)


def facts(preset):
    groups = (preset.facts, preset.topics, preset.parameters)
    return [*(fact for group in groups for fact in group.values()), *preset.traps]


def test_each_driver_of_the_list_has_a_preset():
    assert [path.stem for path in FILES] == [
        "flexiv", "franka", "kinova_gen3", "lbr_iiwa", "so101", "ur", "xarm",
    ]  # fmt: skip
    names = [preset.name for preset in ALL]
    assert len(set(names)) == len(names)
    for path in FILES:
        assert "not run on the arm" in path.read_text()


@each_preset
def test_every_value_of_a_preset_has_the_url_of_its_source(preset):
    for fact in facts(preset):
        assert re.fullmatch(r"https://\S+", fact.source), fact


def test_each_error_in_a_preset_is_reported_with_its_line(tmp_path):
    path = tmp_path / "arm.yaml"
    text = FILES[0].read_text()
    path.write_text(text.replace("driver:", "drivr:", 1).replace("value: true", "value: maybe", 1))
    with refused(DescriptionError, ["missing-key", "unknown-key", "bad-value"]) as caught:
        list(presets.presets_in(path))
    lines = [finding.line for finding in caught.value.findings]
    assert lines[1:] == [
        1 + text[: text.index(word)].count("\n") for word in ("driver:", "value:")
    ]


@each_preset
def test_presets_set_only_parameters_and_topics_of_the_controller(preset):
    for name, fact in preset.parameters.items():
        assert ROWS[name].checked(fact.value) == fact.value
    assert set(preset.topics) <= {"joint_states", "wrench", *TOPICS}
    assert isinstance(preset.facts["takes_efforts"].value, bool)
    assert preset.facts["rate"].value >= 50
    takes = preset.facts["takes_efforts"].value
    assert takes == ("effort_commands" in preset.topics)
    assert takes == (preset.defaults.get("output") == "effort_commands")
    # a preset must neither arm the robot nor switch off a check
    risky = {"dry_run", "arm_without_effort", "mode", "friction_compensation", "simulated_clock"}
    assert not risky & set(preset.parameters)


@pytest.mark.parametrize("name", ["ur5", "UR5e", "panda", "xyz", ""])
def test_the_refusal_of_an_unknown_arm_suggests_a_similar_name(name):
    with refused(ParameterError, "unknown-arm", "arm", found=name) as caught:
        presets.preset_of(name)
    if name in {"ur5", "UR5e"}:
        assert "did you mean 'ur5e'" in str(caught.value)


def test_all_joints_of_a_preset_may_have_the_same_prefix():
    preset = presets.preset_of("ur5e")
    preset.check_joints(preset.joints)
    preset.check_joints(["rail", *(f"left_{joint}" for joint in preset.joints), "finger"])
    mixed = [f"{'ab'[k % 2]}_{joint}" for k, joint in enumerate(preset.joints)]
    for names in (mixed, preset.joints[:-1], ["panda_joint1"], []):
        with refused(ParameterError, "joints-of-other-arm", "arm"):
            preset.check_joints(names)


@each_preset
def test_efforts_are_sent_only_to_drivers_that_accept_efforts(preset):
    preset.check_sending(dry_run=True)
    if preset.facts["takes_efforts"].value:
        preset.check_sending(dry_run=False)
        return
    with refused(ParameterError, "takes-no-efforts", "arm"):
        preset.check_sending(dry_run=False)


def test_explicit_values_override_a_preset_and_the_log_names_both():
    preset = presets.preset_of("ur5e")
    given = {"robot_compensates_friction": False, "output": "effort_commands"}
    text = presets.applied_text(preset, given, {"effort_commands": "/mine"})
    assert "robot_compensates_friction is false, set explicitly; the preset has true" in text
    assert "output is effort_commands: " in text
    assert "topic effort_commands is /mine, set explicitly" in text
    assert "topic joint_states is joint_states: " in text
    assert "not run on the arm" in text


def test_compensating_friction_that_the_arm_compensates_itself_is_refused():
    import rbdyn_ros as rb
    from rbdyn_ros.share import bundled_robot

    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    values = defaults(robot_compensates_friction=True, friction_compensation=0.5)
    with refused(ParameterError, "friction-twice", "friction_compensation"):
        friction_of(values, m)
    values.friction_compensation = 0.0
    assert not friction_of(values, m).coulomb.any()


def test_a_copy_of_a_preset_file_gives_the_same_presets(tmp_path):
    text = FILES[0].read_text()
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    mine, theirs = presets.presets_in(path), presets.presets_in(FILES[0])
    assert [replace(preset) for preset in mine] == list(theirs)
