# SPDX-License-Identifier: Apache-2.0
"""Control all robots of a process together: their time, their states and their world."""

import threading
import time as clock
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from rbdyn_ros.description.scenes.scene import SceneParts
from rbdyn_ros.errors import Finding, RbdynError, listing, refusal
from rbdyn_ros.ros.simulator.robot.entities import Entities
from rbdyn_ros.ros.simulator.robot.robot import Robot, SavedRobot
from rbdyn_ros.ros.simulator.world import changes
from rbdyn_ros.ros.simulator.world.world import World, WorldFile

#: Longest wait for commands that have not reached the loop yet [s].
DELIVERY = 0.05


class Simulation:
    """Controls the time, the states and the world of all robots. Any thread may use it.

    Args:
        robots: the robots, at least one.
        stop: set to end the process.

    Attributes:
        entities: the robots, objects and obstacles, by name.
        active: whether the node's lifecycle lets time run.
    """

    def __init__(self, robots: Sequence[Robot], stop: threading.Event) -> None:
        self.robots, self._stop = robots, stop
        self.entities = Entities(robots)
        self._times = [robot.loop.time for robot in robots]
        self.active = False

    @property
    def world_frame(self) -> str:
        """Name of the world's frame in messages."""
        frame: str = self.robots[0].values.world_frame
        return frame or "world"

    @property
    def tick(self) -> int:
        """Present tick of the first robot."""
        return self._times[0].tick

    @property
    def paused(self) -> bool:
        """Return whether a request paused the time, or the node is not active."""
        return not self.active or self._requested_pause

    @property
    def _requested_pause(self) -> bool:
        return all(time.paused for time in self._times)

    @property
    def diverged(self) -> bool:
        """Return whether the state of any robot has diverged."""
        return any(time.diverged for time in self._times)

    @property
    def as_loaded(self) -> bool:
        """Return whether objects, attachments, payloads and gravity are as loaded."""
        return all(
            robot.m is robot.world.as_loaded.m and not robot.payloads.changes()
            for robot in self.robots
        )

    def pause(self, paused: bool) -> None:
        """Pause all robots at the same tick, or resume.

        Raises:
            RbdynError: the node is not active, no world is loaded, or a loop does not answer.
        """
        if not (paused and self.entities.started):
            self._check_active()
        if not paused:
            self.entities.check_world()
        starts = paused and not self._requested_pause
        for time in self._times:
            time.request_pause(paused)
        _all(time.wait_for_pause for time in self._times)
        if starts:
            self._align()

    def _align(self) -> None:
        """Step the robots that paused some ticks early to the latest tick of any robot."""
        moving = [time for time in self._times if not time.diverged]
        latest = max((time.tick for time in moving), default=0)
        behind = [time for time in moving if time.tick < latest]
        for time in behind:
            time.request_steps(latest - time.tick)
        _all(time.wait_for_steps for time in behind)

    def _check_active(self) -> None:
        if not self.active:
            raise refusal("the node is not active: make the lifecycle transition activate first")

    def check_ready(self) -> None:
        """Raise RbdynError if no step can be made now; first wait up to DELIVERY for commands."""
        self._check_active()
        self.entities.check_world()
        if not self.paused:
            raise refusal("the simulation runs; pause it first")
        # wait only shortly, because this thread may have to receive the commands
        give_up = clock.monotonic() + DELIVERY
        while not all(time.ready for time in self._times):
            if clock.monotonic() > give_up:
                missing = listing([name for r in self.robots for name in r.loop.unanswered])
                raise refusal(f"lock-step waits until {missing} get commands for this tick")
            clock.sleep(2e-3)

    def step(self, ticks: int) -> None:
        """Make ticks while the simulation is paused.

        Raises:
            RbdynError: the node is not active, no world is loaded, or a loop does not answer. The
                remaining ticks are then cancelled.
        """
        self._check_active()
        self.entities.check_world()
        for time in self._times:
            time.request_steps(ticks)
        try:
            _all(time.wait_for_steps for time in self._times)
        except RbdynError:
            for time in self._times:
                time.cancel_steps()
            raise

    def reset(self, time: bool = False, state: bool = False, robot: bool = False) -> None:
        """Reset all robots; see Robot.reset."""
        _all(partial(each.reset, time, state, robot) for each in self.robots)

    def save_state(self) -> list[SavedRobot]:
        """Return the whole state of all robots.

        Raises:
            RbdynError: several robots run, a state has diverged, or a loop does not answer.
        """
        self._check_together()
        return [robot.save_state() for robot in self.robots]

    def load_state(self, saved: Sequence[SavedRobot]) -> None:
        """Set all robots and their time to a state that save_state returned.

        Raises:
            RbdynError: several robots run, or a loop does not answer.
        """
        self._check_together()
        pairs = zip(self.robots, saved, strict=True)
        _all(partial(robot.load_state, state) for robot, state in pairs)

    def _check_together(self) -> None:
        """Raise RbdynError if the robots are not at one tick."""
        if not self.entities.started:
            raise refusal("the simulation has not started: activate the node first")
        if len(self.robots) > 1 and not self.paused:
            raise refusal(
                "pause the simulation first: the robots of one process are saved and loaded at "
                "one tick"
            )

    def state_hash(self) -> str:
        """Return the state hashes of all robots, joined by spaces."""
        return " ".join(robot.state_hash() for robot in self.robots)

    def quit(self) -> None:
        """End the process."""
        self._stop.set()

    def load_world(self, file: WorldFile, parts: SceneParts) -> list[Finding]:
        """Replace the present world, see changes.loaded, and pause time.

        If the world is refused, nothing changes. A diverged state stays frozen: reset it next.

        Returns:
            Warnings about the new world.
        """
        robot = self.entities.only_robot()
        world, warnings = changes.loaded(robot.begin, robot.world, file, parts)
        self._enter(robot, world)
        return warnings

    def unload_world(self) -> None:
        """Remove everything but the initial robots, and pause time; the caller must then reset."""
        robot = self.entities.only_robot()
        self._enter(robot, changes.robots_alone(robot.begin, robot.world))

    def _enter(self, robot: Robot, world: World) -> None:
        paused = self.paused
        self.pause(True)
        try:
            robot.enter(world, resets=True)
        except RbdynError:
            if not paused:
                self.pause(False)
            raise


def _all(acts: Iterable[Callable[[], None]]) -> None:
    """Call all functions, then raise the first RbdynError that one of them raised."""
    errors = [error for act in acts if (error := _error(act)) is not None]
    if errors:
        raise errors[0]


def _error(act: Callable[[], None]) -> RbdynError | None:
    try:
        act()
    except RbdynError as error:
        return error
    return None
