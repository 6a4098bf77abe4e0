"""The simulation of this process as a view asks for it, through the same gates as messages."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

from rclpy.node import Node
from rclpy.parameter import Parameter

from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.ros.simulator.robot import Robot
from rbdyn_ros.ros.simulator.simulation import INACTIVE, Simulation
from rbdyn_ros.ros.simulator.wrenches import wrench_on
from rbdyn_ros.runtime.compiled import NANOSECONDS
from rbdyn_ros.runtime.orders import Command
from rbdyn_ros.runtime.runtime import SILENT
from rbdyn_ros.view.live.link import Cast, Numbers
from rbdyn_ros.view.live.process import MISSING, ViewProcess, start_view
from rbdyn_ros.view.live.watched import Watched
from rbdyn_ros.view.web.server import is_local

#: Stream of the view's wrenches; no frame of a message is called so.
STREAM = "~view"
MOST_TICKS = 100_000

LOCKSTEP = (
    "in lock-step every effort is for one tick, so a slider has none to give; command the joints "
    "from a controller"
)
NO_SPEED = "time_mode is '{}'; time has a speed of its own in mode realtime only"


class RosSimulated:
    """The robots of a node, see view.live.link.Simulated; for the two threads of a view.

    Args:
        node: has the parameter real_time_factor.
        simulation: has the robots.
    """

    def __init__(self, node: Node, simulation: Simulation) -> None:
        self._node, self._simulation = node, simulation
        self._robots = list(simulation.robots)
        self._watched = [Watched(robot.runtime) for robot in self._robots]
        self._driven: dict[int, frozenset[str]] = {}

    def instants(self, energy: bool = False) -> list[Instant]:
        """Return all robots as they are now."""
        return [watched.instant(energy) for watched in self._watched]

    def pause(self, paused: bool) -> str:
        """Let time stand, or go on."""
        if not (paused or self._simulation.active):
            return INACTIVE
        return "" if self._simulation.pause(paused) else SILENT

    def step(self, ticks: int) -> str:
        """Make ticks while time stands."""
        if not 1 <= ticks <= MOST_TICKS:
            return f"{ticks} ticks are asked for; allowed are 1 to {MOST_TICKS}"
        why = self._simulation.why_no_step()
        if why:
            return why
        done = self._simulation.step(int(ticks))
        if done and self._simulation.faulty:
            return "the state diverged; reset the simulation"
        return "" if done else SILENT

    def reset(self) -> str:
        """Put all robots where they began, at rest; time goes on."""
        return "" if self._simulation.reset(time=False, state=True) else SILENT

    def set_speed(self, factor: float) -> str:
        """Set the node's parameter, as anybody may."""
        mode = self._robots[0].values.time_mode
        if mode != "realtime":
            return NO_SPEED.format(mode)
        if not math.isfinite(factor):
            return f"the speed is {factor}; allowed is a finite number"
        result = self._node.set_parameters([Parameter("real_time_factor", value=float(factor))])[0]
        return "" if result.successful else str(result.reason)

    def push(
        self,
        robot: int,
        link: str,
        point: Numbers,
        force: Numbers,
        torque: Numbers,
        duration: float,
    ) -> str:
        """Let a wrench act on a link, in the place of the view's last one."""
        pushed = self._robots[robot]
        wrench = wrench_on(pushed.m, link, point, force, torque, "world", duration)
        return pushed.push(wrench, STREAM)

    def drive(self, robot: int, efforts: Mapping[str, float]) -> str:
        """Command efforts, as a message of joint_commands would."""
        why = self._command(self._robots[robot], efforts)
        if not why:
            self._driven[robot] = self._driven.get(robot, frozenset()) | frozenset(efforts)
        return why

    def release(self, robot: int) -> str:
        """Command zero where the view drove, as of long ago: on_timeout decides at once."""
        driven = self._driven.pop(robot, frozenset())
        if not driven:
            return ""
        given_up = self._robots[robot].values.command_timeout + 1.0
        arrival_ns = time.monotonic_ns() - round(given_up * NANOSECONDS)
        return self._command(self._robots[robot], dict.fromkeys(driven, 0.0), arrival_ns)

    @staticmethod
    def _command(robot: Robot, efforts: Mapping[str, float], arrival_ns: int | None = None) -> str:
        if robot.values.time_mode == "lockstep":
            return LOCKSTEP
        gate = robot.gate
        if gate.partial == "reject":  # the others get what they have without a command
            efforts = dict.fromkeys(gate.joints.names, 0.0) | dict(efforts)
        judged = gate.by_name(list(efforts), effort=list(efforts.values()))
        if not isinstance(judged, Command):
            return judged
        robot.runtime.command(judged, arrival_ns=arrival_ns)
        return ""


def cast_of(robot: Robot, imports: Sequence[Path] = ()) -> Cast:
    """Return a robot as the view is to show it; `imports` registered what it needs."""
    values, given = robot.values, robot.given
    refusals = {"drive": LOCKSTEP} if values.time_mode == "lockstep" else {}
    if values.time_mode != "realtime":
        refusals["set_speed"] = NO_SPEED.format(values.time_mode)
    return Cast(
        name=robot.name,
        description=given.description,
        floating_base=values.floating_base,
        strict=values.strict,
        text=given.text,
        path=given.path,
        imports=tuple(Path(path).absolute() for path in imports),
        timestep=robot.runtime.period_ns * 1e-9,
        joints=robot.gate.joints.names,
        command_timeout=values.command_timeout,
        time_mode=values.time_mode,
        speed=values.real_time_factor,
        refusals=refusals,
    )


def open_view(
    node: Node, simulation: Simulation, values: SimpleNamespace, imports: Sequence[Path] = ()
) -> ViewProcess | None:
    """Show the robots of a node in a browser if its parameters ask for it; see start_view.

    A view that cannot be is no reason not to simulate.
    """
    if not values.view:
        return None
    logger = node.get_logger()

    def say(severity: str, sentence: str) -> None:
        if severity == "info":
            logger.info(sentence)
        else:  # on a line of its own: rclpy takes one severity from each
            logger.warning(sentence)

    casts = [cast_of(robot, imports) for robot in simulation.robots]
    try:
        if not is_local(values.view_address):
            text = f"the view listens at {values.view_address}: whoever reaches it moves the robot"
            say("warning", text)
        return start_view(
            casts,
            RosSimulated(node, simulation),
            port=values.view_port,
            address=values.view_address,
            say=say,
        )
    except ParameterError as error:
        say("info" if error.code == MISSING else "warning", f"{error}; there is no view")
        return None
