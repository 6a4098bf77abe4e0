# SPDX-License-Identifier: Apache-2.0
"""One simulated robot: load it, make its loop, open its topics."""

import functools
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rclpy.node import Node
from rclpy.parameter import Parameter

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.boxes import Boxes, boxed
from rbdyn_ros.description.parts.poses import Vec3
from rbdyn_ros.description.scenes.entities import entity_of
from rbdyn_ros.description.source import Source
from rbdyn_ros.errors import refusal
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.gripper.gripper_actions import GripperActions, open_grippers
from rbdyn_ros.ros.common.gripper.grippers import grippers_of
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.ros.common.parsing.stamps import TickStamps
from rbdyn_ros.ros.common.queries.dynamics_query import Snapshot
from rbdyn_ros.ros.common.settings.parameters import live
from rbdyn_ros.ros.common.tool.external import shows
from rbdyn_ros.ros.simulator import parameters as params
from rbdyn_ros.ros.simulator.graph.foreign import ForeignPublishers
from rbdyn_ros.ros.simulator.robot.faults import faults_of_new, fitted, make_faults
from rbdyn_ros.ros.simulator.robot.payloads import Payloads, SavedPayloads
from rbdyn_ros.ros.simulator.robot.placement import given_state
from rbdyn_ros.ros.simulator.robot.robot_loading import loop_settings, prepared_robot
from rbdyn_ros.ros.simulator.robot.spawned_robots import SpawnedRobots
from rbdyn_ros.ros.simulator.setup import Setup
from rbdyn_ros.ros.simulator.topics import gripper
from rbdyn_ros.ros.simulator.topics.alarms import WaitAlarm
from rbdyn_ros.ros.simulator.topics.commanders import AnswerAges
from rbdyn_ros.ros.simulator.topics.driver import SimulatedDriver
from rbdyn_ros.ros.simulator.topics.external import open_external
from rbdyn_ros.ros.simulator.topics.markers import open_markers
from rbdyn_ros.ros.simulator.topics.mobile_base import MobileBase, base_joints, every
from rbdyn_ros.ros.simulator.topics.outputs import Cadence, Outputs
from rbdyn_ros.ros.simulator.topics.planning_scene import (
    PlanningSceneTopic,
    SceneContent,
    open_planning_scene,
)
from rbdyn_ros.ros.simulator.topics.reception import Reception
from rbdyn_ros.ros.simulator.topics.record import NodeRecorder
from rbdyn_ros.ros.simulator.topics.servoing import ServoTopic, servo_of, servo_period
from rbdyn_ros.ros.simulator.topics.shared_memory import SharedMemory
from rbdyn_ros.ros.simulator.topics.unitree import UnitreeTopics, open_unitree, unitree_period
from rbdyn_ros.ros.simulator.world import changes
from rbdyn_ros.ros.simulator.world.places import Places
from rbdyn_ros.ros.simulator.world.world import World
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.port import Port
from rbdyn_ros.runtime.saved_loop import SavedLoop
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.runtime.wakeup import Wakeup
from rbdyn_ros.sensors.scene import Payload


@dataclass(frozen=True, slots=True, eq=False)
class SavedRobot:
    """The whole state of a robot, see Robot.save_state.

    Attributes:
        loop: the state of its loop.
        world: the robot and its objects.
        payloads: payloads and gravity.
        faults: the rclpy parameters `faults.`.
        seed: seed of all noise.
        seeded_tick: the tick at which the noise began.
    """

    loop: SavedLoop
    world: World
    payloads: SavedPayloads
    faults: dict[str, Any]
    seed: int
    seeded_tick: int


