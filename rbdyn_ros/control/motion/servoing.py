# SPDX-License-Identifier: Apache-2.0
"""Convert twists of a tool to velocities of joints, as MoveIt Servo does.

A twist is (6,) angular, then linear: the velocity of the tool's origin in the axes of a frame. The
joints follow it exactly unless a limit is near. Near a singular posture, a position limit or a
velocity limit the whole twist is scaled down, so that its direction stays.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.names import chosen
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.mobile.driving import ramped
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.dynamics.configuration import motion_limits, position_ranges
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.frames import frame_jacobian, frame_pose
from rbdyn_ros.errors import bad_argument, did_you_mean, listing, quote, refusal
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model

#: Names of the parts of a twist, in its order.
PARTS = ("roll", "pitch", "yaw", "x", "y", "z")
#: Step of the joints that shows whether they approach a singular posture [rad or m].
PROBE = 1e-4
#: Larger shares of a twist count as the whole twist.
WHOLE = 1.0 - 1e-9
#: If the arm leaves out a larger share of a twist, this is reported.
LEFT_OUT = 0.01
#: Share of the largest rate below which a rate is a rounding error.
ROUNDING = 1e-12
#: Singular values below this share of the largest are rounding errors. POSTURES is the number of
#: postures from which the rank is computed.
NO_DIRECTION, POSTURES = 1e-9, 5
#: A change of velocity is halved at most this many times until joints can stop in time.
HALVINGS = 30
#: Time between two points of a path [s].
SPACING = 0.01


@dataclass(frozen=True, slots=True)
class ServoSettings:
    """Settings of a tool that follows twists.

    Attributes:
        frame: link of the tool.
        timeout: time for which a twist counts [s].
        max_linear, max_angular: largest speeds of the tool [m/s, rad/s].
        acceleration: acceleration of joints for which the robot has no limit [rad/s^2 or m/s^2].
        lower_singularity_threshold: condition number of the Jacobian (in rad and m) from which an
            approach to a singular posture is slowed down.
        hard_stop_singularity_threshold: condition number at which this approach ends.
        joint_limit_margin: distance from the limits of joints that is kept [rad or m]; at most
            a quarter of a joint's range.
        drift_dimensions: names of PARTS that need not be followed.

    Raises:
        ParameterError: a number or a name is not allowed.
    """

    frame: str
    timeout: float = 0.1
    max_linear: float = 0.25
    max_angular: float = 1.0
    acceleration: float = 5.0
    lower_singularity_threshold: float = 17.0
    hard_stop_singularity_threshold: float = 30.0
    joint_limit_margin: float = 0.05
    drift_dimensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("timeout", "max_linear", "max_angular", "acceleration"):
            finite(name, getattr(self, name), above=0.0, element="")
        finite("joint_limit_margin", self.joint_limit_margin, low=0.0, element="")
        low, high = self.lower_singularity_threshold, self.hard_stop_singularity_threshold
        finite("lower_singularity_threshold", low, low=1.0, element="")
        if not low < high < np.inf:
            name = "hard_stop_singularity_threshold"
            text = f"{name} is {high:g}; allowed is more than lower_singularity_threshold, {low:g}"
            raise bad_argument(name, text)
        if len(chosen(self.drift_dimensions, PARTS, "part of a twist")) == len(PARTS):
            raise bad_argument(
                "drift_dimensions", "drift_dimensions has all parts of a twist; leave one out"
            )


@dataclass(frozen=True, slots=True)
class JointLimits:
    """Limits of n joints that follow twists: position, velocity, acceleration (n,) each."""

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array


@dataclass(frozen=True, slots=True)
class JointRates:
    """Velocities of joints for a twist.

    Attributes:
        velocity: (n,) velocities of the joints [rad/s or m/s].
        scale: share of the twist that the joints follow.
        reason: reason why the joints follow only a part of the twist: `singularity`, `velocity`,
            `limit`, `direction`; or "".
        joint: number of the joint whose limit is the reason, or -1.
    """

    velocity: Array
    scale: float = 1.0
    reason: str = ""
    joint: int = -1


def joint_rates(
    jacobian_at: Callable[[Array], Array],
    q: Array,
    twist: Array,
    limits: JointLimits,
    settings: ServoSettings,
    rank: int | None = None,
) -> JointRates:
    """Return the velocities of joints with which a tool follows a twist.

    Args:
        jacobian_at: returns the Jacobian of the tool (6, n) in the axes of the twist at positions.
        q: (n,) positions [rad or m].
        twist: (6,) angular, then linear [rad/s, m/s].
        limits: limits of the joints.
        settings: thresholds and margins.
        rank: rank of the followed rows of the Jacobian in a regular posture; None: the largest
            possible.

    Source: the scaling of MoveIt Servo; Chiaverini, Singularity-robust task-priority redundancy
    resolution, 1997 (the bound of the inverse).
    """
    kept = np.array([part not in settings.drift_dimensions for part in PARTS])
    J, wanted = jacobian_at(q)[kept], twist[kept]
    if not np.any(wanted):
        return JointRates(np.zeros(len(q)))
    rates, condition = _inverse(J, wanted, settings.hard_stop_singularity_threshold, rank)
    left = float(np.linalg.norm(J @ rates - wanted) / np.linalg.norm(wanted))
    scales = [_velocity_scale(rates, limits), _limit_scale(q, rates, limits, settings)]
    names = ["velocity", "limit"]
    if condition > settings.lower_singularity_threshold:
        size = max(float(np.abs(rates).max()), np.finfo(float).tiny)
        ahead = _condition(jacobian_at(q + PROBE / size * rates)[kept], rank)
        scales.append((_singularity_scale(condition, ahead, settings), -1))
        names.append("singularity")
    k = min(range(len(scales)), key=lambda i: scales[i][0])
    scale, joint = scales[k]
    if scale < WHOLE:
        return JointRates(scale * rates, scale, names[k], joint)
    return JointRates(rates, 1.0 - min(left, 1.0), "direction" if left > LEFT_OUT else "")


def _inverse(J: Array, twist: Array, worst: float, rank: int | None) -> tuple[Array, float]:
    """Return the joint velocities for a twist, and the condition number of J.

    The inverse is the pseudo-inverse up to the condition number `worst`. Beyond it, the gain of
    the weak directions falls again, to 0 in a singular posture.
    """
    U, S, Vt = np.linalg.svd(J, full_matrices=False)
    U, S, Vt = U[:, :rank], S[:rank], Vt[:rank]
    if S[0] == 0.0:
        return np.zeros(J.shape[1]), np.inf
    floor = S[0] / worst
    gain = np.where(floor <= S, 1.0 / np.maximum(S, floor), S / floor**2)
    with np.errstate(divide="ignore"):
        condition = float(np.divide(S[0], S[-1]))
    rates = Vt.T @ (gain * (U.T @ twist))
    # the rounding error of a rate must not let a joint at its limit stop the other joints
    rates[np.abs(rates) < ROUNDING * np.abs(rates).max()] = 0.0
    return rates, condition


def _condition(J: Array, rank: int | None) -> float:
    S = np.linalg.svd(J, compute_uv=False)[:rank]
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nan_to_num(np.divide(S[0], S[-1]), nan=np.inf))


def _singularity_scale(condition: float, ahead: float, settings: ServoSettings) -> float:
    """Return the share of a twist at a condition number; 1 if the number `ahead` is not larger."""
    if ahead <= condition:
        return 1.0
    low, high = settings.lower_singularity_threshold, settings.hard_stop_singularity_threshold
    return float(np.clip((high - condition) / (high - low), 0.0, 1.0))


def _velocity_scale(rates: Array, limits: JointLimits) -> tuple[float, int]:
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(rates != 0.0, limits.velocity / np.abs(rates), np.inf)
    k = int(np.argmin(shares))
    return min(1.0, float(shares[k])), k


def _limit_scale(
    q: Array, rates: Array, limits: JointLimits, settings: ServoSettings
) -> tuple[float, int]:
    """Return the share of velocities at which all joints can stop together before their limits.

    With the share s they stop in the time s T, in which a joint moves by s^2 T / 2 times its rate.
    Before that they move at the share s for one and a half steps of a path.
    """
    if not np.any(rates):
        return 1.0, -1
    stop = float(np.max(np.abs(rates) / limits.acceleration))
    room, speed = room_of(q, rates, limits, settings), np.abs(rates)
    before = 1.5 * SPACING * speed
    with np.errstate(divide="ignore", invalid="ignore"):
        root = before + np.sqrt(before**2 + 2.0 * stop * speed * room)
        shares = np.where(speed > 0.0, 2.0 * room / root, np.inf)
    shares[np.isinf(room)] = np.inf
    k = int(np.argmin(shares))
    return min(1.0, float(shares[k])), k


def room_of(q: Array, rates: Array, limits: JointLimits, settings: ServoSettings) -> Array:
    """Return how far joints at q may go in the directions of `rates`, at least 0 (n,)."""
    margin = np.minimum(settings.joint_limit_margin, 0.25 * (limits.upper - limits.lower))
    room = np.where(rates > 0.0, limits.upper - margin - q, q - limits.lower - margin)
    return np.maximum(room, 0.0)


def reachable_share(now: Array, wanted: Array, change: Array) -> float:
    """Return the largest share of `wanted` (n,) that differs from `now` (n,) by at most `change`.

    If a joint cannot reverse fast enough, all joints slow down, so the direction stays. If there
    is no such share, return the share whose largest difference is smallest.
    """
    moved = wanted != 0.0
    middle = now[moved] / wanted[moved]
    reach = change[moved] / np.abs(wanted[moved])
    if not middle.size:
        return 1.0
    low, high = float(np.max(middle - reach)), float(np.min(middle + reach))
    return float(np.clip(high if low <= high else 0.5 * (low + high), 0.0, 1.0))


class TwistServo:
    """Follows twists with some joints of a robot, step by step or along a path.

    Args:
        m: the robot.
        names: joints that may move; only the joints above the tool are used.
        settings: see ServoSettings.

    Attributes:
        names: the n joints above the tool.
        limits: limits of these joints.
        settings: the argument.

    Raises:
        ModelError: there is no such frame.
        ParameterError: none of the joints moves the frame.
    """

    def __init__(self, m: Model, names: tuple[str, ...], settings: ServoSettings) -> None:
        self.settings, self.names = settings, joints_above(m, settings.frame, names)
        self.use(m)
        velocity, gain, _ = motion_limits(m)[:, self.dofs]
        chosen_gain = np.where((gain > 0.0) & np.isfinite(gain), gain, settings.acceleration)
        lower, upper = position_ranges(m, self._joints).T
        self.limits = JointLimits(lower, upper, velocity, chosen_gain)
        self._ranks: dict[str, int] = {}
        here, still = m.qpos0[self._places], np.zeros(len(self.names))
        # this compiles the kernels of the first twist
        self.path(m.qpos0, here, still, settings.frame, np.full(6, 1e-6))

    def _rank(self, frame: str, jacobian_at: Callable[[Array], Array]) -> int:
        """Return the largest rank of the followed rows of the Jacobian in random postures."""
        if frame not in self._ranks:
            kept = [part not in self.settings.drift_dimensions for part in PARTS]
            low = np.where(np.isfinite(self.limits.lower), self.limits.lower, -np.pi)
            high = np.where(np.isfinite(self.limits.upper), self.limits.upper, np.pi)
            found = 0
            for place in np.random.default_rng(0).uniform(low, high, (POSTURES, len(low))):
                S = np.linalg.svd(jacobian_at(place)[kept], compute_uv=False)
                found = max(found, int(np.count_nonzero(NO_DIRECTION * S[0] < S)))
            self._ranks[frame] = max(found, 1)
        return self._ranks[frame]

    def use(self, m: Model) -> None:
        """Continue with a Model of the same robot with other objects."""
        self.m, self._d = m, make_data(m)
        self._joints = np.array([m.jnt_names.index(name) for name in self.names], np.int64)
        self.dofs: Ints = m.jnt_dofadr[self._joints]
        self._places: Ints = m.jnt_qposadr[self._joints]

    def capped(self, twist: Array) -> Array:
        """Return a twist (6,) scaled to the largest speeds of the tool."""
        given = np.linalg.norm(twist.reshape(2, 3), axis=1)
        most = np.array([self.settings.max_angular, self.settings.max_linear])
        over = float(np.max(given / most))
        return twist / max(1.0, over)

    def pose(self, qpos: Array) -> tuple[Array, Array]:
        """Return position (3,) [m] and rotation (3, 3) of the tool in the world at qpos (nq,)."""
        self._d.qpos[:] = qpos
        return frame_pose(self.m, self._d, self.settings.frame)

    def check_frame(self, frame: str) -> None:
        """Raise RbdynError for a frame that the robot does not have."""
        if frame and frame not in self.m.frame_names:
            near = did_you_mean(frame, self.m.frame_names)
            listed = listing(self.m.frame_names)
            raise refusal(f"there is no frame {quote(frame)}{near}; there are {listed}", "frame")

    def rates(self, qpos: Array, q: Array, frame: str, twist: Array) -> JointRates:
        """Return the velocities of the joints.

        Args:
            qpos: (nq,) position of the robot; q replaces the joints of the servo in it.
            q: (n,) positions of the joints of the servo.
            frame: frame whose axes the twist has; empty: the world.
            twist: (6,) angular, then linear [rad/s, m/s].
        """
        self._d.qpos[:] = qpos

        def jacobian_at(place: Array) -> Array:
            self._d.qpos[self._places] = place
            J = frame_jacobian(self.m, self._d, self.settings.frame)[:, self.dofs]
            if not frame:
                return J
            R = frame_pose(self.m, self._d, frame)[1]
            return np.vstack([R.T @ J[:3], R.T @ J[3:]])

        rank = self._rank(frame, jacobian_at)
        return joint_rates(jacobian_at, q, self.capped(twist), self.limits, self.settings, rank)

    def step(
        self, qpos: Array, q: Array, v: Array, frame: str, twist: Array, period: float
    ) -> tuple[Array, JointRates]:
        """Return velocities (n,) a period later, and the rates that they approach.

        For the arguments see `rates` and `next`.
        """
        found = self.rates(qpos, q + period * v, frame, twist)
        return self.next(q, v, found.velocity, period), found

    def next(self, q: Array, v: Array, wanted: Array, period: float) -> Array:
        """Return velocities (n,) a period later, from which the joints stop before their limits.

        Args:
            q: (n,) positions [rad or m].
            v: (n,) velocities [rad/s or m/s].
            wanted: (n,) velocities to approach [rad/s or m/s].
            period: time from v to the result [s].
        """
        most = self.limits.acceleration
        brake = ramped(v, np.zeros_like(v), most, period)
        share = reachable_share(v, wanted, most * period)
        change = ramped(v, share * wanted, most, period) - brake
        share = 1.0
        for _ in range(HALVINGS):
            if self._stops(q, v, brake + share * change, period):
                return brake + share * change
            share *= 0.5
        return brake

    def _stops(self, q: Array, v: Array, new: Array, period: float) -> bool:
        """Return whether joints with velocities `new` in a period can stop before their limits."""
        ahead = q + 0.5 * period * (v + new)
        time = float(np.max(np.abs(new) / self.limits.acceleration)) + period
        room = room_of(ahead, new, self.limits, self.settings)
        return bool(np.all(0.5 * time * np.abs(new) <= room + 1e-12))

    def path(
        self, qpos: Array, q: Array, v: Array, frame: str, twist: Array
    ) -> tuple[Path, JointRates]:
        """Return the motion of the joints until a twist has timed out and they rest.

        For the arguments see `rates`; v: (n,) velocities of the joints at the start. The second
        value is the velocity of the joints in the first step. If nothing moves, the path has one
        point.
        """
        places, rates, seen = [q], [v], JointRates(np.zeros(len(q)))
        times = [0.0]
        for k in range(int(np.ceil(self.settings.timeout / SPACING)) if np.any(twist) else 0):
            new, found = self.step(qpos, places[-1], rates[-1], frame, twist, SPACING)
            seen = seen if k else found
            rates.append(new)
            places.append(places[-1] + 0.5 * SPACING * (rates[-2] + rates[-1]))
            times.append(times[-1] + SPACING)
        stop = float(np.max(np.abs(rates[-1]) / self.limits.acceleration))
        if stop > 0.0:
            stop = max(stop, SPACING)
            places.append(places[-1] + 0.5 * stop * rates[-1])
            rates.append(np.zeros(len(q)))
            times.append(times[-1] + stop)
        return Path(times, np.array(places), np.array(rates)), seen


def joints_above(m: Model, frame: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the given joints that carry a frame, ordered from the root.

    Raises:
        ModelError: there is no such frame.
        ParameterError: none of the joints moves the frame.
    """
    found, body = list[str](), int(m.frame_bodyid[m.frame_id(frame)])
    while body > 0:
        single = m.jnt_dofnum[body - 1] == 1 and m.jnt_class[body - 1] == JointClass.FREE
        if single and m.jnt_names[body - 1] in names:
            found.append(m.jnt_names[body - 1])
        body = int(m.body_parentid[body])
    if not found:
        text = f"link {quote(frame)} is moved by no joint that can be commanded"
        raise bad_argument("frame", text)
    return tuple(reversed(found))


def towards(place: Array, R: Array, goal: Array, R_goal: Array, gain: float) -> Array:
    """Return the twist (6,) that reduces the distance from a goal by a rate [1/s].

    Args:
        place: (3,) position of the tool in the axes of the twist [m].
        R: (3, 3) rotation of the tool in these axes.
        goal: (3,) position to reach [m].
        R_goal: (3, 3) rotation to reach.
        gain: rate [1/s].
    """
    turn = Rotation.from_matrix(R_goal @ R.T).as_rotvec()
    return gain * np.concatenate([turn, goal - place])


def reason_text(rates: JointRates, names: tuple[str, ...]) -> str:
    """Return the reason why a tool follows only a part of a twist, or an empty string."""
    joint = f" of joint '{names[rates.joint]}'" if rates.joint >= 0 else ""
    why = {
        "": "",
        "singularity": "a singular posture is near",
        "velocity": f"the velocity limit{joint} is reached",
        "limit": f"the position limit{joint} is near",
        "direction": "the arm cannot move in this direction",
    }
    return why[rates.reason]
