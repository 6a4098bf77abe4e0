# SPDX-License-Identifier: Apache-2.0
"""The parser finds the modes and the lock-step stamps of commands, without a node."""

import math
from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="rclpy is not installed")

from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.ros.common.parsing.commands import command_parser
from rbdyn_ros.ros.common.parsing.stamps import TickStamps
from rbdyn_ros.runtime.types import (
    EFFORT,
    IMPEDANCE,
    NUMBERS,
    POSITION,
    VELOCITY,
    Command,
    Faults,
)

BOX = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
A, B, SLACK = 0, 1, 2  # numbers of dofs


def robot():
    """Return joints a, b, slack (no actuator), jaw (-2 times a) and geared (4 times slack)."""
    builder = rb.SystemBuilder("arm")
    names = ("a", "b", "jaw", "slack", "geared")
    for name in names:
        builder.body(f"{name}_body", BOX)
    for name in names:
        acts = name != "slack"
        builder.joint(name, "revolute", "base", f"{name}_body", axis=(0, 0, 1), actuated=acts)
    return builder.couple("jaw", "a", -2.0).couple("geared", "slack", 4.0).description()


@pytest.fixture(scope="module")
def make():
    m, description = rb.build(robot()), robot()
    return lambda partial="keep": command_parser(m, description, partial)


@pytest.fixture
def parser(make):
    return make()


def rows(command):
    """Return mode, position, velocity, effort, stiffness and damping by the number of the dof."""
    table = zip(command.mode.tolist(), *(getattr(command, name) for name in NUMBERS), strict=True)
    return dict(zip(command.dofs.tolist(), table, strict=True))


def test_the_arrays_of_a_message_determine_its_mode(parser):
    names = ["b", "a"]
    assert rows(parser.by_name(names, [1, 2], [3, 4], [5, 6])) == {
        B: (POSITION, 1.0, 3.0, 5.0, 0.0, 0.0),
        A: (POSITION, 2.0, 4.0, 6.0, 0.0, 0.0),
    }
    assert rows(parser.by_name(names, array("d", [1, 2]))) == {
        B: (POSITION, 1.0, 0.0, 0.0, 0.0, 0.0),
        A: (POSITION, 2.0, 0.0, 0.0, 0.0, 0.0),
    }
    assert rows(parser.by_name(["a"], [], [3], [5])) == {A: (VELOCITY, 0.0, 3.0, 5.0, 0.0, 0.0)}
    assert rows(parser.by_name(["a"], [], [3])) == {A: (VELOCITY, 0.0, 3.0, 0.0, 0.0, 0.0)}
    assert rows(parser.by_name(["a"], [], [], [5])) == {A: (EFFORT, 0.0, 0.0, 5.0, 0.0, 0.0)}


def test_positions_beyond_the_limits_are_accepted(parser):
    assert rows(parser.by_name(["a"], [1e9]))[A][1] == 1e9


def test_each_joint_has_its_own_mode(parser):
    command = parser.by_mode(
        ["b", "a"], [IMPEDANCE, VELOCITY], [1, 9], [2, 3], [4, 5], [6, 0], [7, 0]
    )
    assert rows(command) == {
        B: (IMPEDANCE, 1.0, 2.0, 4.0, 6.0, 7.0),
        A: (VELOCITY, 9.0, 3.0, 5.0, 0.0, 0.0),
    }
    both = parser.by_mode(["a", "b"], array("B", [EFFORT, POSITION]), [0, 1.5], effort=[2.5, 0])
    assert rows(both) == {
        A: (EFFORT, 0.0, 0.0, 2.5, 0.0, 0.0),
        B: (POSITION, 1.5, 0.0, 0.0, 0.0, 0.0),
    }


def test_impedance_without_stiffness_needs_no_position(parser):
    damper = parser.by_mode(["a"], [IMPEDANCE], stiffness=[0.0], damping=[3.0])
    assert rows(damper) == {A: (IMPEDANCE, 0.0, 0.0, 0.0, 0.0, 3.0)}


