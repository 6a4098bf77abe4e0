# SPDX-License-Identifier: Apache-2.0
"""Strip charts of a moving robot, with the last seconds of its quantities."""

import csv
import io
import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.model import Model

if TYPE_CHECKING:
    import viser


#: Number of stored instants; their period, and the period of drawing [s].
LENGTH, SAMPLE, REDRAW = 200, 0.05, 0.1
#: Number of joints that are shown at first.
FIRST = 6
HEIGHT, WIDTH = 190, 330  # size of a chart [pixels]

#: Colours that are distinct on white and on black.
COLOURS = (
    *("#4c8dff", "#e8743b", "#2fa36b", "#c94fc0", "#c9a227", "#1fb3c4"),
    *("#e05263", "#8a6df0", "#7a9e33", "#b0785a"),
)
#: Distances of ticks on an axis; not below 0.001, because labels have three decimals.
TICKS = tuple(step * 10.0**k for k in range(-3, 10) for step in (1.0, 2.0, 5.0))
#: Style of axes that is legible on light and on dark pages.
AXIS: Any = {
    "stroke": "#808890",
    "grid": {"stroke": "#80889040"},
    "ticks": {"stroke": "#80889040"},
}
STEPPED: Any = {**AXIS, "incrs": TICKS}
#: Half the smallest range of a chart's axis; larger signals determine the range.
FLAT = 0.01
ENERGIES = ("potential", "kinetic", "total")


class ChartSamples:
    """A ring buffer of rows, each with a time.

    Args:
        width: number of numbers in a row.
        length: largest number of rows.
    """

    def __init__(self, width: int, length: int = LENGTH) -> None:
        self._rows = np.zeros((length, 1 + width))
        self._count = self._next = 0

    def __len__(self) -> int:
        return self._count

    def add(self, at: float, row: Sequence[float] | Array) -> bool:
        """Add a row; clear the buffer first if time jumps back.

        Args:
            at: time [s]; a row with the time of the last row is dropped.
            row: (width,) the numbers.

        Returns:
            Whether the row was added.
        """
        if self._count:
            last = self._rows[self._next - 1, 0]
            if at == last:
                return False
            if at < last:
                self.clear()
        self._rows[self._next, 0], self._rows[self._next, 1:] = at, row
        self._next = (self._next + 1) % len(self._rows)
        self._count = min(self._count + 1, len(self._rows))
        return True

    def clear(self) -> None:
        """Remove all rows."""
        self._count = self._next = 0

    def table(self) -> Array:
        """Return the rows in the order of time (n, 1 + width); the first column is the time."""
        table: Array = np.roll(self._rows, -self._next, axis=0)
        return table[len(table) - self._count :]


class Quantities:
    """The quantities of an Instant to draw, for joints with one coordinate of their own.

    Args:
        m: the robot.

    Attributes:
        joints: names of the joints.
        width: number of numbers in a row.
    """

    def __init__(self, m: Model) -> None:
        own = np.flatnonzero((m.jnt_dofnum == 1) & (m.jnt_class == JointClass.FREE))
        self.joints = tuple(m.jnt_names[j] for j in own.tolist())
        self.width = 3 * len(own) + len(ENERGIES) + 1
        self._factor = 0.0
        self.move(m)

    def move(self, m: Model) -> None:
        """Use a Model with other objects from now on; the numbers of a removed joint are 0."""
        known = {name: j for j, name in enumerate(m.jnt_names)}
        self._there = np.array([name in known for name in self.joints], np.bool_)
        there = [known[name] for name in self.joints if name in known]
        self._qposadr, self._dofadr = m.jnt_qposadr[there], m.jnt_dofadr[there]

    def row(self, instant: Instant) -> Array:
        """Return a row (width,): positions, velocities, efforts, energies, real-time factor."""
        if math.isfinite(instant.factor):
            self._factor = instant.factor
        potential, kinetic = instant.energy or (0.0, 0.0)
        joints = np.zeros((3, len(self.joints)))
        joints[0, self._there] = instant.qpos[self._qposadr]
        joints[1, self._there] = instant.qvel[self._dofadr]
        joints[2, self._there] = instant.effort[self._dofadr]
        return np.concatenate(
            [joints.ravel(), [potential, kinetic, potential + kinetic, self._factor]]
        )

    def columns(self, chosen: Sequence[int]) -> dict[str, tuple[tuple[str, ...], list[int]]]:
        """Return for each chart, by title, its labels and its columns in ChartSamples.

        Args:
            chosen: indices of the joints to show.
        """
        n = len(self.joints)
        names = tuple(self.joints[k] for k in chosen)
        charts = {
            title: (names, [1 + group * n + k for k in chosen])
            for group, title in enumerate(
                ("position [rad, m]", "velocity [rad/s, m/s]", "torque [N m, N]")
            )
            if names
        }
        start = 1 + 3 * n
        charts["energy [J]"] = ENERGIES, [start, start + 1, start + 2]
        charts["real-time factor"] = ("factor",), [start + 3]
        return charts


