"""What is identified beside bodies: friction, rotors and offsets of joints, and what is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.control.friction import Friction
from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.identification.motion import Motion, kept_samples, resting
from rbdyn_ros.identification.regressor import Extra
from rbdyn_ros.identification.residuals import friction_effort
from rbdyn_ros.model.model import Model

MOVING = 5.0  # times the smoothing: a speed at which friction shows, ...
MOVING_SHARE = 0.1  # ... if a joint is as fast in this part of its samples
MOST_LOST = 0.5  # of the samples of a joint; if more are saturated, its friction is not told
GUESS = 0.01  # friction of a joint whose description has none, as a part of the largest effort
CARRIES_NOTHING = 1e-6  # of the largest effort of all joints
NO_EFFORT = 1e-6  # [N m or N] no drive measures as little
LEAST_KEPT = 10  # samples of a joint


class Unknowns:
    """Coefficients of the joints of a motion.

    Args:
        m: the Model; its armature is that of joints whose rotor is not unknown.
        motion: of its joints.
        dofs: the dof of each joint of the motion (n,).
        friction: of all dofs; where it is unknown it is what is expected.
        kinds: of Extra, "offset" last. Friction and rotors of joints that hardly moved, or whose
            drives were saturated half the time, are known.
        rest: (nv,) where joints stand that are not in the motion; None: at qpos0.

    Attributes:
        extras: in the order of the solution.
        moved: (n,) joints that were fast for long enough for friction to show.
        kept: (p, n) samples whose drive was not saturated.
        lost: (n,) the share of samples of each joint that are not kept.
        largest: (n,) effort of each joint, by size [N m or N].
        positive: what coefficients above 0 are expected to be.
        scale: sizes of the others, the offsets.

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
    ) -> None:
        self.m, self.motion, self.dofs, self.friction = m, motion, dofs, friction
        self.rest = resting(m, rest)
        speed = np.quantile(np.abs(motion.qvel), 1.0 - MOVING_SHARE, axis=0)
        self.moved: Bools = speed > MOVING * friction.smoothing[dofs]
        self.kept = kept_samples(m, motion, dofs)
        self.lost = 1.0 - self.kept.mean(axis=0)
        _check_samples(motion, self.kept)
        self.largest = _largest(motion)
        shown = np.flatnonzero(self.moved & (self.lost <= MOST_LOST)).tolist()
        every = range(len(dofs))
        self.extras = tuple(
            Extra(kind, i) for kind in kinds for i in (every if kind == "offset" else shown)
        )
        sizes = [self._size(extra) for extra in self.extras]
        constants = len(every) if "offset" in kinds else 0
        self.positive = np.array(sizes[: len(sizes) - constants], np.float64)
        self.scale = np.array(sizes[len(sizes) - constants :], np.float64)

    def _size(self, extra: Extra) -> float:
        i, k, guess = extra.column, self.dofs[extra.column], GUESS * self.largest[extra.column]
        if extra.kind == "viscous":
            return float(self.friction.viscous[k] or guess / np.abs(self.motion.qvel[:, i]).max())
        if extra.kind == "coulomb":
            return float(self.friction.coulomb[k] or guess)
        if extra.kind == "armature":
            change = float(np.abs(self.motion.qacc[:, i]).max()) or 1.0
            return float(self.m.dof_armature[k] or guess / change)
        return float(guess)

    def effort(self) -> Array:
        """Return efforts less what is known of friction and rotors, (p, n)."""
        values = {"armature": self.m.dof_armature.copy(), "offset": np.zeros(self.m.nv)}
        values |= {
            "viscous": self.friction.viscous.copy(),
            "coulomb": self.friction.coulomb.copy(),
        }
        for extra in self.extras:
            values[extra.kind][self.dofs[extra.column]] = 0.0
        known = replace(self.friction, viscous=values["viscous"], coulomb=values["coulomb"])
        if any(extra.kind == "coulomb" for extra in self.extras):
            known = replace(known, stribeck=np.zeros(self.m.nv))
        rotors = values["armature"][self.dofs] * self.motion.qacc
        effort: Array = (
            self.motion.effort - rotors - friction_effort(known, self.motion, self.dofs)
        )
        return effort

    def found(self, values: Array) -> tuple[Friction, Array, Array]:
        """Return friction, armature and offsets (nv,) of the part of a solution beside bodies."""
        rows = {"viscous": self.friction.viscous.copy(), "coulomb": self.friction.coulomb.copy()}
        rows |= {"armature": self.m.dof_armature.copy(), "offset": np.zeros(self.m.nv)}
        for extra, value in zip(self.extras, values, strict=True):
            rows[extra.kind][self.dofs[extra.column]] = value
        friction = replace(self.friction, viscous=rows["viscous"], coulomb=rows["coulomb"])
        return friction, rows["armature"], rows["offset"]


def _largest(motion: Motion) -> Array:
    """Return the largest effort of each joint (n,), by size; never 0."""
    largest = np.abs(motion.effort).max(axis=0)
    if largest.max() < NO_EFFORT:
        text = (
            f"the largest effort of the motion is {largest.max():.3g} N m or N, as if its drives "
            f"reported none; allowed is {NO_EFFORT:g} or more"
        )
        raise ParameterError(Finding("no-efforts", text, "error", "motion"))
    # a joint that carries nothing shows rounding, which is not to count as good data
    return np.asarray(np.maximum(largest, CARRIES_NOTHING * largest.max()))


def _check_samples(motion: Motion, kept: Bools) -> None:
    counts = kept.sum(axis=0)
    short = [i for i in range(len(counts)) if counts[i] < LEAST_KEPT]
    if short:
        name = motion.names[short[0]]
        text = (
            f"joint {quote(name)} has {counts[short[0]]} samples below its effort limit; at "
            f"least {LEAST_KEPT} are needed, some seconds of motion are good"
        )
        raise ParameterError(Finding("too-few-samples", text, "error", name))
