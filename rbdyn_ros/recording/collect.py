# SPDX-License-Identifier: Apache-2.0
"""Collect the data of each robot from the messages of a recording; a namespace is a robot."""

import functools
import math
import re
from typing import Any

import numpy as np

from rbdyn_ros.nanoseconds import NANOSECONDS, nanoseconds
from rbdyn_ros.recording import topics
from rbdyn_ros.recording.mcap_file import Message, Topic
from rbdyn_ros.recording.schemas import LATER, STATE, Schemas, older_state
from rbdyn_ros.recording.series import Budget, JointTopic, StateTopic, stamp_of

STATES, DESCRIPTION, BASE = "joint_states", "robot_description", "odom"
#: Last parts of the names of command topics.
COMMANDS = ("joint_commands", "joint_commands_by_mode", "effort_commands", "gripper_commands")
#: On this topic velocities and efforts are limits and not commands.
GRIPPERS = "gripper_commands"
BRIDGE = "topic_based_joint_commands"
#: A step back in time by more than this is a reset [ns]; a smaller step is due to message order.
BACK = NANOSECONDS // 2
#: Modes of rbdyn_interfaces/msg/JointCommand: the modes with a position, VELOCITY, and IMPEDANCE.
_POSITION_MODES, _VELOCITY_MODE, _IMPEDANCE = (1, 3), 2, 3
LONGEST_TEXT = 1 << 26
#: The fields of rbdyn_interfaces/msg/JointCommand.msg.
_BY_MODE_FIELDS = """\
std_msgs/Header header
string[] name
uint8[] mode
float64[] position
float64[] velocity
float64[] effort
float64[] stiffness
float64[] damping
"""


