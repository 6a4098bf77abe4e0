# SPDX-License-Identifier: Apache-2.0
"""Efforts and forces from a live view: sliders, and a button that pushes."""

from __future__ import annotations

import html
import math
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.model.connected import connected_mass
from rbdyn_ros.model.model import Model
from rbdyn_ros.view.live.clock import tell
from rbdyn_ros.view.live.link import Cast
from rbdyn_ros.view.scene.wrench_lines import USUAL_GRAVITY

if TYPE_CHECKING:
    import viser

#: Range of the slider of a joint without an effort limit, as a multiple of its gravity load.
AMPLE = 2.0
#: Lever arm of that load for a revolute joint [m].
LEVER = 0.5
ORIGIN = (0.0, 0.0, 0.0)

Drive = Callable[[Mapping[str, float]], str]
Push = Callable[[str, Any, Any, Any, float], str]


def effort_range(m: Model, name: str) -> float:
    """Return the range of the slider of a joint [N m or N]: its effort limit or a large value."""
    j = m.jnt_names.index(name)
    limit = float(m.jnt_effort[j])
    if math.isfinite(limit) and limit > 0.0:
        return limit
    load = AMPLE * USUAL_GRAVITY * LEVER * float(m.body_subtreemass[m.jnt_bodyid[j]])
    if not load > 0.0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(load))
    return math.ceil(load / unit) * unit


def _line(content: str) -> str:
    return f'<div style="padding: 0 0.75em">{content}</div>'


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
        why = cast.refusals.get("drive", "" if cast.joints else "no joint accepts efforts")
        falls = "" if why else "; <i>Release</i> lets it fall"
        self._held_note: Any = gui.add_html(
            _line(f"{html.escape(cast.start)}{falls}"), visible=False
        )
        if not why:
            button = gui.add_button(
                "Release",
                hint="stop holding it and applying efforts; other commanders or the timeout "
                "policy take over",
            )
            button.on_click(lambda event: tell(server, event, self.let_go()))
        with gui.add_folder("Torques [N m, N]", expand_by_default=False):
            if why:
                gui.add_html(_line(html.escape(why)))
                return
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

    def put(self, instant: Instant) -> None:
        """Say whether the robot is held until its first command."""
        if self._held_note.visible != instant.held:
            self._held_note.visible = instant.held

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
    """Pushes on a link by a button.

    Args:
        server: server of the view.
        m: the robot.
        push: applies a wrench to a link: name, point, force, torque, duration.
    """

    def __init__(self, server: viser.ViserServer, m: Model, push: Push) -> None:
        self._push, self._m, self._usual = push, m, 0.0
        self._links = _links(m)
        if not self._links:
            return
        gui = server.gui
        with gui.add_folder("Push", expand_by_default=False):
            self._link: Any = gui.add_dropdown(
                "Link",
                self._links,
                initial_value=m.body_names[-1],
                hint="or click it in the scene",
            )
            self._force: Any = gui.add_vector3(
                "Force [N]", initial_value=ORIGIN, hint="x, y and z in world axes"
            )
            self._duration = gui.add_number(
                "Seconds", initial_value=0.1, min=1e-3, max=3600.0, step=1e-3
            )
            button = gui.add_button("Push", hint="at the origin of the link")
        self._link.on_update(lambda _: self._suggest())
        button.on_click(lambda event: tell(server, event, self._push_once()))
        self._suggest()

    def move(self, m: Model) -> None:
        """Go on with other objects."""
        if not self._links:
            return
        chosen = self._chosen
        self._m, self._links = m, _links(m)
        self._link.options = self._links
        self._link.value = chosen if chosen in self._links else self._links[0]

    def choose(self, body: str) -> None:
        """Choose the link of a clicked body; "" if the click hit no body."""
        if self._links and body in self._m.body_names[1:]:
            self._link.value = body

    def _suggest(self) -> None:
        """Suggest a force that suits the chosen link, unless the user set one."""
        if tuple(self._force.value) in (ORIGIN, (self._usual, 0.0, 0.0)):
            self._usual = usual_push(self._m, self._chosen)
            self._force.value = (self._usual, 0.0, 0.0)

    def _push_once(self) -> str:
        return self._push(
            self._chosen, ORIGIN, self._force.value, ORIGIN, float(self._duration.value)
        )

    @property
    def _chosen(self) -> str:
        """The chosen link; programs may write any text into the box."""
        chosen = str(self._link.value)
        return chosen if chosen in self._links else self._links[0]


def _links(m: Model) -> tuple[str, ...]:
    """Return the links that can move."""
    frames = zip(m.frame_names, m.frame_bodyid, strict=True)
    return tuple(name for name, body in frames if body > 0)


def usual_push(m: Model, link: str) -> float:
    """Return a force that moves a link [N], with two digits.

    It is half the weight of what hangs together with the link, or twice the weight if that is
    free, because it may lie on a floor with friction.
    """
    body = int(m.frame_bodyid[m.frame_id(link)])
    free = m.jnt_dofnum[m.body_rootid[body] - 1] == 6
    weight = USUAL_GRAVITY * connected_mass(m, body)
    return float(f"{(2.0 if free else 0.5) * weight:.2g}")
