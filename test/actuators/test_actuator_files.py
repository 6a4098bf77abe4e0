# SPDX-License-Identifier: Apache-2.0
"""Actuator files are read, and errors in them are refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.mechanisms import four_bar
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.actuators import read_actuators_text, with_actuators_of
from rbdyn_ros.actuators.writer import actuators_text
from rbdyn_ros.errors import DescriptionError, ModelError, ParameterError

EXAMPLE = "config/actuators.yaml"
ARM = "config/robots/seven_dof_arm.urdf"


@pytest.fixture(scope="module")
def arm():
    return rb.load_urdf(ARM)


def test_the_actuators_of_the_example_file_are_read_and_change_the_motion(arm):
    m = rb.with_actuators(arm, EXAMPLE)
    assert m.nu == 3
    shoulder = arm.jnt_id("shoulder_pitch")
    k = arm.jnt_dofadr[shoulder]
    assert m.dof_armature[k] == pytest.approx(arm.dof_armature[k] + 100.0**2 * 2.5e-5)
    d = rb.make_data(m)
    d.qfrc_applied[:] = 1.0
    rb.step(m, d, 100)
    assert np.isfinite(d.qpos).all()


def test_a_file_without_optional_keys_gives_an_ideal_motor(one):
    text = "rbdyn_actuators: 1\nactuators: {j: {}}"
    assert read_actuators_text(text, one) == (rb.ActuatorSpec("j"),)
    m = rb.with_actuators(one, read_actuators_text(text, one))
    d, plain = rb.make_data(m), rb.make_data(one)
    d.qfrc_applied[0] = plain.qfrc_applied[0] = 0.3
    rb.step(m, d, 100)
    rb.step(one, plain, 100)
    assert d.qpos[0] == pytest.approx(plain.qpos[0], rel=1e-13)


def test_equivalent_keys_give_the_same_numbers(one):
    text = """
rbdyn_actuators: 1
actuators:
  j:
    motorconst: 0.05
    resistance: 0.5
    saturation: {torque: 2, current: 50}
    thermal: {resistance: 2, timeconst: 100}
    lugre: {coulomb: 0.02}
"""
    (spec,) = read_actuators_text(text, one)
    assert spec.motorconst == (0.05, 0.05)
    assert spec.current == 40.0
    assert spec.thermal == (2.0, 50.0, 0.0, 25.0, 25.0)
    assert spec.lugre == (20.0, 0.0, 0.02, 0.02, 1.0)


def test_all_errors_are_reported_with_their_lines(one):
    text = """rbdyn_actuators: 1
actuators:
  k: {gear: 2}
  j:
    gear: 0
    armatur: 1
