# SPDX-License-Identifier: Apache-2.0
"""Base inertial parameters: the combinations of parameters that efforts depend on.

Efforts do not determine most of a body's ten parameters individually: the mass of a link acts
together with the inertia of its parent link, and the mass of the base has no effect. The number of
identifiable combinations is the number of independent columns of the regressor.
Source: Gautier, Numerical calculation of the base inertial parameters of robots, 1991.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.identification.data.motion import check_identifiable, resting
from rbdyn_ros.identification.equations.inertia import PARAMETER_NAMES
from rbdyn_ros.identification.equations.regressor import torque_regressor
from rbdyn_ros.model.model import Model

#: A column is dependent if its residual is below this fraction of its length. URDFs contain pi
#: with five digits, and a tenth of a millimetre has no measurable effect.
DEPENDENT = 1e-4

#: Size below which entries of combinations are rounding errors.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class BaseParameters:
    """Combinations of inertial parameters that determine the efforts.

    Attributes:
        columns: (b,) index of the leading parameter of each combination, from 0 to 10 (nbody - 1).
        combination: (b, 10 (nbody - 1)); combination @ inertial_parameters gives the base
            parameters. Entry columns[k] of row k is 1.
        names: (b,) names such as "forearm.Izz + 0.21 hand.m".
    """

    columns: Ints
    combination: Array
    names: tuple[str, ...]

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.columns)

    def regressor(self, Y: Array) -> Array:
        """Return the columns (..., b) of a regressor (..., 10 (nbody - 1)).

        regressor(Y) @ combination @ x = Y @ x.
        """
        return Y[..., self.columns]


def base_parameters(
    m: Model,
    dofs: Sequence[int] | Ints | None = None,
    seed: int = 0,
    *,
    rest: ArrayLike | None = None,
) -> BaseParameters:
    """Return the base inertial parameters of a robot under gravity m.opt.gravity.

    They follow from the regressor at random states. Parameters of bodies near the base lead the
    combinations.

    Args:
        m: the Model.
        dofs: degrees of freedom that move and whose efforts are known; the others rest. None: all.
        seed: seed of the random states.
        rest: (nv,) positions of the joints that do not move; None: qpos0.

    Raises:
        ModelError: for the reasons of check_identifiable.
        ParameterError: rest is not nv finite numbers.
    """
    check_identifiable(m)
    moved = np.arange(m.nv) if dofs is None else np.asarray(dofs, np.int64)
    samples = 2 * m.nbody * 10 // len(moved) + 10
    rng = np.random.default_rng(seed)
    qpos = np.tile(resting(m, rest), (samples, 1))
    qvel, qacc = np.zeros((2, samples, m.nv))
    qpos[:, moved] = rng.uniform(-np.pi, np.pi, (samples, len(moved)))
    qvel[:, moved] = rng.normal(0.0, 3.0, (samples, len(moved)))
    qacc[:, moved] = rng.normal(0.0, 10.0, (samples, len(moved)))
    Y = torque_regressor(m, qpos, qvel, qacc)[:, moved]
    Y = Y.reshape(-1, Y.shape[2])
    columns = _independent(Y)
    combination = _combination(Y, columns)
    return BaseParameters(columns, combination, _names(m, columns, combination))


def condition(Y: Array) -> float:
    """Return the condition number of a regressor (p, b), its columns scaled to length 1.

    The scaling makes it independent of units. It is infinite if a column is zero.
    """
    lengths = np.linalg.norm(Y, axis=0)
    if Y.shape[1] == 0:
        return 1.0
    if Y.shape[0] < Y.shape[1] or not (lengths > 0.0).all():
        return float("inf")
    return float(np.linalg.cond(np.linalg.qr(Y / lengths, mode="r")))


def _independent(Y: Array) -> Ints:
    """Return the columns that are independent of the columns before them."""
    R = np.asarray(np.linalg.qr(Y, mode="r"))
    lengths = np.linalg.norm(R, axis=0)
    Q = np.empty((R.shape[0], 0))
    found = []
    for k in np.flatnonzero(lengths > ROUNDING * lengths.max()):
        rest = R[:, k] / lengths[k]
        for _ in range(2):  # orthogonalise twice, because of rounding
            rest = rest - Q @ (Q.T @ rest)
        size = np.linalg.norm(rest)
        if size > DEPENDENT:
            Q = np.column_stack([Q, rest / size])
            found.append(k)
    return np.array(found, np.int64)


def _combination(Y: Array, columns: Ints) -> Array:
    """Return K with Y = Y[:, columns] K."""
    K: Array = np.asarray(np.linalg.lstsq(Y[:, columns], Y, rcond=None)[0], np.float64)
    K[np.abs(K) < ROUNDING] = 0.0
    K[:, columns] = np.eye(len(columns))
    return K


def _names(m: Model, columns: Ints, combination: Array) -> tuple[str, ...]:
    of = [f"{body}.{name}" for body in m.body_names[1:] for name in PARAMETER_NAMES]
    names = []
    for row, leader in zip(combination, columns, strict=True):
        text = of[leader]
        for k in np.flatnonzero(row):
            if k != leader:
                times = f"{abs(row[k]):.4g} "
                text += f" {'-' if row[k] < 0.0 else '+'} {times.removeprefix('1 ')}{of[k]}"
        names.append(text)
    return tuple(names)
