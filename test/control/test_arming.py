"""Arming: only an arm at rest whose efforts are those of the model is taken over."""

import numpy as np
import pytest
from closed_loop import MS, START, ClosedLoop, model

from rbdyn_ros.control.arm import Arm
from rbdyn_ros.errors import ParameterError

NAN = float("nan")


def why_not(loop, duration=0.3, **changes):
    loop.run(duration, **changes)
    why = loop.controller.try_arm(loop.now)
    assert loop.controller.armed == (why == "")
    return why


def loaded(mass=4.0):
    """Return a UR5 with something in its hand."""
    return Arm(model()).with_payload("tool0", mass, (0.0, 0.0, 0.1)).m


def test_the_right_model_is_armed_and_stays_armed():
    loop = ClosedLoop(model())
    assert why_not(loop) == ""
    assert loop.controller.try_arm(loop.now) == ""


@pytest.mark.parametrize(
    ("plant", "controllers"),
    [
        ({"plant": loaded()}, {}),
        ({}, {"gravity": (0, 0, 9.81)}),
        ({}, {"mounting": (np.pi, 0, 0)}),
        ({}, {"mounting": (0, np.pi / 2, 0)}),
        ({}, {"gravity": (0, 0, -1.6)}),
    ],
)
def test_a_wrong_model_mounting_or_payload_is_refused(plant, controllers):
    m = model()
    loop = ClosedLoop(m, **plant)
    other = ClosedLoop(m, **controllers)
    loop.controller = other.controller
    why = why_not(loop)
    assert "Is it the right model, mounting and payload?" in why
    assert "measures" in why
    assert "where the model needs" in why


@pytest.mark.parametrize("share", [0.98, 1.02])
def test_the_tolerance_is_where_it_is_said_to_be(share):
    """A tenth of the limit of its effort, of each joint for itself."""
    loop = ClosedLoop(model())
    loop.hold()
    for k, most in enumerate(0.1 * loop.gate.limits.effort):
        off = loop.applied.copy()
        off[k] -= share * most
        # 2 s are 20 times what is averaged over
        assert (why_not(loop, 2.0, effort=off) == "") == (share < 1.0)
        loop.controller.disarm()


