# SPDX-License-Identifier: Apache-2.0
"""Compute the state to set from names, positions and velocities of joints."""

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array, Bools, Ints
from rbdyn_ros.checks.names import name_faults
from rbdyn_ros.dynamics.assembly import assemble, closed_within
from rbdyn_ros.errors import apart, refusal
from rbdyn_ros.model.connected import bodies_of_equations, connected_trees, coordinate_joints
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.parsing.goals import check_lengths, check_numbers
from rbdyn_ros.ros.common.parsing.magnitudes import LARGEST_STATE
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.ros.simulator.robot.start import position_limits

#: qpos, qvel, and for each of them a mask of the given entries.
GivenState = tuple[Array, Array, Bools, Bools]


def given_state(
    m: Model,
    names: Sequence[str],
    positions: Sequence[float],
    velocities: Sequence[float],
    here: Array | None,
) -> GivenState:
    """Return the state to set.

    If a closed loop contains a named joint, the other joints of the loop move so that it stays
    closed, and all joints of the loop are at rest. Joints outside such loops stay as they are.

    Args:
        m: the robot.
        names: names of joints with a coordinate of their own.
        positions: a position for each name [rad or m]; empty: the joints stay where they are.
        velocities: a velocity for each name [rad/s or m/s]; empty: the joints are at rest.
        here: (nq,) the present position; None: time is running.

    Raises:
        RbdynError: a number, a name or a position is refused, or the loops cannot be closed.
    """
    _check(m, names, positions, velocities)
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
    looped = _looped_joints(m, free.dofadr[chosen])
    if not looped.any():
        return qpos, qvel, qpos_given, qvel_given
    if here is None:
        raise refusal("pause the simulation first: closed loops cannot be moved while time runs")
    if np.any(velocities):
        raise refusal("velocities cannot be set in closed loops; leave them out")
    closed = assemble(m, np.where(qpos_given, qpos, here), list(names), closed_within(m))
    qpos_given |= looped[coordinate_joints(m)]
    qvel_given |= looped[m.dof_jntid]
    return closed, qvel, qpos_given, qvel_given


def _looped_joints(m: Model, dofs: Ints) -> Bools:
    """Return a mask (njnt,) of the joints in closed loops that contain one of these dofs."""
    group = connected_trees(m)
    moved = np.intersect1d(group[m.dof_bodyid[dofs]], group[bodies_of_equations(m)])
    return np.isin(group[1:], moved)


def _check(
    m: Model, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float]
) -> None:
    arrays = {"position": positions, "velocity": velocities}
    check_lengths(arrays, names)
    check_numbers(arrays, names, LARGEST_STATE)
    if not names:
        raise refusal("the message names no joint")
    if len(positions) + len(velocities) == 0:
        raise refusal("the message has neither positions nor velocities")
    _check_names(m, names)
    _check_limits(m, names, positions)


def _check_names(m: Model, names: Sequence[str]) -> None:
    free = SingleJoints.free(m).names
    known = dict.fromkeys([*free, *m.jnt_names, *m.loop_names])

    def why_not(name: str) -> str:
        return "" if name in free else "has no coordinate of its own that can be set"

    for _, reason in name_faults(names, known, "joint", why_not):
        raise refusal(f"{reason}; allowed are {', '.join(free)}")


def _check_limits(m: Model, names: Sequence[str], positions: Sequence[float]) -> None:
    for name, position in zip(names, positions, strict=False):
        low, high = position_limits(m, name)
        if not low <= position <= high:
            found, least, most = apart(position, low, high)
            raise refusal(f"joint '{name}' would be at {found}; its limits are {least} and {most}")