class RobotData:
    """The recorded data of one robot.

    Attributes:
        states, joints, commands: data of its topics; None: the recording lacks the topic.
        base: pairs of a stamp [ns] and a row of odom.
        urdf: text of its URDF; "": the recording has none.
        since: time from the start of the recording to its first state [s].
        notes: notes for the user.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.states: StateTopic | None = None
        self.joints: JointTopic | None = None
        self.commands: dict[str, JointTopic] = {}
        self.base: list[tuple[int, np.ndarray[Any, Any]]] = []
        self.urdf, self.since = "", math.nan
        self.notes: list[str] = []

    def restart(self) -> None:
        """Drop the motion so far and add a note, because time was set back."""
        for series in (self.states, self.joints, *self.commands.values()):
            if series is not None:
                series.clear()
        self.base.clear()
        self.since = math.nan
        text = "time was reset; only the part after the last reset is read"
        if text not in self.notes:
            self.notes.append(text)


class Collected:
    """The data of all messages in a span of time.

    Args:
        start, end: span of time since the first message [s].

    Attributes:
        outside: whether there are states outside the span.
        kinds: types of the found topics with states.
        robots: data of the robots, by namespace.
    """

    kinds = (STATE,)

    def __init__(self, start: float, end: float) -> None:
        self._start, self._end = start, end
        self._budget = Budget()
        self._first: int | None = None
        self.robots: dict[str, RobotData] = {}
        self._schemas = Schemas()
        self._schemas.define(topics.BY_MODE, _BY_MODE_FIELDS)
        for known in range(len(LATER)):
            self._schemas.define(*older_state(known))
        self.outside = False

    def wants(self, topic: Topic) -> bool:
        """Return whether to read the messages of a topic."""
        return topic.encoding in ("cdr", "") and _use(topic) != ""

    def of(self, space: str) -> RobotData:
        """Return the data of the robot in a namespace."""
        if space not in self.robots:
            self.robots[space] = RobotData(self._budget)
        return self.robots[space]

    def take(self, message: Message) -> None:
        """Add the data of a message.

        Raises:
            Exception: rosbags raises it for a malformed message.
            TooLargeError: the recording exceeds the budget.
        """
        topic = message.topic
        use, robot = _use(topic), self.of(space_of(topic))
        if use == DESCRIPTION:
            if len(message.raw) > LONGEST_TEXT:
                raise ValueError(f"it has {len(message.raw)} bytes")
            robot.urdf = str(self._decoded(message).data)
            return
        if self._first is None:
            self._first = message.time_ns
        since = (message.time_ns - self._first) * 1e-9
        if not self._start <= since <= self._end:
            self.outside = True
            return
        if use in (STATE, STATES) and math.isnan(robot.since):
            robot.since = since
        if use == STATE:
            self._take_state(robot, message)
        elif use == BASE:
            robot.base.append(self._base(message))
        else:
            self._take_joints(robot, use, message)

    def _decoded(self, message: Message, typename: str = "") -> Any:
        kind = typename or message.topic.typename
        return self._schemas.deserialize(message.raw, kind)

    def _take_state(self, robot: RobotData, message: Message) -> None:
        state = self._decoded(message, _state_type(message.topic.definition))
        stamp = nanoseconds(state.stamp)
        if robot.states is None:
            robot.states = StateTopic(self._budget)
        last = robot.states.stamps[-1] if robot.states.stamps else -math.inf
        if robot.states.epoch not in (-1, state.epoch) or stamp < last:
            robot.restart()
        # leave out states that a paused simulation repeats
        if stamp != last or not robot.states.ends_with(state):
            robot.states.add(stamp, state)

    def _take_joints(self, robot: RobotData, use: str, message: Message) -> None:
        decoded, topic = self._decoded(message), message.topic
        if topic.typename == topics.NUMBERS:
            data = np.asarray(decoded.data, np.float64)
            names = [str(k) for k in range(len(data))]
            series = robot.commands.setdefault(topic.name, JointTopic(topic.name, self._budget))
            series.add(message.time_ns, message.time_ns, names, (), (), data)
            return
        stamp = stamp_of(decoded) or message.time_ns
        values = decoded.position, decoded.velocity, decoded.effort
        if use == STATES:
            if robot.joints is None:
                robot.joints = JointTopic(topic.name, self._budget)
            if stamp < robot.joints.last - BACK:
                robot.restart()
            robot.joints.add(stamp, message.time_ns, decoded.name, *values)
            return
        series = robot.commands.setdefault(topic.name, JointTopic(topic.name, self._budget))
        if topic.typename == topics.BY_MODE:
            values = _by_mode(decoded)
        elif use == GRIPPERS:
            values = decoded.position, (), ()
        series.add(stamp, message.time_ns, decoded.name, *values)

    def _base(self, message: Message) -> tuple[int, np.ndarray[Any, Any]]:
        """Return the stamp [ns] of an Odometry, and its position, quaternion wxyz, twist (13,)."""
        decoded = self._decoded(message)
        at, turn = decoded.pose.pose.position, decoded.pose.pose.orientation
        v, w = decoded.twist.twist.linear, decoded.twist.twist.angular
        row = [at.x, at.y, at.z, turn.w, turn.x, turn.y, turn.z, v.x, v.y, v.z, w.x, w.y, w.z]
        self._budget.take(len(row))
        return stamp_of(decoded) or message.time_ns, np.array(row, np.float64)


@functools.lru_cache(8)
def _state_type(definition: str) -> str:
    """Return the name of the older State type with this definition; "": it is not an older one."""
    known = sum(bool(re.search(rf"\b{name}\b", definition)) for name in LATER)
    return older_state(known)[0] if definition and known < len(LATER) else ""


def _by_mode(decoded: Any) -> tuple[Any, Any, Any]:
    """Return positions, velocities and efforts of a JointCommand; NaN: the mode ignores them."""
    mode = np.asarray(decoded.mode)
    filled = [np.full(len(mode), np.nan) for _ in range(3)]
    used = (
        np.isin(mode, _POSITION_MODES),
        np.isin(mode, (_VELOCITY_MODE, _IMPEDANCE)),
        np.isin(mode, (0, _IMPEDANCE)),
    )
    given = (decoded.position, decoded.velocity, decoded.effort)
    for out, where, values in zip(filled, used, given, strict=True):
        if len(values) == len(mode):
            out[where] = np.asarray(values)[where]
    return filled[0], filled[1], filled[2]


def _use(topic: Topic) -> str:
    """Return the kind of data on a topic, or "" if the topic is not read."""
    last = topic.name.rsplit("/", 1)[-1]
    if topic.typename == STATE:
        return STATE
    if topic.typename == topics.JOINT_STATE:
        return last if last in (STATES, *COMMANDS, BRIDGE) else ""
    if topic.typename in (topics.BY_MODE, topics.NUMBERS):
        return last if last in COMMANDS else ""
    if topic.typename == topics.STRING:
        return DESCRIPTION if last == DESCRIPTION else ""
    return BASE if topic.typename == topics.ODOMETRY and last == BASE else ""


def space_of(topic: Topic) -> str:
    """Return the namespace of the robot of a topic: '' or '/name'."""
    parts = topic.name.rstrip("/").split("/")
    # a State topic also has the node's name, between the namespace and its own name
    return "/".join(parts[: -2 if topic.typename == STATE else -1])


def robots_in(collected: Collected) -> list[str]:
    """Return the namespaces of the robots that have states."""
    return sorted(
        space
        for space, robot in collected.robots.items()
        if (robot.states and robot.states.stamps) or (robot.joints and robot.joints.count)
    )
