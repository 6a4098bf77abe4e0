# SPDX-License-Identifier: Apache-2.0
"""Check that every joint of a Model moves enough inertia to be simulated.

Bodies may be massless, but the articulated inertia of each dof (the D of the articulated-body
algorithm) must be positive, or its acceleration would be infinite.
"""

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.dynamics.entry import Entry, public
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.engine.compiler.jit import DISABLED
from rbdyn_ros.engine.compiler.views import MODEL
from rbdyn_ros.engine.quantities.constants import move, survey
from rbdyn_ros.errors import DescriptionError, Finding, Severity
from rbdyn_ros.loading.geometries import with_masses
from rbdyn_ros.loading.mobility import LOCKED, mobility
from rbdyn_ros.model.declared.callbacks import WEIGHERS
from rbdyn_ros.model.model import Model

Lines = dict[str, int | None]

#: A D below this fraction of the inertia of the rigid subtree is a rounding error.
RELATIVE_ZERO = 1e-12

#: Armature for a joint without inertia, with strict=False [kg m^2 or kg].
REPAIR_ARMATURE = 1e-6

#: The advice for joints without enough inertia.
LOAD_REPAIRED = (
    "load with strict=False (rbdyn check --repair, node parameter strict) to add an armature"
)

#: Maximum number of passes over the dofs without inertia; real robots need fewer.
MAX_ROUNDS = 50

#: An inertia below this part of the largest inertia of a joint gets a warning.
TINY_INERTIA = 1e-11

_survey, _survey_at = public(survey), Entry(survey)
_move = public(move)


def with_inertias(
    model: Model, description: Description, findings: Sequence[Finding], strict: bool
) -> Model:
    """Return the Model with dof_inertia0, and with an armature where it is needed.

    Args:
        model: compiled from the description.
        description: for the lines of its joints.
        findings: the findings so far; the Model gets them and new findings.
        strict: whether to refuse a joint without inertia, and only warn of a tiny inertia;
            otherwise both kinds of joints are repaired.

    Raises:
        DescriptionError: a joint moves a negative inertia, or no inertia if strict.
    """
    repaired, inertia, missing, wrong = _repair(model)
    lines = {joint.name: joint.line for joint in description.joints}
    errors = [_wrong(repaired, dof, inertia[dof], lines) for dof in wrong]
    weak = (inertia < TINY_INERTIA * inertia.max(initial=0.0)) & ~missing
    if not strict:
        repaired = _strengthened(repaired, inertia, missing, weak)
    added = repaired.dof_armature - model.dof_armature
    missed = [
        _missing(repaired, j, added[missing & (model.dof_jntid == j)], lines, strict)
        for j in dict.fromkeys(model.dof_jntid[missing].tolist())
    ]
    if errors or (strict and missed):
        raise DescriptionError([*errors, *missed], description.source)
    light = [
        _light(repaired, dof, inertia, added[dof], lines, strict)
        for dof in np.flatnonzero(weak).tolist()
    ]
    if not strict:
        inertia, _ = _measure(repaired)
    findings = [*findings, *missed, *light]
    return repaired.replaced(findings=findings, dof_inertia0=_constrained(repaired, inertia))


def _constrained(m: Model, inertia: Array) -> Array:
    """Return the effective inertia of each dof under the constraints: 1 / (M_c^-1)_kk.

    A dof that cannot move at qpos0 keeps the inertia of the open tree.
    """
    if m.nefc == 0 or m.nv == 0:
        return inertia
    free, held = map(np.diagonal, mobility(m))
    moves = held > LOCKED * free
    return np.where(moves, 1.0 / np.where(moves, held, 1.0), inertia)


def constants(m: Model) -> dict[str, Array]:
    """Return dof_inertia0 and geom_mass0 by name, as loading computes them from the numbers of m.

    If a joint has no inertia, which loading refuses, M is singular; geom_mass0 then stays.
    """
    inertia, _ = _measure(m)
    if not (inertia > 0.0).all():
        return {"dof_inertia0": np.maximum(inertia, 0.0), "geom_mass0": m.geom_mass0}
    return {"dof_inertia0": _constrained(m, inertia), "geom_mass0": with_masses(m).geom_mass0}


def inertias_of(m: Model, armatures: Array) -> Array:
    """Return dof_inertia0 for rows of dof_armature, both (n, nv)."""
    if DISABLED or m.nefc > 0:
        rows = [m.replaced(dof_armature=row).dof_inertia0 for row in armatures]
        return np.array(rows).reshape(armatures.shape)
    # let kernels read the armature through a changed table: a new Model per row would take 500
    # times as long
    d, table, armature = make_data(m), m.table.copy(), np.zeros(m.nv)
    found: Array = armatures.copy()
    table[MODEL.fields["dof_armature"][0]] = armature.ctypes.data
    d.take_table(table.ctypes.data)
    for k, row in enumerate(armatures):
        armature[:] = row
        _survey_at.call(table.ctypes.data, d.address)
        absent = ~(RELATIVE_ZERO * np.abs(d.Dinv_u) < d.D)
        found[k] = m.replaced(dof_armature=row).dof_inertia0 if absent.any() else d.D
    return found


