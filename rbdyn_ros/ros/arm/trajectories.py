# SPDX-License-Identifier: Apache-2.0
"""A controller that accepts messages with trajectories, poses or twists."""

import threading
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control.arming.start_up import slides, test_ways
from rbdyn_ros.control.collisions.self_collision import SelfCollision
from rbdyn_ros.control.controller import Controller
from rbdyn_ros.control.motion.cartesian_path import cartesian_path, check_frame
from rbdyn_ros.control.motion.handover import way_into
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.control.motion.servoing import JointLimits, JointRates, ServoSettings, TwistServo
from rbdyn_ros.control.position_controller import PositionController
from rbdyn_ros.description.parts.spanning import span
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.dynamics.stages import make_data
from rbdyn_ros.errors import apart, listing, quote, refusal
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.ros.common.parsing.commands import CommandParser, command_parser
from rbdyn_ros.ros.common.parsing.magnitudes import check_pose
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.ros.common.parsing.trajectory import ON_LIMIT, TrajectoryParser
from rbdyn_ros.ros.common.tool.servoing import servo_twist

#: Largest number of points of a message; parsing more points would delay the states.
MOST_POINTS = 5000
MOST_POSES = 500
#: The transition from a moving arm to a new trajectory starts this far ahead [s], which leaves
#: time for the check. If the check takes longer, the next value is tried.
AHEAD = (0.005, 0.02, 0.08, 0.32)
#: Share of the velocity limits that twists use, and the shortest time in which a joint reaches it
#: [s]. Both keep an arm that overshoots a little below its limits, where a fault occurs.
SPARING, RAMP = 0.9, 0.1
STOPPED = "the arm was stopped while the trajectory was checked for collisions; send it again"


