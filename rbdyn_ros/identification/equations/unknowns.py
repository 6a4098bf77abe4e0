# SPDX-License-Identifier: Apache-2.0
"""Unknowns of the joints: friction, rotors and offsets."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.identification.data.motion import Motion, kept_samples, resting
from rbdyn_ros.identification.equations.regressor import TILTS, Extra, Linearised
from rbdyn_ros.identification.equations.residuals import friction_effort
from rbdyn_ros.model.model import Model

#: Multiple of the smoothing above which the speed of a sample shows friction.
MOVING = 5.0
#: Friction of a joint is identified if this fraction of its samples shows friction, and few of
#: these samples are saturated, see MOST_LOST.
MOVING_SHARE = 0.1
#: Of the samples that show friction, at most this fraction may be saturated.
MOST_LOST = 0.5
#: Prior friction of a joint without described friction, as a fraction of its largest effort. It is
#: so large that the prior hardly resists smaller or larger values.
GUESS = 0.1
#: Least effort scale of a joint, as a fraction of the largest effort of all joints.
CARRIES_NOTHING = 1e-6
#: Least measurable effort [N m or N].
NO_EFFORT = 1e-6
#: Prior friction as a fraction of the load, and standard deviation of the tilt of a base [rad].
LOAD_SHARE, TILT = 0.1, 0.02
#: Kinds of unknowns that may be negative.
FREE = "offset", "tilt"
#: Kinds of unknowns that are friction.
FRICTION = "viscous", "coulomb", "stribeck"
#: Least number of usable samples of a joint.
LEAST_KEPT = 10


class Unknowns:
    """Unknown coefficients of the joints of a motion.

    Args:
        m: the Model; it gives the armature of joints whose rotor is known.
        motion: motion of its joints.
        dofs: (n,) dof of each joint of the motion.
        friction: friction of all dofs; the prior where it is unknown.
        kinds: kinds of Extra; "tilt" means both tilts. Friction and rotors are not identified for
            joints that hardly moved or whose drives were saturated most of the time.
        rest: (nv,) positions of joints that are not in the motion; None: qpos0.
        at: efforts of a Model; "load" and "tilt" need them.

    Attributes:
        extras: the unknowns, in the order of the solution.
        moved: (n,) joints that moved fast enough to identify friction.
        kept: (p, n) samples whose drive was not saturated.
        lost: (n,) fraction of the samples of each joint that are not kept.
        largest: (n,) largest absolute effort of each joint [N m or N].
        positive: prior of the positive coefficients.
        scale: magnitudes of the free coefficients, the offsets.

    Raises:
        ParameterError: all efforts are 0, a joint has too few samples below its effort limit, or
            rest is not nv numbers.
    """

    def __init__(
        self,
        m: Model,
        motion: Motion,
        dofs: Ints,
        friction: Friction,
        kinds: Sequence[str],
        rest: ArrayLike | None = None,
        at: Linearised | None = None,
    ) -> None:
        self.m, self.motion, self.dofs, self.friction = m, motion, dofs, friction
        self.at = at
        self.rest = resting(m, rest)
        speed = np.quantile(np.abs(motion.qvel), 1.0 - MOVING_SHARE, axis=0)
        self.moved: Bools = speed > MOVING * friction.smoothing[dofs]
        self.kept = kept_samples(m, motion, dofs)
        self.lost = 1.0 - self.kept.mean(axis=0)
        _check_samples(motion, self.kept)
        self.largest = largest_efforts(motion)
        shown = np.flatnonzero(self.moved & (self.lost <= MOST_LOST)).tolist()
        positive = [Extra(kind, i) for kind in kinds if kind not in FREE for i in shown]
        free = [Extra("offset", i) for i in range(len(dofs)) if "offset" in kinds]
        free += [Extra(kind, 0) for kind in TILTS if "tilt" in kinds]
        self.extras = (*positive, *free)
        self.positive = np.array([self._size(extra) for extra in positive], np.float64)
        self.scale = np.array([self._size(extra) for extra in free], np.float64)

    def _size(self, extra: Extra) -> float:
        i, k, guess = (
            extra.column,
            self.dofs[extra.column],
            float(GUESS * self.largest[extra.column]),
        )
        if extra.kind in TILTS:
            return TILT
        if extra.kind == "load":
            return LOAD_SHARE
        if extra.kind == "viscous":
            return max(
                float(self.friction.viscous[k]),
                guess / float(np.abs(self.motion.qvel[:, i]).max()),
            )
        if extra.kind in ("coulomb", "stribeck"):
            return max(float(getattr(self.friction, extra.kind)[k]), guess)
        if extra.kind == "armature":
            change = float(np.abs(self.motion.qacc[:, i]).max()) or 1.0
            return max(float(self.m.dof_armature[k]), guess / change)
        return float(guess)

    def effort(self) -> Array:
        """Return the efforts without known friction and rotors, (p, n)."""
        known, armature, _ = self.found(np.zeros(len(self.extras)))
        if any(extra.kind == "coulomb" for extra in self.extras):
            known = replace(known, stribeck=np.zeros(self.m.nv))
        rotors = armature[self.dofs] * self.motion.qacc
        return self.motion.effort - rotors - friction_effort(known, self.motion, self.dofs)

    def found(self, values: Array) -> tuple[Friction, Array, Array]:
        """Return the friction, armature and offsets (nv,) of a solution."""
        rows = {kind: getattr(self.friction, kind).copy() for kind in FRICTION}
        rows |= {"armature": self.m.dof_armature.copy(), "offset": np.zeros(self.m.nv)}
        for extra, value in zip(self.extras, values, strict=True):
            if extra.kind in rows:
                rows[extra.kind][self.dofs[extra.column]] = value
        friction = replace(self.friction, **{kind: rows[kind] for kind in FRICTION})
        return friction, rows["armature"], rows["offset"]

    def by_load(self, values: Array) -> tuple[Array, Array]:
        """Return shares of load-dependent friction (nv,) and the tilt (2,) [rad] of a solution."""
        shares, tilt = np.zeros(self.m.nv), np.zeros(len(TILTS))
        for extra, value in zip(self.extras, values, strict=True):
            if extra.kind == "load":
                shares[self.dofs[extra.column]] = value
            elif extra.kind in TILTS:
                tilt[TILTS.index(extra.kind)] = value
        return shares, tilt


def unknowns_of(
    m: Model,
    motion: Motion,
    dofs: Ints,
    friction: Friction | None,
    smoothing: float,
    kinds: Sequence[str],
    rest: ArrayLike | None,
    at: Linearised | None = None,
) -> Unknowns:
    """Return the unknowns of some kinds, and the unknowns of friction if the friction is None."""
    smooth = finite("the smoothing", smoothing, above=0.0, element="")
    start = friction or Friction.of(m.nv, m.dof_damping, m.dof_frictionloss, smoothing=smooth)
    fitted = ["viscous", "coulomb"] if friction is None else []
    return Unknowns(m, motion, dofs, start.check_dofs(m.nv), [*fitted, *kinds], rest, at)


def largest_efforts(motion: Motion) -> Array:
    """Return the largest absolute effort of each joint (n,), never 0.

    Raises:
        ParameterError: no drive reports an effort.
    """
    largest = np.abs(motion.effort).max(axis=0)
    if largest.max() < NO_EFFORT:
        text = (
            f"the largest effort of the motion is {largest.max():.3g} N m or N, so the drives "
            f"seem to report none; allowed is {NO_EFFORT:g} or more"
        )
        raise ParameterError(Finding("no-efforts", text, "error", "motion"))
    # the efforts of a joint that carries nothing are rounding errors
    return np.asarray(np.maximum(largest, CARRIES_NOTHING * largest.max()))


def _check_samples(motion: Motion, kept: Bools) -> None:
    counts = kept.sum(axis=0)
    short = [i for i in range(len(counts)) if counts[i] < LEAST_KEPT]
    if short:
        name = motion.names[short[0]]
        text = (
            f"joint {quote(name)} has {counts[short[0]]} samples below its effort limit; it needs "
            f"at least {LEAST_KEPT}, better some seconds of motion. Its largest effort is "
            f"{np.abs(motion.effort[:, short[0]]).max():.4g}: is this in N m or N?"
        )
        raise ParameterError(Finding("too-few-samples", text, "error", name))
