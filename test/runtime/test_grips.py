# SPDX-License-Identifier: Apache-2.0
"""In mode GRIP a command gives a position, a speed and an effort, and does not expire."""

import numpy as np
import pytest
from running import WALKING, commanded, rail, walk

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime.types import EFFORT, GRIP, POSITION, Wrench

FINGER = {"limit": rb.Limit(lower=-1.0, upper=1.0, effort=50.0, velocity=1.0)}


def finger():
    return rail(mass=0.5, **FINGER)


def push(loop, force):
    zero = np.zeros(3)
    loop.orders.push(Wrench(1, zero, np.array([force, 0.0, 0.0]), zero, True, 1e3))


def test_a_gripper_moves_to_its_goal_no_faster_than_its_speed(start):
    loop = start(finger(), **WALKING)
    loop.orders.command(commanded(0, GRIP, position=0.2, velocity=0.1, effort=5.0))
    states = walk(loop, 3000)
    assert max(abs(state.qvel[0]) for state in states) < 0.1 * 1.001
    assert states[-1].qpos[0] == pytest.approx(0.2, abs=1e-6)
    assert max(abs(state.effort[0]) for state in states) <= 5.0


@pytest.mark.parametrize("force", [-3.0, 3.0])
def test_a_blocked_grip_exerts_exactly_its_effort(start, force):
    """A push of 20 N moves the finger back, while the finger's effort is its limit of 3 N."""
    loop = start(finger(), **WALKING)
    goal = np.sign(force) * 0.9
    loop.orders.command(commanded(0, GRIP, position=goal, velocity=1.0, effort=abs(force)))
    push(loop, -np.sign(force) * 20.0)
    states = walk(loop, 200)
    assert {round(float(state.effort[0]), 9) for state in states[100:]} == {force}


def test_a_grip_command_does_not_expire_and_the_next_command_replaces_it(start):
    loop = start(finger(), **WALKING | {"command_timeout": 0.05})
    loop.orders.command(commanded(0, GRIP, position=0.1, velocity=0.5, effort=5.0))
    states = walk(loop, 2000)
    assert states[-1].qpos[0] == pytest.approx(0.1, abs=1e-6)
    assert states[-1].stale == 0
    loop.orders.command(commanded(0, EFFORT, effort=20.0))
    assert walk(loop, 10)[-1].effort[0] == 20.0  # without the limit of the grip
    assert walk(loop, 100)[-1].effort[0] == 0.0  # this command has expired


def test_a_position_command_after_a_grip_has_the_effort_limit_of_the_joint(start):
    loop = start(finger(), **WALKING)
    loop.orders.command(commanded(0, GRIP, position=0.1, velocity=0.5, effort=2.0))
    walk(loop, 500)
    loop.orders.command(commanded(0, POSITION, position=-0.5))
    assert max(abs(state.effort[0]) for state in walk(loop, 300)) > 10.0


def test_a_reset_ends_a_grip(start):
    loop = start(finger(), **WALKING)
    loop.orders.command(commanded(0, GRIP, position=0.1, velocity=0.5, effort=2.0))
    walk(loop, 500)
    loop.plant.reset()
    states = walk(loop, 100)
    assert states[-1].qpos[0] == 0.0
    assert states[-1].effort[0] == 0.0


def hand():
    """Return a cart with a finger that slides on the cart in the cart's direction."""
    cart, tip = rb.shapes.box((0.1, 0.1, 0.1), mass=5.0), rb.shapes.box((0.05,) * 3, mass=0.1)
    rail = {"limit": rb.Limit(lower=-2.0, upper=2.0, effort=200.0, velocity=2.0)}
    system = rb.SystemBuilder("hand").body("cart", cart).body("finger", tip)
    system = system.joint("x", "prismatic", "base", "cart", **rail)
    return rb.build(system.joint("finger", "prismatic", "cart", "finger", **FINGER))


@pytest.mark.parametrize("effort", [0.05, 50.0])
def test_a_weak_grip_does_not_slow_the_joint_that_carries_it(start, effort):
    """The cart reaches its goal in 0.6 s for each effort of the finger."""
    loop = start(hand(), **WALKING)
    loop.orders.command(commanded(1, GRIP, position=-0.5, velocity=0.2, effort=effort))
    loop.orders.command(commanded(0, POSITION, position=0.5))
    states = walk(loop, 600)
    assert states[-1].qpos[0] == pytest.approx(0.5, abs=5e-3)
    assert max(abs(state.effort[1]) for state in states) <= effort


def test_lockstep_does_not_wait_for_a_grip(start):
    loop = start(finger(), time_mode="lockstep", lockstep_timeout=0.0)
    loop.orders.command(commanded(0, EFFORT), tick=0)
    loop.orders.command(commanded(0, GRIP, position=0.1, velocity=0.5, effort=2.0))
    from running import wait_until

    wait_until(lambda: loop.readout.latest().tick > 50)
