# SPDX-License-Identifier: Apache-2.0
"""Identify an arm and its payload together, from one motion without the payload and one with it.

Both motions share the bodies, friction, rotors and offsets. So errors of the arm that both motions
share do not affect the payload, and load-dependent friction is measured at two loads.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.description.checks.inertials import as_six
from rbdyn_ros.dynamics.payload import with_payload
from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.identification.data.motion import Motion, dofs_of
from rbdyn_ros.identification.equations.fit import identify
from rbdyn_ros.identification.equations.inertia import bodies_of, consistent_prior, with_parameters
from rbdyn_ros.identification.equations.iterations import Progress, deviations, silent, solved
from rbdyn_ros.identification.equations.payload import (
    EXPECTED,
    PayloadEstimate,
    at_link,
    identify_payload,
)
from rbdyn_ros.identification.equations.reduced import Equations, equations
from rbdyn_ros.identification.equations.residuals import Residuals, linearised, tilted, validate
from rbdyn_ros.identification.equations.result import Identification
from rbdyn_ros.identification.equations.solve import Prior
from rbdyn_ros.identification.equations.unknowns import Unknowns, unknowns_of
from rbdyn_ros.identification.equations.warnings import payload_warnings
from rbdyn_ros.model.model import Model


@dataclass(frozen=True, slots=True, eq=False)
class LoadedArm:
    """An arm and its payload, identified together.

    Attributes:
        arm: the arm identified from the motion without the payload alone.
        m: the arm without the payload, identified from both motions.
        payload: the payload, and the residuals of the motion with it.
        by_joint: (n,) mass of the payload from the efforts of each joint alone, with the same
            centre of mass [kg]; NaN where the payload changes these efforts by less than their
            noise.
    """

    arm: Identification
    m: Model
    payload: PayloadEstimate
    by_joint: Array


def identify_with_payload(
    m: Model,
    motion: Motion,
    loaded: Motion,
    link: str | int,
    *,
    smoothing: float = 0.01,
    rest: ArrayLike | None = None,
    progress: Progress | None = None,
) -> LoadedArm:
    """Identify an arm and its payload together, from motions without and with the payload.

    The result has the terms that improve the fit of the motion without the payload.

    Args:
        m: the description of the arm, the prior.
        motion: motion without the payload.
        loaded: motion of the same joints with the payload.
        link: name or number of the link that carries the payload.
        smoothing: see identify.
        rest: see identify.
        progress: see identify.

    Raises:
        ModelError, ParameterError: for the reasons of identify and identify_payload, or the
            motions move different joints.
    """
    tell = progress or silent
    arm = identify(
        m,
        motion,
        armature=None,
        stribeck=None,
        load=None,
        offset=None,
        tilt=None,
        smoothing=smoothing,
        rest=rest,
        progress=tell,
    )
    first = identify_payload(arm.m, loaded, link, smoothing=smoothing, rest=rest)
    kinds = [term.kind for term in arm.terms if term.kept]
    both = TwoMotions(
        _unknowns(m, motion, arm.m, kinds, smoothing, rest),
        _unknowns(m, loaded, _carrying(arm.m, first), kinds, smoothing, rest),
        m.frame_id(link),
    )
    same_unknowns(*both.unknowns())
    bodies, _ = consistent_prior(m)
    a, b = both.unknowns()
    positive, scale = (np.maximum(getattr(a, k), getattr(b, k)) for k in ("positive", "scale"))
    prior = Prior(np.concatenate([bodies, EXPECTED[None]]), positive, scale)
    x, sigma = solved(both.equations(), prior, 1.0, both.largest(), both.residuals, tell)
    return _result(both, arm, first, x, sigma)


@dataclass(frozen=True, slots=True, eq=False)
class TwoMotions:
    """Two motions of an arm: `first` is without the payload, `second` with it at the frame."""

    first: Unknowns
    second: Unknowns
    frame: int

    def unknowns(self) -> tuple[Unknowns, Unknowns]:
        """Return the unknowns of both motions."""
        return self.first, self.second

    def largest(self) -> Unknowns:
        """Return the unknowns of the motion with the larger efforts."""
        return max(self.unknowns(), key=lambda u: float(u.largest.max()))

    def equations(self) -> Equations:
        """Return the equations of both motions; the payload follows the bodies."""
        m, size = self.first.m, 10 * (self.first.m.nbody - 1)
        maps = np.zeros((size, 10)), at_link(m, self.frame, self.second.dofs)
        parts = [
            equations(m, u, u.effort(), np.concatenate([np.eye(size), more], axis=1))
            for u, more in zip(self.unknowns(), maps, strict=True)
        ]
        R, count = (np.concatenate([getattr(p, k) for p in parts]) for k in ("R", "count"))
        return Equations(R, count)

    def robots(self, x: Array) -> tuple[Model, Model, Friction, Array]:
        """Return the arm without and with the payload, then its friction and its offsets."""
        u, size = self.first, 10 * (self.first.m.nbody - 1)
        friction, armature, offset = u.found(x[size + 10 :])
        _, tilt = u.by_load(x[size + 10 :])
        m = with_parameters(u.m, x[:size].reshape(-1, 10)).replaced(dof_armature=armature)
        m = tilted(m, tilt)
        mass, com, inertia = (values[0] for values in bodies_of(x[None, size : size + 10]))
        return (
            m,
            with_payload(m, self.frame, float(mass), com, as_six(inertia)),
            friction,
            offset,
        )

    def each(self, x: Array) -> list[Residuals]:
        """Return the residuals of both motions."""
        *robots, friction, offset = self.robots(x)
        by_load, _ = self.first.by_load(x[10 * self.first.m.nbody :])
        return [
            validate(m, friction, u.motion, offset, by_load=by_load, rest=u.rest)
            for m, u in zip(robots, self.unknowns(), strict=True)
        ]

    def residuals(self, x: Array) -> Residuals:
        """Return the residuals of both motions, one after the other."""
        a, b = self.each(x)
        return replace(
            a,
            time=np.concatenate([a.time, b.time]),
            measured=np.concatenate([a.measured, b.measured]),
            predicted=np.concatenate([a.predicted, b.predicted]),
            kept=np.concatenate([a.kept, b.kept]),
        )


def _unknowns(
    m: Model,
    motion: Motion,
    near: Model,
    kinds: list[str],
    smoothing: float,
    rest: ArrayLike | None,
) -> Unknowns:
    at = linearised(near, motion, rest)
    return unknowns_of(m, motion, dofs_of(m, motion), None, smoothing, kinds, rest, at)


def _carrying(m: Model, payload: PayloadEstimate) -> Model:
    return with_payload(m, payload.link, payload.mass, payload.com, payload.inertia)


def same_unknowns(a: Unknowns, b: Unknowns) -> None:
    """Raise ParameterError if the motions without and with the payload move different joints."""
    here, there = ({(u.motion.names[e.column], e.kind) for e in u.extras} for u in (a, b))
    same_joints(a.motion, b.motion)
    if here != there:
        raise _other_joints({name for name, _ in here ^ there})


def same_joints(a: Motion, b: Motion) -> None:
    """Raise ParameterError if two motions do not have the same joints in the same order."""
    if set(a.names) != set(b.names):
        raise _other_joints(set(a.names) ^ set(b.names))
    if a.names != b.names:
        text = (
            "the motions with and without the payload must have their joints in the same order; "
            f"one begins {_first(a.names)}, the other {_first(b.names)}"
        )
        raise ParameterError(Finding("payload", text, "error", "payload"))


def _first(names: tuple[str, ...]) -> str:
    return ", ".join(map(quote, names[:8]))


def _other_joints(names: set[str]) -> ParameterError:
    text = (
        "the recordings with and without the payload must move the same joints; only one of "
        f"them moves {', '.join(map(quote, sorted(names)))}"
    )
    return ParameterError(Finding("payload", text, "error", "payload"))


def _result(
    both: TwoMotions, arm: Identification, first: PayloadEstimate, x: Array, sigma: Array
) -> LoadedArm:
    size = 10 * (both.first.m.nbody - 1)
    m, _, friction, offset = both.robots(x)
    mass, com, inertia = (values[0] for values in bodies_of(x[None, size : size + 10]))
    by_load, _ = both.first.by_load(x[size + 10 :])
    second = both.second
    A = both.equations().weighted(sigma)[0]
    # the deviations of the payload include the uncertainty of the arm
    seen = np.concatenate([A[:, size : size + 10], A[:, :size], A[:, size + 10 :]], axis=1)
    std, number = deviations(seen, 10)
    before = validate(m, friction, second.motion, offset, by_load=by_load, rest=second.rest)
    after = both.each(x)[1]
    payload = replace(
        first,
        mass=float(mass),
        com=com,
        inertia=as_six(inertia),
        std=std[:10],
        com_std=np.hypot(std[1:4], com * std[0]) / mass,
        condition=number,
        friction=friction,
        before=before,
        after=after,
        warnings=tuple(payload_warnings(second, float(mass), std[:10], number, after)),
    )
    return LoadedArm(arm, m, payload, _by_joint(payload))


def _by_joint(payload: PayloadEstimate) -> Array:
    """Return the payload's mass by each joint's efforts alone; NaN if they hardly show it."""
    before, after = payload.before, payload.after
    load = np.where(after.kept, after.predicted - before.predicted, 0.0)
    rest = np.where(after.kept, before.measured - before.predicted, 0.0)
    power = np.sum(load**2, axis=0)
    seen = np.sqrt(power / after.kept.sum(axis=0)) > after.rms
    ratio = np.sum(load * rest, axis=0) / np.where(power > 0.0, power, 1.0)
    return np.asarray(np.where(seen, payload.mass * ratio, np.nan))
