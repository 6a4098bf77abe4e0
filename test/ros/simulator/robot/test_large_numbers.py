# SPDX-License-Identifier: Apache-2.0
"""A simulator refuses numbers that are too large to simulate, and hostile names."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.ros.common.parsing.commands import command_parser
from rbdyn_ros.ros.common.parsing.magnitudes import LARGEST_STATE, check_magnitude
from rbdyn_ros.ros.simulator.robot.payloads import Payloads
from rbdyn_ros.ros.simulator.robot.placement import given_state
from rbdyn_ros.runtime.kernels.cycle import HUGE

BOX = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)


@pytest.fixture(scope="module")
def description():
    builder = rb.SystemBuilder("one").body("disc", BOX)
    return builder.joint("turn", "continuous", "base", "disc", axis=(0, 0, 1)).description()


@pytest.mark.parametrize("numbers", [(1e6,), (0.0, -1e6), ()])
def test_numbers_up_to_the_limit_are_allowed(numbers):
    check_magnitude("the twist", numbers, 1e6)


@pytest.mark.parametrize("numbers", [(1.1e6,), (0, -1e160), (np.nan,), (2e6, -np.inf)])
def test_check_magnitude_refuses_numbers_above_the_limit(numbers):
    with refused(rb.RbdynError, "request"):
        check_magnitude("the twist", numbers, 1e6)


def test_the_limit_of_a_given_state_equals_the_limit_of_divergence():
    assert LARGEST_STATE == HUGE


def test_a_given_state_that_would_count_as_diverged_is_refused(description):
    m = rb.build(description)
    assert given_state(m, ["turn"], [1e6], [-1e6], None)[1].tolist() == [-1e6]
    for numbers in (([], [1e160]), ([-2e6], []), ([], [np.nan])):
        with refused(rb.RbdynError, "request"):
            given_state(m, ["turn"], *numbers, None)


def loop_of(m):
    """Return a stand-in for a loop, which appends each new Model to `plants`."""
    plants = []
    return SimpleNamespace(m=m, plants=plants, plant=SimpleNamespace(exchange=plants.append))


def test_too_large_gravity_is_refused(description):
    loop = loop_of(rb.build(description))
    payloads = Payloads(loop, None)
    payloads.set_gravity((0.0, 0.0, -1e4))
    for gravity in ((0.0, 1.1e4, 0.0), (0.0, np.inf, 0.0)):
        with refused(rb.RbdynError, "request"):
            payloads.set_gravity(gravity)
    assert [tuple(m.opt.gravity) for m in loop.plants] == [(0.0, 0.0, -1e4)]


def test_messages_escape_and_shorten_hostile_names(description):
    m = rb.build(description)
    parser = command_parser(m, description, "keep")
    payloads = Payloads(loop_of(m), None)
    name = "turn\n[FATAL] all is lost" + "!" * 2_000_000
    for act in (
        lambda: parser.by_name([name], [1.0]),
        lambda: parser.by_name([name], [np.nan]),
        lambda: given_state(m, [name], [1.0], [], None),
        lambda: given_state(m, [name], [np.nan], [], None),
        lambda: payloads.set_payload(name, 1.0, (0.0,) * 3, (0.1,) * 6),
        lambda: payloads.set_payload("disk", 1.0, (0.0,) * 3, (0.1,) * 6),
    ):
        with refused(rb.RbdynError, "request") as error:
            act()
        assert str(error.value).isprintable()
        assert len(str(error.value)) < 300
