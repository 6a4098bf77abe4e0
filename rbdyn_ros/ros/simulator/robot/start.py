# SPDX-License-Identifier: Apache-2.0
"""The start of a robot: its position, and how it is held there until its first command."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.dynamics.assembly import assemble, closed_within, is_closed
from rbdyn_ros.dynamics.configuration import position_ranges, start_within_limits
from rbdyn_ros.errors import Finding, ModelError, ParameterError, apart, did_you_mean, exactly
from rbdyn_ros.loading.standing import may_stand
from rbdyn_ros.model.connected import connected_trees
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.ros.simulator.parameters import INITIAL
from rbdyn_ros.runtime.preparation import actuated
from rbdyn_ros.runtime.settings import FLOATS, STANDS

#: Computed positions may exceed a limit by this rounding error [rad or m].
ON_LIMIT = 1e-9

#: Texts for the ways to hold a robot: at all joints, on its feet, or at its root (two reasons).
CARRIED = "held against gravity"
STANDING = "standing, with its joints held"
NO_FLOOR = "held at its root, because there is no floor (contact)"
NO_FEET = "held at its root, because its centre of mass is not above its feet"
#: Names of keyframes (such as states of an SRDF) in which a floating robot stands. The first of
#: these names that the robot has is used.
STANCES = "standing", "stand", "half_sitting", "home"


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """How robots are held until their first command.

    Attributes:
        dofs: (nv,) how each dof is held, as in LoopSettings.held.
        text: description for the user; empty: no robot is held.
    """

    dofs: Ints
    text: str


def held_at(m: Model, qpos: Array) -> Held:
    """Return how the robots are held at the start qpos (nq,)."""
    dofs, acts, texts = np.zeros(m.nv, np.int64), actuated(m) == 1, dict[str, None]()
    group, at_root = connected_trees(m)[m.dof_bodyid], m.body_parentid[m.dof_bodyid] == 0
    for tree in np.unique(group[acts]):
        own = group == tree
        free = m.jnt_dofnum[m.dof_jntid] == 6
        roots = own & ~acts & at_root & free
        # closed loops connect the platform of a parallel robot to arms that stand on the ground
        if not roots.any() or (own & at_root & ~free).any():
            dofs[own & acts] = FLOATS
            texts[CARRIED] = None
        elif may_stand(m, qpos, int(m.dof_jntid[roots][0])):
            dofs[own & acts] = STANDS
            texts[STANDING] = None
        else:
            dofs[own & acts | roots] = FLOATS
            texts[NO_FEET if m.ncontact else NO_FLOOR] = None
    return Held(dofs, "; ".join(texts))


def start_position(m: Model, given: dict[str, Any]) -> Array:
    """Return qpos at the start (nq,).

    Named joints are at the given positions. In a tree, all other joints are at 0. If 0 is outside
    a joint's limits, the joint is in the middle of its limits, or at its only limit. With closed
    loops, the other joints are at the closed position nearest to m.qpos0.

    Args:
        m: the robot.
        given: the parameters `initial_positions.<joint>` that were set.

    Raises:
        ParameterError: joints have no position of their own or positions are outside the limits
            (the message has all of them), or the loops cannot be closed within the limits.
    """
    joints = SingleJoints.free(m)
    limits = {name: position_limits(m, name) for name in joints.names}
    addresses = dict(zip(joints.names, joints.qposadr.tolist(), strict=True))
    qpos = start_within_limits(m)
    findings, named = [], []
    for parameter, value in given.items():
        name = parameter.removeprefix(INITIAL)
        reason = _no_position(m, name, joints.names) or _outside(value, *limits[name])
        if reason:
            findings.append(_finding(parameter, reason, value))
            continue
        qpos[addresses[name]] = value
        named.append(name)
    if findings:
        raise ParameterError(findings)
    if is_closed(m, qpos):
        return qpos
    return _assembled(m, qpos, named, limits, addresses)


def in_stance(m: Model, start: Array, given: dict[str, Any]) -> Array:
    """Return the start (nq,) of a floating robot, with its joints as in its standing keyframe.

    Joints in `given` and the root keep their positions in `start`. Without such a keyframe, return
    `start`, which start_position returned for the same `given`.
    """
    key = next((name for name in STANCES if name in m.key_names), None)
    if key is None:
        return start
    qpos, joints = start.copy(), SingleJoints.free(m)
    for name, at in zip(joints.names, joints.qposadr.tolist(), strict=True):
        if INITIAL + name not in given:
            qpos[at] = np.clip(m.key(key).qpos[at], *position_limits(m, name))
    return qpos if is_closed(m, qpos) else start


def position_limits(m: Model, name: str) -> tuple[float, float]:
    """Return the lower and upper limit of a joint [rad or m]; infinite: no limit."""
    low, high = position_ranges(m, [m.jnt_id(name)])[0].tolist()
    return low, high


def _no_position(m: Model, name: str, names: Sequence[str]) -> str:
    """Return the reason why the start of a joint cannot be set, or "" if it can."""
    if name in names:
        return ""
    if name in m.loop_names:
        return f"joint '{name}' closes a loop: its position follows from the other joints"
    if name not in m.jnt_names:
        return f"there is no joint '{name}'{did_you_mean(name, names)}"
    j = m.jnt_id(name)
    if m.jnt_mimic[j] >= 0:
        leader = m.jnt_names[m.jnt_mimic[j]]
        return f"joint '{name}' mimics joint '{leader}'; set the position of '{leader}'"
    if m.jnt_class[j] != JointClass.FREE:
        return f"joint '{name}' has a prescribed motion, which sets its start"
    return f"joint '{name}' has no single coordinate; allowed are {', '.join(names)}"


def _outside(value: object, low: float, high: float) -> str:
    """Return the reason why a given position is refused, or "" if it is a number in the range."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and low <= value <= high and np.isfinite(value):  # type: ignore[operator, call-overload]
        return ""
    return (
        f"it is {value!r}; allowed is a number from {exactly(low)} to {exactly(high)} [rad or m]"
    )


def _assembled(
    m: Model,
    rough: Array,
    named: Sequence[str],
    limits: dict[str, tuple[float, float]],
    addresses: dict[str, int],
) -> Array:
    """Return a position (nq,) near `rough` with closed loops; named joints stay. Else raise."""
    given = f" with the given {', '.join(INITIAL + name for name in named)}" if named else ""
    try:
        qpos = assemble(m, rough, named, closed_within(m))
    except ModelError as error:
        raise ParameterError(
            [_not_closed(f"no start position{given}: {f.message}") for f in error.findings]
        ) from error
    for name, (low, high) in limits.items():
        position = qpos[addresses[name]]
        if not low - ON_LIMIT <= position <= high + ON_LIMIT:
            found, least, most = apart(position, low, high)
            text = (
                f"no start position{given} closes the loops within the limits: "
                f"joint '{name}' would be at {found}; allowed is {least} to {most}"
            )
            raise ParameterError(_not_closed(text))
    return qpos


def _not_closed(text: str) -> Finding:
    return Finding("initial-position", f"{text}.", "error", "initial_positions")


def _finding(parameter: str, text: str, value: object) -> Finding:
    message = f"parameter '{parameter}': {text}."
    return Finding("initial-position", message, "error", parameter, None, repr(value))
