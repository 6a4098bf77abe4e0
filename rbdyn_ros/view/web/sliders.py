# SPDX-License-Identifier: Apache-2.0
"""Sliders that set the joint positions of a robot, without dynamics."""

import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.assembly import assemble
from rbdyn_ros.dynamics.configuration import random_qpos, start_within_limits
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.errors import ModelError
from rbdyn_ros.model.model import Model
from rbdyn_ros.view.scene import coordinates
from rbdyn_ros.view.web.show import Show

if TYPE_CHECKING:
    import viser


#: About this number of steps lead from one end of a slider to the other; steps are powers of ten.
STEPS = 500.0

#: Largest number of sliders; the text box can set all coordinates.
MOST_SLIDERS = 200

#: Largest number of random configurations that are tried until the loops close.
DRAWS = 10


class Sliders:
    """A folder with a slider for each coordinate, buttons, and the configuration as text.

    At the start all joints are within their limits. In a mechanism with closed loops, a slider
    also moves the dependent joints. If the loops cannot be closed, the slider moves back.

    Args:
        show: the robot.
        moved: called with qpos (nq,) after each change.
    """

    def __init__(self, show: Show, moved: Callable[[Array], None] = lambda _: None) -> None:
        self._show, self._m, self._moved = show, show.m, moved
        closed = show.m.nefc > 0
        self._qpos: Array = show.m.qpos0.copy() if closed else start_within_limits(show.m)
        show.put(Instant.still(show.m, self._qpos))
        self._floating = coordinates.floating_entries(show.m)
        self._lock, self._rng = threading.RLock(), np.random.default_rng()
        reach = max(1.0, round(2.0 * show.scene.size, 1))
        every = coordinates.coordinates_of(show.m, reach)
        self._coordinates = every[:MOST_SLIDERS]
        gui = show.server.gui
        with gui.add_folder("Joints"):
            buttons = gui.add_button_group("Go to", ("Zero", "Random"))
            buttons.on_click(self._pressed)
            self._text: Any = gui.add_text(
                "qpos", coordinates.qpos_text(self._qpos), hint="copy or edit it"
            )
            self._text.on_update(self._typed)
            if len(every) > MOST_SLIDERS:
                gui.add_html(f"the first {MOST_SLIDERS} of {len(every)} coordinates")
            numbers = coordinates.read_numbers(show.m, self._coordinates, self._qpos)
            self._handles: list[Any] = [
                self._slider(one, number)
                for one, number in zip(self._coordinates, numbers, strict=True)
            ]

    @property
    def qpos(self) -> Array:
        """Copy of the shown configuration (nq,)."""
        with self._lock:
            shown: Array = self._qpos.copy()
            return shown

    @property
    def labels(self) -> list[str]:
        """The labels of the sliders, without the current angles."""
        return [_name(self._m, one) for one in self._coordinates]

    def _pressed(self, event: "viser.GuiEvent[Any]") -> None:
        if event.target.value == "Zero":
            self.zero()
        else:
            self.random(event.client)

    def zero(self) -> None:
        """Set the sliders and the robot to qpos0."""
        self.set(self._m.qpos0)

    def random(self, client: "viser.ClientHandle | None" = None) -> None:
        """Set a random configuration within the limits and with closed loops."""
        reason = ""
        for _ in range(DRAWS):
            qpos = random_qpos(self._m, self._rng)
            qpos[self._floating] = self._m.qpos0[self._floating]  # so that the base stays visible
            try:
                self.set(self._closed(qpos, ()))
            except ModelError as error:
                reason = str(error)
            else:
                return
        _notify(client, reason)

    def set(self, qpos: Array, moved_by: Any = None) -> None:
        """Show a configuration (nq,), and set the text and all sliders.

        The control `moved_by` is not set, because the user may still be moving it. None: set all.
        """
        with self._lock, self._show.server.atomic():
            new = np.array(qpos, np.float64)
            self._show.put(Instant.still(self._m, new))  # raises if the configuration is invalid
            self._qpos = new
            numbers = coordinates.read_numbers(self._m, self._coordinates, self._qpos)
            for one, handle, number in zip(self._coordinates, self._handles, numbers, strict=True):
                if handle is not moved_by:
                    handle.value = min(max(number, one.low), one.high)
                handle.label = _label(self._m, one, number)
            if self._text is not moved_by:
                self._text.value = coordinates.qpos_text(self._qpos)
        self._moved(self._qpos.copy())

    def _slider(self, one: coordinates.Coordinate, number: float) -> Any:
        low, high = sorted((one.low, one.high))
        span = max(high - low, 1e-9)
        handle = self._show.server.gui.add_slider(
            _label(self._m, one, number),
            low,
            low + span,
            10.0 ** math.floor(math.log10(span / STEPS)),
            min(max(number, low), low + span),
            hint=f"{_name(self._m, one)}, {low:.4g} to {high:.4g} {one.unit}",
        )
        handle.on_update(lambda event: self._slid(event, one))
        return handle

    def _slid(self, event: "viser.GuiEvent[Any]", one: coordinates.Coordinate) -> None:
        """Apply a slider that a user has moved; events from `set` have no client."""
        if event.client is None:
            return
        with self._lock:
            number = _between(event.target.value, one)  # a client can send any value
            numbers = coordinates.read_numbers(self._m, self._coordinates, self._qpos)
            at = self._coordinates.index(one)
            if number == numbers[at]:  # a later event has already set this value
                return
            numbers[at] = number
            qpos = coordinates.write_numbers(self._m, self._coordinates, numbers, self._qpos)
            try:
                fixed = (self._m.jnt_names[one.joint],)
                self.set(self._closed(qpos, fixed), event.target)
            except ModelError as error:
                self.set(self._qpos)
                _notify(event.client, str(error))

    def _typed(self, event: "viser.GuiEvent[Any]") -> None:
        """Apply the text if it is a valid configuration; otherwise say why it is not."""
        if event.client is None:
            return
        qpos = coordinates.parse_qpos(self._m, event.target.value)
        if isinstance(qpos, str):
            return
        try:
            self.set(self._closed(qpos, ()), event.target)
        except ModelError as error:
            self.set(self._qpos)
            _notify(event.client, str(error))

    def _closed(self, qpos: Array, fixed: tuple[str, ...]) -> Array:
        """Return a configuration near qpos with closed loops, in which the joints `fixed` stay.

        Raises:
            ModelError: the loops cannot be closed.
        """
        return assemble(self._m, qpos, fixed) if self._m.nefc else qpos


def _between(value: object, one: coordinates.Coordinate) -> float:
    """Return a number clamped to the range of a slider; if the value is no number: its low end."""
    number = float(value) if isinstance(value, int | float) else math.nan
    low, high = sorted((one.low, one.high))
    return min(max(number, low), high) if math.isfinite(number) else low


def _name(m: Model, one: coordinates.Coordinate) -> str:
    return f"{m.jnt_names[one.joint]} {one.word}".strip()


def _label(m: Model, one: coordinates.Coordinate, number: float) -> str:
    """Return the label of a slider: its name, its unit and, for an angle, the degrees too."""
    label = f"{_name(m, one)} [{one.unit}]"
    if one.unit != "rad":
        return label
    # browsers may break a line at a hyphen or a space, but not at a minus sign or a no-break space
    degrees = str(round(math.degrees(number))).replace("-", "\N{MINUS SIGN}")
    return f"{label},\N{NO-BREAK SPACE}{degrees}\N{DEGREE SIGN}"


def _notify(client: "viser.ClientHandle | None", message: str) -> None:
    if client is not None:
        client.add_notification("Not possible", message, color="red", auto_close_seconds=8.0)
