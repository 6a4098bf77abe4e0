# SPDX-License-Identifier: Apache-2.0
"""Arming needs an arm at rest whose measured efforts agree with the model."""

import numpy as np
import pytest
from closed_loop import FILES, MS, SEVEN, START, ClosedLoop, model
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.errors import ParameterError, RbdynError

NAN = float("nan")


def arm_after(loop, duration=0.3, **changes):
    """Run the loop for a time, then arm; return the error, or None if the arm is armed."""
    loop.run(duration, **changes)
    try:
        loop.controller.try_arm(loop.now)
    except RbdynError as error:
        assert not loop.controller.armed
        return error
    assert loop.controller.armed
    return None


def loaded(mass=4.0):
    """Return the Model of a UR5 with a payload of this mass [kg]."""
    return Arm(model()).with_payload("tool0", mass, (0.0, 0.0, 0.1)).m


def test_arming_again_leaves_an_arm_with_the_right_model_armed():
    loop = ClosedLoop(model())
    assert arm_after(loop) is None
    loop.controller.try_arm(loop.now)


def test_clear_fault_disarms_only_after_a_fault():
    loop = ClosedLoop(model(), mode="hold").arm()
    loop.controller.clear_fault()
    loop.tick()
    assert loop.controller.armed
    assert loop.answer is not None
    loop.d.qvel[0] = 9.0
    loop.tick()
    assert loop.controller.fault.code == "velocity"
    loop.controller.clear_fault()
    assert not loop.controller.armed
    assert loop.controller.fault is None


@pytest.mark.parametrize(
    ("plant", "controllers"),
    [
        ({"plant": loaded}, {}),
        ({}, {"gravity": (0, 0, 9.81)}),
        ({}, {"mounting": (np.pi, 0, 0)}),
        ({}, {"mounting": (0, np.pi / 2, 0)}),
        ({}, {"gravity": (0, 0, -1.6)}),
    ],
)
def test_a_wrong_model_mounting_or_payload_is_refused(plant, controllers):
    m = model()
    loop = ClosedLoop(m, **{name: make() for name, make in plant.items()})
    other = ClosedLoop(m, **controllers)
    loop.controller = other.controller
    loop.run(0.3)
    with refused(RbdynError, "effort-mismatch"):
        loop.controller.try_arm(loop.now)


@pytest.mark.parametrize("share", [0.98, 1.02])
def test_the_tolerance_is_a_tenth_of_the_effort_limit(share):
    """By default arm_tolerance is a tenth of each joint's effort limit."""
    loop = ClosedLoop(model())
    loop.hold()
    for k, most in enumerate(0.1 * loop.gate.limits.effort):
        off = loop.applied.copy()
        off[k] -= share * most
        # the average of the efforts has a time constant of 0.1 s
        assert (arm_after(loop, 2.0, effort=off) is None) == (share < 1.0)
        loop.controller.disarm()


def test_each_joint_can_have_its_own_tolerance():
    loop = ClosedLoop(model(), arm_tolerance=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    loop.hold()
    assert arm_after(loop, 2.0, effort=np.add(loop.applied, [0, 0, 0, 3.9, 0, 0])) is None
    loop.controller.disarm()
    loop.run(2.0, effort=np.add(loop.applied, [0, 0, 3.1, 3.9, 0, 0]))
    with refused(RbdynError, "effort-mismatch", "elbow_joint"):
        loop.controller.try_arm(loop.now)
    for bad in ((1.0,) * 5, -1.0, NAN):
        with refused(ParameterError, "bad-argument", "arm_tolerance"):
            ClosedLoop(model(), arm_tolerance=bad)


def test_a_moving_arm_is_not_armed():
    loop = ClosedLoop(model())
    loop.run(0.2)
    loop.d.qvel[3] = 0.06
    loop.tick()
    with refused(RbdynError, "moving"):
        loop.controller.try_arm(loop.now)
    loop.run(1.0)
    loop.controller.try_arm(loop.now)


def test_an_arm_without_measured_efforts_needs_arm_without_effort():
    one_less = ClosedLoop(model()).applied
    one_less[0] = NAN
    for effort in (np.empty(0), one_less, np.full(6, NAN)):
        unchecked = ClosedLoop(model(), arm_without_effort=True)
        loop = ClosedLoop(model())
        loop.run(0.3, effort=effort)
        with refused(RbdynError, "no-effort", "shoulder_pan_joint"):
            loop.controller.try_arm(loop.now)
        assert arm_after(unchecked, effort=effort) is None
        # joints without a measured effort start with the effort that holds the arm
        unchecked.tick(effort=effort)
        np.testing.assert_allclose(
            unchecked.answer,
            unchecked.bare.gravity_effort(unchecked.d.qpos, np.empty(6)),
            atol=1e-9,
        )


def test_a_wrong_effort_prevents_arming_even_if_the_other_efforts_are_missing():
    loop = ClosedLoop(model(), arm_without_effort=True)
    effort = np.full(6, NAN)
    effort[1] = 0.0  # gravity needs -50 N m at this joint
    loop.run(0.3, effort=effort)
    with refused(RbdynError, "effort-mismatch", "shoulder_lift_joint"):
        loop.controller.try_arm(loop.now)


def test_an_arm_without_states_or_mode_is_not_armed():
    loop = ClosedLoop(model())
    with refused(RbdynError, "state", "age"):
        loop.controller.try_arm(START)
    loop.run(0.1)
    with refused(RbdynError, "state", "age"):
        loop.controller.try_arm(loop.now + 200 * MS)
    loop.controller.set_mode("idle")
    with refused(RbdynError, "mode", "idle"):
        loop.controller.try_arm(loop.now)
    loop.controller.set_mode("gravity")
    loop.run(0.1)
    loop.controller.try_arm(loop.now)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"velocity": np.full(6, NAN)}, "finite"),
        ({"names": ["a", "elbow_joint"]}, "names"),
        ({"position": np.array([0.3, -0.9, 4.0, -0.7, 0.5, 0.4])}, "position"),
        ({"stamp": START - 5}, "clock"),
        ({"velocity": np.array([4.0, 0, 0, 0, 0, 0])}, "velocity"),
    ],
)
def test_faults_of_a_disarmed_arm_are_not_latched_but_prevent_arming(changes, fault):
    loop = ClosedLoop(model())
    loop.run(0.1)
    loop.tick(**changes)
    assert loop.controller.fault is None
    with refused(RbdynError, "state", fault):
        loop.controller.try_arm(loop.now)
    assert loop.controller.fault is None
    loop.now += 200 * MS if "stamp" in changes else 0
    loop.run(0.5)
    loop.controller.try_arm(loop.now)


