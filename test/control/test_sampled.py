"""Gains that are too much for the rate of the states."""

import numpy as np
import pytest
from closed_loop import BENT, model

import rbdyn_ros as rb
from rbdyn_ros.control.arm import Arm
from rbdyn_ros.control.cartesian import CartesianImpedance
from rbdyn_ros.control.limits import Limits
from rbdyn_ros.control.mode_laws import ModeLaws
from rbdyn_ros.control.sampled import LARGEST, why_shaky
from rbdyn_ros.control.settings import Settings
from rbdyn_ros.control.target import Target


@pytest.mark.parametrize(("stiffness", "damping"), [(0.0, 1.0), (1.0, 0.0)])
def test_the_border_is_a_part_of_a_radian_and_of_a_decay_in_a_period(stiffness, damping):
    dt = 0.01
    K, D = np.array([stiffness * (LARGEST / dt) ** 2]), np.array([damping * LARGEST / dt])
    assert why_shaky(["a"], 0.999 * K, 0.999 * D, np.ones(1), dt) == ""
    why = why_shaky(["a"], 1.01 * K, 1.01 * D, np.ones(1), dt)
    assert why.startswith("joint 'a' would shake: stiffness")
    assert why.endswith("they come at 100 Hz")


def test_a_sampled_damper_shakes_where_it_is_refused_and_not_where_it_is_taken():
    """I dv/dt = -D v, the effort one period late."""

    def grows(rate, dt=0.001):
        v, late = 1.0, [0.0]
        for _ in range(2000):
            late.append(-rate * v)
            v += dt * late.pop(0)
        return abs(v) > 1.0

    assert grows(1050.0)
    assert not grows(LARGEST / 0.001)


@pytest.mark.parametrize("file", ["ur5_robot.urdf", "panda.urdf"])
def test_default_impedance_suits_every_joint(file):
    m, q = model(file), np.array(BENT[file])
    arm, limits = Arm(m), Limits.of(m)
    modes = ModeLaws(arm, Settings())
    for mode in ("gravity", "hold", "computed_torque", "impedance"):
        assert modes.why_shaky(mode, q, 0.002, limits) == ""
    stiff = ModeLaws(arm, Settings(impedance_stiffness=100.0, impedance_damping=10.0))
    assert "would shake" in stiff.why_shaky("impedance", q, 0.002, limits)
    assert "would shake" in modes.why_shaky("hold", q, 0.021, limits)


def test_stiffness_that_is_not_given_is_that_of_computed_torque_where_the_mode_begins():
    m, q = model(), np.array(BENT["ur5_robot.urdf"])
    d = rb.make_data(m)
    d.qpos = q
    inertia = rb.reflected_inertia(m, d)
    modes, target = ModeLaws(Arm(m), Settings(stiffness=100.0)), Target(m.nv, q)
    modes.rest_at(q)
    zero = np.zeros(m.nv)
    still = modes.effort("impedance", q, zero, target).copy()
    pulled = modes.effort("impedance", q, zero, Target(m.nv, q + 0.1)) - still
    np.testing.assert_allclose(pulled, 100.0 * inertia * 0.1, rtol=1e-9)
    moving = modes.effort("impedance", q, 1e-6 * np.ones(m.nv), target) - still
    # critical: 2 sqrt(K I); what is left of C v is of second order
    np.testing.assert_allclose(moving, -20.0 * inertia * 1e-6, rtol=1e-5, atol=1e-13)


@pytest.mark.parametrize("file", ["ur5_robot.urdf", "panda.urdf"])
def test_the_default_stiffness_of_a_frame_suits_1_khz_and_an_absurd_one_does_not(file):
    m, q = model(file), np.array(BENT[file])
    arm, limits = Arm(m), Limits.of(m)
    frame = m.frame_names[int(np.flatnonzero(m.frame_bodyid == m.nbody - 1)[0])]
    fine = ModeLaws(arm, Settings(frame=frame))
    assert fine.why_shaky("impedance", q, 0.001, limits) == ""
    stiff = ModeLaws(arm, Settings(frame=frame, cartesian_stiffness=(1e6,) * 6))
    assert "the frame would shake" in stiff.why_shaky("impedance", q, 0.001, limits)
    heavy = ModeLaws(arm, Settings(frame=frame, null_damping=1e3))
    assert "would shake: stiffness" in heavy.why_shaky("impedance", q, 0.001, limits)


def test_the_fastest_swing_of_a_frame_is_what_the_arm_does_on_it():
    """A point of a pendulum: stiffness K on the mobility of the frame."""
    m, q = model(), np.array(BENT["ur5_robot.urdf"])
    law = CartesianImpedance(Arm(m), "tool0", np.diag([0, 0, 0, 0, 0, 50.0]).diagonal(), 0.7, 0, 0)
    d = rb.make_data(m)
    d.qpos = q
    mobility = rb.frame_mobility(m, d, "tool0")[5, 5]
    assert law.fastest(q) == (pytest.approx(np.sqrt(50.0 * mobility), rel=1e-9), 0.7)
