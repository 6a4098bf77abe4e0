# SPDX-License-Identifier: Apache-2.0
"""Options of a Model: the few settings that may change during a simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.checks.names import one_of
from rbdyn_ros.checks.numbers import finite, flag
from rbdyn_ros.errors import Finding, ParameterError, did_you_mean
from rbdyn_ros.model.declared.callbacks import STAGE_MAKERS
from rbdyn_ros.model.declared.fields import Field

OPTION_FIELDS = (
    Field("timestep", (), "duration of a step, greater than 0 [s]"),
    Field("gravity", (3,), "gravitational acceleration in the world [m/s^2]"),
    Field("integrator_id", (), "index of opt.integrator in the list of integrators", "int"),
    Field("passive", (), "1: damping, friction and limits act; 0: they do not", "int"),
    Field("exact_stops", (), "1: friction and limits stop joints exactly; 0: smoothly", "int"),
    Field("implicit_stage", (), "address of the step of implicit integrators, else 0", "int"),
    Field("stop_stage", (), "address of the step in which joints stop exactly, else 0", "int"),
    Field("momentum_stage", (), "address of the stage that keeps the momentum, else 0", "int"),
)

#: Optional stages of the options: compiled when an option needs them.
OPTION_STAGES = ("implicit_stage", "stop_stage", "momentum_stage")


class Drive(IntEnum):
    """Drive mode of a dof: forces move the dof, or its motion is prescribed."""

    FORCE = 0
    ACCELERATION = 1
    VELOCITY = 2
    POSITION = 3


#: The drive modes as plain integers, for kernels.
FORCE, ACCELERATION, VELOCITY, POSITION = map(int, Drive)

INTEGRATORS = ("euler", "implicit_damping", "rk4", "implicit", "implicit_midpoint")
EULER, IMPLICIT_DAMPING, RK4, IMPLICIT, IMPLICIT_MIDPOINT = range(len(INTEGRATORS))

#: The integrators that conserve the momentum of trees in flight up to rounding errors.
KEEP_MOMENTUM = (INTEGRATORS[RK4], INTEGRATORS[IMPLICIT_MIDPOINT])


def _memory(field: Field) -> NDArray[Any]:
    """Return an option's array, which cannot be resized because kernels use its address."""
    shape = field.shape({})
    dtype = np.int64 if field.kind == "int" else np.float64
    return np.frombuffer(bytearray(8 * math.prod(shape)), dtype).reshape(shape)


