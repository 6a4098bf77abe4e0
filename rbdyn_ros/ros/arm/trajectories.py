"""A controller that accepts trajectories and poses as messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from rbdyn_ros.control.controller import Controller
from rbdyn_ros.control.paths import Path
from rbdyn_ros.control.self_collision import SelfCollision
from rbdyn_ros.control.tracking import approach_to
from rbdyn_ros.description.types import Description
from rbdyn_ros.errors import quote, refusal
from rbdyn_ros.model.graph import span
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.rotation import quat_to_mat
from rbdyn_ros.ros.common.commands import CommandParser, command_parser
from rbdyn_ros.ros.common.magnitudes import check_pose
from rbdyn_ros.ros.common.single_joints import SingleJoints
from rbdyn_ros.ros.common.trajectory import ON_LIMIT, TrajectoryParser

#: Parsing more points would delay the states.
MOST_POINTS = 5000


class TrajectoryController(Controller):
    """A controller that accepts trajectories and poses as messages.

    Args:
        m: the robot as it was loaded.
        description: of the robot.
        collisions: checks trajectories and poses; None: they are not checked for collisions.
        others: arguments of Controller.

    Attributes:
        collisions: as above.
        base: name of the link that is fixed to the world.
    """

    def __init__(
        self,
        m: Model,
        description: Description,
        collisions: SelfCollision | None,
        *others: Any,
    ) -> None:
        super().__init__(*others)
        self.collisions = collisions
        self.base = span(description).base
        self._parser = TrajectoryParser(m, _parser_of(m, description, self.names))

    def follow(self, message: Any) -> None:
        """Follow a trajectory_msgs/JointTrajectory; one without points stops the present one.

        Raises:
            RbdynError: the trajectory is refused.
        """
        seen = self.measured()
        if seen is None:
            raise refusal("no state of the arm has arrived yet")
        if len(message.points) > MOST_POINTS:
            raise refusal(
                f"it has {len(message.points)} points; at most {MOST_POINTS} are allowed"
            )
        missing = [name for name in self.names if name not in message.joint_names]
        if message.points and missing:
            wanted = ", ".join(self.names)
            raise refusal(f"joint '{missing[0]}' is missing; all of {wanted} are needed")
        found = self._parser.parse(message, seen[2])
        if found is None:
            self.stop_following()
            return
        columns = [found.dofs.tolist().index(dof) for dof in self.gate.limits.dofs.tolist()]
        position, velocity, acceleration = (
            rows[:, columns] for rows in (found.positions, found.velocities, found.accelerations)
        )
        path = Path(found.times, position, velocity, acceleration, found.order)
        self._check_limits(path)
        if self.collisions is not None:
            late = path.times[0] > 0.0
            parts = [approach_to(path, self.progress().desired)] if late else []
            self.collisions.check([*parts, path], seen[0])
        self.follow_path(path, seen[2])

    def _check_limits(self, path: Path) -> None:
        """Check against tightened limits, and the velocities between the points."""
        limits, fastest = self.gate.limits, path.peaks()[0]
        outside = (path.positions < limits.lower - ON_LIMIT) | (
            path.positions > limits.upper + ON_LIMIT
        )
        for at, k in np.argwhere(outside)[:1].tolist():
            raise refusal(
                f"points[{at}] has joint '{self.names[k]}' at {path.positions[at, k]:.6g}; its "
                f"limits are {limits.lower[k]:.6g} and {limits.upper[k]:.6g}"
            )
        for k in np.flatnonzero(fastest > limits.velocity * (1.0 + ON_LIMIT))[:1].tolist():
            raise refusal(
                f"joint '{self.names[k]}' would reach a velocity of {fastest[k]:.6g} between the "
                f"points; its limit is {limits.velocity[k]:.6g}"
            )

    def follow_pose(self, message: Any) -> None:
        """Move the frame of mode impedance to a geometry_msgs/PoseStamped.

        Raises:
            RbdynError: the pose is refused.
        """
        frame = message.header.frame_id
        if frame not in ("", self.base):
            raise refusal(f"the pose is in frame {quote(frame)}; allowed is '{self.base}'")
        at, q = message.pose.position, message.pose.orientation
        place, quat = (at.x, at.y, at.z), (q.w, q.x, q.y, q.z)
        check_pose(place, quat)
        pose = np.vstack([quat_to_mat(np.array(quat) / np.linalg.norm(quat)), place])
        seen = self.measured()
        if self.collisions is not None and seen is not None:
            self.collisions.check([self.rehearsed(pose)], seen[0], "the motion to the pose")
        self.set_pose(pose)


def _parser_of(m: Model, description: Description, names: tuple[str, ...]) -> CommandParser:
    """Return the parser of messages for the controlled joints."""
    every = command_parser(m, description, "reject")
    chosen = [every.joints.names.index(name) for name in names]
    joints = SingleJoints(names, every.joints.qposadr[chosen], every.joints.dofadr[chosen])
    left = [name for name in every.names if name not in names]
    others = every.excluded | dict.fromkeys(left, "is not controlled; see parameter joints")
    return CommandParser(joints, {}, others, "reject")
