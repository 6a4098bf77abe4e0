# SPDX-License-Identifier: Apache-2.0
"""Joints with one coordinate, which messages of states and commands can name."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.dynamics.commanded import commanded_joints
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model


@dataclass(frozen=True, slots=True)
class SingleJoints:
    """Joints with one coordinate, which messages of states and commands can name.

    Attributes:
        qposadr, dofadr: addresses of the joints in qpos_all and qvel_all.
    """

    names: tuple[str, ...]
    qposadr: NDArray[np.int64]
    dofadr: NDArray[np.int64]

    @staticmethod
    def all(m: Model) -> "SingleJoints":
        """Return all single joints, including mimic joints and joints with a prescribed motion."""
        return SingleJoints._chosen(m, m.jnt_dofnum == 1)

    @staticmethod
    def free(m: Model) -> "SingleJoints":
        """Return the joints with a degree of freedom of their own."""
        return SingleJoints._chosen(m, (m.jnt_dofnum == 1) & (m.jnt_class == JointClass.FREE))

    @staticmethod
    def commanded(m: Model) -> "SingleJoints":
        """Return the joints that can be commanded, with a degree of freedom of their own."""
        return SingleJoints._chosen(m, np.isin(np.arange(m.njnt), commanded_joints(m)))

    def below(self, prefix: str) -> "SingleJoints":
        """Return the joints whose names begin with a prefix, and remove it from the names."""
        chosen = np.array([name.startswith(prefix) for name in self.names], np.bool_)
        names = (name.removeprefix(prefix) for name in self.names if name.startswith(prefix))
        return SingleJoints(tuple(names), self.qposadr[chosen], self.dofadr[chosen])

    def without(self, prefixes: tuple[str, ...]) -> "SingleJoints":
        """Return the joints whose names begin with none of the prefixes."""
        chosen = np.array([not name.startswith(prefixes) for name in self.names], np.bool_)
        names = (name for name in self.names if not name.startswith(prefixes))
        return SingleJoints(tuple(names), self.qposadr[chosen], self.dofadr[chosen])

    @staticmethod
    def _chosen(m: Model, chosen: NDArray[np.bool_]) -> "SingleJoints":
        names = tuple(name for name, wanted in zip(m.jnt_names, chosen, strict=True) if wanted)
        return SingleJoints(names, m.jnt_qposadr_all[chosen], m.jnt_dofadr_all[chosen])
