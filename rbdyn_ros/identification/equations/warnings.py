# SPDX-License-Identifier: Apache-2.0
"""Warnings about a recording and about an identified result."""

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.errors import apart, quote
from rbdyn_ros.identification.data.motion import dof_names
from rbdyn_ros.identification.equations.base import BaseParameters
from rbdyn_ros.identification.equations.regressor import extra_columns
from rbdyn_ros.identification.equations.residuals import Residuals
from rbdyn_ros.identification.equations.result import Identification
from rbdyn_ros.identification.equations.solve import Prior
from rbdyn_ros.identification.equations.unknowns import MOST_LOST, Unknowns

#: Condition number above which model errors are amplified, and above which a motion is unusable.
POOR, TOO_POOR = 100.0, 1e4
#: Largest change of the total mass: URDFs are often wrong about links, rarely about the whole arm.
MASS_RATIO = 2.0
#: Largest residuals, as a fraction of the largest efforts; a good model leaves a few percent.
UNEXPLAINED = 0.15
#: Correlation with the predicted efforts above which sign and unit of efforts can be judged.
ALIKE = 0.8
#: Efforts that differ from the predicted efforts by this factor are in another unit.
OTHER_UNIT = 30.0
#: Least friction of a real joint, as a fraction of its largest effort.
NOTHING = 2e-3
#: Residuals count as friction if friction explains this fraction of their power.
ALONG = 0.5
#: Residuals count as noise if they are below this fraction of the largest effort.
SEEN = 0.02
#: Number of standard deviations above which a payload is significant.
SURE = 3.0
#: Largest standard deviations of a payload's centre of mass [m] and inertia / mass [m^2].
FAR, SPREAD = 0.05, 0.01
#: Maximum number of names in a warning.
MOST_NAMED = 8
#: Terms that a patched URDF lacks.
NOT_HELD = "without rotors, offsets and Stribeck friction, which a URDF cannot hold"


def why_no_patch(found: Identification) -> str:
    """Return the reason why a result should not replace the robot description, or "".

    The reasons are also in found.warnings, one message each.
    """
    return "; ".join(found.grave)


def joint_warnings(unknowns: Unknowns, changed: Sequence[str] = ()) -> list[str]:
    """Return warnings about joints, and about bodies with an impossible prior inertia.

    `changed` are the names of these bodies.
    """
    m, motion, found = unknowns.m, unknowns.motion, []
    resting = [
        f"{name} at {unknowns.rest[k]:.4g}"
        for k, name in enumerate(dof_names(m))
        if name not in motion.names
    ]
    if resting:
        found.append(f"joints not in the motion are assumed to rest: {_listed(resting)}")
    still = [name for name, fast in zip(motion.names, unknowns.moved, strict=True) if not fast]
    if still:
        found.append(f"joints moved too little, so their friction is kept: {_listed(still)}")
    for i, name in enumerate(motion.names):
        lost = int(np.sum(~unknowns.kept[:, i]))
        if lost:
            kept = "; its friction is kept" if unknowns.lost[i] > MOST_LOST else ""
            found.append(
                f"{lost} of {len(motion.time)} samples of {quote(name)} are at the effort limit "
                f"or in a gap and are skipped{kept}"
            )
    if changed:
        found.append(
            "these bodies have an impossible inertia in the robot description; the nearest "
            f"possible one is the prior: {_listed(changed)}"
        )
    return found


def spread(base: BaseParameters, prior: Prior) -> Array:
    """Return the prior standard deviations of the base parameters (b,)."""
    size = prior.bodies.size
    return np.asarray(
        np.linalg.norm(base.combination @ prior.metric()[:size, :size], axis=1), np.float64
    )


