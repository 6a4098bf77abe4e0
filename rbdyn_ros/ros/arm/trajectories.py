"""Trajectories and poses for a controlled arm: messages are judged and become paths and poses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.control.controller import Controller
from rbdyn_ros.control.paths import Path
from rbdyn_ros.description.types import Description
from rbdyn_ros.errors import RbdynError, quote
from rbdyn_ros.model.graph import span
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.rotation import quat_to_mat
from rbdyn_ros.ros.common.convert import SingleJoints
from rbdyn_ros.ros.common.trajectory import ON_LIMIT, TrajectoryGate
from rbdyn_ros.ros.simulator.commands import Gate, make_gate

Array = NDArray[np.float64]

#: More would hold up the states while they are judged.
MOST_POINTS = 5000
#: How far the length of a quaternion may be from 1.
UNIT = 1e-3


class DrivenArm(Controller):
    """A controller that takes trajectories as messages.

    Args:
        m: the robot as it was loaded.
        description: it was made from.
        others: as Controller.
    """

    def __init__(self, m: Model, description: Description, *others: Any) -> None:
        super().__init__(*others)
        self._base = span(description).base
        self._trajectories = TrajectoryGate(m, _gate_of(m, description, self.names))

    def follow(self, message: Any) -> str:
        """Follow a trajectory_msgs/JointTrajectory; return why it is refused, or nothing.

        One without points stops what is in progress.
        """
        seen = self.measured()
        if seen is None:
            return "no state of the arm came yet"
        if len(message.points) > MOST_POINTS:
            return f"it has {len(message.points)} points; at most {MOST_POINTS} are possible"
        missing = [name for name in self.names if name not in message.joint_names]
        if message.points and missing:
            return f"joint '{missing[0]}' is missing; all of {', '.join(self.names)} are needed"
        found = self._trajectories.judge(message, seen[2])
        if isinstance(found, str):
            return found
        if found is None:
            self.stop_following()
            return ""
        columns = [found.dofs.tolist().index(dof) for dof in self.gate.limits.dofs.tolist()]
        position, velocity, acceleration = (
            rows[:, columns] for rows in (found.positions, found.velocities, found.accelerations)
        )
        try:
            path = Path(found.times, position, velocity, acceleration, found.order)
        except RbdynError as error:
            return str(error)
        return self._too_fast(path) or self.follow_path(path, seen[2])

    def _too_fast(self, path: Path) -> str:
        """Judge what lies between the points, and limits that were tightened."""
        limits, fastest = self.gate.limits, path.peaks()[0]
        outside = (path.positions < limits.lower - ON_LIMIT) | (
            path.positions > limits.upper + ON_LIMIT
        )
        for at, k in np.argwhere(outside)[:1].tolist():
            return (
                f"points[{at}] has joint '{self.names[k]}' at {path.positions[at, k]:.6g}, beyond "
                f"its limits {limits.lower[k]:.6g} and {limits.upper[k]:.6g}"
            )
        for k in np.flatnonzero(fastest > limits.velocity * (1.0 + ON_LIMIT))[:1].tolist():
            return (
                f"joint '{self.names[k]}' would reach {fastest[k]:.6g} between the points; its "
                f"velocity limit is {limits.velocity[k]:.6g}"
            )
        return ""

    def follow_pose(self, message: Any) -> str:
        """Move the pose that mode impedance controls to a geometry_msgs/PoseStamped."""
        frame = message.header.frame_id
        if frame not in ("", self._base):
            return f"the pose is in frame {quote(frame)}; only '{self._base}' is taken"
        at, q = message.pose.position, message.pose.orientation
        quat = np.array([q.w, q.x, q.y, q.z])
        place = np.array([at.x, at.y, at.z])
        length = float(np.linalg.norm(quat))
        if not (np.isfinite(place).all() and abs(length - 1.0) <= UNIT):
            return "its position is not finite or its quaternion not of length 1"
        return self.set_pose(np.vstack([quat_to_mat(quat / length), place]))


def _gate_of(m: Model, description: Description, names: tuple[str, ...]) -> Gate:
    """Return the gate for messages about the controlled joints."""
    every = make_gate(m, description, "reject")
    chosen = [every.joints.names.index(name) for name in names]
    joints = SingleJoints(names, every.joints.qposadr[chosen], every.joints.dofadr[chosen])
    left = [name for name in every.names if name not in names]
    others = every.others | dict.fromkeys(left, "is not controlled; see parameter joints")
    return Gate(joints, {}, others, "reject")
