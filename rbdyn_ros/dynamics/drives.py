# SPDX-License-Identifier: Apache-2.0
"""Hybrid dynamics: some dofs move by forces, others have a prescribed motion."""

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.checks.names import one_of
from rbdyn_ros.checks.numbers import finite
from rbdyn_ros.dynamics.entry import check_pair
from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.declared.options import Drive
from rbdyn_ros.model.model import Model

MODES = tuple(mode.name.lower() for mode in Drive)


def set_drive(
    m: Model, d: Data, joint: int | str, mode: str, target: ArrayLike | None = None
) -> None:
    """Set the drive mode of a joint: forces move the joint, or its motion is prescribed.

    "force" is the initial mode: the joint moves by qfrc_applied and all other forces. In the other
    modes its motion is prescribed, and qfrc_drive (after forward or step) is the force that this
    motion needs in addition to qfrc_applied. "acceleration" prescribes qacc. With "velocity" the
    joint reaches the target velocity at the end of the next step and keeps it. With "position" the
    joint reaches the target position at the end of the next step, with the velocity that leads
    there. For a trajectory, set a new target before each step, or write d.drive_target. If a
    target jumps, the results also jump.

    If closed loops cannot follow a drive, it stops where the loops last closed, and d.nlocked
    counts it. It then holds its joint and ignores the target until the next call of set_drive or
    reset_data.

    From the first call on, this Data is computed as a coupled system, which is a little slower.
    reset_data sets all joints back to "force".

    Args:
        m: the Model.
        d: its Data.
        joint: number or name of a joint that is neither driven nor a mimic joint.
        mode: "force", "acceleration", "velocity" or "position".
        target: one number for each degree of freedom, or one number for all [rad or m, per s, per
            s^2]. None: the present position ("position") or velocity ("velocity"), else 0.

    Raises:
        ModelError: d was not made for m, or the joint is unknown.
        ParameterError: the mode is unknown, the target has a wrong length or is not finite, or the
            joint does not support this mode.
    """
    check_pair(m, d)
    j = _number(m, joint)
    name = f"joint '{m.jnt_names[j]}'"
    mode = one_of(f"set_drive: {name}: mode", mode, MODES, code="drive", element=name)
    dofs = slice(int(m.jnt_dofadr[j]), int(m.jnt_dofadr[j] + m.jnt_dofnum[j]))
    kind = Drive[mode.upper()]
    if m.jnt_class[j] != JointClass.FREE:
        kind_of = "a mimic joint" if m.jnt_mimic[j] >= 0 else "driven by a prescribed motion"
        raise _refused(name, f"it is {kind_of} and has no degree of freedom")
    if kind == Drive.POSITION and not m.jnt_kind(j).flat:
        raise _refused(
            name, "its position is not a vector; allowed modes are acceleration and velocity"
        )
    present = {
        Drive.POSITION: d.qpos[m.jnt_qposadr[j] :][: m.jnt_kind(j).nv],
        Drive.VELOCITY: d.qvel[dofs],
    }
    values: ArrayLike = present.get(kind, 0.0)
    if target is not None:
        what, shape = f"set_drive: {name}: target", (int(m.jnt_dofnum[j]),)
        values = finite(what, target, shape, code="drive", element=name, fill=True)
    if kind != Drive.FORCE and m.nM == 0:
        raise _refused(name, "drive modes need the mass matrix, which is too large for this Model")
    if kind != Drive.FORCE:
        d.take_drive_modes()
    if m.nefc > 0:
        d.drive_locked[j] = 0
    d.drive_target[dofs] = values
    d.drive_mode[dofs] = int(kind)


def _number(m: Model, joint: int | str) -> int:
    if isinstance(joint, str):
        return m.jnt_id(joint)
    if isinstance(joint, bool) or not isinstance(joint, int | np.integer):
        raise _refused(repr(joint), "a joint must be a number or a name")
    if not 0 <= joint < m.njnt:
        raise _refused(
            repr(joint), f"there is no such joint; allowed are numbers from 0 to {m.njnt - 1}"
        )
    return int(joint)


def _refused(name: str, reason: str) -> ParameterError:
    return ParameterError(Finding("drive", f"set_drive: {name}: {reason}", "error", name))
