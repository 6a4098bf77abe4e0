# SPDX-License-Identifier: Apache-2.0
"""rb.differential_ik agrees with SciPy's bounded least squares, differences and closed forms."""

import math

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation
from support import mechanisms, robots
from support.mechanisms import see_constraints
from support.refusals import refused

import rbdyn_ros as rb

pytest.importorskip("daqp")

BODY = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
DT = 0.01


def ur5():
    return rb.load_urdf(robots.find("ur5_robot.urdf"))


def seven():
    return rb.load_urdf("config/robots/seven_dof_arm.urdf")


def walk(m, d, tasks, steps, dt=DT, **options):
    """Integrate the velocities of differential_ik for some steps; return them (steps, nv)."""
    walked = []
    for _ in range(steps):
        walked.append(rb.differential_ik(m, d, tasks, dt, **options))
        rb.integrate_pos(m, d.qpos, walked[-1], dt)
    return np.array(walked)


def test_a_frame_reaches_its_goal_within_the_limits_of_velocity_and_position():
    m = ur5()
    d = rb.make_data(m)
    d.qpos = [1.0, -1.0, 1.2, 0.5, 0.5, 0.3]
    goal = rb.frame_pose(m, d, "tool0")
    d.qpos = [-0.5, -1.6, 1.9, -0.4, 1.2, -0.6]
    walked = walk(m, d, [rb.FrameTask("tool0", *goal)], 400)
    p, R = rb.frame_pose(m, d, "tool0")
    np.testing.assert_allclose(p, goal[0], atol=1e-8)
    assert Rotation.from_matrix(R @ goal[1].T).magnitude() < 1e-8
    assert np.abs(walked).max() <= m.jnt_velocity.max()
    # at least one joint moved at its velocity limit
    assert np.abs(walked).max() > 0.99 * m.jnt_velocity.min()


def test_a_step_equals_the_bounded_least_squares_of_scipy():
    m = seven()
    d, rng = rb.make_data(m), np.random.default_rng(4)
    limit = 0
    for _ in range(100):
        d.qpos = rb.random_qpos(m, rng)
        d.qpos[rng.integers(7)] = m.jnt_range[0, 1]
        d.qpos = np.clip(d.qpos, *m.jnt_range.T)
        turn = Rotation.random(random_state=rng)
        place = rng.uniform(-0.5, 0.5, 3)
        task = rb.FrameTask(
            "tool_flange", place, turn.as_matrix(), None, 2.0, 0.5, gain=rng.uniform(0.0, 1.0)
        )
        posture = rb.PostureTask(rb.random_qpos(m, rng), 0.1)
        p, R = rb.frame_pose(m, d, "tool_flange")
        way = np.concatenate([Rotation.from_matrix(turn.as_matrix() @ R.T).as_rotvec(), place - p])
        weights = np.repeat([0.5, 2.0], 3)
        J = rb.frame_jacobian(m, d, "tool_flange")
        rows = np.vstack([weights[:, None] * J, 0.1 * np.eye(7), 1e-3 * np.eye(7)])
        right = np.concatenate(
            [weights * task.gain * way, 0.1 * 0.1 * (posture.qpos - d.qpos), np.zeros(7)]
        )
        low = np.maximum(m.jnt_range[:, 0] - d.qpos, -m.jnt_velocity * DT)
        high = np.minimum(m.jnt_range[:, 1] - d.qpos, m.jnt_velocity * DT)
        fixed = low == high
        low[fixed], high[fixed] = low[fixed] - 1e-15, high[fixed] + 1e-15
        expected = lsq_linear(rows, right, (low, high), tol=1e-14).x
        found = rb.differential_ik(m, d, [task, posture], DT, damping=1e-6) * DT
        np.testing.assert_allclose(found, expected, atol=1e-7)
        limit += int((np.isclose(found, low) | np.isclose(found, high)).any())
    assert limit > 50


def test_a_frame_has_the_requested_velocity():
    m = seven()
    d, rng = rb.make_data(m), np.random.default_rng(2)
    d.qpos = rb.random_qpos(m, rng)
    wanted = np.array([0.02, -0.01, 0.03, 0.01, 0.02, -0.01])
    qvel = rb.differential_ik(
        m, d, [rb.FrameTask("tool_flange", velocity=wanted)], DT, damping=1e-12
    )
    np.testing.assert_allclose(rb.frame_jacobian(m, d, "tool_flange") @ qvel, wanted, atol=1e-8)
    still = walk(m, d, [rb.FrameTask("tool_flange", position=(0.3, 0.2, 0.5))], 500)[-1]
    assert np.abs(still).max() < 1e-6


