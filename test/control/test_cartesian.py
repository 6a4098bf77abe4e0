# SPDX-License-Identifier: Apache-2.0
"""Cartesian impedance agrees with Pinocchio's terms, SciPy's matrix functions and a simulation."""

import functools
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from closed_loop import armed
from scipy.spatial.transform import Rotation
from support import robots
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.control.laws import arrival, frame_stiffness
from rbdyn_ros.control.laws.cartesian import CartesianImpedance
from rbdyn_ros.errors import ModelError, ParameterError

K = np.array([20.0, 25.0, 30.0, 900.0, 1000.0, 1300.0])
SEVEN = "seven_dof_arm.urdf"
FOLDER = Path(__file__).parents[2] / "config/robots"
ARMS = {"ur5_robot.urdf": "tool0", "panda.urdf": "panda_hand", SEVEN: "tool_flange"}
each_arm = pytest.mark.parametrize("file", ARMS)
#: A posture in which none of these robots is near a singularity.
BENT = np.array([0.3, -0.6, 0.4, -1.7, 0.5, 1.4, 0.2, 0.01, 0.02])


def source(file):
    return FOLDER / file if file == SEVEN else robots.find(file)


@functools.cache
def model(file):
    m = robots.load(source(file))
    m.opt.passive = False
    return m


def four_joints():
    """Return an arm with four joints, which cannot reach all poses."""
    links, joints = ['<link name="l0"/>'], []
    for k, axis in enumerate(("0 0 1", "0 1 0", "0 1 0", "1 0 0")):
        links.append(
            f'<link name="l{k + 1}"><inertial><origin xyz="0 0 0.15"/><mass value="{4 - k}"/>'
            '<inertia ixx="0.03" iyy="0.04" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        joints.append(
            f'<joint name="j{k}" type="continuous"><origin xyz="0 0 0.3"/><parent link="l{k}"/>'
            f'<child link="l{k + 1}"/><axis xyz="{axis}"/></joint>'
        )
    return rb.load_urdf(f'<robot name="four">{"".join(links + joints)}</robot>')


def state(m, seed=0):
    rng = np.random.default_rng(seed)
    qpos = BENT[: m.nv] + rng.normal(size=m.nv) * 0.1
    return qpos, rng.normal(size=m.nv), rng


def moved(pose, turn, shift):
    """Return a pose rotated about world axes and shifted."""
    turned = Rotation.from_rotvec(turn).as_matrix() @ pose[:3]
    return np.vstack([turned, pose[3] + shift])


def terms(m, qpos, qvel, frame, gravity=True):
    """Return J of a frame, M, and C qvel + g (without g if not `gravity`)."""
    d = rb.make_data(m)
    d.qpos[:], d.qvel[:] = qpos, qvel
    J, M = rb.frame_jacobian(m, d, frame), np.linalg.inv(rb.inverse_mass_matrix(m, d))
    return J, M, rb.bias_term(m, d) if gravity else rb.coriolis_term(m, d)


def joint_damping(J, M, stiffness, ratio):
    """Return J^T D J = 2 ratio M^1/2 (M^-1/2 J^T K J M^-1/2)^1/2 M^1/2, also if J is singular."""
    root = scipy.linalg.sqrtm(M).real
    back = np.linalg.inv(root)
    values, vectors = np.linalg.eigh(back @ J.T @ np.diag(stiffness) @ J @ back)
    frequencies = np.sqrt(np.maximum(values, 0.0))
    return 2.0 * ratio * root @ (vectors * frequencies) @ vectors.T @ root


# the law


