# SPDX-License-Identifier: Apache-2.0
"""The joints in the panel of a live view: sliders for positions and for torques."""

import html
import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.model.model import Model
from rbdyn_ros.view.live.clock import tell
from rbdyn_ros.view.live.link import Cast
from rbdyn_ros.view.scene.coordinates import Coordinate, coordinates_of
from rbdyn_ros.view.scene.wrench_lines import USUAL_GRAVITY

if TYPE_CHECKING:
    import viser

#: Range of the slider of a joint without an effort limit, as a multiple of its gravity load.
AMPLE = 2.0
#: Lever arm of the gravity load of a revolute joint [m].
LEVER = 0.5
#: If a robot has more joints than this, the folder of its sliders is closed at first.
MANY = 8
#: Period at which the position sliders follow the robot [s].
FOLLOW = 0.5
#: Number of steps of a slider from one end to the other.
STEPS = 500

#: Function of efforts and positions by joint; it returns the reason of a refusal, or "".
Drive = Callable[[Mapping[str, float], Mapping[str, float]], str]


def effort_range(m: Model, name: str) -> float:
    """Return the largest effort on the slider of a joint [N m or N].

    It is the effort limit of the joint, or a large value if the limit is 0 or infinite.
    """
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
    return f'<div style="padding: 0 0.75em; font-size: 0.85em">{content}</div>'


class JointSliders:
    """Sliders for the positions of joints and, in a folder of their own, for torques.

    The position sliders follow the robot until a user moves a slider. From then until *Release*,
    servos with gravity compensation hold all joints where the sliders stand, except the joints
    whose torque a user sets.

    Coroutines record the actions of users, because viser calls coroutines in order: so an earlier
    slider event cannot overtake a Release. `hold` passes a Release on.

    Args:
        server: server of the view.
        m: Model of the robot.
        cast: the robot as the simulation has sent it.
        drive: commands efforts and positions in the simulation, once.
        release: ends these commands.
    """

    def __init__(
        self,
        server: "viser.ViserServer",
        m: Model,
        cast: Cast,
        drive: Drive,
        release: Callable[[], str],
    ) -> None:
        self._server, self._m, self._drive, self._release = server, m, drive, release
        self._efforts: dict[str, float] = {}
        self._goals: dict[str, float] = {}
        self._released, self._due = False, 0.0
        self._lock = threading.Lock()  # guards what users have set; never held during an order
        self._ordering = threading.Lock()
        self._positions: dict[str, Any] = {}
        self._torques: dict[str, Any] = {}
        gui = server.gui
        reason = cast.refusals.get("drive", "" if cast.joints else "no joint accepts commands")
        idle = html.escape(cast.idle)
        after = f"after <i>Release</i> {idle}" if idle else "<i>Release</i> lets it fall"
        held = f"{html.escape(cast.start)}{'' if reason else f'; {after}'}"
        self._held_note: Any = gui.add_html(_line(held), visible=False)
        without = idle or "it falls; <i>Reset</i> holds it again"
        self._idle_note: Any = gui.add_html(_line(f"without commands {without}"), visible=False)
        self._idle = bool(idle or cast.start)
        if not reason:
            self._release_button: Any = gui.add_button(
                "Release",
                hint="end the commands of this page; without commands, stop holding the robot. "
                "Other programs or the timeout policy then control the joints",
            )
            self._release_button.on_click(self._press_release)
        single = {m.jnt_names[one.joint]: one for one in coordinates_of(m, 1.0) if not one.word}
        with gui.add_folder("Joints", expand_by_default=bool(reason) or len(single) <= MANY):
            if reason:
                gui.add_html(_line(html.escape(reason)))
                return
            for name in cast.joints:
                if name in single:
                    self._positions[name] = self._position_slider(name, single[name])
        with gui.add_folder("Torques (expert)", expand_by_default=False):
            units = {name: "N" if one.unit == "m" else "N m" for name, one in single.items()}
            for name in cast.joints:
                self._torques[name] = self._torque_slider(name, units.get(name, "N m"))

    def _position_slider(self, name: str, one: Coordinate) -> Any:
        step = 10.0 ** math.floor(math.log10(max(one.high - one.low, 1e-9) / STEPS))
        slider = self._server.gui.add_slider(
            f"{name} [{one.unit}]",
            min=one.low,
            max=max(one.high, one.low + step),
            step=step,
            initial_value=min(max(float(self._m.qpos0[one.entry]), one.low), one.high),
            hint="where servos with gravity compensation hold the joint",
        )

        async def moved(event: Any) -> None:
            if event.client is not None:  # a user moved the slider, not `put`
                with self._lock:
                    self._efforts.pop(name, None)
                    goals = {each: float(it.value) for each, it in self._positions.items()}
                    self._goals = {k: v for k, v in goals.items() if k not in self._efforts}

        slider.on_update(moved)
        return slider

    def _torque_slider(self, name: str, unit: str) -> Any:
        most = effort_range(self._m, name)
        slider = self._server.gui.add_slider(
            f"{name} [{unit}]", min=-most, max=most, step=most / 100.0, initial_value=0.0
        )

        async def moved(event: Any) -> None:
            if event.client is not None:
                with self._lock:
                    self._goals.pop(name, None)
                    self._efforts[name] = float(slider.value)

        slider.on_update(moved)
        return slider

    def move(self, m: Model) -> None:
        """Use a Model with other objects from now on."""
        self._m = m

    def put(self, instant: Instant) -> None:
        """Show whether sliders hold the robot; otherwise let the position sliders follow it."""
        held = instant.held
        for note, shown in (self._held_note, held), (self._idle_note, self._idle and not held):
            if note.visible != shown:
                note.visible = shown
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + FOLLOW
        with self._lock:
            for name, slider in self._positions.items():
                if name not in self._goals and name in self._m.jnt_names:
                    q = float(instant.qpos[self._m.jnt_qposadr[self._m.jnt_id(name)]])
                    # more digits do not fit into the box next to the slider
                    q = round(q, 1 - round(math.log10(slider.step)))
                    q = min(max(q, slider.min), slider.max)
                    if abs(q - slider.value) > 0.5 * slider.step:
                        slider.value = q

    async def _press_release(self, _event: Any) -> None:
        """Handle *Release*; a slider that a user moves afterwards commands its joint again."""
        self._forget(released=True)

    def _forget(self, released: bool) -> None:
        """Clear what users have set, and set the torque sliders to zero.

        `released`: whether `hold` must pass a release on.
        """
        with self._lock, self._server.atomic():
            self._efforts.clear()
            self._goals.clear()
            self._released = released
            for slider in self._torques.values():
                slider.value = 0.0

    @property
    def held(self) -> bool:
        """Whether joints are being commanded, or a release has yet to be passed on."""
        return self._released or bool(self._efforts or self._goals)

    def hold(self) -> None:
        """Pass on a release, or repeat the commands; end commands that are refused."""
        with self._ordering:
            with self._lock:
                released, self._released = self._released, False
                efforts, goals = dict(self._efforts), dict(self._goals)
            if released:
                reason = self._release()
            else:
                reason = self._drive(efforts, goals) if efforts or goals else ""
        if reason and not released:
            self.let_go()
        tell(self._server, None, reason)

    def let_go(self) -> None:
        """End the commands of the sliders, and set the torques to zero."""
        with self._ordering:
            self._forget(released=False)
            self._release()