def test_an_effort_for_a_mimic_joint_is_converted_to_an_effort_of_its_leader(parser):
    command = parser.by_mode(["jaw", "a"], [EFFORT, POSITION], [0.0, 1.0], effort=[3.0, 0.5])
    assert rows(command) == {A: (POSITION, 1.0, 0.0, 0.5 - 6.0, 0.0, 0.0)}
    assert rows(parser.by_mode(["geared"], [EFFORT], effort=[3.0])) == {
        SLACK: (EFFORT, 0.0, 0.0, 12.0, 0.0, 0.0)
    }


def test_partial_commands_decides_on_messages_that_do_not_name_all_joints(make):
    assert rows(make("zero").by_name(["b"], [1.0])) == {
        A: (EFFORT, 0.0, 0.0, 0.0, 0.0, 0.0),
        B: (POSITION, 1.0, 0.0, 0.0, 0.0, 0.0),
        SLACK: (EFFORT, 0.0, 0.0, 0.0, 0.0, 0.0),
    }
    with refused(rb.RbdynError, "request"):
        make("reject").by_mode(["a"], [VELOCITY], velocity=[1.0])


@pytest.mark.parametrize("partial", ["keep", "zero"])
@pytest.mark.parametrize("given", [(1, 0, 0), (1, 1, 1), (0, 1, 1), (0, 0, 1)])
def test_the_next_message_for_the_same_joints_does_not_reuse_old_numbers(make, partial, given):
    numbers = [[has * (10.0 * k + n) for n in (1, 2)] for k, has in enumerate(given)]
    later = [row if has else [] for row, has in zip(numbers, given, strict=True)]
    parser = make(partial)
    for names in (["b", "a"], ["a", "b"]):
        parser.by_name(names, *[[5.0, 6.0] if has else [] for has in given])
        assert rows(parser.by_name(names, *later)) == rows(make(partial).by_name(names, *later))


def test_the_next_message_for_the_same_joints_is_checked_as_well(parser):
    parser.by_name(["a"], [1.0], [2.0], [3.0])
    for wrong in ([[1.0], [], [math.nan]], [[-2e100], [], []], [[1.0], [1.0, 2.0], []]):
        with refused(rb.RbdynError, "request"):
            parser.by_name(["a"], *wrong)
    for effort in (1.0, 2.0):  # jaw is a mimic joint
        assert rows(parser.by_name(["jaw"], effort=[effort]))[A][3] == -2.0 * effort


REFUSED_BY_NAME = [
    (["a"], [], [], []),
    (["a", "b"], [1.0], [], []),
    (["a"], [1.0], [1.0, 2.0], []),
    (["a"], [1.0], [], [math.nan]),
    (["a"], [], [], [-math.inf]),
    (["a"], [math.inf], [1.0, 2.0], []),
    (["a"], [], [0.0, math.nan], []),
    (["a"], [-2e100], [], []),
    (["b", "jaw"], [1.0, 1.0], [], []),
    (["jaw"], [], [1.0], []),
    (["geared"], [1.0], [], []),
    (["slack"], [1.0], [], []),
]


@pytest.mark.parametrize(("names", "position", "velocity", "effort"), REFUSED_BY_NAME)
def test_bad_commands_with_joint_names_are_refused(parser, names, position, velocity, effort):
    with refused(rb.RbdynError, "request") as error:
        parser.by_name(names, position, velocity, effort)
    assert all(f"'{name}'" in str(error.value) for name in names if name not in ("a", "b"))


REFUSED_BY_MODE = [
    (["a"], [4], {"effort": [1.0]}),
    (["a", "b"], [0], {"effort": [1.0, 1.0]}),
    (["a"], [0], {"position": [1.0]}),
    (["a"], [1], {"effort": [1.0]}),
    (["a"], [2], {"effort": [1.0]}),
    (["a"], [3], {"damping": [1]}),
    (["a"], [3], {"stiffness": [0]}),
    (["a"], [3], {"stiffness": [1.0], "damping": [1.0]}),
    (["a", "b"], [0, 3], {"effort": [0, 0], "damping": [0.0, -1.0], "stiffness": [0.0, 0.0]}),
    (["a"], [0], {"effort": [1.0], "stiffness": [math.nan]}),
    (["a"], [0], {"effort": [1], "damping": [1, 2]}),
    (["a", "a"], [0, 0], {"effort": [1.0, 2.0]}),
    ([], [], {}),
    (["jaw"], [3], {"stiffness": [0.0], "damping": [1.0]}),
]


