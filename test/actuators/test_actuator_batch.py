# SPDX-License-Identifier: Apache-2.0
"""Each robot in a Batch has its own actuators, with their own commands and states."""

from dataclasses import replace

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.actuators import read_actuators
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.rollouts.params import OF_ACTUATORS

ARM = "config/robots/seven_dof_arm.urdf"
EXAMPLE = "config/actuators.yaml"


@pytest.fixture(scope="module")
def arm():
    return rb.load_urdf(ARM)


@pytest.fixture(scope="module")
def actuated(arm):
    return rb.with_actuators(arm, EXAMPLE)


def test_commands_are_in_ctrl_and_states_of_actuators_in_act(actuated):
    m, rng = actuated, np.random.default_rng(1)
    assert (np.diff(m.actuator_dofid) != 1).any()  # ctrl is no slice of qfrc_applied
    b, ds = rb.Batch(m, 4, specialize=False), [rb.make_data(m) for _ in range(4)]
    b.qfrc_applied = 1.5
    assert (b.ctrl == 1.5).all()  # commands stay as they were set
    for _ in range(20):
        commands, forces = rng.normal(0, 5, (4, m.nu)), rng.normal(0, 1, (4, m.nv))
        b.qfrc_applied[:] = forces
        b.ctrl = commands
        b.step()
        forces[:, m.actuator_dofid] = commands
        for d, force in zip(ds, forces, strict=True):
            d.qfrc_applied[:] = force
            rb.step(m, d)
        np.testing.assert_array_equal(b.qfrc_applied, forces)
        for name in ("qpos", "qvel", "act"):
            np.testing.assert_array_equal(getattr(b, name), [getattr(d, name) for d in ds])
    assert b.act[:, m.actuator_actadr[2] + 5 :].all()  # these entries are delayed commands
    d = b.get_data(2)
    b.ctrl[2] = 3.0
    assert (b.get_data(2).qfrc_applied[m.actuator_dofid] == 3.0).all()
    np.testing.assert_array_equal(d.buffer[: m.nq], ds[2].buffer[: m.nq])

    b.act[0], b.qpos[0], b.qvel[0], b.ctrl[0] = b.act[3], b.qpos[3], b.qvel[3], b.ctrl[3]
    b.qfrc_applied[0] = b.qfrc_applied[3]
    b.step([0, 3])
    np.testing.assert_array_equal(b.act[0], b.act[3])
    np.testing.assert_array_equal(b.qpos[0], b.qpos[3])
    joint = b.joint("elbow_pitch")
    joint.ctrl = 7.0
    assert (b.ctrl[:, 1] == 7.0).all()
    assert joint.act.shape == (4, 5)
    b.reset([1])
    assert not b.act[1].any()
    assert not b.ctrl[1].any()
    assert b.act[2].any()


def test_a_robot_without_actuators_has_no_commands(arm):
    b = rb.Batch(arm, 3)
    assert b.ctrl.shape == b.act.shape == (3, 0)
    b.step()
    assert "ctrl" not in dir(b.joint("elbow_pitch"))


def test_all_numbers_of_an_actuator_may_differ_between_robots(arm, actuated):
    specs, m = read_actuators(EXAMPLE, arm), actuated
    other = [
        replace(
            specs[0], gear=-80.0, armature=1e-4, motorconst=(0.05, 0.04), motorconst_error=0.1,
            resistance=0.7, inductance=1e-3, voltage=12.0, current=5.0, cogging=(0.01, 7.0, 0.5),
            thermal=(2.0, 0.5, 0.004, 25.0, 60.0), derating=(50.0, 60.0), damping=1e-3,
        ),
        replace(specs[1], torque_speed=((0.0, 0.3), (5.0, 0.0)), stiffness=800.0, backlash=0.01),
        replace(specs[2], delay=0.001, resolution=0.5, lugre=(3.0, 0.0, 0.01, 0.02, 1.0)),
    ]  # fmt: skip
    models = [rb.with_actuators(arm, given) for given in (specs, other)]
    b = rb.Batch(m, 2)
    for name in (*OF_ACTUATORS, "dof_armature", "dof_inertia0"):
        b.expand(name)[:] = [getattr(each, name) for each in models]
    assert b.actuator_delay.dtype == np.int64
    b.qfrc_applied = np.random.default_rng(0).normal(0, 5, m.nv)
    b.step(nstep=50)
    for robot, own in enumerate(models):
        d = rb.make_data(own)
        d.qfrc_applied = b.qfrc_applied[robot]
        rb.step(own, d, 50)
        assert b.qpos[robot].tobytes() == d.qpos.tobytes()
        assert b.act[robot, : own.na].tobytes() == d.act.tobytes()


def test_a_delay_longer_than_the_stored_samples_is_shortened(actuated):
    b = rb.Batch(actuated, 2)
    b.expand("actuator_delay")[1] = 10**6
    b.qfrc_applied = 2.0
    b.step(nstep=5)
    assert b.qpos[0].tobytes() == b.qpos[1].tobytes()


def test_delays_and_other_numbers_of_actuators_are_checked_in_a_rollout(arm, actuated):
    spec = replace(read_actuators(EXAMPLE, arm)[2], delay=0.001)
    qpos, qvel, ctrl = arm.qpos0, np.zeros(arm.nv), np.full(arm.nv, 2.0)
    given = {"nstep": 10, "every": 10, "specialize": False}
    params = {"actuator_delay": {"wrist_roll": [2, 1]}}
    found = rb.rollout(actuated, qpos, qvel, ctrl, params=params, **given)
    own = rb.with_actuators(arm, [*read_actuators(EXAMPLE, arm)[:2], spec])
    d = rb.make_data(own)
    d.qfrc_applied = ctrl
    rb.step(own, d, 10)
    assert found.qpos[1, 0].tobytes() == d.qpos.tobytes() != found.qpos[0, 0].tobytes()
    falling = np.array([[0.0, 1.0]] * 7 + [[1.0, 2.0]])
    for name, values in {
        "actuator_delay": 3, "actuator_gear": 0.0, "actuator_motorconst": [0.0, 1.0],
        "actuator_curve": falling, "actuator_thermal": [1.0] * 4,
    }.items():  # fmt: skip
        with refused(ParameterError, "bad-argument", "params"):
            rb.rollout(actuated, qpos, qvel, params={name: {"wrist_roll": values}}, **given)
    with refused(ParameterError, "bad-argument", "params"):
        rb.rollout(actuated, qpos, qvel, params={"actuator_delay": {"wrist_roll": 0.5}}, **given)
