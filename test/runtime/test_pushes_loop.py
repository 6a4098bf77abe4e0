# SPDX-License-Identifier: Apache-2.0
"""External wrenches act on the loop's robot at their point, in their axes, for their duration."""

import numpy as np
import pytest
from running import WALKING, bundled_arm, commanded, walk
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime.shared import NPUSH
from rbdyn_ros.runtime.types import EFFORT, Wrench

H = 1e-3
POSE = np.array([0.3, 0.9, -0.2, 0.4, 0.1, -0.5, 0.2])
POINT, FORCE, TORQUE = (
    np.array([0.1, -0.05, 0.2]),
    np.array([10.0, -20.0, 5.0]),
    np.array([0.5, 1.0, -2.0]),
)


def wrench(body=5, in_body=False, duration=0.02, scale=1.0, point=POINT):
    return Wrench(body, point, scale * FORCE, scale * TORQUE, in_body, duration)


def by_hand(m, d, wrenches):
    """Return the expected xfrc_applied: forces and torques at centres of mass in world axes."""
    rb.forward(m, d)
    xfrc = np.zeros((m.nbody, 6))
    for w in wrenches:
        R = d.xmat[w.body].reshape(3, 3)
        force, torque = (R @ w.force, R @ w.torque) if w.in_body else (w.force, w.torque)
        arm = d.xpos[w.body] + R @ w.point - d.xipos[w.body]
        xfrc[w.body] += np.concatenate([force, torque + np.cross(arm, force)])
    return xfrc


def test_wrenches_act_like_xfrc_applied_for_their_duration(start):
    """The wrenches are in world and in body axes, and act at different points of bodies."""
    m = bundled_arm()
    loop = start(m, POSE, **WALKING)
    pushes = [
        (wrench(duration=0.030), 30),
        (wrench(3, in_body=True, duration=0.0101), 11),  # a part of a tick counts as a tick
        (wrench(7, in_body=True, duration=0.0, scale=-0.5), 1),
        (wrench(5, duration=0.005, scale=0.3, point=np.zeros(3)), 5),
    ]
    for push, _ in pushes:
        loop.orders.push(push)
    d, reference = rb.make_data(m), rb.make_data(m)
    d.qpos = POSE
    for k, state in enumerate(walk(loop, 40)):
        reference.qpos = d.qpos
        d.xfrc_applied = by_hand(m, reference, [push for push, ticks in pushes if k < ticks])
        np.testing.assert_allclose(state.xfrc, d.xfrc_applied, rtol=1e-9, atol=1e-9)
        rb.step(m, d)
        np.testing.assert_allclose(state.qpos, d.qpos, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(state.qvel, d.qvel, rtol=1e-8, atol=1e-10)


def test_wrenches_lists_the_acting_wrenches_and_clear_wrenches_ends_them(start):
    loop = start(bundled_arm(), **WALKING)
    first, second = wrench(duration=0.01), wrench(3, duration=0.05)
    loop.orders.push(first)
    loop.orders.push(second)
    assert loop.orders.wrenches() == [first, second]  # both act from the next tick on
    walk(loop, 9)
    assert loop.orders.wrenches() == [first, second]
    walk(loop, 1)
    assert loop.orders.wrenches() == [second]
    loop.orders.clear_wrenches()
    assert loop.orders.wrenches() == []
    assert not walk(loop, 1)[0].xfrc.any()


def test_the_number_of_wrenches_is_limited(start):
    loop = start(bundled_arm(), **WALKING)
    for k in range(NPUSH):
        loop.orders.push(wrench(duration=0.002 if k % 2 else 0.01, scale=2.0**-k))
    with refused(rb.RbdynError, "pushes"):
        loop.orders.push(wrench())
    walk(loop, 2)
    assert len(loop.orders.wrenches()) == NPUSH // 2
    for _ in range(NPUSH // 2):
        loop.orders.push(wrench(duration=0.001))
    with refused(rb.RbdynError, "pushes"):
        loop.orders.push(wrench())
    sizes = [state.xfrc[5, 0] / FORCE[0] for state in walk(loop, 9)]
    old = sum(2.0**-k for k in range(0, NPUSH, 2))
    assert sizes == pytest.approx([NPUSH // 2 + old] + [old] * 7 + [0.0], rel=1e-12)


@pytest.mark.parametrize("scope", ["state", "time"])
def test_a_reset_of_the_state_ends_wrenches(start, scope):
    loop = start(bundled_arm(), **WALKING)
    walk(loop, 50)
    loop.orders.push(wrench(duration=0.02))
    walk(loop, 5)
    loop.plant.reset(state=scope == "state", time=scope == "time")
    acting = [state.xfrc.any() for state in walk(loop, 20)]
    # the reset itself takes a tick
    assert acting == [scope == "time"] * 14 + [False] * 6


def test_the_duration_of_a_wrench_does_not_pass_while_time_is_paused(start):
    loop = start(bundled_arm(), **WALKING)
    loop.orders.push(wrench(duration=0.003))
    loop.time.pause(True)
    assert loop.orders.wrenches() != []
    loop.orders.command(commanded(0, EFFORT))
    assert [state.xfrc.any() for state in walk(loop, 5)] == [True] * 3 + [False] * 2


def test_a_wrench_in_body_axes_is_constant_in_the_world_within_a_tick(start):
    """A tick has ten steps, during which the wrench keeps its value at the start of the tick."""
    m = bundled_arm()
    loop = start(m, POSE, **WALKING, control_decimation=10)
    push = wrench(duration=0.05, in_body=True)
    loop.orders.push(push)
    d, reference = rb.make_data(m), rb.make_data(m)
    d.qpos = POSE
    for k, state in enumerate(walk(loop, 8)):
        reference.qpos = d.qpos
        d.xfrc_applied = by_hand(m, reference, [push] if k < 5 else [])
        rb.step(m, d, 10)
        np.testing.assert_allclose(state.qpos, d.qpos, rtol=1e-9, atol=1e-12)
