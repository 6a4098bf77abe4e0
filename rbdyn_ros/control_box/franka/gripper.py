# SPDX-License-Identifier: Apache-2.0
"""The server of Franka's hand: bytes and widths come in, bytes and forces go out.

Like the server of the arm, it uses no socket and no clock; see robot.py.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.franka import packets
from rbdyn_ros.control_box.franka.arm import FrankaArm
from rbdyn_ros.control_box.franka.packets import GripperRequest, GripperStatus
from rbdyn_ros.control_box.franka.server import FrankaServer
from rbdyn_ros.control_box.laws import Torques
from rbdyn_ros.control_box.paths import CYCLE

#: Speed of homing, and largest speed [m/s]; force of homing and moving, and largest force [N].
HOMING_SPEED, MOST_SPEED, MOVING_FORCE, MOST_FORCE = 0.05, 0.2, 20.0, 140.0
#: Stiffness [N/m] and damping [N s/m] of a finger.
STIFFNESS, DAMPING = 2000.0, 11.0
#: Fingers slower than STILL [m/s] have stopped after CYCLES cycles; a width is reached within the
#: distance REACHED [m].
STILL, CYCLES, REACHED = 1e-3, 100, 5e-4
#: Cycles between two states.
EVERY = 10


class GripperServer(FrankaServer):
    """The state machine of the hand.

    Args:
        arm: the arm with its fingers.
        log: called with a message about a mistake of a client.
    """

    def __init__(self, arm: FrankaArm, log: Callable[[str], object]) -> None:
        super().__init__(packets.GRIPPER, log)
        self._arm = arm
        self._sides = 2 if arm.mimics else 1
        self._most = float(2.0 * arm.finger_reach.min())
        self._x = self._v = np.zeros(len(arm.fingers))
        self._aim: Array | None = None  # goal of each finger [m]
        self._goal, self._speed, self._force = 0.0, 0.0, MOVING_FORCE
        self._running: tuple[GripperRequest, int] | None = None
        self._stopped = 0
        self._grasped = False
        self._low = self._high = 0.0  # widths that count as grasped [m]
        self._number = 0

    def close(self) -> None:
        """End the connection of the client; the fingers hold."""
        self._running = None
        self.open()

    def restart(self) -> None:
        """Restart after the simulated hand was reset; the present command ends."""
        if self._running is not None:
            self._end(GripperStatus.ABORTED)
        self._aim, self._grasped = None, False

    @property
    def rests(self) -> bool:
        """Return whether the hand waits for a client: until then its state stays the same."""
        return self._running is None

    @property
    def width(self) -> float:
        """Distance between the fingers [m]."""
        return float(self._x.sum() * self._sides)

    def _serve(self, command: int, number: int, given: Any) -> None:
        command = GripperRequest(command)
        if self._running is not None:
            self._end(GripperStatus.ABORTED)
        if command == GripperRequest.STOP:
            self._goal, self._speed = self.width / 2.0, 0.0
            self._answer(command, number, GripperStatus.SUCCESS)
        elif not self._is_possible(command, given):
            self._answer(command, number, GripperStatus.FAIL)
        else:
            self._begin(command, number, given)

    def _is_possible(self, command: GripperRequest, given: Any) -> bool:
        if command == GripperRequest.HOMING:
            return True
        numbers = [float(given[name]) for name in given.dtype.names]
        right = np.isfinite(numbers).all() and min(numbers) >= 0.0 and given["speed"] > 0.0
        right = right and given["width"] <= self._most + REACHED
        return bool(right and (command == GripperRequest.MOVE or given["force"] > 0.0))

    def _begin(self, command: GripperRequest, number: int, given: Any) -> None:
        from_inside = self._grasped and self._goal > self.width / 2.0
        self._running, self._stopped, self._grasped = (command, number), 0, False
        self._goal, self._speed, self._force = self._most / 2.0, HOMING_SPEED, MOVING_FORCE
        if command != GripperRequest.HOMING:
            self._goal = float(given["width"]) / 2.0
            self._speed = min(float(given["speed"]), MOST_SPEED)
        if command == GripperRequest.GRASP:
            self._force = min(float(given["force"]), MOST_FORCE)
            width = float(given["width"])
            self._low, self._high = width - given["inner"], width + given["outer"]
            # an object that is already held stays held
            opens = from_inside if self._is_between() else width > self.width
            self._goal = self._most / 2.0 if opens else 0.0

    def _is_between(self) -> bool:
        return bool(self._low <= self.width <= self._high)

    def _is_there(self) -> bool:
        return abs(self.width / 2.0 - self._goal) < REACHED

    def _end(self, status: GripperStatus) -> None:
        assert self._running is not None
        command, number = self._running
        self._running = None
        self._answer(command, number, status)

    def observe(self, x: Array, v: Array) -> bytes | None:
        """Store positions x and velocities v of the fingers; return a packet every EVERY cycles.

        In all other cycles return None.
        """
        self._x, self._v = x, v
        if self._aim is None:
            self._aim, self._goal = x.copy(), float(x.mean())
        still = bool((np.abs(v) < STILL).all())
        self._stopped = self._stopped + 1 if still else 0
        self._grasped = self._grasped and self._is_between() and not self._is_there()
        if self._running is not None:
            self._judge()
        self._number += 1
        return self.packet() if self._number % EVERY == 0 else None

    def _judge(self) -> None:
        """End the command when its width is reached or the fingers have stopped.

        A grasp ends only when the fingers have stopped.
        """
        assert self._running is not None
        command, there = self._running[0], self._is_there()
        if command == GripperRequest.GRASP:
            if self._stopped < CYCLES:
                return
            self._grasped = self._is_between() and not there
            done = self._grasped
        elif there or self._stopped >= CYCLES:
            done = there
        else:
            return
        self._end(GripperStatus.SUCCESS if done else GripperStatus.UNSUCCESSFUL)

    def act(self) -> Torques:
        """Return the forces of the fingers until the next cycle."""
        assert self._aim is not None
        step = self._speed * CYCLE
        self._aim = self._aim + np.clip(self._goal - self._aim, -step, step)
        most = np.minimum(self._force, self._arm.finger_effort / self._sides)
        lead = most / STIFFNESS  # the spring pulls with at most this force
        self._aim = np.clip(self._aim, self._x - lead, self._x + lead)
        one = np.full(len(self._x), float(self._sides))
        return Torques(0.0 * one, STIFFNESS * one, DAMPING * one, self._aim, 0.0 * one)

    def packet(self) -> bytes:
        """Return a packet of the state."""
        p = np.zeros((), packets.GRIPPER_STATE)
        p["message_id"], p["width"], p["max_width"] = self._number, self.width, self._most
        p["is_grasped"], p["temperature"] = self._grasped, 25
        return p.tobytes()