@each_arm
@pytest.mark.parametrize("seed", range(3))
def test_efforts_match_the_law_computed_with_pinocchio(file, seed):
    twins = pytest.importorskip("support.pinocchio_quantities")
    m, frame = model(file), ARMS[file]
    qpos, qvel, rng = state(m, seed)
    arm = Arm(m)
    law = CartesianImpedance(arm, frame, K, 0.7, 12.0, 1.5)
    turn, shift, posture = (
        0.3 * rng.normal(size=3),
        0.1 * rng.normal(size=3),
        rng.normal(size=m.nv),
    )
    d = arm.d
    d.qpos[:], d.qvel[:] = qpos, qvel
    theirs = twins.Quantities(arm.m, d, twins.pin.buildModelFromUrdf(str(source(file))))
    J, M = theirs.jacobian(frame, "local_world_aligned"), theirs.mass_matrix()
    # the generalised eigenvectors of K and the operational inertia diagonalise both
    Lambda = np.linalg.inv(J @ np.linalg.solve(M, J.T))
    squares, vectors = scipy.linalg.eigh(np.diag(K), Lambda)
    Q = np.linalg.inv(vectors).T
    D = Q @ np.diag(2.0 * 0.7 * np.sqrt(squares)) @ Q.T
    P = np.eye(m.nv) - np.linalg.solve(M, J.T @ Lambda @ J)
    expected = J.T @ (K * np.concatenate([turn, shift]) - D @ J @ qvel)
    expected += P.T @ (12.0 * (posture - qpos) - 1.5 * P @ qvel) + theirs.nle()
    effort = law(qpos, qvel, moved(law.pose(qpos), turn, shift), posture)
    # the reference inverts three matrices with condition numbers of up to 1e4
    np.testing.assert_allclose(effort, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


@each_arm
def test_the_null_space_does_not_accelerate_the_frame(file):
    m, frame = model(file), ARMS[file]
    arm = Arm(m)
    gains = np.linspace(5.0, 20.0, m.nv)
    law = CartesianImpedance(arm, frame, K, 0.7, gains, 0.1 * gains)
    without = CartesianImpedance(arm, frame, K, 0.7)
    for seed in range(5):
        qpos, qvel, rng = state(m, seed)
        pose, posture = law.pose(qpos), rng.normal(size=m.nv)
        null = law(qpos, qvel, pose, posture) - without(qpos, qvel, pose, posture)
        J, M, _ = terms(arm.m, qpos, qvel, frame)
        np.testing.assert_allclose(J @ np.linalg.solve(M, null), 0.0, atol=1e-10)
        if m.nv > 6:
            assert np.abs(null).max() > 0.1
        else:
            np.testing.assert_allclose(null, 0.0, atol=1e-10)


@each_arm
def test_damping_and_null_damping_dissipate_energy(file):
    m = model(file)
    arm = Arm(m)
    gains = np.linspace(0.1, 3.0, m.nv)  # P^T d alone would add energy with very different gains
    law = CartesianImpedance(arm, ARMS[file], K, 0.3, 0.0, gains)
    for seed in range(20):
        qpos, qvel, _ = state(m, seed)
        effort = law(qpos, qvel, law.pose(qpos), qpos) - terms(arm.m, qpos, qvel, ARMS[file])[2]
        assert qvel @ effort < 0.0


def test_directions_without_stiffness_belong_to_the_null_space():
    m, frame = model(SEVEN), "tool_flange"
    arm = Arm(m)
    place_only = np.array([0.0, 0.0, 0.0, 900.0, 1000.0, 1300.0])
    law = CartesianImpedance(arm, frame, place_only, 0.7, 10.0)
    without = CartesianImpedance(arm, frame, place_only, 0.7)
    qpos, qvel, rng = state(m)
    pose, posture = law.pose(qpos), rng.normal(size=m.nv)
    null = law(qpos, qvel, pose, posture) - without(qpos, qvel, pose, posture)
    J, M, _ = terms(arm.m, qpos, qvel, frame)
    acceleration = J @ np.linalg.solve(M, null)
    np.testing.assert_allclose(acceleration[3:], 0.0, atol=1e-10)
    assert np.abs(acceleration[:3]).max() > 1.0


# the error of the pose


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-7, 1e-3, 1.0, 3.0, np.pi - 1e-4])
def test_the_rotation_error_agrees_with_scipy(angle):
    m, frame = model("ur5_robot.urdf"), "tool0"
    law = CartesianImpedance(Arm(m), frame, K)
    qpos = BENT[:6]
    J, _, bias = terms(law.arm.m, qpos, np.zeros(6), frame)
    for axis in [*np.eye(3), [0.6, 0.0, -0.8], [-0.48, 0.64, 0.6]]:
        turn = angle * np.array(axis)
        effort = law(qpos, np.zeros(6), moved(law.pose(qpos), turn, np.zeros(3)), qpos)
        wrench = np.linalg.solve(J.T, effort - bias)
        # near half a turn the axis has an error of the square root of the rounding error
        np.testing.assert_allclose(wrench[:3] / K[:3], turn, atol=1e-7 if angle > 3.1 else 1e-12)
        np.testing.assert_allclose(wrench[3:], 0.0, atol=1e-9)


