# SPDX-License-Identifier: Apache-2.0
"""Convert between the engine's arrays and ROS messages, whose quaternions are xyzw."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped, WrenchStamped
from numpy.typing import ArrayLike
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.parts.spanning import span
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import XYZW, mat_to_quat, quat_to_mat
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints


def xyzw(quat: ArrayLike) -> Array:
    """Return wxyz quaternions (..., 4) in the order of ROS, xyzw."""
    return np.asarray(quat, np.float64)[..., XYZW]


def time_message(nanoseconds: int) -> Time:
    """Return a time [ns] as a message."""
    return Time(sec=_int32(nanoseconds // NANOSECONDS), nanosec=nanoseconds % NANOSECONDS)


def _int32(seconds: int) -> int:
    """Return seconds, wrapped to the 32 bits of a Time."""
    return (seconds + 2**31) % 2**32 - 2**31


def vector_numbers(message: Any) -> tuple[float, float, float]:
    """Return the numbers of a Point or a Vector3."""
    return message.x, message.y, message.z


def quaternion_numbers(message: Any) -> tuple[float, float, float, float]:
    """Return the numbers of a Quaternion, xyzw."""
    return message.x, message.y, message.z, message.w


def fill_vector(message: Any, numbers: Sequence[float]) -> None:
    """Set the numbers of a Point, a Vector3 or a Quaternion."""
    for field, number in zip(message.get_fields_and_field_types(), numbers, strict=True):
        setattr(message, field, float(number))


def inertia_numbers(message: Any) -> tuple[float, tuple[float, ...], tuple[float, ...]]:
    """Return mass, centre of mass and Ixx Iyy Izz Ixy Ixz Iyz of a geometry_msgs/Inertia."""
    moments = (message.ixx, message.iyy, message.izz, message.ixy, message.ixz, message.iyz)
    return message.m, vector_numbers(message.com), moments


def fill_inertia(message: Any, mass: float, com: Array, inertia: Array) -> None:
    """Fill an Inertia: mass [kg], com [m], inertia (6,) Ixx Iyy Izz Ixy Ixz Iyz [kg m^2]."""
    message.m = float(mass)
    fill_vector(message.com, com.tolist())
    xx, yy, zz, xy, xz, yz = inertia.tolist()
    message.ixx, message.iyy, message.izz = xx, yy, zz
    message.ixy, message.ixz, message.iyz = xy, xz, yz


def joint_state(
    joints: SingleJoints, stamp_ns: int, qpos: Array, qvel: Array, effort: Array
) -> JointState:
    """Return a message for joint_states; the arrays have the numbers of all joints."""
    message = JointState(name=list(joints.names))
    message.header.stamp = time_message(stamp_ns)
    message.position = qpos[joints.qposadr].tolist()
    message.velocity = qvel[joints.dofadr].tolist()
    message.effort = effort[joints.dofadr].tolist()
    return message


@dataclass(frozen=True, slots=True)
class LinkFrames:
    """A link in the TF tree.

    Attributes:
        frame: number of the link's frame in the Model.
        parent: number of the parent's frame; -1: the world.
    """

    frame: int
    parent: int
    parent_name: str
    name: str


def tf_tree(
    m: Model, description: Description, world_frame: str, prefix: str
) -> tuple[list[LinkFrames], list[LinkFrames]]:
    """Return the links that move relative to their parents, and the fixed links.

    `prefix` precedes the names of the links in TF. The parent of the root link is world_frame,
    unless this name is empty or the name of the root link itself.
    """
    numbers = {name: k for k, name in enumerate(m.frame_names)}
    moving: list[LinkFrames] = []
    fixed: list[LinkFrames] = []
    spanning = span(description)
    parents = spanning.parents()
    if world_frame not in ("", prefix + spanning.base):
        root = LinkFrames(numbers[spanning.base], -1, world_frame, prefix + spanning.base)
        (moving if m.frame_bodyid[root.frame] else fixed).append(root)
    chords = {joint.name for joint in spanning.chords}
    for joint in description.joints:
        if joint.name in chords:
            continue
        far = joint.child if parents.get(joint.child) == joint.parent else joint.parent
        near = parents[far]
        link = LinkFrames(numbers[far], numbers[near], prefix + near, prefix + far)
        same = m.frame_bodyid[link.frame] == m.frame_bodyid[link.parent]
        (fixed if same else moving).append(link)
    return moving, fixed


class Poses:
    """Computes the poses of links in their parent frames from xpos and xmat.

    Args:
        m: the robot.
        links: the links.
    """

    def __init__(self, m: Model, links: list[LinkFrames]) -> None:
        self.links = links
        # entry 0 of these tables is the world, and entry k + 1 is frame k
        bodies = [0, *m.frame_bodyid.tolist()]
        offsets = np.vstack([np.zeros(3), m.frame_pos])
        turns = np.array([np.eye(3), *map(quat_to_mat, m.frame_quat)])
        pairs = [(link.parent + 1, link.frame + 1) for link in links]
        self._body = np.array([[bodies[k] for k in pair] for pair in pairs], int).reshape(-1, 2)
        self._offset = np.array([offsets[list(pair)] for pair in pairs]).reshape(-1, 2, 3)
        self._turn = np.array([turns[list(pair)] for pair in pairs]).reshape(-1, 2, 3, 3)

    def at(self, xpos: Array, xmat: Array) -> Array:
        """Return position and quaternion xyzw of each link in its parent's frame (n, 7)."""
        R_body = xmat.reshape(-1, 3, 3)[self._body]
        R = R_body @ self._turn
        p = xpos[self._body] + np.einsum("nkij,nkj->nki", R_body, self._offset)
        R_parent_T = R[:, 0].transpose(0, 2, 1)
        rows = np.empty((len(self.links), 7))
        rows[:, :3] = np.einsum("nij,nj->ni", R_parent_T, p[:, 1] - p[:, 0])
        rows[:, 3:] = xyzw(mat_to_quat(R_parent_T @ R[:, 1]))
        return rows