def test_a_joint_outside_its_limits_does_not_move_farther_out():
    m = seven()
    d = rb.make_data(m)
    d.qpos[1] = m.jnt_range[1, 1] + 0.1
    task = rb.PostureTask(d.qpos + 1.0, 1.0, 1.0)
    qvel = rb.differential_ik(m, d, [task], DT)
    assert qvel[1] == 0.0
    assert (qvel[[0, 2, 3]] > 0.0).all()
    back = rb.PostureTask(np.zeros(7), 1.0, 1.0)
    assert rb.differential_ik(m, d, [back], DT)[1] < 0.0


def test_fixed_joints_keep_their_positions_in_differential_ik():
    m = ur5()
    d = rb.make_data(m)
    d.qpos = [0.3, -1.0, 1.2, 0.5, 0.5, 0.3]
    task = rb.FrameTask("tool0", position=(0.4, 0.3, 0.4))
    walked = walk(m, d, [task], 30, fixed=["elbow_joint", "wrist_1_joint"])
    assert not walked[:, 2:4].any()
    assert walked[:, :2].any()


def arm_beside_a_ball(radius=0.1, place=(0.55, 0.35, 0.0)):
    """Return the Model of a planar arm, with a ball in its way."""
    s = rb.SystemBuilder("planar")
    parent, at = "base", 0.0
    for k, length in enumerate((0.5, 0.4)):
        s.body(f"link{k}", BODY)
        s.joint(f"j{k}", "continuous", parent, f"link{k}", xyz=(at, 0, 0), axis=(0, 0, 1))
        s.geometry(f"end{k}", f"link{k}", rb.Sphere(0.03), origin=rb.pose((length, 0, 0)))
        parent, at = f"link{k}", length
    s.body("tip", BODY).joint("end", "fixed", parent, "tip", xyz=(at, 0, 0))
    return rb.build(s.obstacle("ball", rb.Sphere(radius), origin=rb.pose(place)), contact=True)


def test_no_pair_comes_nearer_than_the_clearance():
    m = arm_beside_a_ball()
    d = rb.make_data(m)
    d.qpos = [-0.4, 0.8]
    task = rb.FrameTask("tip", position=(0.2, 0.8, 0.0), gain=0.05)
    free, kept = rb.make_data(m), []
    free.qpos = d.qpos
    for _ in range(300):
        rb.integrate_pos(m, free.qpos, rb.differential_ik(m, free, [task], DT), DT)
        kept.append(min(one.distance for one in rb.collisions(m, free, 1.0)))
    assert min(kept) < 0.0  # without a clearance the arm passes through the ball
    nearest = []
    for _ in range(300):
        qvel = rb.differential_ik(m, d, [task], DT, clearance=0.02)
        rb.integrate_pos(m, d.qpos, qvel, DT)
        nearest.append(min(one.distance for one in rb.collisions(m, d, 1.0)))
    # the constraint is linearised: after a step of s = 0.05 m the distance is off by s^2 / radius
    assert min(nearest) > 0.02 - 1e-3
    assert min(nearest) < 0.021


def test_a_distance_changes_as_its_derivative_predicts():
    m = arm_beside_a_ball()
    d = rb.make_data(m)
    d.qpos = [0.35, 0.3]

    def distance():
        return rb.distance(m, d, "end1", "ball").distance

    before = distance()
    # the clearance is the present distance, which must not decrease
    task = rb.PostureTask([0.36, 0.31], 1.0, 1.0)
    qvel = rb.differential_ik(m, d, [task], 1.0, clearance=before)
    rb.integrate_pos(m, d.qpos, 1e-3 * qvel, 1.0)
    assert np.linalg.norm(qvel) > 1e-4
    assert distance() - before == pytest.approx(0.0, abs=1e-8)


def test_closed_loops_stay_closed():
    m = rb.build(mechanisms.delta())
    d = rb.make_data(m)
    d.qpos = mechanisms.delta_at(m, np.array([0.0, 0.0, -0.5]))
    walk(m, d, [rb.FrameTask("platform", position=(0.05, 0.04, -0.45), gain=0.2)], 100)
    see_constraints(m, d)
    assert np.abs(d.efc_pos).max() < 1e-9
    np.testing.assert_allclose(rb.frame_pose(m, d, "platform")[0], (0.05, 0.04, -0.45), atol=1e-8)


def test_a_mimic_joint_stays_within_its_own_limits():
    s = rb.SystemBuilder("planar").body("a", BODY).body("b", BODY)
    s.joint("j0", "continuous", "base", "a", axis=(0, 0, 1))
    s.joint("j1", "revolute", "a", "b", xyz=(0.5, 0, 0), axis=(0, 0, 1), limit=(-1.0, 1.0))
    m = rb.build(s.couple("j1", "j0", 2.0, 0.0))
    d = rb.make_data(m)
    walk(m, d, [rb.PostureTask([2.0], 1.0, 1.0)], 5, dt=1.0)
    assert d.qpos[0] == pytest.approx(0.5, abs=1e-12)