class Charts:
    """The charts of a robot, in a drawer of their own, which a check box in the panel opens.

    Args:
        server: server of the view.
        m: the robot.
        name: title of the drawer.

    Attributes:
        shown: whether charts are shown; if not, they need no data.
    """

    def __init__(self, server: "viser.ViserServer", m: Model, name: str) -> None:
        self._gui, self._atomic, self._name = server.gui, server.atomic, name
        self._quantities = Quantities(m)
        self._history = ChartSamples(self._quantities.width)
        self._plots: dict[str, tuple[Any, list[int]]] = {}
        self._sampled = self._drawn = 0.0
        self._rebuild = False
        self.shown = False
        self._drawer: Any = None
        gui = server.gui
        with gui.add_folder("Charts", expand_by_default=False):
            box = gui.add_checkbox(
                "Show charts",
                initial_value=False,
                hint="the last ten seconds; drag across a chart to zoom, double-click for all",
            )
            self._frozen = gui.add_checkbox("Freeze", initial_value=False, hint="keep this time")
            save = gui.add_button("Save as CSV", hint="the chosen signals")
            with gui.add_folder("Signals", expand_by_default=False):
                charts = self._quantities.columns(range(len(self._quantities.joints)))
                self._titles = {
                    title: gui.add_checkbox(title.split(" [")[0], initial_value=True)
                    for title in charts
                }
                self._boxes = [
                    gui.add_checkbox(joint, initial_value=k < FIRST)
                    for k, joint in enumerate(self._quantities.joints)
                ]
        for each in (*self._titles.values(), *self._boxes):
            each.on_update(lambda _: self._change())
        box.on_update(lambda _: self._show(box.value))
        save.on_click(self._save)

    def move(self, m: Model) -> None:
        """Use a Model with other objects from now on; the shown joints stay the same."""
        self._quantities.move(m)

    def _show(self, shown: bool) -> None:
        self.shown = shown
        self._change()

    def _change(self) -> None:
        """Request new charts, which the drawing thread makes."""
        self._rebuild = True

    def put(self, instant: Instant) -> None:
        """Add an instant to the charts if they are shown and SAMPLE has passed."""
        now = time.monotonic()
        if self._rebuild:
            self._rebuild = False
            self._make()
        if self.shown and not self._frozen.value and now >= self._sampled + SAMPLE:
            self._sampled = now
            fresh = self._history.add(instant.time, self._quantities.row(instant))
            if fresh and now >= self._drawn + REDRAW:
                self._drawn = now
                self._draw()

    def _chosen(self) -> dict[str, tuple[tuple[str, ...], list[int]]]:
        """Return labels and columns of the chosen signals, by the title of their chart."""
        joints = [k for k, box in enumerate(self._boxes) if box.value]
        charts = self._quantities.columns(joints)
        return {title: chart for title, chart in charts.items() if self._titles[title].value}

    def _make(self) -> None:
        """Create the chosen charts in the drawer and remove all other charts."""
        with self._atomic():
            for plot, _ in self._plots.values():
                plot.remove()
            self._plots = {}
            if not self.shown:
                self._history.clear()
                if self._drawer is not None:
                    self._drawer[0].remove()
                    self._drawer = None
                return
            if self._drawer is None:
                panel = self._gui.add_panel()
                self._drawer = panel, panel.add_tab(self._name)
                panel.dock_left()
                panel.set_width(WIDTH)
            with self._drawer[1]:
                for title, (labels, columns) in self._chosen().items():
                    self._plots[title] = self._plot(title, labels, columns), columns

    def _plot(self, title: str, labels: Sequence[str], columns: Sequence[int]) -> Any:
        lines = [
            {"label": label, "stroke": COLOURS[k % len(COLOURS)], "width": 1.5}
            for k, label in enumerate(labels)
        ]
        return self._gui.add_uplot(
            self._data(self._history.table(), columns),
            ({"label": "t [s]"}, *lines),  # type: ignore[arg-type]
            title=title,
            scales=_scales(self._history.table()[:, columns]),
            axes=(AXIS, STEPPED),
            padding=(8, 16, 0, 0),
            height=HEIGHT,
        )

    @staticmethod
    def _data(table: Array, columns: Sequence[int]) -> tuple[Array, ...]:
        return tuple(np.ascontiguousarray(table[:, k]) for k in (0, *columns))

    def _draw(self) -> None:
        table = self._history.table()
        for plot, columns in self._plots.values():
            plot.data, scales = self._data(table, columns), _scales(table[:, columns])
            if plot.scales != scales:
                plot.scales = scales

    def csv(self) -> str:
        """Return the chosen signals as CSV: a line of names, then a line for each time."""
        names, columns = ["t [s]"], [0]
        for title, (labels, numbers) in self._chosen().items():
            names += [f"{label} {title}" for label in labels]
            columns += numbers
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(names)
        rows.writerows(self._history.table()[:, columns].tolist())
        return text.getvalue()

    def _save(self, event: Any) -> None:
        """Send the signals as a .csv file to the browser of the event."""
        if event.client is not None:
            event.client.send_file_download(f"{self._name}.csv", self.csv().encode())


def _scales(signals: Array) -> Any:
    """Return the scales of a chart; by default uPlot would draw a constant 0 at the edge."""
    flat = np.abs(signals).max(initial=0.0) < FLAT
    return {"x": {"time": False}, "y": {"range": (-FLAT, FLAT)} if flat else {}}
