# SPDX-License-Identifier: Apache-2.0
"""The topics of a recording; make their messages without ROS."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.arrays import Array
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import XYZW, mat_to_quat, quat_to_mat
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.recording.schemas import LATER, STATE, Schemas

JOINT_STATE = "sensor_msgs/msg/JointState"
TRANSFORMS = "tf2_msgs/msg/TFMessage"
STRING = "std_msgs/msg/String"
ODOMETRY = "nav_msgs/msg/Odometry"
NUMBERS = "std_msgs/msg/Float64MultiArray"
BY_MODE = "rbdyn_interfaces/msg/JointCommand"

#: End of the name of an attachment with a Model, after the robot's namespace; and its media type.
MODEL_NAME, MODEL_TYPE = "model.npz", "application/x-rbdyn-model"
WORLD = "world"


class Messages:
    """Makes serialized messages from numbers."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        names = ("Vector3", "Quaternion", "Transform", "TransformStamped")
        self._geometry = {name: schemas.message(f"geometry_msgs/msg/{name}") for name in names}
        self._header = schemas.message("std_msgs/msg/Header")
        self._time = schemas.message("builtin_interfaces/msg/Time")

    def state(
        self, stamp: int, tick: int, time: float, epoch: int, lists: Sequence[Array]
    ) -> bytes:
        """Return the bytes of a State.

        Args:
            stamp: ROS time of the tick [ns].
            tick: number of ticks since the start.
            time: simulated time [s].
            epoch: number of resets of time.
            lists: qpos, qvel, qacc, effort, xfrc, contact, stick, stick_qfrc and act; a list is
                empty if it is unknown.
        """
        names = ("qpos", "qvel", "qacc", "effort", "xfrc", "contact")
        fields = dict(zip((*names, *LATER), lists, strict=True))
        return self._bytes(
            STATE, stamp=self._ros_time(stamp), tick=tick, time=time, epoch=epoch, **fields
        )

    def text(self, text: str) -> bytes:
        """Return the bytes of a std_msgs/String."""
        return self._bytes(STRING, data=text)

    def joint_state(
        self, stamp: int, names: list[str], position: Array, velocity: Array, effort: Array
    ) -> bytes:
        """Return the bytes of a sensor_msgs/JointState with a stamp [ns]."""
        header = self._stamped(stamp, "")
        return self._bytes(
            JOINT_STATE,
            header=header,
            name=names,
            position=position,
            velocity=velocity,
            effort=effort,
        )

    def transforms(self, stamp: int, names: list[str], rows: Array) -> bytes:
        """Return the bytes of a tf2_msgs/TFMessage with the poses of frames in the world.

        Args:
            stamp: ROS time [ns].
            names: names of the frames (n).
            rows: (n, 7) positions [m] and quaternions xyzw.
        """
        make, header = self._geometry, self._stamped(stamp, WORLD)
        transforms = [
            make["TransformStamped"](
                header=header,
                child_frame_id=name,
                transform=make["Transform"](
                    translation=make["Vector3"](*row[:3]), rotation=make["Quaternion"](*row[3:])
                ),
            )
            for name, row in zip(names, rows.tolist(), strict=True)
        ]
        return self._bytes(TRANSFORMS, transforms=transforms)

    def _stamped(self, stamp: int, frame: str) -> Any:
        return self._header(stamp=self._ros_time(stamp), frame_id=frame)

    def _ros_time(self, stamp: int) -> Any:
        sec, nanosec = divmod(stamp, NANOSECONDS)
        return self._time(sec=sec, nanosec=nanosec)

    def _bytes(self, typename: str, **fields: Any) -> bytes:
        message = self._schemas.message(typename)(**fields)
        return self._schemas.serialize(typename, message)


class Frames:
    """Computes the poses of all frames of a robot in the world."""

    def __init__(self, m: Model) -> None:
        chosen = [k for k, name in enumerate(m.frame_names) if name != WORLD]
        self.names = [m.frame_names[k] for k in chosen]
        self._body = m.frame_bodyid[chosen]
        self._offset = m.frame_pos[chosen]
        self._turn = np.array([quat_to_mat(m.frame_quat[k]) for k in chosen]).reshape(-1, 3, 3)

    def rows(self, xpos: Array, xmat: Array) -> Array:
        """Return positions [m] and quaternions xyzw (n, 7) for the body poses xpos and xmat."""
        R = xmat.reshape(-1, 3, 3)[self._body]
        rows = np.empty((len(self.names), 7))
        rows[:, :3] = xpos[self._body] + np.einsum("nij,nj->ni", R, self._offset)
        rows[:, 3:] = mat_to_quat(R @ self._turn)[:, XYZW]
        return rows


def single_joints(m: Model) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Return names, and addresses in qpos_all and qvel_all, of all joints with one coordinate."""
    chosen = np.flatnonzero(m.jnt_dofnum == 1)
    names = [m.jnt_names[k] for k in chosen]
    return names, m.jnt_qposadr_all[chosen], m.jnt_dofadr_all[chosen]
