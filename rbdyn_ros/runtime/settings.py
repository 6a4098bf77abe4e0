# SPDX-License-Identifier: Apache-2.0
"""The settings of a loop, fixed before it starts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.checks.names import one_of
from rbdyn_ros.runtime.realtime import Mode

#: Modes of time: at the pace of wall time; one tick for each complete set of commands; as fast as
#: possible.
MODES_OF_TIME = ("realtime", "lockstep", "fast")
REALTIME, LOCKSTEP, FAST = range(len(MODES_OF_TIME))

#: Policies for a joint whose command has expired.
ON_TIMEOUT = ("zero", "gravity", "hold")
ZERO, GRAVITY, HOLD = range(len(ON_TIMEOUT))

#: How a dof is held before its first command: not at all, by gravity compensation, by a brake.
HELD = ("falls", "floats", "stands")
FALLS, FLOATS, STANDS = range(len(HELD))


@dataclass(frozen=True, slots=True, eq=False)
class LoopSettings:
    """The settings of a loop.

    Attributes:
        command_timeout: age at which a command expires [s].
        answer_timeout: largest age of the state that a command at the port may answer, in wall
            time [s] and only in mode realtime; 0: unlimited.
        on_timeout: policy for a joint whose command has expired, one of ON_TIMEOUT.
        start_paused: whether time is paused at the start.
        realtime: privileges to request from the system, see realtime.obtain.
        time_mode: one of MODES_OF_TIME.
        real_time_factor: simulated time divided by wall time, in mode realtime.
        control_decimation: physics steps per tick.
        lockstep_dofs: dofs for whose commands each tick waits; None: all actuated dofs.
        lockstep_timeout: time after which a tick stops waiting and time runs freely [s]; 0: never.
        servo_time_constant: time constant of position and velocity servos [s].
        hand_over_every: period of the states that readers get [ticks].
        seed: seed of all random numbers.
        specialize: whether to compile the timestep for this robot, see StepCode.
        locked: whether lock-step waits for commands from tick 0 on; otherwise from the first
            command on.
        report_current: whether the measured effort of an actuator is its current [A].
        held: (nv,) how each dof is held before its first command, an index in HELD; a dof without
            an actuator is held until a joint of its robot gets its first command. None: all dofs
            fall.
    """

    command_timeout: float = 0.1
    answer_timeout: float = 0.0
    on_timeout: str = "zero"
    start_paused: bool = False
    realtime: Mode = "try"
    time_mode: str = "realtime"
    real_time_factor: float = 1.0
    control_decimation: int = 1
    lockstep_dofs: NDArray[np.int64] | None = None
    lockstep_timeout: float = 1.0
    servo_time_constant: float = 0.01
    hand_over_every: int = 1
    seed: int = 0
    specialize: bool = False
    locked: bool = False
    report_current: bool = False
    held: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        one_of("on_timeout", self.on_timeout, ON_TIMEOUT, code="on-timeout")
        one_of("time_mode", self.time_mode, MODES_OF_TIME, code="time-mode")
