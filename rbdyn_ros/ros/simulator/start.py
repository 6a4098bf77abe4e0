"""Where the robot stands at the start: what the user gave by name, limits, and closed loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.assembly import assemble, position_errors
from rbdyn_ros.errors import Finding, ModelError, ParameterError, did_you_mean
from rbdyn_ros.loading.load import CLOSED
from rbdyn_ros.model.joints import JointClass
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.convert import SingleJoints
from rbdyn_ros.ros.simulator.parameters import INITIAL

#: How far an assembled position may be beyond a limit [rad or m]: as close as numbers get.
ON_LIMIT = 1e-9


def start_position(m: Model, given: dict[str, Any]) -> Array:
    """Return qpos at the start (nq,).

    Joints that the user named stand where he wants them. Of a tree the others are at 0 clipped
    into their limits; where loops are closed, at the nearest to m.qpos0 that closes them.

    Args:
        m: the robot.
        given: what was set of the parameters `initial_positions.<joint>`.

    Raises:
        ParameterError: with every joint that has no position of its own and every position
            outside the limits; or if the loops cannot be closed within the limits.
    """
    joints = SingleJoints.free(m)
    limits = {name: _limits(m, name) for name in joints.names}
    addresses = dict(zip(joints.names, joints.qposadr.tolist(), strict=True))
    qpos: Array = np.array(m.qpos0)
    for name, (low, high) in limits.items():
        rough = qpos[addresses[name]] if m.nefc > 0 else 0.0
        qpos[addresses[name]] = min(max(rough, low), high)
    findings, named = [], []
    for parameter, value in given.items():
        name = parameter.removeprefix(INITIAL)
        why = _no_position(m, name, joints.names) or _outside(value, *limits[name])
        if why:
            findings.append(_refused(parameter, why, value))
            continue
        qpos[addresses[name]] = value
        named.append(name)
    if findings:
        raise ParameterError(findings)
    if m.nefc == 0 or np.abs(position_errors(m, qpos)).max() <= CLOSED:
        return qpos
    return _assembled(m, qpos, named, limits, addresses)


def _limits(m: Model, name: str) -> tuple[float, float]:
    j = m.jnt_id(name)
    low, high = m.jnt_range[j].tolist() if m.jnt_limited[j] else (-np.inf, np.inf)
    return low, high


def _no_position(m: Model, name: str, names: Sequence[str]) -> str:
    """Return why the user cannot say where a joint starts; empty if he can."""
    if name in names:
        return ""
    if name in m.loop_names:
        return f"joint '{name}' closes a loop: where it stands follows from the others"
    if name not in m.jnt_names:
        return f"there is no joint '{name}'{did_you_mean(name, names)}"
    j = m.jnt_id(name)
    if m.jnt_mimic[j] >= 0:
        leader = m.jnt_names[m.jnt_mimic[j]]
        return f"joint '{name}' follows joint '{leader}'; only that one has a position to set"
    if m.jnt_class[j] != JointClass.FREE:
        return f"joint '{name}' is driven over time, which says where it starts"
    return f"joint '{name}' has no single coordinate; allowed are {', '.join(names)}"


def _outside(value: object, low: float, high: float) -> str:
    """Return what is wrong with a position; empty if nothing is."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and low <= value <= high and np.isfinite(value):  # type: ignore[operator, call-overload]
        return ""
    return f"it is {value!r}; allowed is a number from {low:g} to {high:g} [rad or m]"


def _assembled(
    m: Model,
    rough: Array,
    named: Sequence[str],
    limits: dict[str, tuple[float, float]],
    addresses: dict[str, int],
) -> Array:
    """Return a position near a rough one in which the loops are closed; what is named stays."""
    given = f" with the given {', '.join(INITIAL + name for name in named)}" if named else ""
    try:
        qpos = assemble(m, rough, named, CLOSED)
    except ModelError as error:
        raise ParameterError(
            [_not_closed(f"no start position{given}: {f.message}") for f in error.findings]
        ) from error
    for name, (low, high) in limits.items():
        position = qpos[addresses[name]]
        if not low - ON_LIMIT <= position <= high + ON_LIMIT:
            text = (
                f"no start position{given} was found that closes the loops within the limits: "
                f"joint '{name}' would be at {position:.6g}, allowed is {low:g} to {high:g}"
            )
            raise ParameterError(_not_closed(text))
    return qpos


def _not_closed(text: str) -> Finding:
    return Finding("initial-position", f"{text}.", "error", "initial_positions")


def _refused(parameter: str, text: str, value: object) -> Finding:
    sentence = f"parameter '{parameter}': {text}."
    return Finding("initial-position", sentence, "error", parameter, None, repr(value))
