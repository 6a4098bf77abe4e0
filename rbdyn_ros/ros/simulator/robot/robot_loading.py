# SPDX-License-Identifier: Apache-2.0
"""Load a robot before its loop and topics are made: Model, start, command parsers, sensors."""

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from rclpy.node import Node

from rbdyn_ros.actuators import with_actuators
from rbdyn_ros.arrays import Array, Ints
from rbdyn_ros.control_box.boxes import equipped
from rbdyn_ros.description.appearance.shapes import Appearance
from rbdyn_ros.description.parts.types import WORLD, Description
from rbdyn_ros.description.source import Source
from rbdyn_ros.dynamics.configuration import moved_starts
from rbdyn_ros.dynamics.ray_shapes import RayShapes
from rbdyn_ros.errors import Finding, ParameterError, RbdynError
from rbdyn_ros.loading.standing import on_floor
from rbdyn_ros.model.declared.joints import JointType
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common.graph import source
from rbdyn_ros.ros.common.parsing.commands import CommandParser, command_parser
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.ros.common.parsing.trajectory import TrajectoryParser
from rbdyn_ros.ros.common.queries import ik_query
from rbdyn_ros.ros.common.queries.dynamics_query import warm as warm_queries
from rbdyn_ros.ros.common.settings import parameters
from rbdyn_ros.ros.common.settings.base_parameters import PLANAR
from rbdyn_ros.ros.common.settings.specialize import specialized
from rbdyn_ros.ros.simulator import parameters as params
from rbdyn_ros.ros.simulator.robot.faults import make_faults
from rbdyn_ros.ros.simulator.robot.start import Held, held_at, in_stance, start_position
from rbdyn_ros.ros.simulator.robot.visible import Visible
from rbdyn_ros.ros.simulator.setup import Setup
from rbdyn_ros.ros.simulator.topics.base_joints import with_planar_base
from rbdyn_ros.ros.simulator.topics.driver import policy_of
from rbdyn_ros.ros.simulator.topics.outputs import Cadence
from rbdyn_ros.ros.simulator.topics.sensors import SensorTopics
from rbdyn_ros.ros.simulator.topics.topic_based import TopicBasedParser
from rbdyn_ros.runtime.head_start import head_start, is_compiled
from rbdyn_ros.runtime.loop import warm
from rbdyn_ros.runtime.preparation import TICKS_OF_SERVO, actuated, servo_times
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.runtime.step_code import StepCode
from rbdyn_ros.runtime.types import Faults
from rbdyn_ros.sensors.reader import RAYS, sensors_of
from rbdyn_ros.sensors.specs import Spec

STARTS_ELSEWHERE = (
    "joints whose limits exclude 0 start elsewhere: {}. Parameters {}<joint> set other starts"
)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedRobot:
    """The objects that a robot needs for its loop and its topics.

    Attributes:
        m, given: the Model, and the source of the robot.
        period_ns: duration of a tick [ns].
        commands, trajectories, bridge: parsers of messages; `bridge` is None unless ros2_control
            sends topic-based commands.
        start: qpos at the start (nq,).
        held: how the robot is held until its first command; None: it is not held.
        faults: faults that the parameters describe.
        sensors: topics of its sensors; None without a sensor file.
    """

    m: Model
    given: Source
    period_ns: int
    commands: CommandParser
    trajectories: TrajectoryParser
    bridge: TopicBasedParser | None
    start: Array
    held: Held | None
    faults: Faults
    sensors: SensorTopics | None


def prepared_robot(
    node: Node,
    values: SimpleNamespace,
    setup: Setup | None,
    stop: threading.Event,
    fallback: Path | None,
) -> LoadedRobot:
    """Find the robot, make its Model, and compile the code that it needs.

    Args:
        node: node with the robot's parameters and topics.
        values: values of the parameters; this sets `floating_base` and `box` from the scene.
        setup: settings of a simulator inside another program, or None.
        stop: ends the wait for a robot_description.
        fallback: file of the robot if the parameters name no robot; None: wait for the topic.

    Raises:
        RbdynError: a parameter or the robot is refused.
    """
    with head_start() as finished:
        m, given = _find(node, values, setup, stop, fallback)
        loaded = _prepare(node, values, setup, m, given)
        _compile(node, m, values.specialize, finished)
    return loaded


