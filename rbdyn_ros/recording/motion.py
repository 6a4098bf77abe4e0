# SPDX-License-Identifier: Apache-2.0
"""Compute the motion of a robot, sample by sample, from the collected data."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.dynamics.commanded import commanded_joints
from rbdyn_ros.errors import did_you_mean, quote
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.recording.collect import RobotData
from rbdyn_ros.recording.robots import is_floating
from rbdyn_ros.recording.series import JointTopic, Series

SHOWN = 6
#: If stamps and arrival times differ by more than this, they come from different clocks [ns].
OTHER_CLOCK = 10**9


def from_states(m: Model, found: RobotData, _source: str) -> dict[str, Any]:
    """Return the fields of a RecordedRun from the states of a simulation.

    Raises:
        ValueError: a field of the states does not fit the robot.
    """
    states = found.states
    assert states is not None
    stamps = np.array(states.stamps, np.int64)
    n = len(stamps)
    widths = {"effort": m.nv, "xfrc": 6 * m.nbody, "contact": 6 * m.nbody}
    widths |= {"stick_qfrc": m.nv, "act": m.na}
    effort, xfrc, contact, stick_qfrc, act = found_rows = [states.rows(name) for name in widths]
    for (name, width), rows in zip(widths.items(), found_rows, strict=True):
        if rows is not None and rows.shape[1] != width:
            text = f"recorded {name} has {rows.shape[1]} numbers; '{m.name}' has {width}"
            raise ValueError(text)
    qpos, qvel = states.rows("qpos"), states.rows("qvel")
    return {
        "stamps": stamps,
        "time": found.since + seconds(stamps, stamps[0]),
        "clock": np.array(states.times),
        "qpos": np.zeros((n, 0)) if qpos is None else qpos,
        "qvel": np.zeros((n, 0)) if qvel is None else qvel,
        "effort": np.full((n, m.nv), np.nan) if effort is None else effort,
        "xfrc": None if xfrc is None else xfrc.reshape(n, -1, 6),
        "contact": None if contact is None else contact.reshape(n, -1, 6),
        "stick": tuple(states.sticks) if m.ncontact else None,
        "stick_qfrc": stick_qfrc,
        "act": act,
        "measured": _series(found.joints, stamps[0], 0, found.since, by_stamp=True),
        "commanded": _commands(m, found, stamps[0], 0),
    }


def from_joints(m: Model, found: RobotData, _source: str) -> dict[str, Any]:
    """Return the fields of a RecordedRun from joint_states and odom.

    Raises:
        ValueError: the messages name no joint of the robot.
    """
    assert found.joints is not None
    stamps, names, rows = found.joints.merged(by_stamp=True)
    stamps, rows = _one_row_per_stamp(stamps, rows)
    notes: list[str] = []
    columns, addresses, dofs = _matched(m, names, notes)
    n = len(stamps)
    qpos = np.tile(m.qpos0, (n, 1))
    qvel, effort = np.full((n, m.nv), np.nan), np.full((n, m.nv), np.nan)
    qpos[:, addresses] = _held(rows[:, 0, columns], m.qpos0[addresses])
    qvel[:, dofs], effort[:, dofs] = rows[:, 1, columns], rows[:, 2, columns]
    if found.base and is_floating(m):
        _place(qpos, qvel, stamps, found.base)
    lag = found.joints.lag()
    lag = lag if abs(lag) > OTHER_CLOCK else 0
    first = stamps[0]
    return {
        "stamps": stamps,
        "time": found.since + seconds(stamps, first),
        "clock": seconds(stamps, first),
        "qpos": qpos,
        "qvel": qvel,
        "effort": effort,
        "measured": _series(found.joints, first, 0, found.since, by_stamp=True),
        "commanded": _commands(m, found, first, lag),
        "notes": notes,
    }


def _one_row_per_stamp(stamps: Ints, rows: Array) -> tuple[Ints, Array]:
    """Merge the rows of messages with equal stamps; return increasing stamps and their rows.

    Drivers of an arm and its gripper may publish at the same simulated time. If two messages have
    a value of the same joint, the value of the first message is used.
    """
    found, first = np.unique(stamps, return_index=True)
    ends = np.append(first[1:], len(stamps))
    both = rows[first]
    for k in range(1, int((ends - first).max(initial=0))):
        more = first + k < ends
        both[more] = np.where(np.isnan(both[more]), rows[first[more] + k], both[more])
    return found, both


def seconds(stamps: Ints, first: np.int64) -> Array:
    """Return the times of stamps [ns] since `first` [s]; doubles cannot hold stamps exactly."""
    return np.asarray(1e-9 * (stamps - first), np.float64)


def _matched(
    m: Model, names: tuple[str, ...], notes: list[str]
) -> tuple[list[int], NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns of the robot's joints in messages, and their places in qpos and qvel.

    Raises:
        ValueError: the messages name no joint of the robot.
    """
    free = np.flatnonzero((m.jnt_dofnum == 1) & (m.jnt_class == JointClass.FREE))
    own = {m.jnt_names[k]: k for k in free}
    columns = [k for k, name in enumerate(names) if name in own]
    if own and not columns:
        first = next(iter(own))
        shown = ", ".join(quote(name) for name in names[:SHOWN]) or "none"
        raise ValueError(
            f"the recorded joint_states name no joint of '{m.name}', such as {quote(first)}"
            f"{did_you_mean(first, names)}; they name {shown}"
        )
    strangers = [name for name in names if name not in m.jnt_names]
    if strangers:
        shown = ", ".join(quote(name) for name in strangers[:SHOWN])
        notes.append(f"ignored joints that '{m.name}' does not have: {shown}")
    missing = [name for name in own if name not in names]
    if missing:
        shown = ", ".join(quote(name) for name in missing[:SHOWN])
        notes.append(f"joints without recorded positions, kept at qpos0: {shown}")
    chosen = np.array([own[names[k]] for k in columns], np.int64)
    return columns, m.jnt_qposadr_all[chosen], m.jnt_dofadr_all[chosen]


