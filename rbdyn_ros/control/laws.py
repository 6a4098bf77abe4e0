"""The control laws of the joints: a state and a target in, efforts out.

Each is an object that holds its gains; `law(qpos, qvel, target)` returns its own array (nv,),
which the next call overwrites. What it returns is ready for the robot: friction is in it, and what
the robot compensates itself is not (see Arm). Friction is that at the velocity wanted, which has
no noise and no delay and starts a joint that sticks; where none is wanted, at the measured one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.arm import Arm
from rbdyn_ros.control.kernels import kernel
from rbdyn_ros.control.target import Target
from rbdyn_ros.dynamics.entry import stage
from rbdyn_ros.engine.forward import inverse
from rbdyn_ros.engine.quantities.terms import gravity_term

if TYPE_CHECKING:
    from rbdyn_ros.engine.jit import Matrix
    from rbdyn_ros.model.data import Data
    from rbdyn_ros.model.model import Model

Array = NDArray[np.float64]


class Law:
    """What the laws have in common.

    Args:
        arm: the robot.
        first, second: gains, one number or one for each joint (nv,), 0 or more.
        names: of the gains, for errors.

    Attributes:
        effort: (nv,), of the last call.
        follows: the law wants a velocity.

    Raises:
        ParameterError: a gain is negative or no number.
    """

    follows = True
    #: name of the kernel below that is the whole law; empty: none is
    kernel = ""

    def __init__(
        self,
        arm: Arm,
        first: ArrayLike,
        second: ArrayLike,
        names: tuple[str, str] = ("stiffness", "damping"),
    ) -> None:
        # rows: gain of the position, gain of the velocity, efforts; and the target for code
        self._memory, self._names = np.zeros((6, arm.m.nv)), names
        self._rows = self._memory[:3]
        self.effort = self._rows[2]
        self.arm = arm
        self.set_gains(first, second)

    def set_gains(self, first: ArrayLike, second: ArrayLike) -> None:
        """Change the gains, see the class."""
        n = self.arm.m.nv
        rows = [checked_gains(*pair, n) for pair in zip(self._names, (first, second), strict=True)]
        self._rows[0], self._rows[1] = rows

    def use(self, arm: Arm) -> None:
        """Go on with an arm of the same joints, for its payload say."""
        self.arm = arm

    def __call__(self, qpos: Array, qvel: Array, target: Target) -> Array:
        """Return the efforts (nv,) [N m or N] at a state; qpos, qvel: (nv,)."""
        d = self.arm.d
        d.qpos[:], d.qvel[:] = qpos, qvel
        if not self._computed_by_code(d, target.rows):
            self._compute(self.arm.m, d, target.rows)
        return self.arm.command(self.effort, qpos, target.qvel if self.follows else qvel)

    def _computed_by_code(self, d: Data, target: Array) -> bool:
        code = self.arm.code
        if code is None or not self.kernel:
            return False
        return code.computes(self.kernel, d, self._memory, target)

    def _compute(self, m: Model, d: Data, target: Array) -> None:
        """Write the efforts of the rigid bodies at the state in d."""
        raise NotImplementedError


def checked_gains(name: str, gains: ArrayLike, n: int) -> Array:
    """Return gains (n,); raises ParameterError unless they are finite and not negative."""
    return finite(name, gains, (n,), low=0.0, fill=True)


class GravityCompensation(Law):
    """g - rate M qvel: the arm floats and comes to rest.

    Without friction and Coriolis forces out of its way, the kinetic energy T of the arm obeys
    dT/dt = -2 rate T exactly, as qvel^T (dM/dt - 2 C) qvel = 0: all motion decays as exp(-rate t),
    whatever inertia moves.

    Args:
        arm: the robot.
        damping_rate: [1/s].

    Raises:
        ParameterError: the rate is negative or no number.

    Source: RBDA section 5.3 (gravity term); Siciliano et al., Robotics, eq 7.49 (passivity).
    """

    kernel = "gravity"
    follows = False

    def __init__(self, arm: Arm, damping_rate: float = 0.0) -> None:
        rate = finite(
            "damping_rate", damping_rate, element=""
        )  # of all joints: else energy might grow
        super().__init__(arm, 0.0, rate, ("stiffness", "damping_rate"))

    def _compute(self, m: Model, d: Data, target: Array) -> None:  # noqa: ARG002
        _gravity(m, d, self._rows)


class PDGravity(Law):
    """K (qpos_d - qpos) + D (qvel_d - qvel) + g: a spring and a damper in every joint.

    Args:
        arm: the robot.
        stiffness: K [N m/rad or N/m].
        damping: D [N m s/rad or N s/m].

    Source: Takegaki, Arimoto, A new feedback method for dynamic control of manipulators, 1981.
    """

    kernel = "pd_gravity"

    def __init__(self, arm: Arm, stiffness: ArrayLike, damping: ArrayLike) -> None:
        super().__init__(arm, stiffness, damping)

    def _compute(self, m: Model, d: Data, target: Array) -> None:
        _pd_gravity(m, d, target, self._rows)


class JointImpedance(Law):
    """M qacc_d + C qvel + g + K (qpos_d - qpos) + D (qvel_d - qvel).

    Like PDGravity, and what the desired motion needs is fed forward: pushed, the arm gives way
    with its natural inertia, the stiffness and the damping.

    Arguments as PDGravity.

    Source: Hogan, Impedance control, 1985, with the inertia left as it is.
    """

    kernel = "impedance"

    def __init__(self, arm: Arm, stiffness: ArrayLike, damping: ArrayLike) -> None:
        super().__init__(arm, stiffness, damping)

    def _compute(self, m: Model, d: Data, target: Array) -> None:
        _impedance(m, d, target, self._rows)


class ComputedTorque(Law):
    """M (qacc_d + Kd (qvel_d - qvel) + Kp (qpos_d - qpos)) + C qvel + g: inverse dynamics control.

    With an exact model every joint's error obeys d2e/dt2 + Kd de/dt + Kp e = 0 by itself.

    Args:
        arm: the robot.
        stiffness: Kp [1/s^2].
        damping: Kd [1/s]; 2 sqrt(Kp) is critical.

    Source: Luh, Walker, Paul, Resolved-acceleration control, 1980; RBDA section 5.1.
    """

    kernel = "computed_torque"

    def __init__(self, arm: Arm, stiffness: ArrayLike, damping: ArrayLike) -> None:
        super().__init__(arm, stiffness, damping)

    def _compute(self, m: Model, d: Data, target: Array) -> None:
        _computed_torque(m, d, target, self._rows)


# Kernels of (m, d, target (3, nv), rows (3, nv)); d has the state, rows 0 and 1 the gains, and
# row 2 receives the efforts.


@kernel
def gravity(m: Model, d: Data, rows: Matrix) -> None:
    """g - rate M qvel, by inverse dynamics at rest of an acceleration that brakes."""
    for k in range(m.nv):
        d.qacc[k] = -rows[1, k] * d.qvel[k]
        d.qvel[k] = 0.0
    _inverse_into(m, d, rows)


@kernel
def pd_gravity(m: Model, d: Data, target: Matrix, rows: Matrix) -> None:
    """K e + D de/dt + g."""
    gravity_term(m, d, rows[2])
    _add_feedback(m, d, target, rows)


@kernel
def impedance(m: Model, d: Data, target: Matrix, rows: Matrix) -> None:
    """M qacc_d + C qvel + g + K e + D de/dt."""
    for k in range(m.nv):
        d.qacc[k] = target[2, k]
    _inverse_into(m, d, rows)
    _add_feedback(m, d, target, rows)


@kernel
def computed_torque(m: Model, d: Data, target: Matrix, rows: Matrix) -> None:
    """M (qacc_d + Kd de/dt + Kp e) + C qvel + g."""
    for k in range(m.nv):
        d.qacc[k] = target[2, k] + _feedback(d, target, rows, k)
    _inverse_into(m, d, rows)


@kernel
def _inverse_into(m: Model, d: Data, rows: Matrix) -> None:
    inverse(m, d)
    for k in range(m.nv):
        rows[2, k] = d.qfrc_inverse[k]


@kernel
def _feedback(d: Data, target: Matrix, rows: Matrix, k: int) -> Any:
    e, e_dot = target[0, k] - d.qpos[k], target[1, k] - d.qvel[k]
    return rows[0, k] * e + rows[1, k] * e_dot


@kernel
def _add_feedback(m: Model, d: Data, target: Matrix, rows: Matrix) -> None:
    for k in range(m.nv):
        rows[2, k] += _feedback(d, target, rows, k)


_gravity, _pd_gravity = stage(gravity), stage(pd_gravity)
_impedance, _computed_torque = stage(impedance), stage(computed_torque)
