"""Numbers that are too large to simulate: where joints are put, gravity, names that lie."""

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rbdyn_ros as rb
from rbdyn_ros.ros.common.unfit import LARGEST_STATE, unfit
from rbdyn_ros.ros.simulator.commands import make_gate
from rbdyn_ros.ros.simulator.placement import placed
from rbdyn_ros.ros.simulator.plant import Plant
from rbdyn_ros.runtime.loop import HUGE

BOX = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)


@pytest.fixture(scope="module")
def description():
    builder = rb.SystemBuilder("one").body("disc", BOX)
    return builder.joint("turn", "continuous", "base", "disc", axis=(0, 0, 1)).description()


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        (1e6, ""),
        (-1e6, ""),
        ((0.0, -1e6), ""),
        ((), ""),
        (1.1e6, "it is 1100000.0; at most 1e+06 is possible"),
        ((0, -1e160), "it is [0.0, -1e+160]; at most 1e+06 is possible"),
        (float("nan"), "it is nan; a finite number is needed"),
        ((2e6, float("-inf")), "it is [2000000.0, -inf]; finite numbers are needed"),
    ],
)
def test_why_numbers_are_refused(numbers, why):
    assert unfit("it", numbers, 1e6) == why


def test_the_largest_state_is_what_the_loop_stands():
    assert LARGEST_STATE == HUGE


def test_joints_are_not_put_where_a_state_would_count_as_diverged(description):
    m = rb.build(description)
    assert placed(m, ["turn"], [1e6], [-1e6], None)[1].tolist() == [-1e6]
    assert placed(m, ["turn"], [], [1e160], None) == (
        "the velocity of joint 'turn' is 1e+160; at most 1e+06 is possible"
    )
    assert placed(m, ["turn"], [-2e6], [], None) == (
        "the position of joint 'turn' is -2000000.0; at most 1e+06 is possible"
    )
    assert placed(m, ["turn"], [], [np.nan], None) == (
        "the velocity of joint 'turn' is nan; a finite number is needed"
    )


class Loop:
    """What a plant needs of a runtime."""

    def __init__(self, m):
        self.m, self.plants = m, []

    def set_plant(self, m):
        self.plants.append(m)
        return True


def test_gravity_is_that_of_some_star(description):
    loop = Loop(rb.build(description))
    plant = Plant(loop, None)
    assert plant.set_gravity((0.0, 0.0, -1e4)) == ""
    assert plant.set_gravity((0.0, 1.1e4, 0.0)) == (
        "gravity is [0.0, 11000.0, 0.0]; at most 10000 is possible"
    )
    assert plant.set_gravity((0.0, np.inf, 0.0)) == (
        "gravity is [0.0, inf, 0.0]; finite numbers are needed"
    )
    assert [tuple(m.opt.gravity) for m in loop.plants] == [(0.0, 0.0, -1e4)]


def test_names_that_lie_are_shown_as_they_are(description):
    m = rb.build(description)
    gate = make_gate(m, description, "keep")
    name = "turn\n[FATAL] all is lost" + "!" * 2_000_000
    shown = "'turn\\n[FATAL] all is lost" + "!" * 76 + "'"
    assert gate.by_name([name], [1.0]) == f"there is no joint {shown}; there are turn"
    assert gate.by_name([name], [np.nan]) == (
        f"the position of joint {shown} is nan; a finite number is needed"
    )
    assert placed(m, [name], [1.0], [], None) == f"there is no joint {shown}; there are turn"
    assert placed(m, [name], [np.nan], [], None) == (
        f"the position of joint {shown} is nan; a finite number is needed"
    )
    plant = Plant(Loop(m), None)
    assert plant.set_payload(name, 1.0, (0.0,) * 3, (0.1,) * 6) == f"there is no frame {shown}"
    assert plant.set_payload("disk", 1.0, (0.0,) * 3, (0.1,) * 6) == (
        "there is no frame 'disk' (did you mean 'disc'?)"
    )
