# SPDX-License-Identifier: Apache-2.0
"""Topics with a robot's state: joint_states, motor_states, /tf, object_poses and odom."""

import importlib
from collections.abc import Callable, Sequence

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.engine.tree.kinematics import poses
from rbdyn_ros.model.declared.actuators import TWIST
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.graph.qos import LATCHED, reliable
from rbdyn_ros.ros.common.parsing import convert
from rbdyn_ros.ros.common.parsing.convert import Prepared
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.ros.common.reports.qos_reports import for_publisher
from rbdyn_ros.ros.simulator.topics.driver import SimulatedDriver
from rbdyn_ros.ros.simulator.topics.streams import stream_topic
from rbdyn_ros.runtime.state import Layout, LoopState
from rbdyn_ros.runtime.stream import StreamTopic

#: Number of states kept for a slow subscriber; a pause of a second loses none of them at 1 kHz.
HISTORY = 1000


class JointStates:
    """Publishes joint_states, with measurements after their delay.

    Args:
        node: node that publishes.
        m: the Model.
        joints: joints in the messages.
        driver: removes gravity from measured efforts; None: nothing is removed.
    """

    def __init__(
        self, node: Node, m: Model, joints: SingleJoints, driver: SimulatedDriver | None = None
    ) -> None:
        self._driver = driver
        self.prepare(m, joints)()
        self._publisher = node.create_publisher(
            JointState,
            "joint_states",
            reliable(HISTORY),
            event_callbacks=for_publisher(node, "joint_states"),
        )

    def prepare(self, m: Model, joints: SingleJoints) -> Callable[[], None]:
        """Prepare for a Model with other objects; return the function that switches to it."""
        n = len(joints.names)
        qpos, qvel, effort = np.zeros(m.nqall), np.zeros(m.nvall), np.zeros(m.nvall)
        qpos[joints.qposadr] = convert.marks(0, n)
        qvel[joints.dofadr] = convert.marks(n, n)
        effort[joints.dofadr] = convert.marks(2 * n, n)
        marked = convert.joint_state(joints, Prepared.MARK_STAMP, qpos, qvel, effort)
        prepared = Prepared(marked, 3 * n)
        # indices of the numbers of the message in the row of all measured numbers
        pick = np.concatenate([k * m.nvall + joints.dofadr for k in range(3)])
        row = pick + Layout(m).start["measured"]

        def commit() -> None:
            self._prepared, self._pick, self._row = prepared, pick, row

        return commit

    def streamed(self, every: int) -> StreamTopic | None:
        """Return the topic for compiled code, with a period [ticks]; None: Python publishes it."""
        if self._driver is not None and self._driver.hides:
            return None
        return stream_topic(self._publisher, self._prepared, every, self._row, True)

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        measured = state.measured if self._driver is None else self._driver.reported(state)
        self._publisher.publish(self._prepared.filled(stamp_ns, measured[self._pick]))


class MotorStates:
    """Publishes motor_states: angles and speeds of the motors, on the motor side of the gears.

    The numbers are exact, without noise or delay of measurements.
    """

    def __init__(self, node: Node, m: Model) -> None:
        self.prepare(m)()
        self._publisher = node.create_publisher(JointState, "motor_states", reliable(HISTORY))

    def prepare(self, m: Model) -> Callable[[], None]:
        """Prepare for a Model with other objects; return the function that switches to it."""
        n, joints = m.nu, m.dof_jntid[m.actuator_dofid]
        message = convert.marked(JointState(name=[m.jnt_names[j] for j in joints]))
        message.position, message.velocity = convert.marks(0, n), convert.marks(n, n)
        prepared, places = Prepared(message, 2 * n), m.jnt_qposadr[joints]

        def commit() -> None:
            self._m, self._prepared, self._qposadr = m, prepared, places

        return commit

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        m, twist = self._m, self._m.actuator_actadr + TWIST
        position = state.qpos[self._qposadr] + state.act[twist]
        velocity = state.qvel[m.actuator_dofid] + state.act[twist + 1]
        numbers = np.concatenate([m.actuator_gear * position, m.actuator_gear * velocity])
        self._publisher.publish(self._prepared.filled(stamp_ns, numbers))


