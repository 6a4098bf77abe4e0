# SPDX-License-Identifier: Apache-2.0
"""The node policy_node: it answers each state with position targets, stiffness and damping."""

import importlib
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu, JointState

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import Finding, ParameterError, listing, refusal
from rbdyn_ros.nanoseconds import NANOSECONDS, nanoseconds
from rbdyn_ros.policies.pacer import JointsState, Pacer
from rbdyn_ros.policies.policy import BaseState, load_policy
from rbdyn_ros.ros.common.graph.qos import of_states, reliable
from rbdyn_ros.ros.common.lifecycle import process
from rbdyn_ros.ros.common.parsing.stamps import check_age
from rbdyn_ros.ros.common.reports.answer import MessageLog
from rbdyn_ros.ros.common.reports.qos_reports import for_subscription
from rbdyn_ros.ros.common.settings import parameters
from rbdyn_ros.ros.common.unitree.robots import LOW_CMD, LOW_STATE
from rbdyn_ros.ros.policy.parameters import PARAMETERS
from rbdyn_ros.ros.policy.unitree import Rise, UnitreeMotors

#: Interval of the checks whether inputs arrive [s].
POLL = 1.0
#: Length of the queue of states.
DEPTH = 1000
#: A simulator in lock-step repeats a state if it gets no answer. The node repeats its answer only
#: after this time [s], because the first answer may still be on its way.
LOST = 0.5
#: Number of times that the last command is sent, because a robot may lose a command; and the time
#: between two of these commands [s].
REPEATS, PAUSE = 20, 0.005