"""
    with refused(DescriptionError, ["unknown-joint", "bad-value", "unknown-key"], line=3):
        read_actuators_text(text, one)


BAD = {
    "gear: 0": "bad-value",
    "gear: .nan": "bad-value",
    "armature: -1": "bad-value",
    "motorconst: [0, 1]": "bad-value",
    "motorconst: [1]": "bad-value",
    "{motorconst: 1, motorconst_error: -1}": "bad-value",
    "resistance: 1": "bad-value",
    "inductance: 1": "bad-value",
    "voltage: 0": "bad-value",
    "saturation: {torque: -1}": "bad-value",
    "saturation: {current: 1}": "bad-value",
    "torque_speed: [[0, 1], [10, 2]]": "bad-curve",
    "torque_speed: [[0, 1], [10, 0.5], [5, 0]]": "bad-curve",
    "torque_speed: [[1, 1], [10, 0]]": "bad-curve",
    "torque_speed: [[0, 1]]": "bad-value",
    "torque_speed: [[0, 1], [1]]": "bad-value",
    "{motorconst: 1, resistance: 1, thermal: {resistance: 1, capacitance: -2}}": "bad-value",
    "{motorconst: 1, resistance: 1, thermal: {resistance: 1}}": "bad-value",
    "thermal: {resistance: 1, capacitance: 2}": "bad-value",
    "derating: [100, 50]": "bad-value",
    "cogging: {amplitude: 1}": "missing-key",
    "lugre: {coulomb: 0}": "bad-value",
    "lugre: {coulomb: 2, static: 1, stribeck: 1}": "bad-value",
    "lugre: {coulomb: 1, static: 2}": "bad-value",
    "elastic: {stiffness: 10}": "bad-value",
    "{armature: 1, elastic: {stiffness: 0}}": "bad-value",
    "delay: 0.0015": "bad-value",
    "delay: 5": "bad-value",
}


@pytest.mark.parametrize("keys", BAD)
def test_the_error_about_an_impossible_actuator_names_its_line(one, keys):
    table = keys if keys.startswith("{") else f"{{{keys}}}"
    text = f"rbdyn_actuators: 1\nactuators:\n  j: {table}"
    with pytest.raises(DescriptionError) as caught:
        read_actuators_text(text, one)
    assert {finding.code for finding in caught.value.findings} == {BAD[keys]}
    assert {finding.line for finding in caught.value.findings} == {3}


@pytest.mark.parametrize(
    "keys",
    ["gear: 1e300", "armature: 1e300", "delay: 1e300", "inductance: 1e-300", "stiffness: 1e200"],
)
def test_values_with_an_infinite_product_are_refused(one, keys):
    """The error names the line in a file, or the joint for a value from Python."""
    key, _, value = keys.partition(": ")
    inner = f"elastic: {{{keys}}}, armature: 1" if key == "stiffness" else keys
    inner += ", resistance: 1, motorconst: 1" if key == "inductance" else ""
    text = f"rbdyn_actuators: 1\nactuators:\n  j: {{{inner}}}\n"
    with pytest.raises(DescriptionError) as caught:
        read_actuators_text(text, one)
    assert "out-of-range" in [finding.code for finding in caught.value.findings]
    assert caught.value.line == 3
    with refused(ParameterError, "actuator", "j"):
        rb.with_actuators(one, [rb.ActuatorSpec("j", **{key: float(value)})])


def test_actuators_of_joints_that_forces_do_not_move_are_refused():
    m = rb.load_urdf(
        """<robot name="r"><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
        <joint name="lead" type="continuous"><parent link="a"/><child link="b"/></joint>
        <joint name="copy" type="continuous"><parent link="b"/><child link="c"/>
        <mimic joint="lead"/></joint>
        <joint name="float" type="floating"><parent link="c"/><child link="d"/></joint></robot>""",
        strict=False,
    )
    for name in ("copy", "float"):
        text = f"rbdyn_actuators: 1\nactuators: {{{name}: {{}}}}"
        with refused(DescriptionError, "unfit-joint", f"actuator '{name}'", line=2):
            read_actuators_text(text, m)
        with refused(ParameterError, "actuator", name):
            rb.with_actuators(m, [rb.ActuatorSpec(name)])


def test_files_that_are_not_actuators_files_are_refused(one):
    with refused(DescriptionError, "not-an-actuators-file"):
        read_actuators_text("rbdyn_sensors: 1", one)
    with refused(DescriptionError, "missing-key"):
        read_actuators_text("rbdyn_actuators: 1", one)


def test_with_actuators_refuses_a_second_list_rk4_and_bad_values(one):
    m = rb.with_actuators(one, [rb.ActuatorSpec("j")])
    with refused(ModelError, "has-actuators", "one"):
        rb.with_actuators(m, [rb.ActuatorSpec("j")])
    with refused(ParameterError, "option-integrator", "integrator"):
        m.opt.integrator = "rk4"
    m.opt.integrator = "implicit"
    for values in ({"gear": 0.0}, {"armature": -1.0}, {"delay": 0.0015}, {"damping": np.nan}):
        with refused(ParameterError, "actuator"):
            rb.with_actuators(one, [rb.ActuatorSpec("j", **values)])
    with refused(ParameterError, "actuator"):
        rb.with_actuators(one, [rb.ActuatorSpec("j"), rb.ActuatorSpec("j")])


def test_the_timestep_of_a_model_with_a_delay_cannot_change(one, tmp_path):
    """A delay is stored in timesteps, so 10 ms would become 5 ms with half the timestep."""
    one = one.replaced()
    one.opt.timestep = 5e-4
    m = rb.with_actuators(one, [rb.ActuatorSpec(one.jnt_names[0], delay=0.01)])
    rb.save(m, tmp_path / "m.npz")
    for delayed in (m, m.replaced(), rb.load(tmp_path / "m.npz")):
        assert delayed.actuator_delay[0] == 20
        delayed.opt.timestep = 5e-4
        with refused(ParameterError, "option-timestep", "timestep"):
            delayed.opt.timestep = 1e-3
        assert delayed.opt.timestep == 5e-4
    rb.with_actuators(one, [rb.ActuatorSpec(one.jnt_names[0])]).opt.timestep = 1e-3


def test_actuators_are_part_of_a_saved_model_and_of_its_hash(one, tmp_path):
    m = rb.with_actuators(one, [rb.ActuatorSpec("j", gear=5.0, delay=0.002)])
    rb.save(m, tmp_path / "m.npz")
    again = rb.load(tmp_path / "m.npz")
    assert again.sha256() == m.sha256() != one.sha256()
    assert again.actuator_delay.tolist() == [2]


def test_a_saved_state_holds_the_state_of_actuators(one):
    spec = rb.ActuatorSpec(
        "j", gear=10.0, armature=1e-4, motorconst=(0.05, 0.05), resistance=0.5, inductance=0.01,
        stiffness=500.0, lugre=(5.0, 0.0, 0.01, 0.02, 1.0), delay=0.003,
    )  # fmt: skip
    m = rb.with_actuators(one, [spec])
    d = rb.make_data(m)
    d.qfrc_applied[0] = 1.0
    rb.step(m, d, 10)
    saved = rb.save_state(m, d)
    rb.step(m, d, 50)
    twin = rb.make_data(m)
    rb.load_state(m, twin, saved)
    rb.step(m, twin, 50)
    assert twin.buffer.tobytes() == d.buffer.tobytes()
    d.reset()
    assert not d.act.any()


def test_a_batch_moves_robots_with_actuators_like_a_single_robot(one):
    spec = rb.ActuatorSpec("j", gear=10.0, armature=1e-4, stiffness=500.0, delay=0.002)
    m = rb.with_actuators(one, [spec])
    b = rb.Batch(m, 3, specialize=False)
    b.qfrc_applied[:, 0] = 1.0, -0.5, 2.0
    for _ in range(20):
        b.step()
    for robot, torque in enumerate(b.qfrc_applied[:, 0].tolist()):
        d = rb.make_data(m)
        d.qfrc_applied[0] = torque
        rb.step(m, d, 20)
        assert b.qpos[robot, 0] == d.qpos[0]


def test_actuators_follow_their_joints_into_another_model(one):
    m = rb.with_actuators(one, [rb.ActuatorSpec("j", gear=3.0, armature=0.01, delay=0.002)])
    link = '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
    link += 'ixz="0" iyz="0"/></inertial></link>'
    joint = '<joint name="{}" type="continuous"><parent link="{}"/><child link="{}"/></joint>'
    parts = [link.format("b"), link.format("c"), joint.format("i", "a", "b")]
    more = rb.load_urdf(
        f'<robot name="two"><link name="a"/>{"".join(parts)}{joint.format("j", "b", "c")}</robot>'
    )
    both = with_actuators_of(more, m)
    assert both.actuator_dofid.tolist() == [1]
    assert both.actuator_gear.tolist() == [3.0]
    assert both.na == m.na
    assert (both.dof_armature - more.dof_armature).tolist() == pytest.approx([0.0, 0.09])
    assert with_actuators_of(more, one) is more


def test_motors_may_differ_between_robots_of_a_batch(one):
    spec = rb.ActuatorSpec("j", motorconst=(0.05, 0.05), damping=1e-3)
    m = rb.with_actuators(one, [spec])
    errors = np.array([0.0, 0.1, -0.2])
    b = rb.Batch(m, 3)
    b.expand("actuator_error")[:] = errors[:, None]
    b.qfrc_applied[:] = 1.0
    b.step(nstep=10)
    result = rb.rollout(
        m, m.qpos0, np.zeros(1), np.ones(1), nstep=10, every=10, specialize=False,
        params={"actuator_error": {"j": errors}},
    )  # fmt: skip
    for robot, error in enumerate(errors.tolist()):
        alone = rb.with_actuators(one, [replace(spec, motorconst_error=error)])
        d = rb.make_data(alone)
        d.qfrc_applied[0] = 1.0
        rb.step(alone, d, 10)
        assert b.qpos[robot, 0] == d.qpos[0] == result.qpos[robot, -1, 0]
    for params in ({"actuator_error": {"j": -1.0}}, {"actuator_damping": {"j": -1.0}}):
        with refused(ParameterError, "bad-argument", "params"):
            rb.rollout(m, m.qpos0, np.zeros(1), nstep=1, specialize=False, params=params)
    with refused(ParameterError, "bad-argument", "params"):
        rb.rollout(one, one.qpos0, np.zeros(1), nstep=1, params={"actuator_error": {"j": 0.1}})


OTHERS = """rbdyn_actuators: 1
actuators:
  elbow_pitch: {}
  shoulder_yaw:
    gear: -3.5
    motorconst: [0.1, 0.2]
    motorconst_error: -0.01
    saturation: {torque: 3.3}
    cogging: {amplitude: 0.1, poles: 7, phase: -1}
    lugre: {coulomb: 0.1, stiffness: 7, damping: 0.2}
  wrist_roll: {saturation: {torque: 2}, motorconst: [1, 0]}
  wrist_pitch: {saturation: {torque: 2}, lugre: {coulomb: 0.3, stribeck: 0.1}}
