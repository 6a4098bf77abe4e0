# SPDX-License-Identifier: Apache-2.0
"""Connect the simulation to the view in the browser; orders pass the same checks as messages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import ParamSpec

from rclpy.node import Node
from rclpy.parameter import Parameter

from rbdyn_ros.checks.numbers import count, finite
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.errors import ParameterError, refusal
from rbdyn_ros.ros.common.parsing.magnitudes import REQUEST
from rbdyn_ros.ros.common.reports.answer import attempt
from rbdyn_ros.ros.simulator.robot.robot import Robot
from rbdyn_ros.ros.simulator.robot.simulation import Simulation
from rbdyn_ros.ros.simulator.services.wrenches import MAX_DURATION, MAX_REACH, MAX_SIZE, wrench_on
from rbdyn_ros.ros.simulator.topics.commanders import EFFECTS
from rbdyn_ros.ros.simulator.topics.driver import policy_of
from rbdyn_ros.ros.simulator.world.world import World
from rbdyn_ros.runtime.types import EFFORT, POSITION
from rbdyn_ros.sensors.sights import Sight
from rbdyn_ros.view.live.link import Cast, Numbers
from rbdyn_ros.view.live.process import ViewProcess, start_view
from rbdyn_ros.view.live.pull import HandSpring
from rbdyn_ros.view.live.spawned import MISSING, Spawned
from rbdyn_ros.view.live.watched import Watched, before_start
from rbdyn_ros.view.web.server import is_local

#: Names of the streams of the view's wrenches and pulls; no frame in a message has these names.
STREAM, HAND = "~view", "~hand"
NOTHING = (0.0, 0.0, 0.0)
MOST_TICKS = 100_000

LOCKSTEP = (
    "in lock-step every command is for one tick, so sliders have no effect; command the joints "
    "from a controller"
)
NO_SPEED = "time_mode is '{}'; the speed can be set in mode realtime only"


P = ParamSpec("P")


def _refusable(act: Callable[P, None]) -> Callable[P, str]:
    """Decorate an order: it returns the reason of its refusal, or an empty string."""

    @wraps(act)
    def answer(*args: P.args, **kwargs: P.kwargs) -> str:
        return attempt(lambda: act(*args, **kwargs))[1]

    return answer


class ViewedSimulation:
    """The simulated robots of a node for a view; see view.live.link.Simulated.

    Every order returns the reason of its refusal, or an empty string. The page exists before the
    simulation: until `begin` it shows the robots at their start.

    Args:
        node: node that has the parameter real_time_factor.
        robots: the loaded robots.
    """

    def __init__(self, node: Node, robots: Sequence[Robot]) -> None:
        self.node, self.robots = node, list(robots)
        self._begun: Simulation | None = None
        self._watched: list[Watched] = []
        self._hands: list[HandSpring] = []
        # for each robot that the view commands: whether it was held before the first command
        self._driven: dict[int, bool] = {}

    def begin(self, simulation: Simulation) -> None:
        """Show and control this simulation of the robots from now on."""
        self._watched = [Watched(robot.loop) for robot in self.robots]
        self._hands = [HandSpring(robot.loop) for robot in self.robots]
        self._begun = simulation  # set this last, because other threads read it

    @property
    def _simulation(self) -> Simulation:
        if self._begun is None:
            raise refusal("the simulation has not started yet: it looks for other simulators")
        return self._begun

    def instants(self, energy: bool = False) -> list[Instant]:
        if self._begun is None:
            starts = [(one.m, one.world.start, one.held is not None) for one in self.robots]
            return [before_start(*start) for start in starts]
        return [watched.instant(energy) for watched in self._watched]

    def recast(self, robot: int) -> Cast | None:
        """Return a robot with the objects of the last instant; None if these are outdated."""
        if self._begun is None:
            return None
        watched, shown = self._watched[robot], self.robots[robot]
        world = shown.world
        if world.m is not watched.m:
            return None
        return replace(cast_of(shown, world), world=watched.world)

    def sights(self, robot: int) -> list[Sight]:
        sensors = self.robots[robot].sensors
        return [] if self._begun is None or sensors is None else sensors.sights()

    @_refusable
    def pause(self, paused: bool) -> None:
        self._simulation.pause(paused)

    @_refusable
    def step(self, ticks: int) -> None:
        wanted = count("ticks", ticks, 1, MOST_TICKS, **REQUEST)
        self._simulation.check_ready()
        self._simulation.step(wanted)
        if self._simulation.diverged:
            raise refusal("the state diverged; reset the simulation")

    @_refusable
    def reset(self) -> None:
        self._simulation.reset(time=False, state=True)

    @_refusable
    def set_speed(self, factor: float) -> None:
        """Set the node's parameter real_time_factor, or raise RbdynError."""
        mode = self.robots[0].values.time_mode
        if mode != "realtime":
            raise refusal(NO_SPEED.format(mode))
        speed = finite("the speed", factor, **REQUEST)
        result = self.node.set_parameters([Parameter("real_time_factor", value=speed)])[0]
        if not result.successful:
            raise refusal(result.reason)

    @_refusable
    def push(
        self,
        robot: int,
        link: str,
        point: Numbers,
        force: Numbers,
        torque: Numbers,
        duration: float,
    ) -> None:
        loop = self._simulation.robots[robot].loop
        wrench = wrench_on(loop.m, link, point, force, torque, "world", duration)
        loop.orders.push(wrench, STREAM)

    @_refusable
    def pull(self, robot: int, link: str, point: Numbers, goal: Numbers, duration: float) -> None:
        loop = self._simulation.robots[robot].loop
        p = finite("the point", point, (3,), -MAX_REACH, MAX_REACH, **REQUEST)
        lasting = finite("the duration", duration, high=MAX_DURATION, above=0.0, **REQUEST)
        if not len(goal):
            loop.orders.push(wrench_on(loop.m, link, p, NOTHING, NOTHING, "world", lasting), HAND)
            return
        shape = (9,) if len(goal) == 9 else (3,)
        g = finite("the goal", goal, shape, -MAX_SIZE, MAX_SIZE, **REQUEST)
        loop.orders.push(self._hands[robot].pull(link, p, g, lasting), HAND)

    @_refusable
    def drive(
        self, robot: int, efforts: Mapping[str, float], positions: Mapping[str, float]
    ) -> None:
        """Command joints by name, as a message on joint_commands_by_mode does.

        `efforts` and `positions` [N m or N, rad or m] must have different joints.
        """
        shown = self._simulation.robots[robot]
        was_held = shown.loop.holding
        _command(shown, efforts, positions)
        self._driven.setdefault(robot, was_held)

    @_refusable
    def release(self, robot: int) -> None:
        """End the view's commands to a robot; if there are none, release a held robot.

        A robot that was held before these commands is held again; otherwise on_timeout takes over.
        Commands and trajectories of others continue.
        """
        shown = self._simulation.robots[robot]
        _check_time(shown)
        orders = shown.loop.orders
        if robot in self._driven:
            orders.release(hold=self._driven.pop(robot))
        else:
            orders.let_go()