def transforms(links: list[LinkFrames], stamp_ns: int, rows: Array) -> list[TransformStamped]:
    """Return a message for each link; `rows` are the result of Poses.at."""
    messages = []
    for link, row in zip(links, rows.tolist(), strict=True):
        message = TransformStamped()
        message.header.stamp = time_message(stamp_ns)
        message.header.frame_id = link.parent_name
        message.child_frame_id = link.name
        at, turn = message.transform.translation, message.transform.rotation
        at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w = row
        messages.append(message)
    return messages


def odometry(message: Any, world: str, child: str) -> Any:
    """Fill a nav_msgs/Odometry with the marks of Prepared, in the order of odometry_numbers."""
    marked(message, world).child_frame_id = child
    at, turn = message.pose.pose.position, message.pose.pose.orientation
    at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w = marks(0, 7)
    v, w = message.twist.twist.linear, message.twist.twist.angular
    v.x, v.y, v.z, w.x, w.y, w.z = marks(7, 6)
    return message


def odometry_numbers(qpos: Array, qvel: Array) -> Array:
    """Return position, quaternion xyzw and twist in the axes of the child frame (13,).

    Args:
        qpos: (7,) position of a free joint on the world.
        qvel: (6,) velocity of that joint; its linear part is in world axes.
    """
    linear = quat_to_mat(qpos[3:]).T @ qvel[:3]
    return np.concatenate([qpos[:3], xyzw(qpos[3:]), linear, qvel[3:]])


def marked(message: Any, frame: str = "") -> Any:
    """Set the frame of a message and the stamp that Prepared replaces; return the message."""
    message.header.stamp, message.header.frame_id = time_message(Prepared.MARK_STAMP), frame
    return message


def wrench_message(frame: str) -> WrenchStamped:
    """Return a WrenchStamped with marks for Prepared: force [N], torque [N m]."""
    message = marked(WrenchStamped(), frame)
    f, n = message.wrench.force, message.wrench.torque
    f.x, f.y, f.z, n.x, n.y, n.z = marks(0, 6)
    return message


class Prepared:
    """A message that is serialised once; afterwards only its numbers and stamps change.

    This is four times as fast as filling and serialising a message each time. Marks in the
    serialised message show the offsets of the numbers. The only assumption about the layout, that
    doubles and stamps are little-endian, is checked.

    Args:
        message: message in which the k-th number that changes is `mark(k)`, and the stamps are
            MARK_STAMP.
        count: number of these numbers.

    Attributes:
        content: the serialised message.
        stamps: offsets of its stamps in the content.
        doubles: offsets of its numbers (count,).
    """

    MARK_STAMP = 1_234_567_891_234_567_891

    def __init__(self, message: Any, count: int) -> None:
        self.content = bytearray(serialize_message(message))
        image = bytes(self.content)
        places = [self._find(image, np.float64(mark(k)).tobytes()) for k in range(count)]
        self.doubles = np.array(places, np.int64)
        stamp = self._stamp(self.MARK_STAMP)
        stamps, start = [], image.find(stamp)
        while start >= 0:
            stamps.append(start)
            start = image.find(stamp, start + len(stamp))
        assert stamps, "the message has no marked stamp"
        self.stamps = np.array(stamps, np.int64)
        buffer = np.frombuffer(self.content, np.uint8)
        self._index = np.add.outer(self.doubles, np.arange(8)).reshape(-1).astype(np.int64)
        self._view = buffer

    @staticmethod
    def _find(image: bytes, pattern: bytes) -> int:
        at = image.find(pattern)
        assert at >= 0, "a marked number is not in the message as a little-endian double"
        assert image.find(pattern, at + 1) < 0, "a marked number is in the message twice"
        return at

    @staticmethod
    def _stamp(nanoseconds: int) -> bytes:
        sec, nanosec = divmod(nanoseconds, NANOSECONDS)
        return _int32(sec).to_bytes(4, "little", signed=True) + nanosec.to_bytes(4, "little")

    def filled(self, stamp_ns: int, numbers: Array) -> bytes:
        """Return the serialised message with other numbers and another stamp."""
        stamp = self._stamp(stamp_ns)
        for at in self.stamps.tolist():
            self.content[at : at + 8] = stamp
        self._view[self._index] = numbers.view(np.uint8)
        return bytes(self.content)


def mark(k: int) -> float:
    """Return a double that marks the k-th number of a message."""
    return -1.2345678912345e200 * (1.0 + k * 2.0**-30)


def marks(start: int, count: int) -> list[float]:
    """Return the marks of `count` numbers from number `start` on."""
    return [mark(k) for k in range(start, start + count)]
