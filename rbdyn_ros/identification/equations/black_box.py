# SPDX-License-Identifier: Apache-2.0
"""Plain least squares with the same regressor, as a baseline for an identified robot.

Without prior and constraints, least squares predict about as well as any rigid bodies with this
friction can.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.identification.data.motion import Motion, dofs_of, of_dofs, resting
from rbdyn_ros.identification.equations import regressor
from rbdyn_ros.identification.equations.residuals import (
    Residuals,
    friction_effort,
    linearised,
    validate,
)
from rbdyn_ros.model.model import Model

#: Singular values below this fraction of the largest value are not determined by the motion.
UNDETERMINED = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class BlackBox:
    """A solution without physical constraints.

    Attributes:
        m: the Model; only its kinematics count.
        x: (N,) parameters of all bodies, and the unknowns of the joints.
        extras: names of joints and kinds of the last unknowns.
        friction: known friction of all dofs, which is not in x.
        armature: (nv,) known rotor inertias, which are not in x.
        at: the Model at whose efforts load-dependent friction and a tilt are linearised.
    """

    m: Model
    x: Array
    extras: Sequence[tuple[str, str]]
    friction: Friction
    armature: Array
    at: Model

    def validate(self, motion: Motion, rest: ArrayLike | None = None) -> Residuals:
        """Predict the efforts of a motion; arguments and errors as for residuals.validate."""
        m, dofs = self.m, dofs_of(self.m, motion)
        size = len(self.x) - len(self.extras)
        qpos = of_dofs(m, dofs, motion.qpos, resting(m, rest))
        qvel, qacc = of_dofs(m, dofs, motion.qvel), of_dofs(m, dofs, motion.qacc)
        predicted = regressor.torque_regressor(m, qpos, qvel, qacc)[:, dofs] @ self.x[:size]
        predicted += self.armature[dofs] * motion.qacc
        predicted += friction_effort(self.friction, motion, dofs)
        smoothing = self.friction.smoothing[dofs]
        kinds = {kind for _, kind in self.extras}
        at = linearised(self.at, motion, rest) if kinds & {"load", *regressor.TILTS} else None
        columns = {kind: regressor.extra_columns(kind, motion, smoothing, at) for kind in kinds}
        for (name, kind), value in zip(self.extras, self.x[size:], strict=True):
            if kind in regressor.TILTS:
                predicted += value * columns[kind]
            elif name in motion.names:
                i = motion.names.index(name)
                predicted[:, i] += value * columns[kind][:, i]
        return replace(validate(m, self.friction, motion, rest=rest), predicted=predicted)


def plain_solution(A: Array, b: Array) -> Array:
    """Return the shortest least-squares solution of A x = b."""
    lengths = np.linalg.norm(A, axis=0)
    scale = np.where(lengths > 0.0, lengths, 1.0)
    return np.linalg.lstsq(A / scale, b, rcond=UNDETERMINED)[0] / scale


def named(extras: Sequence[regressor.Extra], names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the joint and the kind of each unknown; `names` are the joints of the motion."""
    return [(names[extra.column], extra.kind) for extra in extras]
