"""What a real arm may do: its limits, which can be made tighter but never wider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import Finding, ParameterError, did_you_mean
from rbdyn_ros.model.model import Model

#: A measured position may be beyond a limit by so much: half a degree [rad or m].
MARGIN = 0.0087


@dataclass(frozen=True, slots=True)
class Limits:
    """Of n controlled joints.

    Attributes:
        names: of the joints.
        dofs: (n,) their places among all degrees of freedom.
        lower, upper: (n,) positions [rad or m], infinite where there are none.
        velocity: (n,) [rad/s or m/s], infinite where there is none.
        effort: (n,) [N m or N].
        effort_scale, velocity_scale, inset: how much tighter they are than the robot's.
    """

    names: tuple[str, ...]
    dofs: NDArray[np.int64]
    lower: Array
    upper: Array
    velocity: Array
    effort: Array
    effort_scale: float = 1.0
    velocity_scale: float = 1.0
    inset: float = 0.0

    @staticmethod
    def of(m: Model, names: Sequence[str] = ()) -> Limits:
        """Return the limits of a robot's joints.

        Args:
            m: the robot.
            names: of joints, each once; none: all that have limits of effort and velocity
                above 0.

        Raises:
            ParameterError: with every joint that cannot be controlled.
        """
        findings = _refused(m, names)
        if findings:
            raise ParameterError(findings)
        joints = [m.jnt_names.index(name) for name in names] if names else _controllable(m)
        if not joints:
            text = f"'{m.name}' has no joint with an actuator and a limit of its effort above 0"
            raise ParameterError(Finding("joints", text, "error", "joints"))
        j = np.array(joints, np.int64)
        ranges = np.where(m.jnt_limited[j, None] == 1, m.jnt_range[j], [[-np.inf, np.inf]])
        return Limits(
            tuple(m.jnt_names[k] for k in joints),
            m.jnt_dofadr[j],
            ranges[:, 0].copy(),
            ranges[:, 1].copy(),
            m.jnt_velocity[j],
            m.jnt_effort[j],
        )

    def tightened(self, effort_scale: float, velocity_scale: float, inset: float) -> Limits:
        """Return limits that are tighter, told as shares of the robot's own.

        Args:
            effort_scale: above 0 and at most what it is now.
            velocity_scale: likewise.
            inset: how far inside the robot's limits of position, at least what it is now.

        Raises:
            ParameterError: a limit would become wider, or leave nothing.
        """
        for name, wanted, now in (
            ("effort_scale", effort_scale, self.effort_scale),
            ("velocity_scale", velocity_scale, self.velocity_scale),
        ):
            if not 0.0 < wanted <= now:
                raise _not_tighter(name, wanted, f"above 0 and at most {now:g}, which it is now")
        if not self.inset <= inset < np.inf:
            raise _not_tighter("position_inset", inset, f"at least {self.inset:g}, as it is now")
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
        )


def _controllable(m: Model) -> list[int]:
    """Return the joints of a robot that can be controlled."""
    own = [int(j) for j in m.dof_jntid]
    return [j for j in own if not _why_not(m, j)]


def left_out(m: Model) -> list[str]:
    """Return a sentence for each joint that is not controlled unless it is named."""
    own = [int(j) for j in m.dof_jntid]
    chosen = _controllable(m)
    return [f"joint '{m.jnt_names[j]}' {_why_not(m, j)}" for j in own if j not in chosen]


def _refused(m: Model, names: Sequence[str]) -> list[Finding]:
    findings = []
    for k, name in enumerate(names):
        if name not in m.jnt_names:
            why = f"there is no joint '{name}'{did_you_mean(name, m.jnt_names)}"
        elif name in names[:k]:
            why = f"joint '{name}' is named twice"
        else:
            reason = _why_not(m, m.jnt_names.index(name))
            why = f"joint '{name}' {reason}" if reason else ""
        if why:
            findings.append(Finding("joints", f"joints: {why}", "error", name))
    return findings


def _why_not(m: Model, j: int) -> str:
    """Return why a joint is not controlled; empty if it can be."""
    if m.jnt_mimic[j] >= 0:
        return f"follows joint '{m.jnt_names[m.jnt_mimic[j]]}'; control that one"
    if m.jnt_dofnum[j] != 1:
        return "is fixed" if m.jnt_dofnum[j] == 0 else "has several coordinates"
    if not m.jnt_actuated[j]:
        return "has no actuator"
    if not 0.0 < m.jnt_effort[j] < np.inf:
        limit = "no limit" if m.jnt_effort[j] > 0.0 else "a limit of 0"
        return f"has {limit} for its effort; a real arm is only controlled within one above 0"
    if m.jnt_velocity[j] <= 0.0:
        return "has a velocity limit of 0, so it must not move"
    return ""


def _not_tighter(name: str, value: float, allowed: str) -> ParameterError:
    text = f"{name} is {value:g}; limits can be tightened, never relaxed: allowed is {allowed}"
    return ParameterError(Finding("limits", text, "error", name, None, repr(value), allowed))
