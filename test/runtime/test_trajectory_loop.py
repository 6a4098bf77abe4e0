# SPDX-License-Identifier: Apache-2.0
"""The loop samples trajectories like SciPy, tracks them, ends them and replaces them."""

import numpy as np
import pytest
from running import WALKING, bundled_arm, commanded, rail, walk
from support.splines import sample

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime.kernels.tracking import begin_trajectory, track_trajectory
from rbdyn_ros.runtime.shared import Shared
from rbdyn_ros.runtime.types import EFFORT, POSITION, VELOCITY, TrajectoryOrder

H = 1e-3
RNG = np.random.default_rng(6)


def wild(order, dofs=(0,), times=(0.0, 0.013, 0.1, 0.1205, 0.3)):
    """Return a trajectory of random positions, velocities and accelerations for some dofs."""
    shape = len(times), len(dofs)
    rows = (RNG.uniform(-1, 1, shape), RNG.uniform(-5, 5, shape), RNG.uniform(-50, 50, shape))
    return TrajectoryOrder(np.array(dofs), np.array(times), *rows, order)


def smooth(dofs, goals, times=(0.15, 0.4), order=5):
    """Return a trajectory to a goal with zero velocity and acceleration at all points."""
    goals = np.atleast_1d(goals)
    positions = np.outer(np.linspace(1.0 / len(times), 1.0, len(times)), goals)
    zeros = np.zeros(positions.shape)
    return TrajectoryOrder(np.array(dofs), np.array(times), positions, zeros, zeros, order)


@pytest.mark.parametrize("order", [1, 3, 5])
def test_samples_of_a_trajectory_equal_samples_of_scipy(order):
    dofs = (6, 1, 3)
    trajectory = wild(order, dofs)
    s = Shared(bundled_arm())
    s.period[()] = 1_000_000
    s.traj_column[:] = -1
    arrays = (
        trajectory.dofs,
        trajectory.times,
        trajectory.positions,
        trajectory.velocities,
        trajectory.accelerations,
    )
    words = [len(trajectory.times), len(dofs), order, 0, 0]
    s.edit_trajectory[:] = [*words, *(array.ctypes.data for array in arrays)]
    s.tick[()] = 40
    begin_trajectory(s)
    assert s.traj_column.tolist() == [-1, 1, -1, 2, -1, -1, 0]
    for tick in range(300):
        s.tick[()] = 40 + tick
        track_trajectory(s)
        expected = sample(trajectory, tick * H, np.zeros(3))
        for row, size, values in zip(s.traj_now, (1.0, 1e2, 1e5), expected, strict=True):
            np.testing.assert_allclose(row[list(dofs)], values, rtol=1e-9, atol=1e-10 * size)
    s.tick[()] = 340
    track_trajectory(s)
    assert not s.tracking
    np.testing.assert_array_equal(s.order[0, list(dofs)], trajectory.positions[-1])


@pytest.mark.parametrize("order", [1, 3, 5])
def test_an_arm_tracks_a_smooth_trajectory(start, order):
    """The error of the positions is at most the error of the timesteps."""
    m = bundled_arm()
    begin = np.array([0.0, 0.9, 0.2, 0.4, 0.1, -0.5, 0.3])
    loop = start(m, begin, **WALKING)
    trajectory = smooth([1, 4, 6], [0.6, -0.2, 0.5], (0.2, 0.5), order)
    loop.orders.track(trajectory)
    states = walk(loop, 700)
    here = begin[trajectory.dofs]
    errors = [s.qpos[trajectory.dofs] - sample(trajectory, s.tick * H, here)[0] for s in states]
    assert np.abs(errors).max() < (0.05 if order == 1 else 5e-3)
    assert np.abs(errors[-1]).max() < 1e-3
    assert [s.tracking for s in states].index(False) == 500
    assert {s.stale for s in states} == {4}


def test_a_trajectory_starts_from_the_present_reference(start):
    loop = start(rail(limit=rb.Limit(velocity=0.25)), **WALKING)
    loop.orders.command(commanded(0, POSITION, 5.0))
    walk(loop, 100)  # the reference moves at 0.25 m/s, ahead of the joint
    aim = 100 * 0.25 * H
    loop.orders.track(smooth(0, 0.0, (0.4,)))
    walk(loop, 1)
    assert loop._shared.aim[0] == pytest.approx(aim, rel=1e-12)


def test_a_trajectory_continues_the_trajectory_that_it_replaces(start):
    """A new trajectory during a motion causes no jump of position or velocity."""
    loop = start(rail(), **WALKING)
    straight = TrajectoryOrder([0], [0.0, 1.0], [[0.0], [0.5]], [[0.5], [0.5]], [[0.0], [0.0]], 3)
    loop.orders.track(straight)
    before = walk(loop, 300)[-1]
    assert before.qvel[0] == pytest.approx(0.5, rel=1e-6)
    onward = smooth(0, 1.0, (0.8,), order=3)
    loop.orders.track(onward)
    after = [state.qvel[0] for state in walk(loop, 20)]
    expected = [sample(onward, k * H, [0.15], [0.5])[1][0] for k in range(1, 21)]
    assert after == pytest.approx(expected, rel=5e-3)


