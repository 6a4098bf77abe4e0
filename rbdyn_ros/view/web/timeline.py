# SPDX-License-Identifier: Apache-2.0
"""Play a recording in a view: play, pause, speed and position; charts with a cursor."""

import math
import threading
import time
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.recording.run import RecordedRun
from rbdyn_ros.view.pictures.plot_curves import energies
from rbdyn_ros.view.web.charts import COLOURS, FIRST, HEIGHT, Quantities
from rbdyn_ros.view.web.playing import SPEEDS, Player
from rbdyn_ros.view.web.show import Show

#: Periods of pictures, of the slider and of the cursors [s].
FRAME, SLIDE, DRAW = 1.0 / 30.0, 0.1, 0.25
#: Number of samples of a chart, and number of steps of the slider.
SAMPLES, STEPS = 600, 500
#: Position in the panel: before all other folders.
FIRST_FOLDER = -1.0
INK = "#888888"


class Timeline:
    """The playback controls in the panel, and the thread that moves the robot.

    Args:
        show: the robot.
        run: recording of the robot.

    Attributes:
        player: the playback position.
    """

    def __init__(self, show: Show, run: RecordedRun) -> None:
        self._show, self._run, self._begin = show, run, float(run.time[0])
        usual = float(np.median(np.diff(run.time))) if len(run.time) > 1 else 0.0
        self.player = Player(run.duration, max(usual, FRAME))
        self._stopping = threading.Event()
        gui = show.server.gui
        with gui.add_folder("Recording", order=FIRST_FOLDER):
            self._line = gui.add_html("")
            self._play = gui.add_button("Play")
            step = 10.0 ** math.floor(math.log10(max(run.duration, 1e-3) / STEPS))
            self._slider: Any = gui.add_slider("Time [s]", 0.0, max(run.duration, step), step, 0.0)
            self._steps = gui.add_button_group(
                "Frame", ("|<", "<", ">", ">|"), hint="start, back, forward, end"
            )
            self._speed = gui.add_dropdown(
                "Speed", tuple(f"{speed:g}" for speed in SPEEDS), initial_value="1"
            )
            self._loop = gui.add_checkbox("Loop", initial_value=True)
        self._charts = RunCharts(show, run)
        self._connect()
        self._thread = threading.Thread(target=self._serve, name="rbdyn-replay", daemon=True)
        self._put()
        self._update()

    def _connect(self) -> None:
        player = self.player
        self._play.on_click(lambda _: player.play(not player.playing))
        self._steps.on_click(lambda event: self._stepped(event.target.value))
        self._slider.on_update(self._slid)
        self._speed.on_update(lambda _: setattr(player, "speed", float(self._speed.value)))
        self._loop.on_update(lambda _: setattr(player, "loop", bool(self._loop.value)))

    def _slid(self, event: Any) -> None:
        """Apply the slider if a user has moved it; events from `_update` have no client."""
        if event.client is not None:
            self.player.seek(float(event.target.value))

    def _stepped(self, button: str) -> None:
        player = self.player
        if button in ("<", ">"):
            player.step(1 if button == ">" else -1)
        else:
            player.play(False)
            player.seek(player.duration if button == ">|" else 0.0)

    def start(self, playing: bool = True) -> None:
        """Start the thread; also start playing if `playing`."""
        self.player.play(playing)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        self.player.moved.set()
        if self._thread.is_alive():
            self._thread.join()

    def _serve(self) -> None:
        last, slid, drawn = time.monotonic(), 0.0, 0.0
        stale = False
        while not self._stopping.is_set():
            moved = self.player.moved.wait(FRAME if self.player.playing or stale else None)
            self.player.moved.clear()
            now = time.monotonic()
            stale |= self.player.advance(now - last) or moved
            last = now
            if not stale:
                continue
            self._put()
            if now >= slid + SLIDE or moved:
                slid = now
                self._update()
            if now >= drawn + DRAW:
                drawn = now
                self._charts.mark(self._begin + self.player.time)
                stale = False

    def _put(self) -> None:
        self._show.put(self._run.instant(self._run.at(self._begin + self.player.time)))

    def _update(self) -> None:
        player = self.player
        word = "playing" if player.playing else "paused"
        with self._show.server.atomic():
            self._slider.value = player.time
            self._play.label = "Pause" if player.playing else "Play"
            self._line.content = _box(f"{word} | {player.time:.3f} of {player.duration:.3f} s")


