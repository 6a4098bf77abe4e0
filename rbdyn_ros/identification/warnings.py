"""What a recording is not good for, and what speaks against a result, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import quote
from rbdyn_ros.identification.base import BaseParameters
from rbdyn_ros.identification.motion import dof_names
from rbdyn_ros.identification.regressor import extra_columns
from rbdyn_ros.identification.residuals import Residuals
from rbdyn_ros.identification.result import Identification
from rbdyn_ros.identification.solve import Prior
from rbdyn_ros.identification.unknowns import MOST_LOST, Unknowns

DOUBTFUL = 0.3  # standard deviation of a base parameter, in units of its prior
POOR = 100.0  # condition number above which errors of a model are magnified
TOO_POOR = 1e4  # and above which a motion shows next to nothing of some parameters
MASS_RATIO = 2.0  # a description is wrong about single links, seldom so about the whole arm
UNEXPLAINED = 0.15  # of the largest efforts; a good model leaves a few percent
NOTHING = 2e-3  # of the largest effort of a joint; no joint rubs as little
ALONG = 0.5  # of what is left over (power), if friction explains so much it is friction
SEEN = 0.02  # of the largest effort; less left over is noise
SURE = 3.0  # standard deviations
FAR = 0.05  # [m] of a centre of mass
SPREAD = 0.01  # [m^2] of moments of inertia by mass: (10 cm)^2
MOST_NAMED = 8


def why_no_patch(found: Identification) -> str:
    """Return why a description is not to be replaced by a result; "" if nothing speaks against.

    The reasons are in found.warnings too, each a sentence of its own.
    """
    return "; ".join(found.grave)


def joint_warnings(unknowns: Unknowns, changed: Sequence[str] = ()) -> list[str]:
    """Return what is to be said of joints, and of bodies whose prior no body can have."""
    m, motion, found = unknowns.m, unknowns.motion, []
    resting = [
        f"{name} at {unknowns.rest[k]:.4g}"
        for k, name in enumerate(dof_names(m))
        if name not in motion.names
    ]
    if resting:
        found.append(f"not in the motion, taken to stand still: {_listed(resting)}")
    still = [name for name, fast in zip(motion.names, unknowns.moved, strict=True) if not fast]
    if still:
        found.append(f"hardly moved, so that their friction stays as it was: {_listed(still)}")
    for i, name in enumerate(motion.names):
        lost = int(np.sum(~unknowns.kept[:, i]))
        if lost:
            stays = ", so that its friction stays as it was"
            found.append(
                f"{lost} of {len(motion.time)} samples of {quote(name)} are at the effort limit "
                f"or in a gap and left out{stays if unknowns.lost[i] > MOST_LOST else ''}"
            )
    if changed:
        found.append(
            "no rigid body can be as the description says of these, the nearest one is taken as "
            f"prior: {_listed(changed)}"
        )
    return found


def parameter_warnings(
    base: BaseParameters, std: Array, prior: Prior, condition: float
) -> list[str]:
    """Return which base parameters the motion hardly shows, std (b,) being what it leaves open."""
    found = []
    if POOR < condition <= TOO_POOR:
        found.append(
            f"the condition number of the motion is {condition:.3g}; up to {POOR:g} is good, a "
            "better motion moves all joints at once, far and in both directions"
        )
    size = prior.bodies.size
    spread = np.linalg.norm(base.combination @ prior.metric()[:size, :size], axis=1)
    weak = [name for name, doubt in zip(base.names, std > DOUBTFUL * spread, strict=True) if doubt]
    if weak:
        found.append(
            f"{len(weak)} of {base.rank} base parameters are hardly shown by the motion and stay "
            f"near the prior; those of {_listed([name.split(' ')[0] for name in weak])}"
        )
    return found


def patch_warnings(unknowns: Unknowns, found: Identification) -> list[str]:
    """Return what speaks against a result as a whole: each is a reason to patch nothing."""
    doubts = (
        too_poor(found.condition),
        _of_mass(found),
        _unexplained(found.after),
        _of_friction(unknowns, found),
        saturated(unknowns),
        along_velocity(unknowns, found.after.measured - found.after.predicted),
        _of_held(found),
    )
    return [text for text in doubts if text]


def payload_warnings(
    unknowns: Unknowns, mass: float, std: Array, condition: float, after: Residuals
) -> list[str]:
    """Return what is to be said of a payload of a mass [kg], std (10,) as in PayloadEstimate."""
    doubts = joint_warnings(unknowns)
    if mass < SURE * std[0]:
        doubts.append(
            f"the efforts show no payload: {mass:.3g} kg is less than {SURE:g} standard "
            f"deviations of {std[0]:.2g} kg"
        )
    elif not (std[1:4] < FAR * mass).all():
        doubts.append(
            "the centre of mass is hardly told, nor is the inertia; the motion has to turn the "
            "link about level axes"
        )
    elif not (std[4:] < SPREAD * mass).all():
        doubts.append("the inertia is hardly told, mass and centre of mass are; move faster")
    rest = after.measured - after.predicted
    doubts += [too_poor(condition), saturated(unknowns), along_velocity(unknowns, rest)]
    return [text for text in (*doubts, _unexplained(after)) if text]


def too_poor(condition: float) -> str:
    """Return why a motion shows too little, "" if it does not."""
    if condition <= TOO_POOR:
        return ""
    return (
        f"the motion is too poor: the condition number of its equations is {condition:.3g}, "
        f"allowed is {TOO_POOR:g}; `rbdyn excite` makes a motion that tells more"
    )


def saturated(unknowns: Unknowns) -> str:
    """Return which joints lost most of their samples to the limits of their drives."""
    names, lost = unknowns.motion.names, unknowns.lost
    most = [f"{quote(names[i])} {lost[i]:.0%}" for i in np.flatnonzero(lost > MOST_LOST)]
    if not most:
        return ""
    return (
        f"the drives were saturated in most samples of {_listed(most)}, allowed is "
        f"{MOST_LOST:.0%}; move slower, or with less load"
    )


def along_velocity(unknowns: Unknowns, rest: Array) -> str:
    """Return at which joints what is left over of the efforts (p, n) looks like friction."""
    motion, told = unknowns.motion, []
    smoothing = unknowns.friction.smoothing[unknowns.dofs]
    columns = [extra_columns(kind, motion, smoothing) for kind in ("viscous", "coulomb")]
    for i in np.flatnonzero(unknowns.moved):
        kept = unknowns.kept[:, i]
        left, slides = rest[kept, i], np.column_stack([column[kept, i] for column in columns])
        share = _explained(slides, left)
        loud = np.sqrt(np.mean(left**2)) > SEEN * unknowns.largest[i]
        if loud and share > ALONG:
            told.append(f"{quote(motion.names[i])} {share:.0%}")
    if not told:
        return ""
    return (
        "what is left over of the efforts goes with the velocity like friction that is not in "
        f"the model, or efforts of the wrong sign: {_listed(told)} of its power; identify "
        "friction, or look at the signs"
    )


def _explained(columns: Array, rest: Array) -> float:
    """Return the share of the power of rest (k,) that its best combination of columns has."""
    lengths = np.linalg.norm(columns, axis=0)
    fit = np.linalg.lstsq(columns / np.where(lengths > 0.0, lengths, 1.0), rest, rcond=None)[0]
    explained = (columns / np.where(lengths > 0.0, lengths, 1.0)) @ fit
    power = float(np.sum(rest**2))
    return float(np.sum(explained**2)) / power if power > 0.0 else 0.0


def _of_mass(found: Identification) -> str:
    before, after = (float(m.body_mass[1:].sum()) for m in (found.prior, found.m))
    if before <= 0.0 or before / MASS_RATIO <= after <= before * MASS_RATIO:
        return ""
    return (
        f"the moved bodies were {before:.4g} kg in all and are identified as {after:.4g} kg; a "
        f"change by more than a factor of {MASS_RATIO:g} speaks of efforts or positions in other "
        "units, of the wrong sign, or cut off by the drives"
    )


def _unexplained(after: Residuals) -> str:
    largest = np.abs(after.measured).max(axis=0)
    share = float(np.linalg.norm(after.rms) / np.linalg.norm(largest))
    if share <= UNEXPLAINED:
        return ""
    return (
        f"{100.0 * share:.3g} percent of the largest efforts stay unexplained, allowed are "
        f"{100.0 * UNEXPLAINED:g}; look at the joint where the share is large: units, signs, a "
        "stop, a collision, friction that is not in the model"
    )


def _of_friction(unknowns: Unknowns, found: Identification) -> str:
    identified = [e for e in unknowns.extras if e.kind in ("viscous", "coulomb")]
    if not identified:
        return ""
    for extra in identified:
        k, i = unknowns.dofs[extra.column], extra.column
        fastest = np.abs(unknowns.motion.qvel[:, i]).max()
        value = found.friction.coulomb[k] + found.friction.viscous[k] * fastest
        if value > NOTHING * unknowns.largest[i]:
            return ""
    return (
        "no joint is identified to have friction, which no real arm is like; efforts of the "
        "wrong sign, or commands instead of measured efforts, look like that"
    )


def _of_held(found: Identification) -> str:
    if found.held is None:
        return ""
    before, held = np.linalg.norm(found.before.rms), np.linalg.norm(found.held.rms)
    if held <= before:
        return ""
    return (
        f"without the rotors and offsets, for which a URDF has no place, the efforts are off by "
        f"an RMS of {held:.4g}, more than the {before:.4g} of the description as it is"
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
