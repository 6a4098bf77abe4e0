# SPDX-License-Identifier: Apache-2.0
"""The optional stages that a Model needs, and the methods that it supports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.model.declared.joints import JOINT_KINDS, JointType
from rbdyn_ros.model.declared.model_fields import (
    ACTUATOR_STAGES,
    CONSTRAINT_STAGES,
    CONTACT_STAGES,
    COUPLING_STAGES,
    DRIVE_STAGES,
    JOINT_STAGES,
)
from rbdyn_ros.model.sizes import MAX_SKYLINE, moving_pairs
from rbdyn_ros.model.tree.inertia_pattern import MAX_M_ENTRIES


def needed_stages(m: Any) -> frozenset[str]:
    """Return the names of the optional stages that a Model and a new Data need."""
    needed: set[str] = set()
    for names, present in (
        (JOINT_STAGES, not m.jnt_common.all()),
        (COUPLING_STAGES, m.nmimic > 0),
        ((*CONSTRAINT_STAGES, *DRIVE_STAGES), m.nefc > 0),
        (("report_stage", *m.lock_stages), m.ndrive > 0),
        (CONTACT_STAGES, m.ncontact > 0),
        (("coupled_bodies_stage", "newton_stage"), m.nskyline > 0),
        (("pair_stage",), m.npush > 0),
        (("terrain_stage",), m.nfield + m.ntrimesh > 0),
        (ACTUATOR_STAGES, m.nu > 0),
    ):
        if present:
            needed.update(names)
    return frozenset(needed)


def without_derivatives(m: Any) -> tuple[str, str]:
    """Return the parts without derivatives, in the motion and in the passive forces.

    Each text names the first such part; '' if all parts have analytic derivatives.
    """
    turning = [kind for kind, row in JOINT_KINDS.items() if not row.flat]
    curved = np.isin(m.jnt_type, turning)
    motion = {
        "constraints": m.nefc > 0,
        "geometries in contact": m.ncontact > 0,
        "actuators": m.nu > 0,
        **_odd_joints(m),
    }
    passive = {
        "springs between points while opt.passive is True": m.nspring > 0,
        "springs in turning joints while opt.passive is True": curved[m.jnt_stiffness > 0.0].any(),
        "limits of ball joints while opt.passive is True": curved[m.jnt_limited == 1].any(),
    }
    return _first(motion), _first(passive)


def without_implicit_step(m: Any) -> str:
    """Return the first part of a Model that implicit integrators do not support, or ''."""
    return _first(
        {
            "constraints (loops, rods, bands, gears or rolling bodies)": m.nefc > 0,
            "a mass matrix that is too large": m.nM == 0 and m.nv > 0,
            **_odd_joints(m),
        }
    )


def _odd_joints(m: Any) -> dict[str, Any]:
    """Return whether the Model has joints of each kind without analytic derivatives."""
    changing = np.isin(m.jnt_type, (JointType.RACK_PINION, JointType.USER))
    several = (m.jnt_reversed == 1) & (m.jnt_dofnum > 1)
    return {
        "joints whose axes change with their position": changing.any(),
        "reversed joints of several degrees of freedom": several.any(),
    }


def _first(found: Mapping[str, Any]) -> str:
    return next((text for text, present in found.items() if present), "")


def check_mass_matrix_fits(m: Any) -> None:
    """Raise ModelError if a Model needs a matrix that would be too large."""
    finding = too_large_matrix(m)
    if finding:
        raise ModelError(finding)


def too_large_matrix(m: Any) -> Finding | None:
    """Return the error if a Model needs a matrix that would be too large, else None."""
    if (m.nmimic > 0 or m.nefc > 0) and m.nM == 0 < m.nv:
        text = (
            f"'{m.name}' has mimic joints or constraints, which need the mass matrix, but "
            f"the matrix has more than {MAX_M_ENTRIES} entries"
        )
        return Finding("no-mass-matrix", text)
    if m.nskyline == 0 < moving_pairs(vars(m)):
        text = (
            f"'{m.name}' has moving bodies that touch each other and {m.nv} degrees of freedom; "
            f"their matrix would have more than {MAX_SKYLINE} entries. Use fewer bodies"
        )
        return Finding("no-contact-matrix", text)
    return None
