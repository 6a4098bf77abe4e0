# SPDX-License-Identifier: Apache-2.0
"""Logs of vendors' own programs, whose columns are known by their header.

franka::logToCSV of libfranka writes `time` in milliseconds and the columns of franka::Record. The
record.py of Universal Robots' RTDE client writes the names of RTDE outputs, separated by spaces.
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import quote
from rbdyn_ros.identification.data.samples import MOST_SAMPLES, Samples, checked_samples
from rbdyn_ros.recording.bags import recording_error

#: Longest header [characters].
LONGEST_HEADER = 100_000


@dataclass(frozen=True, slots=True)
class Log:
    """Columns of a log; {} stands for the number of a joint, counted from 0.

    Attributes:
        name: name of the program.
        delimiter: mark between columns.
        time: column of time.
        time_unit: unit of the times in this column [s].
        position, velocity, effort: columns of a joint [rad, rad/s, N m].
        current: column of its current [A] if the log has no efforts, or "".
        joints: endings of the names of the joints, in order.
    """

    name: str
    delimiter: str
    time: str
    time_unit: float
    position: str
    velocity: str
    effort: str
    current: str
    joints: tuple[str, ...]


UR_JOINTS = (
    *(f"{name}_joint" for name in ("shoulder_pan", "shoulder_lift", "elbow")),
    *(f"wrist_{k}_joint" for k in (1, 2, 3)),
)
LOGS = (
    Log(
        "libfranka",
        ",",
        "time",
        1e-3,
        "state.q[{}]",
        "state.dq[{}]",
        "state.tau_J[{}]",
        "",
        tuple(f"joint{k}" for k in range(1, 8)),
    ),
    Log(
        "RTDE",
        " ",
        "timestamp",
        1.0,
        "actual_q_{}",
        "actual_qd_{}",
        "actual_current_as_torque_{}",
        "actual_current_{}",
        UR_JOINTS,
    ),
)


def log_of(path: Path) -> tuple[Log, list[str]] | None:
    """Return the kind of a log and its columns, or None if it is another file."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            line = file.readline(LONGEST_HEADER)
    except (OSError, UnicodeDecodeError):
        return None  # the reader of tables reports the reason
    for log in LOGS:
        header = [name.strip() for name in line.strip().split(log.delimiter)]
        if log.time in header and log.position.format(0) in header:
            return log, header
    return None


def read_log(
    path: Path,
    log: Log,
    header: Sequence[str],
    names: Sequence[str],
    gains: Sequence[float] | None,
    others: Sequence[str] = (),
    *,
    raw: bool,
) -> Samples:
    """Read the motion of some joints, and positions of others.

    Args:
        path: the log.
        log: kind of the log.
        header: columns of the log.
        names: joints to read; joints that the log lacks are left out.
        gains: torque of the log's joints per current [N m/A], for a log without efforts; None: no
            gains.
        others: joints whose positions are read too, if the log has them.
        raw: whether the efforts of the result are currents [A], if the log has currents but no
            efforts.

    Raises:
        ParameterError: a column is missing, currents have no gains, two names fit one joint of
            the log, or there is no usable number.
    """
    pairs, more = _pairs(log, names), _pairs(log, others)
    places, count = dict(pairs), Counter(k for _, k in (*pairs, *more))
    beside = {name: k for name, k in more if count[k] == 1}
    if not places:
        text = (
            f"a log of {log.name} has joints that end with {', '.join(log.joints)}; the robot "
            f"has no such joints (its first joint is {quote(names[0])}); map names with --map"
        )
        raise recording_error("other-joints", text, str(path))
    twice = next((k for k in places.values() if [j for _, j in pairs].count(k) > 1), None)
    if twice is not None:
        both = " and ".join(quote(name) for name, k in pairs if k == twice)
        text = (
            f"{both} fit one joint of a log of {log.name}, {log.joints[twice]}; choose the joints "
            "of one arm by --joints"
        )
        raise recording_error("two-joints", text, str(path))
    efforts = log.effort.format(0) in header
    factor = np.ones(len(log.joints))
    if not efforts and not raw:
        factor = _gains(path, log, gains)
    kinds = [log.position, log.effort if efforts or not log.current else log.current]
    kinds += [log.velocity] if log.velocity.format(0) in header else []
    wanted = [log.time, *(kind.format(k) for kind in kinds for k in places.values())]
    wanted += [log.position.format(k) for k in beside.values()]
    rows = _numbers(path, log, header, wanted)
    end = 1 + len(kinds) * len(places)
    blocks = np.split(rows[:, 1:end], len(kinds), axis=1)
    rest = dict(zip(beside, rows[:, end:].T, strict=True))
    speeds = blocks[2] if len(kinds) > 2 else np.full_like(blocks[0], np.nan)
    effort = factor[list(places.values())] * blocks[1]
    time = log.time_unit * (rows[:, 0] - rows[0, 0])
    return checked_samples(str(path), list(places), time, blocks[0], speeds, effort, rest)


def _pairs(log: Log, names: Sequence[str]) -> list[tuple[str, int]]:
    """Return the names that end as joints of a log, with the numbers of these joints.

    A log has no fingers, though panda_finger_joint1 ends as joint 1.
    """
    arm = [name for name in names if "finger" not in name]
    return [(name, k) for name in arm for k, end in enumerate(log.joints) if name.endswith(end)]


def _gains(path: Path, log: Log, gains: Sequence[float] | None) -> Array:
    count = len(log.joints)
    if gains is None:
        text = (
            f"this log of {log.name} has currents but no torques; give --drive-gains, the torque "
            f"per current of each of the {count} joints [N m/A], or let rbdyn identify --current "
            "find the gains"
        )
        raise recording_error("no-drive-gains", text, str(path))
    if len(gains) != count:
        text = f"--drive-gains has {len(gains)} numbers; a log of {log.name} has {count} joints"
        raise recording_error("wrong-count", text, str(path))
    return np.array(gains, np.float64)


def _numbers(path: Path, log: Log, header: Sequence[str], wanted: Sequence[str]) -> Array:
    for column in wanted:
        if header.count(column) != 1:
            text = f"this log of {log.name} has {header.count(column)} columns {quote(column)}"
            raise recording_error("no-column", f"{text}; one is needed", str(path))
    try:
        with warnings.catch_warnings(), path.open(encoding="utf-8-sig") as file:
            warnings.simplefilter("ignore")  # an empty table is refused below
            file.readline()
            found = np.loadtxt(
                file,
                delimiter=log.delimiter,
                usecols=[header.index(column) for column in wanted],
                ndmin=2,
                max_rows=MOST_SAMPLES + 1,
            )
    except (OSError, ValueError) as error:
        reason = str(error).split(";")[0].rstrip(".")
        raise recording_error(
            "no-table", f"the file is not a table of numbers: {reason}", str(path)
        ) from error
    if not len(found):
        raise recording_error("no-table", "the file has no row of numbers", str(path))
    if len(found) > MOST_SAMPLES:
        text = f"it has more than {MOST_SAMPLES} samples"
        raise recording_error("large-recording", text, str(path))
    return np.asarray(found, np.float64)
