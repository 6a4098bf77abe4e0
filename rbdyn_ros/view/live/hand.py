# SPDX-License-Identifier: Apache-2.0
"""The hand: a user drags a link with the mouse to pull it, or with Shift to rotate it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.view.live.clock import tell
from rbdyn_ros.view.web.show import Show

if TYPE_CHECKING:
    import viser

#: Duration of a pull that is not renewed, in wall time [s].
HELD = 0.25
#: If a pull lasts this long while the simulated time stands still, the user gets a note [s].
PATIENCE = 1.0
#: A drag by this share of the robot's size rotates a link by one radian.
TURN = 0.2
#: Largest angle by which a drag rotates a link [rad]; the spring cannot follow full turns.
MOST_TURN = 2.5
COLOR = (213, 94, 0)
#: A smaller force or torque is a rounding error and is shown as 0 [N], [N m].
LEAST = 1e-6

#: Function of link, point in its frame, goal and duration; returns the reason of a refusal or "".
Pull = Callable[[str, Sequence[float], Sequence[float], float], str]


@dataclass(slots=True, eq=False)
class Grip:
    """A drag under way.

    Attributes:
        client: number of the browser.
        link: name of the body.
        point: (3,) dragged point in the frame of the body [m].
        start: (3,) position of this point on the page when the drag began [m].
        pose: (3, 3) orientation of the body when the drag began.
        view: (3,) direction in which the camera looks.
        turns: whether the drag rotates the body.
        goal: position (3,) of the cursor in the robot's world [m]; or orientation (9,) of the
            body.
        cursor: (3,) position of the cursor on the page [m].
        tick, since: newest tick of the simulation, and wall time of its arrival [s].
    """

    client: int
    link: str
    point: Array
    start: Array
    pose: Array
    view: Array
    turns: bool
    goal: Array
    cursor: Array
    tick: int = -1
    since: float = 0.0
    noted: bool = False


class Hand:
    """Pulls and rotates the links of a robot that are dragged in the scene.

    Only one browser at a time can drag. A drag ends if its browser closes, its link disappears, or
    the simulation refuses it.

    Args:
        server: server of the view.
        pull: pulls a link in the simulation; with an empty goal it ends the pull.
        pace: returns the simulated seconds per second.
        timestep: duration of a tick [s].
        name: name of the parent of the hand's scene nodes.
    """

    _show: Show

    def __init__(
        self,
        server: "viser.ViserServer",
        pull: Pull,
        pace: Callable[[], float],
        timestep: float,
        name: str,
    ) -> None:
        self._server, self._pull, self._name = server, pull, name
        self._pace, self._timestep = pace, timestep
        self._grip: Grip | None = None
        self._ending: Grip | None = None
        self._instant: Instant | None = None

    def take(self, show: Show) -> None:
        """Set the shown robot, whose drags `dragged` handles."""
        self._show = show
        scene, size, name = self._server.scene, show.scene.size, self._name
        self._line: Any = scene.add_arrows(
            f"{name}/line", np.zeros((0, 2, 3)), COLOR, shaft_radius=0.004 * size,
            head_radius=0.012 * size, head_length=0.03 * size,
        )  # fmt: skip
        self._label: Any = scene.add_label(f"{name}/force", "", visible=False)

    @property
    def held(self) -> bool:
        """Whether a link is being pulled, or a pull has yet to be ended in the simulation."""
        return self._grip is not None or self._ending is not None

    async def dragged(self, link: str, event: Any) -> None:
        """Handle viser's event of a drag of a link.

        This is a coroutine, because viser calls coroutines in the order of the events.
        """
        if event.phase == "start":
            self._begin(link, event)
        elif self._grip is not None and self._grip.client == event.client_id:
            if event.phase == "end":
                self._drop()
            else:
                self._follow(event)

    def _begin(self, link: str, event: Any) -> None:
        if self._grip is not None:
            tell(self._server, event, "another browser is dragging; wait until it lets go")
            return
        if self._instant is not None and self._instant.fault:
            tell(self._server, event, f"{self._instant.fault}; reset the simulation first")
            return
        position, R = self._show.pose(link)
        start = np.asarray(event.start_position, np.float64)
        view = start - np.asarray(event.client.camera.position)
        if not np.isfinite([*start, *view]).all():
            return
        turns = event.modifier == "shift"
        self._grip = Grip(
            event.client_id, link, R.T @ (start - position), start, R, view, turns,
            R.reshape(-1) if turns else start - self._show.nodes.origin, start,
        )  # fmt: skip
        self._follow(event)

    def _follow(self, event: Any) -> None:
        """Move the goal to the cursor, or rotate the goal as far as the cursor was dragged."""
        grip, cursor = self._grip, np.asarray(event.end_position, np.float64)
        if grip is None or not np.isfinite(cursor).all():
            return
        grip.cursor = cursor
        if grip.turns:
            away = (cursor - grip.start) / (TURN * self._show.scene.size)
            turn = np.cross(away, grip.view / max(float(np.linalg.norm(grip.view)), 1e-9))
            grip.goal = (rotation(turn) @ grip.pose).reshape(-1)
        else:
            grip.goal = cursor - self._show.nodes.origin

    def _drop(self) -> None:
        self._grip, self._ending = None, self._grip

    def move(self) -> None:
        """End a pull on a link that was removed, after the objects have changed."""
        grip, self._instant = self._grip, None
        if grip is not None and grip.link not in self._show.m.body_names:
            self._grip = None
            tell(self._server, None, f"'{grip.link}' is gone, so the pull ends")

    def put(self, instant: Instant) -> None:
        """Show the pull at an instant: a line to the cursor, and the force at its end."""
        self._instant, grip = instant, self._grip
        if grip is None:
            if self._label.visible:
                self._label.visible = False
                self._line.points = np.zeros((0, 2, 3), np.float32)
            return
        position, R = self._show.pose(grip.link)
        self._line.points = np.array([[position + R @ grip.point, grip.cursor]], np.float32)
        self._label.position = grip.cursor
        self._label.text = _strength(instant, self._show.m.body_names.index(grip.link), grip.turns)
        self._label.visible = True

    def hold(self) -> None:
        """Renew the pull in the simulation, or end it if the drag has ended."""
        if self._grip is not None and self._grip.client not in self._server.get_clients():
            self._drop()
        grip = self._grip
        if grip is None:
            self.let_go()
            return
        duration = min(max(HELD * self._pace(), 2.0 * self._timestep), 3600.0)
        reason = self._pull(grip.link, grip.point.tolist(), grip.goal.tolist(), duration)
        if reason:
            self._grip = None
            tell(self._server, None, reason)
        self._note_standing_time(grip)

    def _note_standing_time(self, grip: Grip) -> None:
        """Tell the user, once per drag, that the pull does not act because time stands still."""
        instant, now = self._instant, time.monotonic()
        if instant is None or instant.tick != grip.tick:
            grip.tick, grip.since = -1 if instant is None else instant.tick, now
        elif now > grip.since + PATIENCE and not grip.noted:
            grip.noted = True
            cause = "paused" if instant.paused else "waiting for commands in lock-step"
            tell(self._server, None, f"time is {cause}; the pull acts when it goes on")

    def let_go(self) -> None:
        """End the drag; the next `hold` ends the pull in the simulation."""
        ending = self._ending or self._grip
        self._grip = self._ending = None
        if ending is not None:
            self._pull(ending.link, ending.point.tolist(), (), 2.0 * self._timestep)


def rotation(vector: Array) -> Array:
    """Return the matrix (3, 3) of a rotation vector [rad]; limit its angle to MOST_TURN."""
    angle = float(np.linalg.norm(vector))
    axis = vector / max(angle, 1e-12)
    half = 0.5 * min(angle, MOST_TURN)
    return quat_to_mat(np.array([np.cos(half), *(np.sin(half) * axis)]))


def _strength(instant: Instant, body: int, turns: bool) -> str:
    """Return the force, or torque if `turns`, on a body as text; "" if wrenches are unknown."""
    if instant.xfrc is None or body >= len(instant.xfrc):
        return ""
    wrench = instant.xfrc[body, 3:] if turns else instant.xfrc[body, :3]
    size = float(np.linalg.norm(wrench))
    return f"{size if size > LEAST else 0.0:.3g} {'N m' if turns else 'N'}"
