"""Modes of commands, lock-step stamps and the counts of messages, without a node."""

import math
from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.ros.simulator.commands import Tally, make_gate
from rbdyn_ros.ros.simulator.stamps import judge_stamp, tick_of
from rbdyn_ros.runtime.orders import (
    EFFORT,
    IMPEDANCE,
    NUMBERS,
    POSITION,
    VELOCITY,
    Command,
    Faults,
)

BOX = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
A, B, SLACK = 0, 1, 2  # dofs


def robot():
    """Joints a and b; jaw follows a with ratio -2, geared follows slack, which has no actuator."""
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
    return lambda partial="keep": make_gate(m, description, partial)


@pytest.fixture
def gate(make):
    return make()


def rows(judged):
    """By dof: mode, position, velocity, effort, stiffness, damping."""
    assert isinstance(judged, Command), judged
    table = zip(judged.mode.tolist(), *(getattr(judged, name) for name in NUMBERS), strict=True)
    return dict(zip(judged.dofs.tolist(), table, strict=True))


def test_the_arrays_given_choose_the_mode(gate):
    names = ["b", "a"]
    assert rows(gate.by_name(names, [1, 2], [3, 4], [5, 6])) == {
        B: (POSITION, 1.0, 3.0, 5.0, 0.0, 0.0),
        A: (POSITION, 2.0, 4.0, 6.0, 0.0, 0.0),
    }
    assert rows(gate.by_name(names, array("d", [1, 2]))) == {
        B: (POSITION, 1.0, 0.0, 0.0, 0.0, 0.0),
        A: (POSITION, 2.0, 0.0, 0.0, 0.0, 0.0),
    }
    assert rows(gate.by_name(["a"], [], [3], [5])) == {A: (VELOCITY, 0.0, 3.0, 5.0, 0.0, 0.0)}
    assert rows(gate.by_name(["a"], [], [3])) == {A: (VELOCITY, 0.0, 3.0, 0.0, 0.0, 0.0)}
    assert rows(gate.by_name(["a"], [], [], [5])) == {A: (EFFORT, 0.0, 0.0, 5.0, 0.0, 0.0)}


def test_positions_beyond_the_limits_are_for_the_loop_to_clamp(gate):
    assert rows(gate.by_name(["a"], [1e9]))[A][1] == 1e9


def test_each_joint_has_its_own_mode(gate):
    judged = gate.by_mode(
        ["b", "a"], [IMPEDANCE, VELOCITY], [1, 9], [2, 3], [4, 5], [6, 0], [7, 0]
    )
    assert rows(judged) == {
        B: (IMPEDANCE, 1.0, 2.0, 4.0, 6.0, 7.0),
        A: (VELOCITY, 9.0, 3.0, 5.0, 0.0, 0.0),
    }
    both = gate.by_mode(["a", "b"], array("B", [EFFORT, POSITION]), [0, 1.5], effort=[2.5, 0])
    assert rows(both) == {
        A: (EFFORT, 0.0, 0.0, 2.5, 0.0, 0.0),
        B: (POSITION, 1.5, 0.0, 0.0, 0.0, 0.0),
    }


def test_a_damper_needs_no_position(gate):
    damper = gate.by_mode(["a"], [IMPEDANCE], stiffness=[0.0], damping=[3.0])
    assert rows(damper) == {A: (IMPEDANCE, 0.0, 0.0, 0.0, 0.0, 3.0)}


def test_an_effort_at_a_follower_feeds_forward_to_what_it_follows(gate):
    judged = gate.by_mode(["jaw", "a"], [EFFORT, POSITION], [0.0, 1.0], effort=[3.0, 0.5])
    assert rows(judged) == {A: (POSITION, 1.0, 0.0, 0.5 - 6.0, 0.0, 0.0)}
    assert rows(gate.by_mode(["geared"], [EFFORT], effort=[3.0])) == {
        SLACK: (EFFORT, 0.0, 0.0, 12.0, 0.0, 0.0)
    }


