# SPDX-License-Identifier: Apache-2.0
"""Free simulation of a recording: apply its efforts to a Model, and compare the positions.

Each window of the recording starts at its measured state. Then only the measured efforts act, so
errors of the Model are integrated twice, unlike in a prediction of efforts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.stages import make_data, step
from rbdyn_ros.errors import Finding, ModelError, ParameterError, RbdynError, apart
from rbdyn_ros.identification.data.motion import dof_names
from rbdyn_ros.loading.output import output_path, write_whole
from rbdyn_ros.model.model import Model
from rbdyn_ros.recording.run import RecordedRun
from rbdyn_ros.report.words import Row, aligned, cut
from rbdyn_ros.view.pictures.canvas import BLUE, GREY, VERMILLION, new_figure

#: Lengths of the windows [s].
WINDOWS = (0.1, 0.5, 2.0)
SUFFIXES = (".svg", ".png", ".pdf")
WIDTH, ROW, DPI = 10.0, 1.5, 110.0  # sizes [inch]


@dataclass(frozen=True, slots=True, eq=False)
class FreeMotion:
    """Free simulations of a recording by one Model.

    Attributes:
        names: names of the joints (n,).
        windows: (k,) lengths of the windows [s].
        rms: (k, n) root mean square of the position errors; infinite if a simulation diverged.
        time, qpos: (p,) and (p, n) simulated positions in the longest windows, one after the
            other [s; rad or m].
    """

    names: tuple[str, ...]
    windows: tuple[float, ...]
    rms: Array
    time: Array
    qpos: Array


def free_motion(m: Model, run: RecordedRun, windows: Sequence[float] = WINDOWS) -> FreeMotion:
    """Simulate the windows of a recording with its efforts.

    Args:
        m: the robot, with friction and rotors; its joints have the names of the recorded joints.
        run: the recording.
        windows: lengths of the windows [s]; windows longer than the recording are left out.

    Raises:
        ModelError: the robots have different joints, or joints with several coordinates.
        ParameterError: the recording has no efforts, or is shorter than all windows.
    """
    _check(m, run)
    lengths = tuple(w for w in sorted(windows) if w <= run.duration + 0.25 * m.opt.timestep)
    if not lengths:
        found, least = apart(run.duration, min(windows), digits=3)
        text = f"the recording has {found} s; free simulation needs {least} s"
        raise ParameterError(Finding("short-recording", text, "error", run.source))
    qvel = run.qvel if np.isfinite(run.qvel).all() else np.gradient(run.qpos, run.time, axis=0)
    rms, time, qpos = [], np.zeros(0), np.zeros((0, m.nv))
    for length in lengths:
        errors, parts = np.zeros((0, m.nv)), []
        for start in np.arange(run.time[0], run.time[-1] - length + 0.5 * m.opt.timestep, length):
            t, q = _window(m, run, qvel, float(start), length)
            errors = np.concatenate([errors, q - _at(run.time, run.qpos, t)])
            parts.append((t, q))
        rms.append(np.sqrt(np.mean(np.nan_to_num(errors, nan=np.inf) ** 2, axis=0)))
        time = np.concatenate([t for t, _ in parts])
        qpos = np.concatenate([q for _, q in parts])
    return FreeMotion(dof_names(m), lengths, np.array(rms), time, qpos)


def _check(m: Model, run: RecordedRun) -> None:
    if m.nq != m.nv or run.m.nq != run.m.nv or dof_names(m) != dof_names(run.m):
        text = (
            f"free simulation needs the recorded joints, each with one coordinate: "
            f"{', '.join(dof_names(run.m)[:8])}; '{m.name}' moves {', '.join(dof_names(m)[:8])}"
        )
        raise ModelError(Finding("other-joints", text, "error", m.name))
    if not np.isfinite(run.effort).all():
        k = int(np.flatnonzero(~np.isfinite(run.effort).all(axis=0))[0])
        joint = dof_names(m)[k]
        text = f"the recording has no efforts of joint '{joint}', which the free motion needs"
        raise ParameterError(Finding("no-efforts", text, "error", run.source))


def _window(
    m: Model, run: RecordedRun, qvel: Array, start: float, length: float
) -> tuple[Array, Array]:
    """Return times (p,) and simulated positions (p, nv) of a window; NaN after divergence.

    The window begins at the time `start` and has the length `length` [s]. `qvel` are the
    velocities of the recording.
    """
    h = m.opt.timestep
    time = start + h * np.arange(1, round(length / h) + 1)
    effort = _efforts(run, time - h, h)
    qpos, d = np.full((len(time), m.nv), np.nan), make_data(m)
    d.qpos[:] = _at(run.time, run.qpos, np.array([start]))[0]
    d.qvel[:] = _at(run.time, qvel, np.array([start]))[0]
    try:
        for k in range(len(time)):
            d.qfrc_applied[:] = effort[k]
            step(m, d)
            qpos[k] = d.qpos
    except RbdynError:
        pass  # the simulation diverged
    return time, qpos


def _efforts(run: RecordedRun, begin: Array, h: float) -> Array:
    """Return the efforts (p, nv) of steps of h [s] that begin at times (p,)."""
    if not run.exact:
        return _at(run.time, run.effort, begin + 0.5 * h)
    # a recorded state has the efforts of the step before this state
    after = np.searchsorted(run.time, begin + 0.5 * h).clip(max=len(run.time) - 1)
    return np.asarray(run.effort[after], np.float64)


def _at(time: Array, rows: Array, when: Array) -> Array:
    """Return rows (p, n) interpolated at times (q,)."""
    return np.column_stack([np.interp(when, time, column) for column in rows.T])


def free_motion_text(found: Mapping[str, FreeMotion]) -> str:
    """Return a table of RMS errors by joint and window, for Models by name."""
    first = next(iter(found.values()))
    head = [f"{w:g} s, {name}" for w in first.windows for name in found]
    rows: list[Row] = [("joint", *head)]
    for i, joint in enumerate(first.names):
        numbers = [
            f"{one.rms[k, i]:.3g}" for k in range(len(first.windows)) for one in found.values()
        ]
        rows.append((cut(joint), *numbers))
    title = "free simulation with the recorded efforts, RMS of the position error [rad or m]"
    return "\n".join([title, *aligned(rows)]) + "\n"


def draw_free_motion(run: RecordedRun, found: Mapping[str, FreeMotion], path: str | Path) -> None:
    """Draw measured and simulated positions in the longest windows, one row per joint.

    Raises:
        ParameterError: the suffix is unknown, the file cannot be written, or matplotlib is not
            installed.
    """
    target = output_path(path, "a picture", SUFFIXES)
    names = next(iter(found.values())).names
    figure = new_figure(WIDTH, ROW * len(names) + 0.8, DPI)
    axes = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for i, one in enumerate(axes):
        one.plot(run.time, run.qpos[:, i], color=GREY, lw=1.6, label="measured")
        for (name, free), colour in zip(found.items(), (VERMILLION, BLUE), strict=False):
            one.plot(free.time, free.qpos[:, i], color=colour, lw=0.9, label=name)
        one.set_ylabel(names[i], fontsize=8)
        one.tick_params(labelsize=7)
        one.grid(visible=True, lw=0.3)
    axes[0].legend(fontsize=7, ncols=3, loc="upper right")
    axes[-1].set_xlabel("time [s]", fontsize=8)
    figure.tight_layout()
    kind = target.suffix.lower()[1:]
    write_whole(target, lambda file: figure.savefig(file, format=kind))
