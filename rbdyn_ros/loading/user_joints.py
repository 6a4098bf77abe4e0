"""Whether functions of the user are right: S against the pose, S_dot against S, qd against q.

What is called here is the Python function, not its machine code: it tells when it leaves its
arrays. Derivatives are differences over h and h/2; where these do not agree nothing is judged.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.configuration import usual_ranges
from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.model.callbacks import by_address
from rbdyn_ros.model.joints import JointType
from rbdyn_ros.model.model import Model

Values = tuple[Array, ...]

STEP = 1e-5
#: Of E E^T = 1, and relative to a derivative: extrapolated differences are far better.
TOLERANCE = 1e-6
#: What rounding leaves of a difference over STEP of numbers of size one, with a wide margin.
ROUNDING = 1e-8
STATES = 9
#: Not round: there a motion may well have a corner [s].
TIMES = (0.1371, 0.7193, 1.9337, 5.3171, 17.9113)


def check_user_functions(m: Model) -> None:
    """Raise ModelError if a user-defined joint or motion of m is not what its derivatives say.

    Looked at is each such joint at some positions within its limits, each motion at some times.
    """
    if m.loops is not None:
        check_user_functions(m.loops)
    with np.errstate(all="ignore"):
        for j in np.flatnonzero(m.jnt_type == JointType.USER).tolist():
            _Joint(m, j).judge()
        for j in np.flatnonzero(m.jnt_motion).tolist():
            _Motion(m, j).judge()


class _Judged:
    """A function of the user; `call` gives its values at x, or raises ModelError."""

    def __init__(self, m: Model, j: int, of: str, address: int, where: str) -> None:
        self.element = f"joint '{m.jnt_names[j]}'"
        self.of, self.where = of, where
        self.function = by_address(address).function
        self.nv = int(m.jnt_dofnum[j])

    def run(self, x: object, *arguments: object) -> None:
        try:
            self.function(*arguments)
        except Exception as error:  # whatever it is, it is the user's
            raise self.wrong(x, f"raises {type(error).__name__}: {error}") from error

    def wrong(self, x: object, why: str) -> ModelError:
        text = f"{self.element}: {self.of} {why} (at {self.where} = {x})"
        return ModelError(Finding("user-function", text, "error", self.element))

    def check_finite(self, x: object, values: Values) -> None:
        if not all(np.isfinite(value).all() for value in values):
            raise self.wrong(x, "has numbers that are not finite")

    def check_slope(
        self, x: object, name: str, given: Array, of: str, value: Callable[[float], Array]
    ) -> None:
        """Raise ModelError unless `given` is the derivative of `value` at zero."""
        wide, narrow = ((value(h) - value(-h)) / (2.0 * h) for h in (STEP, 0.5 * STEP))
        slope = (4.0 * narrow - wide) / 3.0
        size = max(1.0, float(np.abs(value(0.0)).max()), float(np.abs(slope).max()) * STEP)
        allowed = TOLERANCE * np.abs(slope) + 4.0 * np.abs(wide - narrow) + ROUNDING * size
        excess = np.where(np.isfinite(slope), np.abs(given - slope) - allowed, -1.0)
        if excess.max() > 0.0:
            at = np.unravel_index(np.argmax(excess), excess.shape)
            entry = ", ".join(str(int(k)) for k in at)
            raise self.wrong(
                x,
                f"has {name}[{entry}] = {given[at]:.6g}, but the derivative of {of} is "
                f"{slope[at]:.6g} there",
            )


class _Joint(_Judged):
    def __init__(self, m: Model, j: int) -> None:
        of = f"the jcalc of '{m.jnt_usertype[j]}'"
        super().__init__(m, j, of, int(m.jnt_jcalc[j]), "q")
        self.p = m.jnt_param[j]
        self.ranges = usual_ranges(m, j)
        q = int(m.jnt_qposadr[j])
        self.zero = m.qpos0[q : q + self.nv] if q < m.nq else None

    def judge(self) -> None:
        rng = np.random.default_rng(1)
        # every coordinate is once in each of STATES equal parts of its range
        parts = np.column_stack([rng.permutation(STATES) for _ in range(self.nv)])
        for share in (parts + rng.uniform(size=parts.shape)) / STATES:
            low, high = np.array(self.ranges).T
            self.compare(low * (1.0 - share) + high * share, rng.uniform(-1.0, 1.0, self.nv))
        if self.zero is not None:
            self.check_domain(self.zero)

    def call(self, q: Array, qd: Array) -> Values:
        E, r = np.eye(3), np.zeros(3)
        S, S_dot = np.zeros((6, self.nv)), np.zeros((6, self.nv))
        given = [np.array(vector) for vector in (q, qd, self.p)]
        for vector in given:
            vector.flags.writeable = False
        self.run(q.tolist(), *given, E, r, S, S_dot)
        return E, r, S, S_dot

    def check_domain(self, q: Array) -> None:
        try:
            self.check_finite(q.tolist(), self.call(q, np.zeros(self.nv)))
        except ModelError as error:
            raise self.wrong(
                q.tolist(), "is not defined: its zero position is outside its domain"
            ) from error

    def compare(self, q: Array, qd: Array) -> None:
        at = q.tolist()
        here = self.call(q, qd)
        self.check_finite(at, here)
        E, _, S, S_dot = here
        if np.abs(E @ E.T - np.eye(3)).max() > TOLERANCE or np.linalg.det(E) < 0.0:
            raise self.wrong(at, "has an E that is no rotation")
        self.check_slope(at, "S", S, "its pose", lambda h: self._moved(q, E, h))
        self.check_slope(at, "S_dot", S_dot, "S", lambda h: self.call(q + h * qd, qd)[2])

    def _moved(self, q: Array, E: Array, h: float) -> Array:
        """Return columns whose derivative is S: turn and shift if a coordinate moves by h.

        Both are seen in the moved frame at q; dE/dt = -w x E.
        """
        columns = []
        for axis in np.eye(self.nv):
            moved, r = self.call(q + h * axis, np.zeros(self.nv))[:2]
            w = -moved @ E.T
            turn = 0.5 * np.array([w[2, 1] - w[1, 2], w[0, 2] - w[2, 0], w[1, 0] - w[0, 1]])
            columns.append(np.concatenate([turn, E @ r]))
        return np.column_stack(columns)


class _Motion(_Judged):
    def __init__(self, m: Model, j: int) -> None:
        of = f"the motion '{m.jnt_motion_name[j]}'"
        super().__init__(m, j, of, int(m.jnt_motion[j]), "t")

    def judge(self) -> None:
        self.check_finite(0.0, self.call(0.0))
        for t in TIMES:
            here = self.call(t)
            self.check_finite(t, here)
            self.check_slope(t, "qd", here[1], "q", functools.partial(self.shifted, t, 0))
            self.check_slope(t, "qdd", here[2], "qd", functools.partial(self.shifted, t, 1))

    def shifted(self, t: float, which: int, h: float) -> Array:
        return self.call(t + h)[which]

    def call(self, t: float) -> Values:
        values = tuple(np.zeros(self.nv) for _ in range(3))
        self.run(t, np.float64(t), *values)
        return values
