"""Gains against the rate of the states: what is too stiff for it shakes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbdyn_ros.arrays import Array

#: D dt / I and sqrt(K / I) dt of a joint at most. A sampled damper whose effort comes one period
#: after the state shakes from D dt / I = 1 on, and two periods after it from 0.62 on.
LARGEST = 0.8


def why_shaky(
    names: Sequence[str], stiffness: Array, damping: Array, inertia: Array, dt: float
) -> str:
    """Return which joint would shake and why, or nothing.

    Args:
        names: of the joints (n).
        stiffness: (n,) [N m/rad or N/m].
        damping: (n,) [N m s/rad or N s/m].
        inertia: (n,) that a motor feels with all other joints free [kg m^2 or kg].
        dt: from a state to the next [s].
    """
    rates = np.maximum(damping / inertia, np.sqrt(stiffness / inertia)) * dt
    k = int(rates.argmax())
    if rates[k] <= LARGEST:
        return ""
    return (
        f"joint '{names[k]}' would shake: stiffness {stiffness[k]:.4g} and damping "
        f"{damping[k]:.4g} on an inertia of {inertia[k]:.3g} need states at "
        f"{rates[k] / dt / LARGEST:.0f} Hz at least; they come at {1.0 / dt:.0f} Hz"
    )


def why_frame_shaky(frequency: float, damping_ratio: float, dt: float) -> str:
    """Return why a frame would shake, or nothing.

    Args:
        frequency: of the fastest swing of the arm on its stiffness [rad/s].
        damping_ratio: of all swings.
        dt: from a state to the next [s].
    """
    rate = frequency * max(1.0, 2.0 * damping_ratio)
    if rate * dt <= LARGEST:
        return ""
    return (
        f"the frame would shake: it swings at {frequency:.0f} rad/s on its stiffness, which needs "
        f"states at {rate / LARGEST:.0f} Hz at least; they come at {1.0 / dt:.0f} Hz"
    )