@pytest.mark.parametrize("short", [0.0, 1e-9])
@pytest.mark.parametrize("axis", [*np.eye(3), np.array([0.6, 0.0, -0.8])])
def test_a_rotation_error_of_half_a_turn_is_corrected_about_its_axis(axis, short):
    m = model("ur5_robot.urdf")
    law = CartesianImpedance(Arm(m), "tool0", K)
    qpos = BENT[:6]
    J, _, bias = terms(law.arm.m, qpos, np.zeros(6), "tool0")
    pose = moved(law.pose(qpos), (np.pi - short) * axis, np.zeros(3))
    turn = np.linalg.solve(J.T, law(qpos, np.zeros(6), pose, qpos) - bias)[:3] / K[:3]
    np.testing.assert_allclose(np.abs(turn), np.pi * np.abs(axis), atol=1e-6)


# motion


def closed_loop(law, qpos):
    """Return the state matrix of the closed loop at rest in the desired pose, from differences."""
    m, n, h = law.arm.m, law.arm.m.nv, 1e-5
    pose, d = law.pose(qpos), rb.make_data(law.arm.m)
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)

    def acceleration(x):
        d.qpos[:], d.qvel[:] = qpos + x[:n], x[n:]
        d.qfrc_applied[:] = law(d.qpos, d.qvel, pose, qpos)
        rb.forward_dynamics(m, d)
        return d.qacc.copy()

    for k in range(2 * n):
        x = np.zeros(2 * n)
        x[k] = h
        A[n:, k] = (acceleration(x) - acceleration(-x)) / (2.0 * h)
    return A


def ratios(A):
    """Return the damping ratios of oscillating modes, and the number of other eigenvalues."""
    values = np.linalg.eigvals(A)
    swinging = values[values.imag > 1e-3]
    return -swinging.real / np.abs(swinging), len(values) - 2 * len(swinging)


@pytest.mark.parametrize("ratio", [0.1, 0.7, 0.9])
@pytest.mark.parametrize(("file", "modes_number"), [("ur5_robot.urdf", 6), (None, 4)])
def test_every_mode_decays_with_the_damping_ratio(file, modes_number, ratio):
    m = model(file) if file else four_joints()
    law = CartesianImpedance(Arm(m), ARMS.get(file, "l4"), K, ratio)
    found, rest = ratios(closed_loop(law, BENT[: m.nv]))
    assert (len(found), rest) == (modes_number, 0)
    # central differences have a truncation error of h^2 and a rounding error of about eps / h
    np.testing.assert_allclose(found, ratio, rtol=1e-5)


def test_null_space_motion_follows_the_posture_gains():
    m = model(SEVEN)
    law = CartesianImpedance(Arm(m), "tool_flange", K, 0.7, 30.0, 0.2)
    found, rest = ratios(closed_loop(law, BENT[:7]))
    assert (len(found), rest) == (7, 0)
    slow = found[np.abs(found - 0.7) > 1e-4]
    assert (
        len(slow) == 1
    )  # six modes belong to the frame, the seventh is the elbow's, with the posture gains
    J, M, _ = terms(law.arm.m, BENT[:7], np.zeros(7), "tool_flange")
    z = scipy.linalg.null_space(J)[:, 0]
    inertia = z @ M @ z
    assert slow[0] == pytest.approx(
        0.2 * (z @ z) / (2.0 * np.sqrt(30.0 * (z @ z) * inertia)), 1e-4
    )


def simulate(law, qpos, pose, posture, wrench, seconds):
    """Return the positions at which the arm rests with a wrench [torque; force] on the frame."""
    m = law.arm.m.replaced()
    d = rb.make_data(m)
    d.qpos[:] = qpos
    frame = m.frame_names[law._frame]
    body = m.frame_bodyid[law._frame]
    m.opt.timestep = 0.001
    for _ in range(round(seconds / m.opt.timestep)):
        rb.kinematics(m, d)
        arm = law.pose(d.qpos)[3] - d.xipos[body]
        d.xfrc_applied[body, :3] = wrench[3:]
        d.xfrc_applied[body, 3:] = wrench[:3] + np.cross(arm, wrench[3:])
        d.qfrc_applied[:] = law(d.qpos, d.qvel, pose, posture)
        rb.step(m, d)
    assert np.abs(d.qvel).max() < 1e-6, f"{frame} is still moving"
    return d.qpos.copy()


