# SPDX-License-Identifier: Apache-2.0
"""A simulated arm can compensate gravity itself, and leave this out of measured efforts."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.refusals import refused
from support.robots import find

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.ros.simulator.topics.driver import SLIDING, SimulatedDriver, policy_of
from rbdyn_ros.runtime.types import Command

NAMES = ("gravity", "coriolis", "friction")
QPOS = np.array([0.3, -0.9, 1.1, -0.7, 0.5, 0.4])
QVEL = np.array([0.2, -0.4, 0.3, 0.1, -0.2, 2e-4])


def driver(*carried, includes=True):
    m = rb.load_urdf(find("ur5_robot.urdf"))
    m = m.replaced(dof_damping=np.full(6, 2.0), dof_frictionloss=np.full(6, 0.5))
    measured = np.concatenate([QPOS, QVEL, np.full(6, 7.0)])
    state = SimpleNamespace(qpos=QPOS, qvel=QVEL, measured=measured)
    readout = SimpleNamespace(latest=lambda: state)
    values = SimpleNamespace(
        **{f"robot_compensates_{name}": name in carried for name in NAMES},
        effort_includes_gravity=includes,
    )
    return SimulatedDriver.of(SimpleNamespace(m=m, readout=readout), values), m, state


def terms(m):
    d = rb.make_data(m)
    d.qpos, d.qvel = QPOS, QVEL
    slides = np.array([1.0, -1.0, 1.0, 1.0, -1.0, 2e-4 / SLIDING])
    rubbing = 2.0 * QVEL + 0.5 * slides
    return dict(zip(NAMES, (rb.gravity_term(m, d), rb.coriolis_term(m, d), rubbing), strict=True))


@pytest.mark.parametrize("carried", [("gravity",), ("gravity", "friction"), NAMES])
def test_the_arm_adds_its_compensation_only_to_commanded_efforts(carried):
    behind, m, _ = driver(*carried)
    expected = sum(terms(m)[name] for name in carried)
    command = Command.of_efforts([2, 0], [1.0, -3.0])
    np.testing.assert_allclose(
        behind.added(command).effort, [1.0, -3.0] + expected[[2, 0]], rtol=1e-12
    )
    # a command for a servo gets no compensation
    goal = Command([1], [1], [0.2], [0.0], [0.5], [0.0], [0.0])
    assert behind.added(goal).effort == [0.5]


def test_measured_efforts_leave_out_gravity_if_the_driver_excludes_it():
    behind, m, state = driver("gravity", includes=False)
    found = behind.reported(state)
    np.testing.assert_allclose(found[12:], 7.0 - terms(m)["gravity"], rtol=1e-12)
    assert np.array_equal(found[:12], state.measured[:12])
    behind, _, state = driver("gravity")
    assert np.array_equal(behind.reported(state), state.measured)


def test_measured_efforts_must_include_gravity_if_the_arm_does_not_compensate_it():
    assert driver()[0] is None
    with refused(ParameterError, "driver", "effort_includes_gravity"):
        driver("friction", includes=False)


@pytest.mark.parametrize(
    ("asked", "carries", "found"),
    [("zero", True, "gravity"), ("zero", False, "zero"), ("hold", True, "hold")],
)
def test_an_arm_without_commands_still_compensates_gravity(asked, carries, found):
    values = SimpleNamespace(on_timeout=asked, robot_compensates_gravity=carries)
    assert policy_of(values) == found
