"""From a recording to the motion of a robot: rb.read_run."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rbdyn_ros.errors import ParameterError, RbdynError, did_you_mean, quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.recording import topics
from rbdyn_ros.recording.bags import BAG_SUFFIXES, Recording, existing, refusal
from rbdyn_ros.recording.base import Chain, is_tf, moves
from rbdyn_ros.recording.collect import Collected, robots_in
from rbdyn_ros.recording.mcap_file import Message
from rbdyn_ros.recording.motion import from_joints, from_states
from rbdyn_ros.recording.robots import is_floating, robot_of
from rbdyn_ros.recording.run import Run
from rbdyn_ros.recording.series import TooLargeError

SHOWN = 8


def read_run(
    path: str | Path,
    robot: str | Path | Model | None = None,
    *,
    name: str | None = None,
    start: float = 0.0,
    end: float = math.inf,
) -> Run:
    """Read a recording of a simulation, or of a real robot.

    A recording of `rbdyn sim --record` or rb.Recorder has every state to the last bit. Other
    recordings are read from joint_states, with odom or /tf for a moving base. If time was reset,
    only the part after the last reset is read.

    Args:
        path: an .mcap file, even if it was cut off, or a rosbag2 folder.
        robot: path of a robot file, or a Model; None: the robot in the recording.
        name: namespace of the robot, if the recording has several.
        start: start of the span to read, since the start of the recording [s].
        end: end of the span to read [s].

    Raises:
        ParameterError: it cannot be read, or has no data of the robot.
        DescriptionError: the robot's file is refused.
    """
    if not (0.0 <= start < end):
        text = f"the span from {start!r} to {end!r} s is invalid; 0 <= from < to is required"
        raise refusal("bad-span", str(path), text)
    source = existing(path)
    if source.is_file() and source.suffix.lower() not in BAG_SUFFIXES:
        hint = "; give its folder" if source.name == "metadata.yaml" else ""
        text = f"a recording is a rosbag2 folder, a .mcap or a .db3 file{hint}"
        raise refusal("unknown-suffix", str(source), text)
    recording = Recording(source)
    collected = Collected(start, end)
    try:
        for message in recording.messages(collected.wants):
            _take(collected.take, message, source)
    except TooLargeError as error:
        text = "it is too long to be kept in memory; read a part of it, from one time to another"
        raise refusal("large-recording", str(source), text) from error
    chosen = _chosen(collected, recording, source, name)
    try:
        return _run(source, recording, collected, chosen, robot)
    except TooLargeError as error:
        text = "it is too long to be kept in memory; read a part of it, from one time to another"
        raise refusal("large-recording", str(source), text) from error


def _take(take: Callable[[Message], None], message: Message, source: Path) -> None:
    try:
        take(message)
    except (TooLargeError, RbdynError):
        raise
    except Exception as error:  # of rosbags, for bytes that are another type
        reason = str(error).split("\n")[0][:200] or type(error).__name__
        text = (
            f"a message of {quote(message.topic.name)} is no {quote(message.topic.typename)}: "
            f"{reason}"
        )
        raise refusal("wrong-message", str(source), text) from error


def _chosen(collected: Collected, recording: Recording, source: Path, name: str | None) -> str:
    """Return the namespace of the robot that is read."""
    spaces = robots_in(collected)
    if not spaces:
        raise _nothing(recording, collected, source)
    if name is None:
        if len(spaces) == 1:
            return spaces[0]
        text = f"it is of several robots, {_named(spaces)}: choose one by its name"
        raise refusal("several-robots", str(source), text)
    space = "/" + name.strip("/") if name.strip("/") else ""
    if space not in spaces:
        there = f"there {'is' if len(spaces) == 1 else 'are'} {_named(spaces)}"
        text = f"there is no robot {quote(name)}{did_you_mean(space, spaces)}; {there}"
        raise refusal("no-robot", str(source), text)
    return space


def _named(spaces: list[str]) -> str:
    """Return namespaces as a part of a sentence."""
    if spaces == [""]:
        return "one robot, without a namespace"
    names = (quote(space) if space else "'/' without a namespace" for space in spaces[:SHOWN])
    return ", ".join(names)


def _nothing(recording: Recording, collected: Collected, source: Path) -> ParameterError:
    if recording.truncated and not (collected.outside or recording.topics):
        return refusal("no-states", str(source), "it has no states: it was cut off before them")
    if collected.outside:
        text = "nothing in it is of the time that is asked for"
        return refusal("nothing-then", str(source), text)
    kinds = {topics.JOINT_STATE, *collected.kinds}
    there = [one.name for one in recording.topics.values() if one.typename in kinds]
    if there:
        shown = ", ".join(quote(one) for one in sorted(there)[:SHOWN])
        text = f"it has no states: no message of joint_states or of a simulator's state; {shown}"
        text += " of the right types are there, without a message that is of use"
        return refusal("no-states", str(source), text)
    shown = ", ".join(quote(one) for one in sorted(recording.topics)[:SHOWN]) or "none"
    text = f"it has no states of a robot: no joint_states; its topics: {shown}"
    return refusal("no-states", str(source), text)


def _run(
    source: Path,
    recording: Recording,
    collected: Collected,
    space: str,
    robot: str | Path | Model | None,
) -> Run:
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
            notes.append("where its base is was read from /tf, which has no velocities")
    motion = from_states if exact else from_joints
    try:
        parts = motion(m, found, str(source))
    except ValueError as error:
        raise refusal("other-robot", str(source), str(error)) from error
    _demand_finite(parts, source)
    time = parts["time"]
    if len(time) > 1 and time[0] == time[-1]:
        notes.append(f"its {len(time)} states are all of one time, so it has no duration to play")
    if recording.truncated:
        notes.append("it was cut off before its end; it is read up to there")
    return Run(
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
    """Return where /tf has the root link, which frames may have the robot's name before."""
    links = [name for name in m.frame_names if name != topics.WORLD]
    prefix = f"{space.strip('/')}/"
    for before in dict.fromkeys((prefix.lstrip("/"), "")):
        chain = Chain(before + links[0], [before + name for name in links])
        for message in recording.messages(is_tf):
            _take(chain.take, message, recording.path)
        poses = chain.poses()
        if poses:
            return poses
    return []


def _demand_finite(parts: dict[str, Any], source: Path) -> None:
    bad = np.flatnonzero(~np.isfinite(parts["qpos"]).all(axis=1))
    if bad.size:
        text = f"a position of the sample at {parts['time'][bad[0]]:g} s is not finite"
        raise refusal("not-finite", str(source), text)
