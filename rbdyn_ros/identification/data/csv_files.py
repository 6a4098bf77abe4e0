# SPDX-License-Identifier: Apache-2.0
"""Tables of joint data in CSV files: excitation motions and recordings.

The first line names the columns: `time`, and `<joint>.<quantity>` for each joint and quantity.
"""

import csv
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, TextIO

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import did_you_mean, quote
from rbdyn_ros.identification.data.samples import MOST_SAMPLES, Samples, checked_samples
from rbdyn_ros.loading.output import output_path, write_whole
from rbdyn_ros.recording.bags import recording_error

TIME = "time"
#: Quantities of a joint in a recording.
QUANTITIES = "position", "velocity", "effort", "motor"
#: Longest line of a table [characters].
LONGEST_LINE = 1_000_000
#: Number of columns that a message lists.
SHOWN = 12


def read_csv(
    path: Path, names: Sequence[str], others: Sequence[str] = (), *, partly: bool = False
) -> Samples:
    """Read a recording of some joints, and positions of the joints `others`.

    Columns of all other joints are ignored. A column <joint>.motor has the angle of the motor of a
    joint. An incomplete last line is skipped. With `partly`, joints without any column are left
    out.

    Raises:
        ParameterError: the file cannot be read, lacks a column, has a line that is not a row of
            numbers, or is not a usable recording.
    """
    header = _header(path)
    if partly:
        there = [x for x in names if any(_places(header, f"{x}.{each}") for each in QUANTITIES)]
        names = there or names
    n = len(names)
    wanted = [f"{name}.{quantity}" for quantity in ("position", "effort") for name in names]
    speeds = [f"{name}.velocity" for name in names]
    speeds = speeds if all(_places(header, speed) for speed in speeds) else []
    beside = [name for name in others if _places(header, f"{name}.position")]
    places = [f"{name}.position" for name in beside]
    with_motors = [name for name in names if _places(header, f"{name}.motor")]
    angles = [f"{name}.motor" for name in with_motors]
    numbers = _columns(path, header, [TIME, *wanted, *speeds, *places, *angles])
    qpos, effort = numbers[:, 1 : n + 1], numbers[:, n + 1 : 2 * n + 1]
    qvel = numbers[:, 2 * n + 1 : 3 * n + 1] if speeds else np.full_like(qpos, np.nan)
    columns = numbers[:, 1 + len(wanted) + len(speeds) :].T
    found = dict(zip(beside, columns[: len(beside)], strict=True))
    motors = dict(zip(with_motors, columns[len(beside) :], strict=True))
    return checked_samples(str(path), names, numbers[:, 0], qpos, qvel, effort, found, motors)


def write_csv(path: str | Path, samples: Samples) -> None:
    """Write a recording; read_csv reads it again.

    Raises:
        ParameterError: the file cannot be written; an existing file is kept.
    """
    columns = {"position": samples.qpos, "effort": samples.effort}
    if samples.qvel is not None:
        columns["velocity"] = samples.qvel
    write_table(path, "a recording", samples.names, samples.time, columns, samples.motors)


def read_table(
    path: str | Path, quantities: Sequence[str]
) -> tuple[tuple[str, ...], Array, list[Array]]:
    """Return the joints of a table (n), its time (p,), and an array (p, n) for each quantity.

    Raises:
        ParameterError: the file cannot be read, lacks a column, has a line that is not a row of
            finite numbers, or time does not increase.
    """
    source = Path(path)
    header, last = _header(source), "." + quantities[0]
    names = tuple(column[: -len(last)] for column in header if column.endswith(last))
    if not names:
        raise recording_error("no-column", f"the file has no column <joint>{last}", str(path))
    wanted = [f"{name}.{quantity}" for quantity in quantities for name in names]
    numbers = _columns(source, header, [TIME, *wanted])
    if not np.isfinite(numbers).all() or not (np.diff(numbers[:, 0]) > 0.0).all():
        text = "a number is not finite, or the time does not increase from row to row"
        raise recording_error("no-table", text, str(path))
    columns = np.split(numbers[:, 1:], len(quantities), axis=1)
    return names, numbers[:, 0], [np.ascontiguousarray(column) for column in columns]


def write_table(
    path: str | os.PathLike[str],
    what: str,
    names: Sequence[str],
    time: Array,
    columns: Mapping[str, Array],
    motors: Mapping[str, Array] | None = None,
) -> None:
    """Write time (p,), the columns (p, n) of each quantity, and any motor angles (p,) by joint.

    Raises:
        ParameterError: the file cannot be written; an existing file is kept.
    """
    target = output_path(path, what, (".csv",))
    header = [TIME, *(f"{name}.{quantity}" for quantity in columns for name in names)]
    angles = motors or {}
    header += [f"{name}.motor" for name in angles]

    def write(file: BinaryIO) -> None:
        text = TextIOWrapper(file, encoding="utf-8", newline="")
        csv.writer(text).writerow(header)
        numbers = np.column_stack([time, *columns.values(), *angles.values()])
        np.savetxt(text, numbers, "%.12g", ",", "\r\n")
        text.detach()

    write_whole(target, write)


