# SPDX-License-Identifier: Apache-2.0
"""The live view, which polls a simulation in another process, shows it and sends it orders."""

import contextlib
import os
import runpy
import select
import threading
import time
from collections.abc import Sequence
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.view.live.clock import Clock
from rbdyn_ros.view.live.forces import Pushes
from rbdyn_ros.view.live.hand import Hand
from rbdyn_ros.view.live.history import OrderHistory
from rbdyn_ros.view.live.joints import JointSliders
from rbdyn_ros.view.live.keys import Keys
from rbdyn_ros.view.live.link import FAILED, SERVING, WARNED, Cast, Remote, Simulated
from rbdyn_ros.view.live.loading import load, moved, warning_of
from rbdyn_ros.view.live.sights import Sights
from rbdyn_ros.view.web.charts import Charts
from rbdyn_ros.view.web.server import address_of, open_server
from rbdyn_ros.view.web.show import Show, frame_camera, stand_side_by_side

if TYPE_CHECKING:
    import viser

#: Niceness of the process, so that other processes have priority.
NICE = 10
#: Periods of polling with and without a connected browser [s].
WATCHED, ALONE = 1.0 / 30.0, 1.0
#: Period at which commands are repeated, and shortest period if the command timeout is short [s].
REPEAT, SOONEST = 0.03, 0.005