class PolicyNode(process.ManagedNode):
    """Runs one policy.

    Args:
        stop: set when a signal ends the process.
        policy: path of a policy file that overrides parameter `policy`; None: use the parameter.
    """

    def __init__(self, stop: threading.Event, policy: str | None = None) -> None:
        given = [Parameter("policy", value=policy)] if policy else []
        super().__init__("policy_node", stop, given)
        self._messages = MessageLog(self.get_logger().warning)
        self._pacer: Pacer | None = None
        self._lock = threading.Lock()
        self._active, self._reported = False, ""
        self._seen = Counter[str]()  # messages and answers since the last poll
        self._stamp = -1  # the stamp of the newest joint state
        self._last, self._sent = -1, 0.0  # stamp and wall time of the latest answer

    def declare(self) -> SimpleNamespace:
        """Declare the parameters and return their values."""
        return parameters.declare(self, PARAMETERS)

    def configure(self) -> None:
        """Load the policy and open the topics, or raise ParameterError."""
        values = self.values
        if not values.policy:
            text = "parameter 'policy' is empty; give the path of a policy: policy:=walk.yaml"
            raise ParameterError(Finding("no-policy", text, "error", "policy"))
        with self.load():
            policy = load_policy(values.policy, network=values.network, joints=values.joints)
        self._spec = policy.spec
        names = {term.name for term in self._spec.terms}
        self._unitree = UnitreeMotors(values.unitree, self._spec) if values.unitree else None
        self._state_topics = [LOW_STATE] if values.unitree else ["joint_states", values.base]
        if self._state_topics[-1] != "odom" and "base_lin_vel" in names:
            text = (
                "the policy observes base_lin_vel, which an IMU does not measure; use base:=odom "
                "and the topics of joints"
            )
            raise ParameterError(Finding("no-velocity", text, "error", "base"))
        for warning in parameters.unknown(self, PARAMETERS):
            self.get_logger().warning(warning)
        self._pacer = Pacer(policy, values.timeout, values.command_timeout)
        self._policy = policy
        self._open_topics()

    def _open_topics(self) -> None:
        if self._unitree is None:
            self._open_joint_topics()
        else:
            self._open_low_level(self._unitree)
        if self.values.enable_stamped_cmd_vel:
            self._subscribe(TwistStamped, "cmd_vel", self._set_stamped_command)
        else:
            self._subscribe(Twist, "cmd_vel", self._set_command)

    def _open_low_level(self, motors: UnitreeMotors) -> None:
        """Open the topics lowstate and lowcmd of a robot of Unitree."""
        if motors.idle:
            text = f"motors that the policy does not move stay off: {', '.join(motors.idle)}"
            self.get_logger().warning(text)
        self._rise = Rise(self._spec.default_position, self.values.start_duration)
        kinds = motors.messages
        self._publisher = self.create_publisher(kinds.LowCmd, LOW_CMD, reliable(10))
        self._subscribe(kinds.LowState, LOW_STATE, self._take_low_state)

    def _open_joint_topics(self) -> None:
        kind = importlib.import_module("rbdyn_interfaces.msg").JointCommand
        self._publisher = self.create_publisher(kind, "joint_commands_by_mode", reliable(10))
        count = len(self._spec.joints)
        self._command = kind(name=list(self._spec.joints), mode=[kind.IMPEDANCE] * count)
        self._command.stiffness = self._spec.stiffness.tolist()
        self._command.damping = self._spec.damping.tolist()
        self._subscribe(JointState, "joint_states", self._take_joints)
        if self.values.base == "imu":
            self._subscribe(Imu, "imu", self._take_imu)
        else:
            self._subscribe(Odometry, "odom", self._take_odometry)

    def _subscribe(self, kind: Any, topic: str, take: Callable[[Any], object]) -> None:
        qos = of_states(self.values.states_reliability, DEPTH)
        receive = self._messages.receiver(topic, take)
        events = for_subscription(self, topic)
        self.create_subscription(kind, topic, receive, qos, event_callbacks=events)

    def activate(self) -> None:
        """Begin to answer states."""
        with self._lock:
            assert self._pacer is not None
            self._pacer.restart()
            if self._unitree is not None:
                self._rise.restart()
            self._active, self._last = True, -1
        self.get_logger().info(
            f"answering states of {len(self._spec.joints)} joints with {self._spec.rate:g} "
            "actions a second"
        )

    def deactivate(self) -> bool:
        """Stop answering, damp the motors of a Unitree robot, and return True.

        Joints of other robots get no further command.
        """
        with self._lock:
            commands, self._active = self._active and self._last >= 0, False
        if commands and self._unitree is not None and self.values.end_damping > 0.0:
            last = self._unitree.damped(self.values.end_damping)
            for _ in range(REPEATS):
                self._publisher.publish(last)
                time.sleep(PAUSE)
        return True

    @property
    def poll_interval(self) -> float:
        """Interval of `poll` [s]."""
        return POLL

    def poll(self) -> None:
        """If no state was answered since the last poll, log the reason, unless it was logged."""
        seen, self._seen = self._seen, Counter()
        if seen["answers"] or not self._active:
            self._reported = ""
        elif (reason := self._reason(seen)) != self._reported:
            self._reported = reason
            self.get_logger().warning(f"nothing is commanded: {reason}")

    def _reason(self, seen: Counter[str]) -> str:
        """Return the reason why no state was answered, from the counts of the last interval."""
        for topic in self._state_topics:
            if not seen[topic]:
                return f"no message on {topic} was accepted"
        if seen[self._state_topics[0]] > 2 * seen["stamps"]:
            return f"the stamps of {self._state_topics[0]} stand still"
        limit = f"{self.values.timeout:g} s"
        return f"the stamps of {' and '.join(self._state_topics)} are further apart than {limit}"

    def end(self) -> None:
        """Stop answering, as `deactivate` does."""
        self.deactivate()

    # topics

    def _take_joints(self, message: JointState) -> None:
        places = {name: k for k, name in enumerate(message.name)}
        if len(places) != len(message.name):
            raise refusal("it names a joint twice")
        if missing := [name for name in self._spec.joints if name not in places]:
            raise refusal(f"it has no joint {listing(missing)}, which the policy moves")
        chosen = [places[name] for name in self._spec.joints]
        if not len(message.name) == len(message.position) == len(message.velocity):
            raise refusal("it does not have one position and one velocity for each name")
        position = np.array(message.position)[chosen]
        velocity = np.array(message.velocity)[chosen]
        if not (np.isfinite(position).all() and np.isfinite(velocity).all()):
            raise refusal("a position or velocity is not finite")
        state = JointsState(nanoseconds(message.header.stamp), position, velocity)
        self._note_state(state)
        with self._lock:
            if self._active and self._pacer is not None:
                self._answer(self._pacer.take_joints(state))

    def _note_state(self, state: JointsState) -> None:
        self._seen[self._state_topics[0]] += 1
        self._seen["stamps"] += state.stamp != self._stamp
        self._stamp = state.stamp

    def _take_low_state(self, message: Any) -> None:
        assert self._unitree is not None
        state, base = self._unitree.state(message)
        self._note_state(state)
        with self._lock:
            if not self._active or self._pacer is None:
                return
            target = self._rise.target(state)
            if target is not None:
                # the policy must not observe velocities and actions of the motion to the pose
                self._pacer.restart()
                self._answer(state, target)
            else:
                # take the state of the base second: it is allowed to be newer than the joint state
                answered = self._pacer.take_joints(state)
                self._answer(self._pacer.take_base(state.stamp, base) or answered)

    def _take_odometry(self, message: Odometry) -> None:
        at, twist = message.pose.pose.orientation, message.twist.twist
        self._take_base(message, at, twist.angular, twist.linear)

    def _take_imu(self, message: Imu) -> None:
        covariances = message.orientation_covariance, message.angular_velocity_covariance
        if -1.0 in (each[0] for each in covariances):  # -1 marks missing values in an Imu
            raise refusal("this IMU lacks orientation or angular velocity; a policy needs both")
        self._take_base(message, message.orientation, message.angular_velocity, None)

    def _take_base(self, message: Any, turn: Any, angular: Any, linear: Any) -> None:
        quat = np.array([turn.w, turn.x, turn.y, turn.z])
        norm = float(np.linalg.norm(quat))
        rate = np.array([angular.x, angular.y, angular.z])
        speed = np.zeros(3) if linear is None else np.array([linear.x, linear.y, linear.z])
        if not (np.isfinite([norm, *rate, *speed]).all() and abs(norm - 1.0) < 1e-3):
            raise refusal("its numbers are not finite, or its quaternion is not of length 1")
        stamp = nanoseconds(message.header.stamp)
        self._seen[self.values.base] += 1
        with self._lock:
            if self._active and self._pacer is not None:
                self._answer(self._pacer.take_base(stamp, BaseState(quat / norm, rate, speed)))

    def _set_stamped_command(self, message: TwistStamped) -> None:
        timeout = round(self.values.command_timeout * NANOSECONDS)
        check_age(message.header, self._stamp, timeout, "command_timeout")
        self._set_command(message.twist)

    def _set_command(self, twist: Twist) -> None:
        wanted = np.array([twist.linear.x, twist.linear.y, twist.angular.z])
        if not np.isfinite(wanted).all():
            raise refusal("a velocity is not finite")
        with self._lock:
            if self._pacer is not None:
                self._pacer.set_command(wanted)

    def _answer(self, state: JointsState | None, target: Array | None = None) -> None:
        """Answer a state, if given, with position targets; None: with the policy's targets."""
        if state is None or self.stop.is_set():
            return
        now = time.monotonic()
        if state.stamp == self._last and now < self._sent + LOST:
            return
        self._last, self._sent = state.stamp, now
        self._seen["answers"] += 1
        target = self._policy.target if target is None else target
        if self._unitree is not None:
            self._publisher.publish(self._unitree.command(target))
            return
        self._command.position = target.tolist()
        stamp = self._command.header.stamp
        stamp.sec, stamp.nanosec = divmod(state.stamp, NANOSECONDS)
        self._publisher.publish(self._command)


def main() -> None:
    """Run the node until a signal stops it."""
    sys.exit(process.run(PolicyNode))