def _check_time(robot: Robot) -> None:
    """Raise RbdynError if the robot is in lock-step, which allows no orders of the view."""
    if robot.values.time_mode == "lockstep":
        raise refusal(LOCKSTEP)


def _command(robot: Robot, efforts: Mapping[str, float], positions: Mapping[str, float]) -> None:
    _check_time(robot)
    parser = robot.commands
    if parser.partial == "reject":  # the other joints get zero effort, as without a command
        rest = [name for name in parser.joints.names if name not in positions]
        efforts = dict.fromkeys(rest, 0.0) | dict(efforts)
    names = [*efforts, *positions]
    modes = [EFFORT] * len(efforts) + [POSITION] * len(positions)
    command = parser.by_mode(
        names,
        modes,
        position=[0.0] * len(efforts) + list(positions.values()),
        effort=list(efforts.values()) + [0.0] * len(positions),
    )
    robot.loop.orders.command(command, lent=True)


def cast_of(robot: Robot, world: World, imports: Sequence[Path] = ()) -> Cast:
    """Return a robot for the view.

    Args:
        robot: the loaded robot.
        world: its present world.
        imports: Python files that define its joint types and motions.
    """
    values, given = robot.values, robot.given
    policy = policy_of(values)  # read from the parameters, because the robot has no loop yet
    idle = "" if policy == "zero" else f"its joints {EFFECTS[policy]} (on_timeout is '{policy}')"
    refusals = {"drive": LOCKSTEP} if values.time_mode == "lockstep" else {}
    if values.time_mode != "realtime":
        refusals["set_speed"] = NO_SPEED.format(values.time_mode)
    return Cast(
        name=robot.name,
        description=world.description,
        floating_base=world.floating,
        strict=values.strict,
        text="" if given.is_scene else given.text,
        path=given.path,
        package_dirs=() if given.file is None else tuple(given.file.package_dirs),
        imports=tuple(Path(path).absolute() for path in imports),
        timestep=robot.period_ns * 1e-9,
        joints=robot.commands.joints.names,
        command_timeout=values.command_timeout,
        time_mode=values.time_mode,
        speed=values.real_time_factor,
        refusals=refusals,
        sees=robot.sensors is not None and robot.sensors.sees,
        start="" if robot.held is None else robot.held.text,
        idle=idle,
    )


def open_view(
    viewed: ViewedSimulation,
    values: SimpleNamespace,
    imports: Sequence[Path] = (),
    spawned: Spawned | None = None,
) -> ViewProcess | None:
    """Start the view of a node's robots if parameter view is true, and return its process.

    If it cannot start, log a warning and return None; the simulation continues. See start_view.
    """
    if not values.view:
        if spawned is not None:
            spawned.end()
        return None
    logger = viewed.node.get_logger()

    def report(severity: str, message: str) -> None:
        if severity == "info":
            logger.info(message)
        else:  # rclpy accepts one severity from each line of code
            logger.warning(message)

    casts = [cast_of(robot, robot.world, imports) for robot in viewed.robots]
    try:
        if not is_local(values.view_address):
            where = f"the view listens on {values.view_address}"
            report("warning", f"{where}: anyone who reaches it can move the robot")
        return start_view(
            casts,
            viewed,
            port=values.view_port,
            address=values.view_address,
            say=report,
            spawned=spawned,
        )
    except ParameterError as error:
        report("info" if error.code == MISSING else "warning", f"{error}; there is no view")
        if spawned is not None:
            spawned.end()
        return None
