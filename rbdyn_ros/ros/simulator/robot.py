"""One simulated robot behind its topics: loaded, moved by commands, changed at run time."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from std_srvs.srv import Trigger

from rbdyn_ros.engine import jit
from rbdyn_ros.errors import Finding, ModelError, ParameterError
from rbdyn_ros.model.graph import span
from rbdyn_ros.ros.common import parameters, source
from rbdyn_ros.ros.common.convert import SingleJoints
from rbdyn_ros.ros.common.dynamics_query import Snapshot
from rbdyn_ros.ros.common.dynamics_query import warm as warm_queries
from rbdyn_ros.ros.common.record import NodeRecorder
from rbdyn_ros.ros.common.trajectory import TrajectoryGate
from rbdyn_ros.ros.simulator import parameters as params
from rbdyn_ros.ros.simulator.commands import make_gate
from rbdyn_ros.ros.simulator.faults import make_faults
from rbdyn_ros.ros.simulator.outputs import Cadence, Outputs
from rbdyn_ros.ros.simulator.placement import placed
from rbdyn_ros.ros.simulator.plant import Plant
from rbdyn_ros.ros.simulator.reception import Reception
from rbdyn_ros.ros.simulator.sensors import SensorTopics
from rbdyn_ros.ros.simulator.services import ChangeTopics, open_services
from rbdyn_ros.ros.simulator.start import start_position
from rbdyn_ros.ros.simulator.topic_based import TopicBasedGate
from rbdyn_ros.ros.simulator.wrenches import open_markers
from rbdyn_ros.runtime import compiled
from rbdyn_ros.runtime.bell import Bell
from rbdyn_ros.runtime.compiled import NANOSECONDS
from rbdyn_ros.runtime.orders import Wrench
from rbdyn_ros.runtime.runtime import SILENT, Runtime, warm
from rbdyn_ros.runtime.settings import Settings
from rbdyn_ros.runtime.step_code import StepCode


def _is_compiled(description: Any) -> bool:
    """Whether what the robot needs was compiled before."""
    kept = [(compiled.CACHE_DIRECTORY, "loop.run")]
    mimic = any(joint.mimic is not None for joint in description.joints)
    if mimic or description.constraints or span(description).chords:
        kept.append((jit.CACHE_DIRECTORY, "coupled._accelerate_by_address"))
    if description.geometries:
        kept.append((jit.CACHE_DIRECTORY, "contact._by_address"))
    return all(any(Path(folder).rglob(f"{kernel}-*.nbi")) for folder, kernel in kept)


class Robot:
    """One robot, its loop, and its topics.

    Args:
        node: has its parameters and its topics.
        name: among several in a process; empty if it is the only one.
        values: of its parameters.
        time_node: full name of the node that has the time of several; empty: its own.
        recorder: of the topics of its node, or None.

    Attributes:
        given: where it came from, once it is loaded.
        runtime, outputs, reception: once it is open.
        time_base: stamp of tick 0 [ns].
    """

    given: source.Source
    runtime: Runtime
    outputs: Outputs
    reception: Reception

    def __init__(
        self,
        node: Node,
        name: str,
        values: SimpleNamespace,
        time_node: str,
        recorder: NodeRecorder | None = None,
    ) -> None:
        self._recorder = recorder
        self.node, self.name, self.values, self.time_node = node, name, values, time_node
        self.time_base, self._seed = 0, int(values.seed)

    # from parameters to a robot

    def load(self, stop: threading.Event, fallback: Path | None) -> None:
        """Find the robot, make its Model and compile what it needs.

        Raises:
            RbdynError: a parameter or the robot is refused.
        """
        values, logger = self.values, self.node.get_logger()

        def announce(given: source.Source) -> None:
            if not _is_compiled(given.description):
                logger.info("compiling the engine, first run only (about a minute) ...")

        m, self.given = source.load_robot(self.node, values, stop, fallback, announce)
        m.opt.timestep = values.timestep
        m.opt.gravity = values.gravity
        m.opt.integrator = values.integrator
        self.m = m
        self._period_ns = values.control_decimation * round(values.timestep * NANOSECONDS)
        self._find_gates()
        overrides = parameters.overrides(self.node)
        given = {k: v for k, v in overrides.items() if k.startswith(params.INITIAL)}
        self._start = start_position(m, given)
        self._declare_facts()
        self._faults = make_faults(m, vars(values))
        self._sensors = self._make_sensors()
        for sentence in parameters.unknown(self.node, params.PARAMETERS, (params.INITIAL,)):
            logger.warning(sentence)
        self._warm()

    def _warm(self) -> None:
        """Compile what the loop and the services need."""
        m = self.m
        if self.values.specialize:
            began = time.perf_counter()
            try:
                StepCode(m)
            except ModelError as error:
                text = f"parameter 'specialize' is true, but {error}"
                raise ParameterError(Finding("specialize", text, "error", "specialize")) from error
            took = time.perf_counter() - began
            self.node.get_logger().info(f"timesteps of '{m.name}' specialised in {took:.2f} s")
        warm(m, self.values.specialize)
        warm_queries(m)

    def _find_gates(self) -> None:
        m, values = self.m, self.values
        self.gate = make_gate(m, self.given.description, values.partial_commands)
        self._trajectories = TrajectoryGate(m, self.gate)
        self._bridge = None
        if values.topic_based_commands:
            kinds = ("position", "velocity", "effort")
            joints = {kind: getattr(values, f"topic_based_{kind}_joints") for kind in kinds}
            self._bridge = TopicBasedGate(self.gate, joints)

    def _declare_facts(self) -> None:
        """Parameters that others read: they describe the robot."""
        m = self.m
        facts: dict[str, Any] = {
            "effort_command_joints": list(self.gate.joints.names) or [""],
            "model_sha256": m.sha256(),
        }
        free = SingleJoints.free(m)
        for name, address in zip(free.names, free.qposadr, strict=True):
            facts[params.INITIAL + name] = float(self._start[address])
        for name, value in facts.items():
            descriptor = ParameterDescriptor(read_only=True, dynamic_typing=True)
            # a user's 1 for 1.0 was taken above, so what is declared is always the value
            self.node.declare_parameter(name, value, descriptor, ignore_override=True)

    def _make_sensors(self) -> SensorTopics | None:
        values = self.values
        if not values.sensors:
            return None
        return SensorTopics(
            self.node,
            self.m,
            self.given.description,
            Path(values.sensors),
            self._period_ns,
            values.frame_prefix,
            values.seed,
        )

    def open(self, bell: Bell, time_base: int, clock: Any) -> None:
        """Make the loop and the topics; the loop does not run yet.

        Args:
            bell: rung for every state.
            time_base: stamp of tick 0 [ns].
            clock: publisher of /clock, or None.
        """
        m, values, node = self.m, self.values, self.node
        self.time_base = time_base
        if self._recorder is not None:
            self._recorder.begin(node, m, time_base)
        cadence = Cadence.of(values, self._period_ns, self._sensors.every if self._sensors else ())
        self.runtime = Runtime(m, self._settings(cadence), self._start, bell, self._faults)
        self.plant = Plant(self.runtime, self._sensors)
        others = [self._sensors, open_markers(node, m, self.runtime, values.frame_prefix)]
        self.outputs = Outputs(
            node,
            self.runtime,
            self.given,
            values,
            cadence,
            time_base,
            clock,
            [other for other in others if other is not None],
            f"{self.time_node or node.get_fully_qualified_name()}/reset",
            self._recorder,
        )
        self.reception = Reception(node, self.runtime, self.gate, time_base)
        self.reception.take_trajectories(self._trajectories)
        if self._bridge is not None:
            self.reception.take_from_bridge(self._bridge)
        self._changes = ChangeTopics(
            node, self, values.command_timeout, values.world_frame, values.frame_prefix
        )
        self._services = open_services(node, self)
        node.create_service(Trigger, "~/state_hash", self._on_state_hash)
        node.create_service(Trigger, "~/clear_wrenches", self._on_clear_wrenches)

    def _settings(self, cadence: Cadence) -> Settings:
        values = self.values
        return Settings(
            command_timeout=values.command_timeout,
            on_timeout=values.on_timeout,
            start_paused=values.start_paused,
            realtime=values.realtime,
            time_mode=values.time_mode,
            real_time_factor=values.real_time_factor,
            control_decimation=values.control_decimation,
            lockstep_dofs=self._lockstep_dofs(),
            lockstep_timeout=values.lockstep_timeout,
            servo_time_constant=values.servo_time_constant,
            hand_over_every=cadence.hand_over,
            seed=values.seed,
            specialize=values.specialize,
        )

    def _lockstep_dofs(self) -> Any:
        names = self.values.lockstep_joints
        if not names:
            return None
        refusal = self.gate.known(names)
        if refusal:
            text = f"parameter 'lockstep_joints': {refusal}."
            raise ParameterError(Finding("lockstep-joints", text, "error", "lockstep_joints"))
        dofs = self.gate.dofs | {name: f.dof for name, f in self.gate.followers.items()}
        return np.array([dofs[name] for name in names], np.int64)

    @property
    def accepted(self) -> int:
        """Messages taken."""
        return self.reception.tally.accepted

    @property
    def rejected(self) -> int:
        """Messages refused."""
        return self.reception.tally.rejected

    # changes at run time; each returns why it is refused, or nothing

    def set_joint_state(
        self, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float]
    ) -> str:
        """Put joints elsewhere, all at the same time, see ros/placement.py."""
        here = self.runtime.latest().qpos if self.runtime.paused else None
        placement = placed(self.m, names, positions, velocities, here)
        if isinstance(placement, str):
            return placement
        return self._answered(self.runtime.set_state(*placement))

    def push(self, wrench: Wrench | str, stream: str = "") -> str:
        """Let a wrench act, unless it was refused already; see Runtime.push."""
        if isinstance(wrench, str):
            return wrench
        if self.runtime.push(wrench, stream):
            return ""
        return f"{len(self.runtime.wrenches())} wrenches act already, which is all that can"

    def set_payload(
        self, link: str, mass: float, com: Sequence[float], inertia: Sequence[float]
    ) -> str:
        """Fix a body to a link, see Plant.set_payload."""
        return self.plant.set_payload(link, mass, com, inertia)

    def set_gravity(self, gravity: Sequence[float]) -> str:
        """Change gravity, see Plant.set_gravity."""
        return self.plant.set_gravity(gravity)

    def refuse(self, topic: str, why: str) -> None:
        """Count a message that is refused, and say so once a second."""
        self.reception.refuse(topic, why)

    def snapshot(self) -> tuple[Snapshot, int]:
        """Return the robot as it is simulated now, and the stamp of that state [ns]."""
        state = self.runtime.latest()
        seen = Snapshot(self.plant.m, state.qpos, state.qvel, state.time, state.xfrc)
        return seen, self.time_base + state.tick * self._period_ns

    def state_hash(self) -> str:
        """Return the hash of the latest state."""
        return self.runtime.state_hash()

    def reset(self, time: bool, state: bool, seed: int | None) -> bool:
        """Reset, see Runtime.reset."""
        done = self.runtime.reset(time, state, seed)
        if done and self._sensors is not None:
            self._seed = self._seed if seed is None else seed
            self._sensors.reseed(self._seed, self.runtime.seeded_tick)
        return done

    def set_faults(self, values: dict[str, Any]) -> None:
        """Change faults to what the parameters say.

        Raises:
            ParameterError: they do not fit this robot, or the loop does not answer.
        """
        if not self.runtime.set_faults(make_faults(self.m, values)):
            text = f"{SILENT}; the faults are as they were"
            raise ParameterError(Finding("silent", text))

    def _on_state_hash(
        self, _request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        response.success, response.message = True, self.state_hash()
        return response

    def _on_clear_wrenches(
        self, _request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        self.runtime.clear_wrenches()
        response.success, response.message = True, "no wrench acts any more"
        return response

    @staticmethod
    def _answered(done: bool) -> str:
        return "" if done else SILENT