class Live:
    """Shows simulated robots in a browser.

    Args:
        server: server of the view.
        casts: the robots, at least one.
        simulated: the simulation.
    """

    def __init__(
        self, server: "viser.ViserServer", casts: Sequence[Cast], simulated: Simulated
    ) -> None:
        self._server = server
        self._simulated = simulated = OrderHistory(simulated, [cast.name for cast in casts])
        self._woken, self._ended = threading.Event(), threading.Event()
        self._failure: Exception | None = None
        with server.atomic():
            first = casts[0]
            self.clock = Clock(server, simulated, first.speed, first.refusals)
            clock = self.clock
            self.keys = Keys(
                server,
                {
                    "space": ("Pause, or continue", clock.pause),
                    "arrowright": ("Step while paused", clock.step),
                    "R": ("Reset", clock.reset),
                },
            )
            self._chosen = self._add_choice(casts)
            self.robots = [
                LiveRobot(server, cast, simulated, k, self.clock) for k, cast in enumerate(casts)
            ]
            simulated.add_to(server)
            if len(casts) > 1:
                shows = [robot.show for robot in self.robots]
                stand_side_by_side(shows)
                frame_camera(server, shows)
                self._choose()
        clock.before_reset = self._let_go
        self._frame_start()
        server.on_client_connect(lambda _: self._woken.set())
        timeout = min(cast.command_timeout for cast in casts)
        self._repeat = max(min(REPEAT, timeout / 3.0), SOONEST)

    def _add_choice(self, casts: Sequence[Cast]) -> Any:
        if len(casts) == 1:
            return None
        choice = self._server.gui.add_dropdown("Robot", tuple(cast.name for cast in casts))
        choice.on_update(lambda _: self._choose())
        return choice

    def _frame_start(self) -> None:
        """Show the robots at their start, and set the initial camera, which follows the robot."""
        before, camera = self._shown.show.nodes.centre, self._server.initial_camera
        self.poll()
        moved = self._shown.show.nodes.centre - before
        camera.position, camera.look_at = camera.position + moved, camera.look_at + moved

    @property
    def _shown(self) -> "LiveRobot":
        """The robot whose folder in the panel is shown."""
        chosen = None if self._chosen is None else self._chosen.value
        return next((one for one in self.robots if one.name == chosen), self.robots[0])

    def _choose(self) -> None:
        """Show the folder of the chosen robot, and hide the folders of all others."""
        for robot in self.robots:
            robot.folder.visible = robot.name == self._chosen.value

    def _let_go(self) -> None:
        """Release all joints that sliders hold, so that a reset robot stays at its start."""
        for robot in self.robots:
            if robot.joints.held:
                robot.joints.let_go()

    def run(self) -> None:
        """Poll and show the simulation until `close` is called.

        Raises:
            EOFError, OSError: the simulation has ended.
        """
        holder = threading.Thread(target=self._hold, name="rbdyn-hold", daemon=True)
        holder.start()
        while not self._ended.is_set():
            begun = time.monotonic()
            self.poll()
            pause = WATCHED if self._server.get_clients() else ALONE
            self._woken.wait(max(begun + pause - time.monotonic(), 0.0))
            self._woken.clear()
        holder.join()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Make the method `run` return."""
        self._ended.set()
        self._woken.set()

    def poll(self) -> None:
        """Get the present instants of the robots and show them."""
        energy = any(robot.charts.shown for robot in self.robots)
        instants = self._simulated.instants(energy)
        if len(instants) != len(self.robots):
            return
        for robot, instant in zip(self.robots, instants, strict=True):
            robot.enter(instant.world)
        with self._server.atomic():
            self.clock.put(instants)
            for robot, instant in zip(self.robots, instants, strict=True):
                robot.put(instant)
            self.keys.put(self._shown.show.nodes.centre)
            self._simulated.put()
        if self._server.get_clients():
            for robot in self.robots:
                robot.look()

    def _hold(self) -> None:
        """Repeat commands and pulls; end them all if no browser is connected."""
        try:
            while not self._ended.wait(self._repeat):
                watched = bool(self._server.get_clients())
                for robot in self.robots:
                    robot.hold(watched)
        except Exception as error:  # noqa: BLE001 - run raises it, so that nothing stays applied unseen
            self._failure = error
            self.close()


class LiveRobot:
    """One robot of the view: its scene and its folder in the panel.

    Args:
        server: server of the view.
        cast: the robot.
        simulated: the simulation.
        number: number of the robot in the simulation.
        clock: the controls of time.

    Attributes:
        label: name of the robot in the view.
        folder: folder of the robot in the panel.
        findings: warnings about the robot's appearance.
    """

    def __init__(
        self,
        server: "viser.ViserServer",
        cast: Cast,
        simulated: Simulated,
        number: int,
        clock: Clock,
    ) -> None:
        m, looks = load(cast)
        self._server, self._looks, self._world = server, looks, cast.world
        self._recast = partial(simulated.recast, number)
        self.name, self.label = cast.name, cast.name or m.name
        self._last: tuple[object, ...] = ()
        self.folder = server.gui.add_folder(cast.name or None)
        with self.folder:
            self.joints = JointSliders(
                server,
                m,
                cast,
                partial(simulated.drive, number),
                partial(simulated.release, number),
            )
            self.pushes = Pushes(server, m, partial(simulated.push, number))
            self.charts = Charts(server, m, self.label)
            pull = partial(simulated.pull, number)
            name = f"/hand{number}"
            self.hand = Hand(server, pull, lambda: clock.pace, cast.timestep, name)
            self.show = Show(server, m, looks, cast.name, self.hand.dragged)
            self.hand.take(self.show)
            seen = partial(simulated.sights, number)
            self._sights = Sights(server, self.show, seen) if cast.sees else None
        self.findings = (*looks.findings, *self.show.scene.findings)
        self.show.on_click(self.pushes.choose)

    def enter(self, world: int) -> None:
        """Show the objects of the world with this number, unless they are shown already."""
        cast = self._recast() if world != self._world else None
        if cast is None or cast.world != world:
            return
        m, looks = moved(cast, self.show.m, self._looks)
        with self._server.atomic():
            self.show.move(m, looks)
            self.joints.move(m)
            self.pushes.move(m)
            self.hand.move()
            self.charts.move(m)
        self._world = world

    def put(self, instant: Instant) -> None:
        """Show an instant, unless it belongs to a world that is not shown."""
        if instant.world != self._world:
            return
        self.joints.put(instant)
        self.charts.put(instant)
        now = (instant.time, instant.tick, instant.qpos.tobytes())
        if now != self._last:
            self._last = now
            self.show.put(instant)
        self.hand.put(instant)

    def look(self) -> None:
        """Show the pictures and points of the sensors."""
        if self._sights is not None:
            self._sights.look()

    def hold(self, watched: bool) -> None:
        """Repeat commands and pulls; `watched` false (no browser is connected): end them."""
        for part in (self.joints, self.hand):
            if part.held:
                (part.hold if watched else part.let_go)()


def run(prompt: Connection, queued: Connection) -> None:
    """Run the program of a view's process (view/live/process.py) until the pipes close."""
    threading.Thread(target=_end_with, args=(prompt,), name="rbdyn-parent", daemon=True).start()
    _lower_priority()
    casts, port, address = prompt.recv()
    remote: Any = Remote(prompt, queued)
    try:
        for path in {path: None for cast in casts for path in cast.imports}:
            runpy.run_path(str(path))
        names = ", ".join(cast.name or cast.description.name for cast in casts)
        server = open_server(port, address, f"rbdyn: {names}")
        live = Live(server, casts, remote)
        remote.tell(SERVING, address_of(server))
        warning = warning_of({robot.label: robot.findings for robot in live.robots})
        if warning:
            remote.tell(WARNED, warning)
        live.run()
    except Exception as error:  # noqa: BLE001 - the output of this process is not shown
        remote.tell(FAILED, str(error) if isinstance(error, RbdynError) else repr(error))
        os._exit(1)


def _end_with(pipe: Connection) -> None:
    """End this process at once when the other end of a pipe closes; body of a thread."""
    poll = select.poll()
    poll.register(pipe.fileno(), 0)  # without any event, poll still reports a closed pipe
    poll.poll()
    os._exit(0)


def _lower_priority() -> None:
    """Set a low priority, also if the parent process has real-time priority."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.nice(NICE)
