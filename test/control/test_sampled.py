# SPDX-License-Identifier: Apache-2.0
"""The rate of the states limits the gains with which an arm is stable."""

import numpy as np
import pytest
from closed_loop import BENT, model
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.base.target import Target
from rbdyn_ros.control.laws.cartesian import CartesianImpedance
from rbdyn_ros.control.laws.mode_laws import ModeLaws
from rbdyn_ros.control.laws.sampled import LARGEST, check_joint_gains
from rbdyn_ros.errors import RbdynError


@pytest.mark.parametrize(("stiffness", "damping"), [(0.0, 1.0), (1.0, 0.0)])
def test_the_sampling_rate_limits_stiffness_and_damping(stiffness, damping):
    dt = 0.01
    K, D = np.array([stiffness * (LARGEST / dt) ** 2]), np.array([damping * LARGEST / dt])
    check_joint_gains(["a"], 0.999 * K, 0.999 * D, np.ones(1), dt)
    with refused(RbdynError, "gains", "a"):
        check_joint_gains(["a"], 1.01 * K, 1.01 * D, np.ones(1), dt)


def test_a_sampled_damper_is_unstable_beyond_the_largest_gain():
    """The damper is I dv/dt = -D v, with an effort that is one period late."""

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
    modes = ModeLaws(arm, ControlSettings())
    for mode in ("gravity", "hold", "computed_torque", "impedance"):
        modes.check_gains(mode, q, 0.002, limits)
    stiff = ModeLaws(arm, ControlSettings(impedance_stiffness=100.0, impedance_damping=10.0))
    with refused(RbdynError, "gains"):
        stiff.check_gains("impedance", q, 0.002, limits)
    with refused(RbdynError, "gains"):
        modes.check_gains("hold", q, 0.021, limits)


def test_the_default_impedance_follows_from_computed_torque_and_the_inertia():
    m, q = model(), np.array(BENT["ur5_robot.urdf"])
    d = rb.make_data(m)
    d.qpos = q
    inertia = rb.reflected_inertia(m, d)
    modes, target = ModeLaws(Arm(m), ControlSettings(stiffness=100.0)), Target(m.nv, q)
    modes.rest_at(q)
    zero = np.zeros(m.nv)
    still = modes.effort("impedance", q, zero, target).copy()
    pulled = modes.effort("impedance", q, zero, Target(m.nv, q + 0.1)) - still
    np.testing.assert_allclose(pulled, 100.0 * inertia * 0.1, rtol=1e-9)
    moving = modes.effort("impedance", q, 1e-6 * np.ones(m.nv), target) - still
    # the damping is critical: 2 sqrt(K I); C v is of second order in the velocity
    np.testing.assert_allclose(moving, -20.0 * inertia * 1e-6, rtol=1e-5, atol=1e-13)


@pytest.mark.parametrize("file", ["ur5_robot.urdf", "panda.urdf"])
def test_the_default_stiffness_of_a_frame_suits_1_khz(file):
    m, q = model(file), np.array(BENT[file])
    arm, limits = Arm(m), Limits.of(m)
    frame = m.frame_names[int(np.flatnonzero(m.frame_bodyid == m.nbody - 1)[0])]
    fine = ModeLaws(arm, ControlSettings(frame=frame))
    fine.check_gains("impedance", q, 0.001, limits)
    stiff = ModeLaws(arm, ControlSettings(frame=frame, cartesian_stiffness=(1e6,) * 6))
    with refused(RbdynError, "gains", "frame"):
        stiff.check_gains("impedance", q, 0.001, limits)
    heavy = ModeLaws(arm, ControlSettings(frame=frame, null_damping=1e3))
    with refused(RbdynError, "gains") as caught:
        heavy.check_gains("impedance", q, 0.001, limits)
    assert caught.value.element in limits.names


def test_the_highest_frequency_of_a_frame_follows_from_its_mobility():
    """With the stiffness K in one direction the frequency is sqrt(K mobility)."""
    m, q = model(), np.array(BENT["ur5_robot.urdf"])
    law = CartesianImpedance(Arm(m), "tool0", np.diag([0, 0, 0, 0, 0, 50.0]).diagonal(), 0.7, 0, 0)
    d = rb.make_data(m)
    d.qpos = q
    mobility = rb.frame_mobility(m, d, "tool0")[5, 5]
    assert law.fastest(q) == (pytest.approx(np.sqrt(50.0 * mobility), rel=1e-9), 0.7)
