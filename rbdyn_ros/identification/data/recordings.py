# SPDX-License-Identifier: Apache-2.0
"""Read recordings of joint states: rosbag2 folders, MCAP files, CSV files."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import ParameterError, RbdynError, did_you_mean, quote
from rbdyn_ros.identification.data.csv_files import SHOWN, read_csv
from rbdyn_ros.identification.data.samples import (
    MOST_SAMPLES,
    Samples,
    check_gaps,
    checked_samples,
)
from rbdyn_ros.identification.data.vendor_logs import log_of, read_log
from rbdyn_ros.nanoseconds import nanoseconds
from rbdyn_ros.recording.bags import BAG_SUFFIXES, Recording, damaged, existing, recording_error
from rbdyn_ros.recording.mcap_file import Topic
from rbdyn_ros.recording.motion import seconds
from rbdyn_ros.recording.schemas import Schemas

STATE = "sensor_msgs/msg/JointState"
STATES = "joint_states"


def read_recording(
    path: object,
    names: Sequence[str],
    topic: str = STATES,
    effort_topic: str | None = None,
    others: Sequence[str] = (),
    motor_topic: str | None = None,
    *,
    partly: bool = False,
    gains: Sequence[float] | None = None,
    raw: bool = False,
) -> Samples:
    """Read the motion of some joints.

    Time is taken from the header stamps: the time of arrival would add network delays. Messages
    without any of the joints belong to another device and are ignored.

    Args:
        path: a rosbag2 folder (SQLite or MCAP), a `.mcap` or `.db3` file, or a `.csv` file with
            the columns time, <joint>.position, <joint>.effort and optionally <joint>.velocity
            and <joint>.motor, or a log of libfranka or RTDE.
        names: names of the joints (n), in the order of the result.
        topic: in a bag, a topic of sensor_msgs/JointState.
        effort_topic: in a bag, another topic of sensor_msgs/JointState that has the efforts, for
            example the commanded efforts; they are interpolated. None: the efforts are in `topic`.
        others: joints whose positions are read too, if the recording has them.
        motor_topic: in a bag, a topic of sensor_msgs/JointState whose positions are the angles of
            the motors of joints, before their gears; the angles are interpolated. In a CSV file
            the columns <joint>.motor have these angles; None: no such topic.
        partly: whether to leave out joints, such as fingers, that the recording does not have.
        gains: torque of the joints per current [N m/A], for a log of RTDE without torques; None:
            no gains.
        raw: whether the efforts of the result are currents [A], if a log has currents but no
            efforts.

    Raises:
        ParameterError: the recording cannot be used; the message has the reason.
    """
    source = existing(path)
    is_folder = source.is_dir()
    if source.suffix.lower() == ".csv" and not is_folder:
        topics = {"effort_topic": effort_topic, "motor_topic": motor_topic}
        topics |= {"topic": None if topic == STATES else topic}
        given = next((name for name, value in topics.items() if value is not None), "")
        if given:
            raise recording_error(
                "no-topics", f"a CSV file has no topics; leave out {given}", str(source)
            )
        known = log_of(source)
        if known is not None:
            return read_log(source, *known, names, gains, others, raw=raw)
        return read_csv(source, names, others, partly=partly)
    if not is_folder and source.suffix.lower() not in BAG_SUFFIXES:
        hint = "; give its folder" if source.name == "metadata.yaml" else ""
        text = f"a recording is a rosbag2 folder, a .mcap, .db3 or .csv file{hint}"
        raise recording_error("unknown-suffix", text, str(source))
    return _read_bag(source, names, topic, effort_topic, others, motor_topic, partly=partly)


def _read_bag(
    path: Path,
    names: Sequence[str],
    topic: str,
    effort_topic: str | None,
    others: Sequence[str],
    motor_topic: str | None,
    *,
    partly: bool,
) -> Samples:
    beside: dict[str, list[float]] = {name: [] for name in others}
    stamps, rows = _rows(path, names, topic, beside)
    motors: dict[str, Array] = {}
    if effort_topic is None:
        if not np.isfinite(rows[:, 2]).any():
            text = (
                f"the messages of '{topic}' have no efforts of the joints; set the effort topic "
                "to the topic that has them"
            )
            raise recording_error("no-efforts", text, str(path))
    else:
        other, found = _rows(path, names, effort_topic, {})
        inside, efforts = _at(stamps, other, found[:, 2], str(path), effort_topic, "efforts")
        stamps, rows = stamps[inside], rows[inside]
        rows[:, 2] = efforts
    if motor_topic is not None:
        other, found = _rows(path, names, motor_topic, {})
        given = np.isfinite(found[:, 0]).any(axis=0)
        angles = found[:, 0, given]
        inside, angles = _at(stamps, other, angles, str(path), motor_topic, "positions")
        stamps, rows = stamps[inside], rows[inside]
        motors = dict(zip(np.array(names)[given].tolist(), angles.T, strict=True))
    # subtract first: nanoseconds since 1970 exceed the precision of a double
    time = seconds(stamps, stamps[0])
    places = {name: np.array(values, np.float64) for name, values in beside.items()}
    there = np.isfinite(rows).any(axis=(0, 1)) if partly else np.ones(len(names), bool)
    columns = rows[:, 0, there], rows[:, 1, there], rows[:, 2, there]
    names = np.array(names)[there].tolist()
    return checked_samples(str(path), names, time, *columns, places, motors)


def _at(
    stamps: NDArray[np.int64],
    other: NDArray[np.int64],
    columns: Array,
    source: str,
    topic: str,
    what: str,
) -> tuple[NDArray[np.bool_], Array]:
    """Interpolate the columns of another topic at the stamps of the states.

    Return a mask of the stamps that the other topic covers, and the columns (p, k) at these
    stamps. Raise ParameterError if the other topic covers no stamp, or if its columns have a gap.

    Args:
        stamps: stamps of the states [ns].
        other: stamps of the other topic [ns].
        columns: columns of the other topic; NaN where missing.
        source: name of the recording, for messages.
        topic: name of the other topic, for messages.
        what: kind of the columns, for messages.
    """
    whole = np.isfinite(columns).all(axis=1) & (columns.shape[1] > 0)
    stamps_there, columns = other[whole], columns[whole]
    growing = len(stamps_there) > 0 and (np.diff(stamps_there) >= 0).all()
    inside = np.zeros(len(stamps), bool)
    if growing:
        inside = (stamps >= stamps_there[0]) & (stamps <= stamps_there[-1])
    if not inside.any():
        text = f"topic '{topic}' has no {what} of the joints at the time of the states"
        raise recording_error(f"no-{what}", text, source)
    # subtract first: nanoseconds since 1970 exceed the precision of a double
    time, times = (seconds(some, stamps[0]) for some in (stamps[inside], stamps_there))
    first, last = np.searchsorted(times, time[[0, -1]])
    used = slice(max(first - 1, 0), last + 1)
    check_gaps(times[used], f"topic '{topic}' has no {what} of the joints", source)
    return inside, np.stack([np.interp(time, times, column) for column in columns.T], axis=1)


def _rows(
    path: Path, names: Sequence[str], topic: str, beside: dict[str, list[float]]
) -> tuple[NDArray[np.int64], Array]:
    """Return stamps (p,) [ns] and position, velocity and effort (p, 3, n), NaN where missing.

    Positions of the joints in `beside` are added to it, also from messages of other devices. Raise
    ParameterError without usable messages.
    """
    stamps: list[int] = []
    rows: list[Array] = []
    columns: dict[tuple[str, ...], list[int]] = {}
    unknown: set[str] = set()
    for message in _messages(path, topic):
        given = tuple(message.name)
        for name in beside.keys() & set(given):
            beside[name] += _picked(message.position, [given.index(name)])
        if given not in columns:
            columns[given] = [given.index(name) if name in given else -1 for name in names]
        if max(columns[given], default=-1) < 0:
            unknown.update(given)
            continue
        stamps.append(nanoseconds(message.header.stamp))
        fields = (message.position, message.velocity, message.effort)
        rows.append(np.array([_picked(values, columns[given]) for values in fields]))
        if len(rows) > MOST_SAMPLES:
            text = f"'{topic}' has more than {MOST_SAMPLES} samples"
            raise recording_error("large-recording", text, str(path))
    if not rows:
        raise _no_samples(path, names, topic, unknown)
    if not any(stamps):
        raise recording_error("no-stamps", f"the messages of '{topic}' have no stamps", str(path))
    return np.array(stamps, np.int64), np.array(rows)


def _picked(values: Array, columns: Sequence[int]) -> list[float]:
    last = len(values)
    return [float(values[k]) if 0 <= k < last else np.nan for k in columns]


def _no_samples(path: Path, names: Sequence[str], topic: str, unknown: set[str]) -> Exception:
    if not unknown:
        return recording_error(
            "empty-recording", f"the recording has no messages of '{topic}'", str(path)
        )
    first = next(iter(names), "")
    shown = ", ".join(quote(name) for name in sorted(unknown)[:SHOWN])
    text = (
        f"no message of '{topic}' names a joint of the robot, such as {quote(first)}"
        f"{did_you_mean(first, sorted(unknown))}; they name {shown}"
    )
    return recording_error("other-joints", text, str(path))


def _messages(path: Path, topic: str) -> Iterator[Any]:
    try:
        # JointState is equal in all ROS 2 releases, so the types in the file are not needed
        deserialize = Schemas().deserialize
    except ParameterError as error:
        text = (
            "reading bags needs the library rosbags, which is not installed: "
            'pip install "rbdyn_ros[identify]"; or record to CSV'
        )
        raise recording_error("no-identify-extra", text, str(path)) from error
    recording, wanted = Recording(path), "/" + topic.lstrip("/")
    try:
        for message in recording.messages(lambda one: one.name == wanted):
            if message.topic.typename != STATE:
                break
            yield deserialize(message.raw, STATE)
    except RbdynError:
        raise
    except Exception as error:
        raise damaged(str(path), error) from error
    _check_topic(recording.topics, wanted, str(path))
    if recording.truncated:
        raise damaged(str(path), EOFError("the file is truncated"))


def _check_topic(topics: Mapping[str, Topic], wanted: str, source: str) -> None:
    kinds = {name: topic.typename for name, topic in topics.items()}
    if wanted not in kinds:
        states = sorted(name for name, kind in kinds.items() if kind == STATE)
        shown = ", ".join(quote(name) for name in states[:SHOWN]) or "none"
        text = (
            f"there is no topic {quote(wanted)}{did_you_mean(wanted, kinds)}; the topics of type "
            f"{STATE} are: {shown}"
        )
        raise recording_error("no-topic", text, source)
    if kinds[wanted] != STATE:
        text = f"topic '{wanted}' has the type {quote(kinds[wanted])}; expected {STATE}"
        raise recording_error("wrong-type", text, source)