def test_tolerances_of_each_joint_can_be_told():
    loop = ClosedLoop(model(), arm_tolerance=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    loop.hold()
    assert why_not(loop, 2.0, effort=np.add(loop.applied, [0, 0, 0, 3.9, 0, 0])) == ""
    loop.controller.disarm()
    why = why_not(loop, 2.0, effort=np.add(loop.applied, [0, 0, 3.1, 3.9, 0, 0]))
    assert "joint 'elbow_joint'" in why
    assert "may be 3." in why
    for bad in ((1.0,) * 5, -1.0, NAN):
        with pytest.raises(ParameterError, match="arm_tolerance"):
            ClosedLoop(model(), arm_tolerance=bad)


def test_an_arm_that_moves_is_refused():
    loop = ClosedLoop(model())
    loop.run(0.2)
    loop.d.qvel[3] = 0.06
    loop.tick()
    assert "the arm moves, at 0.06" in loop.controller.try_arm(loop.now)
    loop.run(1.0)
    assert loop.controller.try_arm(loop.now) == ""


def test_an_arm_without_efforts_is_refused_unless_that_is_wanted():
    one_less = ClosedLoop(model()).applied
    one_less[0] = NAN
    for effort in (np.empty(0), one_less, np.full(6, NAN)):
        unchecked = ClosedLoop(model(), arm_without_effort=True)
        loop = ClosedLoop(model())
        assert "joint 'shoulder_pan_joint' measures no effort" in why_not(loop, effort=effort)
        assert why_not(unchecked, effort=effort) == ""
        unchecked.tick(effort=effort)  # what is not measured starts with what holds the arm
        np.testing.assert_allclose(
            unchecked.answer,
            unchecked.bare.gravity_effort(unchecked.d.qpos, np.empty(6)),
            atol=1e-9,
        )


def test_efforts_that_are_measured_are_looked_at_even_if_others_are_not():
    loop = ClosedLoop(model(), arm_without_effort=True)
    effort = np.full(6, NAN)
    effort[1] = 0.0  # g is -50 there
    assert "joint 'shoulder_lift_joint' measures 0 " in why_not(loop, effort=effort)


def test_without_states_or_mode_nothing_is_armed():
    loop = ClosedLoop(model())
    assert loop.controller.try_arm(START) == "no state of the arm came yet"
    loop.run(0.1)
    assert "old; at most 0.1 s is allowed" in loop.controller.try_arm(loop.now + 200 * MS)
    loop.controller.set_mode("idle")
    assert "the mode is idle; choose one of gravity, hold," in loop.controller.try_arm(loop.now)
    loop.controller.set_mode("gravity")
    loop.run(0.1)
    assert loop.controller.try_arm(loop.now) == ""


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"velocity": np.full(6, NAN)}, "the velocity of joint 'shoulder_pan_joint' is nan"),
        ({"names": ["a", "elbow_joint"]}, "is missing"),
        ({"position": np.array([0.3, -0.9, 4.0, -0.7, 0.5, 0.4])}, "elbow_joint' is at 4"),
        ({"stamp": START - 5}, "the clock of the states jumped"),
        ({"velocity": np.array([4.0, 0, 0, 0, 0, 0])}, "moves at 4; its velocity limit is 3.15"),
    ],
)
def test_faults_of_a_disarmed_arm_are_not_latched_but_not_armed_either(changes, why):
    loop = ClosedLoop(model())
    loop.run(0.1)
    loop.tick(**changes)
    assert loop.controller.fault is None
    assert why in loop.controller.try_arm(loop.now)
    assert loop.controller.fault is None
    loop.now += 200 * MS if "stamp" in changes else 0
    loop.run(0.5)
    assert loop.controller.try_arm(loop.now) == ""


def test_an_arm_that_cannot_be_held_within_its_limits_is_refused():
    loop = ClosedLoop(model(), arm_without_effort=True)
    loop.controller.set_payload("tool0", 60.0, (0, 0, 0), (0,) * 6)
    why = why_not(loop, effort=np.empty(0))
    assert "would need" in why
    assert "the limit of its effort is 150" in why


@pytest.mark.parametrize("includes", [True, False])
def test_a_robot_that_compensates_gravity_is_compared_by_what_it_measures(includes):
    keywords = {"arm": {"robot_compensates_gravity": True}, "effort_includes_gravity": includes}
    loop = ClosedLoop(model(), **keywords)
    loop.hold()
    own = loop.bare.gravity_effort(loop.d.qpos, np.empty(6))
    measured = own if includes else np.zeros(6)
    assert why_not(loop, effort=measured) == ""
    loop.tick(effort=measured)
    np.testing.assert_allclose(loop.answer, 0.0, atol=1e-9)
    other = ClosedLoop(model(), **keywords)
    assert "Is it the right model" in why_not(other, effort=own - measured)


def test_the_first_effort_is_the_one_that_was_measured():
    loop = ClosedLoop(model(), mode="hold")
    loop.run(0.3)
    measured = np.add(loop.applied, [5.0, -8.0, 9.0, 2.0, -1.0, 1.0])
    loop.tick(effort=measured)
    assert loop.controller.try_arm(loop.now) == ""
    loop.tick(effort=measured)
    np.testing.assert_allclose(loop.answer, measured, rtol=0, atol=1e-9)


def test_one_wild_measurement_does_not_become_an_effort():
    """It is 15 N m from what holds the arm at most: what is tolerated."""
    loop = ClosedLoop(model())
    loop.run(0.5)
    g = loop.applied.copy()
    loop.tick(effort=np.add(g, [140.0, 0, 0, 0, 0, 0]))
    assert loop.controller.try_arm(loop.now) == ""
    loop.tick()
    np.testing.assert_allclose(loop.answer, np.add(g, [15.0, 0, 0, 0, 0, 0]), rtol=0, atol=1e-6)
