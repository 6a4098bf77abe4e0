# SPDX-License-Identifier: Apache-2.0
"""Diagnose a controlled arm: convert its state to a level and a message."""

import numpy as np

from rbdyn_ros.control.controller import Controller
from rbdyn_ros.ros.common.reports.status import Level, Status, texts

#: Number of durations that are kept.
REMEMBERED = 4096


class AnswerTimes:
    """The latest durations from the arrival of a state to its commands [us].

    One thread adds durations; other threads read them.
    """

    def __init__(self) -> None:
        self._ring = np.full(REMEMBERED, np.nan)
        self._count = 0

    def add(self, microseconds: float) -> None:
        """Add a duration [us]."""
        self._ring[self._count % REMEMBERED] = microseconds
        self._count += 1

    def percentiles(self) -> tuple[float, float, float]:
        """Return the median, the 99th percentile and the maximum [us]; NaN without durations."""
        known = self._ring[~np.isnan(self._ring)]
        if not len(known):
            return (np.nan,) * 3
        p50, p99, worst = np.percentile(known, (50.0, 99.0, 100.0)).tolist()
        return p50, p99, worst


def diagnose_arm(controller: Controller, times: AnswerTimes, now: int, fresh: int) -> Status:
    """Return the status of an arm.

    Args:
        controller: controls the arm.
        times: durations from the states to the commands.
        now: time of the arm [ns].
        fresh: number of states since the last report.
    """
    gate, limits = controller.gate, controller.gate.limits
    p50, p99, worst = times.percentiles()
    values = {
        "mode": controller.mode,
        "armed": controller.armed,
        "dry_run": controller.settings.dry_run,
        "fault": gate.fault.code if gate.fault else "",
        "states": controller.states,
        "refused_states": controller.refused,
        "saturated_joints": " ".join(
            name for name, is_ in zip(limits.names, gate.saturated, strict=True) if is_
        ),
        "answer_p50_us": p50,
        "answer_p99_us": p99,
        "answer_max_us": worst,
        "effort_scale": limits.effort_scale,
        "velocity_scale": limits.velocity_scale,
        "position_inset": limits.inset,
        "acceleration_limit": limits.acceleration,
        "latency_limit": limits.latency,
        "power_limit": limits.power_limit,
        "contact_effort": limits.contact,
        "lag": gate.lag,
        "payloads": " ".join(f"{link}:{p[0]:g}kg" for link, p in controller.arm.payloads.items()),
        "model_sha256": controller.arm.sha256,
    }
    level, message = _diagnosed(controller, now, fresh)
    return Status("arm", level, message, texts(values))


def _diagnosed(controller: Controller, now: int, fresh: int) -> tuple[Level, str]:
    gate = controller.gate
    if gate.fault is not None:
        return Level.ERROR, controller.status()
    if controller.rivals is not None:
        return Level.WARN, f"{controller.status()}; {controller.rivals.advice}"
    late = gate.watch(now)
    if late is not None:
        return Level.WARN, f"{controller.status()}; {late.advice}"
    if not fresh:
        return Level.WARN, f"{controller.status()}; no new states"
    if controller.armed and gate.saturated.any():
        return Level.WARN, f"{controller.status()}; efforts are at their limits"
    return Level.OK, controller.status()