class RunCharts:
    """Charts of a whole recording, with a cursor at the present position.

    Args:
        show: the robot.
        run: recording of the robot.
    """

    def __init__(self, show: Show, run: RecordedRun) -> None:
        self._gui, self._atomic = show.server.gui, show.server.atomic
        quantities = Quantities(run.m)
        chosen = list(range(min(FIRST, len(quantities.joints))))
        self._table = chart_table(run, quantities)
        self._plots: list[tuple[Any, list[int]]] = []
        with self._gui.add_folder("Charts", expand_by_default=True):
            for title, (labels, columns) in quantities.columns(chosen).items():
                if title.startswith("real-time") or np.isnan(self._table[:, columns]).any():
                    continue
                self._plots.append((self._plot(title, labels, columns), columns))

    def _plot(self, title: str, labels: tuple[str, ...], columns: list[int]) -> Any:
        lines = [
            {"label": label, "stroke": COLOURS[k % len(COLOURS)], "width": 1.5}
            for k, label in enumerate(labels)
        ]
        cursor = {"label": "now", "stroke": INK, "width": 1.0}
        return self._gui.add_uplot(
            with_cursor(self._table, columns, float(self._table[0, 0])),
            ({"label": "t [s]"}, *lines, cursor),  # type: ignore[arg-type]
            title=title,
            scales={"x": {"time": False}},
            height=HEIGHT,
        )

    def mark(self, at: float) -> None:
        """Move the cursor of all charts to a time [s]."""
        with self._atomic():
            for plot, columns in self._plots:
                plot.data = with_cursor(self._table, columns, at)


def chart_table(run: RecordedRun, quantities: Quantities) -> Array:
    """Return the quantities of a run at up to SAMPLES times (n, 1 + width), after the time.

    A quantity that is missing at any time is NaN at all times.
    """
    chosen = np.unique(np.linspace(0, len(run.time) - 1, SAMPLES).astype(int))
    table = np.array(
        [[run.time[k], *quantities.row(run.instant(int(k)))] for k in chosen], np.float64
    )
    n = len(quantities.joints)
    for group, rows in ((1, run.qvel), (2, run.effort)):
        if np.isnan(rows).any():
            table[:, 1 + group * n : 1 + (group + 1) * n] = np.nan
    sums = {curve.kind: curve for curve in energies(run)}
    titles = quantities.columns([])
    labels, columns = titles["energy [J]"]
    for label, column in zip(labels, columns, strict=True):
        curve = sums.get(label)
        table[:, column] = np.nan if curve is None else np.interp(
            table[:, 0], curve.time, curve.values
        )  # fmt: skip
    return table


def with_cursor(table: Array, columns: list[int], at: float) -> tuple[Array, ...]:
    """Return the data of a chart: time, its columns, and a curve that marks a time [s].

    This curve runs along the bottom except for a vertical line at the cursor. A curve with gaps
    would break the automatic scale.
    """
    k = int(np.searchsorted(table[:, 0], at))
    chosen = table[:, columns]
    low, high = (float(chosen.min()), float(chosen.max())) if chosen.size else (0.0, 1.0)
    time = np.insert(table[:, 0], k, [at] * 3)
    curves = [
        np.insert(values, k, [np.interp(at, table[:, 0], values)] * 3) for values in chosen.T
    ]
    line = np.full(len(time), low)
    line[k + 1] = high if high > low else low + 1.0
    return time, *curves, line


def _box(content: str) -> str:
    return f'<div style="padding: 0 0.75em; font-size: 0.85em">{content}</div>'
