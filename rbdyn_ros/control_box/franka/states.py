# SPDX-License-Identifier: Apache-2.0
"""The result of a cycle: the RobotState for clients, and the reflexes that it causes."""

from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array, Bools
from rbdyn_ros.control_box.franka import packets
from rbdyn_ros.control_box.franka.arm import FrankaArm
from rbdyn_ros.control_box.franka.limits import TOLERANCE
from rbdyn_ros.control_box.franka.motion import ClientMotion
from rbdyn_ros.control_box.franka.packets import ControllerMode, Generator, Mode
from rbdyn_ros.control_box.franka.sensing import Sensing
from rbdyn_ros.control_box.franka.settings import Settings
from rbdyn_ros.control_box.paths import Stream, turn_between


@dataclass(slots=True, eq=False)
class CycleState:
    """The arm in a cycle.

    Attributes:
        arm, sensing, settings: the robot, its measurements, and the settings of clients.
        joints: the desired joints.
        motion: motion of a client, or None.
    """

    arm: FrankaArm
    sensing: Sensing
    settings: Settings
    joints: Stream
    motion: ClientMotion | None

    def desired_flange(self) -> Array:
        """Return the desired pose of the flange (4, 4)."""
        self.arm.at(self.joints.x, self.joints.v)
        return self.arm.flange()

    def violation(self) -> str:
        """Return the name of the limit that the measured state violates, or ""."""
        arm, s, sensing = self.arm, self.sensing.at, self.sensing
        more = 1.0 + TOLERANCE
        if (s.q < arm.lower).any() or (s.q > arm.upper).any():
            return "joint_position_limits_violation"
        if (np.abs(s.dq) > arm.limits.velocity * more).any():
            return "joint_velocity_violation"
        twist, T = s.J @ s.dq, sensing.flange @ self.settings.F_T_EE
        speed = twist[:3] + np.cross(twist[3:], T[:3, 3] - s.T[:3, 3])
        if np.linalg.norm(speed) > arm.limits.translation[0] * more:
            return "cartesian_velocity_violation"
        if sensing.joint_collision.any():
            return "joint_reflex"
        if sensing.collision.any():
            return "cartesian_reflex"
        return self._deviation(T)

    def _deviation(self, T: Array) -> str:
        motion = self.motion
        assert motion is not None
        if not motion.begun or motion.controller == ControllerMode.EXTERNAL:
            return ""
        T_d = self.desired_flange() @ self.settings.F_T_EE
        away = np.linalg.norm(T_d[:3, 3] - T[:3, 3])
        turn = np.linalg.norm(turn_between(T[:3, :3], T_d[:3, :3]))
        elbow = abs(self.joints.x[2] - self.sensing.at.q[2])
        far = (np.array([away, turn, elbow]) > motion.deviation).any()
        return "max_path_pose_deviation_violation" if far else ""


class StatePacket:
    """A RobotState, filled again in each cycle: a new array would take most of the time."""

    def __init__(self) -> None:
        self._numbers = np.zeros((), packets.STATE)

    def fill(
        self,
        number: int,
        now: CycleState,
        tau_d: Array,
        errors: tuple[Bools, Bools],
        mode: Mode,
        rate: float,
    ) -> bytes:
        """Return the bytes of a state.

        Args:
            number: message_id.
            now: the arm in this cycle.
            tau_d: (7,) desired torques without gravity [N m].
            errors: (41,) present errors, and errors of the last reflex.
            mode: mode of the arm.
            rate: share of cycles with a command.
        """
        p, sensing, arm, frames = self._numbers, now.sensing, now.arm, now.settings
        s, motion = sensing.at, now.motion
        self._fill_desired(now)
        p["message_id"] = number
        p["O_T_EE"] = (sensing.flange @ frames.F_T_EE).T.ravel()
        for name in ("F_T_EE", "EE_T_K", "F_T_NE", "NE_T_EE"):
            p[name] = getattr(frames, name).T.ravel()
        for name, load in (("ee", arm.hand), ("load", arm.load)):
            p[f"m_{name}"], p[f"F_x_C{name}"] = load.mass, load.com
            p[f"I_{name}"] = load.inertia.ravel()
        p["q"] = p["theta"] = s.q
        p["dq"] = p["dtheta"] = s.dq
        p["elbow"] = s.q[2], np.sign(s.q[3] - arm.limits.flip)
        p["tau_J"], p["dtau_J"], p["tau_J_d"] = sensing.tau, sensing.dtau, tau_d
        p["joint_contact"], p["joint_collision"] = sensing.joint_contact, sensing.joint_collision
        p["cartesian_contact"], p["cartesian_collision"] = sensing.contact, sensing.collision
        p["tau_ext_hat_filtered"] = sensing.external
        p["O_F_ext_hat_K"], p["K_F_ext_hat_K"] = sensing.wrench, sensing.in_K
        p["O_ddP_O"] = arm.gravity
        (p["errors"], p["reflex_reason"]), p["robot_mode"] = errors, mode
        p["controller_mode"] = ControllerMode.OTHER if motion is None else motion.controller
        p["motion_generator_mode"] = Generator.IDLE if motion is None else motion.generator
        p["control_command_success_rate"] = rate
        return p.tobytes()

    def _fill_desired(self, now: CycleState) -> None:
        p, joints, motion = self._numbers, now.joints, now.motion
        flange, F_T_EE = now.desired_flange(), now.settings.F_T_EE
        p["O_T_EE_d"] = p["O_T_EE_c"] = (flange @ F_T_EE).T.ravel()
        p["O_dP_EE_d"] = now.arm.jacobian(flange, F_T_EE) @ joints.v
        p["q_d"], p["dq_d"], p["ddq_d"] = joints.x, joints.v, joints.a
        p["elbow_d"] = p["elbow_c"] = joints.x[2], np.sign(joints.x[3] - now.arm.limits.flip)
        path = None if motion is None else motion.path
        p["delbow_c"], p["ddelbow_c"], p["O_dP_EE_c"], p["O_ddP_EE_c"] = 0.0, 0.0, 0.0, 0.0
        if path is not None:
            p["O_T_EE_c"] = path.T.T.ravel()
            p["O_dP_EE_c"], p["O_ddP_EE_c"] = path.twist.v, path.twist.a
            p["elbow_c"][0] = path.elbow.x[0]
            p["delbow_c"][0], p["ddelbow_c"][0] = path.elbow.v[0], path.elbow.a[0]