def _find(
    node: Node,
    values: SimpleNamespace,
    setup: Setup | None,
    stop: threading.Event,
    fallback: Path | None,
) -> tuple[Model, Source]:
    """Return the Model and its source; set the values that the source decides."""

    def announce(given: Source) -> None:
        values.box = [name for name in values.box if name] or list(given.boxes)
        setattr(values, "base.kind", getattr(values, "base.kind") or given.base)
        if not is_compiled():
            text = "compiling the engine, first run only (about half a minute) ..."
            node.get_logger().info(text)

    def described(description: Description) -> Description:
        planar = getattr(values, "base.kind") == PLANAR
        return with_planar_base(description) if planar else description

    equip = functools.partial(_equipped, values, "gravity" in parameters.overrides(node))
    m, given = source.load_robot(node, values, stop, fallback, announce, equip, described)
    if given.is_scene or given.description.base == WORLD:
        first = m.njnt > 0 and m.body_names[1] not in given.description.objects
        values.floating_base = bool(first and m.jnt_type[0] == JointType.FREE)
    return (m if setup is None else setup.change(m)), given


def _equipped(values: SimpleNamespace, has_gravity: bool, m: Model) -> Model:
    """Return the Model with the options and the actuators of the parameters.

    Args:
        values: values of the parameters.
        has_gravity: whether the user has set gravity; otherwise use the robot file's gravity.
        m: the robot.
    """
    m.opt.timestep = values.timestep
    if has_gravity:
        m.opt.gravity = values.gravity
    m.opt.integrator = values.integrator
    m.opt.exact_stops = values.exact_stops
    m = equipped(m, values.box)
    return with_actuators(m, values.actuators) if values.actuators else m


def _prepare(
    node: Node, values: SimpleNamespace, setup: Setup | None, m: Model, given: Source
) -> LoadedRobot:
    period_ns = values.control_decimation * round(values.timestep * NANOSECONDS)
    commands = command_parser(m, given.description, values.partial_commands)
    trajectories = TrajectoryParser(m, commands)
    bridge = _bridge(values, commands)
    wanted = values.start == "held" or (values.start == "shown" and values.view)
    wanted = wanted and values.time_mode == "realtime" and values.on_timeout == "zero"
    stands = wanted and values.floating_base and values.contact and not given.is_scene
    start, held = _start(node, setup, m, stands), None
    if wanted:
        start, held = _held(node, m, on_floor(m, start) if stands else start)
    _note_slow_servos(node, m, values.servo_time_constant, period_ns)
    _declare_facts(node, m, commands, start)
    faults = make_faults(m, vars(values))
    sensors = _open_sensors(node, values, m, given, period_ns)
    for warning in parameters.unknown(node, params.PARAMETERS, (params.INITIAL,)):
        node.get_logger().warning(warning)
    return LoadedRobot(
        m, given, period_ns, commands, trajectories, bridge, start, held, faults, sensors
    )


def _bridge(values: SimpleNamespace, commands: CommandParser) -> TopicBasedParser | None:
    if not values.topic_based_commands:
        return None
    kinds = ("position", "velocity", "effort")
    joints = {kind: getattr(values, f"topic_based_{kind}_joints") for kind in kinds}
    return TopicBasedParser(commands, joints)


def _start(node: Node, setup: Setup | None, m: Model, stands: bool) -> Array:
    """Return qpos at the start (nq,), in a stance if `stands`; log joints not at 0."""
    overrides = parameters.overrides(node)
    given = {k: v for k, v in overrides.items() if k.startswith(params.INITIAL)}
    start = start_position(m, given)
    if stands:
        start = in_stance(m, start, given)
    if setup is not None and setup.qpos is not None:
        start = setup.qpos
    if moved := moved_starts(m, start):
        node.get_logger().info(STARTS_ELSEWHERE.format(moved, params.INITIAL))
    return start


def _held(node: Node, m: Model, start: Array) -> tuple[Array, Held | None]:
    """Return the start (nq,), and how the robot is held there, or None; log it."""
    held = held_at(m, start)
    if not held.text:
        return start, None
    text = f"{held.text}, until the first command; the parameter start:=falling lets it fall"
    node.get_logger().info(text)
    return start, held


def _note_slow_servos(node: Node, m: Model, wanted: float, period_ns: int) -> None:
    """Log servos whose drives need a longer time constant than wanted [s]."""
    period = period_ns / NANOSECONDS
    slowest = float(servo_times(m, wanted, period).max(initial=0.0))
    if slowest > max(wanted, TICKS_OF_SERVO * period):
        reason = "actuators answer late, or their gears ring"
        text = f"servos have time constants of up to {slowest:.3g} s instead of {wanted:.3g} s"
        node.get_logger().info(f"{text}, because {reason}")


def _declare_facts(node: Node, m: Model, commands: CommandParser, start: Array) -> None:
    """Declare read-only parameters that describe the robot."""
    facts: dict[str, Any] = {
        "effort_command_joints": list(commands.joints.names) or [""],
        "model_sha256": m.sha256(),
    }
    free = SingleJoints.free(m)
    for name, address in zip(free.names, free.qposadr, strict=True):
        facts[params.INITIAL + name] = float(start[address])
    # `start` also has the positions that the user has set
    parameters.declare_facts(node, facts)


