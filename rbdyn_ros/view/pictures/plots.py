# SPDX-License-Identifier: Apache-2.0
"""Figures of a recorded run: a row for each joint, a column for each quantity, one time axis."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from rbdyn_ros.errors import Finding, ParameterError, did_you_mean, exactly, quote
from rbdyn_ros.loading.output import output_path, write_whole
from rbdyn_ros.recording.run import RecordedRun
from rbdyn_ros.view.pictures import plot_curves
from rbdyn_ros.view.pictures.canvas import BLUE, INK, VERMILLION, new_figure
from rbdyn_ros.view.pictures.plot_panels import (
    SMALL,
    dashes,
    draw_joint,
    draw_robot,
    time_axis,
    unit_of,
    write_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
#: Number of joint rows on a .pdf page, and largest number in one picture.
PAGE_ROWS, MOST_ROWS = 12, 64
#: Sizes of the parts of a figure [inch].
COLUMN, ROW, WIDE, MARGIN = 3.1, 0.95, 1.7, 0.7
HEAD, LOW_HEAD = 0.85, 0.55  # height of the head with and without titles of columns [inch]
DPI = 150.0

TITLES = {"position": "position", "velocity": "velocity", "effort": "effort",
          "error": "command minus position"}  # fmt: skip


def draw_run(
    run: RecordedRun,
    path: str | Path,
    *,
    joints: Sequence[str] = (),
    quantities: Sequence[str] = (),
    size: tuple[float, float] | None = None,
) -> None:
    """Draw a run to a .png, .svg or .pdf file.

    Args:
        run: result of read_run.
        path: output file; replaced if it exists.
        joints: names of joints, or patterns such as ``wrist_*``; empty: all joints.
        quantities: some of position, velocity, effort, error (command minus position), energy,
            contact; empty: all that the run has.
        size: width and height of a page [inch]; None: as large as the content.

    Raises:
        ParameterError: a joint or quantity is unknown, the file cannot be written, or matplotlib
            is not installed.
    """
    target = output_path(path, "a figure", SUFFIXES)
    rows = plot_curves.joint_rows(run, joints)
    columns, wide = _chosen(run, rows, quantities)
    if not columns:
        rows = []
    if size is not None and not all(0.5 <= side <= 200.0 for side in size):
        shape = " x ".join(map(exactly, size))
        text = f"the size is {shape} inch; allowed are 0.5 to 200 each"
        raise ParameterError(Finding("bad-size", text, "error", "size"))
    is_pdf = target.suffix.lower() == ".pdf"
    if len(rows) > MOST_ROWS and not is_pdf:
        text = (
            f"{len(rows)} joints do not fit into a picture; choose up to {MOST_ROWS} with joints, "
            "or draw a .pdf, which has pages"
        )
        raise ParameterError(Finding("many-joints", text, "error", "joints"))
    pages = [rows]
    if is_pdf and len(rows) > PAGE_ROWS:
        count = math.ceil(len(rows) / PAGE_ROWS)
        parts = np.array_split(np.arange(len(rows)), count)
        pages = [[rows[k] for k in part] for part in parts]
    figures = (
        _page(run, page, columns, wide if k == len(pages) - 1 else {}, size)
        for k, page in enumerate(pages)
    )
    write_whole(target, lambda file: _save(figures, file, target.suffix.lower()[1:]))


def _save(figures: Any, file: BinaryIO, kind: str) -> None:
    if kind != "pdf":
        for figure in figures:
            figure.savefig(file, format=kind)
        return
    from matplotlib.backends.backend_pdf import PdfPages

    with PdfPages(file) as pages:
        for figure in figures:
            pages.savefig(figure)


def _chosen(
    run: RecordedRun, rows: list[plot_curves.PlotRow], quantities: Sequence[str]
) -> tuple[list[str], dict[str, list[plot_curves.Curve]]]:
    """Return the chosen quantities of joints, and the curves of the whole robot by quantity."""
    for name in quantities:
        if name not in plot_curves.QUANTITIES:
            known = plot_curves.QUANTITIES
            hint, listed = did_you_mean(name, known), ", ".join(known)
            text = f"there is no quantity {quote(name)}{hint}; there are {listed}"
            raise ParameterError(Finding("no-quantity", text, "error", "quantities", None, name))
    wanted = quantities or plot_curves.QUANTITIES
    there = {name for row in rows for name, curves in row.curves.items() if curves}
    columns = [name for name in plot_curves.OF_JOINTS if name in wanted and name in there]
    makers = {"energy": plot_curves.energies, "contact": plot_curves.contact_forces}
    wide = {name: make(run) for name, make in makers.items() if name in wanted}
    wide = {name: curves for name, curves in wide.items() if curves}
    if not columns and not wide:
        text = f"the recording has no {', '.join(wanted)}"
        raise ParameterError(Finding("nothing-to-draw", text, "error", "quantities"))
    return columns, wide


def _page(
    run: RecordedRun,
    rows: list[plot_curves.PlotRow],
    columns: list[str],
    wide: dict[str, list[plot_curves.Curve]],
    size: tuple[float, float] | None,
) -> "Figure":
    width = max(len(columns), 2) * COLUMN + 0.5
    if not columns:
        width = 7.0
    head = HEAD if columns else LOW_HEAD
    height = head + ROW * len(rows) + (WIDE + 0.15) * len(wide) + MARGIN
    figure = new_figure(*(size or (width, height)), DPI)
    width, height = size or (width, height)
    grid: Any = figure.add_gridspec(
        len(rows) + len(wide),
        max(len(columns), 1),
        height_ratios=[ROW] * len(rows) + [WIDE] * len(wide),
        left=0.75 / width,
        right=1.0 - 0.2 / width,
        top=1.0 - head / height,
        bottom=0.5 / height,
        wspace=0.24,
        hspace=0.42,
    )
    first: Axes | None = None
    for i, row in enumerate(rows):
        for j, name in enumerate(columns):
            axes = figure.add_subplot(grid[i, j], sharex=first)
            first = first or axes
            draw_joint(axes, row, name, len(_units(rows, name)) > 1)
            if i == 0:
                axes.set_title(_title(rows, name), fontsize=SMALL + 1, color=INK, pad=20)
            if j == 0:
                write_name(axes, row.name)
            is_last = i == len(rows) - 1
            time_axis(axes, ticks=is_last, title=is_last and not wide)
    for k, (name, curves) in enumerate(wide.items()):
        axes = figure.add_subplot(grid[len(rows) + k, :], sharex=first)
        first = first or axes
        draw_robot(axes, name, curves)
        time_axis(axes, ticks=k == len(wide) - 1, title=k == len(wide) - 1)
    if first is not None:
        first.set_xlim(*_span(run))
    _head(figure, run, rows, columns, height)
    figure.align_ylabels()
    return figure


def _span(run: RecordedRun) -> tuple[float, float]:
    start, end = float(run.time[0]), float(run.time[-1])
    return (start, end) if end > start else (start - 0.5, start + 0.5)


def _units(rows: list[plot_curves.PlotRow], quantity: str) -> list[str]:
    return list(dict.fromkeys(unit_of(row, quantity) for row in rows))


def _title(rows: list[plot_curves.PlotRow], quantity: str) -> str:
    units = _units(rows, quantity)
    return TITLES[quantity] if len(units) > 1 else f"{TITLES[quantity]} [{units[0]}]"


def _head(
    figure: "Figure",
    run: RecordedRun,
    rows: list[plot_curves.PlotRow],
    columns: list[str],
    height: float,
) -> None:
    """Write the names of the run and the robot, and the legend."""
    from matplotlib.lines import Line2D

    kinds = {
        curve.kind
        for row in rows
        for name, curves in row.curves.items()
        if name in columns and name != "error"
        for curve in curves
    }
    top = 1.0 - 0.08 / height
    title = run.name if run.name == run.m.name else f"{run.name} ({run.m.name})"
    looks: dict[str, Any] = {"fontsize": SMALL + 2, "color": INK, "va": "top", "parse_math": False}
    figure.text(0.12 / figure.get_figwidth(), top, title, **looks)
    if plot_curves.COMMAND in kinds:
        word = "simulated" if run.exact else "measured"
        lines = [
            Line2D([], [], color=BLUE, lw=1.2, label=word),
            Line2D([], [], color=VERMILLION, lw=1.2, ls=dashes(""), label="commanded"),
        ]
        figure.legend(
            handles=lines, loc="upper right", bbox_to_anchor=(1.0, 1.0), ncols=2,
            fontsize=SMALL, frameon=False,
        )  # fmt: skip
