# SPDX-License-Identifier: Apache-2.0
"""Read tables without column names, .npz and .mat files, which a columns file describes."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.yaml_files import kinds
from rbdyn_ros.description.yaml_files.dialect import Dialect
from rbdyn_ros.description.yaml_files.tables import Given, Key, table
from rbdyn_ros.errors import ParameterError, counted, did_you_mean, quote
from rbdyn_ros.identification.data.samples import Samples, checked_samples
from rbdyn_ros.recording.bags import existing, recording_error

TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
ANGLE_UNITS = {"rad": 1.0, "deg": np.pi / 180.0}
EFFORT_UNITS = {"Nm": 1.0, "mNm": 1e-3}
_ONE = kinds.Either(
    scalar=kinds.Name("a column from 0, or the name of an array"),
    items=kinds.List(kinds.Whole(high=100_000), "column", least=1),
)

DIALECT = Dialect(
    "rbdyn_columns",
    "a columns file",
    "not-a-columns-file",
    table(
        "columns file",
        Key("joints", kinds.List(kinds.Name(), "name", least=1), "joints in order", needed=True),
        Key("time", _ONE, "times; default: by `rate`"),
        Key("rate", kinds.Number(above=0.0, unit="Hz"), "rate of samples without times"),
        Key("positions", _ONE, "first column or all columns, or an array (p, n)", needed=True),
        Key("velocities", _ONE, "columns as for positions"),
        Key("efforts", _ONE, "efforts of the drives at the joints; columns as for positions"),
        Key("currents", _ONE, "currents of the drives [A]; columns as for positions"),
        Key("time_unit", kinds.OneOf(tuple(TIME_UNITS)), "unit of time", default="s"),
        Key(
            "angle_unit", kinds.OneOf(tuple(ANGLE_UNITS)), "unit of revolute joints", default="rad"
        ),
        Key("effort_unit", kinds.OneOf(tuple(EFFORT_UNITS)), "unit of efforts", default="Nm"),
        Key("position_signs", kinds.NumberList(), "1 or -1 for each joint; default: 1"),
        Key("effort_signs", kinds.NumberList(), "1 or -1 for each joint; default: 1"),
        Key("drive_gains", kinds.NumberList(), "torque of each joint per current [N m/A]"),
        one=("efforts", "currents"),
    ),
)
#: Keys that have no effect if the file also has the second key of the pair.
_WITHOUT_EFFECT = {
    "rate": "time",
    "time_unit": "rate",
    "effort_unit": "currents",
    "drive_gains": "efforts",
}


def read_by_columns(
    path: Path,
    columns: Path,
    names: Sequence[str],
    others: Sequence[str] = (),
    *,
    raw: bool,
    sliding: Collection[str] = (),
) -> Samples:
    """Read a recording whose columns a columns file describes.

    Args:
        path: a table of numbers (.csv, .txt, separated by commas or spaces), .npz or .mat.
        columns: the columns file.
        names: joints to read; joints that the file lacks are left out.
        others: joints whose positions are read too, if the file has them.
        raw: whether the efforts of the result are currents [A], if the recording has currents.
        sliding: prismatic joints, whose positions are in metres.

    Raises:
        DescriptionError: the columns file is wrong.
        ParameterError: the recording cannot be read, or lacks a column.
    """
    given = _read_map(existing(columns))
    joints = list(given["joints"])
    arrays = _arrays(existing(path))
    time = _time(arrays, given, path)
    n, p = len(joints), len(time)

    def rows(key: str) -> Array:
        found = _found(arrays, given[key], n, path, key)
        if found.shape == (n, p) and n != p:
            found = found.T
        if found.shape != (p, n):
            size = f"{counted(p, 'sample')} of {counted(n, 'joint')}"
            text = f"{key} has the shape {found.shape}; expected {size}"
            raise recording_error("wrong-shape", text, str(path))
        return found

    turn = ANGLE_UNITS[given["angle_unit"]]
    unit = np.where(np.isin(joints, list(sliding)), 1.0, turn)
    unit *= _each(given, "position_signs", n, path)
    qpos = unit * rows("positions")
    qvel = unit * rows("velocities") if "velocities" in given else np.full_like(qpos, np.nan)
    effort = rows("efforts" if "efforts" in given else "currents")
    effort = EFFORT_UNITS[given["effort_unit"]] * _each(given, "effort_signs", n, path) * effort
    if "currents" in given and not raw:
        if "drive_gains" not in given:
            text = (
                "the columns file has currents but no drive_gains; add drive_gains, or "
                "let rbdyn identify --current find them"
            )
            raise recording_error("no-drive-gains", text, str(path))
        effort = _each(given, "drive_gains", n, path) * effort
    kept = [name for name in names if name in joints]
    if not kept:
        text = (
            f"no joint of the columns file, such as {quote(names[0])}, is a joint of the robot"
            f"{did_you_mean(names[0], joints)}; map names with --map"
        )
        raise recording_error("other-joints", text, str(path))
    k = [joints.index(name) for name in kept]
    rest = {name: qpos[:, joints.index(name)] for name in others if name in joints}
    return checked_samples(str(path), kept, time, qpos[:, k], qvel[:, k], effort[:, k], rest)


def _read_map(path: Path) -> Given:
    audit, source = Audit(), str(path)
    given = DIALECT.read(DIALECT.parse(path.read_bytes(), source, audit), audit)
    audit.raise_errors(source)
    _check(given)
    audit.raise_errors(source)
    return given


def _check(given: Given) -> None:
    """Add an error for each key that repeats an entry, has a wrong sign or has no effect."""
    for key in ("joints", "positions", "velocities", "efforts", "currents"):
        values = given.get(key, ())
        if not isinstance(values, str) and len(set(values)) < len(values):
            given.error("bad-value", key, f"{key} of the columns file repeats an entry")
    for key in ("position_signs", "effort_signs"):
        wrong = [sign for sign in given.get(key, ()) if abs(sign) != 1.0]
        if wrong:
            text = f"{key} of the columns file has {wrong[0]:g}; a sign is 1 or -1"
            given.error("bad-value", key, text)
    for key, other in _WITHOUT_EFFECT.items():
        if key in given.lines and other in given.lines:
            text = f"{key} of the columns file has no effect together with {other}; leave one out"
            given.error("bad-value", key, text)


def _arrays(path: Path) -> dict[str, Array]:
    """Return the arrays of a file by name; a table has one array without a name.

    Raise ParameterError if the file has no numbers.
    """
    try:
        if path.suffix.lower() == ".npz":
            found = {}
            with np.load(path, allow_pickle=False) as file:
                for name in file.files:
                    with suppress(ValueError):  # skip an array of objects, such as names
                        found[name] = file[name]
            return _real(found)
        if path.suffix.lower() == ".mat":
            from scipy.io import loadmat

            return _real(loadmat(path, squeeze_me=False))
        return {"": _table(path)}
    except ParameterError:
        raise
    # the files are untrusted, and each library raises errors of its own
    except Exception as error:
        reason = str(error).split("\n")[0][:200]
        raise recording_error(
            "no-table", f"the file is not a table of numbers: {reason}", str(path)
        ) from error


def _real(arrays: Mapping[str, Any]) -> dict[str, Array]:
    return {
        name: np.asarray(value, np.float64)
        for name, value in arrays.items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiu"
    }


def _table(path: Path) -> Array:
    """Return a table of numbers, separated as in its first row, or raise ParameterError."""
    with path.open(encoding="utf-8-sig") as file:
        first = next((row for line in file if (row := line.split("#")[0].strip())), "")
    if not first:
        raise recording_error("no-table", "the file has no row of numbers", str(path))
    delimiter = next((mark for mark in ",;\t" if mark in first), None)
    try:
        float(first.split(delimiter)[0])
    except ValueError as error:
        text = f"the first row begins with {quote(first.split(delimiter)[0])}, not with a number"
        hint = "delete a header, or begin it with #"
        raise recording_error("no-table", f"{text}; {hint}", str(path)) from error
    return np.loadtxt(path, delimiter=delimiter, ndmin=2, encoding="utf-8-sig")


def _found(arrays: dict[str, Array], place: Any, n: int, path: Path, key: str) -> Array:
    """Return the array (a, b) or the columns (p, n) that the key of a columns file names.

    `place` is the value of the key: columns, a first column, or the name of an array. `n` is the
    number of joints. Raise ParameterError if the columns or the array do not exist.
    """
    if not isinstance(place, str):
        columns = [int(k) for k in place]
    elif place.isdecimal() and len(place) < 7:
        columns = list(range(int(place), int(place) + n))
    elif place in arrays and place:
        return _two_axes(arrays[place], path, key)
    else:
        if "" in arrays:
            last = arrays[""].shape[1] - 1
            has = f"is a table without names: give the number of a column, 0 to {last}"
        else:
            has = f"has these arrays of real numbers: {', '.join(map(quote, list(arrays)[:12]))}"
        text = f"{key} names {quote(place)}{did_you_mean(place, arrays)}; the file {has}"
        raise recording_error("no-column", text, str(path))
    if "" not in arrays:
        text = f"{key} is a column number, but the file has arrays: {', '.join(list(arrays)[:12])}"
        raise recording_error("no-column", text, str(path))
    table = arrays[""]
    if max(columns) >= table.shape[1]:
        text = f"{key} is in column {max(columns)}, but the last column is {table.shape[1] - 1}"
        raise recording_error("no-column", text, str(path))
    return table[:, columns]


def _two_axes(array: Array, path: Path, key: str) -> Array:
    """Return an array with two axes, where (p,) becomes (p, 1), or raise ParameterError."""
    found = array[:, None] if array.ndim == 1 else array
    if found.ndim != 2 or not found.size:
        text = f"the array of {key} has the shape {array.shape}; expected one row for each sample"
        raise recording_error("wrong-shape", text, str(path))
    return found


def _time(arrays: dict[str, Array], given: Given, path: Path) -> Array:
    if "time" in given:
        time = _found(arrays, given["time"], 1, path, "time").reshape(-1)
        return np.asarray((time - time[0]) * TIME_UNITS[given["time_unit"]], np.float64)
    if "rate" not in given:
        text = "the columns file has neither time nor rate; one is needed"
        raise recording_error("no-time", text, str(path))
    rows = _found(arrays, given["positions"], len(given["joints"]), path, "positions")
    count = rows.shape[0] if rows.shape[1] == len(given["joints"]) else rows.shape[1]
    return np.arange(count) / float(given["rate"])


def _each(given: Given, key: str, n: int, path: Path) -> Array:
    """Return a number per joint, or 1 without the key; raise ParameterError for a wrong count."""
    values = np.asarray(given.get(key, np.ones(n)), np.float64).reshape(-1)
    if len(values) != n:
        found = f"{counted(len(values), 'number')} for {counted(n, 'joint')}"
        text = f"{key} of the columns file has {found}; each joint needs one number"
        raise recording_error("wrong-count", text, str(path))
    return values