def test_an_arm_that_cannot_be_held_within_its_limits_is_refused():
    loop = ClosedLoop(model(), arm_without_effort=True)
    loop.controller.set_payload("tool0", 60.0, (0, 0, 0), (0,) * 6)
    loop.run(0.3, effort=np.empty(0))
    with refused(RbdynError, "too-heavy", "shoulder_lift_joint"):
        loop.controller.try_arm(loop.now)


@pytest.mark.parametrize("includes", [True, False])
def test_an_arm_is_armed_whether_or_not_its_measured_efforts_include_gravity(includes):
    keywords = {"arm": {"robot_compensates_gravity": True}, "effort_includes_gravity": includes}
    loop = ClosedLoop(model(), **keywords)
    loop.hold()
    own = loop.bare.gravity_effort(loop.d.qpos, np.empty(6))
    measured = own if includes else np.zeros(6)
    assert arm_after(loop, effort=measured) is None
    loop.tick(effort=measured)
    np.testing.assert_allclose(loop.answer, 0.0, atol=1e-9)
    other = ClosedLoop(model(), **keywords)
    other.run(0.3, effort=own - measured)
    with refused(RbdynError, "effort-mismatch"):
        other.controller.try_arm(other.now)


@pytest.mark.parametrize("off", [0.02, 0.05, 0.09])
def test_the_first_effort_is_computed_from_the_model(off):
    """Measured efforts may be wrong by up to arm_tolerance, so they do not become a command."""
    loop = ClosedLoop(model(), mode="hold")
    loop.run(0.3)
    wrong = loop.applied + off * loop.gate.limits.effort * np.array([1, -1, 1, -1, 1, -1])
    loop.run(0.2, effort=wrong)
    g = loop.bare.gravity_effort(loop.d.qpos, np.empty(6)).copy()
    loop.controller.try_arm(loop.now)
    loop.tick(effort=wrong)
    np.testing.assert_allclose(loop.answer, g, rtol=0, atol=1e-6)


@pytest.mark.parametrize("file", [FILES[0], SEVEN])
@pytest.mark.parametrize(("off", "noise"), [(0.09, 0.0), (-0.09, 0.0), (0.0, 0.03)])
def test_an_arm_with_wrong_or_noisy_efforts_does_not_move_after_arming(file, off, noise):
    loop, random = ClosedLoop(model(file)), np.random.default_rng(1)
    rest, n = loop.d.qpos.copy(), len(loop.d.qpos)
    most = np.zeros(n)
    most[loop.dofs] = loop.gate.limits.effort

    def run(time):
        for _ in range(round(time / loop.h)):
            wrong = off * most + noise * most * random.standard_normal(n)
            loop.tick(effort=loop.applied + wrong)

    run(0.5)
    loop.controller.try_arm(loop.now)
    run(1.5)
    assert np.abs(loop.d.qpos - rest).max() < 0.01


@pytest.mark.parametrize(
    ("mass", "code"),
    [(0.5, "payload-mismatch"), (1.0, "payload-mismatch"), (3.0, "effort-mismatch")],
)
def test_a_missing_payload_is_refused_while_armed(mass, code):
    """Measured efforts must fit the model with the payload better than the model without it."""
    loop = ClosedLoop(model(), mode="hold").arm()
    loop.run(1.0)
    with refused(RbdynError, code):
        loop.controller.set_payload("tool0", mass, (0.0, 0.0, 0.05), (0.0,) * 6)
    loop.plant = rb.with_payload(loop.plant, "tool0", mass, (0.0, 0.0, 0.05))
    d, loop.d = loop.d, rb.make_data(loop.plant)
    loop.d.qpos, loop.d.qvel = d.qpos, d.qvel
    loop.run(1.0)
    loop.controller.set_payload("tool0", mass, (0.0, 0.0, 0.05), (0.0,) * 6)
    loop.run(0.5)
    assert loop.controller.fault is None
