# SPDX-License-Identifier: Apache-2.0
"""Draw a panel in the figure of a run: one quantity of a joint, or of the robot as a whole.

Long curves are thinned out without losing peaks. A curve has a gap where the recording lost
states.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.view.pictures.canvas import BLUE, GREY, INK, SKY, VERMILLION
from rbdyn_ros.view.pictures.plot_curves import STATE, Curve, PlotRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL, TINY = 8, 7  # font size [point]

_UNITS = {"position": "{}", "velocity": "{}/s", "error": "{}"}
_FORCES = {"rad": "N m", "m": "N"}
# colours of curves, which include the remaining colours of Okabe and Ito
_MORE = (BLUE, VERMILLION, "#009E73", "#CC79A7", SKY, "#E69F00", GREY, INK, "#B8A800")
#: Number of points of a drawn curve: two for each bucket, which is narrower than a printed dot.
MOST_POINTS = 4000
#: If the time between two states exceeds this number of usual time steps, states were lost.
GAP = 5.0


def draw_joint(axes: "Axes", row: PlotRow, quantity: str, name_unit: bool) -> None:
    """Draw one quantity of one joint; `name_unit`: write its unit, because the units differ."""
    for curve in row.curves.get(quantity, ()):
        if curve.kind == STATE:
            axes.plot(*thinned(*broken(curve)), color=BLUE, lw=1.0, zorder=2)
        else:
            time, values = thinned(curve.time, curve.values)
            steps = "default" if quantity == "error" else "steps-post"
            style: dict[str, Any] = {"lw": 0.9, "drawstyle": steps, "zorder": 3}
            axes.plot(time, values, color=VERMILLION, ls=dashes(quantity), **style)
    _quiet(axes)
    if not row.curves.get(quantity):
        axes.text(0.5, 0.5, "not known", transform=axes.transAxes, ha="center", va="center",
                  fontsize=TINY, color=GREY)  # fmt: skip
        axes.set_yticks([])
    elif name_unit:
        axes.set_ylabel(unit_of(row, quantity), fontsize=TINY, color=GREY, labelpad=2)
    _roomy(axes)


def dashes(quantity: str) -> Any:
    """Return the line style of the commands of a quantity."""
    return "-" if quantity == "error" else (0, (3, 1.5))


def _roomy(axes: "Axes") -> None:
    """Widen the y limits of the axes if all their curves are almost constant."""
    low, high = axes.get_ylim()
    middle = 0.5 * low + 0.5 * high
    least = 1e-6 * max(1.0, abs(middle))
    if high - low < least:
        axes.set_ylim(middle - least, middle + least)


def draw_robot(axes: "Axes", name: str, curves: list[Curve]) -> None:
    """Draw a quantity of the whole robot, with the names of the curves above."""
    label = {"energy": "energy [J]", "contact": "contact force [N]"}[name]
    for k, curve in enumerate(curves):
        time, values = thinned(*broken(curve))
        style: dict[str, Any] = {"color": _MORE[k % len(_MORE)], "lw": 1.0}
        if (
            curve.kind == "total"
        ):  # the total often coincides with a part; it stays visible behind the part
            style = {"color": "#BBBBBB", "lw": 3.0, "zorder": 1}
        axes.plot(time, values, label=curve.kind, **style)
    axes.set_ylabel(label, fontsize=SMALL, color=INK)
    _quiet(axes)
    _roomy(axes)
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=9, fontsize=TINY, frameon=False,
        borderaxespad=0.1, handlelength=1.4, columnspacing=1.2,
    )  # fmt: skip


def _quiet(axes: "Axes") -> None:
    from matplotlib.ticker import MaxNLocator

    axes.tick_params(labelsize=TINY, color=GREY, labelcolor=INK, length=2.5)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-3, 4), useMathText=True)
    axes.yaxis.set_offset_position("right")  # the name of the joint is on the left
    axes.yaxis.get_offset_text().set_fontsize(TINY)
    axes.grid(visible=True, lw=0.3, color="#D0D0D0")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GREY)


def time_axis(axes: "Axes", *, ticks: bool, title: bool) -> None:
    """Draw the time axis below a panel, with or without tick labels and title."""
    axes.tick_params(labelbottom=ticks)
    if title:
        axes.set_xlabel("time [s]", fontsize=SMALL, color=INK)


def write_name(axes: "Axes", name: str) -> None:
    """Write the name of a joint above the left end of its row."""
    shown = name if len(name) <= 40 else f"{name[:39]}..."
    axes.annotate(
        shown, (0.0, 1.0), (0, 3), xycoords="axes fraction", textcoords="offset points",
        fontsize=SMALL, color=INK, fontweight="bold", va="bottom", parse_math=False,
    )  # fmt: skip


def unit_of(row: PlotRow, quantity: str) -> str:
    """Return the unit of a quantity of a joint's coordinate."""
    if quantity == "effort":
        return _FORCES.get(row.unit, "N m or N")
    return _UNITS[quantity].format(row.unit) if row.unit else "rad or m"


def broken(curve: Curve) -> tuple[Array, Array]:
    """Return time and values of a curve of states, with a NaN in each gap of the recording."""
    time, steps = curve.time, np.diff(curve.time)
    gaps = np.flatnonzero(steps > GAP * np.median(steps)) if len(steps) else steps.astype(int)
    middles = time[gaps] + 0.5 * steps[gaps]
    return np.insert(time, gaps + 1, middles), np.insert(curve.values, gaps + 1, np.nan)


def thinned(time: Array, values: Array, most: int = MOST_POINTS) -> tuple[Array, Array]:
    """Return a subset of points, time and values, that looks like the whole curve when drawn.

    The first and last point are kept, and the lowest and highest value in each of most / 2 spans
    of time. Gaps (NaN) are kept.

    Args:
        time: (n,) times, increasing.
        values: (n,) values.
        most: approximate number of points.
    """
    n = len(time)
    if n <= most:
        return time, values
    span = time[-1] - time[0]
    buckets = max(most // 2, 1)
    place = (buckets * (time - time[0]) / span).astype(int) if span > 0.0 else np.zeros(n, int)
    starts = np.flatnonzero(np.diff(np.minimum(place, buckets - 1), prepend=-1))
    numbers = np.isnan(values)
    low = _extremes(np.where(numbers, np.inf, values), starts)
    high = _extremes(np.where(numbers, np.inf, -values), starts)
    gaps = np.flatnonzero(numbers & ~np.roll(numbers, 1))
    kept = np.unique(np.concatenate([[0], low, high, gaps, [n - 1]]))
    return time[kept], values[kept]


def _extremes(values: Array, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the lowest value in each bucket; the buckets begin at `starts`."""
    lowest = np.minimum.reduceat(values, starts)
    lengths = np.diff(np.append(starts, len(values)))
    is_lowest = values == np.repeat(lowest, lengths)
    places = np.flatnonzero(is_lowest)
    buckets = np.repeat(np.arange(len(starts)), lengths)[places]
    first = np.unique(buckets, return_index=True)[1]
    return places[first]