def test_what_a_partial_message_means_for_the_others(make):
    assert rows(make("zero").by_name(["b"], [1.0])) == {
        A: (EFFORT, 0.0, 0.0, 0.0, 0.0, 0.0),
        B: (POSITION, 1.0, 0.0, 0.0, 0.0, 0.0),
        SLACK: (EFFORT, 0.0, 0.0, 0.0, 0.0, 0.0),
    }
    assert make("reject").by_mode(["a"], [VELOCITY], velocity=[1.0]) == (
        "joint 'b' is not named; partial_commands is 'reject', so all of a, b, geared are needed"
    )


REFUSED_BY_NAME = [
    (["a"], [], [], [], "it names joints but holds no position, velocity or effort for them"),
    (["a", "b"], [1.0], [], [], "there are 1 positions for 2 names"),
    (["a"], [1.0], [1.0, 2.0], [], "there are 2 velocities for 1 names"),
    (["a"], [1.0], [], [math.nan], "the effort of joint 'a' is nan; a finite number is needed"),
    (["a"], [], [], [-math.inf], "the effort of joint 'a' is -inf; a finite number is needed"),
    (
        ["a"],
        [math.inf],
        [1.0, 2.0],
        [],
        "the position of joint 'a' is inf; a finite number is needed",
    ),
    (["a"], [], [0.0, math.nan], [], "the velocity of value 1 is nan; a finite number is needed"),
    (["a"], [-2e100], [], [], "the position of joint 'a' is -2e+100; at most 1e+100 is possible"),
    (
        ["b", "jaw"],
        [1.0, 1.0],
        [],
        [],
        "joint 'jaw' follows joint 'a' and takes efforts only; give the position to 'a'",
    ),
    (
        ["jaw"],
        [],
        [1.0],
        [],
        "joint 'jaw' follows joint 'a' and takes efforts only; give the velocity to 'a'",
    ),
    (["geared"], [1.0], [], [], "joint 'geared' follows joint 'slack' and takes efforts only"),
    (["slack"], [1.0], [], [], "joint 'slack' has no actuator and takes no effort"),
]


@pytest.mark.parametrize(("names", "position", "velocity", "effort", "words"), REFUSED_BY_NAME)
def test_refused_by_name(gate, names, position, velocity, effort, words):
    assert gate.by_name(names, position, velocity, effort) == words


def by_mode(names, modes, words, **arrays):
    return names, modes, arrays, words


REFUSED_BY_MODE = [
    by_mode(
        ["a"],
        [4],
        "joint 'a' has mode 4; the modes are 0 effort, 1 position, 2 velocity, 3 impedance",
        effort=[1.0],
    ),
    by_mode(["a", "b"], [0], "there are 1 modes for 2 names", effort=[1.0, 1.0]),
    by_mode(["a"], [0], "joint 'a' is in mode effort, which needs its effort", position=[1.0]),
    by_mode(["a"], [1], "joint 'a' is in mode position, which needs its position", effort=[1.0]),
    by_mode(["a"], [2], "joint 'a' is in mode velocity, which needs its velocity", effort=[1.0]),
    by_mode(["a"], [3], "joint 'a' is in mode impedance, which needs its stiffness", damping=[1]),
    by_mode(["a"], [3], "joint 'a' is in mode impedance, which needs its damping", stiffness=[0]),
    by_mode(
        ["a"],
        [3],
        "joint 'a' is in mode impedance, which needs its position",
        stiffness=[1.0],
        damping=[1.0],
    ),
    by_mode(
        ["a", "b"],
        [0, 3],
        "the damping of joint 'b' is -1; it is not negative",
        effort=[0, 0],
        damping=[0.0, -1.0],
        stiffness=[0.0, 0.0],
    ),
    by_mode(
        ["a"],
        [0],
        "the stiffness of joint 'a' is nan; a finite number is needed",
        effort=[1.0],
        stiffness=[math.nan],
    ),
    by_mode(["a"], [0], "there are 2 values of damping for 1 names", effort=[1], damping=[1, 2]),
    by_mode(["a", "a"], [0, 0], "joint 'a' is named twice", effort=[1.0, 2.0]),
    by_mode([], [], "it names no joint; the joints are a, b, jaw, geared"),
    by_mode(
        ["jaw"],
        [3],
        "joint 'jaw' follows joint 'a' and takes efforts only; give the impedance to 'a'",
        stiffness=[0.0],
        damping=[1.0],
    ),
]


