# SPDX-License-Identifier: Apache-2.0
"""Limits of a real arm, which can be tightened but never relaxed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.names import name_faults, strings
from rbdyn_ros.dynamics.commanded import reason_passive
from rbdyn_ros.dynamics.configuration import position_ranges
from rbdyn_ros.errors import Finding, ParameterError, apart, exactly, refusal
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model

#: Tolerance of measured positions beyond a limit: half a degree [rad or m].
MARGIN = 0.0087
#: Defaults of acceleration [rad/s^2 or m/s^2] and latency [s].
ACCELERATION, LATENCY = 300.0, 0.02
#: Measured gains of speed may exceed the acceleration limits of planned motions by this factor.
OVERSHOOT = 2.0
#: Rows of Limits.rows.
LOWER, UPPER, VELOCITY, EFFORT, POWER, GAIN = range(6)
#: A joint that stands still is frozen if its efforts should have moved it by FROZEN, or its
#: repeated velocity by PASSED [rad or m]. A coarse encoder repeats its numbers.
FROZEN, PASSED = 0.04, 0.015


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of n controlled joints.

    Attributes:
        names: names of the joints.
        units: units of their positions, "rad" or "m".
        dofs: (n,) their degrees of freedom.
        lower, upper: (n,) position limits [rad or m], infinite if there is no limit.
        velocity: (n,) largest speeds [rad/s or m/s], infinite if there is no limit.
        effort: (n,) largest efforts [N m or N].
        gain: (n,) largest measured gain of speed, OVERSHOOT times the robot's acceleration limit
            [rad/s^2 or m/s^2], infinite if there is no limit.
        effort_scale: effort limits as a fraction of the robot's effort limits.
        velocity_scale: velocity limits as a fraction of the robot's velocity limits.
        inset: distance from the robot's position limits [rad or m].
        acceleration: largest measured change of a velocity [rad/s^2 or m/s^2].
        latency: lag of the states that is a fault if it lasts longer than state_timeout [s].
        power_limit: largest product of effort and velocity of every joint [W]; 0: no limit.
        contact: effort that a contact may withstand in mode impedance, as a share of the effort
            limits; a joint that withstands more counts as frozen.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    dofs: NDArray[np.int64]
    lower: Array
    upper: Array
    velocity: Array
    effort: Array
    gain: Array
    effort_scale: float = 1.0
    velocity_scale: float = 1.0
    inset: float = 0.0
    acceleration: float = ACCELERATION
    latency: float = LATENCY
    power_limit: float = 0.0
    contact: float = 0.0

    @property
    def rows(self) -> Array:
        """The limits as rows (6, n) for state_kernels."""
        rows = self.lower, self.upper, self.velocity, self.effort, self.power, self.gain
        return np.array(rows, np.float64)

    @property
    def power(self) -> Array:
        """Largest product of effort and velocity (n,) [W]."""
        most = self.effort * self.velocity
        return np.minimum(most, self.power_limit) if self.power_limit else most

    @staticmethod
    def of(m: Model, names: Sequence[str] = ()) -> "Limits":
        """Return the limits of a robot's joints.

        Args:
            m: the robot.
            names: names of joints; empty: all joints with effort and velocity limits above 0.

        Raises:
            ParameterError: joints cannot be controlled; there is a finding for each.
        """
        faults = name_faults(
            strings("names", names),
            m.jnt_names,
            "joint",
            lambda name: _why_not(m, m.jnt_names.index(name)),
        )
        findings = [Finding("joints", f"joints: {why}", "error", name) for name, why in faults]
        if findings:
            raise ParameterError(findings)
        joints = [m.jnt_names.index(name) for name in names] if names else _controllable(m)
        if not joints:
            text = f"'{m.name}' has no joint with an actuator and an effort limit above 0"
            raise ParameterError(Finding("joints", text, "error", "joints"))
        j = np.array(joints, np.int64)
        ranges = position_ranges(m, j)
        return Limits(
            tuple(m.jnt_names[k] for k in joints),
            tuple("m" if m.jnt_type[k] == JointType.SLIDE else "rad" for k in joints),
            m.jnt_dofadr[j],
            ranges[:, 0].copy(),
            ranges[:, 1].copy(),
            m.jnt_velocity[j],
            m.jnt_effort[j],
            _gain(m, j),
        )

    def tightened(
        self,
        effort_scale: float,
        velocity_scale: float,
        inset: float,
        acceleration: float | None = None,
        latency: float | None = None,
        power_limit: float | None = None,
        contact: float | None = None,
    ) -> "Limits":
        """Return tighter limits, relative to the limits of the robot.

        Args:
            effort_scale: fraction of the effort limits, above 0 and at most the present fraction.
            velocity_scale: fraction of the velocity limits, above 0 and at most the present
                fraction.
            inset: distance from the position limits, at least the present distance [rad or m].
            acceleration: above 0 and at most the present limit [rad/s^2 or m/s^2]; None: the
                present limit.
            latency: above 0 and at most the present limit [s]; None: the present limit.
            power_limit: above 0 and at most the present limit [W]; None: the present limit.
            contact: at least 0 and at most the present share; None: the present share.

        Raises:
            ParameterError: a limit would become wider, or a range would be empty.
        """
        acceleration = self.acceleration if acceleration is None else acceleration
        latency = self.latency if latency is None else latency
        power_limit = self.power_limit if power_limit is None else power_limit
        contact = self.contact if contact is None else contact
        for name, wanted, now in (
            ("effort_scale", effort_scale, self.effort_scale),
            ("velocity_scale", velocity_scale, self.velocity_scale),
            ("acceleration_limit", acceleration, self.acceleration),
            ("latency_limit", latency, self.latency),
        ):
            if not 0.0 < wanted <= now:
                allowed = f"a number above 0 and at most {exactly(now)}, the present value"
                raise _not_tighter(name, wanted, allowed)
        self._check_power(power_limit)
        if not 0.0 <= contact <= self.contact:
            allowed = (
                f"a number of at least 0 and at most {exactly(self.contact)}, the present value"
            )
            raise _not_tighter("contact_effort", contact, allowed)
        if not self.inset <= inset < np.inf:
            allowed = f"a number of at least {exactly(self.inset)}, the present value"
            raise _not_tighter("position_inset", inset, allowed)
        lower, upper = self.lower + (inset - self.inset), self.upper - (inset - self.inset)
        for k in np.flatnonzero(~(lower < upper)):
            text = (
                f"position_inset is {inset:g}, which leaves joint '{self.names[k]}' no range "
                f"from {self.lower[k]:g} to {self.upper[k]:g}"
            )
            raise ParameterError(Finding("limits", text, "error", "position_inset"))
        return replace(
            self,
            lower=lower,
            upper=upper,
            velocity=self.velocity * (velocity_scale / self.velocity_scale),
            effort=self.effort * (effort_scale / self.effort_scale),
            effort_scale=effort_scale,
            velocity_scale=velocity_scale,
            inset=inset,
            acceleration=acceleration,
            latency=latency,
            power_limit=power_limit,
            contact=contact,
        )

    def _check_power(self, limit: float) -> None:
        """Raise ParameterError unless a power limit (0: unlimited) tightens the present limit."""
        most = float(self.power.max())
        if limit != self.power_limit and not (0.0 < limit <= most and limit < np.inf):
            allowed = f"a number above 0 and at most {exactly(most)}"
            raise _not_tighter("power_limit", limit, allowed)

    def check_inside(self, qpos: Array) -> None:
        """Raise RbdynError if a joint is beyond its limits at qpos (nv,)."""
        place = qpos[self.dofs]
        for k in np.flatnonzero((place < self.lower) | (place > self.upper))[:1]:
            found, low, high = apart(place[k], self.lower[k], self.upper[k], digits=4)
            message = (
                f"joint '{self.names[k]}' is at {found}; with position_inset {self.inset:g} its "
                f"limits would be {low} and {high}"
            )
            raise refusal(message, "limits", self.names[k])


def _gain(m: Model, joints: Ints) -> Array:
    """Return the largest gains of speed (n,); a limit of 0 means no limit, as in many files."""
    limits = m.jnt_acceleration[joints]
    return np.where(limits > 0.0, OVERSHOOT * limits, np.inf)


def _controllable(m: Model) -> list[int]:
    """Return the joints of a robot that can be controlled."""
    own = [int(j) for j in m.dof_jntid]
    return [j for j in own if not _why_not(m, j)]


def left_out(m: Model) -> list[str]:
    """Return a message for each joint that is not controlled by default."""
    own = [int(j) for j in m.dof_jntid]
    chosen = _controllable(m)
    return [f"joint '{m.jnt_names[j]}' {_why_not(m, j)}" for j in own if j not in chosen]


def _why_not(m: Model, j: int) -> str:
    """Return the reason why a joint is not controlled, or "" if it can be controlled."""
    if m.jnt_mimic[j] >= 0:
        return f"is a mimic joint; control its leader '{m.jnt_names[m.jnt_mimic[j]]}'"
    if m.jnt_dofnum[j] != 1:
        return "is fixed" if m.jnt_dofnum[j] == 0 else "has several coordinates"
    if reason := reason_passive(m, j):
        return reason
    if m.jnt_effort[j] == np.inf:
        return "has no limit for its effort; a controlled joint needs one"
    if m.jnt_velocity[j] <= 0.0:
        return "has a velocity limit of 0"
    return ""


def _not_tighter(name: str, value: float, allowed: str) -> ParameterError:
    text = (
        f"{name} is {exactly(value)}; limits can be tightened, never relaxed; allowed is {allowed}"
    )
    return ParameterError(Finding("limits", text, "error", name, None, repr(value), allowed))
