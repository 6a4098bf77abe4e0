"""All robots of a process as one simulation: its time, and where they are in the world."""

from __future__ import annotations

import threading
import time as clock
from collections.abc import Sequence

import numpy as np

from rbdyn_ros.model.joints import JointType
from rbdyn_ros.model.rotation import quat_to_mat
from rbdyn_ros.ros.common.convert import xyzw
from rbdyn_ros.ros.common.unfit import LARGEST_STATE, unfit
from rbdyn_ros.ros.simulator.robot import Robot
from rbdyn_ros.runtime.runtime import SILENT

Vector = Sequence[float]

#: Several robots that shall stop at the same tick are told so this many ticks ahead.
AHEAD = 20
#: A command that was sent before is known to the loop after this time [s].
HEARD = 0.05
INACTIVE = "the node is not active: make the lifecycle transition activate first"


class Simulation:
    """What is asked of time and of the robots' places; from any thread.

    Args:
        robots: at least one.
        stop: set to end the process.

    Attributes:
        active: the life cycle lets time run; it makes no step otherwise.
    """

    def __init__(self, robots: Sequence[Robot], stop: threading.Event) -> None:
        self.robots, self._stop = robots, stop
        self.active = False

    @property
    def world_frame(self) -> str:
        """Name of the world's frame in messages."""
        frame: str = self.robots[0].values.world_frame
        return frame or "world"

    @property
    def tick(self) -> int:
        """The tick of the first robot."""
        return self.robots[0].runtime.tick

    @property
    def paused(self) -> bool:
        """Whether time stands on request."""
        return all(robot.runtime.paused for robot in self.robots)

    @property
    def ready(self) -> bool:
        """Whether all commands are there that lock-step waits for in the present tick."""
        return all(robot.runtime.ready for robot in self.robots)

    @property
    def faulty(self) -> bool:
        """Whether the state of a robot diverged."""
        return any(robot.runtime.faulty for robot in self.robots)

    def pause(self, paused: bool) -> bool:
        """Stop time, for all at the same tick, or let it go on; False if a loop is silent."""
        if not (paused or self.active):
            return False
        runtimes = [robot.runtime for robot in self.robots]
        moving = [runtime.tick for runtime in runtimes if not runtime.faulty]
        at = 0
        if paused and len(moving) > 1 and not self.paused:
            at = max(moving) + AHEAD
        for runtime in runtimes:
            runtime.ask_pause(paused, at)
        answers = [runtime.await_pause() for runtime in runtimes]
        return all(answers)

    def why_no_step(self) -> str:
        """Return why no step can be made now, or nothing; waits a moment for commands."""
        if not self.active:
            return INACTIVE
        if not self.paused:
            return "the simulation runs; pause it first"
        # whoever is to send them may be heard by the thread that waits here
        give_up = clock.monotonic() + HEARD
        while not self.ready:
            if clock.monotonic() > give_up:
                return "lock-step waits for the commands of this tick: send them first"
            clock.sleep(2e-3)
        return ""

    def step(self, ticks: int) -> bool:
        """Make ticks while paused; False, and no more of them, if a loop is silent or waits."""
        if not self.active:
            return False
        for robot in self.robots:
            robot.runtime.ask_steps(ticks)
        done = all([robot.runtime.await_steps() for robot in self.robots])  # noqa: C419 - all wait
        if not done:
            for robot in self.robots:
                robot.runtime.cancel_steps()
        return done

    def reset(self, time: bool, state: bool, seed: int | None = None) -> bool:
        """Begin again, see Runtime.reset; False if a loop is silent."""
        answers = [robot.reset(time, state, seed) for robot in self.robots]
        return all(answers)

    def quit(self) -> None:
        """End the process."""
        self._stop.set()

    # where the robots are

    def entities(self) -> list[str]:
        """Return the names of the robots."""
        return [robot.name or robot.m.name for robot in self.robots]

    def _robot(self, name: str) -> Robot:
        return self.robots[self.entities().index(name)]

    def stamp_ns(self, name: str) -> int:
        """Return the stamp of the newest state of a robot [ns]."""
        robot = self._robot(name)
        since: int = robot.runtime.latest().tick * robot.runtime.period_ns
        return robot.time_base + since

    def entity_state(self, name: str) -> tuple[Vector, Vector, Vector, Vector, Vector]:
        """Return where the root link is.

        Returns:
            position (3,), quaternion xyzw (4,), linear velocity (3,), angular velocity (3,),
            acceleration [linear; angular] (6,) of its origin; all in world axes.
        """
        robot = self._robot(name)
        if not _is_floating(robot):
            return (0.0,) * 3, (0.0, 0.0, 0.0, 1.0), (0.0,) * 3, (0.0,) * 3, (0.0,) * 6
        state = robot.runtime.latest()
        qpos, qvel, qacc = state.qpos, state.qvel, state.qacc
        R = quat_to_mat(qpos[3:7])
        # of a free joint qvel is linear in world axes, angular in those of the body; the
        # derivative of R w is R w', since w x w is nothing
        acceleration = np.concatenate([qacc[:3], R @ qacc[3:6]])
        place = qpos[:3].tolist(), xyzw(qpos[3:7]).tolist()
        return *place, qvel[:3].tolist(), (R @ qvel[3:6]).tolist(), acceleration.tolist()

    def set_entity_state(
        self,
        name: str,
        position: Sequence[float],
        quaternion: Sequence[float],
        linear: Sequence[float],
        angular: Sequence[float],
    ) -> str:
        """Put the root link elsewhere; arguments as entity_state; return why it is refused."""
        robot = self._robot(name)
        m = robot.m
        if not _is_floating(robot):
            return f"'{name}' is fixed to the world; only a floating base can be put elsewhere"
        refusal = unfit("the pose", [*position, *quaternion], LARGEST_STATE)
        refusal = refusal or unfit("the twist", [*linear, *angular], LARGEST_STATE)
        if refusal:
            return refusal
        length = float(np.linalg.norm(quaternion))
        if abs(length - 1.0) > 1e-3:
            return f"the quaternion has length {length:g}; it must be 1"
        wxyz = np.roll(quaternion, 1) / length
        qpos, qvel = np.zeros(m.nq), np.zeros(m.nv)
        qpos[:7] = np.concatenate([position, wxyz])
        qvel[:6] = np.concatenate([linear, quat_to_mat(wxyz).T @ angular])
        done = robot.runtime.set_state(qpos, qvel, np.arange(m.nq) < 7, np.arange(m.nv) < 6)
        return "" if done else SILENT


def _is_floating(robot: Robot) -> bool:
    """Whether the root link moves freely."""
    return bool(robot.values.floating_base) and robot.m.jnt_type[0] == JointType.FREE
