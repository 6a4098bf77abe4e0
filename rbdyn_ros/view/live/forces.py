"""Efforts and forces from a live view: sliders, a button, and a handle to drag."""

from __future__ import annotations

import html
import math
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.model.model import Model
from rbdyn_ros.view.live.clock import tell
from rbdyn_ros.view.live.link import Cast
from rbdyn_ros.view.live.pull import GRAVITY, HandSpring

if TYPE_CHECKING:
    import viser

#: Range of the slider of a joint without an effort limit, as a multiple of its gravity load.
AMPLE = 2.0
#: Lever arm of that load for a revolute joint [m].
LEVER = 0.5
#: Duration of a pull that is not renewed [s].
HELD = 0.25
ORIGIN = (0.0, 0.0, 0.0)

Drive = Callable[[Mapping[str, float]], str]
Push = Callable[[str, Any, Any, Any, float], str]


def effort_range(m: Model, name: str) -> float:
    """Return the range of the slider of a joint [N m or N]: its effort limit or a large value."""
    j = m.jnt_names.index(name)
    limit = float(m.jnt_effort[j])
    if math.isfinite(limit) and limit > 0.0:
        return limit
    load = AMPLE * GRAVITY * LEVER * float(m.body_subtreemass[m.jnt_bodyid[j]])
    if not load > 0.0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(load))
    return math.ceil(load / unit) * unit


