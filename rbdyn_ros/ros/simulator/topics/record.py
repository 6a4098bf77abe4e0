# SPDX-License-Identifier: Apache-2.0
"""Record the published and received messages of a process, in simulated time.

A published message is recorded as the bytes that are sent, so it is serialised only once. A
received message is recorded as the bytes of the middleware, and then deserialised. The time of a
message in the file is the stamp of the newest state, because wall time means nothing if the
simulation is paused or runs as fast as possible.
"""

import importlib
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message

from rbdyn_ros.errors import ParameterError
from rbdyn_ros.model.model import Model
from rbdyn_ros.recording import topics
from rbdyn_ros.recording.qos import offered
from rbdyn_ros.recording.recorder import model_bytes
from rbdyn_ros.recording.schemas import STATE, Schemas
from rbdyn_ros.recording.writer import RunFile
from rbdyn_ros.ros.common.reports.throttle import Throttle
from rbdyn_ros.runtime.state import LoopState

#: Topics to which every node subscribes; they are not recorded as commands.
NOT_COMMANDS = ("/clock", "/parameter_events", "/rosout")
_NOTHING = np.empty(0)


class NodeRecording:
    """The recording of a process: one file for all its robots.

    Args:
        path: path of the new file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: RunFile | None = None
        self._early: list[tuple[NodeRecorder, str, str, dict[str, str], bytes]] = []
        self._lock = threading.Lock()
        self._unknown: set[str] = set()

    def open(self, node: Node) -> None:
        """Open the file and write all earlier messages with the present time of each robot.

        Raises:
            ParameterError: the file cannot be written.
        """
        self._logger = node.get_logger()
        schemas = Schemas(definition)
        file = RunFile(self.path, schemas, self._logger.error)
        self._messages = topics.Messages(schemas)
        with self._lock:
            self._file, early = file, self._early
            self._early = []
        for recorder, topic, typename, qos, raw in early:
            self.put(recorder, topic, typename, qos, raw)
        text = f"recording to {self.path}"
        self._logger.info(text)

    def put(
        self, recorder: "NodeRecorder", topic: str, typename: str, qos: dict[str, str], raw: bytes
    ) -> None:
        """Record a serialised message, or keep it until the file is open."""
        with self._lock:
            if self._file is None:
                self._early.append((recorder, topic, typename, qos, raw))
                return
        channel = self.channel(topic, typename, qos)
        if channel:
            self._file.put(channel, recorder.now, raw)

    def channel(self, topic: str, typename: str, qos: dict[str, str]) -> int:
        """Return the channel of a topic; 0, after a warning, if its type is unknown."""
        assert self._file is not None
        if typename in self._unknown:
            return 0
        try:
            return self._file.channel(topic, typename, qos)
        except ParameterError as error:
            self._unknown.add(typename)
            text = f"{topic} is not recorded: {error}"
            self._logger.warning(text)
            return 0

    def put_state(self, channel: int, stamp: int, state: LoopState) -> None:
        """Record a state."""
        assert self._file is not None
        acts = state.xfrc.reshape(-1) if state.xfrc.any() else _NOTHING
        contact = state.contact.reshape(-1) if state.m.ncontact else _NOTHING
        joints = state.stick_qfrc if state.m.nstop else _NOTHING
        memory = state.stick.reshape(-1), joints, state.act
        lists = (state.qpos, state.qvel, state.qacc, state.effort, acts, contact, *memory)
        raw = self._messages.state(stamp, state.tick, state.time, state.epoch, lists)
        self._file.put(channel, stamp, raw)

    def attach(self, name: str, model: bytes) -> None:
        """Attach a serialised Model to the file, under a name."""
        assert self._file is not None
        self._file.attach(name, topics.MODEL_TYPE, model)

    def close(self) -> tuple[str, bool]:
        """Complete the file; return a summary, and whether the file has all messages."""
        if self._file is None:
            return "", True
        self._file.close()
        return self._file.summary, self._file.complete


class NodeRecorder:
    """Records the topics of a node and the states of its robot.

    Args:
        recording: recording of the process.

    Attributes:
        now: stamp of the newest state [ns].
    """

    def __init__(self, recording: NodeRecording) -> None:
        self._recording, self.now = recording, 0
        self._state, self._name, self._model = 0, "", b""
        self._malformed = Throttle()

    def begin(self, node: Node, m: Model, time_base: int) -> None:
        """Begin to record the states of a robot; the recording must be open.

        Args:
            node: node of the robot.
            m: the robot.
            time_base: stamp of tick 0 [ns].
        """
        self.now = time_base
        topic = f"{node.get_fully_qualified_name()}/state"
        self._state = self._recording.channel(topic, STATE, offered())
        space = node.get_namespace().strip("/")
        self._name = f"{space}/{topics.MODEL_NAME}".lstrip("/")
        self.use(m)

    def use(self, m: Model) -> None:
        """Record the Model of the following states, if it differs from the last Model."""
        model = model_bytes(m)
        if model != self._model:
            self._model = model
            self._recording.attach(self._name, model)

    def take(self, stamp: int, state: LoopState) -> None:
        """Record a state; the messages after it have its time."""
        self.now = stamp
        if self._state:
            self._recording.put_state(self._state, stamp, state)

    def put(self, topic: str, typename: str, qos: dict[str, str], raw: bytes) -> None:
        """Record a serialised message."""
        self._recording.put(self, topic, typename, qos, raw)

    def heard(
        self, node: Node, kind: Any, topic: str, callback: Callable[[Any], None], qos: Any
    ) -> Callable[[bytes], None]:
        """Return a callback that records the bytes of a message and calls `callback` with it."""
        name, typename = node.resolve_topic_name(topic), type_name(kind)
        metadata = _metadata(qos)

        def take(raw: bytes) -> None:
            self.put(name, typename, metadata, raw)
            try:
                message = deserialize_message(raw, kind)
            except Exception as error:  # noqa: BLE001 - any error of the middleware
                if self._malformed.due(time.monotonic()):
                    node.get_logger().warning(f"{name}: a message cannot be read: {error}")
                return
            callback(message)

        return take


class RecordedPublisher(Publisher):  # type: ignore[type-arg]  # it is generic only in newer ROS 2
    """A publisher whose messages are recorded, even without subscribers."""

    recorder: NodeRecorder

    def note(self, recorder: NodeRecorder, kind: Any) -> None:
        """Begin to record the messages of this publisher.

        Args:
            recorder: records the messages.
            kind: class of the messages.
        """
        self.recorder, self._kind = recorder, type_name(kind)
        self._metadata = _metadata(self.qos_profile)
        self._name = self.topic_name

    def publish(self, msg: Any) -> None:
        """Publish a message, or its bytes, and record them."""
        raw = msg if isinstance(msg, bytes) else serialize_message(msg)
        super().publish(raw)
        self.recorder.put(self._name, self._kind, self._metadata, raw)

    def get_subscription_count(self) -> int:
        """Return the number of subscriptions, including the recording."""
        return int(super().get_subscription_count()) + 1


class RecordedTopics:
    """Mixin for a Node: the recorder, if there is one, records all topics that the node opens.

    Attributes:
        recorder: recorder of the node; None: record nothing.
    """

    recorder: NodeRecorder | None = None

    def create_publisher(self, msg_type: Any, topic: str, qos_profile: Any, **more: Any) -> Any:
        """Return a publisher as Node does; it is recorded if there is a recorder."""
        create = super().create_publisher  # type: ignore[misc]  # Node's
        if self.recorder is None:
            return create(msg_type, topic, qos_profile, **more)
        more["publisher_class"] = RecordedPublisher
        publisher = create(msg_type, topic, qos_profile, **more)
        publisher.note(self.recorder, msg_type)
        return publisher

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Any, qos_profile: Any, **more: Any
    ) -> Any:
        """Return a subscription as Node does; it is recorded if there is a recorder."""
        create = super().create_subscription  # type: ignore[misc]  # Node's
        recorder, node = self.recorder, self
        assert isinstance(node, Node)
        if recorder is None or node.resolve_topic_name(topic) in NOT_COMMANDS or more.get("raw"):
            return create(msg_type, topic, callback, qos_profile, **more)
        take = recorder.heard(node, msg_type, topic, callback, qos_profile)
        return create(msg_type, topic, take, qos_profile, raw=True, **more)


class RobotNode(RecordedTopics, Node):
    """The node of one of several robots.

    Args:
        recorder: recorder of its topics, or None.
        name: name of the node.
        more: other arguments of Node.
    """

    def __init__(self, recorder: NodeRecorder | None, name: str, **more: Any) -> None:
        super().__init__(name, **more)
        self.recorder = recorder


def type_name(kind: Any) -> str:
    """Return the name of a message class: package/msg/Name."""
    return f"{kind.__module__.split('.', 1)[0]}/msg/{kind.__name__}"


def _metadata(qos: QoSProfile | int) -> dict[str, str]:
    if isinstance(qos, int):
        return offered(qos)
    return offered(
        qos.depth,
        qos.reliability != ReliabilityPolicy.BEST_EFFORT,
        qos.durability == DurabilityPolicy.TRANSIENT_LOCAL,
    )


def definition(typename: str) -> str | None:
    """Return the fields of a type as in a .msg file, or None if the type is not installed."""
    package, _, name = typename.split("/")
    try:
        kind = getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError):
        return None
    fields = kind.get_fields_and_field_types()
    return "".join(f"{_msg_type(idl)} {field}\n" for field, idl in fields.items())


def _msg_type(idl: str) -> str:
    """Return the name of an IDL type in .msg files: sequence<double> is float64[]."""
    sequence = re.fullmatch(r"sequence<(.+?)(?:, (\d+))?>", idl)
    if sequence:
        bound = f"<={sequence[2]}" if sequence[2] else ""
        return f"{_msg_type(sequence[1])}[{bound}]"
    array = re.fullmatch(r"(.+)\[(\d+)\]", idl)
    if array:
        return f"{_msg_type(array[1])}[{array[2]}]"
    text = re.fullmatch(r"(w?string)<(\d+)>", idl)
    return f"{text[1]}<={text[2]}" if text else _WORDS.get(idl, idl)


_WORDS = {"double": "float64", "float": "float32", "boolean": "bool", "octet": "byte"}
