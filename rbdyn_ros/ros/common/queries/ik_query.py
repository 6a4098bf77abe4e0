# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics for the services of both nodes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.names import chosen
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.dynamics.toolbox.frames import frame_pose
from rbdyn_ros.dynamics.toolbox.ik import IkResult, ik
from rbdyn_ros.errors import RbdynError, refusal
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.ros.common.parsing.magnitudes import check_pose
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.ros.common.queries.dynamics_query import joint_numbers, named_joints

#: Code of the refusals.
CODE = "ik-query"
#: Default number of starting configurations of a search.
ATTEMPTS = 100
#: Largest number of starting configurations. Other services, even `disarm`, wait for the search,
#: which can take up to a second.
MOST_ATTEMPTS = 500


@dataclass(frozen=True, slots=True)
class IkAnswer:
    """A configuration that reaches the pose.

    Attributes:
        name: joints with one coordinate of their own.
        position: (n,) positions of these joints [rad or m].
        position_error, rotation_error: errors of the frame's position [m] and rotation [rad].
    """

    name: tuple[str, ...]
    position: Array
    position_error: float
    rotation_error: float


class IkQueries:
    """Answers rbdyn_interfaces/GetIk with a Data of its own; for one thread at a time."""

    def __init__(self) -> None:
        self._m: Model | None = None
        self._d: Data

    def answer(
        self, m: Model, qpos: Array, request: Any, world: str, prefix: str = ""
    ) -> IkAnswer:
        """Return a configuration that brings a frame to a pose.

        Args:
            m: the robot; it needs geometries if the request avoids collisions.
            qpos: (nq,) present positions.
            request: request of GetIk.
            world: name of the world's frame.
            prefix: prefix of the robot's frames in TF.

        Raises:
            RbdynError: the request is refused, or no such configuration was found.
        """
        if request.attempts > MOST_ATTEMPTS:
            text = f"attempts is {request.attempts}; allowed are at most {MOST_ATTEMPTS}"
            raise refusal(text, CODE, "attempts")
        if m is not self._m:
            self._m, self._d = m, make_data(m)
        self._d.qpos[:] = qpos
        self._start(m, request)
        frame = self._frame(m, request.frame.removeprefix(prefix), "frame")
        reference = request.pose.header.frame_id
        position, rotation = _pose(request.pose.pose, request.position_only)
        if reference not in ("", world):
            link = self._frame(m, reference.removeprefix(prefix), "pose.header.frame_id")
            place, turn = frame_pose(m, self._d, link)
            position = place + turn @ position
            rotation = None if rotation is None else turn @ rotation
        found = ik(
            m, self._d, frame, position, rotation, fixed=request.fixed,
            attempts=request.attempts or ATTEMPTS,
            clearance=request.clearance if request.avoid_collisions else None,
        )  # fmt: skip
        return _answer(m, found)

    def _start(self, m: Model, request: Any) -> None:
        """Write the start of the search from the request to qpos; RbdynError if it is invalid."""
        if len(request.name) != len(request.position):
            text = (
                f"the numbers of names and positions are {len(request.name)} and "
                f"{len(request.position)}"
            )
            raise refusal(f"{text}; give one position for each name", CODE, "position")
        if len(request.name):
            joints = named_joints(m, request.name)
            self._d.qpos[joints.qposadr] = joint_numbers(joints, "position", request.position)

    def _frame(self, m: Model, name: str, field: str) -> str:
        (frame,) = chosen(
            [name], m.frame_names, "link", error=RbdynError, code=CODE, element=field
        )
        return frame


def _pose(pose: Any, position_only: bool) -> tuple[Array, Array | None]:
    """Return the position (3,) and the rotation (3, 3) in a geometry_msgs/Pose.

    The rotation is None if position_only.
    """
    p, q = pose.position, pose.orientation
    place, quat = (p.x, p.y, p.z), (q.w, q.x, q.y, q.z)
    if position_only:
        quat = (1.0, 0.0, 0.0, 0.0)
    check_pose(place, quat)
    return np.array(place), None if position_only else quat_to_mat(quat)


def _answer(m: Model, found: IkResult) -> IkAnswer:
    joints, qpos = SingleJoints.free(m), found.check()
    return IkAnswer(joints.names, qpos[joints.qposadr], found.position_error, found.rotation_error)


def fill_ik(response: Any, found: IkAnswer) -> None:
    """Copy an answer to the response."""
    response.name, response.position = list(found.name), found.position.tolist()
    response.position_error, response.rotation_error = found.position_error, found.rotation_error


def warm(m: Model) -> None:
    """Compile the code of a query, so that no query waits for the compiler."""
    if m.nv > 0:
        moved = int(np.flatnonzero(m.frame_bodyid == m.dof_jntid[-1] + 1)[0])
        ik(m, make_data(m), moved, np.zeros(3), np.eye(3), attempts=1)