class TrajectoryController(Controller):
    """A controller that accepts messages with trajectories, poses or twists.

    Args:
        m: the robot as it was loaded.
        description: description of the robot.
        collisions: checks trajectories and poses; None: they are not checked for collisions.
        others: arguments of Controller.

    Attributes:
        collisions: the argument.
        base: name of the link that is fixed to the world.
        servo: follows twists; None: they are refused.
    """

    def __init__(
        self, m: Model, description: Description, collisions: SelfCollision | None, *others: Any
    ) -> None:
        super().__init__(*others)
        self.collisions = collisions
        if collisions is not None:
            self.need(collisions.uncontrolled.needed)
        self.base = span(description).base
        self._parser = TrajectoryParser(m, _parser_of(m, description, self.names))
        self._frame, self._limits = self.settings.path_frame, self.settings.path_limits
        self._m, self._d = m, make_data(m)  # these belong to the thread that receives poses
        if self._frame:
            check_frame(m, self._frame, self.names)
        self.servo: TwistServo | None = None
        self._servo_path_number = -1
        self._servo_lock = threading.Lock()

    def try_arm(self, now: int) -> None:
        """Arm as Controller.try_arm does; refuse if the start-up test would cause a collision."""
        seen = self.measured()
        if self.collisions is not None and seen is not None and self.needs_test:
            self.collisions.check([self._test_path(seen[0])], seen[0], "the start-up test")
        super().try_arm(now)

    def _test_path(self, qpos: Array) -> Path:
        """Return the path of the start-up test from qpos: each joint moves away and back."""
        limits = self.gate.limits
        rest = qpos[limits.dofs]
        ways = np.diag(test_ways(limits, qpos, slides(self.arm, limits)))
        there = np.stack([ways, np.zeros_like(ways)], axis=1).reshape(-1, len(rest))
        points = rest + np.concatenate([np.zeros((1, len(rest))), there])
        return Path(np.arange(float(len(points))), points)

    def assumed(self) -> str:
        """Return a sentence about joints whose positions the collision check assumes, or ""."""
        dofs = () if self.collisions is None else self.collisions.uncontrolled.assumed
        places = [f"'{name}' at {q:.4g}" for name, q in self.unmeasured(dofs).items()]
        if not places:
            return ""
        return (
            "joint_states has not named some joints yet (wheels, or joints on the arm). "
            f"Checks for collisions assume these joints at fixed positions: {listing(places)}"
        )

    def follow(self, message: Any) -> None:
        """Follow a trajectory_msgs/JointTrajectory; a message without points stops the motion.

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
        if self.collisions is None:
            self.follow_path(path, seen[2])
        else:
            self._follow_clear(path, seen[0], seen[2], self.collisions)

    def _follow_clear(
        self, path: Path, qpos: Array, begun: int, collisions: SelfCollision
    ) -> None:
        """Check a path and the transition to it for collisions, then follow both.

        The target moves on meanwhile. If it passes the start of the transition before the check
        ends, a new transition is checked.

        Args:
            path: path of the controlled joints.
            qpos: measured positions (nq,), for all other joints.
            begun: time at which the path begins [ns].
            collisions: the check.

        Raises:
            RbdynError: there is a collision, the target was stopped, or the check took too long.
        """
        self.check_following()
        stops, rest = self.departure().stops, [path]
        for ahead in AHEAD:
            way = self.way_into(path, begun, ahead)
            if way.departure.stops != stops:
                raise refusal(STOPPED)
            collisions.check([way.approach, *rest], qpos)
            if self.follow_path(path, way=way):
                return
            rest = []
        if self.departure().stops != stops:
            raise refusal(STOPPED)
        raise refusal(
            f"the arm moved on for {AHEAD[-1]:g} s before the motion to the first point was "
            "checked for collisions; stop the arm, then send the trajectory again"
        )

    def follow_poses(self, message: Any) -> None:
        """Move cartesian_path.frame along a geometry_msgs/PoseArray; an empty array stops it.

        Raises:
            RbdynError: the path is refused.
        """
        self._check_base(message.header.frame_id)
        if not message.poses:
            self.stop_following()
            return
        self._check_poses(len(message.poses))
        targets = np.array([_target_of(pose) for pose in message.poses])
        seen, start = self.measured(), self.departure()
        if seen is None or start.motion:
            raise refusal("the arm is moving; a path of poses must start at rest")
        self._d.qpos[:] = seen[0]
        self._d.qpos[self._dofs] = start.rows[0]
        path = cartesian_path(
            self._m, self._d, self._frame, targets[:, :3], targets[:, 3:].reshape(-1, 3, 3),
            self._limits, joints=self.names,
        )  # fmt: skip
        self._check_limits(path)
        if self.collisions is not None:
            self.collisions.check([path], seen[0])
        way = way_into(path, start, 0.0, self.gate.limits.velocity)
        if not self.follow_path(path, way=way):
            raise refusal("the target of the arm moved while the path was planned; send it again")

    def serve(self, settings: ServoSettings) -> None:
        """Accept twists of the link that the settings name.

        Raises:
            ModelError: there is no such link.
            ParameterError: none of the controlled joints moves the link.
        """
        self.servo = TwistServo(self._m, self.names, settings)
        self._servo_gain = self.servo.limits.acceleration

    def follow_twist(self, message: Any) -> JointRates | None:
        """Move the tool by a geometry_msgs/TwistStamped until the twist times out; None stops it.

        Return the rates of the joints, or None if the tool stops or rests. The motion is refused
        if it, or the stop at its end, would exceed a limit or collide. A zero twist stops only a
        motion by twists, not another trajectory.

        Raises:
            RbdynError: the twist is refused.
        """
        return self.move_tool(message.header.frame_id, servo_twist(message))

    def move_tool(self, frame: str, twist: Array) -> JointRates | None:
        """Move the tool by a twist (6,) in the axes of a frame.

        Returns and errors are as for follow_twist.
        """
        assert self.servo is not None
        if frame == "world" and frame not in self._m.frame_names:
            frame = ""
        self.servo.check_frame(frame)
        stops = self.departure().stops
        self.check_following()
        with self._servo_lock:
            return self._move_tool(self.servo, frame, twist, stops)

    def tool_pose(self, qpos: Array) -> tuple[Array, Array]:
        """Return position (3,) and rotation (3, 3) of the tool in the base frame at qpos (nq,)."""
        assert self.servo is not None
        with self._servo_lock:
            return self.servo.pose(qpos)

    def _move_tool(
        self, servo: TwistServo, frame: str, twist: Array, stops: int
    ) -> JointRates | None:
        """Move the tool and return its joint rates; None: it stops or rests.

        `stops`: number of stops of the target when the twist arrived; RbdynError if it changes.
        """
        seen = self.measured()
        if seen is None:
            raise refusal("no state of the arm has arrived yet")
        for ahead in AHEAD:
            start = self.departure(ahead)
            if start.stops != stops:
                raise refusal(STOPPED.replace("trajectory", "twist"))
            if not (np.any(twist) or (start.motion and self._follows_twist)):
                return None
            path, found = self._servo_path(servo, start.rows, seen[0], frame, twist)
            if len(path.times) == 1:  # the arm would not move
                return found
            if self.collisions is not None:
                self.collisions.check([path], seen[0], "the motion of the twist")
            way = way_into(path, start, 0.0, self.gate.limits.velocity)
            with self._lock:
                if self.follow_path(path, way=way):
                    self._servo_path_number = self._tracker.number
                    return found if np.any(twist) else None
        if self.departure().stops != stops:
            raise refusal(STOPPED.replace("trajectory", "twist"))
        raise refusal("the arm moved on before the motion of the twist was checked")

    @property
    def _follows_twist(self) -> bool:
        """Whether the newest path follows a twist."""
        return self._servo_path_number == self._tracker.number

    def _servo_path(
        self, servo: TwistServo, rows: Array, qpos: Array, frame: str, twist: Array
    ) -> tuple[Path, JointRates]:
        """Return a path for a twist from rows of position and velocity, and its first rates."""
        limits, columns = self.gate.limits, [self.names.index(name) for name in servo.names]
        fastest = SPARING * limits.velocity[columns]
        gain = np.minimum(self._servo_gain, fastest / RAMP)
        servo.limits = JointLimits(limits.lower[columns], limits.upper[columns], fastest, gain)
        whole = qpos.copy()
        whole[self._dofs] = rows[0]
        path, found = servo.path(whole, rows[0, columns], rows[1, columns], frame, twist)
        places = np.tile(rows[0], (len(path.times), 1))
        speeds = np.zeros_like(places)
        places[:, columns], speeds[:, columns] = path.positions, path.velocities
        return Path(path.times, places, speeds), found

    def _check_poses(self, number: int) -> None:
        """Raise RbdynError if poses are not accepted, or if there are too many."""
        if not self._frame:
            message = "parameter cartesian_path.frame is empty; set it to the link of the poses"
            raise refusal(message, "pose", "cartesian_path.frame")
        if number > MOST_POSES:
            raise refusal(f"there are {number} poses; at most {MOST_POSES} are allowed")
        self.check_following()

    def _check_base(self, frame: str) -> None:
        if frame not in ("", self.base):
            raise refusal(f"the pose is in frame {quote(frame)}; allowed is '{self.base}'")

    def _check_limits(self, path: Path) -> None:
        """Raise RbdynError if a path exceeds tightened limits, also between its points."""
        limits, fastest, (lowest, highest) = self.gate.limits, path.peaks()[0], path.extent()
        outside = (path.positions < limits.lower - ON_LIMIT) | (
            path.positions > limits.upper + ON_LIMIT
        )
        for at, k in np.argwhere(outside)[:1].tolist():
            found, low, high = apart(path.positions[at, k], limits.lower[k], limits.upper[k])
            raise refusal(
                f"points[{at}] has joint '{self.names[k]}' at {found}; its limits are {low} and "
                f"{high}"
            )
        below, above = lowest < limits.lower - ON_LIMIT, highest > limits.upper + ON_LIMIT
        for k in np.flatnonzero(below | above)[:1].tolist():
            reached = (lowest if below[k] else highest)[k]
            found, low, high = apart(reached, limits.lower[k], limits.upper[k])
            raise refusal(
                f"joint '{self.names[k]}' would reach {found} between the points; its limits are "
                f"{low} and {high}"
            )
        for k in np.flatnonzero(fastest > limits.velocity * (1.0 + ON_LIMIT))[:1].tolist():
            found, high = apart(fastest[k], limits.velocity[k])
            raise refusal(
                f"joint '{self.names[k]}' would reach a velocity of {found} between the points; "
                f"its limit is {high}"
            )

    def follow_pose(self, message: Any) -> None:
        """Move the frame of mode impedance to a geometry_msgs/PoseStamped.

        Raises:
            RbdynError: the pose is refused.
        """
        self._check_base(message.header.frame_id)
        target = _target_of(message.pose)
        pose = np.vstack([target[3:].reshape(3, 3), target[:3]])
        seen = self.measured()
        if self.collisions is not None and seen is not None:
            self.collisions.check([self.rehearsed(pose)], seen[0], "the motion to the pose")
        self.set_pose(pose)


class PositionTrajectoryController(TrajectoryController, PositionController):
    """A TrajectoryController for an arm that takes positions, with the same arguments."""

    def __init__(self, *others: Any) -> None:
        super().__init__(*others)
        if self.collisions is not None and self.settings.admittance_frame:
            self._yield_with(self.collisions.model, self.collisions.margin)

    def take_wrench(self, message: Any, now: int) -> None:
        """Store a geometry_msgs/WrenchStamped of the force-torque sensor.

        Args:
            message: the message.
            now: time of its arrival [ns].

        Raises:
            RbdynError: the message is refused.
        """
        assert self.wrench is not None
        f, t = message.wrench.force, message.wrench.torque
        self.wrench.take(message.header.frame_id, (f.x, f.y, f.z), (t.x, t.y, t.z), now)


def _target_of(pose: Any) -> Array:
    """Return the position and the rows of the rotation matrix of a geometry_msgs/Pose (12,)."""
    at, q = pose.position, pose.orientation
    place, quat = (at.x, at.y, at.z), (q.w, q.x, q.y, q.z)
    check_pose(place, quat)
    return np.append(place, quat_to_mat(np.array(quat) / np.linalg.norm(quat)))


def _parser_of(m: Model, description: Description, names: tuple[str, ...]) -> CommandParser:
    """Return a parser of trajectories that refuses all joints but the controlled `names`."""
    every = command_parser(m, description, "reject")
    chosen = [every.joints.names.index(name) for name in names]
    joints = SingleJoints(names, every.joints.qposadr[chosen], every.joints.dofadr[chosen])
    left = [name for name in every.names if name not in names]
    others = every.excluded | dict.fromkeys(left, "is not controlled; see parameter joints")
    return CommandParser(joints, {}, others, "reject")