def parameter_warnings(
    base: BaseParameters,
    std: Array,
    prior: Prior,
    condition: float,
    effects: Array,
    after: Residuals,
) -> list[str]:
    """Return warnings about base parameters that stay near the prior.

    Args:
        base: the base parameters.
        std: (b,) their standard deviations from the motion alone.
        prior: the prior of the base parameters.
        condition: condition number of the motion.
        effects: (b,) effort that the prior spread of a parameter causes, relative to the noise.
        after: residuals of the result, which are the noise.
    """
    found = []
    if POOR < condition <= TOO_POOR:
        found.append(
            f"the condition number of the motion is {condition:.3g}; up to {POOR:g} is good. A "
            "better motion moves all joints at once, far and in both directions"
        )
    hidden = std > spread(base, prior)
    small, mixed = hidden & (effects < 1.0), hidden & (effects >= 1.0)
    if small.any():
        noise = ", ".join(
            f"{name} {rms:.2g}" for name, rms in zip(after.names, after.rms, strict=True)
        )
        found.append(
            f"{small.sum()} of {base.rank} base parameters change the efforts by less than their "
            f"noise (RMS {noise}), so they stay near the prior and matter little in this motion: "
            f"{_listed(_leaders(base, small))}"
        )
    if mixed.any():
        found.append(
            f"the motion does not separate {mixed.sum()} of {base.rank} base parameters from "
            "others, so they stay near the prior; move their joints farther and faster, and in "
            f"other combinations: {_listed(_leaders(base, mixed))}"
        )
    return found


def _leaders(base: BaseParameters, marks: Bools) -> list[str]:
    return [base.names[k].split(" ")[0] for k in np.flatnonzero(marks)]


def patch_warnings(unknowns: Unknowns, found: Identification) -> list[str]:
    """Return the reasons for which a result must not patch a URDF."""
    reasons = (
        too_poor(found.condition),
        _of_signs(found.before),
        _of_units(found.before),
        _of_mass(found),
        _unexplained(found.after),
        _of_friction(unknowns, found),
        saturated(unknowns),
        along_velocity(unknowns, found.after.measured - found.after.predicted),
        _of_held(found),
    )
    return [text for text in reasons if text]


def payload_warnings(
    unknowns: Unknowns, mass: float, std: Array, condition: float, after: Residuals
) -> list[str]:
    """Return warnings about a payload of a mass [kg]; std (10,) as in PayloadEstimate."""
    found = joint_warnings(unknowns)
    if mass < SURE * std[0]:
        found.append(
            f"the efforts show no payload: {mass:.3g} kg is less than {SURE:g} times "
            f"its standard deviation, {std[0]:.2g} kg"
        )
    elif not (std[1:4] < FAR * mass).all():
        found.append(
            "the motion hardly determines the centre of mass and the inertia; turn the link "
            "about horizontal axes"
        )
    elif not (std[4:] < SPREAD * mass).all():
        found.append("the motion hardly determines the inertia; move faster")
    rest = after.measured - after.predicted
    found += [too_poor(condition), saturated(unknowns), along_velocity(unknowns, rest)]
    return [text for text in (*found, _unexplained(after)) if text]


def too_poor(condition: float) -> str:
    """Return a warning about a poorly conditioned motion, or ""."""
    if condition <= TOO_POOR:
        return ""
    found, most = apart(condition, TOO_POOR, digits=3)
    return (
        f"the motion is too poor: the condition number of its equations is {found}, "
        f"allowed is {most}; `rbdyn excite` makes a better motion"
    )


def saturated(unknowns: Unknowns) -> str:
    """Return a warning about joints whose drives were mostly saturated, or ""."""
    names, lost = unknowns.motion.names, unknowns.lost
    most = [f"{quote(names[i])} {lost[i]:.0%}" for i in np.flatnonzero(lost > MOST_LOST)]
    if not most:
        return ""
    return (
        f"the drives were saturated in most samples of {_listed(most)}; allowed is "
        f"{MOST_LOST:.0%}. Move slower, or with less load"
    )


def along_velocity(unknowns: Unknowns, rest: Array) -> str:
    """Return a warning about joints whose residuals (p, n) look like friction, or ""."""
    motion, found = unknowns.motion, []
    smoothing = unknowns.friction.smoothing[unknowns.dofs]
    columns = [extra_columns(kind, motion, smoothing) for kind in ("viscous", "coulomb")]
    for i in np.flatnonzero(unknowns.moved):
        kept = unknowns.kept[:, i]
        left, slides = rest[kept, i], np.column_stack([column[kept, i] for column in columns])
        share = _explained(slides, left)
        loud = np.sqrt(np.mean(left**2)) > SEEN * unknowns.largest[i]
        if loud and share > ALONG:
            found.append(f"{quote(motion.names[i])} {share:.0%}")
    if not found:
        return ""
    return (
        "the residuals follow the velocity, as if friction were missing in the model or efforts "
        f"had the wrong sign: {_listed(found)} of their power. Identify friction, or check the "
        "signs"
    )


