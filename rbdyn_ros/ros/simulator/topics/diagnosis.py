# SPDX-License-Identifier: Apache-2.0
"""Diagnose a robot's loop: convert measured numbers to levels and messages, without ROS.

The limits follow ros2_control's controller manager.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from rbdyn_ros.arrays import Ints
from rbdyn_ros.errors import counted, listing
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.ros.common.reports.status import Level, Status, texts
from rbdyn_ros.ros.simulator.topics.alarms import stop_reason
from rbdyn_ros.runtime.timing import Timing, coarse, deviation, mean

MICROSECOND = 1e6  # microseconds per second


@dataclass(frozen=True, slots=True)
class DiagnosisLimits:
    """Limits of a quantity: above the first a warning, above the second an error."""

    warn: float
    error: float

    def level(self, number: float) -> Level:
        """Return the diagnostic level of a measured number: OK, WARN or ERROR."""
        return Level((number > self.warn) + (number > self.error))


#: periodicity.mean_error: error of the mean rate [Hz].
RATE_ERROR = DiagnosisLimits(5.0, 10.0)
#: periodicity.standard_deviation as a share of the rate. ros2_control allows 5 and 10 Hz at its
#: default rate of 100 Hz; at 1 kHz, 5 Hz would allow only 5 us.
RATE_SCATTER = DiagnosisLimits(0.05, 0.10)
#: execution_time.mean_error: mean duration of a tick [us].
STEP_TIME = DiagnosisLimits(1000.0, 2000.0)
#: execution_time.standard_deviation [us].
STEP_TIME_SCATTER = DiagnosisLimits(100.0, 200.0)


class EventCounts(NamedTuple):
    """Numbers of events.

    Attributes:
        rejected: rejected messages on all topics.
        saturated: ticks with a clamped effort.
        given_up: timeouts of lock-step.
        late: rejected commands that answered an old state.
        dropped: dropped readings of lidars, range sensors and cameras.
    """

    rejected: int = 0
    saturated: int = 0
    given_up: int = 0
    late: int = 0
    dropped: int = 0

    def since(self, before: "EventCounts") -> "EventCounts":
        """Return the numbers of events since the earlier counts `before`."""
        return EventCounts(*(max(now - then, 0) for now, then in zip(self, before, strict=True)))


@dataclass(frozen=True, slots=True)
class Observation:
    """The state of a robot's loop at a report.

    Attributes:
        total: timing since the start.
        window: timing since the last report.
        period_ns: simulated time of a tick [ns].
        time_mode: realtime, lockstep or fast.
        factor: wanted real-time factor during the window; None if it changed.
        tick: number of the newest state.
        paused: whether time is paused on request.
        waiting: whether time waits for commands.
        unanswered: joints whose commands lock-step waits for, or lacked at its last timeout.
        fault: name of the joint whose state has diverged or whose drive has locked; empty: no
            fault.
        stale: number of joints whose command is expired or missing.
        command_age: age of the oldest valid command [s]; infinite before the first command.
        command_timeout: age at which a command expires [s].
        on_timeout: parameter on_timeout, the effort of a joint without a valid command.
        accepted: number of accepted messages since the start, on all topics.
        counts, new: the events since the start, and in the window.
        model_sha256: hash of the loaded robot.
        locked: whether the fault is a locked drive.
    """

    total: Timing
    window: Timing
    period_ns: int
    time_mode: str
    factor: float | None
    tick: int
    paused: bool
    waiting: bool
    unanswered: tuple[str, ...]
    fault: str
    stale: int
    command_age: float
    command_timeout: float
    on_timeout: str
    accepted: int
    counts: EventCounts
    new: EventCounts
    model_sha256: str
    locked: bool = False


Complaint = tuple[Level, str]


def diagnose(o: Observation) -> list[Status]:
    """Return the statuses of one robot: loop, commands and state."""
    return [_loop(o), _commands(o), _state(o)]


def _loop(o: Observation) -> Status:
    w = o.window
    rate = w.ticks * NANOSECONDS / w.active_ns if w.active_ns > 0 else 0.0
    wanted = (o.factor or 0.0) * NANOSECONDS / o.period_ns
    # delays of wake-ups are independent, so the period between two has twice their variance
    scatter = math.sqrt(2.0) * deviation(w.histogram) / MICROSECOND * wanted
    judged = o.time_mode == "realtime" and o.factor is not None and w.ticks > 0
    complaints = _unpunctual(w, rate, wanted, scatter) + _slow(w) if judged else []
    values: dict[str, object] = {
        "time_mode": o.time_mode,
        "real_time_factor": w.real_time_factor,
        "real_time_factor_wanted": "" if o.factor is None else o.factor,
        "rate_hz": rate,
        "rate_scatter_hz": scatter * wanted,
        "lateness_p50_us": w.p50,
        "lateness_p99_us": w.p99,
        "lateness_max_us": w.worst,
        "step_time_mean_us": mean(w.step_histogram),
        "step_time_scatter_us": deviation(w.step_histogram),
        "step_time_p50_us": w.step_p50,
        "step_time_p99_us": w.step_p99,
        "step_time_max_us": w.step_worst,
        "overruns": o.total.overruns,
        "ticks": o.total.ticks,
        "lateness_histogram": _bins(o.total.histogram),
        "step_time_histogram": _bins(o.total.step_histogram),
    }
    return _status("loop", _pace(o), complaints, values)


def _pace(o: Observation) -> str:
    factor = o.window.real_time_factor
    if o.window.ticks == 0:
        return "time is stopped"
    if o.time_mode == "realtime":
        return f"punctual, real-time factor {factor:.4f}"
    return f"{o.time_mode}, real-time factor {factor:.4g}"


def _unpunctual(w: Timing, rate: float, wanted: float, scatter: float) -> list[Complaint]:
    # up to two ticks may lie at the edges of the window, which matters if it is short
    missing = abs(w.ticks - wanted * w.active_ns / NANOSECONDS)
    off = RATE_ERROR.level(abs(rate - wanted)) if missing > 2.0 else Level.OK
    return [
        (off, f"the loop runs at {rate:.1f} Hz instead of {wanted:.1f} Hz"),
        (
            RATE_SCATTER.level(scatter),
            f"the standard deviation of the loop's period is {scatter:.1%}",
        ),
        _warning(w.overruns > 0, f"{w.overruns} of {w.ticks} ticks ended late"),
    ]


def _slow(w: Timing) -> list[Complaint]:
    average, scatter = mean(w.step_histogram), deviation(w.step_histogram)
    return [
        (STEP_TIME.level(average), f"a tick takes {average:.0f} us on average"),
        (
            STEP_TIME_SCATTER.level(scatter),
            f"the standard deviation of the duration of a tick is {scatter:.0f} us",
        ),
    ]


def _commands(o: Observation) -> Status:
    begun = math.isfinite(o.command_age)
    complaints = [
        _warning(
            begun and o.command_age > o.command_timeout and o.stale > 0,
            f"no command younger than {o.command_timeout:g} s for {counted(o.stale, 'joint')}; "
            "on_timeout "
            f"is '{o.on_timeout}'",
        ),
        _warning(
            o.new.rejected > 0,
            f"refused {counted(o.new.rejected, 'message')} since the last report; see the log",
        ),
        _warning(
            o.new.late > 0,
            f"refused {counted(o.new.late, 'command')} since the last report: they answered a "
            "state older "
            "than answer_timeout",
        ),
        _warning(
            o.new.saturated > 0,
            f"efforts were clamped in {o.new.saturated} of {o.window.ticks} ticks",
        ),
        _warning(
            o.new.given_up > 0,
            f"lock-step timed out {counted(o.new.given_up, 'time')} without commands for "
            f"{listing(o.unanswered)}; after that, time ran without waiting for commands",
        ),
    ]
    values: dict[str, object] = {
        "command_age_s": o.command_age,
        "stale_joints": o.stale,
        "accepted": o.accepted,
        "rejected": o.counts.rejected,
        "late_commands": o.counts.late,
        "saturated_ticks": o.counts.saturated,
        "lockstep_timeouts": o.counts.given_up,
    }
    return _status(
        "commands",
        "commands arrive" if begun else "no command has arrived yet",
        complaints,
        values,
    )


def _state(o: Observation) -> Status:
    word = "fault" if o.fault else "paused" if o.paused else "waiting" if o.waiting else "running"
    complaints = [
        (
            Level.ERROR if o.fault else Level.OK,
            f"{stop_reason(o.fault, o.locked)}; time is stopped until a reset",
        ),
        _warning(
            word == "waiting" and o.window.ticks == 0,
            f"no tick ran since the last report: time waits until {listing(o.unanswered)} get "
            f"commands for tick {o.tick}",
        ),
        _warning(
            o.new.dropped > 0,
            f"dropped {counted(o.new.dropped, 'reading')} of lidars, range sensors or cameras "
            "since the last report: the thread that computes them is too slow",
        ),
    ]
    values: dict[str, object] = {
        "state": word,
        "tick": o.tick,
        "fault_joint": o.fault,
        "dropped_readings": o.counts.dropped,
        "model_sha256": o.model_sha256,
    }
    return _status("state", word, complaints, values)


def _warning(condition: bool, text: str) -> Complaint:
    return Level.WARN if condition else Level.OK, text


def _status(
    name: str, fine: str, complaints: list[Complaint], values: dict[str, object]
) -> Status:
    """Return a status with all problems of the worst level; without problems: the text `fine`."""
    worst = max((level for level, _ in complaints), default=Level.OK)
    sentences = [text for level, text in complaints if level == worst != Level.OK]
    return Status(name, worst, "; ".join(sentences) or fine, texts(values))


def _bins(counts: Ints) -> str:
    return " ".join(f"{bound}:{count}" for bound, count in coarse(counts).items())
