# SPDX-License-Identifier: Apache-2.0
"""Time in the panel of a live view: its state, and buttons to pause, step, reset and speed up."""

from __future__ import annotations

import html
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.view.live.link import Simulated

if TYPE_CHECKING:
    import viser

SPEEDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
MOST_TICKS = 100_000
#: Period of the state line [s].
REFRESH = 0.2


def tell(server: viser.ViserServer, event: Any, why: str) -> None:
    """Show a refusal to the client of an event, or to all; does nothing if why is empty."""
    if not why:
        return
    clients = [event.client] if getattr(event, "client", None) else server.get_clients().values()
    for client in clients:
        client.add_notification("Not done", why, auto_close_seconds=10.0, color="red")


def state_line(instants: Sequence[Instant]) -> str:
    """Return the state line: running, paused or a fault; the time and its speed."""
    first = instants[0]
    faults = [instant.fault for instant in instants if instant.fault]
    state = "paused" if all(instant.paused for instant in instants) else "running"
    parts = [f"fault: {faults[0]}" if faults else state, f"{first.time:.3f} s"]
    if math.isfinite(first.factor):
        parts.append(f"{first.factor:.3g} x real time")
    return " | ".join(parts)


def speed_text(speed: float) -> str:
    """Return the label of a speed."""
    return f"{speed:g} x"


def speeds_with(speed: float) -> dict[str, float]:
    """Return the offered speeds by label, including this one."""
    return {speed_text(each): each for each in sorted({*SPEEDS, speed})}


class Clock:
    """The controls of time in the panel.

    Args:
        server: server of the view.
        simulated: the simulation to control.
        speed: requested simulated seconds per second.
        refusals: see Cast.

    Attributes:
        speed: requested speed, set here or by others.
        pace: simulated seconds per second: measured or requested, whichever is larger.
        before_reset: called before a reset.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        simulated: Simulated,
        speed: float,
        refusals: Mapping[str, str],
    ) -> None:
        self._server, self._simulated = server, simulated
        self.speed = self.pace = speed
        self.before_reset: Callable[[], None] = lambda: None
        self._paused, self._told, self._due = False, "", 0.0
        self._speeds: dict[str, float] = {}
        self._box: Any = None
        gui = server.gui
        self._line = gui.add_html("")
        self._buttons: Any = gui.add_button_group(
            "Time",
            ("Pause", "Step", "Reset"),
            hint="Step runs some ticks while paused; Reset returns to the start, and time goes on",
        )
        self._buttons.on_click(lambda event: self._pressed(event.target.value, event))
        if "set_speed" not in refusals:
            self._add_speed()
        self._ticks = gui.add_number(
            "Ticks", initial_value=1, min=1, max=MOST_TICKS, step=1, hint="of a step"
        )

    def _pressed(self, button: str, event: Any) -> None:
        orders = {"Step": self.step, "Reset": self.reset}
        orders.get(button, self.pause)(event)

    def pause(self, event: Any) -> None:
        """Pause or continue the simulation."""
        tell(self._server, event, self._simulated.pause(not self._paused))

    def step(self, event: Any) -> None:
        """Run some ticks while paused."""
        tell(self._server, event, self._simulated.step(int(self._ticks.value)))

    def reset(self, event: Any) -> None:
        """Return to the start, at rest; time goes on."""
        self.before_reset()
        tell(self._server, event, self._simulated.reset())

    def _add_speed(self) -> None:
        self._speeds = speeds_with(self.speed)
        box = self._box = self._server.gui.add_dropdown(
            "Speed",
            tuple(self._speeds),
            initial_value=speed_text(self.speed),
            hint="simulated seconds per second",
        )

        def change(event: Any) -> None:
            if event.client is None:  # our own change
                return
            why = self._simulated.set_speed(self._speeds.get(box.value, self.speed))
            if why:
                tell(self._server, event, why)
                self._show_speed()

        box.on_update(change)

    def _show_speed(self) -> None:
        if self._box is not None:
            self._speeds = speeds_with(self.speed)
            # first the options: the value must be one of them
            self._box.options = tuple(self._speeds)
            self._box.value = speed_text(self.speed)

    def put(self, instants: Sequence[Instant]) -> None:
        """Update the state line."""
        paused = all(instant.paused for instant in instants)
        if paused != self._paused:
            self._paused = paused
            self._buttons.options = ("Resume" if paused else "Pause", "Step", "Reset")
            self._due = 0.0
        wanted = instants[0].wanted
        if math.isfinite(wanted) and wanted != self.speed:
            self.speed = wanted
            self._show_speed()
        factor = instants[0].factor
        self.pace = max(factor, self.speed) if math.isfinite(factor) else self.speed
        now, line = time.monotonic(), state_line(instants)
        if line != self._told and now >= self._due:
            self._told, self._due = line, now + REFRESH
            bad = any(instant.fault for instant in instants)
            style = f"padding: 0 0.75em; {'color: #e03131; ' if bad else ''}font-weight: 600"
            self._line.content = f'<div style="{style}">{html.escape(line)}</div>'
