# SPDX-License-Identifier: Apache-2.0
"""Find a configuration in which all loops are closed."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.dynamics.configuration import integrate_pos, slides
from rbdyn_ros.dynamics.entry import public
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.engine.quantities.constants import survey
from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model, check_model
from rbdyn_ros.model.tree.constraints import ROLL_ROWS

#: Largest number of Newton steps of an attempt, and the longest step [rad, or parts of the size].
MAX_STEPS = 100
LONGEST_STEP = 0.5

#: A constraint counts as closed up to the error CLOSED [m or rad], or if a displacement up to
#: NEARLY removes the error [rad, or parts of the size].
CLOSED, NEARLY = 1e-6, 1e-4

#: Rounding error of positions, as a part of the size.
ROUNDING = 1e-14

#: Sizes of usual mechanisms [m]; for these the unit of length is a metre.
USUAL = 0.05, 20.0

#: Largest number of attempts; each starts farther from the given configuration than the last.
ATTEMPTS = 24

#: Largest violation of a position limit [rad or m].
ROUNDED = 1e-9

_survey = public(survey)


def assemble(
    m: Model, qpos: ArrayLike | None = None, fixed: Sequence[str] = (), tolerance: float = 1e-12
) -> Array:
    """Return a configuration (nq,) near `qpos` in which all position constraints hold.

    The function applies Newton's method to efc_pos; each step is the shortest solution of the
    linearised equations. If it does not converge, it starts again from configurations around
    `qpos`, which are the same at every call. Results within the joint limits are preferred. If a
    mechanism has several closed configurations, start near the wanted configuration.

    Args:
        m: the Model.
        qpos: (nq,) the rough configuration; None: m.qpos0.
        fixed: names of joints that keep their positions.
        tolerance: largest efc_pos of the result [m or rad].

    Raises:
        ModelError: m is not a Model, lacks a fixed joint, or a constraint cannot be closed; the
            message names the constraint and its remaining error.
        ParameterError: qpos is not (nq,) finite numbers, or the tolerance is not positive.
    """
    check_model(m, "assemble")
    start = m.qpos0 if qpos is None else finite("qpos", qpos, (m.nq,), code="qpos")
    tolerance = finite("tolerance", tolerance, above=0.0, code="tolerance")
    free = np.ones(m.nv, bool)
    if isinstance(fixed, str) or not isinstance(fixed, Iterable):
        text = f"assemble: fixed is {fixed!r}; allowed is a list of joint names"
        raise ParameterError(Finding("fixed", text, "error", "fixed"))
    for name in fixed:
        j = m.jnt_id(name)
        free[m.dof_jntid == (m.jnt_mimic[j] if m.jnt_mimic[j] >= 0 else j)] = False
    d, rng, size = make_data(m), np.random.default_rng(0), _size(m)
    tolerance = max(tolerance, ROUNDING * size)
    size = 1.0 if USUAL[0] <= size <= USUAL[1] else size
    outside: Array | None = None
    nearest: Array | None = None
    gap = np.inf
    for attempt in range(ATTEMPTS):
        reach = 3.0 * attempt / ATTEMPTS
        d.qpos[:] = start
        away = rng.uniform(-reach, reach, m.nv) * free * _units(m, size)
        integrate_pos(m, d.qpos, away, 1.0)
        if attempt > 0:
            _clip(m, d)
        error = _close(m, d, free, tolerance, size)
        if np.abs(error).max(initial=0.0) <= tolerance:
            if _within_limits(m, d):
                return np.array(d.qpos)
            outside = np.array(d.qpos) if outside is None else outside
        elif nearest is None or np.abs(error).max() < gap:
            nearest, gap = error, float(np.abs(error).max())
    if outside is not None:
        return outside
    assert nearest is not None
    raise ModelError(_open(m, nearest, tolerance))


def closed_within(m: Model) -> float:
    """Return the largest error [m or rad] of a closed constraint.

    It is above 0 because the numbers in files are rounded.
    """
    return CLOSED * min(1.0, _size(m))


def is_closed(m: Model, qpos: ArrayLike) -> bool:
    """Return whether all constraints hold at a configuration, up to rounding in files."""
    if m.nefc == 0:
        return True
    d = make_data(m)
    d.qpos[:] = np.asarray(qpos)
    _survey(m, d)
    error = np.abs(d.efc_pos)
    needed = error / _terms(d, _units(m, _size(m)))
    return bool(error.max() <= CLOSED and needed.max() <= NEARLY)


def _size(m: Model) -> float:
    """Return the size of a mechanism: the longest distance within a body [m], or 1 if it is 0."""
    places = np.concatenate([m.body_pos[1:], m.loop_pos.reshape(-1, 3), m.point_pos])
    return float(np.linalg.norm(places, axis=1).max(initial=0.0)) or 1.0


def _units(m: Model, size: float) -> Array:
    """Return the unit of displacement of each dof (nv,): 1 rad, or the size [m]."""
    shifts, _ = slides(m, np.arange(m.nv))
    return np.where(shifts > 0, size, 1.0)


def _terms(d: Data, unit: Array) -> Array:
    """Return each equation's largest change by one unit of a dof (nefc,), or 1 instead of 0."""
    terms: Array = np.abs(d.efc_J * unit).max(axis=1, initial=0.0)
    terms = np.maximum(terms, d.row_terms * unit.min(initial=1.0))
    return np.where(terms > 0.0, terms, 1.0)


