# SPDX-License-Identifier: Apache-2.0
"""Motors and gears are identified from recordings of a simulated arm with actuators."""

from dataclasses import replace

import numpy as np
import pytest
from identification.driven_arm import arm, driven, noisy
from support.refusals import refused, worded

import rbdyn_ros as rb
from rbdyn_ros.actuators import read_actuators_text
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.errors import ModelError, ParameterError
from rbdyn_ros.identification import actuators_file, identify_actuators
from rbdyn_ros.identification.actuators.identify import CUTOFF
from rbdyn_ros.identification.data.motion import Motion
from rbdyn_ros.identification.data.signals import motor_angles, to_motion
from rbdyn_ros.identification.equations.residuals import validate
from rbdyn_ros.identification.excitation.sweeps import sweeps

#: Slow sweeps about this posture always load the elbow's gear; fast sweeps unload it at times.
CENTRE = (0.0, 0.2, 0.3)
EXACT = 0.05


@pytest.fixture(scope="module")
def robot():
    return arm()


@pytest.fixture(scope="module")
def samples(robot):
    m, specs = robot
    return driven(m, specs, sweeps(m, centre=CENTRE, reach=0.8))


def identified(m, samples, motors=True, **options):
    motion = to_motion(samples, CUTOFF)
    angles = motor_angles(samples, motion) if motors else {}
    found = identify_actuators(m, motion, motors=angles, **options)
    for one in found:
        for text in one.messages:
            worded("actuators", text)
    return {one.joint: one for one in found}


def numbers(spec):
    _, _, coulomb, static, stribeck = spec.lugre
    return {
        "gear": spec.gear,
        "armature": spec.armature,
        "motorconst": spec.motorconst[0] * (1.0 + spec.motorconst_error),
        "motorconst_error": spec.motorconst_error,
        "lugre.coulomb": coulomb,
        "lugre.static": static,
        "lugre.stribeck": stribeck,
        "damping": spec.damping,
        "elastic.backlash": spec.backlash,
    }


def test_motors_and_gears_are_identified_from_noisy_samples(robot, samples):
    m, specs = robot
    elbow = rb.ActuatorSpec("elbow", armature=2e-5, stiffness=3000.0, gear_damping=5.0)
    found = identified(m, noisy(samples), current=True, known=[elbow])
    for spec in specs:
        one, truth = found[spec.joint], numbers(spec)
        for key, number in one.found.items():
            print(spec.joint, key, truth[key], number)
            assert number.value == pytest.approx(truth[key], rel=EXACT)
            assert numbers(one.spec)[key] == pytest.approx(number.value, rel=1e-5)
        assert one.unexplained < 0.03
    everything = set(numbers(specs[0])) - {"motorconst_error", "elastic.backlash"}
    assert set(found["yaw"].found) == set(found["shoulder"].found) == everything
    assert set(found["elbow"].found) == everything - {"armature"} | {"elastic.backlash"}
    assert found["elbow"].spec.stiffness == 3000.0  # this is the known value


def test_wrong_torque_constants_of_drives_are_corrected(robot, samples):
    m, specs = robot
    assumed = [spec.gear * spec.motorconst[0] for spec in specs]
    torques = replace(noisy(samples), effort=noisy(samples).effort * assumed)
    known = [replace(spec, motorconst_error=0.0, lugre=(0.0,) * 4 + (1.0,)) for spec in specs]
    for current, recording, before in (
        (False, torques, ()),
        (False, torques, known),
        (True, noisy(samples), known),
    ):
        found = identified(m, recording, current=current, known=before)
        errors = [one.found["motorconst_error"].value for one in found.values()]
        assert errors == pytest.approx([0.0, 0.08, 0.0], abs=0.01)
        shoulder = found["shoulder"]
        assert shoulder.found["lugre.static"].value == pytest.approx(0.03, rel=EXACT)
        # if the torque constant is unknown, torques count as currents with 1 N m/A
        assert shoulder.spec.motorconst == ((0.08, 0.08) if before else (1.0, 0.0))


def test_the_actuators_file_holds_the_result_and_can_be_simulated(robot, samples, tmp_path):
    m, specs = robot
    elbow = rb.ActuatorSpec("elbow", armature=2e-5, stiffness=3000.0, gear_damping=5.0)
    found = identified(m, noisy(samples), current=True, known=[elbow])
    text = actuators_file(tuple(found.values()), [elbow], ["from a test"])
    assert text.startswith("# from a test\n")
    assert text.count("+-") == sum(len(one.found) for one in found.values())
    read = {spec.joint: spec for spec in read_actuators_text(text, m)}
    assert read == {name: one.spec for name, one in found.items()}
    path = tmp_path / "actuators.yaml"
    path.write_text(text)
    motion = sweeps(m, centre=CENTRE, reach=0.8, speeds=2, slowest=0.1, duration=5.0)
    again, true = driven(m, path, motion), driven(m, specs, motion)
    difference = (again.effort - true.effort).std(axis=0) / true.effort.std(axis=0)
    print("currents of the identified arm, relative difference", difference)
    # impacts in the elbow's backlash amplify small differences
    assert (difference < (0.03, 0.1, 0.15)).all()