class Transforms:
    """Publishes /tf and, once, /tf_static.

    Attributes:
        frames: names of the frames, each joined with its topic.
    """

    def __init__(
        self, node: Node, m: Model, description: Description, world: str, prefix: str
    ) -> None:
        self._message = importlib.import_module("tf2_msgs.msg").TFMessage
        self._node, self._world, self._prefix = node, world, prefix
        self._static = node.create_publisher(self._message, "/tf_static", LATCHED)
        self._publisher = node.create_publisher(self._message, "/tf", reliable(100))
        self._subscribers = 0
        self.prepare(m, description)()

    def prepare(self, m: Model, description: Description) -> Callable[[], None]:
        """Prepare for a Model with other objects; return the function that switches to it."""
        tf_message = self._message
        moving, fixed = convert.tf_tree(m, description, self._world, self._prefix)
        d = make_data(m)
        poses(m, d)
        rows = convert.Poses(m, fixed).at(d.xpos, d.xmat)
        stamp = self._node.get_clock().now().nanoseconds
        static = tf_message(transforms=convert.transforms(fixed, stamp, rows))
        numbers = np.array(convert.marks(0, 7 * len(moving))).reshape(-1, 7)
        marked = convert.transforms(moving, Prepared.MARK_STAMP, numbers)
        prepared = Prepared(tf_message(transforms=marked), 7 * len(moving)) if moving else None
        topic, places = self._publisher.topic_name, convert.Poses(m, moving)
        frames = tuple(f"{link.name} on {topic}" for link in (*moving, *fixed))

        def commit() -> None:
            self._m, self._d, self._poses = m, d, places
            self._prepared, self.frames = prepared, frames
            self._static.publish(static)

        return commit

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        if self._prepared is None:
            return
        # the poses are computed from this state, so no transform is a tick late
        self._d.qpos, self._d.time = state.qpos, state.time
        poses(self._m, self._d)
        rows = self._poses.at(self._d.xpos, self._d.xmat)
        self._publisher.publish(self._prepared.filled(stamp_ns, rows.reshape(-1)))

    def repeat(self, stamp_ns: int, state: LoopState) -> None:
        """Publish a state again if there are new subscribers; tf2 warns about repetitions."""
        count = self._publisher.get_subscription_count()
        if count > self._subscribers:
            self.publish(stamp_ns, state)
        self._subscribers = count


class ObjectPoses:
    """Publishes object_poses: the poses of the free objects of a scene in the world.

    The messages are TFMessages on a topic of their own, with the rate of joint_states;
    the only parent is the world.
    """

    def __init__(
        self, node: Node, m: Model, names: Sequence[str], world: str, prefix: str
    ) -> None:
        self._message = importlib.import_module("tf2_msgs.msg").TFMessage
        self._world, self._prefix = world, prefix
        self._publisher = node.create_publisher(self._message, "object_poses", reliable(10))
        self.prepare(m, names)()

    def prepare(self, m: Model, names: Sequence[str]) -> Callable[[], None]:
        """Prepare for a Model with other objects; return the function that switches to it."""
        links = [
            convert.LinkFrames(m.frame_id(name), -1, self._world or "world", self._prefix + name)
            for name in names
        ]
        d, places = make_data(m), convert.Poses(m, links)
        numbers = np.array(convert.marks(0, 7 * len(links))).reshape(-1, 7)
        marked = convert.transforms(links, Prepared.MARK_STAMP, numbers)
        message = self._message(transforms=marked)
        prepared = Prepared(message, 7 * len(links)) if links else None

        def commit() -> None:
            self._m, self._d, self._poses, self._prepared = m, d, places, prepared

        return commit

    def is_heard(self) -> bool:
        """Return whether a node subscribes."""
        return bool(self._publisher.get_subscription_count() > 0)

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        if not self.is_heard():
            return
        if self._prepared is None:  # the last object was deleted
            self._publisher.publish(self._message())
            return
        self._d.qpos, self._d.time = state.qpos, state.time
        poses(self._m, self._d)
        rows = self._poses.at(self._d.xpos, self._d.xmat)
        self._publisher.publish(self._prepared.filled(stamp_ns, rows.reshape(-1)))


class Odometry:
    """Publishes odom: pose and twist of the root link on a floating base.

    The twist is in the axes of the child frame, as nav_msgs defines it.
    """

    def __init__(self, node: Node, m: Model, world: str, prefix: str) -> None:
        odometry = importlib.import_module("nav_msgs.msg").Odometry
        # the pose needs a parent frame even if TF has no frame above the root link
        message = convert.odometry(odometry(), world or "world", prefix + m.body_names[1])
        self._prepared = Prepared(message, 13)
        self._publisher = node.create_publisher(odometry, "odom", reliable(10))

    def publish(self, stamp_ns: int, state: LoopState) -> None:
        numbers = convert.odometry_numbers(state.qpos[:7], state.qvel[:6])
        self._publisher.publish(self._prepared.filled(stamp_ns, numbers))
