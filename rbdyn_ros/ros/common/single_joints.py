"""The joints of joint_states and of commands: joints with one coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.model.joints import JointClass
from rbdyn_ros.model.model import Model


@dataclass(frozen=True, slots=True)
class SingleJoints:
    """Joints with one coordinate, the joints of joint_states and of commands.

    Attributes:
        qposadr, dofadr: addresses in qpos_all and qvel_all.
    """

    names: tuple[str, ...]
    qposadr: NDArray[np.int64]
    dofadr: NDArray[np.int64]

    @staticmethod
    def all(m: Model) -> SingleJoints:
        """Return all, also mimic joints and joints with a prescribed motion."""
        return SingleJoints._chosen(m, m.jnt_dofnum == 1)

    @staticmethod
    def free(m: Model) -> SingleJoints:
        """Return the joints with a degree of freedom of their own."""
        return SingleJoints._chosen(m, (m.jnt_dofnum == 1) & (m.jnt_class == JointClass.FREE))

    @staticmethod
    def actuated(m: Model) -> SingleJoints:
        """Return the joints with a degree of freedom and an actuator."""
        free = (m.jnt_dofnum == 1) & (m.jnt_class == JointClass.FREE)
        return SingleJoints._chosen(m, free & (m.jnt_actuated == 1))

    @staticmethod
    def _chosen(m: Model, chosen: NDArray[np.bool_]) -> SingleJoints:
        names = tuple(name for name, wanted in zip(m.jnt_names, chosen, strict=True) if wanted)
        return SingleJoints(names, m.jnt_qposadr_all[chosen], m.jnt_dofadr_all[chosen])