def content_of(world: World) -> SceneContent:
    """Return the objects and obstacles of a world for the planning scene."""
    places = functools.partial(Places, world.m)
    return SceneContent(world.m, world.loose, world.attached, places)


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A change of a robot's world, prepared while time runs; then it is made or dropped.

    Attributes:
        before: the present world.
        after: the next world.
        m: the Model of `after` with payloads.
        payloads: the payloads in `m`, by link.
        prepared: functions that switch topics and sensors to `after`; they do not raise.
    """

    before: World
    after: World
    m: Model
    payloads: dict[str, Payload]
    prepared: Sequence[Callable[[], None]]

    def settled(self, d: Data) -> "Change":
        """Return the change with the newest weld at the relative pose that its links have in d."""
        places = Places(self.before.m, d.qpos, d.time)
        after = self.after.settled(self.before, places)
        return replace(self, after=after, m=after.with_weld_pose(self.m))


class Robot:
    """One robot, its loop and its topics.

    Args:
        node: node with the robot's parameters and topics.
        name: name of the robot if the process has several; empty: it is the only robot.
        values: values of its parameters.
        time_node: full name of the node that controls time; empty: `node`.
        recorder: recorder of the topics of its node, or None.
        setup: settings of a simulator inside another program, or None.

    Attributes:
        given: source of the robot, after `load`.
        world, begin: its present world and its world at the start, after `load`.
        period_ns: duration of a tick [ns], after `load`.
        commands: the parser of its commands, after `load`.
        sensors: topics of its sensors, after `load`; None without a sensor file.
        held: how the robot is held until its first command, after `load`; None: it is not held.
        loop, boxes, stamps, payloads, outputs, reception, grippers, spawned, wait_alarm, foreign:
            after `open`.
        base, servo, unitree, planning, shared_memory: after `open`, or None.
    """

    given: Source
    world: World
    loop: Loop
    boxes: Boxes
    stamps: TickStamps
    payloads: Payloads
    outputs: Outputs
    reception: Reception
    grippers: Sequence[gripper.SimulatedGripper]
    spawned: SpawnedRobots
    wait_alarm: WaitAlarm
    foreign: ForeignPublishers
    base: MobileBase | None = None
    servo: ServoTopic | None = None
    unitree: UnitreeTopics | None = None
    planning: PlanningSceneTopic | None = None
    shared_memory: SharedMemory | None = None

    def __init__(
        self,
        node: Node,
        name: str,
        values: SimpleNamespace,
        time_node: str,
        recorder: NodeRecorder | None = None,
        setup: Setup | None = None,
    ) -> None:
        self._recorder, self._setup = recorder, setup
        self.node, self.name, self.values, self.time_node = node, name, values, time_node
        self._actions: list[GripperActions] = []
        self._seed = int(values.seed)

    def load(self, stop: threading.Event, fallback: Path | None) -> None:
        """Find the robot, make its Model and compile its kernels.

        Raises:
            RbdynError: a parameter or the robot is refused.
        """
        self._loaded = loaded = prepared_robot(self.node, self.values, self._setup, stop, fallback)
        self.given, values = loaded.given, self.values
        floating = values.floating_base and not self.given.is_scene
        self.begin = self.world = changes.begun(
            self.given, floating, loaded.m, loaded.start, values.strict, values.package_dirs
        )
        self.commands, self.sensors = loaded.commands, loaded.sensors
        self.held, self.period_ns = loaded.held, loaded.period_ns
        self._grippers = grippers_of(loaded.m, values)
        self._base_joints = base_joints(loaded.m, values)
        self._servo = servo_of(loaded.m, self.commands.joints.names, values)

    @property
    def m(self) -> Model:
        """Model of the present world, without payloads."""
        return self.world.m

    def open(self, wakeup: Wakeup, time_base: int, clock: Any) -> None:
        """Make the loop and the topics, but do not start the loop.

        Args:
            wakeup: the loop notifies it at every state.
            time_base: stamp of tick 0 [ns].
            clock: publisher of /clock, or None.
        """
        m, values, node, loaded = self.m, self.values, self.node, self._loaded
        others = [*(self.sensors.every if self.sensors else ()), *([1] if shows(values) else ())]
        if self._base_joints is not None:
            others.append(every(values, loaded.period_ns))
        if self._servo is not None:
            others.append(servo_period(values, loaded.period_ns))
        if values.unitree:
            others.append(unitree_period(loaded.period_ns))
        cadence = Cadence.of(values, loaded.period_ns, others)
        locked = self._setup is not None and self._setup.locked
        held = None if self.held is None else self.held.dofs
        settings = loop_settings(values, m, self.commands, cadence, locked)
        settings = replace(settings, held=held)
        if values.box:
            settings = boxed(settings, m, self.given.description, values.box)
        port = self._open_port(settings)
        self.loop = loop = Loop(m, settings, loaded.start, wakeup, loaded.faults, port)
        if self._recorder is not None:
            self._recorder.begin(node, loop.plant.m, time_base)
        self.boxes = Boxes(
            values.box,
            loop,
            self.given.description,
            values.lockstep_timeout or math.inf,
            node.get_logger().info,
            node.get_logger().warning,
            values.box_anywhere,
        )
        if self.boxes.all:
            self.set_faults(vars(values))
            self.boxes.start()
        self.stamps = TickStamps(time_base, loop.period_ns)
        self.payloads = Payloads(loop, self.sensors, self._recorder)
        watch = None
        if self._setup is not None:
            loop.plant.begin_with(self._setup.qvel)
            watch = self._setup.watch
        if self._base_joints is not None:
            self.base = MobileBase(node, loop, self._base_joints, values)
        if self._servo is not None:
            self.servo = ServoTopic(node, loop, self._servo, values)
        self.unitree = open_unitree(node, loop, self.commands, values)
        self.planning = open_planning_scene(node, loop, content_of(self.world), values)
        parts = [
            self.sensors,
            open_markers(node, loop, values.frame_prefix),
            open_external(node, loop, values, cadence.states),
            self.base,
            self.servo,
            self.unitree,
            self.planning,
        ]
        self.outputs = Outputs(
            node,
            loop,
            self.given,
            values,
            cadence,
            self.stamps,
            clock,
            [part for part in parts if part is not None],
            f"{self.time_node or node.get_fully_qualified_name()}/reset",
            self._recorder,
            watch,
            self.base is not None and not self.base.slides,
        )
        ages = AnswerAges(
            self.stamps,
            lambda: self.outputs.measured_tick,
            lambda: loop.time.real_time_factor,
            values.answer_timeout,
        )
        self.reception = Reception(
            node,
            loop,
            self.commands,
            loaded.trajectories,
            loaded.bridge,
            self.stamps,
            ages,
            SimulatedDriver.of(loop, values),
        )
        for drive in (self.base, self.servo):
            if drive is not None:
                drive.subscribe(self.reception.log)
        if self.unitree is not None:
            self.unitree.subscribe(self.reception)
        self._open_grippers(loop)
        self.wait_alarm = WaitAlarm(node.get_logger(), loop)
        self.foreign = ForeignPublishers(node, self.outputs.describes, bool(self.outputs.frames))
        if port is not None:
            reception = self.reception
            self.shared_memory = SharedMemory(port, reception.watch, reception.log, ages)
        self.spawned = SpawnedRobots(
            node, loop, self.outputs, self.stamps, ages, values.partial_commands
        )

    def _open_grippers(self, loop: Loop) -> None:
        """Serve the actions and the topic of the robot's grippers."""
        self.grippers = [
            gripper.SimulatedGripper(one, loop, self.stamps) for one in self._grippers
        ]
        gripper.subscribe(self.node, self.grippers, self.reception.log)
        self._actions = open_grippers(self.node, [*self.grippers], self.values)

    def _open_port(self, settings: LoopSettings) -> Port | None:
        """Make and return the memory to share with another process; None: parameter is empty."""
        given = self.values.shared_memory
        if not given:
            return None
        name = f"{given}.{self.name}" if self.name else given
        joints = {name: name in self.commands.dofs for name in self._lasting_joints()}
        values = () if self.sensors is None else self.sensors.value_names
        port = Port(name, self.m, joints, values, settings, self._loaded.period_ns)
        if values:
            assert self.sensors is not None
            self.sensors.share(port.write_values)
        return port

    def _lasting_joints(self) -> list[str]:
        """Return the joints with one coordinate, except joints of objects, which can vanish."""
        scene = self.world.loose
        owners = {*scene.objects, *scene.robots}
        names = SingleJoints.all(self.m).names
        return [name for name in names if entity_of(name, owners) not in scene.objects]

    def topics_to_try(self) -> str:
        """Return a message with the topics that a user may try first."""
        states, commands = map(self.node.resolve_topic_name, ("joint_states", "joint_commands"))
        names = self.commands.joints.names
        if not names:
            return f"states are on {states}"
        example = f"name: ['{names[0]}'], effort: [1.0]"
        return f"states are on {states}; commands go to {commands}, for example {example}"

    @property
    def receptions(self) -> tuple[Reception, ...]:
        """The reception of this robot, and the receptions of the robots that were spawned."""
        return self.reception, *self.spawned.receptions

    @property
    def accepted(self) -> int:
        """Number of accepted messages, including messages for spawned robots."""
        shared = 0 if self.shared_memory is None else self.shared_memory.accepted
        return self.reception.log.accepted + self.spawned.accepted + shared

    @property
    def rejected(self) -> int:
        """Number of rejected messages, including messages for spawned robots."""
        return self.reception.log.rejected + self.spawned.rejected

    @property
    def dropped_readings(self) -> int:
        """Number of readings of lidars, range sensors and cameras that were dropped."""
        return 0 if self.sensors is None else self.sensors.dropped

    def close_actions(self) -> None:
        """Abort the goals in progress, and stop serving the actions."""
        for actions in self._actions:
            actions.close()

    def close(self) -> None:
        """Close the control boxes, the shared memory and the sensors.

        Call this after the loop and the publishers have ended.
        """
        self.boxes.close()
        if self.shared_memory is not None:
            self.shared_memory.close()
        if self.sensors is not None:
            self.sensors.close()

    def stamp_ns(self, tick: int) -> int:
        """Return the stamp of a tick [ns]."""
        return self.stamps.of(tick)

    def snapshot(self) -> tuple[Snapshot, int]:
        """Return the present state of the robot, and the stamp of this state [ns]."""
        state = self.loop.readout.latest()
        seen = Snapshot(self.payloads.m, state.qpos, state.qvel, state.time, state.xfrc)
        return seen, self.stamp_ns(state.tick)

    def state_hash(self) -> str:
        """Return a SHA-256 of the newest state, with payloads and gravity if they have changed."""
        return self.loop.readout.latest().hash(self.payloads.changes())

    # changes at run time: they raise RbdynError to refuse, or if the loop does not answer

    def set_joint_state(
        self, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float]
    ) -> None:
        """Set positions and velocities of joints; see placement.given_state."""
        loop = self.loop
        here = loop.readout.latest().qpos if loop.time.paused else None
        loop.plant.set_state(*given_state(self.m, names, positions, velocities, here))

    @property
    def qpos(self) -> Array:
        """The present position (nq,)."""
        return self.loop.readout.latest().qpos

    @property
    def places(self) -> Places:
        """The present poses of all links of its world."""
        state = self.loop.readout.latest()
        return Places(self.m, state.qpos, state.time)

    def attach(self, link: str, to: str) -> str:
        """Fix a link at its present pose relative to another link or the world.

        Returns:
            a text that lists all attached links.

        Raises:
            RbdynError: a link is unknown, the links are parts of one body or attached already, the
                integrator does not support closed loops, or the loop does not answer.
        """
        # time continues while the Model is made, so the pose settles at the change
        self.enter(changes.attached(self.world, link, to, self.places), settles=True)
        return self.world.listed

    def detach(self, link: str, to: str) -> str:
        """Detach two links; return a text that lists the links that are still attached."""
        self.enter(changes.detached(self.world, link, to))
        return self.world.listed

    def set_surface_velocity(self, obstacle: str, velocity: Vec3) -> None:
        """Move the surface of an obstacle like a conveyor belt; see changes.with_belt."""
        self.enter(changes.with_belt(self.world, obstacle, velocity))

    def enter(self, world: World, settles: bool = False, resets: bool = False) -> None:
        """Change to another world between two ticks; parts that both worlds have keep their state.

        Args:
            world: the new world.
            settles: whether the links of its newest weld keep the pose that they have at the
                moment of the change.
            resets: whether the caller resets or loads the state next; only then may the present
                state have diverged.

        Raises:
            RbdynError: the simulation is being recorded, the loop does not answer, or a topic or
                a sensor refuses the world. In these cases nothing changes.
        """
        if world.m is self.m:
            self.world = world
            return
        if self._recorder is not None:
            raise refusal(
                "the simulation is recorded, and the objects of a recording stay the same; "
                "record a scene that has all objects from the start",
                "recorded",
            )
        with self.outputs.lock, self.payloads.lock:
            try:
                change = self._move(self._prepare(world), settles, resets)
            except BaseException:
                self.spawned.abandon()
                raise
            self.world = change.after
            self.payloads.use(change.m, change.payloads)
            for act in change.prepared:
                act()
        self._fit_faults()

    def _prepare(self, world: World) -> Change:
        """Prepare and return the change to a world; raise RbdynError if a part refuses it."""
        m, description = world.m, world.description
        plant, payloads = self.payloads.fitted(m)
        prepared = list[Callable[[], None]]()
        if self.sensors is not None:
            loads = tuple(payloads.values())
            prepared.append(self.sensors.prepare(m, description, plant, loads))
        prepared.append(self.outputs.prepare(m, description, world.robots))
        if self.planning is not None:
            prepared.append(self.planning.prepare(content_of(world)))
        prepared.append(self.spawned.prepare(world))
        return Change(self.world, world, plant, payloads, prepared)

    def _move(self, change: Change, settles: bool, resets: bool) -> Change:
        """Let the loop continue with the Model of a change; return the change as it was made."""
        world = change.after
        faults = {name: row.value for name, row in self._fault_parameters().items()}

        def between(d: Data) -> tuple[Model, Model]:
            nonlocal change
            self.outputs.drain()
            if settles:
                change = change.settled(d)
            return change.after.m, change.m

        of_new = faults_of_new(world.m, faults)
        self.loop.move(world.m, change.m, world.start, between, resets, of_new)
        return change

    def _fit_faults(self) -> None:
        """Fit the parameters `faults.` to the present joints, and log the new values."""
        right = fitted(self.m, vars(self.values), self.loop.plant.faults)
        if not right:
            return
        result = self.node.set_parameters_atomically(
            [Parameter(name, value=value or [""]) for name, value in right.items()]
        )
        if not result.successful:
            text = f"the parameters of faults cannot be fitted to the new joints: {result.reason}"
            self.node.get_logger().warning(text)
            return
        listed = "; ".join(f"{name} is {value} now" for name, value in right.items())
        self.node.get_logger().info(f"the joints of the simulation have changed: {listed}")

    def reset(self, time: bool, state: bool, robot: bool, seed: int | None = None) -> None:
        """Reset loop and sensors, see runtime.plant.Plant.reset.

        Args:
            time: whether to set time to 0.
            state: whether to return the robot to its start, without attached links.
            robot: whether to restore the objects, payloads and gravity of the start. Without
                `state`, spawned objects with the names of deleted objects are removed first; they
                stay removed if the loop then stops answering.
            seed: seed of all noise; None: the present seed.
        """
        if robot:
            if not state:
                self.enter(changes.without_namesakes(self.world, self.qpos))
            self.enter(self.world.as_loaded, resets=state)
            self.payloads.restore()
        elif state:
            self.enter(changes.released(self.world), resets=True)
        if not (time or state or seed is not None):
            return
        self.loop.plant.reset(time, state, seed)
        if time or state:  # a new seed alone does not clear the commands
            self._forget_goals()
        if self.sensors is not None:
            self._seed = self._seed if seed is None else seed
            self.sensors.reseed(self._seed, self.loop.time.seeded_tick)

    def save_state(self) -> SavedRobot:
        """Return the whole state; see runtime.loop.Loop.save_state."""
        loop, seeded = self.loop.save_state(), self.loop.time.seeded_tick
        faults = self._fault_parameters()
        return SavedRobot(loop, self.world, self.payloads.saved(), faults, self._seed, seeded)

    def load_state(self, saved: SavedRobot) -> None:
        """Continue from a state that `save_state` returned, with the faults of that time.

        Raises:
            RbdynError: the faults are refused, or the loop does not answer.
        """
        faults = {name: one.value for name, one in saved.faults.items()}
        make_faults(saved.world.m, vars(self.values) | live(faults, params.PARAMETERS))
        self.enter(saved.world, resets=True)
        now = self._fault_parameters()
        changes = [new for name, new in saved.faults.items() if new.value != now[name].value]
        result = self.node.set_parameters_atomically(changes)
        if not result.successful:
            raise refusal(result.reason)
        self.payloads.load(saved.payloads)
        self._seed = saved.seed
        if self.sensors is not None:  # reseed before the first state that the sensors measure
            self.sensors.reseed(saved.seed, saved.seeded_tick)
        self.loop.load_state(saved.loop)
        self._forget_goals()

    def _forget_goals(self) -> None:
        for one in self.grippers:
            one.forget()
        for drive in (self.base, self.servo, self.unitree):
            if drive is not None:
                drive.forget()

    def _fault_parameters(self) -> dict[str, Any]:
        names = [row.name for row in params.PARAMETERS if row.name.startswith(params.FAULTS)]
        return {name: self.node.get_parameter(name) for name in names}

    def set_faults(self, values: dict[str, Any]) -> None:
        """Set the faults to the values of the parameters.

        Raises:
            ParameterError: the values do not fit this robot.
        """
        faults, double = make_faults(self.m, values), values[f"{params.FAULTS}double"]
        self.loop.plant.set_faults(self.boxes.take_faults(faults, double))
        if self._recorder is not None:
            self._recorder.use(self.loop.plant.m)
