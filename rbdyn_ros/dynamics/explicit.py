# SPDX-License-Identifier: Apache-2.0
"""Explicit constraints: the positions of a Model are a function q = gamma(y) of a few coordinates.

The equations of motion are projected onto the motions of y, so the constraint holds exactly and
cannot drift: H_G ydd + C_G = G^T tau, RBDA eq 3.20 and 3.21. Constraints without such a function
need loop joints.
"""

import functools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import count, finite
from rbdyn_ros.dynamics import stages as api
from rbdyn_ros.dynamics.configuration import differentiate_pos
from rbdyn_ros.dynamics.entry import MAX_STEPS, check_pair
from rbdyn_ros.dynamics.toolbox.inertia import mass_matrix
from rbdyn_ros.dynamics.user_functions import TOLERANCE, UserFunction, states
from rbdyn_ros.errors import ModelError, not_allowed
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model, check_model

Gamma = Callable[[Array, Array, Array, Array, Array], None]
Ranges = Sequence[tuple[float, float]]


class ExplicitConstraint:
    """A Model that moves in the coordinates y alone: q = gamma(y), qd = G yd.

        def gears(y, yd, q, G, g):
            q[0], q[1] = y[0], -3.0 * y[0]
            G[0, 0], G[1, 0] = 1.0, -3.0

        drive = rb.ExplicitConstraint(m, 1, gears)
        ydd, tau_c = drive.forward(d, y, yd, tau)

    Driven joints and mimic joints move as usual. Other constraints of the Model and d.drive_mode
    are ignored.

    Attributes:
        m: the Model.
        ny: number of coordinates.
    """

    def __init__(self, m: Model, ny: int, gamma: Gamma, ranges: Ranges | None = None) -> None:
        """Check gamma at some random y.

        Args:
            m: a Model.
            ny: number of coordinates y; yd is dy/dt.
            gamma: function gamma(y, yd, q, G, g) that writes q (nq,), the positions; G (nv, ny),
                the derivatives of qvel with respect to yd; and g (nv,), dG/dt yd. At the call q
                holds m.qpos0, and G and g are zero; y and yd are read-only.
            ranges: (lowest, highest) of each coordinate, within which gamma is checked; None: -1
                to 1.

        Raises:
            ModelError: gamma raises an error, or its G or g is not the correct derivative.
            ParameterError: an argument has the wrong type or value.
        """
        check_model(m, "ExplicitConstraint")
        if not callable(gamma):
            raise not_allowed("gamma", gamma, "a function gamma(y, yd, q, G, g)", "gamma", "gamma")
        self.m = m
        self.ny = count("ny", ny, 1, m.nv, code="ny")
        self._gamma = _Gamma(m, gamma)
        for y, yd in states(_ranges(ranges, self.ny)):
            self._check_at(y, yd)

    def evaluate(self, y: ArrayLike, yd: ArrayLike) -> tuple[Array, Array, Array]:
        """Return q (nq,), G (nv, ny) and g (nv,).

        Raises:
            ModelError: gamma raises an error, or y or yd does not hold ny finite numbers.
        """
        y, yd = self._coordinates(y, yd)
        q, G, g = self.m.qpos0.copy(), np.zeros((self.m.nv, self.ny)), np.zeros(self.m.nv)
        self._gamma.run(y, y, yd, q, G, g)
        self._gamma.check_finite(y, (q, G, g))
        return q, G, g

    def set_state(self, d: Data, y: ArrayLike, yd: ArrayLike) -> None:
        """Write qpos = gamma(y) and qvel = G yd.

        Raises:
            ModelError: as for `evaluate`, or d was not made for m.
        """
        self._write_state(d, y, yd)

    def dynamics(self, d: Data, y: ArrayLike, yd: ArrayLike) -> tuple[Array, Array]:
        """Return H_G (ny, ny) and C_G (ny,): H_G ydd + C_G = G^T tau (RBDA eq 3.21).

        C is qfrc_bias - qfrc_passive. qfrc_applied and xfrc_applied of d are ignored. The state
        and the fields of fwd_position and fwd_velocity are written.

        Raises:
            ModelError: as for `set_state`.
        """
        H, C, G, g = self._equations(d, y, yd)
        return G.T @ H @ G, G.T @ (C + H @ g)

    def forward(self, d: Data, y: ArrayLike, yd: ArrayLike, tau: ArrayLike) -> tuple[Array, Array]:
        """Return ydd (ny,) and the constraint force tau_c (nv,), with G^T tau_c = 0.

        They solve H qacc + C = tau + tau_c (RBDA eq 3.14), with C as in `dynamics`. The call
        writes qacc and the fields that `dynamics` writes.

        Args:
            d: a Data of m.
            y: (ny,) coordinates.
            yd: (ny,) rates of the coordinates.
            tau: (nv,) applied force [N m or N].

        Raises:
            ModelError: as for `set_state`, tau does not hold nv finite numbers, or the inertia of
                a coordinate is zero.
        """
        tau = _vector("tau", tau, self.m.nv)
        H, C, G, g = self._equations(d, y, yd)
        ydd = self._solve(y, G.T @ H @ G, G.T @ (tau - C - H @ g))
        d.qacc[:] = G @ ydd + g
        return ydd, H @ d.qacc + C - tau

    def step(
        self, d: Data, y: ArrayLike, yd: ArrayLike, tau: ArrayLike, nstep: int = 1
    ) -> tuple[Array, Array]:
        """Return y and yd after nstep timesteps of m.opt.timestep; d receives this state and time.

        The integrator is always Runge-Kutta of order 4, in y. The other fields of d belong to its
        last trial state. After an error or Ctrl-C d is unchanged.

        Raises:
            ModelError: as for `forward`.
            ParameterError: nstep is not a whole number from 0 to less than 2^62.
        """
        tau = _vector("tau", tau, self.m.nv)
        steps = count("nstep", nstep, 0, MAX_STEPS, code="nstep")
        check_pair(self.m, d)
        x, before = np.concatenate(self._coordinates(y, yd)), d.buffer.copy()
        try:
            for _ in range(steps):
                x = self._runge_kutta(d, x, tau)
            self._write_state(d, *np.split(x, 2))
        except BaseException:  # also after Ctrl-C, which may leave d at a trial state
            d.buffer[:] = before
            raise
        y, yd = np.split(x, 2)
        return y, yd

    def kinetic_energy(self, d: Data, y: ArrayLike, yd: ArrayLike) -> float:
        """Return yd^T H_G yd / 2 [J] (RBDA eq 3.22).

        Raises:
            ModelError: as for `set_state`.
        """
        H_G, _ = self.dynamics(d, y, yd)
        yd = np.asarray(yd, np.float64)
        return 0.5 * float(yd @ H_G @ yd)

    def power(self, y: ArrayLike, yd: ArrayLike, tau: ArrayLike) -> float:
        """Return (G^T tau) . yd [W], which is tau . qvel (RBDA eq 3.23).

        Raises:
            ModelError: as for `evaluate`, or tau does not hold nv finite numbers.
        """
        _, G, _ = self.evaluate(y, yd)
        return float((G.T @ _vector("tau", tau, self.m.nv)) @ np.asarray(yd, np.float64))

    def _write_state(self, d: Data, y: ArrayLike, yd: ArrayLike) -> tuple[Array, Array]:
        """Write qpos and qvel; return G and g."""
        check_pair(self.m, d)
        q, G, g = self.evaluate(y, yd)
        d.qpos[:] = q
        d.qvel[:] = G @ np.asarray(yd, np.float64)
        return G, g

    def _equations(
        self, d: Data, y: ArrayLike, yd: ArrayLike
    ) -> tuple[Array, Array, Array, Array]:
        """Return H, C, G and g."""
        G, g = self._write_state(d, y, yd)
        H = mass_matrix(self.m, d)
        api.fwd_position(self.m, d)
        api.fwd_velocity(self.m, d)
        C: Array = d.qfrc_bias - d.qfrc_passive
        return H, C, G, g

    def _runge_kutta(self, d: Data, x: Array, tau: Array) -> Array:
        h, start = float(self.m.opt.timestep), d.time
        slope, weighted = np.zeros_like(x), np.zeros_like(x)
        for share, weight in ((0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0)):
            d.time = start + share * h
            y, yd = np.split(x + share * h * slope, 2)
            slope = np.concatenate([yd, self.forward(d, y, yd, tau)[0]])
            weighted += weight / 6.0 * slope
        d.time = start + h
        return x + h * weighted

    def _solve(self, y: ArrayLike, H_G: Array, force: Array) -> Array:
        try:
            L = np.linalg.cholesky(H_G)
        except np.linalg.LinAlgError:
            raise self._gamma.wrong(
                np.asarray(y), "leaves H_G without a positive inertia"
            ) from None
        return np.linalg.solve(L.T, np.linalg.solve(L, force))

    def _coordinates(self, y: ArrayLike, yd: ArrayLike) -> tuple[Array, Array]:
        return _vector("y", y, self.ny), _vector("yd", yd, self.ny)

    def _check_at(self, y: Array, yd: Array) -> None:
        """Raise ModelError unless G has full rank, and G and g agree with differences of gamma."""
        m, gamma = self.m, self._gamma
        q, G, g = self.evaluate(y, yd)
        gamma.check_quaternions(y, q)

        def turned(direction: Array, h: float) -> Array:
            """Return the velocity from gamma(y) to gamma(y + h direction) in one second."""
            velocity = np.zeros(m.nv)
            differentiate_pos(m, velocity, 1.0, q, self.evaluate(y + h * direction, yd)[0])
            return velocity

        for k, axis in enumerate(np.eye(self.ny)):
            gamma.check_slope(y, f"G[{{}}, {k}]", G[:, k], "q", functools.partial(turned, axis))
        gamma.check_slope(y, "g[{}]", g, "G yd", lambda h: self.evaluate(y + h * yd, yd)[1] @ yd)
        rank = int(np.linalg.matrix_rank(G))
        if rank < self.ny:
            text = f"has a G of rank {rank}; allowed is rank {self.ny}, with independent columns"
            raise gamma.wrong(y, text)