"""


def test_a_written_file_has_the_actuators_that_were_read(arm):
    for text in (Path(EXAMPLE).read_text(), "rbdyn_actuators: 1\nactuators: {}", OTHERS):
        specs = read_actuators_text(text, arm)
        assert read_actuators_text(actuators_text(specs), arm) == specs


def test_a_written_file_has_comments_and_quoted_special_names():
    spec = rb.ActuatorSpec("no", gear=2.0, damping=1e-05)
    text = actuators_text([spec], {"no": {"gear": "+- 0.1"}}, ["Made by a test."])
    assert text.split("\n") == [
        "# Made by a test.",
        "rbdyn_actuators: 1",
        "actuators:",
        '  "no":',
        "    gear: 2                               # +- 0.1",
        "    damping: 1e-05",
        "",
    ]


def test_a_string_in_place_of_a_list_of_head_lines_is_refused():
    assert actuators_text((), head=["a", "b"]).startswith("# a\n# b\n")
    with refused(rb.ParameterError, "bad-argument", "head"):
        actuators_text((), head="ab")


def test_an_actuator_of_a_joint_that_closes_a_loop_is_refused():
    m = rb.build(four_bar(0.1, 0.25, 0.2, 0.3))
    with refused(DescriptionError, "loop-joint", "actuator 'C'", line=2):
        read_actuators_text("rbdyn_actuators: 1\nactuators: {C: {}}", m)
