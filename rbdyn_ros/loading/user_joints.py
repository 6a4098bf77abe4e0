# SPDX-License-Identifier: Apache-2.0
"""Check user-defined functions: S against the pose, S_dot against S, qd against q.

The Python function is called, not its machine code, so that an index error raises. Derivatives are
finite differences over h and h/2; the more these disagree, the larger the allowed error.
"""

import functools

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.configuration import usual_ranges
from rbdyn_ros.dynamics.user_functions import TOLERANCE, UserFunction, states
from rbdyn_ros.errors import ModelError
from rbdyn_ros.model.declared.callbacks import MODEL_CHECKS, by_address
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model

Values = tuple[Array, ...]

#: Times to check [s]; round numbers are avoided, as a motion may have a corner there.
TIMES = (0.1371, 0.7193, 1.9337, 5.3171, 17.9113)


def check_user_functions(m: Model) -> None:
    """Raise ModelError if the derivatives of a user-defined joint or motion are wrong.

    Joints are checked at some positions within their limits, motions at some times.
    """
    if m.loops is not None:
        check_user_functions(m.loops)
    with np.errstate(all="ignore"):
        for j in np.flatnonzero(m.jnt_type == JointType.USER).tolist():
            _Joint(m, j).check()
        for j in np.flatnonzero(m.jnt_motion).tolist():
            _Motion(m, j).check()


MODEL_CHECKS.append(check_user_functions)


class _JointFunction(UserFunction):
    """A user-defined function of joint j, by its address; `of` is its name in messages."""

    def __init__(self, m: Model, j: int, of: str, address: int, argument: str) -> None:
        element = f"joint '{m.jnt_names[j]}'"
        super().__init__(by_address(address).function, f"{element}: {of}", element, argument)
        self.nv = int(m.jnt_dofnum[j])


class _Joint(_JointFunction):
    def __init__(self, m: Model, j: int) -> None:
        of = f"the jcalc of '{m.jnt_usertype[j]}'"
        super().__init__(m, j, of, int(m.jnt_jcalc[j]), "q")
        self.p = m.jnt_param[j]
        self.ranges = usual_ranges(m, j)
        q = int(m.jnt_qposadr[j])
        self.zero = m.qpos0[q : q + self.nv] if q < m.nq else None

    def check(self) -> None:
        for q, qd in states(np.array(self.ranges)):
            self.compare(q, qd)
        if self.zero is not None:
            self.check_domain(self.zero)

    def call(self, q: Array, qd: Array) -> Values:
        E, r = np.eye(3), np.zeros(3)
        S, S_dot = np.zeros((6, self.nv)), np.zeros((6, self.nv))
        given = [np.array(vector) for vector in (q, qd, self.p)]
        for vector in given:
            vector.flags.writeable = False
        self.run(q, *given, E, r, S, S_dot)
        return E, r, S, S_dot

    def check_domain(self, q: Array) -> None:
        try:
            self.check_finite(q, self.call(q, np.zeros(self.nv)))
        except ModelError as error:
            raise self.wrong(q, "is not defined at its zero position") from error

    def compare(self, q: Array, qd: Array) -> None:
        here = self.call(q, qd)
        self.check_finite(q, here)
        E, _, S, S_dot = here
        if np.abs(E @ E.T - np.eye(3)).max() > TOLERANCE or np.linalg.det(E) < 0.0:
            raise self.wrong(q, "returns an E that is not a rotation")
        self.check_slope(q, "S", S, "its pose", lambda h: self._moved(q, E, h))
        self.check_slope(q, "S_dot", S_dot, "S", lambda h: self.call(q + h * qd, qd)[2])

    def _moved(self, q: Array, E: Array, h: float) -> Array:
        """Return rotation and translation for a step h of each coordinate; S is their derivative.

        Both are in the axes of the moved frame at q; dE/dt = -w x E.
        """
        columns = []
        for axis in np.eye(self.nv):
            moved, r = self.call(q + h * axis, np.zeros(self.nv))[:2]
            w = -moved @ E.T
            turn = 0.5 * np.array([w[2, 1] - w[1, 2], w[0, 2] - w[2, 0], w[1, 0] - w[0, 1]])
            columns.append(np.concatenate([turn, E @ r]))
        return np.column_stack(columns)


class _Motion(_JointFunction):
    def __init__(self, m: Model, j: int) -> None:
        of = f"the motion '{m.jnt_motion_name[j]}'"
        super().__init__(m, j, of, int(m.jnt_motion[j]), "t")

    def check(self) -> None:
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