def _held(rows: Array, start: Array) -> Array:
    """Return rows without NaN: use the last known value, else the next known value, else start."""
    n = len(rows)
    known = np.isfinite(rows)
    last = np.maximum.accumulate(np.where(known, np.arange(n)[:, None], -1), axis=0)
    first = np.where(known.any(axis=0), known.argmax(axis=0), -1)
    last = np.where(last < 0, first, last)
    return np.where(last < 0, start, np.take_along_axis(rows, np.maximum(last, 0), 0))


def _place(qpos: Array, qvel: Array, stamps: Ints, base: list[tuple[int, Any]]) -> None:
    """Write the pose and velocity of the root link at each stamp, from rows of odom."""
    order = sorted(base, key=lambda one: one[0])
    when = np.array([stamp for stamp, _ in order], np.int64)
    rows = np.array([row for _, row in order])
    rows = rows[np.maximum(np.searchsorted(when, stamps, side="right") - 1, 0)]
    lengths = np.linalg.norm(rows[:, 3:7], axis=1, keepdims=True)
    qpos[:, :3], qpos[:, 3:7] = rows[:, :3], rows[:, 3:7] / np.where(lengths > 0, lengths, np.nan)
    # convert the linear velocity: odom has it in axes of the link, a free joint in world axes
    for k, row in enumerate(rows):
        qvel[k, :3] = quat_to_mat(qpos[k, 3:7]) @ row[7:10]
    qvel[:, 3:6] = rows[:, 10:13]


def _series(
    joints: JointTopic | None, first: np.int64, lag: int, since: float, *, by_stamp: bool
) -> Series | None:
    if joints is None or not joints.count:
        return None
    when, names, rows = joints.merged(by_stamp)
    time = since + seconds(when - lag, first)
    return Series(joints.topic, names, time, rows[:, 0], rows[:, 1], rows[:, 2])


def _commands(m: Model, found: RobotData, first: np.int64, lag: int) -> dict[str, Series]:
    commands: dict[str, Series] = {}
    for topic, joints in found.commands.items():
        series = _series(joints, first, lag, found.since, by_stamp=False)
        if series is not None:
            commands[topic] = _named(m, series)
    return commands


def _named(m: Model, series: Series) -> Series:
    """Return a series; if its efforts have no names, they get the names of the commanded joints.

    If the numbers of efforts and of these joints differ, the result has no joints.
    """
    if not series.topic.endswith("/effort_commands"):
        return series
    names = tuple(m.jnt_names[k] for k in commanded_joints(m))
    if len(names) != len(series.names):
        names = ()
    parts = (series.position, series.velocity, series.effort)
    position, velocity, effort = (part[:, : len(names)] for part in parts)
    return Series(series.topic, names, series.time, position, velocity, effort)