class _Gamma(UserFunction):
    """The function gamma of a constraint; its messages name joints instead of entries."""

    def __init__(self, m: Model, gamma: Gamma) -> None:
        super().__init__(gamma, "gamma", "gamma", "y")
        self.m = m

    def entry(self, name: str, at: tuple[int, ...], number: float) -> str:
        joint = self.m.jnt_names[self.m.dof_jntid[at[0]]]
        return f"{name.format(*at)} = {number:.6g} for joint '{joint}'"

    def check_quaternions(self, y: Array, q: Array) -> None:
        """Raise ModelError unless the quaternions in q = gamma(y) have length one."""
        m = self.m
        for j in range(m.njnt):
            first, kind = int(m.jnt_qposadr[j]), m.jnt_kind(j)
            if kind.quat < 0 or m.jnt_class[j] != JointClass.FREE:
                continue
            length = float(np.linalg.norm(q[first + kind.quat : first + kind.quat + 4]))
            if abs(length - 1.0) > TOLERANCE:
                text = f"has a quaternion of length {length:.6g} for joint '{m.jnt_names[j]}'"
                raise self.wrong(y, f"{text}; it must be 1")


def _ranges(ranges: object, ny: int) -> Array:
    if ranges is None:
        return np.tile([-1.0, 1.0], (ny, 1))
    allowed = f"a ({ny}, 2) array of finite numbers, lowest and highest"
    pairs = finite("ranges", ranges, (ny, 2), code="ranges", allowed=allowed)
    if (pairs[:, 0] > pairs[:, 1]).any():
        raise not_allowed("ranges", ranges, allowed, "ranges", "ranges")
    return pairs


def _vector(name: str, value: ArrayLike, length: int) -> Array:
    """Return a copy of a vector of finite numbers; raise ModelError for anything else."""
    return finite(name, value, (length,), error=ModelError, code="vector-shape")
