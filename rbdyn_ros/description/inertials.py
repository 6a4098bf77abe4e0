"""Judges the mass distributions of links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.description.audit import Audit, quote
from rbdyn_ros.description.types import Link
from rbdyn_ros.description.values import judge_finite, judge_pose

INERTIA_ROUNDING = 1e-6  # of the largest principal moment, for values printed with few digits


def judge_inertials(links: Sequence[Link], audit: Audit) -> None:
    """Add errors for numbers that are none, and warn of inertias that no body can have."""
    _judge_inertias([link for link in links if _judge_inertial(link, audit)], audit)


def _judge_inertial(link: Link, audit: Audit) -> bool:
    """Return whether the link has an inertial whose numbers are usable."""
    inertial = link.inertial
    if inertial is None:
        return False
    owner = f"link {quote(link.name)}"
    finite = judge_finite("mass", (inertial.mass,), 1, owner, link.line, audit)
    finite &= judge_finite("inertia", inertial.inertia, 6, owner, link.line, audit)
    finite &= judge_pose("inertial origin", inertial.origin, owner, link.line, audit)
    if finite and inertial.mass < 0.0:
        message = f"the mass is {inertial.mass:g} kg; it must not be negative"
        audit.error(
            "negative-mass", owner, link.line, message, found=f"{inertial.mass:g}", allowed=">= 0"
        )
    return finite


def _judge_inertias(bodies: Sequence[Link], audit: Audit) -> None:
    """Warn of inertias that no distribution of mass can have."""
    rows = [link.inertial.inertia for link in bodies if link.inertial is not None]
    if not rows:
        return
    ixx, iyy, izz, ixy, ixz, iyz = np.array(rows, dtype=float).T
    matrices = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]]).transpose(2, 0, 1)
    scale = np.abs(matrices).max(axis=(1, 2))
    usable = scale > 0.0
    moments = np.zeros((len(rows), 3))
    moments[usable] = np.linalg.eigvalsh(matrices[usable] / scale[usable, None, None])
    slack = INERTIA_ROUNDING * np.abs(moments).max(axis=1)
    negative = moments[:, 0] < -slack
    triangle = moments[:, 0] + moments[:, 1] < moments[:, 2] - slack
    for index in np.flatnonzero(negative | triangle).tolist():
        link = bodies[index]
        largest = float(scale[index])  # Python's numbers overflow without a warning
        values = ", ".join(f"{moment * largest:.3g}" for moment in moments[index].tolist())
        why = (
            "one is negative"
            if negative[index]
            else "the largest is more than the sum of the other two"
        )
        message = (
            f"no rigid body has this inertia: its principal moments are {values} kg m^2, and {why}"
        )
        owner = f"link {quote(link.name)}"
        audit.add("warning", "non-physical-inertia", owner, link.line, message, found=values)
