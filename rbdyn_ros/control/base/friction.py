# SPDX-License-Identifier: Apache-2.0
"""Friction of the joints, as a feedforward effort that is smooth at standstill."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.base.kernels import kernel
from rbdyn_ros.dynamics.entry import Entry, is_vector
from rbdyn_ros.engine.compiler.jit import Vector
from rbdyn_ros.errors import bad_argument
from rbdyn_ros.model.model import Model

#: Defaults of the speeds of Stribeck's curve and of the smoothing [rad/s or m/s].
STRIBECK_VELOCITY, SMOOTHING = 0.1, 0.01
#: These values must be above 0, because the model divides by them.
_SPEEDS = ("stribeck_velocity", "smoothing")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Friction:
    """viscous v + (coulomb + stribeck exp(-(v / stribeck_velocity)^2)) tanh(v / smoothing).

    The effort acts along the velocity: a motor must add it to compensate friction. tanh replaces
    the sign of v, so that the effort is continuous around standstill. Stiction is not modelled.

    Attributes:
        viscous: (nv,) viscous friction [N m s/rad or N s/m].
        coulomb: (nv,) dry friction at high speed [N m or N].
        stribeck: (nv,) additional dry friction near standstill [N m or N].
        stribeck_velocity: (nv,) speed at which 1 / e of this addition is left [rad/s or m/s].
        smoothing: (nv,) speed at which 76 percent of the dry friction acts [rad/s or m/s].

    Raises:
        ParameterError: lengths differ, a value is negative or not finite, or a speed is 0.

    Source: Armstrong-Helouvry, Dupont, Canudas de Wit, A survey of models, analysis tools and
    compensation methods for the control of machines with friction, 1994 (Stribeck's curve).
    """

    viscous: Array
    coulomb: Array
    stribeck: Array
    stribeck_velocity: Array
    smoothing: Array

    def __post_init__(self) -> None:
        count: int | None = None
        for field in dataclasses.fields(self):
            values = _checked(field.name, getattr(self, field.name), count)
            count = len(values)
            object.__setattr__(self, field.name, values)

    @classmethod
    def of(
        cls,
        nv: int,
        viscous: ArrayLike = 0.0,
        coulomb: ArrayLike = 0.0,
        stribeck: ArrayLike = 0.0,
        stribeck_velocity: ArrayLike = STRIBECK_VELOCITY,
        smoothing: ArrayLike = SMOOTHING,
    ) -> Friction:
        """Return the friction of nv joints; each value is one number or one per joint.

        Raises:
            ParameterError: for the reasons of Friction.
        """
        values = (viscous, coulomb, stribeck, stribeck_velocity, smoothing)
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(*(_spread(n, value, nv) for n, value in zip(names, values, strict=True)))

    @classmethod
    def of_model(cls, m: Model) -> Friction:
        """Return the friction in the robot description (<dynamics> in a URDF)."""
        return cls.of(m.nv, m.dof_damping, m.dof_frictionloss)

    def check_dofs(self, nv: int) -> Friction:
        """Return this friction; raise ParameterError unless it has nv joints."""
        if len(self.viscous) != nv:
            raise bad_argument(
                "friction", f"friction has {len(self.viscous)} joints; the robot has {nv}"
            )
        return self

    def scaled(self, share: float) -> Friction:
        """Return this friction times `share`. Overcompensated joints creep, so use less than 1.

        Raises:
            ParameterError: the share is not a finite number, 0 or more.
        """
        part = finite("the share of friction", share, low=0.0, element="")
        return dataclasses.replace(
            self,
            viscous=part * self.viscous,
            coulomb=part * self.coulomb,
            stribeck=part * self.stribeck,
        )

    def effort(self, qvel: Array, out: Array) -> Array:
        """Write and return the efforts (nv,) at velocities (nv,); out may be qvel.

        Raises:
            ParameterError: qvel or out is not a contiguous float64 array (nv,).
        """
        n = len(self.viscous)
        if not (is_vector(qvel, n, False) and is_vector(out, n, True)):
            text = f"qvel and out must be contiguous float64 arrays of {n} entries"
            raise bad_argument("qvel", text)
        _write.call(
            qvel,
            self.viscous,
            self.coulomb,
            self.stribeck,
            self.stribeck_velocity,
            self.smoothing,
            out,
        )
        return out


@kernel
def write_effort(
    qvel: Vector,
    viscous: Vector,
    coulomb: Vector,
    stribeck: Vector,
    stribeck_velocity: Vector,
    smoothing: Vector,
    out: Vector,
) -> None:
    for k in range(len(out)):
        v, dry = qvel[k], coulomb[k]
        if stribeck[k] > 0.0:
            ratio = v / stribeck_velocity[k]
            dry += stribeck[k] * np.exp(-ratio * ratio)
        out[k] = viscous[k] * v + dry * np.tanh(v / smoothing[k])


_write = Entry(write_effort)


def _spread(name: str, value: ArrayLike, nv: int) -> Array:
    """Return one value per joint; signs are not checked."""
    return finite(f"friction.{name}", value, (nv,), element=f"{name} of friction", fill=True)


def _checked(name: str, value: ArrayLike, count: int | None) -> Array:
    """Return a read-only copy with `count` values, or any number of them if `count` is None."""
    what = f"friction.{name}"
    values = finite(what, value, None, element=f"{name} of friction")
    if name in _SPEEDS:
        return finite(what, values, (count,), above=0.0, element=name)
    return finite(what, values, (count,), low=0.0, element=name)