def _explained(columns: Array, rest: Array) -> float:
    """Return the fraction of the power of rest (k,) that the columns explain."""
    lengths = np.linalg.norm(columns, axis=0)
    fit = np.linalg.lstsq(columns / np.where(lengths > 0.0, lengths, 1.0), rest, rcond=None)[0]
    explained = (columns / np.where(lengths > 0.0, lengths, 1.0)) @ fit
    power = float(np.sum(rest**2))
    return float(np.sum(explained**2)) / power if power > 0.0 else 0.0


def _of_signs(before: Residuals) -> str:
    """Return a warning about efforts with the opposite sign of the predicted efforts, or ""."""
    _, alike = _compared(before)
    wrong = np.flatnonzero(alike < -ALIKE)
    if not len(wrong):
        return ""
    names = [f"{quote(before.names[i])} (correlation {alike[i]:.2f})" for i in wrong]
    return (
        f"the efforts of {_listed(names)} have the opposite sign of the efforts predicted from "
        "the robot description: the effort or the encoder is inverted. Set effort_signs or "
        "position_signs in a columns file, or correct the joint's axis"
    )


def _of_units(before: Residuals) -> str:
    """Return a warning about efforts that seem to be in another unit, or ""."""
    slopes, alike = _compared(before)
    size = np.maximum(slopes, 1.0 / np.where(slopes > 0.0, slopes, np.inf))
    wrong = np.flatnonzero((alike > ALIKE) & (size > OTHER_UNIT))
    if not len(wrong):
        return ""
    names = [f"{quote(before.names[i])} (by {slopes[i]:.3g})" for i in wrong]
    return (
        f"the efforts of {_listed(names)} are a multiple of the efforts predicted from the robot "
        "description: "
        "are they in mN m, or currents? Set effort_unit or drive_gains in a columns file"
    )


def _compared(before: Residuals) -> tuple[Array, Array]:
    """Return the ratio and correlation (n,) of the measured and the predicted efforts."""
    slopes, alike = np.ones(len(before.names)), np.zeros(len(before.names))
    for i, kept in enumerate(before.kept.T):
        measured, predicted = (x[kept, i] for x in (before.measured, before.predicted))
        a, b = measured - measured.mean(), predicted - predicted.mean()
        power = float(np.linalg.norm(a) * np.linalg.norm(b))
        if power > 0.0:
            alike[i] = float(a @ b) / power
            slopes[i] = float(np.linalg.norm(a) / np.linalg.norm(b))
    return slopes, alike


def _of_mass(found: Identification) -> str:
    before, after = (float(m.body_mass[1:].sum()) for m in (found.prior, found.m))
    if before <= 0.0 or before / MASS_RATIO <= after <= before * MASS_RATIO:
        return ""
    return (
        f"the moving bodies had {before:.4g} kg in total and are identified with {after:.4g} kg, "
        f"a change by more than a factor of {MASS_RATIO:g}. The recording and the robot "
        "description do not fit: compare units and signs, or correct the masses by hand first"
    )


def _unexplained(after: Residuals) -> str:
    largest = np.abs(after.measured).max(axis=0)
    share = float(np.linalg.norm(after.rms) / np.linalg.norm(largest))
    if share <= UNEXPLAINED:
        return ""
    worst = int(np.nanargmax(after.share_of_peak))
    left, most = apart(100.0 * share, 100.0 * UNEXPLAINED, digits=3)
    return (
        f"the model leaves {left} percent of the largest efforts unexplained, most "
        f"at {quote(after.names[worst])} with {100.0 * after.share_of_peak[worst]:.3g}; "
        f"allowed are {most}. Check the joints with large residuals: units, "
        "signs, end stops, collisions, missing friction"
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
        "no joint has friction, which is impossible for a real arm; efforts may have the wrong "
        "sign, or be commands instead of measurements"
    )


def _of_held(found: Identification) -> str:
    if found.held is None:
        return ""
    before, held = (float(np.linalg.norm(one.rms)) for one in (found.before, found.held))
    if held <= before:
        return ""
    after, present = apart(held, before, digits=4)
    return (
        f"{NOT_HELD}, the RMS residual is {after}, more than the {present} of the present robot "
        "description"
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