@pytest.mark.parametrize("file", ["ur5_robot.urdf", SEVEN])
def test_a_wrench_moves_the_frame_by_the_compliance(file):
    m = model(file)
    law = CartesianImpedance(Arm(m), ARMS[file], K, 1.0, 20.0, 4.0)
    qpos = BENT[: m.nv].copy()
    pose, wrench = law.pose(qpos), np.array([0.02, -0.03, 0.01, 1.5, 0.7, -1.1])
    # the torques for the posture do not move the frame
    qpos = simulate(law, qpos, pose, qpos + 0.05, wrench, 6.0)
    moved_to = law.pose(qpos)
    turn = Rotation.from_matrix(moved_to[:3] @ pose[:3].T).as_rotvec()
    np.testing.assert_allclose(turn, wrench[:3] / K[:3], atol=1e-7)
    np.testing.assert_allclose(moved_to[3] - pose[3], wrench[3:] / K[3:], atol=1e-7)
    if m.nv > 6:
        assert np.abs(qpos - BENT[: m.nv]).max() > 0.01


def test_the_frame_reaches_a_distant_pose():
    m = model("panda.urdf")
    law = CartesianImpedance(Arm(m), "panda_hand", K, 1.0, 5.0, 3.0)
    pose = moved(law.pose(BENT), [0.3, -0.2, 0.4], [0.0, -0.2, -0.1])
    qpos = simulate(law, BENT.copy(), pose, BENT, np.zeros(6), 15.0)
    np.testing.assert_allclose(law.pose(qpos), pose, atol=1e-6)


# singular postures, few joints


@pytest.mark.parametrize(("file", "share"), [("ur5_robot.urdf", 1.0), (SEVEN, 0.2)])
def test_a_rehearsal_predicts_the_motion_of_the_arm(file, share):
    """The controller runs at 1 kHz. After a step of the target the frame moves on a curve."""
    loop = armed(
        file, "impedance", settle=1.0, frame=ARMS[file], gate={"state_timeout": 0.05},
        cartesian_stiffness=(5.0, 5.0, 5.0, 300.0, 300.0, 300.0), null_damping=0.1,
    )  # fmt: skip
    law = CartesianImpedance(Arm(loop.plant), ARMS[file], K)
    pose = moved(law.pose(loop.d.qpos), (0.0, 0.2 * share, 0.0), (0.03 * share, 0.0, 0.08 * share))
    path = loop.controller.rehearsed(pose)
    loop.controller.set_pose(pose)
    trace = loop.run(3.0)
    off = []
    for t, qpos in zip(trace.time - trace.time[0], trace.qpos, strict=True):
        expected = path.sample(min(t, path.times[-1]), np.empty((3, loop.plant.nv)))[0]
        off.append(np.abs(law.pose(qpos)[3] - law.pose(expected)[3]).max())
    # a step of the rehearsal is a third of the fastest time constant
    assert max(off) < 0.1 * 0.085 * share
    assert off[-1] < 1e-3
    assert "fault" not in loop.controller.status()


@pytest.mark.parametrize(
    ("file", "stiffness", "ratio", "null"),
    [
        ("ur5_robot.urdf", 0.1 * K, 4.0, (5.0, 1.0)),
        (SEVEN, K, 1.0, (0.5, 0.05)),
        (SEVEN, K, 1.0, (0.0, 0.5)),
    ],
)
def test_a_rehearsal_ends_where_the_arm_rests(file, stiffness, ratio, null, monkeypatch):
    """Some frames and null spaces are soft or overdamped."""
    m = model(file)
    law = CartesianImpedance(Arm(m), ARMS[file], stiffness, ratio, *null)
    start, dofs = BENT[: m.nv], np.arange(m.nv)
    pose = moved(law.pose(start), (0.0, 0.05, 0.0), (-0.02, 0.0, -0.05))
    end = law.rehearsed(start, 0.0 * start, pose, start + 0.1, dofs).positions[-1]
    monkeypatch.setattr(arrival, "REST", 1e-4)
    rest = law.rehearsed(start, 0.0 * start, pose, start + 0.1, dofs).positions[-1]
    assert np.abs(rest - start).max() > 0.03
    np.testing.assert_allclose(end, rest, atol=1e-3)
    np.testing.assert_allclose(law.pose(rest), pose, atol=1e-4)


