# SPDX-License-Identifier: Apache-2.0
"""A command that answers a state is refused if this state is too old."""

import pytest
from support.refusals import refused

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.common.parsing.stamps import TickStamps
from rbdyn_ros.ros.simulator.topics.commanders import AnswerAges

MS = 1_000_000
BASE = 5_000_000_007  # [ns]
NOW = 1000  # ticks of 1 ms


def ages(timeout=0.1, newest=NOW, factor=1.0):
    return AnswerAges(TickStamps(BASE, MS), lambda: newest, lambda: factor, timeout)


def stamp(tick):
    return BASE + tick * MS


@pytest.mark.parametrize(
    ("judged", "given"),
    [
        (ages(), stamp(NOW)),
        (ages(), stamp(NOW - 100)),
        (ages(), stamp(NOW + 5000)),  # from before a reset of time
        (ages(), 0),
        (ages(), -MS),
        (ages(), stamp(0) + 1),  # from another clock
        (ages(), BASE % MS),  # a stamp before the first tick
        (ages(0.0), stamp(0)),
        (ages(newest=-1), stamp(0)),
        (ages(factor=10.0), stamp(0)),  # 1 s, which takes 0.1 s of wall time
    ],
)
def test_a_command_that_is_not_too_old_is_accepted(judged, given):
    judged.check(given)
    assert judged.late == 0


@pytest.mark.parametrize(
    ("judged", "given"),
    [
        (ages(), stamp(NOW - 101)),
        (ages(), stamp(0)),
        (ages(factor=0.5), stamp(NOW - 51)),
    ],
)
def test_a_command_that_answers_an_old_state_is_refused_and_counted(judged, given):
    with refused(RbdynError, "late"):
        judged.check(given)
    assert judged.late == 1
