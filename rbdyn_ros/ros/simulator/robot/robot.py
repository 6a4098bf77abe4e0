"""One simulated robot: load it, make its loop, open its topics."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter

from rbdyn_ros.description.scenes.entities import entity_of
from rbdyn_ros.errors import Finding, ParameterError, RbdynError, refusal
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common import source
from rbdyn_ros.ros.common.dynamics_query import Snapshot
from rbdyn_ros.ros.common.parameters import live
from rbdyn_ros.ros.common.single_joints import SingleJoints
from rbdyn_ros.ros.common.stamps import TickStamps
from rbdyn_ros.ros.simulator import parameters as params
from rbdyn_ros.ros.simulator.graph.foreign import ForeignPublishers
from rbdyn_ros.ros.simulator.robot.faults import faults_of_new, fitted, make_faults
from rbdyn_ros.ros.simulator.robot.payloads import Payloads, SavedPayloads
from rbdyn_ros.ros.simulator.robot.placement import given_state
from rbdyn_ros.ros.simulator.robot.robot_loading import load_robot
from rbdyn_ros.ros.simulator.robot.spawned_robots import SpawnedRobots
from rbdyn_ros.ros.simulator.setup import Setup
from rbdyn_ros.ros.simulator.topics.alarms import WaitAlarm
from rbdyn_ros.ros.simulator.topics.commanders import AnswerAges
from rbdyn_ros.ros.simulator.topics.driver import SimulatedDriver, policy_of
from rbdyn_ros.ros.simulator.topics.markers import open_markers
from rbdyn_ros.ros.simulator.topics.outputs import Cadence, Outputs
from rbdyn_ros.ros.simulator.topics.reception import Reception
from rbdyn_ros.ros.simulator.topics.record import NodeRecorder
from rbdyn_ros.ros.simulator.topics.shared_memory import SharedMemory
from rbdyn_ros.ros.simulator.world.entities import Entities, Settle
from rbdyn_ros.ros.simulator.world.places import Places
from rbdyn_ros.ros.simulator.world.world import World
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.port import Port
from rbdyn_ros.runtime.preparation import actuated
from rbdyn_ros.runtime.saved_loop import SavedLoop
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.runtime.wakeup import Wakeup
from rbdyn_ros.sensors.scene import Payload


@dataclass(frozen=True, slots=True, eq=False)
class SavedRobot:
    """The whole state of a robot.

    Attributes:
        loop: the state of its loop.
        world: the robot and its objects.
        payloads: payloads and gravity.
        faults: the parameters of the faults, as rclpy has them.
        seed: of all noise.
        seeded_tick: the tick at which the noise began.
    """

    loop: SavedLoop
    world: World
    payloads: SavedPayloads
    faults: dict[str, Any]
    seed: int
    seeded_tick: int


class Robot:
    """One robot, its loop and its topics.

    Args:
        node: has its parameters and topics.
        name: of one of several robots in a process; empty if it is the only one.
        values: of its parameters.
        time_node: full name of the node that controls the time of several robots; empty: `node`.
        recorder: of the topics of its node, or None.
        setup: of a simulator inside another program, or None.

    Attributes:
        given: its source, after `load`.
        m, commands: its Model and the parser of its commands, after `load`.
        sensors: topics of its sensors, after `load`; None without a sensor file.
        held: how it is held until its first command, after `load`; None: it is not.
        loop, stamps, payloads, entities, outputs, reception, spawned, wait_alarm, foreign: after
            `open`.
        shared_memory: after `open`, or None.
    """

    given: source.Source
    loop: Loop
    entities: Entities
    stamps: TickStamps
    payloads: Payloads
    outputs: Outputs
    reception: Reception
    spawned: SpawnedRobots
    wait_alarm: WaitAlarm
    foreign: ForeignPublishers
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
        self._seed = int(values.seed)

    def load(self, stop: threading.Event, fallback: Path | None) -> None:
        """Find the robot, make its Model and compile its kernels.

        Raises:
            RbdynError: a parameter or the robot is refused.
        """
        self._loaded = loaded = load_robot(self.node, self.values, self._setup, stop, fallback)
        self.m, self.given = loaded.m, loaded.given
        self.commands, self.sensors = loaded.commands, loaded.sensors
        self.held = loaded.held

    def open(self, wakeup: Wakeup, time_base: int, clock: Any) -> None:
        """Make the loop and the topics; the loop does not run yet.

        Args:
            wakeup: notified for every state.
            time_base: stamp of tick 0 [ns].
            clock: publisher of /clock, or None.
        """
        m, values, node, loaded = self.m, self.values, self.node, self._loaded
        if self._recorder is not None:
            self._recorder.begin(node, m, time_base)
        cadence = Cadence.of(values, loaded.period_ns, self.sensors.every if self.sensors else ())
        settings = self._settings(cadence)
        port = self._open_port(settings)
        self.loop = loop = Loop(m, settings, loaded.start, wakeup, loaded.faults, port)
        self.stamps = TickStamps(time_base, loop.period_ns)
        self.payloads = Payloads(loop, self.sensors)
        floating = values.floating_base and not self.given.is_scene
        self.entities = Entities(self, floating, loaded.start)
        watch = None
        if self._setup is not None:
            loop.plant.begin_with(self._setup.qvel)
            watch = self._setup.watch
        others = [self.sensors, open_markers(node, loop, values.frame_prefix)]
        self.outputs = Outputs(
            node,
            loop,
            self.given,
            values,
            cadence,
            self.stamps,
            clock,
            [other for other in others if other is not None],
            f"{self.time_node or node.get_fully_qualified_name()}/reset",
            self._recorder,
            watch,
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
        self.wait_alarm = WaitAlarm(node.get_logger(), loop)
        self.foreign = ForeignPublishers(node, self.outputs.describes, bool(self.outputs.frames))
        if port is not None:
            reception = self.reception
            self.shared_memory = SharedMemory(port, reception.watch, reception.log, ages)
        self.spawned = SpawnedRobots(
            node, loop, self.outputs, self.stamps, ages, values.partial_commands
        )

    def _open_port(self, settings: LoopSettings) -> Port | None:
        """Make the memory that another process shares, if there is a name for it."""
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
        """Return the joints with one coordinate but those of objects, which may be deleted."""
        scene = self.given.description
        owners = {*scene.objects, *scene.robots}
        names = SingleJoints.all(self.m).names
        return [name for name in names if entity_of(name, owners) not in scene.objects]

    def _settings(self, cadence: Cadence) -> LoopSettings:
        values = self.values
        return LoopSettings(
            command_timeout=values.command_timeout,
            answer_timeout=values.answer_timeout,
            on_timeout=policy_of(values),
            start_paused=values.start_paused,
            realtime=values.realtime,
            time_mode=values.time_mode,
            real_time_factor=values.real_time_factor,
            control_decimation=values.control_decimation,
            lockstep_dofs=self._lockstep_dofs(),
            lockstep_timeout=values.lockstep_timeout,
            servo_time_constant=values.servo_time_constant,
            hand_over_every=1 if values.shared_memory else cadence.hand_over,
            seed=values.seed,
            specialize=values.specialize,
            locked=self._setup is not None and self._setup.locked,
            report_current=values.actuator_effort == "current",
            held=None if self.held is None else self.held.dofs,
        )

    def _lockstep_dofs(self) -> Any:
        names = self.values.lockstep_joints
        if not names:  # and no robot that is spawned later
            return np.flatnonzero(actuated(self.m))
        try:
            self.commands.check_joints(names)
        except RbdynError as error:
            text = f"parameter 'lockstep_joints': {error}."
            finding = Finding("lockstep-joints", text, "error", "lockstep_joints")
            raise ParameterError(finding) from error
        dofs = self.commands.dofs | {name: f.dof for name, f in self.commands.mimics.items()}
        return np.array([dofs[name] for name in names], np.int64)

    def topics_to_try(self) -> str:
        """Return the topics to begin with, as a message."""
        states, commands = map(self.node.resolve_topic_name, ("joint_states", "joint_commands"))
        names = self.commands.joints.names
        if not names:
            return f"states are on {states}"
        example = f"name: ['{names[0]}'], effort: [1.0]"
        return f"states are on {states}; commands go to {commands}, for example {example}"

    @property
    def receptions(self) -> tuple[Reception, ...]:
        """Its reception, and the receptions of the robots that were spawned beside it."""
        return self.reception, *self.spawned.receptions

    @property
    def accepted(self) -> int:
        """Number of accepted messages, also of spawned robots."""
        shared = 0 if self.shared_memory is None else self.shared_memory.accepted
        return self.reception.log.accepted + self.spawned.accepted + shared

    @property
    def rejected(self) -> int:
        """Number of rejected messages, also of spawned robots."""
        return self.reception.log.rejected + self.spawned.rejected

    @property
    def dropped_readings(self) -> int:
        """Number of readings of lidars, range sensors and cameras that were dropped."""
        return 0 if self.sensors is None else self.sensors.dropped

    def close(self) -> None:
        """End the thread of the sensors, when the loop has ended and nothing is published."""
        if self.shared_memory is not None:
            self.shared_memory.close()
        if self.sensors is not None:
            self.sensors.close()

    def stamp_ns(self, tick: int) -> int:
        """Return the stamp of a tick [ns]."""
        return self.stamps.of(tick)

    def snapshot(self) -> tuple[Snapshot, int]:
        """Return the robot as it is simulated now, and the stamp of that state [ns]."""
        state = self.loop.readout.latest()
        seen = Snapshot(self.payloads.m, state.qpos, state.qvel, state.time, state.xfrc)
        return seen, self.stamp_ns(state.tick)

    def state_hash(self) -> str:
        """Return the SHA-256 of the latest state, and of payloads and gravity if they changed."""
        return self.loop.readout.latest().hash(self.payloads.changes())

    # changes at run time; all raise RbdynError to refuse, or if the loop does not answer

    def set_joint_state(
        self, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float]
    ) -> None:
        """Set positions and velocities of joints, see placement.py."""
        loop = self.loop
        here = loop.readout.latest().qpos if loop.time.paused else None
        loop.plant.set_state(*given_state(self.m, names, positions, velocities, here))

    @property
    def recorded(self) -> bool:
        """Whether the robot is recorded."""
        return self._recorder is not None

    def move(self, world: World, settle: Settle | None = None, resets: bool = False) -> World:
        """Go on in a world with other objects, between two ticks; all of it, or nothing.

        Args:
            world: the world.
            settle: see Entities.enter.
            resets: see Entities.enter.

        Returns:
            the world in which it goes on.

        Raises:
            RbdynError: the loop does not answer, or a topic or a sensor refuses the world.
        """
        commits, before, now = list[Callable[[], None]](), self.m, world

        def exchange(m: Model, loads: Sequence[Payload]) -> Model:
            # what can fail comes first, while nothing has changed
            description = world.description
            if self.sensors is not None:
                commits.append(self.sensors.prepare(world.m, description, m, loads))
            commits.append(self.outputs.prepare(world.m, description, world.robots))
            commits.append(self.spawned.prepare(world))

            loaded = m
            faults = {name: row.value for name, row in self._fault_parameters().items()}

            def between(d: Data) -> tuple[Model, Model]:
                nonlocal now, loaded
                self.outputs.drain()
                if settle is not None:
                    now = settle(Places(before, d.qpos, d.time))
                    loaded = now.with_weld_pose(m)
                return now.m, loaded

            of_new = faults_of_new(world.m, faults)
            self.loop.move(world.m, m, world.start, between, resets, of_new)
            return loaded

        with self.outputs.lock:
            try:
                self.payloads.move(world.m, exchange)
            except BaseException:
                self.spawned.abandon()
                raise
            self.m, self.given = now.m, replace(self.given, description=now.description)
            for commit in commits:
                commit()
        self._fit_faults()
        return now

    def _fit_faults(self) -> None:
        """Take joints that are gone out of the parameters of the faults, and new ones in."""
        right = fitted(self.m, vars(self.values), self.loop.plant.faults)
        if not right:
            return
        result = self.node.set_parameters_atomically(
            [Parameter(name, value=value or [""]) for name, value in right.items()]
        )
        if not result.successful:
            text = f"the parameters of faults do not follow the joints: {result.reason}"
            self.node.get_logger().warning(text)
            return
        changes = "; ".join(f"{name} is {value} now" for name, value in right.items())
        text = f"the joints of the simulation have changed: {changes}"
        self.node.get_logger().info(text)

    def reset(self, time: bool, state: bool, robot: bool, seed: int | None = None) -> None:
        """Reset loop and sensors, see runtime.plant.Plant.reset.

        Args:
            time: time starts at 0 again.
            state: the robot returns to its start, and nothing is attached.
            robot: objects, payloads and gravity return to those at the start; else they stay.
            seed: of all noise; None: the present one.
        """
        if robot:
            self.entities.restore(state)
            self.payloads.restore()
        elif state:
            self.entities.release()
        if not (time or state or seed is not None):
            return
        self.loop.plant.reset(time, state, seed)
        if self.sensors is not None:
            self._seed = self._seed if seed is None else seed
            self.sensors.reseed(self._seed, self.loop.time.seeded_tick)

    def save_state(self) -> SavedRobot:
        """Return the whole state, see runtime.loop.Loop.save_state."""
        loop, seeded = self.loop.save_state(), self.loop.time.seeded_tick
        faults = self._fault_parameters()
        return SavedRobot(
            loop, self.entities.world, self.payloads.saved(), faults, self._seed, seeded
        )

    def load_state(self, saved: SavedRobot) -> None:
        """Go on from a state that this robot saved; the parameters of the faults change, too.

        Raises:
            RbdynError: its faults are refused, or the loop does not answer.
        """
        faults = {name: one.value for name, one in saved.faults.items()}
        make_faults(saved.world.m, vars(self.values) | live(faults, params.PARAMETERS))
        self.entities.enter(saved.world, resets=True)
        now = self._fault_parameters()
        changes = [new for name, new in saved.faults.items() if new.value != now[name].value]
        result = self.node.set_parameters_atomically(changes)
        if not result.successful:
            raise refusal(result.reason)
        self.payloads.load(saved.payloads)
        self._seed = saved.seed
        if self.sensors is not None:  # before the first state that they measure
            self.sensors.reseed(saved.seed, saved.seeded_tick)
        self.loop.load_state(saved.loop)

    def _fault_parameters(self) -> dict[str, Any]:
        names = [row.name for row in params.PARAMETERS if row.name.startswith(params.FAULTS)]
        return {name: self.node.get_parameter(name) for name in names}

    def set_faults(self, values: dict[str, Any]) -> None:
        """Set the faults to the values of the parameters.

        Raises:
            ParameterError: they do not fit this robot.
        """
        self.loop.plant.set_faults(make_faults(self.m, values))