def _repair(model: Model) -> tuple[Model, Array, Bools, list[int]]:
    """Give an armature to each dof that moves no inertia, from the tips to the root.

    A dof without inertia invalidates the values of all dofs above it. So each pass treats the
    lowest such dofs, then all are computed again.

    Returns:
        The Model with armatures, the inertia of its dofs, the dofs with a new armature, and the
        dofs with negative inertia.
    """
    armature = model.dof_armature.copy()
    missing = np.zeros(model.nv, bool)
    inertia, rigid = _measure(model)
    for _ in range(MAX_ROUNDS):
        zero = RELATIVE_ZERO * np.abs(rigid)
        absent = ~(inertia > zero) & ~missing
        if not absent.any():
            break
        lowest = absent & ~_above_any(model, absent)
        wrong = np.flatnonzero(lowest & ~(inertia >= -_of_joint(model, zero)))
        if len(wrong):
            return model, inertia, missing, wrong.tolist()
        # treat all dofs without any mass below in one pass
        lowest |= absent & (rigid == 0.0)
        missing |= lowest
        armature[lowest] = REPAIR_ARMATURE
        model = model.replaced(dof_armature=armature)
        inertia, rigid = _measure(model)
    return model, inertia, missing, []


def _of_joint(m: Model, sizes: Array) -> Array:
    """Return, for each dof, the largest size among the dofs of its joint."""
    largest = np.zeros(m.njnt)
    np.maximum.at(largest, m.dof_jntid, sizes)
    found: Array = largest[m.dof_jntid]
    return found


def _measure(m: Model) -> tuple[Array, Array]:
    """Return the inertia of each dof at qpos0, and its inertia with rigid joints below it.

    A value of zero, which may be a coincidence, is computed again at a random configuration.
    """
    d = make_data(m)
    _survey(m, d)
    inertia, rigid = d.D.copy(), d.Dinv_u.copy()
    absent = ~(inertia > RELATIVE_ZERO * np.abs(rigid))
    if absent.any():
        d.qvel[:] = np.random.default_rng(1).uniform(-2.0, 2.0, m.nv)
        _move(m, d, 1.0)
        d.qvel[:] = 0.0
        _survey(m, d)
        inertia[absent], rigid[absent] = d.D[absent], d.Dinv_u[absent]
    return inertia, rigid


def _above_any(m: Model, chosen: Bools) -> Bools:
    """Return a mask (nv,) of the dofs on the paths from chosen dofs to the root.

    A chosen dof itself is in the mask only if it is on the path of another chosen dof.
    """
    above = np.zeros(m.nv, bool)
    for k in range(m.nv - 1, -1, -1):
        parent = m.dof_parentid[k]
        if parent >= 0:
            above[parent] |= above[k] | chosen[k]
    return above


def _missing(m: Model, j: int, added: Array, lines: Lines, strict: bool) -> Finding:
    name = m.jnt_names[j]
    outcome = (
        f"give a link below it mass and inertia, or {LOAD_REPAIRED}"
        if strict
        else f"repaired with an armature of {' and '.join(f'{a:.2g}' for a in np.unique(added))}"
    )
    text = f"it moves no inertia, so its acceleration would be infinite; {outcome}"
    severity: Severity = "error" if strict else "warning"
    return _finding("no-inertia", text, severity, name, lines)


def _wrong(m: Model, dof: int, inertia: float, lines: Lines) -> Finding:
    name = m.jnt_names[m.dof_jntid[dof]]
    text = f"it moves an inertia of {inertia:.3g}; correct the inertias of the links below it"
    return _finding("negative-inertia", text, "error", name, lines)


def _finding(code: str, text: str, severity: Severity, name: str, lines: Lines) -> Finding:
    element = f"joint '{name}'"
    allowed = "a positive inertia below every moving joint"
    return Finding(code, f"{element}: {text}", severity, element, lines.get(name), allowed=allowed)


def _strengthened(m: Model, inertia: Array, missing: Bools, tiny: Bools) -> Model:
    """Return the Model with armatures that keep accelerations of dofs of low inertia finite.

    A dof with a tiny inertia gets the smallest sound inertia of the robot as its armature. A dof
    without inertia gets the smallest inertia of its joint: otherwise a body with inertia about
    only some axes would accelerate without end.

    Args:
        m: with REPAIR_ARMATURE for its dofs without inertia.
        inertia: inertia of its dofs.
        missing: the dofs without inertia.
        tiny: the dofs with a tiny inertia.
    """
    sound = ~(missing | tiny)
    armature = m.dof_armature.copy()
    armature[tiny] += inertia[sound].min(initial=np.inf) if sound.any() else REPAIR_ARMATURE
    for dof in np.flatnonzero(missing):
        beside = sound & (m.dof_jntid == m.dof_jntid[dof])
        if beside.any():
            armature[dof] = max(armature[dof], inertia[beside].min())
    return m.replaced(dof_armature=armature)


def _light(
    m: Model, dof: int, inertia: Array, added: float, lines: Lines, strict: bool
) -> Finding:
    outcome = (
        f"give it an armature, or {LOAD_REPAIRED}"
        if strict
        else f"repaired with an armature of {added:.2g}"
    )
    text = (
        f"it moves an inertia of only {inertia[dof]:.2g}, and the heaviest joint "
        f"moves {inertia.max():.2g}; rounding errors dominate its acceleration; {outcome}"
    )
    return _finding("tiny-inertia", text, "warning", m.jnt_names[m.dof_jntid[dof]], lines)


WEIGHERS.append(constants)
