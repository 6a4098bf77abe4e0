# SPDX-License-Identifier: Apache-2.0
"""Check whether gains are too high for the rate of the states, so that the arm would shake."""

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import apart, refusal

#: Largest D dt / I and sqrt(K / I) dt of a joint. A joint shakes if the effort of its damper comes
#: one period after the state and D dt / I is 1 or more; with two periods of delay, 0.62 or more.
LARGEST = 0.8


def check_joint_gains(
    names: Sequence[str], stiffness: Array, damping: Array, inertia: Array, dt: float
) -> None:
    """Raise RbdynError if gains would make a joint shake; the message names the worst joint.

    Args:
        names: names of the joints (n).
        stiffness: (n,) position gains [N m/rad or N/m].
        damping: (n,) velocity gains [N m s/rad or N s/m].
        inertia: (n,) inertia at the motor with all other joints free [kg m^2 or kg].
        dt: period of the states [s].
    """
    rates = np.maximum(damping / inertia, np.sqrt(stiffness / inertia)) * dt
    k = int(rates.argmax())
    if not rates[k] <= LARGEST:
        message = (
            f"joint '{names[k]}' would shake: stiffness {stiffness[k]:.4g} and damping "
            f"{damping[k]:.4g} on an inertia of {inertia[k]:.3g} need states at "
            f"{rates[k] / dt / LARGEST:.0f} Hz or more; they come at {1.0 / dt:.0f} Hz"
        )
        raise refusal(message, "gains", names[k])


def check_frame_gains(frequency: float, damping_ratio: float, dt: float) -> None:
    """Raise RbdynError if the gains of a frame would make it shake.

    Args:
        frequency: highest natural frequency of the arm on the frame's stiffness [rad/s].
        damping_ratio: damping ratio of all modes.
        dt: period of the states [s].
    """
    rate = frequency * max(1.0, 2.0 * damping_ratio)
    if not rate * dt <= LARGEST:
        needed, found = apart(rate / LARGEST, 1.0 / dt)
        message = (
            f"the frame would shake: its stiffness gives a frequency of {frequency:.0f} rad/s, "
            f"which needs states at {needed} Hz or more; they come at {found} Hz"
        )
        raise refusal(message, "gains", "frame")
