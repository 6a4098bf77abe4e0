# SPDX-License-Identifier: Apache-2.0
"""Compute the efforts of arm_controller's laws in some states, for a generated package's test."""

from collections.abc import Iterator

import numpy as np

from rbdyn_ros.codegen.ros2_control.tables import number, numbers
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.base.target import Target
from rbdyn_ros.control.laws import joint_laws
from rbdyn_ros.dynamics.configuration import random_qpos
from rbdyn_ros.model.model import Model

#: Number of states.
STATES = 3
#: Stiffness [N m/rad or N/m] and damping [N m s/rad or N s/m] of PD + gravity and impedance.
SPRING = 50.0, 5.0


def expected(m: Model) -> str:
    """Return states, targets and efforts as rows of a C++ table.

    Args:
        m: the robot, with gravity in the axes of its base link.
    """
    rng = np.random.default_rng(2)
    arm = Arm(m, m.opt.gravity)
    return "\n".join(_row(arm, rng) for _ in range(STATES))


def _row(arm: Arm, rng: np.random.Generator) -> str:
    n = arm.m.nv
    qpos, qvel = random_qpos(arm.m, rng), rng.uniform(-1.0, 1.0, n)
    target = Target(n, qpos + rng.uniform(-0.1, 0.1, n))
    target.rows[1:] = rng.uniform(-1.0, 1.0, (2, n))
    efforts = (law(qpos, qvel, target).copy() for law in _laws(arm))
    rows = [f"{{{numbers(row)}}}" for row in (qpos, qvel, *target.rows, *efforts)]
    weight = float(arm.m.body_subtreemass[0] * np.linalg.norm(arm.m.opt.gravity))
    state, desired, forces = rows[:2], rows[2:5], rows[5:]
    parts = [f"{{{', '.join(part)}}}" for part in (state, desired)]
    return f"  Expected{{{', '.join([*parts, *forces, number(weight)])}}},"


def _laws(arm: Arm) -> Iterator[joint_laws.Law]:
    """Yield the laws, in the order of the fields of Expected in the template."""
    settings = ControlSettings()
    yield joint_laws.GravityCompensation(arm, settings.gravity_damping)
    yield joint_laws.PDGravity(arm, *SPRING)
    yield joint_laws.ComputedTorque(arm, settings.stiffness, settings.damping)
    yield joint_laws.JointImpedance(arm, *SPRING)