def _close(m: Model, d: Data, free: NDArray[np.bool_], tolerance: float, size: float) -> Array:
    """Move d.qpos towards closed constraints; return the remaining errors.

    The equations are in radians and metres; if `size` is not 1 m, lengths are in parts of it.
    """
    unit = _units(m, size)
    holonomic = holonomic_rows(m)
    _survey(m, d)
    error: Array = d.efc_pos.copy()
    for _ in range(MAX_STEPS):
        size = np.abs(error).max(initial=0.0)
        if size <= tolerance or not np.isfinite(size):
            break
        step = np.zeros(m.nv)
        row = np.ones(m.nefc) if size == 1.0 else _terms(d, unit)
        K = (d.efc_J * unit / row[:, None])[holonomic][:, free]
        # directions with singular values below a thousandth have almost no effect in this pose
        try:
            step[free] = -np.linalg.lstsq(K, (error / row)[holonomic], rcond=1e-3)[0]
        except np.linalg.LinAlgError:
            break
        step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        step *= unit
        before, kept = d.qpos.copy(), error
        for _ in range(8):  # halve the step until the error decreases
            integrate_pos(m, d.qpos, step, 1.0)
            _survey(m, d)
            error = d.efc_pos.copy()
            if np.linalg.norm(error / row) < np.linalg.norm(kept / row):
                break
            d.qpos[:] = before
            step *= 0.5
        else:
            return kept
    return error


def holonomic_rows(m: Model) -> NDArray[np.bool_]:
    """Return a mask of the equations that have a position error.

    The equations that prevent slip of rolling bodies have no position error.
    """
    holonomic = np.ones(m.nefc, bool)
    for kind, _, rows in constraint_rows(m):
        if kind == "rolling":
            holonomic[rows.start + 1 : rows.stop] = False
    return holonomic


def coordinate_limits(m: Model) -> tuple[Ints, Array, Ints]:
    """Return the indices in qpos of limited coordinates, their limits (n, 2), and their joints."""
    single = (m.jnt_limited == 1) & (m.jnt_type != JointType.BALL)
    joints = m.dof_jntid[m.limit_dofid]
    places = m.jnt_qposadr[joints] + m.limit_dofid - m.jnt_dofadr[joints]
    ranges = np.concatenate([m.jnt_range[single], m.limit_range])
    owners = np.concatenate([np.flatnonzero(single), joints])
    return np.concatenate([m.jnt_qposadr[single], places]), ranges, owners


def _clip(m: Model, d: Data) -> None:
    places, ranges, _ = coordinate_limits(m)
    d.qpos[places] = np.clip(d.qpos[places], *ranges.T)


def _within_limits(m: Model, d: Data) -> bool:
    places, ranges, _ = coordinate_limits(m)
    low, high = ranges.T
    if not ((low - ROUNDED <= d.qpos[places]) & (d.qpos[places] <= high + ROUNDED)).all():
        return False
    for j in np.flatnonzero((m.jnt_limited == 1) & (m.jnt_type == JointType.BALL)):
        quat = d.qpos[m.jnt_qposadr[j] :][:4] / np.linalg.norm(d.qpos[m.jnt_qposadr[j] :][:4])
        if 2.0 * np.arccos(min(abs(quat[0]), 1.0)) > m.jnt_range[j, 1] + ROUNDED:
            return False
    return True


def _open(m: Model, error: Array, tolerance: float) -> list[Finding]:
    """Return a finding for each constraint whose error exceeds the tolerance."""
    findings = []
    for kind, name, rows in constraint_rows(m):
        gap = float(np.abs(error[rows]).max(initial=0.0))
        if gap > tolerance:
            text = (
                f"{kind} '{name}' cannot be closed from here: an error of {gap:.3g} m or rad "
                "remains; start from a configuration nearer to the assembled one, or correct the "
                "geometry"
            )
            findings.append(Finding("cannot-close", text, "error", f"{kind} '{name}'"))
    return findings


def constraint_rows(m: Model) -> list[tuple[str, str, slice]]:
    """Return the kind, name and equations of every constraint, in the order of efc_pos."""
    rows: list[tuple[str, str, slice]] = []
    counts = [("loop joint", m.loop_names, m.loop_efcnum.tolist())]
    for kind, names, number in (
        ("length", m.length_names, 1),
        ("gear", m.gear_names, 1),
        ("rolling", m.roll_names, ROLL_ROWS),
    ):
        counts.append((kind, names, [number] * len(names)))
    at = 0
    for kind, names, numbers in counts:
        for name, number in zip(names, numbers, strict=True):
            rows.append((kind, name, slice(at, at + number)))
            at += number
    return rows