@pytest.mark.parametrize(("names", "modes", "arrays"), REFUSED_BY_MODE)
def test_bad_commands_with_modes_are_refused(parser, names, modes, arrays):
    with refused(rb.RbdynError, "request"):
        parser.by_mode(names, modes, **arrays)


NUMBER = st.floats(width=32) | st.sampled_from([0.0, 1.0, -1.0, 1e308, math.nan, math.inf])
JOINT = st.sampled_from(["a", "b", "jaw", "geared", "x"])


@given(st.lists(JOINT, max_size=3, unique=True) | st.lists(JOINT, max_size=2), st.data())
def test_every_message_is_refused_or_becomes_a_finite_command(make, names, data):
    def row(element):
        size = data.draw(st.sampled_from([len(names)] * 4 + [0, 1]))
        return data.draw(st.lists(element, min_size=size, max_size=size))

    arrays = {kind: row(NUMBER) for kind in NUMBERS}
    modes = row(st.integers(0, 4))
    by_name = [arrays[kind] for kind in NUMBERS[:3]]
    for parse in (
        lambda: make().by_name(names, *by_name),
        lambda: make("zero").by_mode(names, modes, **arrays),
        lambda: make().in_order(arrays["effort"]),
    ):
        try:
            command = parse()
        except rb.RbdynError:
            continue
        assert len(set(command.dofs.tolist())) == len(command.dofs) > 0
        assert all(np.isfinite(getattr(command, kind)).all() for kind in NUMBERS)


BASE, PERIOD = 7_000_000_003, 3_333_333  # [ns]
STAMPS = TickStamps(BASE, PERIOD)


def test_a_stamp_must_equal_the_time_of_its_tick_exactly():
    assert [STAMPS.tick_of(STAMPS.of(k)) for k in (0, 1, 10**9)] == [0, 1, 10**9]
    for wrong in (BASE - PERIOD, BASE + 1, BASE + PERIOD - 1, 0):
        assert STAMPS.tick_of(wrong) is None


def test_a_stamp_of_another_tick_is_refused():
    STAMPS.check(BASE + 15 * PERIOD, 15)
    TickStamps(0, PERIOD).check(0, 0)  # tick 0 of a clock that starts at 0
    for stamp in (BASE + 12 * PERIOD, BASE + 15 * PERIOD + 1, 0):
        with refused(rb.RbdynError, "request"):
            STAMPS.check(stamp, 15)


def test_the_error_about_a_late_answer_to_tick_0_names_the_tick():
    with refused(rb.RbdynError, "request") as caught:
        TickStamps(0, PERIOD).check(0, 15)
    assert "tick 0" in str(caught.value)


def test_arrays_of_different_lengths_in_a_command_are_an_error():
    """Compiled code reads the arrays without checking their bounds."""
    one = np.zeros(1)
    with pytest.raises(ValueError, match="lengths"):
        Command([0, 1], [0, 0], one, one, one, one, one)


def test_commands_have_contiguous_arrays_of_the_right_types():
    command = Command.of_efforts([2, 0], (1, 2.5))
    assert command.dofs.dtype == command.mode.dtype == np.int64
    assert command.effort.tolist() == [1.0, 2.5]
    strided = np.arange(6.0)[::2]
    stiff = Command([0, 1, 2], [3, 3, 3], strided, strided, strided, strided, strided)
    assert stiff.position.flags.c_contiguous
    assert stiff.position.tolist() == [0.0, 2.0, 4.0]
    none = Faults.none(2)
    assert not none.link_loss
    assert not none.stuck.any()
    assert none.stuck.shape == none.encoder_bias.shape == (2,)
