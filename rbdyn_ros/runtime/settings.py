"""How a loop runs: what is decided before it starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.runtime.realtime import Mode

#: real time; one tick for each complete set of commands; as fast as the computer can.
MODES_OF_TIME = ("realtime", "lockstep", "fast")
REALTIME, LOCKSTEP, FAST = range(len(MODES_OF_TIME))

#: What drives a joint whose command is too old.
ON_TIMEOUT = ("zero", "gravity", "hold")
ZERO, GRAVITY, HOLD = range(len(ON_TIMEOUT))


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """How a loop runs.

    Attributes:
        command_timeout: age at which a command is given up [s].
        on_timeout: what then drives the joint, one of ON_TIMEOUT.
        start_paused: begin paused.
        realtime: what to ask of the system, see realtime.obtain.
        time_mode: one of MODES_OF_TIME.
        real_time_factor: simulated time by wall time, in mode realtime.
        control_decimation: physics steps a tick.
        lockstep_dofs: whose commands a tick waits for; None: all that take efforts.
        lockstep_timeout: how long it waits at most before time runs free [s]; 0: for ever.
        servo_time_constant: in which position and velocity commands are approached [s].
        hand_over_every: ticks from one state that is handed over to the next.
        seed: of all noise.
        specialize: timesteps are made by code compiled for this robot alone, see StepCode.
    """

    command_timeout: float = 0.1
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

    def __post_init__(self) -> None:
        _demand("on_timeout", self.on_timeout, ON_TIMEOUT)
        _demand("time_mode", self.time_mode, MODES_OF_TIME)


def _demand(name: str, found: str, allowed: tuple[str, ...]) -> None:
    if found not in allowed:
        code, listed = name.replace("_", "-"), ", ".join(allowed)
        text = f"{name} is '{found}'; allowed is one of {listed}."
        raise ParameterError(Finding(code, text, "error", name, None, found, listed))
