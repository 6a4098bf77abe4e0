# SPDX-License-Identifier: Apache-2.0
"""Torque constant, friction and rotor inertia of a drive, from its efforts.

A drive reports e, in any unit; its torque on the joint is s e. It moves the load L (the inverse
dynamics of the robot), the rotor and the friction of the motor at speeds v:
  s e = L + J dv/dt + (Fc + (Fs - Fc) exp(-(v / vs)^2)) sgn v + d v + constant
This is the LuGre model at constant speed (Canudas de Wit et al., 1995). Divided by s it is linear
in all unknowns except the Stribeck speed vs, so only vs needs a search (variable projection:
Golub, Pereyra, 1973).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import maximum_filter1d, uniform_filter1d
from scipy.optimize import minimize_scalar

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.identification.actuators.estimate import Estimate, covariance, deviation, solution
from rbdyn_ros.identification.data.motion import Motion

#: Columns of the equations. RISE belongs to Fs - Fc; SPEED is the derivative with respect to vs.
SCALE, CONSTANT, COULOMB, VISCOUS, ROTOR, RISE, SPEED = range(7)
#: Width of the filter of a motion [samples].
WIDTH = 5
#: A joint may be at rest below this multiple of the noise of its speed, or below this part of its
#: largest speed.
NOISE, REST = 3.0, 1e-3
#: The least Stribeck speed is this quantile of the speeds of the moving samples.
SLOWEST = 0.01
#: Stribeck speeds that are tried first, and the tolerance of the logarithm of the best speed.
TRIED, TOLERANCE = 16, 1e-3
#: Effort per torque of a drive whose efforts do not depend on its load.
LEAST_SHARE = 1e-100
#: Least speed that is not a rounding error [rad/s or m/s].
LEAST_SPEED = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class DriveRecord:
    """The recording of one drive.

    Attributes:
        motion: motion of its joint alone, with the reported efforts.
        load: (p,) torque on the joint without motor and gear [N m or N].
        kept: (p,) usable samples: the joint moves, and the drive is not saturated.
    """

    motion: Motion
    load: Array
    kept: Bools

    @property
    def slowest(self) -> float:
        """The slowest speed of the motion [rad/s or m/s]."""
        return float(np.quantile(np.abs(self.motion.qvel[self.kept, 0]), SLOWEST))


@dataclass(frozen=True, slots=True)
class DriveFit:
    """A drive, with friction and inertia at the joint.

    Attributes:
        scale: torque on the joint per reported effort.
        constant: constant torque [N m or N].
        coulomb: friction while sliding fast, or the mean friction if `rise` is None [N m or N].
        viscous: viscous friction [N m s/rad or N s/m].
        rotor: inertia of the rotor [kg m^2 or kg].
        static: friction at the start of sliding [N m or N]; None if it was not fitted.
        rise: static friction minus Coulomb friction [N m or N]; None if it was not fitted.
        speed: Stribeck speed [rad/s or m/s]; None if it was not fitted.
        unexplained: RMS of the efforts that the fit does not explain, as a part of the RMS of all
            efforts.
    """

    scale: Estimate
    constant: Estimate
    coulomb: Estimate
    viscous: Estimate
    rotor: Estimate
    static: Estimate | None
    rise: Estimate | None
    speed: Estimate | None
    unexplained: float


def moving(motion: Motion) -> Bools:
    """Return the samples (p,) of the motion of one joint in which it surely moves.

    Dry friction is undetermined while the joint rests or reverses, and the filter spreads it to
    the neighbouring samples.
    """
    v = motion.qvel[:, 0]
    noise = 1.4826 * float(np.median(np.abs(v - uniform_filter1d(v, WIDTH))))
    slow = np.abs(v) <= max(NOISE * noise, REST * float(np.abs(v).max()))
    slow[1:] |= v[1:] * v[:-1] <= 0.0
    moves: Bools = ~maximum_filter1d(slow, 2 * WIDTH + 1)
    return moves


def fit_drive(
    drive: DriveRecord,
    *,
    scale: float | None = None,
    rotor: float | None = None,
    stribeck: bool = True,
) -> DriveFit:
    """Return the drive that explains the efforts best.

    Args:
        drive: recording of the drive.
        scale: torque per reported effort; None: unknown.
        rotor: inertia of the rotor, at the joint [kg m^2 or kg]; None: unknown.
        stribeck: whether static friction may differ from Coulomb friction.
    """
    A, b = _equations(drive, scale, rotor)
    speed = _best_speed(drive, A, b) if stribeck else None
    columns = A if speed is None else np.column_stack([A, _rise(drive, speed)])
    x, differences = solution(columns, b)
    J = columns
    if speed is not None:
        J = np.column_stack([columns, x[RISE] * _slope(drive, speed)])
    C = covariance(J, differences)
    if scale is not None:
        x[SCALE], C[SCALE], C[:, SCALE] = 1.0 / scale, 0.0, 0.0
    effort = drive.motion.effort[drive.kept]
    unexplained = float(np.linalg.norm(differences) / np.linalg.norm(effort))
    return _in_torques(x, C, rotor, speed, unexplained)


def _equations(
    drive: DriveRecord, scale: float | None, rotor: float | None
) -> tuple[Array, Array]:
    """Return columns (k, 5) and efforts (k,) of the equations.

    `scale` is the torque per reported effort, and `rotor` the inertia of the rotor at the joint
    [kg m^2 or kg]; None: unknown. The column of a known number is zero.
    """
    motion = drive.motion
    v, a, effort = motion.qvel[:, 0], motion.qacc[:, 0], motion.effort[:, 0]
    load, ones, zeros = drive.load + (rotor or 0.0) * a, np.ones(len(a)), np.zeros(len(a))
    if scale is not None:
        load, effort = zeros, effort - load / scale
    columns = [load, ones, _of_speed(drive, np.sign), v, a if rotor is None else zeros]
    return np.column_stack(columns)[drive.kept], effort[drive.kept]


def _of_speed(drive: DriveRecord, function: Callable[[Array], Array]) -> Array:
    """Return the values (p,) of a function of the speed, filtered like the efforts."""
    return np.asarray(drive.motion.of_velocity(function)[:, 0], np.float64)


def _rise(drive: DriveRecord, speed: float) -> Array:
    """Return the column of Fs - Fc (k,) for a Stribeck speed [rad/s or m/s]."""
    return _of_speed(drive, lambda v: np.sign(v) * np.exp(-((v / speed) ** 2)))[drive.kept]


def _slope(drive: DriveRecord, speed: float) -> Array:
    """Return the derivative of the column of Fs - Fc by the Stribeck speed (k,)."""

    def by_speed(v: Array) -> Array:
        ratio = (v / speed) ** 2
        return np.asarray(np.sign(v) * np.exp(-ratio) * 2.0 * ratio / speed)

    return _of_speed(drive, by_speed)[drive.kept]


def _best_speed(drive: DriveRecord, A: Array, b: Array) -> float:
    """Return the Stribeck speed that explains the efforts b best; A has the other columns."""
    fastest = float(np.abs(drive.motion.qvel[drive.kept, 0]).max())
    low, high = max(drive.slowest, LEAST_SPEED), max(fastest, 2.0 * LEAST_SPEED)

    def remaining(log_speed: float) -> float:
        columns = np.column_stack([A, _rise(drive, float(np.exp(log_speed)))])
        return float(np.linalg.norm(solution(columns, b)[1]))

    tried = np.linspace(np.log(low), np.log(high), TRIED)
    best = int(np.argmin([remaining(x) for x in tried]))
    between = tried[max(0, best - 1)], tried[min(TRIED - 1, best + 1)]
    options = {"xatol": TOLERANCE}
    found = minimize_scalar(remaining, bounds=between, method="bounded", options=options)
    return float(np.exp(found.x))


def _in_torques(
    x: Array, C: Array, rotor: float | None, speed: float | None, unexplained: float
) -> DriveFit:
    """Return the drive in torques, from coefficients x of its efforts and their covariance C.

    Args:
        x: coefficients of the columns of _equations, and of RISE if `speed` is not None.
        C: covariance of the coefficients.
        rotor: known inertia of the rotor at the joint [kg m^2 or kg]; None: it is in x.
        speed: Stribeck speed [rad/s or m/s]; None: it was not fitted.
        unexplained: as in DriveFit.
    """
    share = float(x[SCALE]) or LEAST_SHARE

    def torque(*terms: int) -> Estimate:
        total, gradient = float(x[list(terms)].sum()), np.zeros(len(C))
        gradient[list(terms)], gradient[SCALE] = 1.0 / share, -total / share**2
        return Estimate(total / share, deviation(gradient, C))

    return DriveFit(
        scale=Estimate(1.0 / share, float(np.sqrt(C[SCALE, SCALE])) / share**2),
        constant=torque(CONSTANT),
        coulomb=torque(COULOMB),
        viscous=torque(VISCOUS),
        rotor=torque(ROTOR) if rotor is None else Estimate(rotor, 0.0),
        static=None if speed is None else torque(COULOMB, RISE),
        rise=None if speed is None else torque(RISE),
        speed=None if speed is None else Estimate(speed, float(np.sqrt(C[SPEED, SPEED]))),
        unexplained=unexplained,
    )
