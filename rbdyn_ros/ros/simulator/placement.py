"""Joints put elsewhere while simulating: names and numbers to a whole position and velocity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.dynamics.assembly import assemble
from rbdyn_ros.errors import RbdynError, did_you_mean, quote
from rbdyn_ros.loading.load import CLOSED
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.convert import SingleJoints
from rbdyn_ros.ros.common.unfit import LARGEST_STATE, unfit

#: qpos, qvel, and which entries of each count.
Placement = tuple[Array, Array, Bools, Bools]


def placed(
    m: Model,
    names: Sequence[str],
    positions: Sequence[float],
    velocities: Sequence[float],
    here: Array | None,
) -> Placement | str:
    """Return what to set, or why it is refused.

    Where loops are closed the other joints move so that they stay closed, and all are at rest.

    Args:
        m: the robot.
        names: of joints with a coordinate of their own.
        positions: one each, or none: they stay where they are [rad or m].
        velocities: one each, or none: they are at rest [rad/s or m/s].
        here: (nq,) where the robot stands, None while it moves.
    """
    refusal = _judge_numbers(names, positions, velocities) or _judge_names(m, names)
    refusal = refusal or _judge_limits(m, names, positions)
    if refusal:
        return refusal
    free = SingleJoints.free(m)
    where = {name: k for k, name in enumerate(free.names)}
    chosen = [where[name] for name in names]
    qpos, qvel = np.zeros(m.nq), np.zeros(m.nv)
    qpos_given, qvel_given = np.zeros(m.nq, np.bool_), np.zeros(m.nv, np.bool_)
    qvel_given[free.dofadr[chosen]] = True
    if len(velocities):
        qvel[free.dofadr[chosen]] = velocities
    if len(positions):
        qpos[free.qposadr[chosen]] = positions
        qpos_given[free.qposadr[chosen]] = True
    if m.nefc == 0:
        return qpos, qvel, qpos_given, qvel_given
    return _closed(m, names, qpos, qpos_given, velocities, here)


def _judge_numbers(
    names: Sequence[str], positions: Sequence[float], velocities: Sequence[float]
) -> str:
    for kind, numbers in (("position", positions), ("velocity", velocities)):
        if len(numbers) not in (0, len(names)):
            plural = {"position": "positions", "velocity": "velocities"}[kind]
            return f"there are {len(numbers)} {plural} for {len(names)} names"
        for name, number in zip(names, numbers, strict=False):
            why = unfit(f"the {kind} of joint {quote(name)}", number, LARGEST_STATE)
            if why:
                return why
    if not names:
        return "it names no joint"
    if len(positions) + len(velocities) == 0:
        return "it holds neither positions nor velocities"
    return ""


def _judge_names(m: Model, names: Sequence[str]) -> str:
    known = SingleJoints.free(m).names
    for n, name in enumerate(names):
        if name in known and name not in names[:n]:
            continue
        if name in known:
            return f"joint '{name}' is named twice"
        if name in (*m.jnt_names, *m.loop_names):
            why = f"joint '{name}' has no single coordinate of its own to set"
        else:
            why = f"there is no joint {quote(name)}{did_you_mean(name, known)}"
        return f"{why}; there are {', '.join(known)}"
    return ""


def _judge_limits(m: Model, names: Sequence[str], positions: Sequence[float]) -> str:
    for name, position in zip(names, positions, strict=False):
        j = m.jnt_id(name)
        low, high = m.jnt_range[j].tolist() if m.jnt_limited[j] else (-np.inf, np.inf)
        if not low <= position <= high:
            return f"joint '{name}' would be at {position:g}; its limits are {low:g} and {high:g}"
    return ""


def _closed(
    m: Model,
    names: Sequence[str],
    qpos: Array,
    given: Bools,
    velocities: Sequence[float],
    here: Array | None,
) -> Placement | str:
    if here is None:
        return "pause the simulation first: its loops are closed anew round these joints"
    if np.any(velocities):
        return "joints that close loops cannot be given velocities one by one; leave them out"
    try:
        whole = assemble(m, np.where(given, qpos, here), list(names), CLOSED)
    except RbdynError as error:
        return str(error)
    return whole, np.zeros(m.nv), np.ones(m.nq, np.bool_), np.ones(m.nv, np.bool_)