@pytest.mark.parametrize(("names", "modes", "arrays", "words"), REFUSED_BY_MODE)
def test_refused_by_mode(gate, names, modes, arrays, words):
    assert gate.by_mode(names, modes, **arrays) == words


NUMBER = st.floats(width=32) | st.sampled_from([0.0, 1.0, -1.0, 1e308, math.nan, math.inf])
JOINT = st.sampled_from(["a", "b", "jaw", "geared", "x"])


@given(st.lists(JOINT, max_size=3, unique=True) | st.lists(JOINT, max_size=2), st.data())
def test_whatever_comes_is_a_finite_command_or_a_reason(make, names, data):
    def row(element):
        size = data.draw(st.sampled_from([len(names)] * 4 + [0, 1]))
        return data.draw(st.lists(element, min_size=size, max_size=size))

    arrays = {kind: row(NUMBER) for kind in NUMBERS}
    modes = row(st.integers(0, 4))
    by_name = [arrays[kind] for kind in NUMBERS[:3]]
    for judged in (
        make().by_name(names, *by_name),
        make("zero").by_mode(names, modes, **arrays),
        make().in_order(arrays["effort"]),
    ):
        if isinstance(judged, str):
            assert judged
            continue
        assert len(set(judged.dofs.tolist())) == len(judged.dofs) > 0
        assert all(np.isfinite(getattr(judged, kind)).all() for kind in NUMBERS)


BASE, PERIOD = 7_000_000_003, 3_333_333  # ns


def test_only_exact_stamps_are_of_a_tick():
    assert [tick_of(BASE + k * PERIOD, BASE, PERIOD) for k in (0, 1, 10**9)] == [0, 1, 10**9]
    for wrong in (BASE - PERIOD, BASE + 1, BASE + PERIOD - 1, 0):
        assert tick_of(wrong, BASE, PERIOD) is None


def test_a_wrong_stamp_is_put_in_words():
    def judge(stamp, tick=15):
        return judge_stamp(stamp, tick, BASE, PERIOD)

    assert judge(BASE + 15 * PERIOD) == ""
    assert judge(BASE + 12 * PERIOD) == (
        "stamped for tick 12; the simulation waits for tick 15 (stamp 7.049999998)"
    )
    assert judge(BASE + 15 * PERIOD + 1) == (
        "stamped 7.049999999, which is no tick; the simulation waits for tick 15 "
        "(stamp 7.049999998)"
    )
    assert judge(0) == (
        "not stamped; in lock-step a command needs the stamp of the joint_states it answers"
    )
    assert judge_stamp(0, 0, 0, PERIOD) == ""  # tick 0 of a clock that begins at 0


def test_messages_are_counted_and_refusals_said_once_a_second_and_topic():
    tally = Tally()
    tally.accept()
    said = "refused a message on joint_commands: no (refused so far: 1)"
    assert tally.refuse("joint_commands", "no", 10.0) == said
    assert tally.refuse("joint_commands", "no", 10.9) == ""
    assert tally.refuse("effort_commands", "never", 10.9) == (
        "refused a message on effort_commands: never (refused so far: 1)"
    )
    assert tally.refuse("joint_commands", "no", 11.0) == said.replace(": 1)", ": 3)")
    assert (tally.accepted, tally.rejected) == (1, 4)


def test_orders_are_what_compiled_code_reads():
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
