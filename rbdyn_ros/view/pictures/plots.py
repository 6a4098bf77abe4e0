"""Figures of a recorded run: a row for each joint, a column for each quantity, one time axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from rbdyn_ros.errors import Finding, ParameterError, did_you_mean, quoted
from rbdyn_ros.output import output_path, write_whole
from rbdyn_ros.recording.run import Run
from rbdyn_ros.view.pictures.canvas import BLUE, GREY, INK, SKY, VERMILLION, new_figure
from rbdyn_ros.view.pictures.plot_curves import (
    COMMAND,
    OF_JOINTS,
    QUANTITIES,
    STATE,
    Curve,
    Row,
    contact_forces,
    energies,
    joint_rows,
)
from rbdyn_ros.view.pictures.plot_lines import thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
#: Rows of joints on a page of a .pdf, and in a picture at most.
PAGE_ROWS, MOST_ROWS = 12, 64
#: Sizes of what a figure is made of [inch].
COLUMN, ROW, WIDE, MARGIN, HEAD = 3.1, 0.95, 1.7, 0.7, 0.85
DPI = 150.0
SMALL, TINY = 8, 7  # letters [point]

TITLES = {"position": "position", "velocity": "velocity", "effort": "effort",
          "error": "command less position"}  # fmt: skip
_UNITS = {"position": "{}", "velocity": "{}/s", "error": "{}"}
_FORCES = {"rad": "N m", "m": "N"}
# the rest of Okabe and Ito's palette
_MORE = (BLUE, VERMILLION, "#009E73", "#CC79A7", SKY, "#E69F00", GREY, INK, "#B8A800")


def draw_run(
    run: Run,
    path: str | Path,
    *,
    joints: Sequence[str] = (),
    quantities: Sequence[str] = (),
    size: tuple[float, float] | None = None,
) -> None:
    """Draw a run to a .png, .svg or .pdf file.

    Args:
        run: of read_run.
        path: of the file; what is there is replaced.
        joints: names, or patterns such as ``wrist_*``; none: all.
        quantities: of position, velocity, effort, error (command less position), energy,
            contact; none: all there are.
        size: of a page [inch]; None: what it needs.

    Raises:
        ParameterError: a joint or quantity is not there, the file cannot be written, or
            matplotlib is not installed.
    """
    target = output_path(path, "a figure", SUFFIXES)
    rows = joint_rows(run, joints)
    columns, wide = _chosen(run, rows, quantities)
    if not columns:
        rows = []
    if size is not None and not all(0.5 <= side <= 200.0 for side in size):
        text = f"the size is {size[0]:g} x {size[1]:g} inch; allowed are 0.5 to 200 each"
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
    run: Run, rows: list[Row], quantities: Sequence[str]
) -> tuple[list[str], dict[str, list[Curve]]]:
    """Return the quantities of joints, and curves of the robot by quantity."""
    for name in quantities:
        if name not in QUANTITIES:
            text = (
                f"there is no quantity {quoted(name)}{did_you_mean(name, QUANTITIES)}; there are "
                f"{', '.join(QUANTITIES)}"
            )
            raise ParameterError(Finding("no-quantity", text, "error", "quantities", None, name))
    wanted = quantities or QUANTITIES
    there = {name for row in rows for name, curves in row.curves.items() if curves}
    columns = [name for name in OF_JOINTS if name in wanted and name in there]
    makers = {"energy": energies, "contact": contact_forces}
    wide = {name: make(run) for name, make in makers.items() if name in wanted}
    wide = {name: curves for name, curves in wide.items() if curves}
    if not columns and not wide:
        text = f"the recording has nothing of {', '.join(wanted)}"
        raise ParameterError(Finding("nothing-to-draw", text, "error", "quantities"))
    return columns, wide


def _page(
    run: Run,
    rows: list[Row],
    columns: list[str],
    wide: dict[str, list[Curve]],
    size: tuple[float, float] | None,
) -> Figure:
    width = max(len(columns), 2) * COLUMN + 0.5
    if not columns:
        width = 7.0
    height = HEAD + ROW * len(rows) + (WIDE + 0.15) * len(wide) + MARGIN
    figure = new_figure(*(size or (width, height)), DPI)
    width, height = size or (width, height)
    grid: Any = figure.add_gridspec(
        len(rows) + len(wide),
        max(len(columns), 1),
        height_ratios=[ROW] * len(rows) + [WIDE] * len(wide),
        left=0.75 / width,
        right=1.0 - (1.1 if wide and not columns else 0.2) / width,
        top=1.0 - HEAD / height,
        bottom=0.5 / height,
        wspace=0.24,
        hspace=0.42,
    )
    first: Axes | None = None
    for i, row in enumerate(rows):
        for j, name in enumerate(columns):
            axes = figure.add_subplot(grid[i, j], sharex=first)
            first = first or axes
            _cell(axes, row, name, len(_units(rows, name)) > 1)
            if i == 0:
                axes.set_title(_title(rows, name), fontsize=SMALL + 1, color=INK, pad=20)
            if j == 0:
                _name(axes, row.name)
            _time_axis(axes, last=i == len(rows) - 1 and not wide)
    for k, (name, curves) in enumerate(wide.items()):
        axes = figure.add_subplot(grid[len(rows) + k, :], sharex=first)
        first = first or axes
        _robot(axes, name, curves)
        _time_axis(axes, last=k == len(wide) - 1)
    if first is not None:
        first.set_xlim(*_span(run))
    _head(figure, run, rows, columns, height)
    figure.align_ylabels()
    return figure


def _span(run: Run) -> tuple[float, float]:
    start, end = float(run.time[0]), float(run.time[-1])
    return (start, end) if end > start else (start - 0.5, start + 0.5)


def _cell(axes: Axes, row: Row, quantity: str, name_unit: bool) -> None:
    """Draw one quantity of one joint; `name_unit`: not all joints have the same."""
    for curve in row.curves.get(quantity, ()):
        time, values = thinned(curve.time, curve.values)
        if curve.kind == STATE:
            axes.plot(time, values, color=BLUE, lw=1.0, zorder=2)
        else:
            steps = "default" if quantity == "error" else "steps-post"
            style: dict[str, Any] = {"lw": 0.9, "drawstyle": steps, "zorder": 3}
            axes.plot(time, values, color=VERMILLION, ls=_dashed(quantity), **style)
    _quiet(axes)
    if not row.curves.get(quantity):
        axes.text(0.5, 0.5, "not known", transform=axes.transAxes, ha="center", va="center",
                  fontsize=TINY, color=GREY)  # fmt: skip
        axes.set_yticks([])
    elif name_unit:
        axes.set_ylabel(_unit(row, quantity), fontsize=TINY, color=GREY, labelpad=2)
    _roomy(axes)


def _dashed(quantity: str) -> Any:
    return "-" if quantity == "error" else (0, (3, 1.5))


def _roomy(axes: Axes) -> None:
    """Let a curve that hardly moves not look as if it did."""
    low, high = axes.get_ylim()
    middle = 0.5 * (low + high)
    least = 1e-6 * max(1.0, abs(middle))
    if high - low < least:
        axes.set_ylim(middle - least, middle + least)


def _robot(axes: Axes, name: str, curves: list[Curve]) -> None:
    """Draw what is of the robot as a whole, each curve named at its right end."""
    label = {"energy": "energy [J]", "contact": "contact force [N]"}[name]
    for k, curve in enumerate(curves):
        time, values = thinned(curve.time, curve.values)
        axes.plot(time, values, color=_MORE[k % len(_MORE)], lw=1.0, label=curve.kind)
    axes.set_ylabel(label, fontsize=SMALL, color=INK)
    _quiet(axes)
    _roomy(axes)
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=9, fontsize=TINY, frameon=False,
        borderaxespad=0.1, handlelength=1.4, columnspacing=1.2,
    )  # fmt: skip


def _quiet(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.tick_params(labelsize=TINY, color=GREY, labelcolor=INK, length=2.5)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-3, 4), useMathText=True)
    axes.yaxis.set_offset_position("right")  # at the left is the name of the joint
    axes.yaxis.get_offset_text().set_fontsize(TINY)
    axes.grid(visible=True, lw=0.3, color="#D0D0D0")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GREY)


def _time_axis(axes: Axes, last: bool) -> None:
    if last:
        axes.set_xlabel("time [s]", fontsize=SMALL, color=INK)
    else:
        axes.tick_params(labelbottom=False)


def _name(axes: Axes, name: str) -> None:
    """Write the name of a joint above the left end of its row, clear of all curves."""
    shown = name if len(name) <= 40 else f"{name[:39]}..."
    axes.annotate(
        shown, (0.0, 1.0), (0, 3), xycoords="axes fraction", textcoords="offset points",
        fontsize=SMALL, color=INK, fontweight="bold", va="bottom",
    )  # fmt: skip


def _unit(row: Row, quantity: str) -> str:
    if quantity == "effort":
        return _FORCES.get(row.unit, "N m or N")
    return _UNITS[quantity].format(row.unit) if row.unit else "rad or m"


def _units(rows: list[Row], quantity: str) -> list[str]:
    return list(dict.fromkeys(_unit(row, quantity) for row in rows))


def _title(rows: list[Row], quantity: str) -> str:
    units = _units(rows, quantity)
    return TITLES[quantity] if len(units) > 1 else f"{TITLES[quantity]} [{units[0]}]"


def _head(figure: Figure, run: Run, rows: list[Row], columns: list[str], height: float) -> None:
    """Write the robot's name, and what the colours are."""
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
    figure.text(0.12 / figure.get_figwidth(), top, title, fontsize=SMALL + 2, color=INK, va="top")
    if COMMAND in kinds:
        word = "simulated" if run.exact else "measured"
        lines = [
            Line2D([], [], color=BLUE, lw=1.2, label=word),
            Line2D([], [], color=VERMILLION, lw=1.2, ls=_dashed(""), label="commanded"),
        ]
        figure.legend(
            handles=lines, loc="upper right", bbox_to_anchor=(1.0, 1.0), ncols=2,
            fontsize=SMALL, frameon=False,
        )  # fmt: skip
