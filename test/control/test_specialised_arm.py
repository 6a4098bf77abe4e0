# SPDX-License-Identifier: Apache-2.0
"""Laws specialised for an arm compute the efforts of the engine, with any payload."""

import numpy as np
import pytest
from closed_loop import SEVEN, model, path_of
from support.refusals import refused
from test_arm import PAYLOAD, each_arm, state
from test_laws import wanted

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.control.laws.joint_laws import (
    ComputedTorque,
    GravityCompensation,
    JointImpedance,
    PDGravity,
)
from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.errors import ModelError

if jit.DISABLED:
    pytest.skip("code is called by compiled code only", allow_module_level=True)

TWO_GAINS = (ComputedTorque, JointImpedance, PDGravity)
TURNED = (0.3, -0.5, 1.0)


def laws_of(arm):
    gains = np.linspace(1.0, 2.0, arm.m.nv)
    yield GravityCompensation(arm, 3.0)
    for law in TWO_GAINS:
        yield law(arm, 300.0 * gains, 25.0 * gains[::-1])


def agree(law, other, nv, file):
    """Assert that the laws of two arms give the same efforts, up to rounding of their terms."""
    for seed in range(5):
        (q, v, _), target = state(file, seed), wanted(nv, seed)
        expected = law(q, v, target).copy()
        found = other(q, v, target)
        assert found is other.effort
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * scale)


@each_arm
def test_efforts_match_the_engine(file):
    m = model(file)
    plain = Arm(m, mounting=TURNED)
    special = plain.specialized()
    for law, other in zip(laws_of(plain), laws_of(special), strict=True):
        other._compute = None  # the engine must not be used
        agree(law, other, m.nv, file)


@pytest.mark.parametrize("file", ["ur5_robot.urdf", SEVEN])
def test_specialised_laws_include_payloads_friction_and_own_gravity(file):
    m = model(file)
    friction = Friction.of(m.nv, viscous=0.7, coulomb=0.3)
    own = {"robot_compensates_gravity": True, "robot_compensates_coriolis": True}
    plain = Arm(m, (0.5, 1.0, -9.0), TURNED, friction, **own)
    special = plain.specialized()
    link, mass, com, inertia = PAYLOAD
    link = link if link in m.frame_names else "tool_flange"
    loaded, other = (arm.with_payload(link, mass, com, inertia) for arm in (plain, special))
    assert other.code is special.code is special.twin().code is not None
    for law, light, heavy in zip(laws_of(plain), laws_of(special), laws_of(other), strict=True):
        agree(law, light, m.nv, file)
        before = light.effort.copy()
        law.use(loaded)
        light.use(other)  # this is how the node adds a payload
        for found in (light, heavy):
            found._compute = None
            agree(law, found, m.nv, file)
        assert np.abs(light.effort - before).max() > 1.0
        light.use(other.with_payload(link, 0.0, (0.0,) * 3))
        law.use(plain)
        agree(law, light, m.nv, file)


def test_specialised_laws_read_the_gains_at_every_call():
    """The code reads the gains at every call, and writes only the efforts."""
    m = model(SEVEN)
    plain, special = ComputedTorque(Arm(m), 100.0, 20.0), specialised_law(m)
    special.set_gains(400.0, 40.0)
    plain.set_gains(400.0, 40.0)
    agree(plain, special, m.nv, SEVEN)
    np.testing.assert_array_equal(special._memory[0], 400.0)
    np.testing.assert_array_equal(special._memory[1], 40.0)


def specialised_law(m):
    return ComputedTorque(Arm(m).specialized(), 100.0, 20.0)


def test_computed_torque_causes_the_desired_acceleration():
    """The engine's forward dynamics return the acceleration."""
    m = model("ur5_robot.urdf")
    (q, v, _), target = state("ur5_robot.urdf"), wanted(m.nv)
    d = rb.make_data(m)
    d.qpos, d.qvel = q, v
    d.qfrc_applied = specialised_law(m)(q, v, target)
    rb.forward_dynamics(m, d)
    asked = target.qacc + 20.0 * (target.qvel - v) + 100.0 * (target.qpos - q)
    np.testing.assert_allclose(d.qacc, asked, rtol=1e-9, atol=1e-9)


def test_laws_with_other_options_use_the_engine():
    m = model(SEVEN)
    plain, law = Arm(m), specialised_law(m)
    for arm in (plain, law.arm):
        arm.m.opt.passive = True
    rows = wanted(m.nv).rows
    assert not law.arm.code.computes("computed_torque", law.arm.d, law._memory, rows)
    agree(ComputedTorque(plain, 100.0, 20.0), law, m.nv, SEVEN)


def test_specialising_does_not_change_the_arm():
    m = model(SEVEN)
    before = m.sha256()
    arm = Arm(m).specialized()
    assert (m.sha256(), arm.sha256, arm.d.step_stage) == (before, before, 0)


def test_an_arm_with_contact_is_refused():
    m = rb.load_urdf(path_of("ur5_robot.urdf"), contact=True)
    with refused(ModelError, "not-traceable"):
        Arm(m).specialized()


def test_code_of_another_robot_is_refused():
    m = model(SEVEN)
    other = m.replaced(dof_armature=m.dof_armature + 0.1)
    code = Arm(other).specialized().code
    with refused(ModelError, "other-model"):
        Arm(m, code=code)
