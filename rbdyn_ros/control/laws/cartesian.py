# SPDX-License-Identifier: Apache-2.0
"""Cartesian impedance control of a frame."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.laws import frame_stiffness
from rbdyn_ros.control.laws.arrival import arrival
from rbdyn_ros.control.laws.joint_laws import checked_gains
from rbdyn_ros.control.laws.rehearsal_kernels import rehearse
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.dynamics.entry import Entry, check_mass_matrix, handles, public
from rbdyn_ros.dynamics.toolbox.inertia import frame_mobility, reflected_inertia
from rbdyn_ros.engine.compiler.jit import DISABLED
from rbdyn_ros.engine.quantities.jacobian import frame_pose
from rbdyn_ros.errors import bad_argument, quote, refusal

#: Longest rehearsed motion [s], and the most pieces into which it is cut.
REHEARSED, MOST_PIECES = 60.0, 1000
#: Steps of a rehearsal are this part of the shortest time constant of the law.
STEP = 0.3

_entry = Entry(frame_stiffness.cartesian_impedance)
_frame_pose = public(frame_pose)


class CartesianImpedance:
    """J^T (K e - D J qvel) + P^T (k (posture - qpos) - d P qvel) + C qvel + g.

    The pose error e is [angular; linear] in world axes: log(R_d R^T), and the difference of the
    positions. The law does not change the inertia. D gives every mode of the robot on the spring K
    the same damping ratio: with B = K^1/2 J and B M^-1 B^T = U Omega^2 U^T it is 2 ratio K^1/2 U
    Omega^-1 U^T K^1/2. B^T U Omega^-1 U^T B stays finite in singular postures and for robots with
    fewer than six joints.

    P is the dynamically consistent projector: efforts P^T tau do not accelerate the frame, and
    P qvel is the motion in the null space. Directions without stiffness, or in which the robot
    cannot move, belong to the null space. Modes slower than 0.5 percent of the fastest mode, as
    near a singular posture, fade into it, so that the efforts are continuous.

    Args:
        arm: the robot.
        frame: name or number of a moving link.
        stiffness: K (6,), or one number for all [N m/rad; N/m].
        damping_ratio: one number; 1 is critical.
        null_stiffness: k (nv,) or one number [N m/rad or N/m].
        null_damping: d (nv,) or one number [N m s/rad or N s/m].

    Attributes:
        effort: (nv,) result of the last call [N m or N].

    Raises:
        ModelError: there is no such frame, or the robot has too many joints for a mass matrix.
        ParameterError: the frame is fixed to the world, or a gain is negative or not a number.

    Source: Albu-Schaeffer, Ott, Frese, Hirzinger, Cartesian impedance control of redundant robots,
    2003 (simultaneous diagonalisation of K and the operational inertia); Khatib, A unified
    approach for motion and force control, 1987 (the projector).
    """

    def __init__(
        self,
        arm: Arm,
        frame: str | int,
        stiffness: ArrayLike,
        damping_ratio: float = 1.0,
        null_stiffness: ArrayLike = 0.0,
        null_damping: ArrayLike = 0.0,
    ) -> None:
        m = arm.m
        check_mass_matrix(m, arm.d, "CartesianImpedance")
        self._frame = m.frame_id(frame)
        if m.frame_bodyid[self._frame] == 0:
            name = quote(m.frame_names[self._frame])
            text = f"link {name} is fixed to the world; allowed are moving links"
            raise bad_argument("frame", text)
        self._ratio = finite("damping_ratio", damping_ratio, low=0.0, element="")
        self._poses, self._task = np.zeros((2, 4, 3)), np.zeros((frame_stiffness.FORCE + 13, 6))
        self._task[frame_stiffness.ROOT] = np.sqrt(checked_gains("stiffness", stiffness, 6))
        self._B, self._rows = np.zeros((2, 6, m.nv)), np.zeros((6, m.nv))
        for row, name, gains in (
            (frame_stiffness.NULL_STIFFNESS, "null_stiffness", null_stiffness),
            (frame_stiffness.NULL_DAMPING, "null_damping", null_damping),
        ):
            self._rows[row] = checked_gains(name, gains, m.nv)
        self.effort = self._rows[frame_stiffness.EFFORT]
        self.arm = arm

    def use(self, arm: Arm) -> None:
        """Continue with an arm with the same joints, for example with another payload."""
        self.arm = arm

    def pose(self, qpos: Array) -> Array:
        """Return the pose of the frame at qpos, (4, 3): rows of the rotation, position [m]."""
        out = np.empty((4, 3))
        self.arm.d.qpos[:] = qpos
        _frame_pose(self.arm.m, self.arm.d, self._frame, out)
        return out

    def fastest(self, qpos: Array) -> tuple[float, float]:
        """Return the highest natural frequency at qpos [rad/s], and the damping ratio."""
        m, d = self.arm.m, self.arm.d
        d.qpos[:] = qpos
        root = self._task[frame_stiffness.ROOT]
        mobility = root[:, None] * frame_mobility(m, d, self._frame) * root
        return float(np.sqrt(max(np.linalg.eigvalsh(mobility)[-1], 0.0))), self._ratio

    def rehearsed(self, qpos: Array, qvel: Array, pose: Array, posture: Array, dofs: Ints) -> Path:
        """Return the motion of the model under this law until it rests, see arrival.

        The model has neither friction nor limits of efforts.

        Args:
            qpos: (nv,) position at the start [rad or m].
            qvel: (nv,) velocity at the start [rad/s or m/s].
            pose: desired pose, as for a call.
            posture: desired posture, as for a call.
            dofs: (n,) degrees of freedom that move, the columns of the path; others stay.

        Raises:
            RbdynError: the motion takes longer than REHEARSED.
        """
        m, d = self.arm.m, self.arm.d
        frequency, ratio = self.fastest(qpos)
        inertia, null = reflected_inertia(m, d), self._rows[: frame_stiffness.EFFORT]
        rates = np.maximum(
            np.sqrt(null[frame_stiffness.NULL_STIFFNESS] / inertia),
            null[frame_stiffness.NULL_DAMPING] / inertia,
        )
        fastest = max(frequency * max(1.0, 2.0 * ratio), float(rates[dofs].max()), 1.0)
        held = np.ones(m.nv)
        held[dofs] = 0.0
        times, places = np.empty(MOST_PIECES), np.empty((MOST_PIECES, m.nv))
        calm = arrival(
            m, d, self._frame, self._task[frame_stiffness.ROOT], ratio, self._rows, dofs
        )
        d.qpos[:], d.qvel[:] = qpos, qvel
        self._poses[0], self._rows[frame_stiffness.POSTURE] = pose, posture
        dt = STEP / fastest
        count = rehearse.call(
            *handles(m, d), self._frame, ratio, self._poses, self._task, self._B, self._rows,
            held, *calm, dt, int(REHEARSED / dt), times, places,
        )  # fmt: skip
        if count == 0:
            text = (
                f"the arm would still move {REHEARSED:g} s after the pose was set, or move too "
                f"far to be checked, so its end is unknown; raise the stiffness of "
                "the frame or of its null space, or choose a damping that is nearer to critical"
            )
            raise refusal(text, "too-slow")
        return Path(times[:count], places[:count, dofs])

    def __call__(self, qpos: Array, qvel: Array, pose: Array, posture: Array) -> Array:
        """Return the efforts (nv,) [N m or N] at a state.

        Args:
            qpos: (nv,) positions [rad or m].
            qvel: (nv,) velocities [rad/s or m/s].
            pose: (4, 3) desired pose as from `pose`: rows of a rotation matrix, then the position
                in the base link [m].
            posture: (nv,) desired positions in the null space.

        Raises:
            ParameterError: pose or posture has a wrong shape.
        """
        if np.shape(pose) != (4, 3) or np.shape(posture) != self.effort.shape:
            text = (
                f"pose and posture have the shapes {np.shape(pose)} and {np.shape(posture)}; "
                f"allowed are (4, 3) and {self.effort.shape}"
            )
            raise bad_argument("pose", text)
        m, d = self.arm.m, self.arm.d
        d.qpos[:], d.qvel[:] = qpos, qvel
        self._poses[0], self._rows[frame_stiffness.POSTURE] = pose, posture
        _run(m, d, self._frame, self._ratio, self._poses, self._task, self._B, self._rows)
        return self.arm.command(self.effort, qpos, qvel)


def _run(m: Any, d: Any, *more: Any) -> None:
    if DISABLED:
        frame_stiffness.cartesian_impedance(m, d, *more)
    else:
        _entry.call(d.model_address, d.address, *more)
