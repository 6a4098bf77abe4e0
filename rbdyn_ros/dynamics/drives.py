"""Hybrid dynamics: which joints are moved by forces, and which have their motion given."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.dynamics.entry import demand_pair
from rbdyn_ros.errors import Finding, ParameterError, did_you_mean
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.joints import JointClass
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.options import Drive

MODES = tuple(mode.name.lower() for mode in Drive)


def set_drive(
    m: Model, d: Data, joint: int | str, mode: str, target: ArrayLike | None = None
) -> None:
    """Say what moves a joint from now on.

    With "force" it is what it was at first: qfrc_applied and all other forces. Otherwise its
    motion is given, and qfrc_drive (after forward or step) is the force that takes, beyond
    qfrc_applied: "acceleration" gives qacc; "velocity" is reached at the end of the next step and
    kept; "position" is reached at the end of the next step, with the velocity that leads there.
    Give a new target before each step to follow a trajectory; d.drive_target may also be written
    directly. Quantities jump where a target does.

    From the first call on this Data is computed like a coupled system, a little slower.
    reset_data puts all joints back to "force".

    Args:
        m: the Model.
        d: its Data.
        joint: number or name, of a joint with freedoms of its own.
        mode: "force", "acceleration", "velocity" or "position".
        target: one number a degree of freedom, or one for all; [rad or m, per s, per s^2]. If
            left out: where the joint is ("position"), its velocity ("velocity"), or 0.

    Raises:
        ModelError: if d was not made for m, or there is no such joint.
        ParameterError: for another mode or target, or a joint that cannot be moved so.
    """
    demand_pair(m, d)
    j = _number(m, joint)
    name = f"joint '{m.jnt_names[j]}'"
    if not isinstance(mode, str) or mode not in MODES:
        hint = did_you_mean(mode, MODES) if isinstance(mode, str) else ""
        raise _refused(name, f"mode is {mode!r}{hint}; allowed is one of {', '.join(MODES)}")
    dofs = slice(int(m.jnt_dofadr[j]), int(m.jnt_dofadr[j] + m.jnt_dofnum[j]))
    kind = Drive[mode.upper()]
    if m.jnt_class[j] != JointClass.FREE:
        why = "follows another joint" if m.jnt_mimic[j] >= 0 else "is driven over time"
        raise _refused(name, f"it {why} and has no freedom of its own")
    if kind == Drive.POSITION and not m.jnt_kind(j).flat:
        raise _refused(name, "its position is no vector; allowed are acceleration and velocity")
    present = {
        Drive.POSITION: d.qpos[m.jnt_qposadr[j] :][: m.jnt_kind(j).nv],
        Drive.VELOCITY: d.qvel[dofs],
    }
    values = _target(name, target, present.get(kind, 0.0), int(m.jnt_dofnum[j]))
    if kind != Drive.FORCE and m.nM == 0:
        raise _refused(name, "the mass matrix of this Model is too large for driven dofs")
    if kind != Drive.FORCE:
        d.take_drive_modes()
    d.drive_target[dofs] = values
    d.drive_mode[dofs] = int(kind)


def _number(m: Model, joint: int | str) -> int:
    if isinstance(joint, str):
        return m.jnt_id(joint)
    if isinstance(joint, bool) or not isinstance(joint, int | np.integer):
        raise _refused(repr(joint), "a joint is a number or a name")
    if not 0 <= joint < m.njnt:
        raise _refused(repr(joint), f"there is no such joint; allowed are numbers below {m.njnt}")
    return int(joint)


def _target(name: str, target: ArrayLike | None, present: ArrayLike, length: int) -> ArrayLike:
    if target is None:
        return present
    try:
        values = np.asarray(target, np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.shape not in ((), (length,)) or not np.isfinite(values).all():
        text = f"target is {target!r}; allowed is a finite number, or {length} of them"
        raise _refused(name, text)
    return values


def _refused(name: str, why: str) -> ParameterError:
    return ParameterError(Finding("drive", f"set_drive: {name}: {why}", "error", name))
