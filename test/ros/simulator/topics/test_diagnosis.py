# SPDX-License-Identifier: Apache-2.0
"""Diagnostics have the right messages, and right levels just below and above each limit."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.refusals import worded

from rbdyn_ros.ros.common.reports.status import Level
from rbdyn_ros.ros.simulator.topics.diagnosis import EventCounts, Observation, diagnose
from rbdyn_ros.runtime.timing import Timing

MS = 1_000_000  # [ns]


def histogram(values):
    counts = np.zeros(10_001, np.int64)
    np.add.at(counts, np.array(values, np.int64), 1)
    return counts


def timing(ticks=1000, active_ns=1000 * MS, overruns=0, lateness=(20,), work=(7,), period_ns=MS):
    late, busy = histogram(lateness), histogram(work)
    worst = 1000 * max(lateness), 1000 * max(work)
    return Timing.of(ticks, overruns, period_ns, active_ns, late, worst[0], busy, worst[1])


WELL = Observation(
    total=timing(5000, 5000 * MS, 2, lateness=[16, 17, 19, 200]),
    window=timing(),
    period_ns=MS,
    time_mode="realtime",
    factor=1.0,
    tick=5000,
    paused=False,
    waiting=False,
    unanswered=("pole", "cart"),
    fault="",
    stale=0,
    command_age=0.002,
    command_timeout=0.1,
    on_timeout="zero",
    accepted=4000,
    counts=EventCounts(rejected=3, saturated=7),
    new=EventCounts(),
    model_sha256="ab12",
)


def diagnosed(name, **changes):
    """Return level and message of a status; `changes` replace numbers of a healthy robot."""
    status = {status.name: status for status in diagnose(replace(WELL, **changes))}[name]
    worded("diagnosis", status.message)
    return status.level, status.message


def level_of(name, **changes):
    return diagnosed(name, **changes)[0]


def test_the_level_of_a_healthy_robot_is_ok():
    loop, commands, state = diagnose(WELL)
    assert (loop.name, loop.level) == ("loop", Level.OK)
    assert loop.values == {
        "time_mode": "realtime",
        "real_time_factor": "1",
        "real_time_factor_wanted": "1",
        "rate_hz": "1000",
        "rate_scatter_hz": "0",
        "lateness_p50_us": "20",
        "lateness_p99_us": "20",
        "lateness_max_us": "20",
        "step_time_mean_us": "7.5",
        "step_time_scatter_us": "0",
        "step_time_p50_us": "7",
        "step_time_p99_us": "7",
        "step_time_max_us": "7",
        "overruns": "2",
        "ticks": "5000",
        "lateness_histogram": "20:3 251:1",
        "step_time_histogram": "8:1",
    }
    assert commands.level == Level.OK
    assert commands.values == {
        "command_age_s": "0.002",
        "stale_joints": "0",
        "accepted": "4000",
        "rejected": "3",
        "late_commands": "0",
        "saturated_ticks": "7",
        "lockstep_timeouts": "0",
    }
    assert (state.level, state.message) == (Level.OK, "running")
    assert state.values == {
        "state": "running",
        "tick": "5000",
        "fault_joint": "",
        "dropped_readings": "0",
        "model_sha256": "ab12",
    }


@pytest.mark.parametrize(
    ("ticks", "level"),
    [
        *[(995, Level.OK), (994, Level.WARN), (990, Level.WARN), (989, Level.ERROR)],
        *[(1005, Level.OK), (1006, Level.WARN), (1011, Level.ERROR)],
    ],
)
def test_a_tick_rate_off_by_5_hz_is_a_warning_and_by_10_hz_an_error(ticks, level):
    found, message = diagnosed("loop", window=timing(ticks))
    assert found == level
    assert (f"{ticks}.0 Hz" in message) == bool(level)


def test_the_expected_rate_depends_on_the_real_time_factor_and_the_period():
    half = timing(500, work=[30], period_ns=MS)
    assert level_of("loop", window=half) == Level.ERROR
    assert level_of("loop", window=half, factor=0.5) == Level.OK
    assert level_of("loop", window=half, period_ns=2 * MS) == Level.OK


def test_a_missing_tick_in_a_short_window_is_ignored():
    # 49 ticks in 50 ms are 980 Hz
    assert level_of("loop", window=timing(49, 50 * MS)) == Level.OK
    assert level_of("loop", window=timing(45, 50 * MS)) == Level.ERROR


@pytest.mark.parametrize(
    ("late", "level"), [(70, Level.OK), (71, Level.WARN), (141, Level.WARN), (142, Level.ERROR)]
)
def test_the_limit_of_jitter_is_relative_to_the_period(late, level):
    # half of the ticks come on time and half are late: the standard deviation is late / 2 for
    # a tick, and late / sqrt(2) for a period [us]
    assert level_of("loop", window=timing(lateness=[0, late])) == level
    # with ten times the period the limit is ten times as large
    slow = timing(100, lateness=[0, 10 * late], period_ns=10 * MS)
    assert level_of("loop", window=slow, period_ns=10 * MS) == level


def test_the_jitter_is_reported_in_percent_of_the_period():
    assert "7.1%" in diagnosed("loop", window=timing(lateness=[0, 100]))[1]


@pytest.mark.parametrize(
    ("work", "level", "number"),
    [
        ([999], Level.OK, ""),
        ([1000], Level.WARN, "1000 us"),
        ([2000], Level.ERROR, "2000 us"),
        ([100, 300], Level.OK, ""),
        ([100, 302], Level.WARN, "101 us"),
        ([100, 502], Level.ERROR, "201 us"),
    ],
)
def test_the_level_depends_on_the_computing_time_of_a_tick(work, level, number):
    slow = timing(100, work=work, period_ns=10 * MS)
    found, message = diagnosed("loop", window=slow, period_ns=10 * MS)
    assert found == level
    assert number in message


def test_overruns_since_the_last_report_are_a_warning():
    level, message = diagnosed("loop", window=timing(overruns=3))
    assert level == Level.WARN
    assert "3 of 1000 ticks" in message


def test_the_message_contains_only_the_reasons_for_the_worst_level():
    late = timing(900, overruns=50, work=[5000])
    level, message = diagnosed("loop", window=late)
    assert level == Level.ERROR
    assert "900.0 Hz" in message
    assert "5000 us" in message
    assert "50 of" not in message


@pytest.mark.parametrize(
    "changes",
    [{"time_mode": "fast"}, {"time_mode": "lockstep"}, {"factor": None}, {"window": timing(0, 0)}],
)
def test_the_rate_is_checked_only_in_real_time_at_a_constant_factor(changes):
    assert level_of("loop", **{"window": timing(500), **changes}) == Level.OK


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({"command_age": np.inf, "stale": 7}, Level.OK),
        ({"command_age": 0.3, "stale": 2}, Level.WARN),
        # five joints have never had a command, which is allowed
        ({"command_age": 0.01, "stale": 5}, Level.OK),
        ({"new": EventCounts(rejected=4)}, Level.WARN),
        ({"new": EventCounts(saturated=9)}, Level.WARN),
        ({"new": EventCounts(given_up=1)}, Level.WARN),
        ({"new": EventCounts(late=2)}, Level.WARN),
    ],
)
def test_the_level_depends_on_the_age_and_the_counts_of_commands(changes, level):
    assert level_of("commands", **changes) == level


@pytest.mark.parametrize(
    ("changes", "level", "word"),
    [
        ({"fault": "elbow", "paused": True}, Level.ERROR, "'elbow'"),
        ({"paused": True, "waiting": True}, Level.OK, "paused"),
        ({"waiting": True}, Level.OK, "waiting"),
        ({"new": EventCounts(dropped=2)}, Level.WARN, "2 readings"),
        (
            {"waiting": True, "window": timing(0, 0)},
            Level.WARN,
            "'pole', 'cart' get commands for tick 5000",
        ),
    ],
)
def test_the_level_depends_on_the_state_of_the_simulation(changes, level, word):
    found, message = diagnosed("state", **changes)
    assert found == level
    assert word in message


def test_the_reference_documents_every_field_and_every_key():
    root = Path(__file__).parents[4]
    message = (root / "rbdyn_interfaces/msg/Statistics.msg").read_text()
    fields = re.findall(r"^[a-z0-9]+ +(\w+)", message, re.MULTILINE)
    assert len(fields) == 19
    keys = [key for status in diagnose(WELL) for key in status.values]
    text = (root / "docs/guides/observability.md").read_text()
    assert [name for name in [*fields, *keys] if f"`{name}`" not in text] == []