def efforts_along(law, start, way, steps):
    """Return the efforts of a law at `steps` states, from start - way to start + way."""
    n = len(start)
    posture, qvel = start + 0.4, np.linspace(0.5, -1.0, n)
    pose = moved(law.pose(start), [0.1, 0.2, -0.1], [0.05, 0.02, -0.04])
    places = start + np.linspace(-1.0, 1.0, steps)[:, None] * way
    return np.array([law(qpos, qvel, pose, posture).copy() for qpos in places])


@pytest.mark.parametrize(
    ("file", "joint", "singular"),
    [
        ("ur5_robot.urdf", 2, [0.3, -0.6, 0.0, -1.7, 0.5, 1.4]),  # with a stretched elbow
        ("ur5_robot.urdf", 4, [0.3, -0.6, 1.1, -1.7, 0.0, 1.4]),  # two axes of the wrist coincide
        ("ur5_robot.urdf", 2, [0.0] * 6),
        (SEVEN, 3, [0.3, 0.6, 0.4, 0.0, 0.5, 1.0, 0.2]),
        (SEVEN, 3, [0.0] * 7),
    ],
)
def test_efforts_are_finite_and_continuous_through_singular_postures(file, joint, singular):
    m = model(file)
    law = CartesianImpedance(Arm(m), ARMS[file], K, 0.7, 20.0, 2.0)
    way = np.zeros(m.nv)
    way[joint] = 0.02
    exact = law(np.array(singular), np.ones(m.nv), law.pose(np.zeros(m.nv)), np.zeros(m.nv))
    assert np.isfinite(exact).all()
    jumps = []
    for steps in (401, 6401):
        efforts = efforts_along(law, np.array(singular), way, steps)
        assert np.isfinite(efforts).all()
        assert np.abs(efforts).max() < 1e3
        jumps.append(np.abs(np.diff(efforts, axis=0)).max())
    # with 16 times finer steps, a jump stays, a kink shrinks by 16 and a square root by 4
    assert jumps[1] < jumps[0] / 3.5


@pytest.mark.parametrize("seed", range(3))
def test_the_law_works_for_an_arm_with_four_joints(seed):
    m = four_joints()
    arm = Arm(m)
    law = CartesianImpedance(arm, "l4", K, 0.6, 7.0, 1.0)
    qpos, qvel, rng = state(m, seed)
    turn, shift = 0.3 * rng.normal(size=3), 0.1 * rng.normal(size=3)
    effort = law(qpos, qvel, moved(law.pose(qpos), turn, shift), qpos + 1.0)
    J, M, bias = terms(arm.m, qpos, qvel, "l4")
    # the task of the frame uses all four joints, so there is no null space
    expected = J.T @ (K * np.concatenate([turn, shift]))
    expected += bias - joint_damping(J, M, K, 0.6) @ qvel
    np.testing.assert_allclose(effort, expected, rtol=1e-9, atol=1e-9)


def test_the_joints_hold_the_posture_without_frame_stiffness():
    m = four_joints()
    arm = Arm(m)
    law = CartesianImpedance(arm, "l4", 0.0, 1.0, 7.0, 2.0)
    qpos, qvel, _ = state(m)
    expected = 7.0 * np.ones(4) - 2.0 * qvel + terms(arm.m, qpos, qvel, "l4")[2]
    effort = law(qpos, qvel, np.zeros((4, 3)), qpos + 1.0)
    np.testing.assert_allclose(effort, expected, rtol=1e-12)


# eigenvalues