def test_a_new_trajectory_in_every_tick_continues_the_last_trajectory(start):
    """Each trajectory begins with the position, velocity and acceleration of the last."""
    loop = start(rail(), **WALKING)
    position = speed = acceleration = np.zeros(1)
    for _ in range(200):
        trajectory = smooth(0, 0.1, (0.5,))
        loop.orders.track(trajectory)
        walk(loop, 1)
        assert loop._shared.aim[0] == pytest.approx(position[0], rel=1e-9, abs=1e-15)
        position, speed, acceleration = sample(trajectory, H, position, speed, acceleration)
    assert position[0] > 0.01


def test_a_trajectory_from_rest_starts_at_the_position_of_the_joint(start):
    loop = start(rail(), np.array([0.4]), **WALKING)
    loop.orders.track(smooth(0, 0.4, (0.2,)))
    assert {s.qpos[0] for s in walk(loop, 250)} == {0.4}
    loop.orders.command(commanded(0, POSITION, 1.0))
    walk(loop, 50)
    loop.plant.reset()
    loop.orders.track(smooth(0, 0.4, (0.2,)))
    np.testing.assert_allclose([s.qpos[0] for s in walk(loop, 250)], 0.4, atol=1e-12)


def test_a_command_ends_a_trajectory_for_its_dof(start):
    loop = start(bundled_arm(), **WALKING, on_timeout="hold")
    loop.orders.track(smooth([0, 4], [0.5, 0.5]))
    walk(loop, 100)
    loop.orders.command(commanded(0, EFFORT, effort=0.25))
    states = walk(loop, 1000)  # the servo's load varies with the motion
    assert {s.effort[0] for s in states} == {0.25}
    assert states[0].tracking
    assert not states[-1].tracking
    assert states[-1].qpos[4] == pytest.approx(0.5, abs=1e-3)


def test_a_command_sent_before_a_trajectory_does_not_end_it(start):
    loop = start(rail(), **WALKING)
    loop.orders.command(commanded(0, EFFORT, effort=0.25))
    loop.orders.track(smooth(0, 0.3))
    states = walk(loop, 500)
    assert states[0].tracking
    assert states[-1].qpos[0] == pytest.approx(0.3, abs=1e-6)


def test_a_joint_holds_the_end_of_a_trajectory_without_expiry(start):
    loop = start(rail(), **WALKING | {"command_timeout": 0.01})
    loop.orders.track(smooth(0, 0.3))
    states = walk(loop, 900)
    assert states[-1].qpos[0] == pytest.approx(0.3, abs=1e-9)
    assert {s.stale for s in states} == {0}
    assert loop.readout.command_age() == 0.0


@pytest.mark.parametrize("how", ["stop", "other"])
def test_a_joint_holds_the_last_reference_of_a_stopped_trajectory(start, how):
    loop = start(bundled_arm(), **WALKING)
    loop.orders.track(smooth([2], 0.6))
    walk(loop, 200)
    led = loop._shared.aim[2]
    assert led > 0.1
    loop.orders.stop_tracking() if how == "stop" else loop.orders.track(smooth([5], 0.1))
    last = walk(loop, 600)[-1]
    assert last.qpos[2] == pytest.approx(led, abs=2e-3)  # at most a tick later
    assert last.stale == (6 if how == "stop" else 5)


def test_a_velocity_command_replaces_a_trajectory(start):
    loop = start(rail(), **WALKING)
    loop.orders.track(smooth(0, 0.6))
    walk(loop, 200)
    loop.orders.command(commanded(0, VELOCITY, velocity=-0.2))
    assert walk(loop, 150)[-1].qvel[0] == pytest.approx(-0.2, rel=1e-6)


def test_a_reset_ends_a_trajectory(start):
    loop = start(rail(), **WALKING)
    loop.orders.track(smooth(0, 0.6))
    walk(loop, 100)
    loop.plant.reset()
    state = walk(loop, 50)[-1]
    assert (state.tracking, state.qpos[0], state.stale) == (False, 0.0, 1)


def test_a_reset_of_time_does_not_change_the_course_of_a_trajectory(start):
    def end(*, anew):
        loop = start(rail(), **WALKING)
        loop.orders.track(smooth(0, 0.6))
        walk(loop, 100)
        loop.plant.reset(time=anew, state=False)
        return [s.qpos[0] for s in walk(loop, 350)]

    assert end(anew=True) == end(anew=False)


def test_trajectories_stay_in_memory_while_the_loop_needs_them(start):
    """The loop reads arrays of Python, which must exist until the next trajectory begins."""
    loop = start(bundled_arm(), command_timeout=1e6)
    for k in range(200):
        # new arrays would overwrite the memory of a freed trajectory with these numbers
        assert np.full(5000, 1e30).sum() > 0.0
        loop.orders.track(smooth(np.arange(7), np.full(7, 0.01 * (k % 3)), (0.3, 0.6)))
    state = loop.readout.latest()
    assert state.fault == -1
    assert np.abs(state.qpos).max() < 0.1
