# SPDX-License-Identifier: Apache-2.0
"""The efforts of servos: a gain times the control signal, plus a bias affine in the motion."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.description.parts.servos import Servo
from rbdyn_ros.description.reading.robot_file import RobotFile
from rbdyn_ros.dynamics.entry import check_pair
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.inertia import inverse_mass_matrix
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model, check_model


class Servos:
    """The servos of a robot, such as the actuators of an MJCF.

        servos = rb.servos(m, "panda.xml")
        d.qfrc_applied[:] = servos.efforts(d, control)

    The effort of a mimic joint acts on its leader. No effort exceeds the limit of its joint.

    Args:
        m: the robot.
        servos: servos of joints of m.

    Attributes:
        names: names of the servos.
    """

    def __init__(self, m: Model, servos: Sequence[Servo]) -> None:
        check_model(m, "Servos")
        self.m, self.names = m, tuple(servo.name for servo in servos)
        count = len(servos)
        self._length = np.zeros((count, m.nq))
        self._offset = np.zeros(count)
        self._moment = np.zeros((count, m.nv))
        for row, servo in enumerate(servos):
            for term in servo.terms:
                self._add(row, m.jnt_id(term.joint), term.factor)
        self._gain = np.array([servo.gain for servo in servos])
        self._bias = np.array([servo.bias for servo in servos]).reshape(-1, 3)
        self._control = np.array([servo.control for servo in servos]).reshape(-1, 2)
        self._force = np.array([servo.force for servo in servos]).reshape(-1, 2)
        ratios = np.array([servo.damping_ratio for servo in servos])
        if ratios.any():
            damped = ratios > 0.0
            critical = 2.0 * np.sqrt(np.abs(self._gain) * self._masses())
            self._bias[damped, 2] = -(ratios * critical)[damped]

    def _add(self, row: int, j: int, factor: float) -> None:
        m = self.m
        if m.jnt_class[j] == JointClass.FREE:
            self._length[row, m.jnt_qposadr[j]] += factor
            self._moment[row, m.jnt_dofadr[j]] += factor
        elif m.jnt_mimic[j] >= 0:
            leader, ratio = int(m.jnt_mimic[j]), float(m.jnt_mimic_ratio[j])
            self._length[row, m.jnt_qposadr[leader]] += factor * ratio
            self._offset[row] += factor * float(m.jnt_mimic_offset[j])
            self._moment[row, m.jnt_dofadr[leader]] += factor * ratio

    def _masses(self) -> Array:
        """Return the inertia (n,) that each servo moves at qpos0 while the other dofs are free."""
        inertia = 1.0 / np.diagonal(inverse_mass_matrix(self.m, make_data(self.m)))
        squares = np.where(self._moment != 0.0, self._moment, np.inf) ** 2
        found: Array = (inertia / squares).sum(axis=1)
        return found

    def efforts(self, d: Data, control: ArrayLike) -> Array:
        """Return the efforts of all dofs (nv,) [N m or N].

        Args:
            d: a Data with qpos and qvel.
            control: (n,) a signal for each servo, in the order of `names`.

        Raises:
            ModelError: d was not made for the robot.
            ParameterError: the control is not n finite numbers.
        """
        check_pair(self.m, d)
        given = finite("control", control, (len(self.names),))
        signal = np.clip(given, *self._control.T)
        length = self._length @ d.qpos + self._offset
        velocity = self._moment @ d.qvel
        rest, stiffness, damping = self._bias.T
        force = self._gain * signal + rest + stiffness * length + damping * velocity
        efforts = np.clip(force, *self._force.T) @ self._moment
        largest = self.m.jnt_effort[self.m.dof_jntid]
        found: Array = np.clip(efforts, -largest, largest)
        return found


def servos(m: Model, source: str | bytes | Path | RobotFile) -> Servos:
    """Return the servos of the actuators in a robot file.

    Args:
        m: the Model of the file.
        source: path or text of an MJCF; unsupported elements are left out. Other formats have no
            servos.

    Raises:
        DescriptionError: the file cannot be read, or an actuator has errors.
    """
    from rbdyn_ros.description.source import read

    return Servos(m, read(source, strict=False).servos)