def _open_sensors(
    node: Node, values: SimpleNamespace, m: Model, given: Source, period_ns: int
) -> SensorTopics | None:
    described = () if values.sensors else _described(node, m, given, period_ns)
    if not values.sensors and not described:
        return None
    visible = functools.cache(lambda: Visible(m, given))
    warned = False

    def visuals(world: Model) -> RayShapes:
        """Return the shapes that sensors with `sees: visual` detect."""
        nonlocal warned
        shapes = visible().shapes(world)
        for finding in () if warned else shapes.findings:
            node.get_logger().warning(str(finding))
        warned = True
        return shapes

    def looks(world: Model) -> Appearance:
        """Return the appearance of a Model for colour cameras."""
        return visible().looks(world)

    def topics(sensors: Path | Sequence[Spec]) -> SensorTopics:
        return SensorTopics(
            node,
            m,
            given.description,
            sensors,
            period_ns,
            values.frame_prefix,
            values.seed,
            visuals,
            looks,
            values.time_mode == "realtime",
            values.world_frame or "world",
        )

    if values.sensors:
        return topics(Path(values.sensors))
    blind = [spec for spec in described if not isinstance(spec, RAYS)]
    for specs, kinds in (described, "cameras, lidars and range sensors"), (blind, "other sensors"):
        try:
            return topics(specs) if specs else None
        except RbdynError as error:  # noqa: PERF203 - pictures may lack a graphics library
            node.get_logger().warning(f"the {kinds} of the robot file are left out: {error}")
    return None


def _described(node: Node, m: Model, given: Source, period_ns: int) -> tuple[Spec, ...]:
    """Return the sensors of the robot file; log them and the sensors that cannot be simulated."""
    specs, findings = sensors_of(m, given.description, period_ns=period_ns)
    for finding in findings:
        node.get_logger().warning(str(finding))
    if specs:
        names = ", ".join(spec.name for spec in specs)
        node.get_logger().info(f"sensors of the robot file: {names}")
    return specs


def _compile(node: Node, m: Model, specialize: bool, finished: Callable[[], object]) -> None:
    """Compile the code of the loop and of the services.

    Args:
        node: node that logs.
        m: the robot.
        specialize: whether to compile timesteps for this robot.
        finished: waits for another process that compiles the loop.
    """
    if specialize:
        what = f"timesteps of '{m.name}' specialised"
        specialized(node, what, lambda: StepCode(m))
    warm_queries(m)
    ik_query.warm(m)
    finished()
    warm(m, specialize)


def loop_settings(
    values: SimpleNamespace, m: Model, commands: CommandParser, cadence: Cadence, locked: bool
) -> LoopSettings:
    """Return the settings of the loop of a robot.

    Args:
        values: values of the parameters.
        m: the robot.
        commands: parser of its commands.
        cadence: rates of its topics.
        locked: as in LoopSettings.

    Raises:
        ParameterError: `lockstep_joints` has an unknown joint.
    """
    return LoopSettings(
        command_timeout=values.command_timeout,
        answer_timeout=values.answer_timeout,
        on_timeout=policy_of(values),
        start_paused=values.start_paused,
        realtime=values.realtime,
        time_mode=values.time_mode,
        real_time_factor=values.real_time_factor,
        control_decimation=values.control_decimation,
        lockstep_dofs=_lockstep_dofs(values, m, commands),
        lockstep_timeout=values.lockstep_timeout,
        servo_time_constant=values.servo_time_constant,
        hand_over_every=1 if values.shared_memory else cadence.hand_over,
        seed=values.seed,
        specialize=values.specialize,
        locked=locked,
        report_current=values.actuator_effort == "current",
    )


def _lockstep_dofs(values: SimpleNamespace, m: Model, commands: CommandParser) -> Ints | None:
    """Return the dofs of parameter lockstep_joints; if it is empty, of all joints with actuators.

    With control boxes and no names, return None: only the joints of the boxes count. Raises
    ParameterError if a joint accepts no commands.
    """
    names = values.lockstep_joints
    if not names:
        return None if values.box else np.flatnonzero(actuated(m))
    try:
        commands.check_joints(names)
    except RbdynError as error:
        text = f"parameter 'lockstep_joints': {error}."
        finding = Finding("lockstep-joints", text, "error", "lockstep_joints")
        raise ParameterError(finding) from error
    dofs = commands.dofs | {name: f.dof for name, f in commands.mimics.items()}
    return np.array([dofs[name] for name in names], np.int64)
