"""What is a warning and what is an error, at the limits themselves; sentences word for word."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros.ros.common.diagnosis import Level, Observation, diagnose
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
    fault="",
    stale=0,
    command_age=0.002,
    command_timeout=0.1,
    on_timeout="zero",
    accepted=4000,
    rejected=3,
    newly_rejected=0,
    saturated=7,
    newly_saturated=0,
    given_up=0,
    newly_given_up=0,
    model_sha256="ab12",
)


def judged(name, **changes):
    """Return level and sentence of one status of the robot that does well but for the changes."""
    status = {status.name: status for status in diagnose(replace(WELL, **changes))}[name]
    return status.level, status.message


def test_a_robot_that_does_well():
    loop, commands, state = diagnose(WELL)
    assert (loop.name, loop.level) == ("loop", Level.OK)
    assert loop.message == "punctual, real-time factor 1.0000"
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
    assert (commands.level, commands.message) == (Level.OK, "commands arrive")
    assert commands.values == {
        "command_age_s": "0.002",
        "stale_joints": "0",
        "accepted": "4000",
        "rejected": "3",
        "saturated_ticks": "7",
        "lockstep_timeouts": "0",
    }
    assert (state.level, state.message) == (Level.OK, "running")
    assert state.values == {
        "state": "running",
        "tick": "5000",
        "fault_joint": "",
        "model_sha256": "ab12",
    }


@pytest.mark.parametrize(
    ("ticks", "level"),
    [
        *[(995, Level.OK), (994, Level.WARN), (990, Level.WARN), (989, Level.ERROR)],
        *[(1005, Level.OK), (1006, Level.WARN), (1011, Level.ERROR)],
    ],
)
def test_the_rate_may_be_off_by_five_and_ten_hertz(ticks, level):
    found, message = judged("loop", window=timing(ticks))
    assert found == level
    if level:
        assert message == f"the loop runs at {ticks}.0 Hz, wanted are 1000.0 Hz"


def test_the_rate_wanted_follows_factor_and_decimation():
    half = timing(500, work=[30], period_ns=MS)
    assert judged("loop", window=half)[0] == Level.ERROR
    assert judged("loop", window=half, factor=0.5)[0] == Level.OK
    assert judged("loop", window=half, period_ns=2 * MS)[0] == Level.OK


def test_one_tick_on_the_edge_of_a_short_window_is_nothing():
    # 49 ticks in 50 ms are 980 Hz
    assert judged("loop", window=timing(49, 50 * MS))[0] == Level.OK
    assert judged("loop", window=timing(45, 50 * MS))[0] == Level.ERROR


@pytest.mark.parametrize(
    ("late", "level"), [(70, Level.OK), (71, Level.WARN), (141, Level.WARN), (142, Level.ERROR)]
)
def test_wake_ups_may_scatter_by_a_share_of_the_rate(late, level):
    # half at 0 and half at `late`: deviation late / 2, of the period late / sqrt(2) [us]
    assert judged("loop", window=timing(lateness=[0, late]))[0] == level
    # at a tenth of the rate ten times as much
    slow = timing(100, lateness=[0, 10 * late], period_ns=10 * MS)
    assert judged("loop", window=slow, period_ns=10 * MS)[0] == level


def test_the_scatter_in_words():
    message = judged("loop", window=timing(lateness=[0, 100]))[1]
    assert message == "the loop wakes irregularly, by 7.1% of its rate"


@pytest.mark.parametrize(
    ("work", "level", "message"),
    [
        ([999], Level.OK, None),
        ([1000], Level.WARN, "a tick takes 1000 us on average"),
        ([2000], Level.ERROR, "a tick takes 2000 us on average"),
        ([100, 300], Level.OK, None),
        ([100, 302], Level.WARN, "what a tick takes scatters by 101 us"),
        ([100, 502], Level.ERROR, "what a tick takes scatters by 201 us"),
    ],
)
def test_the_time_of_a_tick(work, level, message):
    slow = timing(100, work=work, period_ns=10 * MS)
    found = judged("loop", window=slow, period_ns=10 * MS)
    assert found[0] == level
    assert message is None or found[1] == message


def test_overruns_since_the_last_report_are_a_warning():
    assert judged("loop", window=timing(overruns=3)) == (
        Level.WARN,
        "3 of 1000 ticks ended too late",
    )


def test_the_worst_is_said_and_only_that():
    late = timing(900, overruns=50, work=[5000])
    assert judged("loop", window=late) == (
        Level.ERROR,
        "the loop runs at 900.0 Hz, wanted are 1000.0 Hz; a tick takes 5000 us on average",
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"time_mode": "fast"}, "fast, real-time factor 0.5"),
        ({"time_mode": "lockstep"}, "lockstep, real-time factor 0.5"),
        ({"factor": None}, "punctual, real-time factor 0.5000"),
        ({"window": timing(0, 0)}, "time stands"),
    ],
)
def test_pace_is_judged_only_where_one_was_wanted_all_the_time(changes, message):
    assert judged("loop", **{"window": timing(500), **changes}) == (Level.OK, message)


@pytest.mark.parametrize(
    ("changes", "level", "message"),
    [
        ({"command_age": np.inf, "stale": 7}, Level.OK, "no command came yet"),
        (
            {"command_age": 0.3, "stale": 2},
            Level.WARN,
            "joints without a command younger than 0.1 s: 2; on_timeout 'zero' drives them",
        ),
        # five joints were never commanded: that is how it is used
        ({"command_age": 0.01, "stale": 5}, Level.OK, "commands arrive"),
        (
            {"newly_rejected": 4},
            Level.WARN,
            "messages refused since the last report: 4; the log says why",
        ),
        ({"newly_saturated": 9}, Level.WARN, "efforts were clamped in 9 of 1000 ticks"),
        (
            {"newly_given_up": 1},
            Level.WARN,
            "lock-step waited in vain and let time run, times: 1",
        ),
    ],
)
def test_commands(changes, level, message):
    assert judged("commands", **changes) == (level, message)


@pytest.mark.parametrize(
    ("changes", "level", "message"),
    [
        (
            {"fault": "elbow", "paused": True},
            Level.ERROR,
            "the state of joint 'elbow' diverged; time stands until a reset",
        ),
        ({"paused": True, "waiting": True}, Level.OK, "paused"),
        ({"waiting": True}, Level.OK, "waiting"),
        (
            {"waiting": True, "window": timing(0, 0)},
            Level.WARN,
            "no command for tick 5000 came since the last report; time stands",
        ),
    ],
)
def test_state(changes, level, message):
    assert judged("state", **changes) == (level, message)


def test_the_documentation_has_every_field_and_every_key():
    root = Path(__file__).parents[3]
    message = (root / "rbdyn_interfaces/msg/Statistics.msg").read_text()
    fields = re.findall(r"^[a-z0-9]+ +(\w+)", message, re.MULTILINE)
    assert len(fields) == 18
    keys = [key for status in diagnose(WELL) for key in status.values]
    text = (root / "docs/guides/observability.md").read_text()
    assert [name for name in [*fields, *keys] if f"`{name}`" not in text] == []