@pytest.mark.parametrize("rank", range(7))
def test_diagonalise_agrees_with_eigh(rank):
    rng = np.random.default_rng(rank)
    for scale in (1.0, 1e-6, 1e6):
        X = rng.normal(size=(6, rank)) * np.logspace(0, scale > 1, 6)[:, None] * scale
        A = X @ X.T
        W, U = A.copy(), np.empty((6, 6))
        frame_stiffness.diagonalise(W, U)
        np.testing.assert_allclose(U @ U.T, np.eye(6), atol=1e-14)
        np.testing.assert_allclose(U @ np.diag(np.diag(W)) @ U.T, A, atol=1e-14 * np.abs(A).max())
        largest = np.abs(A).max()
        expected = np.linalg.eigvalsh(A)
        np.testing.assert_allclose(np.sort(np.diag(W)), expected, atol=1e-14 * largest)


def test_diagonalise_terminates_for_nan():
    W, U = np.full((6, 6), np.nan), np.empty((6, 6))
    frame_stiffness.diagonalise(W, U)
    W = np.eye(6)  # all eigenvalues are equal
    frame_stiffness.diagonalise(W, U)
    np.testing.assert_array_equal(U, np.eye(6))


# commands of the whole arm


def test_commands_add_friction_and_subtract_gravity_that_the_robot_compensates():
    m, frame = model(SEVEN), "tool_flange"
    plain = CartesianImpedance(Arm(m), frame, K)
    rubbing = Arm(m, friction=Friction.of(7, 0.5, 1.0), robot_compensates_gravity=True)
    law = CartesianImpedance(rubbing, frame, K)
    qpos, qvel, _ = state(m)
    pose = law.pose(qpos)
    expected = plain(qpos, qvel, pose, qpos) + rubbing.friction.effort(qvel, np.empty(7))
    expected -= rubbing.gravity_effort(qpos, np.empty(7))
    np.testing.assert_allclose(law(qpos, qvel, pose, qpos), expected, rtol=1e-12, atol=1e-12)


def test_the_law_after_a_change_of_payload_equals_a_new_law():
    m, frame = model(SEVEN), "tool_flange"
    arm = Arm(m)
    loaded = arm.with_payload(frame, 3.0, (0.02, 0.0, 0.1))
    law, fresh = CartesianImpedance(arm, frame, K), CartesianImpedance(loaded, frame, K)
    qpos, qvel, _ = state(m)
    pose = law.pose(qpos)
    light = law(qpos, qvel, pose, qpos).copy()
    law.use(loaded)
    np.testing.assert_array_equal(law(qpos, qvel, pose, qpos), fresh(qpos, qvel, pose, qpos))
    assert np.abs(law.effort - light).max() > 1.0


def test_a_call_allocates_nothing():
    m = model(SEVEN)
    law = CartesianImpedance(Arm(m), "tool_flange", K, 0.7, 1.0, 1.0)
    qpos, qvel, _ = state(m)
    pose = law.pose(qpos)
    law(qpos, qvel, pose, qpos)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(2000):
            law(qpos, qvel, pose, qpos)
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # the interpreter itself keeps a few small objects: less than one array a call
    assert now - before < 4096
    assert peak - before < 4096


@pytest.mark.parametrize(
    "change",
    [
        {"frame": "l0"},
        {"stiffness": [1.0] * 5},
        {"stiffness": -1.0},
        {"stiffness": [np.nan] * 6},
        {"damping_ratio": np.inf},
        {"damping_ratio": -0.1},
        {"damping_ratio": [1.0, 1.0]},
        {"damping_ratio": None},
        {"null_stiffness": [1.0] * 5},
        {"null_damping": np.nan},
    ],
)
def test_invalid_arguments_are_refused(change):
    arguments = {"frame": "l4", "stiffness": K} | change
    with refused(ParameterError, "bad-argument"):
        CartesianImpedance(Arm(four_joints()), **arguments)


def test_an_unknown_frame_is_refused():
    with refused(ModelError, "unknown-frame"):
        CartesianImpedance(Arm(four_joints()), "l5", K)


@pytest.mark.parametrize(
    ("pose", "posture"),
    [(np.zeros((3, 4)), np.zeros(4)), (np.zeros((4, 3)), np.zeros(5)), (0.0, 0.0), (None, None)],
)
def test_wrong_shapes_of_pose_and_posture_are_refused(pose, posture):
    law = CartesianImpedance(Arm(four_joints()), "l4", K)
    with refused(ParameterError, "bad-argument", "pose"):
        law(np.zeros(4), np.zeros(4), pose, posture)
