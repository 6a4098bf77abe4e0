# SPDX-License-Identifier: Apache-2.0
"""Commands by joint names, joint_states and start positions are right; no test needs a node."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from support.mechanisms import crank_slider_gap
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.dynamics.configuration import moved_starts
from rbdyn_ros.ros.common.parsing.commands import command_parser
from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints
from rbdyn_ros.ros.simulator.robot.start import start_position
from rbdyn_ros.runtime.types import EFFORT

BOX = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
CRANK_SLIDER = Path(__file__).parents[3] / "examples" / "crank_slider.yaml"


def system():
    """Return joints of every kind: free, mimic, mimic of a mimic, prescribed and unactuated."""
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
def parser():
    def make(partial="keep"):
        return command_parser(rb.build(system()), system(), partial)

    return make


def efforts(command):
    assert (command.mode == EFFORT).all()
    return dict(zip(command.dofs.tolist(), command.effort.tolist(), strict=True))


LEAD, SLACK = 0, 1  # numbers of dofs


def test_an_effort_at_a_mimic_joint_acts_on_its_leader(parser):
    by_name = parser().by_name
    assert efforts(by_name(["half"], effort=[2.0])) == {LEAD: -1.0}
    assert efforts(by_name(["quarter"], effort=[2.0])) == {LEAD: -0.5}
    assert efforts(by_name(["quarter", "lead", "half"], effort=[2.0, 5.0, 2.0])) == {LEAD: 3.5}
    assert efforts(by_name(["geared"], effort=[2.0])) == {SLACK: 8.0}


def test_naming_a_mimic_joint_counts_as_naming_its_leader(parser):
    assert efforts(parser("zero").by_name(["half"], effort=[2.0])) == {LEAD: -1.0, SLACK: 0.0}
    reject = parser("reject").by_name
    assert efforts(reject(["half", "geared"], effort=[2.0, 1.0])) == {LEAD: -1.0, SLACK: 4.0}
    assert efforts(reject(["lead", "geared"], effort=[2.0, 1.0])) == {LEAD: 2.0, SLACK: 4.0}
    with refused(rb.RbdynError, "request"):
        reject(["lead", "half"], effort=[2.0, 1.0])


@pytest.mark.parametrize(
    ("names", "element"),
    [
        (["slack"], "joint 'slack'"),
        (["rail"], "joint 'rail'"),
        (["shadow"], "joint 'shadow'"),
        (["many"], "joint 'many'"),
        (["half", "half"], "joint 'half'"),
        (["hlaf"], "joint 'hlaf'"),
        ([], ""),
    ],
)
def test_commands_with_unsuitable_joint_names_are_refused(parser, names, element):
    with refused(rb.RbdynError, "request", element):
        parser().by_name(names, effort=[1.0] * len(names))


def test_efforts_whose_sum_overflows_are_refused(parser):
    with refused(rb.RbdynError, "request"):
        parser().by_name(["lead", "half", "geared"], effort=[1.0, 1.0, 1e308])


def test_an_array_of_efforts_is_for_the_actuated_joints_in_order(parser):
    assert efforts(parser().in_order([3.0])) == {LEAD: 3.0}
    with refused(rb.RbdynError, "request"):
        parser().in_order([3.0, 1.0])


def test_joint_states_contain_every_joint():
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


def start_refused(m, element, **given):
    with refused(rb.ParameterError, "initial-position", element):
        start_position(m, {f"initial_positions.{name}": value for name, value in given.items()})


def test_initial_positions_are_refused_for_joints_that_follow_others():
    m = rb.build(system())
    assert start_position(m, {"initial_positions.slack": 2})[:2].tolist() == [0.0, 2.0]
    for name in ("quarter", "rail", "many", "laed"):
        start_refused(m, f"initial_positions.{name}", **{name: 0.1})


def test_a_joint_whose_limits_exclude_0_starts_midway_between_its_limits():
    m = rb.build(system())
    k = m.jnt_id("slack")
    for limits, start in (((0.5, 2.0), 1.25), ((-np.inf, -0.5), -0.5), ((-1.0, 2.0), 0.0)):
        ranges = m.jnt_range.copy()
        ranges[k] = limits
        limited = m.replaced(jnt_range=ranges, jnt_limited=np.isfinite(ranges).any(axis=1))
        qpos = start_position(limited, {})
        assert qpos[1] == start
        assert ("'slack'" in moved_starts(limited, qpos)) == (start != 0.0)


def test_a_mechanism_starts_at_the_given_positions_with_closed_loops():
    m = rb.load(CRANK_SLIDER)
    assert start_position(m, {}).tolist() == m.qpos0.tolist()
    given = start_position(m, {"initial_positions.main_bearing": 0.8})
    assert given[0] == 0.8
    assert crank_slider_gap(given) < 1e-6
    given = start_position(m, {"initial_positions.guide": -0.1})
    assert given[2] == -0.1
    assert crank_slider_gap(given) < 1e-6
    assert crank_slider_gap(start_position(m.replaced(qpos0=np.array([0.8, 0.0, 0.0])), {})) < 1e-6


def test_a_mechanism_that_cannot_start_within_its_limits_is_refused():
    m = rb.load(CRANK_SLIDER)
    ranges = m.jnt_range.copy()
    ranges[2] = -0.15, -0.05  # qpos0 is outside this range
    assert -0.15 <= start_position(m.replaced(jnt_range=ranges), {})[2] <= -0.05
    start_refused(m.replaced(jnt_range=ranges), "initial_positions", main_bearing=0.0)
    ranges[2] = 0.01, 0.05  # the mechanism cannot reach this range
    start_refused(m.replaced(jnt_range=ranges), "initial_positions")


def test_a_start_that_opens_a_loop_is_refused():
    m = rb.load(CRANK_SLIDER)
    start_refused(m, "initial_positions", guide=-0.23)
    start_refused(m, "initial_positions.wrist_pin", wrist_pin=0.1)
