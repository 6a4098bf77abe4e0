# SPDX-License-Identifier: Apache-2.0
"""The folder "History": the orders from all pages, each with its simulated time."""

import html
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.errors import counted
from rbdyn_ros.sensors.sights import Sight
from rbdyn_ros.view.live.link import Numbers, Simulated

if TYPE_CHECKING:
    import viser

#: Largest number of orders that are kept.
MOST = 50


class OrderHistory:
    """A Simulated that passes orders on to another Simulated and records them.

    Successive orders from the same slider share a line.

    Args:
        simulated: simulation to which the orders are passed.
        names: names of the robots; the name of a single robot is empty.
    """

    def __init__(self, simulated: Simulated, names: Sequence[str] = ("",)) -> None:
        self._simulated, self._names = simulated, names
        self._time, self._lock = 0.0, threading.Lock()
        self._goals: dict[int, dict[str, str]] = {}
        self._rows = deque[tuple[object, str]](maxlen=MOST)
        self._shown: Any = None
        self._new = False

    @property
    def lines(self) -> list[str]:
        """Lines for the recorded orders, the earliest first."""
        with self._lock:
            return [line for _, line in self._rows]

    def add_to(self, server: "viser.ViserServer") -> None:
        """Show the orders in a folder of the panel."""
        with server.gui.add_folder("History", expand_by_default=False):
            self._shown = server.gui.add_html("")

    def put(self) -> None:
        """Update the folder if there are new orders."""
        if self._new:
            self._new = False
            lines = "<br>".join(html.escape(line) for line in reversed(self.lines))
            style = "padding: 0 0.75em; font-size: 0.85em; max-height: 12em; overflow: auto"
            self._shown.content = f'<div style="{style}">{lines}</div>'

    def _note(self, reason: str, robot: int | None, text: str, kind: object = None) -> str:
        """Record an order unless it was refused; return `reason`, the reason of a refusal or "".

        An order replaces the last order if both have the same `kind`, other than None.
        """
        if reason:
            return reason
        name = "" if robot is None else self._names[robot]
        with self._lock:
            if kind is not None and self._rows and self._rows[-1][0] == kind:
                self._rows.pop()
            self._rows.append((kind, f"{self._time:.2f} s  {name}{': ' if name else ''}{text}"))
            self._new = True
        return ""

    # the methods of Simulated

    def instants(self, energy: bool = False) -> list[Instant]:
        found = self._simulated.instants(energy)
        self._time = found[0].time if found else self._time
        return found

    def recast(self, robot: int) -> Any:
        return self._simulated.recast(robot)

    def sights(self, robot: int) -> list[Sight]:
        return self._simulated.sights(robot)

    def pause(self, paused: bool) -> str:
        return self._note(self._simulated.pause(paused), None, "pause" if paused else "resume")

    def step(self, ticks: int) -> str:
        return self._note(self._simulated.step(ticks), None, f"step {counted(ticks, 'tick')}")

    def reset(self) -> str:
        return self._note(self._simulated.reset(), None, "reset")

    def set_speed(self, factor: float) -> str:
        return self._note(self._simulated.set_speed(factor), None, f"speed {factor:g}", "speed")

    def push(
        self,
        robot: int,
        link: str,
        point: Numbers,
        force: Numbers,
        torque: Numbers,
        duration: float,
    ) -> str:
        reason = self._simulated.push(robot, link, point, force, torque, duration)
        return self._note(reason, robot, f"push {link} by {_row(force)} N for {duration:g} s")

    def pull(self, robot: int, link: str, point: Numbers, goal: Numbers, duration: float) -> str:
        reason = self._simulated.pull(robot, link, point, goal, duration)
        if not len(goal):
            return reason
        text = f"pull {link} to {_row(goal)} m" if len(goal) == 3 else f"turn {link}"
        return self._note(reason, robot, text, ("pull", robot, link, len(goal)))

    def drive(
        self, robot: int, efforts: Mapping[str, float], positions: Mapping[str, float]
    ) -> str:
        reason = self._simulated.drive(robot, efforts, positions)
        goals = {name: f"{name} to {q:.4g}" for name, q in positions.items()}
        goals |= {name: f"{name} by {effort:.4g} N m or N" for name, effort in efforts.items()}
        before = self._goals.get(robot, {})
        new = {name: text for name, text in goals.items() if before.get(name) != text}
        if reason or not new:
            return reason
        self._goals[robot] = goals
        return self._note(reason, robot, ", ".join(new.values()), ("drive", robot, frozenset(new)))

    def release(self, robot: int) -> str:
        self._goals.pop(robot, None)
        return self._note(self._simulated.release(robot), robot, "release")


def _row(numbers: Numbers) -> str:
    return "(" + ", ".join(f"{x:.3g}" for x in numbers) + ")"
