# SPDX-License-Identifier: Apache-2.0
"""The measures of a run: their names and values."""

import math

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.trials.simulation import kernels
from rbdyn_ros.trials.simulation.score import Score
from rbdyn_ros.trials.trial import Trial

#: Built-in measures and their meanings. Measures of joints concern the controlled joints.
MEASURES = {
    "tracking_rms": "root of the mean square of the position errors [rad or m]",
    "tracking_max": "largest position error [rad or m]",
    "overshoot": "largest overshoot past the last target, seen from the start [rad or m]",
    "settling_time": "time from which all joints stay within settling_band of the last target [s]",
    "effort_rms": "root of the mean square of the efforts [N m or N]",
    "effort_max": "largest effort [N m or N]",
    "effort_ratio": "largest effort as a share of the joint's limit",
    "velocity_ratio": "largest speed as a share of the joint's limit",
    "energy": "integral of |effort times speed| [J]",
    "beyond_range": "largest distance of a joint beyond its position limits [rad or m]",
    "base_height": "lowest height of a floating base [m]",
    "base_tilt": "largest angle between the z axes of a floating base and of the world [rad]",
}
#: Measures that only robots with a floating base have.
OF_BASE = ("base_height", "base_tilt")


def with_unit(name: str) -> str:
    """Return the name of a measure, with the unit if it is a built-in measure that has a unit."""
    _, bracket, unit = MEASURES.get(name, "").rpartition("[")
    return f"{name} [{unit}" if bracket else name


#: Values of measures; None: there is no finite value.
Values = dict[str, float | None]


def measures(trial: Trial, score: Score, i: int) -> Values:
    """Return the built-in measures of run i, from the accumulators of a score."""
    total = score.total[:, i]
    values = _of_joints(trial, total, score.over[1, :, i]) if trial.joints.names else {}
    if trial.m.nq and np.isfinite(total[kernels.LOWEST_BASE]):
        values["base_height"] = float(total[kernels.LOWEST_BASE])
        values["base_tilt"] = float(total[kernels.LARGEST_TILT])
    return {name: known(value) for name, value in values.items()}


def known(value: float) -> float | None:
    """Return a value as a float, or None if it is not finite."""
    return float(value) if math.isfinite(value) else None


def _of_joints(trial: Trial, total: Array, over: Array) -> dict[str, float]:
    step, count = float(trial.m.opt.timestep), trial.nstep * len(trial.joints.names)
    settled = total[kernels.LAST_OUTSIDE] + 1.0  # number of steps until the joints are settled
    return {
        "tracking_rms": math.sqrt(total[kernels.ERROR_SQUARES] / count),
        "tracking_max": total[kernels.LARGEST_ERROR],
        "overshoot": over.max(),
        "settling_time": settled * step if settled < trial.nstep else math.inf,
        "effort_rms": math.sqrt(total[kernels.EFFORT_SQUARES] / count),
        "effort_max": total[kernels.LARGEST_EFFORT],
        "effort_ratio": total[kernels.EFFORT_RATIO],
        "velocity_ratio": total[kernels.VELOCITY_RATIO],
        "energy": total[kernels.WORK] * step,
        "beyond_range": total[kernels.BEYOND_RANGE],
    }