TASK = rb.FrameTask("tool_flange", (0.3, 0.2, 0.5))
BAD = {
    "tasks": ([[]], {}, rb.ParameterError, "tasks"),
    "tasks 2": ([{"frame": "tool_flange"}], {}, rb.ParameterError, "tasks"),
    "tasks 3": ([["tool_flange"]], {}, rb.ParameterError, "tasks"),
    "dt": ([[TASK], 0.0], {}, rb.ParameterError, "dt"),
    "dt 2": ([[TASK], math.nan], {}, rb.ParameterError, "dt"),
    "damping": ([[TASK]], {"damping": 0.0}, rb.ParameterError, "damping"),
    "fixed": ([[TASK]], {"fixed": "j"}, rb.ParameterError, "fixed"),
    "fixed 2": ([[TASK]], {"fixed": [["j"]]}, rb.ParameterError, "fixed"),
    "clearance": ([[TASK]], {"clearance": [0.1]}, rb.ParameterError, "clearance"),
    "clearance 2": ([[TASK]], {"clearance": -0.1}, rb.ParameterError, "clearance"),
    "unknown-joint": ([[TASK]], {"fixed": ["elbow"]}, rb.ModelError, "elbow"),
    "unknown-frame": ([[rb.FrameTask("tool", (0, 0, 0))]], {}, rb.ModelError, "tool"),
    "no-target": ([[rb.FrameTask("tool_flange")]], {}, rb.ParameterError, "position"),
    "target": ([[TASK._replace(position=np.zeros((2, 3)))]], {}, rb.ParameterError, "tasks"),
    "gain": ([[TASK._replace(gain=1.5)]], {}, rb.ParameterError, "tasks[0].gain"),
    "weight": ([[TASK._replace(position_weight=-1)]], {}, rb.ParameterError,
               "tasks[0].position_weight"),
    "velocity": ([[TASK._replace(velocity=[0.0] * 3)]], {}, rb.ParameterError,
                 "tasks[0].velocity"),
    "posture": ([[rb.PostureTask([0.0])]], {}, rb.ParameterError, "tasks[0].qpos"),
    "no-geometries": ([[TASK]], {"clearance": 0.1}, rb.ModelError, "differential_ik"),
    # the second robot has no geometry but the floor
    "no-geometries 2": ([[TASK]], {"clearance": 0.1}, rb.ModelError, "differential_ik"),
    "no-step": ([[TASK._replace(position_weight=1e100)]], {}, rb.ModelError, "tasks"),
    "no-step 2": ([[TASK._replace(position_weight=1e200)]], {}, rb.ModelError, "tasks"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_tasks_are_refused(case):
    arguments, options, error, element = BAD[case]
    m = rb.load_urdf("config/robots/seven_dof_arm.urdf", contact=case == "no-geometries 2")
    d = rb.make_data(m)
    with refused(error, case.split(" ")[0], element):
        rb.differential_ik(m, d, *arguments, *([DT] if len(arguments) == 1 else []), **options)
    assert np.array_equal(d.qpos, m.qpos0)


def gripper():
    """Return the Model of two fingers that slide towards each other; one mimics the other."""
    fingers = rb.SystemBuilder("gripper", base="hand")
    for name, side in (("left", -1.0), ("right", 1.0)):
        fingers.body(name, BODY).geometry(f"{name} skin", name, rb.Sphere(0.02))
        origin = rb.pose(xyz=(0.1 * side, 0.0, 0.2))
        fingers.joint(
            f"{name} slide", "prismatic", "hand", name, origin=origin, axis=(1.0, 0.0, 0.0)
        )
    fingers.couple("right slide", "left slide", -1.0)
    return rb.build(fingers)


def test_fingers_that_one_dof_moves_against_each_other_keep_their_clearance():
    m = gripper()
    d = rb.make_data(m)
    task = rb.FrameTask("left", (0.2, 0.0, 0.2), gain=0.1)
    for _ in range(50):
        rb.integrate_pos(m, d.qpos, rb.differential_ik(m, d, [task], 0.1, clearance=0.01), 0.1)
    (pair,) = rb.collisions(m, d, margin=1.0)
    assert pair.distance == pytest.approx(0.01, abs=1e-6)
    d.qpos[:] = 0.0
    assert rb.ik(m, d, "left", (0.0, 0.0, 0.2), clearance=0.01, attempts=3).too_near
    with refused(rb.ParameterError, "fixed", "fixed"):  # this also fixes the leader
        rb.differential_ik(m, d, [task], 0.1, fixed=["right slide"])