def write_motion(
    path: str | os.PathLike[str],
    names: Sequence[str],
    held: Mapping[str, float],
    time: Array,
    rows: Sequence[Array],
) -> None:
    """Write a motion of some joints; other joints are held at their positions.

    The file contains all joints of the robot: joints at rest must be at their positions, and a
    controller may need them in every trajectory.

    Args:
        path: path of the file.
        names: the moving joints (n).
        held: positions of the other joints, by name [rad or m].
        time: (p,) times of the rows [s].
        rows: positions, velocities and accelerations (p, n) [rad or m; per s; per s^2].

    Raises:
        ParameterError: the file cannot be written; an existing file is kept.
    """
    still = np.zeros((len(time), len(held)))
    rests = still + list(held.values()), still, still
    kinds = "position", "velocity", "acceleration"
    columns = {kind: np.hstack(both) for kind, *both in zip(kinds, rows, rests, strict=True)}
    write_table(path, "a motion", (*names, *held), time, columns)


def _header(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, line = _first_row(file)
            if len(line) > LONGEST_LINE:
                text = f"the first line has more than {LONGEST_LINE} characters"
                raise recording_error("no-header", text, str(path))
    except csv.Error as error:
        raise recording_error(
            "unreadable-file", f"the first line cannot be read: {error}", str(path)
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise recording_error(
            "unreadable-file", f"the file cannot be read: {reason}", str(path)
        ) from error
    if not _places(header, TIME):
        more = "; columns are separated by commas" if ";" in line else ""
        text = (
            f"the first line has no column '{TIME}'{did_you_mean(TIME, header)}{more}; it should "
            "be time,<joint>.position,<joint>.velocity,<joint>.effort,..."
        )
        raise recording_error("no-header", text, str(path))
    return header


def _first_row(file: TextIO) -> tuple[list[str], str]:
    """Return the column names of the header, and the text of the header.

    A quoted name may contain line breaks.
    """
    read: list[str] = []

    def lines() -> Iterator[str]:
        while sum(map(len, read)) <= LONGEST_LINE:
            read.append(file.readline(LONGEST_LINE + 1))
            if not read[-1]:
                return
            yield read[-1]

    return next(csv.reader(lines()), []), "".join(read)


def _places(header: Sequence[str], column: str) -> list[int]:
    """Return the indices of the columns with this name; if no column has it, ignore spaces."""
    exact = [k for k, name in enumerate(header) if name == column]
    return exact or [k for k, name in enumerate(header) if name.strip() == column]


def _whole_lines(file: TextIO, columns: int) -> Iterator[str]:
    """Yield the lines, except for an incomplete last line; a whole line has `columns` columns."""
    for line in file:
        if line.endswith(("\n", "\r")) or _is_whole(line, columns):
            yield line


def _is_whole(line: str, columns: int) -> bool:
    values = next(csv.reader([line]), [])
    # an incomplete number may end as 1.2e-
    last = values[-1].strip() if len(values) >= columns else ""
    return bool(last) and not last.endswith(("e", "E", "-", "+"))


def _columns(path: Path, header: Sequence[str], wanted: Sequence[str]) -> Array:
    for column in wanted:
        if len(_places(header, column)) != 1:
            raise _not_once(path, header, column)
    try:
        with warnings.catch_warnings(), path.open(encoding="utf-8-sig", newline="") as file:
            warnings.simplefilter("ignore")  # an empty table is refused below
            _first_row(file)
            numbers: Array = np.loadtxt(
                _whole_lines(file, len(header)),
                delimiter=",",
                quotechar='"',
                comments=None,
                usecols=[_places(header, column)[0] for column in wanted],
                ndmin=2,
                max_rows=MOST_SAMPLES + 1,
            )
    except (OSError, ValueError) as error:  # ValueError includes UnicodeDecodeError
        reason = str(error).split(";")[0].rstrip(".")
        text = f"the file is not a table of numbers (rows are counted below the header): {reason}"
        raise recording_error("no-table", text, str(path)) from error
    if len(numbers) > MOST_SAMPLES:
        text = f"the recording has more than {MOST_SAMPLES} samples"
        raise recording_error("large-recording", text, str(path))
    return numbers.reshape(-1, len(wanted))


def _not_once(path: Path, header: Sequence[str], column: str) -> Exception:
    if column in header:
        text = f"two columns have the name {quote(column)}"
        return recording_error("two-columns", text, str(path))
    shown = ", ".join(quote(name) for name in header[:SHOWN])
    more = ", ..." if len(header) > SHOWN else ""
    hint = did_you_mean(column, header)
    text = f"the file has no column {quote(column)}{hint}; it has {shown}{more}"
    return recording_error("no-column", text, str(path))