class Options:
    """Run-time options; every assignment is checked.

    Args:
        timestep: duration of a step [s].
        gravity: gravitational acceleration in the world [m/s^2].
        integrator: one of INTEGRATORS. "implicit" also evaluates Coriolis and centrifugal forces
            at the end of the step, and "implicit_midpoint" at its middle; both work only for trees
            without constraints.
        passive: whether damping, friction and limits act.
        exact_stops: if true, a joint loaded below its dry friction stays at rest, and a limit
            stops a joint within a step. Change it before make_data. If false, friction and limits
            are smooth functions of position and velocity, which need no solver: friction is
            viscous below 1e-3 rad/s or m/s, and a limit is a spring with a time constant of 20 ms.
            Specialised code and derivatives always use the smooth law.

    Raises:
        ParameterError: a value is not allowed; the option keeps its old value.
    """

    _timestep: NDArray[np.float64]
    _gravity: NDArray[np.float64]
    _integrator_id: NDArray[np.int64]
    _passive: NDArray[np.int64]
    _exact_stops: NDArray[np.int64]
    _implicit_stage: NDArray[np.int64]
    _stop_stage: NDArray[np.int64]
    _momentum_stage: NDArray[np.int64]
    _not_implicit: str
    _not_explicit: str
    _has_stops: bool
    _has_trees: bool
    _is_delayed: bool

    def __init__(
        self,
        timestep: float = 0.001,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        integrator: str = "implicit_damping",
        passive: bool = True,
        exact_stops: bool = True,
    ) -> None:
        for field in OPTION_FIELDS:
            vars(self).setdefault(f"_{field.name}", _memory(field))
        vars(self).setdefault("_not_implicit", "")
        vars(self).setdefault("_not_explicit", "")
        vars(self).setdefault("_has_stops", False)
        vars(self).setdefault("_has_trees", False)
        vars(self).setdefault("_is_delayed", False)
        self.timestep = timestep
        self.gravity = gravity
        self.integrator = integrator
        self.passive = passive
        self.exact_stops = exact_stops

    @property
    def addresses(self) -> list[int]:
        return [getattr(self, f"_{field.name}").ctypes.data for field in OPTION_FIELDS]

    @property
    def timestep(self) -> float:
        return float(self._timestep)

    @timestep.setter
    def timestep(self, value: float) -> None:
        found = finite(
            "opt.timestep",
            value,
            above=0.0,
            allowed="a finite number of seconds greater than 0",
            code="option-timestep",
            element="timestep",
        )
        if self._is_delayed and found != self.timestep:
            text = (
                f"opt.timestep cannot become {found:g} for this Model: its actuator delays are "
                "counted in timesteps; set the timestep before rb.with_actuators"
            )
            raise ParameterError(Finding("option-timestep", text, "error", "timestep"))
        self._timestep[()] = found

    @property
    def gravity(self) -> NDArray[np.float64]:
        return self._gravity

    @gravity.setter
    def gravity(self, value: Sequence[float] | NDArray[np.float64]) -> None:
        allowed = "three finite numbers [m/s^2]"
        self._gravity[:] = finite(
            "opt.gravity", value, (3,), allowed=allowed, code="option-gravity", element="gravity"
        )

    @property
    def integrator_id(self) -> int:
        return int(self._integrator_id)

    @property
    def integrator(self) -> str:
        return INTEGRATORS[self.integrator_id]

    @integrator.setter
    def integrator(self, value: str) -> None:
        name = one_of(
            "opt.integrator", value, INTEGRATORS, code="option-integrator", element="integrator"
        )
        number = INTEGRATORS.index(name)
        if number >= IMPLICIT:
            self._check_part(name, self._not_implicit, INTEGRATORS[:IMPLICIT])
            # look up the stage first: Ctrl-C may interrupt this, or another thread may step
            # meanwhile
            self._find_implicit_stage()
        else:
            self._check_explicit(name, self._not_explicit)
        if self._has_trees and name in KEEP_MOMENTUM:
            self._find_momentum_stage()
        self._integrator_id[()] = number

    @property
    def implicit_stage(self) -> int:
        return int(self._implicit_stage)

    def find_stages(self, stops: bool, trees: bool = False) -> None:
        """Look up the stages that the options need, if the engine is imported.

        Args:
            stops: whether joints have dry friction or limits.
            trees: whether the Model has trees on free joints.
        """
        vars(self)["_has_stops"] = self._has_stops or stops
        vars(self)["_has_trees"] = self._has_trees or trees
        if self.integrator_id >= IMPLICIT:
            self._find_implicit_stage()
        if self.exact_stops and stops:
            self._find_stop_stage()
        if self.integrator in KEEP_MOMENTUM and self._has_trees:
            self._find_momentum_stage()

    def _find_momentum_stage(self) -> None:
        if "momentum_stage" in STAGE_MAKERS:
            self._momentum_stage[()] = STAGE_MAKERS["momentum_stage"]()

    @property
    def momentum_stage(self) -> int:
        return int(self._momentum_stage)

    def _find_stop_stage(self) -> None:
        if "stop_stage" in STAGE_MAKERS:
            self._stop_stage[()] = STAGE_MAKERS["stop_stage"]()

    def _find_implicit_stage(self) -> None:
        if "implicit_stage" in STAGE_MAKERS:
            self._implicit_stage[()] = STAGE_MAKERS["implicit_stage"]()

    def belong_to(
        self, not_implicit: str, not_explicit: str = "", is_delayed: bool = False
    ) -> None:
        """Attach these options to a Model, which limits the allowed values.

        Args:
            not_implicit: part of the Model that implicit integrators do not support, or ''.
            not_explicit: part of the Model that needs implicit damping, or ''.
            is_delayed: whether actuators have delays in timesteps, so that the timestep is fixed.

        Raises:
            ParameterError: the integrator does not support the Model.
        """
        if self.integrator_id >= IMPLICIT:
            self._check_part(self.integrator, not_implicit, INTEGRATORS[:IMPLICIT])
        else:
            self._check_explicit(self.integrator, not_explicit)
        vars(self)["_not_implicit"] = not_implicit
        vars(self)["_not_explicit"] = not_explicit
        vars(self)["_is_delayed"] = is_delayed

    def _check_explicit(self, name: str, part: str) -> None:
        damped = (INTEGRATORS[IMPLICIT_DAMPING], *INTEGRATORS[IMPLICIT:])
        if name not in damped:
            self._check_part(name, part, damped)

    def _check_part(self, name: str, part: str, others: Sequence[str]) -> None:
        if part:
            allowed = ", ".join(others)
            text = (
                f"opt.integrator cannot be '{name}' for this Model: it has {part}; "
                f"allowed are {allowed}"
            )
            raise ParameterError(
                Finding("option-integrator", text, "error", "integrator", None, name, allowed)
            )

    @property
    def passive(self) -> bool:
        return bool(self._passive)

    @passive.setter
    def passive(self, value: bool) -> None:
        self._passive[()] = flag("opt.passive", value, code="option-passive", element="passive")

    @property
    def exact_stops(self) -> bool:
        return bool(self._exact_stops)

    @exact_stops.setter
    def exact_stops(self, value: bool) -> None:
        name = "exact_stops"
        exact = flag(f"opt.{name}", value, code="option-exact-stops", element=name)
        if exact and self._has_stops:
            # look up the stage first: Ctrl-C may interrupt this, or another thread may step
            # meanwhile
            self._find_stop_stage()
        self._exact_stops[()] = exact

    @property
    def stop_stage(self) -> int:
        return int(self._stop_stage)

    def __setattr__(self, name: str, value: Any) -> None:
        allowed = isinstance(getattr(type(self), name, None), property)
        if not allowed:
            known = [field for field in dir(type(self)) if not field.startswith("_")]
            raise AttributeError(f"Options has no '{name}'{did_you_mean(name, known)}")
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        numbers = self.timestep, tuple(self.gravity)
        return type(self), (*numbers, self.integrator, self.passive, self.exact_stops)

    def __repr__(self) -> str:
        return (
            f"Options(timestep={self.timestep}, gravity={self.gravity.tolist()}, "
            f"integrator='{self.integrator}', passive={self.passive}, "
            f"exact_stops={self.exact_stops})"
        )
