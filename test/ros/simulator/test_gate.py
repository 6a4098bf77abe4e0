"""The gate for commands, and the start position, without a node."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.ros.common.convert import SingleJoints
from rbdyn_ros.ros.simulator.commands import make_gate
from rbdyn_ros.ros.simulator.start import start_position
from rbdyn_ros.runtime.orders import EFFORT, Command

BOX = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
CRANK_SLIDER = Path(__file__).parents[3] / "examples" / "crank_slider.yaml"


def system():
    """Joints of every kind: free, following, following what follows, driven, without actuator."""
    names = ("lead", "half", "quarter", "rail", "shadow", "slack", "geared", "many")
    builder = rb.SystemBuilder("all")
    for name in names:
        builder.body(f"{name}_body", BOX)
    for name in names[:-1]:
        body, acts = f"{name}_body", name != "slack"
        builder.joint(name, "revolute", "base", body, axis=(0, 0, 1), actuated=acts)
    builder.joint("many", "universal", "base", "many_body", axis=(1, 0, 0), axis2=(0, 1, 0))
    builder.couple("half", "lead", -0.5, 0.1).couple("quarter", "half", 0.5)
    builder.couple("shadow", "rail", 3.0).couple("geared", "slack", 4.0)
    return builder.drive("rail", rb.Trajectory((0.0, 1.0), (0.0, 1.0))).description()


@pytest.fixture
def gate():
    def make(partial="keep"):
        return make_gate(rb.build(system()), system(), partial)

    return make


def efforts(judged):
    assert isinstance(judged, Command), judged
    assert (judged.mode == EFFORT).all()
    return dict(zip(judged.dofs.tolist(), judged.effort.tolist(), strict=True))


LEAD, SLACK = 0, 1  # dofs


def test_an_effort_at_what_follows_acts_on_what_it_follows(gate):
    by_name = gate().by_name
    assert efforts(by_name(["half"], effort=[2.0])) == {LEAD: -1.0}
    assert efforts(by_name(["quarter"], effort=[2.0])) == {LEAD: -0.5}
    assert efforts(by_name(["quarter", "lead", "half"], effort=[2.0, 5.0, 2.0])) == {LEAD: 3.5}
    assert efforts(by_name(["geared"], effort=[2.0])) == {SLACK: 8.0}


def test_who_names_what_follows_has_named_what_it_follows(gate):
    assert efforts(gate("zero").by_name(["half"], effort=[2.0])) == {LEAD: -1.0, SLACK: 0.0}
    reject = gate("reject").by_name
    assert efforts(reject(["half", "geared"], effort=[2.0, 1.0])) == {LEAD: -1.0, SLACK: 4.0}
    assert efforts(reject(["lead", "geared"], effort=[2.0, 1.0])) == {LEAD: 2.0, SLACK: 4.0}
    assert reject(["lead", "half"], effort=[2.0, 1.0]) == (
        "joint 'geared' is not named; partial_commands is 'reject', so all of lead, geared are "
        "needed"
    )


@pytest.mark.parametrize(
    ("names", "values", "words"),
    [
        (["slack"], [1.0], "joint 'slack' has no actuator and takes no effort"),
        (["rail"], [1.0], "joint 'rail' is driven over time and takes no effort"),
        (
            ["shadow"],
            [1.0],
            "joint 'shadow' follows joint 'rail', which is driven over time, and takes no effort",
        ),
        (["many"], [1.0], "joint 'many' has several degrees of freedom and takes no effort"),
        (["half", "half"], [1.0, 1.0], "joint 'half' is named twice"),
        ([], [], "it names no joint; the joints are lead, half, quarter, geared"),
    ],
)
def test_what_is_refused(gate, names, values, words):
    assert gate().by_name(names, effort=values) == words


def test_a_wrong_name_gets_a_hint(gate):
    assert gate().by_name(["hlaf"], effort=[1.0]) == (
        "there is no joint 'hlaf' (did you mean 'half'?); there are lead, half, quarter, geared"
    )


def test_a_ratio_may_not_make_an_effort_infinite(gate):
    assert gate().by_name(["lead", "half", "geared"], effort=[1.0, 1.0, 1e308]) == (
        "the efforts that act on joint 'geared' and those that follow it sum up to inf; a finite "
        "number is needed"
    )


def test_efforts_in_order_are_those_of_joints_with_an_actuator(gate):
    assert efforts(gate().in_order([3.0])) == {LEAD: 3.0}
    assert gate().in_order([3.0, 1.0]).startswith("it holds 2 values; 1 are needed")


def test_joint_states_show_every_joint_where_it_is():
    m = rb.build(system())
    d = rb.make_data(m)
    d.qpos[:2], d.time = (0.4, 0.2), 0.5
    rb.kinematics(m, d)
    joints = SingleJoints.all(m)
    shown = dict(zip(joints.names, d.qpos_all[joints.qposadr].tolist(), strict=True))
    expected = {"lead": 0.4, "half": -0.1, "quarter": -0.05, "slack": 0.2, "geared": 0.8}
    expected |= {"rail": 0.5, "shadow": 1.5}
    assert shown == pytest.approx(expected, abs=1e-12)
    assert SingleJoints.free(m).names == ("lead", "slack")


def refused(m, **given):
    with pytest.raises(rb.ParameterError) as caught:
        start_position(m, {f"initial_positions.{name}": value for name, value in given.items()})
    return str(caught.value)


def test_only_joints_with_a_position_of_their_own_start_where_the_user_wants():
    m = rb.build(system())
    assert start_position(m, {"initial_positions.slack": 2})[:2].tolist() == [0.0, 2.0]
    assert refused(m, quarter=0.1) == (
        "parameter 'initial_positions.quarter': joint 'quarter' follows joint 'lead'; only that "
        "one has a position to set."
    )
    assert "joint 'rail' is driven over time, which says where it starts" in refused(m, rail=0.1)
    assert "joint 'many' has no single coordinate" in refused(m, many=0.1)
    assert "there is no joint 'laed' (did you mean 'lead'?)" in refused(m, laed=0.1)


def gap(qpos):
    crank, pin, guide = qpos
    x = 0.1 * np.cos(crank) + 0.3 * np.cos(crank + pin) - 0.4 - guide
    return max(abs(x), abs(0.1 * np.sin(crank) + 0.3 * np.sin(crank + pin)))


def test_a_mechanism_starts_assembled_around_what_is_given():
    m = rb.load(CRANK_SLIDER)
    assert start_position(m, {}).tolist() == m.qpos0.tolist()
    given = start_position(m, {"initial_positions.main_bearing": 0.8})
    assert given[0] == 0.8
    assert gap(given) < 1e-6
    given = start_position(m, {"initial_positions.guide": -0.1})
    assert given[2] == -0.1
    assert gap(given) < 1e-6
    assert gap(start_position(m.replaced(qpos0=np.array([0.8, 0.0, 0.0])), {})) < 1e-6


def test_a_mechanism_starts_within_its_limits_or_not_at_all():
    m = rb.load(CRANK_SLIDER)
    ranges = m.jnt_range.copy()
    ranges[2] = -0.15, -0.05  # not where qpos0 is
    assert -0.15 <= start_position(m.replaced(jnt_range=ranges), {})[2] <= -0.05
    assert refused(m.replaced(jnt_range=ranges), main_bearing=0.0).startswith(
        "no start position with the given initial_positions.main_bearing was found that closes "
        "the loops within the limits: joint 'guide' would be at "
    )
    ranges[2] = 0.01, 0.05  # where the mechanism cannot be
    assert refused(m.replaced(jnt_range=ranges)).startswith(
        "no start position was found that closes the loops within the limits: joint 'guide' "
        "would be at "
    )


def test_what_cannot_be_closed_is_said():
    m = rb.load(CRANK_SLIDER)
    assert refused(m, guide=-0.23) == (
        "no start position with the given initial_positions.guide: loop joint 'wrist_pin' cannot "
        "be closed from here: 0.03 m or rad stay open; start from a configuration nearer to the "
        "assembled one, or correct the geometry."
    )
    assert "joint 'wrist_pin' closes a loop" in refused(m, wrist_pin=0.1)
