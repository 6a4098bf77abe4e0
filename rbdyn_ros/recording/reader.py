# SPDX-License-Identifier: Apache-2.0
"""Read the motion of a robot from a recording: rb.read_run."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rbdyn_ros.errors import ParameterError, RbdynError, did_you_mean, listing, quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.recording import topics
from rbdyn_ros.recording.bags import BAG_SUFFIXES, Recording, existing, recording_error
from rbdyn_ros.recording.base import Chain, is_tf, moves
from rbdyn_ros.recording.collect import Collected, robots_in
from rbdyn_ros.recording.mcap_file import Message
from rbdyn_ros.recording.motion import from_joints, from_states
from rbdyn_ros.recording.robots import is_floating, robot_of
from rbdyn_ros.recording.run import RecordedRun
from rbdyn_ros.recording.series import TooLargeError

SHOWN = 8


def read_run(
    path: str | Path,
    robot: str | Path | Model | None = None,
    *,
    name: str | None = None,
    start: float = 0.0,
    end: float = math.inf,
) -> RecordedRun:
    """Read a recording of a simulation, or of a real robot.

    A recording of `rbdyn sim --record` or rb.Recorder has every state to the last bit. From other
    recordings, joint_states are read and, for a moving base, odom or /tf. If time was reset, only
    the part after the last reset is read.

    Args:
        path: an .mcap file, even if it was cut off, or a rosbag2 folder.
        robot: path of a robot file, or a Model; None: the robot in the recording.
        name: namespace of the robot; None: the recording must have only one robot.
        start: start of the span to read, since the start of the recording [s].
        end: end of the span to read [s]; infinite: the end of the recording.

    Raises:
        ParameterError: the recording cannot be read, or has no data of the robot.
        DescriptionError: the robot's file is refused.
    """
    if not (0.0 <= start < end):
        text = f"cannot read from {start!r} to {end!r} s; allowed is 0 <= from < to"
        raise recording_error("bad-span", text, str(path))
    source = existing(path)
    if source.is_file() and source.suffix.lower() not in BAG_SUFFIXES:
        hint = "; give its folder" if source.name == "metadata.yaml" else ""
        text = f"expected a rosbag2 folder, a .mcap or a .db3 file{hint}"
        raise recording_error("unknown-suffix", text, str(source))
    recording = Recording(source)
    collected = Collected(start, end)
    try:
        for message in recording.messages(collected.wants):
            _take(collected.take, message, source)
        space = _chosen(collected, recording, source, name)
        return _run(source, recording, collected, space, robot)
    except TooLargeError as error:
        text = "the recording does not fit into memory; read a shorter span of it"
        raise recording_error("large-recording", text, str(source)) from error


def _take(take: Callable[[Message], None], message: Message, source: Path) -> None:
    try:
        take(message)
    except (TooLargeError, RbdynError):
        raise
    except Exception as error:  # for wrong bytes, rosbags raises errors of many types
        reason = str(error).split("\n")[0][:200] or type(error).__name__
        text = (
            f"a message of {quote(message.topic.name)} is not a valid "
            f"{quote(message.topic.typename)}: {reason}"
        )
        raise recording_error("wrong-message", text, str(source)) from error


def _chosen(collected: Collected, recording: Recording, source: Path, name: str | None) -> str:
    """Return the namespace of the robot to read, or raise ParameterError."""
    spaces = robots_in(collected)
    if not spaces:
        raise _no_states(recording, collected, source)
    if name is None:
        if len(spaces) == 1:
            return spaces[0]
        text = f"the recording has several robots, {_named(spaces)}; choose one by its name"
        raise recording_error("several-robots", text, str(source))
    space = "/" + name.strip("/") if name.strip("/") else ""
    if space not in spaces:
        known = f"it has {_named(spaces)}"
        text = f"the recording has no robot {quote(name)}{did_you_mean(space, spaces)}; {known}"
        raise recording_error("no-robot", text, str(source))
    return space


def _named(spaces: list[str]) -> str:
    """Return namespaces of robots as a text for a message."""
    if spaces == [""]:
        return "one robot, without a namespace"
    names = (quote(space) if space else "'/' without a namespace" for space in spaces[:SHOWN])
    return ", ".join(names)


def _no_states(recording: Recording, collected: Collected, source: Path) -> ParameterError:
    """Return the error about a recording that has no states in the requested span."""
    if collected.outside:
        text = "the recording has no states in the requested span of time"
        return recording_error("nothing-then", text, str(source))
    kinds = {topics.JOINT_STATE, *collected.kinds}
    typed = [topic.name for topic in recording.topics.values() if topic.typename in kinds]
    if typed:
        text = f"no message of {listing(sorted(typed), SHOWN)} has a state of the robot"
    elif recording.topics:
        found = listing(sorted(recording.topics), SHOWN)
        text = (
            f"the recording has neither joint_states nor a simulator's state; its topics: {found}"
        )
    elif recording.truncated:
        text = "the recording was cut off before its first state"
    else:
        text = "the recording has no topics"
    return recording_error("no-states", text, str(source))


def _run(
    source: Path,
    recording: Recording,
    collected: Collected,
    space: str,
    robot: str | Path | Model | None,
) -> RecordedRun:
    found = collected.of(space)
    exact, widths = False, None
    if found.states is not None and found.states.stamps:
        exact = True
        widths = found.states.width("qpos"), found.states.width("qvel")
    given = source, recording.attached, space, found.urdf, robot, widths
    m, notes = robot_of(*given, bool(found.base))
    if not exact and not found.base:
        poses = _base_of(m, recording, space)
        if poses and (is_floating(m) or moves(poses)):
            found.base = poses
            m, notes = robot_of(*given, True)
            notes.append("the pose of its base comes from /tf, which has no velocities")
    motion = from_states if exact else from_joints
    try:
        parts = motion(m, found, str(source))
    except ValueError as error:
        raise recording_error("other-robot", str(error), str(source)) from error
    _check_finite(parts, source)
    time = parts["time"]
    if len(time) > 1 and time[0] == time[-1]:
        notes.append(f"its {len(time)} states have the same time, so it has no duration to play")
    if recording.truncated:
        notes.append("it was cut off; it is read up to the cut")
    return RecordedRun(
        m=m,
        name=space.strip("/") or m.name,
        source=str(source),
        urdf=found.urdf,
        exact=exact,
        truncated=recording.truncated,
        notes=(*notes, *found.notes, *parts.pop("notes", ())),
        **parts,
    )


def _base_of(m: Model, recording: Recording, space: str) -> list[tuple[int, Any]]:
    """Return stamps and poses of the root link from /tf, whose frames may have a prefix."""
    links = [name for name in m.frame_names if name != topics.WORLD]
    prefix = f"{space.strip('/')}/"
    for start in dict.fromkeys((prefix.lstrip("/"), "")):
        chain = Chain(start + links[0], [start + name for name in links])
        for message in recording.messages(is_tf):
            _take(chain.take, message, recording.path)
        poses = chain.poses()
        if poses:
            return poses
    return []


def _check_finite(parts: dict[str, Any], source: Path) -> None:
    finite = {
        "the positions": np.isfinite(parts["qpos"]).all(axis=1),
        "the simulated times": np.isfinite(parts["clock"]),
    }
    for what, good in finite.items():
        if not good.all():
            text = f"{what} at {parts['time'][np.argmin(good)]:g} s are not finite"
            raise recording_error("not-finite", text, str(source))
