# SPDX-License-Identifier: Apache-2.0
"""The folder of time in a live view: the state, and buttons for pause, step, reset and speed."""

import html
import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.view.live.link import Simulated

if TYPE_CHECKING:
    import viser

SPEEDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
SLOWER, FASTER = "\N{MINUS SIGN}", "+"
MOST_TICKS = 100_000
#: The requested speed is also shown if it differs from the measured speed by more than this share.
APART = 0.05
#: Period at which the state line is updated [s].
REFRESH = 0.2


def tell(server: "viser.ViserServer", event: Any, reason: str) -> None:
    """Show a reason in the browser of an event; event None: in all browsers; "": in none."""
    if not reason:
        return
    clients = [event.client] if getattr(event, "client", None) else server.get_clients().values()
    for client in clients:
        client.add_notification("Not done", reason, auto_close_seconds=10.0, color="red")


def state_line(instants: Sequence[Instant]) -> str:
    """Return the state line for the robots' instants: state or fault, time and speed."""
    first = instants[0]
    faults = [instant.fault for instant in instants if instant.fault]
    state = "paused" if all(instant.paused for instant in instants) else "running"
    state = "not started yet" if first.tick < 0 else state
    parts = [f"fault: {faults[0]}" if faults else state, f"{first.time:.3f} s"]
    measured = first.factor if math.isfinite(first.factor) else 1.0
    if math.isfinite(first.factor):
        parts.append(f"{measured:.3g} x real time")
    if math.isfinite(first.wanted) and abs(first.wanted - measured) > APART * first.wanted:
        parts.append(f"{first.wanted:g} x wanted")
    return " | ".join(parts)


def next_speed(speed: float, faster: bool) -> float:
    """Return the next offered speed; at the end of the list the speed stays."""
    others = [each for each in SPEEDS if (each > speed if faster else each < speed)]
    return (min if faster else max)(others, default=speed)


class Clock:
    """The controls of time in the panel.

    Args:
        server: server of the view.
        simulated: the simulation to control.
        speed: requested simulated seconds per second.
        refusals: reasons for orders that are never accepted, see Cast.

    Attributes:
        speed: requested simulated seconds per second, set here or by another client.
        pace: the larger of the measured and the requested simulated seconds per second.
        before_reset: function that is called before a reset.
    """

    def __init__(
        self,
        server: "viser.ViserServer",
        simulated: Simulated,
        speed: float,
        refusals: Mapping[str, str],
    ) -> None:
        self._server, self._simulated = server, simulated
        self.speed = self.pace = speed
        self.before_reset: Callable[[], None] = lambda: None
        self._paused, self._shown, self._due = False, "", 0.0
        gui = server.gui
        self._line = gui.add_html("")
        self._more = () if "set_speed" in refusals else (SLOWER, FASTER)
        self._buttons: Any = gui.add_button_group(
            "Time",
            ("Pause", "Step", "Reset", *self._more),
            hint="Step runs some ticks while paused; Reset returns to the start, and time goes "
            f"on; {SLOWER} and {FASTER} change the simulated seconds per second",
        )
        self._buttons.on_click(lambda event: self._pressed(event.target.value, event))
        self._ticks = gui.add_number(
            "Ticks", initial_value=1, min=1, max=MOST_TICKS, step=1, hint="of a step"
        )

    def _pressed(self, button: str, event: Any) -> None:
        orders: dict[str, Callable[[Any], None]] = {
            "Pause": partial(self._order_pause, True),
            "Resume": partial(self._order_pause, False),
            "Step": self.step,
            "Reset": self.reset,
            SLOWER: partial(self.change_speed, faster=False),
            FASTER: partial(self.change_speed, faster=True),
        }
        if button in orders:  # a client can send any word
            orders[button](event)

    def pause(self, event: Any) -> None:
        """Pause or continue the simulation."""
        self._order_pause(not self._paused, event)

    def _order_pause(self, paused: bool, event: Any) -> None:
        tell(self._server, event, self._simulated.pause(paused))

    def step(self, event: Any) -> None:
        """Run some ticks while paused."""
        tell(self._server, event, self._simulated.step(int(self._ticks.value)))

    def reset(self, event: Any) -> None:
        """Return the robots to their start, at rest; time continues."""
        self.before_reset()
        tell(self._server, event, self._simulated.reset())

    def change_speed(self, event: Any, faster: bool) -> None:
        """Request the next faster or slower speed of the list; show the reason of a refusal."""
        speed = next_speed(self.speed, faster)
        if not (reason := self._simulated.set_speed(speed)):
            self.speed = speed
        tell(self._server, event, reason)

    def put(self, instants: Sequence[Instant]) -> None:
        """Update the state line from the instants of the robots."""
        paused = all(instant.paused for instant in instants)
        if paused != self._paused:
            self._paused = paused
            first = "Resume" if paused else "Pause"
            self._buttons.options = (first, "Step", "Reset", *self._more)
            self._due = 0.0
        wanted = instants[0].wanted
        if math.isfinite(wanted):
            self.speed = wanted
        factor = instants[0].factor
        self.pace = max(factor, self.speed) if math.isfinite(factor) else self.speed
        now, line = time.monotonic(), state_line(instants)
        if line != self._shown and now >= self._due:
            self._shown, self._due = line, now + REFRESH
            bad = any(instant.fault for instant in instants)
            style = f"padding: 0 0.75em; {'color: #e03131; ' if bad else ''}font-weight: 600"
            self._line.content = f'<div style="{style}">{html.escape(line)}</div>'