class Torques:
    """A slider per joint; a moved slider applies its effort until all are released.

    Args:
        server: server of the view.
        m: the robot.
        cast: the robot.
        drive: applies efforts by joint name in the simulation, once.
        release: ends these efforts.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        m: Model,
        cast: Cast,
        drive: Drive,
        release: Callable[[], str],
    ) -> None:
        self._server, self._drive, self._release = server, drive, release
        self._held: dict[str, float] = {}
        self._lock = threading.Lock()
        self._sliders: list[Any] = []
        gui = server.gui
        with gui.add_folder("Torques", expand_by_default=len(cast.joints) <= 12):
            why = cast.refusals.get("drive", "" if cast.joints else "no joint accepts efforts")
            if why:
                gui.add_html(f'<div style="padding: 0 0.75em">{html.escape(why)}</div>')
                return
            button = gui.add_button(
                "Release",
                hint="stop applying efforts; other commanders or the timeout policy take over",
            )
            button.on_click(lambda event: tell(server, event, self.let_go()))
            for name in cast.joints:
                self._add(name, effort_range(m, name))

    def _add(self, name: str, most: float) -> None:
        slider = self._server.gui.add_slider(
            name, min=-most, max=most, step=most / 100.0, initial_value=0.0
        )
        self._sliders.append(slider)

        def moved(event: Any) -> None:
            if event.client is not None:  # by a user, not by us
                with self._lock:
                    self._held[name] = float(slider.value)

        slider.on_update(moved)

    @property
    def held(self) -> bool:
        """Whether efforts are applied."""
        return bool(self._held)

    def hold(self) -> None:
        """Repeat the efforts; if they are refused, show why and release them."""
        with self._lock:
            why = self._drive(dict(self._held)) if self._held else ""
        if why:
            self.let_go()
            tell(self._server, None, why)

    def let_go(self) -> str:
        """Reset all sliders and release the joints."""
        with self._lock:
            self._held.clear()
            why = self._release()
        with self._server.atomic():
            for slider in self._sliders:
                slider.value = 0.0
        return why


class Pushes:
    """Pushes on a link: by a button, or by dragging a handle.

    Args:
        server: server of the view.
        m: the robot.
        cast: the robot.
        push: applies a wrench to a link: name, point, force, torque, duration.
        speed: returns the simulated seconds per second.
        name: name of the handle's node in the scene.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        m: Model,
        cast: Cast,
        push: Push,
        speed: Callable[[], float],
        name: str,
    ) -> None:
        self._server, self._push, self._speed, self._cast = server, push, speed, cast
        self._take(m)
        self._target: Any = None
        self._owner: int | None = None
        self._instant: Instant | None = None
        self._handle: Any = None
        self._pulling = False
        if self._links:
            self._build(self._links, m.body_names[-1], name)

    def _take(self, m: Model) -> None:
        self._spring, self._bodies = HandSpring(m), m.body_names
        frames = zip(m.frame_names, m.frame_bodyid, strict=True)
        self._links = tuple(name for name, body in frames if body > 0)

    def move(self, m: Model) -> None:
        """Go on with other objects; a link that is gone is pulled no more."""
        if self._handle is None:
            return
        chosen = self._chosen
        self._instant = None
        self._take(m)
        if chosen not in self._links:
            self._target = None
        self._link.options = self._links
        self._link.value = chosen if chosen in self._links else self._links[0]

    def _build(self, links: tuple[str, ...], link: str, name: str) -> None:
        server, gui = self._server, self._server.gui
        weight = GRAVITY * self._spring.mass
        with gui.add_folder("Push", expand_by_default=True):
            self._link: Any = gui.add_dropdown(
                "Link", links, initial_value=link, hint="or click it in the scene"
            )
            self._force = gui.add_vector3(
                "Force [N]", initial_value=(round(0.5 * weight, 1), 0.0, 0.0)
            )
            self._duration = gui.add_number(
                "Seconds", initial_value=0.1, min=1e-3, max=3600.0, step=1e-3
            )
            button = gui.add_button("Push", hint="in world axes")
            drag = gui.add_checkbox("Drag", initial_value=False, hint="show a handle to pull at")
        button.on_click(lambda event: tell(server, event, self._push_once()))
        self._handle = server.scene.add_transform_controls(
            f"{name}/handle", 0.3, disable_rotations=True, depth_test=False, visible=False
        )
        drag.on_update(lambda _: self._set_dragging(drag.value))
        self._handle.on_update(self._dragged)

    def fit(self, size: float) -> None:
        """Scale the handle for a robot of a size [m]."""
        if self._handle is not None:
            self._handle.scale = 0.25 * size

    def choose(self, body: str) -> None:
        """Choose the link of a clicked body; "" if the click hit no body."""
        if body in self._bodies[1:] and self._handle is not None:
            self._link.value = body

    def _push_once(self) -> str:
        return self._push(
            self._chosen, ORIGIN, self._force.value, ORIGIN, float(self._duration.value)
        )

    def _set_dragging(self, dragging: bool) -> None:
        self.let_go()
        self._handle.visible = dragging
        self._follow()

    async def _dragged(self, event: Any) -> None:
        """Handle a drag of the handle; a coroutine, because viser calls those in order."""
        if event.phase == "end":
            self._target = self._owner = None
        else:
            self._target, self._owner = np.array(event.target.position), event.client_id

    @property
    def held(self) -> bool:
        """Whether a link is pulled."""
        return self._target is not None or self._pulling

    def put(self, instant: Instant) -> None:
        """Take the pose of the robot; the handle stays at the link unless it is dragged."""
        self._instant = instant
        self._follow()

    def _follow(self) -> None:
        shown = self._handle is not None and self._handle.visible
        if shown and self._target is None and self._instant is not None:
            self._handle.position = self._spring.at(self._instant, self._chosen)

    def hold(self) -> None:
        """Renew or end the pull."""
        target, instant = self._target, self._instant
        if target is not None and self._owner not in self._server.get_clients():
            self._target = target = None
        if target is None or instant is None:
            self.let_go()
            return
        link = self._chosen
        force = self._spring.force(instant, link, target, self._pace(instant))
        self._pulling = True
        why = self._push(link, ORIGIN, force.tolist(), ORIGIN, self._horizon(instant))
        if why:
            self._target = None
            tell(self._server, None, why)

    def _horizon(self, instant: Instant) -> float:
        """Return the duration of a pull in simulated time [s], after which it ends by itself."""
        return min(max(HELD * self._pace(instant), 2.0 * self._cast.timestep), 3600.0)

    def _pace(self, instant: Instant) -> float:
        """Return the simulated seconds per second: measured or requested, whichever is larger."""
        pace = instant.factor if math.isfinite(instant.factor) else 1.0
        return max(pace, self._speed())

    @property
    def _chosen(self) -> str:
        """The chosen link; programs may write any text into the box."""
        chosen = str(self._link.value)
        return chosen if chosen in self._links else self._links[0]

    def let_go(self) -> None:
        """End the pull with the next tick."""
        self._target = None
        if self._pulling:
            self._pulling = False
            self._push(self._chosen, ORIGIN, ORIGIN, ORIGIN, 2.0 * self._cast.timestep)
