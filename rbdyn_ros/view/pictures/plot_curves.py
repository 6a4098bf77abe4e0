# SPDX-License-Identifier: Apache-2.0
"""Extract the curves of a recorded run: of each joint, and of the robot as a whole."""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.terms import kinetic_energy, potential_energy
from rbdyn_ros.errors import Finding, ParameterError, did_you_mean, quote
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model
from rbdyn_ros.recording.run import RecordedRun
from rbdyn_ros.recording.series import Series

#: Names of the quantities of each joint, and of the robot as a whole.
OF_JOINTS = ("position", "velocity", "effort", "error")
OF_ROBOT = ("energy", "contact")
QUANTITIES = (*OF_JOINTS, *OF_ROBOT)

STATE, COMMAND = "state", "command"
#: Joint types whose velocities may not be the derivatives of their positions.
_OTHER_POSITIONS = (JointType.SIXDOF_FP, JointType.SIXDOF_FS, JointType.USER)
#: Largest number of samples of energy.
MOST_ENERGIES = 1500
SHOWN = 6


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Values over time, NaN if unknown; `kind` is STATE, COMMAND or the name of the curve."""

    kind: str
    time: Array
    values: Array


@dataclass(frozen=True, slots=True, eq=False)
class PlotRow:
    """A coordinate of a joint, with its curves by quantity."""

    name: str
    unit: str
    curves: dict[str, list[Curve]]


def joint_rows(run: RecordedRun, patterns: Sequence[str]) -> list[PlotRow]:
    """Return the rows of the chosen joints.

    Args:
        run: the recording.
        patterns: names of joints, or patterns such as ``wrist_*``; empty: all joints.

    Raises:
        ParameterError: a pattern matches no joint.
    """
    coordinates = _coordinates(run.m)
    for pattern in patterns:
        names = dict.fromkeys(one.joint for one in coordinates)
        if not any(fnmatch.fnmatchcase(name, pattern) for name in names):
            shown = ", ".join(quote(name) for name in list(names)[:SHOWN])
            text = (
                f"no joint is called {quote(pattern)}{did_you_mean(pattern, names)}; there are "
                f"{shown}{', ...' if len(names) > SHOWN else ''}"
            )
            raise ParameterError(Finding("no-joint", text, "error", "joints", None, pattern))
    chosen = [
        one
        for one in coordinates
        if not patterns or any(fnmatch.fnmatchcase(one.joint, pattern) for pattern in patterns)
    ]
    turned: dict[int, Array] = {}
    return [_row(run, one, turned) for one in chosen]


@dataclass(frozen=True, slots=True)
class _Coordinate:
    """A coordinate of a joint.

    Attributes:
        joint: name of the joint.
        suffix: name of the coordinate, if the joint has several coordinates.
        unit: unit of the position.
        qpos: index in qpos; for a quaternion: -1 - index; None: the position is no single number.
        part: component of the rotation vector that is plotted for a quaternion.
        dof: index in qvel.
    """

    joint: str
    suffix: str
    unit: str
    qpos: int | None
    part: int
    dof: int


def _coordinates(m: Model) -> list[_Coordinate]:
    found = []
    for k, name in enumerate(m.jnt_names):
        dofs, dof = int(m.jnt_dofnum[k]), int(m.jnt_dofadr_all[k])
        if dof >= m.nv:
            continue
        kind, at = int(m.jnt_type[k]), int(m.jnt_qposadr_all[k])
        places: list[tuple[str, str, int | None, int]]
        if kind == JointType.FREE:
            places = [(axis, "m", at + j, 0) for j, axis in enumerate("xyz")]
            places += _turns(at + 3)
        elif kind == JointType.BALL:
            places = _turns(at)
        elif dofs == 1:
            places = [("", "m" if kind == JointType.SLIDE else "rad", at, 0)]
        else:
            same = kind not in _OTHER_POSITIONS
            places = [(f"[{j}]", "", at + j if same else None, 0) for j in range(dofs)]
        found += [
            _Coordinate(name, suffix, unit, place, part, dof + j)
            for j, (suffix, unit, place, part) in enumerate(places)
        ]
    return found


def _turns(at: int) -> list[tuple[str, str, int | None, int]]:
    """Return the three rotation-vector coordinates for the quaternion at an index in qpos.

    A coordinate is (name, unit, -1 - index, axis), see _Coordinate.
    """
    return [(f"rotation {axis}", "rad", -1 - at, j) for j, axis in enumerate("xyz")]


def _row(run: RecordedRun, one: _Coordinate, turned: dict[int, Array]) -> PlotRow:
    if one.qpos is None:
        position = np.full(len(run.time), np.nan)
    elif one.qpos >= 0:
        position = run.qpos[:, one.qpos]
    else:
        at = -1 - one.qpos
        if at not in turned:
            quat = np.roll(run.qpos[:, at : at + 4], -1, axis=1)
            turned[at] = np.unwrap(Rotation.from_quat(quat).as_rotvec(), axis=0)
        position = turned[at][:, one.part]
    curves = {
        "position": [Curve(STATE, run.time, position)],
        "velocity": [Curve(STATE, run.time, run.qvel[:, one.dof])],
        "effort": [Curve(STATE, run.time, run.effort[:, one.dof])],
        "error": [],
    }
    if not one.suffix:
        for series in run.commanded.values():
            _add_commands(run, series, one.joint, position, curves)
    known = {
        name: [curve for curve in some if np.isfinite(curve.values).any()]
        for name, some in curves.items()
    }
    return PlotRow(f"{one.joint} {one.suffix}".strip(), one.unit, known)


def _add_commands(
    run: RecordedRun, series: Series, joint: str, position: Array, curves: dict[str, list[Curve]]
) -> None:
    if joint not in series.names:
        return
    k = series.names.index(joint)
    inside = (series.time >= run.time[0]) & (series.time <= run.time[-1])
    time = series.time[inside]
    given = {"position": series.position, "velocity": series.velocity, "effort": series.effort}
    for name, values in given.items():
        curves[name].append(Curve(COMMAND, time, values[inside, k]))
    wanted = series.position[inside, k]
    if np.isfinite(wanted).any():
        # a command is valid until the next command; compare it with the state at that time
        until = np.append(time[1:], run.time[-1]) if len(time) else time
        there = np.interp(until, run.time, position)
        curves["error"].append(Curve(COMMAND, until, wanted - there))


def energies(run: RecordedRun) -> list[Curve]:
    """Return the curves of the energies, with up to MOST_ENERGIES samples.

    Return [] if no sample has known velocities, or nv is 0.
    """
    known = np.flatnonzero(np.isfinite(run.qvel).all(axis=1))
    if not len(known) or not run.m.nv:
        return []
    chosen = known[np.unique(np.linspace(0, len(known) - 1, MOST_ENERGIES).astype(int))]
    m, d = run.m, make_data(run.m)
    rows = np.empty((len(chosen), 2))
    for row, k in zip(rows, chosen, strict=True):
        d.qpos, d.qvel, d.time = run.qpos[k], run.qvel[k], float(run.clock[k])
        row[:] = kinetic_energy(m, d), potential_energy(m, d)
    time = run.time[chosen]
    parts = {"kinetic": rows[:, 0], "potential": rows[:, 1], "total": rows.sum(axis=1)}
    return [Curve(name, time, values) for name, values in parts.items()]


def contact_forces(run: RecordedRun, most: int = 8) -> list[Curve]:
    """Return curves of the magnitudes of contact forces [N].

    The `most` most loaded bodies have a curve each, and the last curve is the sum of all others.
    Return [] if the recording has no contact forces.
    """
    if run.contact is None:
        return []
    sizes = np.linalg.norm(run.contact[:, :, :3], axis=2)
    touched = np.flatnonzero(sizes.max(axis=0) > 0.0)
    order = touched[np.argsort(-sizes[:, touched].max(axis=0), kind="stable")]
    curves = [Curve(str(run.m.body_names[k]), run.time, sizes[:, k]) for k in order[:most]]
    if len(order) > most:
        rest = sizes[:, order[most:]].sum(axis=1)
        curves.append(Curve(f"{len(order) - most} others", run.time, rest))
    return curves