def test_fast_motions_show_no_stribeck_friction(robot, samples):
    m, _ = robot
    fast = slice(0, 15000)  # these are the sweeps at three speeds
    rows = {name: getattr(samples, name)[fast] for name in ("time", "qpos", "qvel", "effort")}
    found = identified(m, noisy(replace(samples, motors={}, **rows)), current=True)["shoulder"]
    # without a known gear and angles of the motor, all numbers refer to the joint
    assert found.spec.gear == 1.0
    assert found.found["motorconst"].value == pytest.approx(8.64, rel=EXACT)
    assert set(found.found) == {"motorconst", "armature", "lugre.coulomb", "damping"}
    assert unknown(found) == ["backlash", "Stribeck friction"]


def unknown(one):
    """Return the parameters that the messages call not identifiable."""
    texts = [text.removeprefix(f"joint '{one.joint}': ") for text in one.messages]
    return [text.partition(" is not identifiable")[0] for text in texts]


@pytest.fixture(scope="module")
def alone(robot):
    """Return Samples in which only the yaw joint moves, about a vertical axis."""
    m, specs = robot
    return driven(m, specs, sweeps(m, ["yaw"], duration=50.0))


def test_a_joint_without_load_has_no_torque_constant(robot, alone):
    m, _ = robot
    found = identified(m, alone, current=True)
    assert unknown(found["yaw"]) == ["backlash", "the torque constant", "friction"]
    assert set(found["yaw"].found) == {"gear"}
    for name in ("shoulder", "elbow"):
        assert found[name].messages == (
            f"joint '{name}': it hardly moves, so nothing is identified",
        )
        assert found[name].spec is None
    # with a known rotor inertia or a known torque constant, friction is identifiable
    for spec in (
        rb.ActuatorSpec("yaw", gear=50.0, armature=5e-5),
        rb.ActuatorSpec("yaw", gear=50.0, motorconst=(0.05, 0.05)),
    ):
        one = identified(m, alone, current=True, known=[spec])["yaw"]
        assert numbers(one.spec)["motorconst"] == pytest.approx(0.05, rel=EXACT)
        assert one.found["lugre.static"].value == pytest.approx(0.018, rel=EXACT)


def creeping(m, turn=1.0, sign=1.0):
    """Return a Motion of the shoulder with dry friction of 2 N m; `sign` multiplies efforts."""
    t = np.linspace(0.0, 20.0, 1000)
    w = 0.3 * np.pi
    q, v, a = 0.1 * t + turn * np.sin(w * t), 0.1 + turn * w * np.cos(w * t), -turn * w * w
    zeros = np.zeros((len(t), 1))
    rows = [np.asarray(x)[:, None] for x in (q, v, a * np.sin(w * t))]
    still = Motion(("shoulder",), t, *rows, zeros)
    load = validate(m, Friction.of(m.nv), still).predicted
    noise = np.random.default_rng(1).normal(0.0, 0.01, load.shape)
    return Motion(("shoulder",), t, *rows, sign * (load + 2.0 * np.sign(rows[1])) + noise)


def test_a_motion_in_one_direction_shows_no_dry_friction(robot):
    (one,) = identify_actuators(robot[0], creeping(robot[0], turn=0.1))
    assert "dry friction" in unknown(one)
    assert one.found["motorconst_error"].value == pytest.approx(0.0, abs=0.01)
    (both,) = identify_actuators(robot[0], creeping(robot[0]))
    assert both.found["lugre.coulomb"].value == pytest.approx(2.0, rel=0.01)


def test_efforts_of_the_wrong_sign_or_without_changes_are_reported(robot):
    (one,) = identify_actuators(robot[0], creeping(robot[0], sign=-1.0))
    assert one.spec is None
    assert "effort falls when its load grows" in one.messages[-1]
    still = replace(creeping(robot[0]), effort=np.ones((1000, 1)))
    (one,) = identify_actuators(robot[0], still)
    assert one.spec is None
    assert "effort is constant" in one.messages[-1]


def test_identified_friction_does_not_include_the_friction_of_the_description(robot):
    m = robot[0].replaced(dof_frictionloss=[0.0, 1.5, 0.0])
    (one,) = identify_actuators(m, creeping(robot[0]))
    assert one.found["lugre.coulomb"].value == pytest.approx(0.5, rel=0.01)


def test_a_known_gear_that_differs_is_reported(robot, samples):
    found = identified(robot[0], samples, known=[rb.ActuatorSpec("yaw", gear=60.0)], current=True)
    assert found["yaw"].spec.gear == pytest.approx(50.0, rel=1e-3)
    assert any("not the known 60" in text for text in found["yaw"].messages)
    found = identified(robot[0], samples, known=[rb.ActuatorSpec("yaw", gear=50.2)], current=True)
    assert found["yaw"].spec.gear == 50.2
    assert "gear" not in found["yaw"].found


def test_invalid_arguments_are_refused(robot):
    m, specs = robot
    motion = creeping(m)
    with refused(ModelError, "has-actuators"):
        identify_actuators(rb.with_actuators(m, specs), motion)
    for motors in ({"elbow": motion.time}, {"shoulder": motion.time[1:]}, {"shoulder": "x"}):
        with refused(ParameterError, "bad-motion"):
            identify_actuators(m, motion, motors=motors)
