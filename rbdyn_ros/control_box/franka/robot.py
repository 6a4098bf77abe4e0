# SPDX-License-Identifier: Apache-2.0
"""The server of the arm: bytes and measured states come in, bytes and torques go out.

It uses no socket and no clock. In each cycle its caller calls `observe`, which returns the packet
of the state, passes the received bytes to `request` and `command`, and calls `act`, which returns
the torques until the next cycle.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rbdyn_ros.control_box.franka import packets
from rbdyn_ros.control_box.franka.arm import FrankaArm
from rbdyn_ros.control_box.franka.laws import cartesian_impedance, guiding
from rbdyn_ros.control_box.franka.limits import COUNTED, MOST_LOST
from rbdyn_ros.control_box.franka.motion import ClientMotion
from rbdyn_ros.control_box.franka.packets import (
    ControllerMode,
    Generator,
    Mode,
    MoveStatus,
    Request,
    RequestStatus,
)
from rbdyn_ros.control_box.franka.sensing import Sensing
from rbdyn_ros.control_box.franka.server import FrankaServer
from rbdyn_ros.control_box.franka.settings import Settings
from rbdyn_ros.control_box.franka.states import CycleState, StatePacket
from rbdyn_ros.control_box.laws import Torques, joint_impedance
from rbdyn_ros.control_box.links import NO_LOAD
from rbdyn_ros.control_box.paths import CYCLE, Stream
from rbdyn_ros.control_box.robot import REST, BoxedRobot
from rbdyn_ros.control_box.sensing import MeasuredArm

#: Speed at which a recovery moves joints back into their limits [rad/s].
BACK = 0.2


class RobotServer(BoxedRobot, FrankaServer):
    """The state machine of the arm.

    Args:
        arm: the robot.
        log: called with a message about a mistake of a client, or about a reflex.

    Attributes:
        arm, sensing: the robot and its measurements.
        settings: settings made by clients.
        mode: see Mode.
    """

    def __init__(self, arm: FrankaArm, log: Callable[[str], object]) -> None:
        super().__init__(packets.ROBOT, log)
        self.arm = arm
        self.sensing, self.settings = Sensing(arm), Settings(arm)
        self.mode, self._number = Mode.IDLE, 0
        self._packet = StatePacket()
        self._joints: Stream | None = None
        self._motion: ClientMotion | None = None
        self._tau_d = np.zeros(7)
        self._errors, self._reasons = np.zeros(41, bool), np.zeros(41, bool)
        self._received: deque[bool] = deque(maxlen=COUNTED)
        self._guide_T = np.eye(4)
        self._recovery = -1  # number of the recovery request in progress
        self._next: tuple[int, np.ndarray] | None = None  # a Move that waits until the arm rests

    # a client

    def close(self) -> None:
        """End the connection of the client; a motion ends as after lost commands."""
        if self._motion is not None:
            self._log("the client left in a motion; the arm brakes and waits for the next client")
            self._reflex("communication_constraints_violation")
        self._recovery, self._next = -1, None
        self.open()

    def _serve(self, command: int, number: int, given: np.ndarray) -> None:
        if command == Request.MOVE:
            self._begin(number, given)
        elif command == Request.STOP_MOVE:
            self._stop_move(number)
        elif command == Request.AUTOMATIC_ERROR_RECOVERY:
            self._recover(number)
        elif command == Request.GET_ROBOT_MODEL:
            self._answer(command, number, RequestStatus.SUCCESS, self.arm.urdf.encode())
        elif self._motion is not None:
            self._answer(command, number, RequestStatus.NOT_POSSIBLE)
        else:
            self._set(Request(command), number, given)

    def _set(self, command: Request, number: int, given: np.ndarray) -> None:
        guided = self.mode == Mode.GUIDING
        if guided and command in (Request.SET_EE_TO_K, Request.SET_NE_TO_EE):
            # guiding holds axes of the stiffness frame, so this frame must not change
            self._answer(command, number, RequestStatus.NOT_POSSIBLE)
            return
        self._answer(command, number, self.settings.apply(command, given))
        self.sensing.change()
        if guided:
            self.guide(True)  # begin guiding anew, so that newly locked axes stay where they are

    # motions

    def _begin(self, number: int, given: np.ndarray) -> None:
        """Begin the Move `given`, refuse it, or keep it until the arm has braked."""
        busy = self._motion is not None or self._next is not None
        if self.mode != Mode.IDLE or busy or self._joints is None:
            self._answer(Request.MOVE, number, MoveStatus.NOT_POSSIBLE)
            return
        if (np.abs(self._joints.v) >= REST).any():
            self._next = number, given
            return
        s = self.sensing.at
        q = self._joints.x
        joints = Stream(q)
        motion = ClientMotion.of(given, number, self.arm, joints, self.settings)
        if isinstance(motion, MoveStatus):
            self._answer(Request.MOVE, number, motion)
            return
        motion.answered = self._number  # an answer to an earlier state belongs to another motion
        self.mode, self._motion, self._joints = Mode.MOVE, motion, joints
        if motion.generator == Generator.NONE:
            self._joints = Stream(s.q)
        self.sensing.clear()
        self._reasons[:] = False
        self._received.clear()
        self._tau_d = np.zeros(7)
        self._answer(Request.MOVE, number, MoveStatus.STARTED)

    def _finish(self, status: MoveStatus) -> None:
        """End the motion and answer its request with a status; the arm brakes and holds."""
        motion, self._motion = self._motion, None
        assert motion is not None
        self._answer(Request.MOVE, motion.number, status)
        if motion.controller != ControllerMode.JOINT_IMPEDANCE:
            self._hold()  # without springs the arm is not at q_d
        self.mode, self._rested = Mode.IDLE, 0
        self._received.clear()

    def _hold(self) -> None:
        """Continue the desired joints from the measured joints, and brake."""
        self._joints = Stream(self.sensing.at.q, self.sensing.at.dq)

    def _stop_move(self, number: int) -> None:
        if self._next is not None:
            self._answer(Request.MOVE, self._next[0], MoveStatus.PREEMPTED)
            self._next = None
        if self._motion is not None:
            self._finish(MoveStatus.PREEMPTED)
        self._answer(Request.STOP_MOVE, number, RequestStatus.SUCCESS)

    def _reflex(self, error: str, status: MoveStatus = MoveStatus.REFLEX) -> None:
        """Stop because of an error, and answer the motion's request with a status."""
        self._log(f"reflex: {error}; the client recovers from it with automaticErrorRecovery")
        self._errors[packets.ERROR_NUMBERS[error]] = True
        self._reasons[:] = self._errors
        self._finish(status)
        self.mode = Mode.REFLEX

    def _recover(self, number: int) -> None:
        if self.mode in (Mode.IDLE, Mode.GUIDING):
            self.sensing.clear()
            self._answer(Request.AUTOMATIC_ERROR_RECOVERY, number, RequestStatus.SUCCESS)
        elif self.mode != Mode.REFLEX:
            self._answer(Request.AUTOMATIC_ERROR_RECOVERY, number, RequestStatus.NOT_POSSIBLE)
        else:
            self.mode, self._recovery, self._rested = Mode.RECOVERY, number, 0

    def press_user_stop(self, pressed: bool) -> None:
        if pressed == (self.mode == Mode.USER_STOPPED):
            return
        if not pressed:
            self.mode = Mode.REFLEX if self._errors.any() else Mode.IDLE
            return
        if self._motion is not None:
            self._finish(MoveStatus.USER_STOP)
        if self.mode == Mode.GUIDING:
            self._hold()
        if self._recovery >= 0:
            # status kEmergencyAborted
            self._answer(Request.AUTOMATIC_ERROR_RECOVERY, self._recovery, 5)
            self._recovery = -1
        self.mode = Mode.USER_STOPPED

    def guide(self, on: bool) -> bool:
        if self.mode not in (Mode.IDLE, Mode.GUIDING) or self._joints is None:
            return False
        if on:
            self._guide_T = self.sensing.at.T
            self._joints = Stream(self.sensing.at.q)
        elif self.mode == Mode.GUIDING:
            self._hold()
        self.mode = Mode.GUIDING if on else Mode.IDLE
        return True

    def reboot(self) -> None:
        """Return to the state after power-on: no errors, load or settings; the user stop stays."""
        if self._motion is not None:
            self._finish(MoveStatus.ABORTED)
        if self.mode == Mode.GUIDING:
            self._hold()
        if self.mode != Mode.USER_STOPPED:
            self.mode = Mode.IDLE
        self._next = None
        self.arm.carry(NO_LOAD)
        self.settings = Settings(self.arm)
        self.sensing.change()
        self.sensing.forget()
        self._errors[:], self._reasons[:], self._recovery = False, False, -1

    def restart(self) -> None:
        """Restart after the simulated arm was reset; motions, guiding and errors end."""
        if self._motion is not None:
            self._finish(MoveStatus.ABORTED)
        self._recovered()
        self._joints, self._rested = None, 0

    # a cycle

    @property
    def awaits(self) -> bool:
        motion = self._motion
        return motion is not None and motion.begun and not motion.asynchronous

    @property
    def waits_to_begin(self) -> bool:
        """Return whether a motion waits for its first command."""
        return self._motion is not None and not self._motion.begun

    @property
    def _holds(self) -> bool:
        return self._motion is None and self.mode != Mode.GUIDING

    def observe(self, now: MeasuredArm, ticks: int = 1) -> bytes:
        """Process the state of a tick; return the packet for the client.

        Args:
            now: the state.
            ticks: ticks since the last call; the box did not read the states in between.
        """
        if self._joints is None:
            self._joints = Stream(now.q)
        for _ in range(min(ticks - 1, MOST_LOST)):
            self._pass()
        self._number += ticks - 1
        ddq_d = self._joints.a if self._motion is not None else np.zeros(7)
        self.sensing.take(now, self.settings, ddq_d, ticks * CYCLE)
        self._count_rest(now.dq, self._joints.v)
        if self._motion is not None and (error := self._now.violation()):
            self._reflex(error)
        if self.mode == Mode.RECOVERY and self._rested > 1 and self._is_inside():
            self._recovered()
        if self._next is not None:
            (number, given), self._next = self._next, None
            self._begin(number, given)
        return self.packet()

    def _is_inside(self) -> bool:
        arm, q = self.arm, self.sensing.at.q
        return bool((q > arm.lower).all() and (q < arm.upper).all())

    def _recovered(self) -> None:
        self.sensing.forget()
        self._errors[:] = False
        if self.mode != Mode.USER_STOPPED:
            self.mode = Mode.IDLE
        if self._recovery >= 0:
            self._answer(Request.AUTOMATIC_ERROR_RECOVERY, self._recovery, RequestStatus.SUCCESS)
            self._recovery = -1

    def answered_by(self, data: bytes) -> int:
        """Return the message_id that a datagram answers, or 0 if it does not answer this state."""
        motion = self._motion
        if len(data) != packets.COMMAND.itemsize or motion is None:
            return 0
        number = int(np.frombuffer(data, packets.COMMAND)[0]["message_id"])
        # A repeated or delayed command has an old number. A number above the newest state's
        # answers no state.
        return number if motion.answered < number <= self._number else 0

    def command(self, data: bytes) -> None:
        """Store the command in a datagram if the datagram answers the present state."""
        if self.answered_by(data):
            assert self._motion is not None
            self._motion.take(np.frombuffer(data, packets.COMMAND)[0])

    def act(self) -> Torques:
        """Return the torques of the joints until the next cycle, with gravity."""
        self._pass()
        s = self.sensing.at
        torques = self._torques()
        self._tau_d = torques.at(s.q, s.dq)
        return replace(torques, effort=torques.effort + self.sensing.gravity)

    def _pass(self) -> None:
        """Advance the desired joints by a cycle, along a motion, into their limits, or to rest."""
        assert self._joints is not None
        motion = self._motion
        if motion is not None and motion.begun:
            self._advance(motion)
        elif self.mode == Mode.RECOVERY:
            self._move_back()
        elif motion is None:
            self._joints.brake(self.arm.limits.acceleration)

    def _torques(self) -> Torques:
        """Return the torques of the controller that acts now, without gravity."""
        assert self._joints is not None
        motion, s, j, given = self._motion, self.sensing.at, self._joints, self.settings
        if self.mode == Mode.GUIDING:
            hands = given.free, given.elbow_free
            return Torques.of(guiding(s, *hands, self._guide_T, j.x))
        if motion is not None and motion.begun and motion.controller == ControllerMode.EXTERNAL:
            return Torques.of(motion.torque)
        if motion is not None and motion.controller == ControllerMode.CARTESIAN_IMPEDANCE:
            T = self._now.desired_flange() @ given.F_T_K
            return Torques.of(cartesian_impedance(s, given.stiffness, T, j.x, j.v, j.a))
        return joint_impedance(s, given.joint_stiffness, j.x, j.v, j.a)

    def _advance(self, motion: ClientMotion) -> None:
        """Follow the command of this cycle, or continue without a command."""
        came = motion.fresh
        if not motion.asynchronous:
            self._received.append(came)
        error = motion.advance()
        if error:
            wrong = MoveStatus.REFLEX if motion.is_finite else MoveStatus.INPUT_ERROR
            self._reflex(error, wrong)
        elif motion.lost >= MOST_LOST:
            self._reflex("communication_constraints_violation")
        elif motion.finished:
            self._finish(MoveStatus.SUCCESS)

    def _move_back(self) -> None:
        """Move joints into their limits during a recovery."""
        assert self._joints is not None
        arm, inside = self.arm, 1e-3
        goal = np.clip(self._joints.x, arm.lower + inside, arm.upper - inside)
        self._joints.approach(goal, np.full(7, BACK), arm.limits.acceleration)

    @property
    def _now(self) -> CycleState:
        assert self._joints is not None
        return CycleState(self.arm, self.sensing, self.settings, self._joints, self._motion)

    def packet(self) -> bytes:
        """Return the next packet; it repeats the last state if `observe` was not called."""
        self._number += 1
        count = len(self._received)
        rate = sum(self._received) / count if count else 0.0
        errors = self._errors, self._reasons
        return self._packet.fill(self._number, self._now, self._tau_d, errors, self.mode, rate)
