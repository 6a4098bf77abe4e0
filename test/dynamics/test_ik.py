# SPDX-License-Identifier: Apache-2.0
"""rb.ik agrees with forward kinematics, Pinocchio, closed forms and optimality conditions.

The tests compute errors of solutions with frame_pose of a new Data or with Pinocchio, never from
the solver's own numbers.
"""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import mechanisms, robots
from support.mechanisms import see_constraints
from support.refusals import refused

import rbdyn_ros as rb

POSES = 150
BODY = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
HALF = math.pi / 2
#: The KUKA LBR iiwa 14: DH parameters a, alpha, d (classic convention), and limits (+-) [deg].
IIWA = [(0, -HALF, 0.36), (0, HALF, 0), (0, HALF, 0.42), (0, -HALF, 0), (0, -HALF, 0.4),
        (0, HALF, 0), (0, 0, 0.126)]  # fmt: skip
IIWA_LIMITS = (170, 120, 170, 120, 170, 120, 175)


def iiwa():
    inertial = rb.Inertial(1.0, inertia=(0.01, 0.01, 0.01, 0.0, 0.0, 0.0))
    rows = [
        rb.dh.DHRow(a, alpha, d, 0.0, inertial=inertial,
                    limit=rb.Limit(-math.radians(most), math.radians(most)))
        for (a, alpha, d), most in zip(IIWA, IIWA_LIMITS, strict=True)
    ]  # fmt: skip
    return rb.build(rb.dh.distal(rows, name="iiwa"))


def planar(*lengths, mimic=None, **limits):
    """Return a planar arm about z with links along x, joints j0, j1, ..., and a frame `tip`."""
    s = rb.SystemBuilder("planar")
    parent, place = "base", 0.0
    for k, length in enumerate(lengths):
        s.body(f"link{k}", BODY)
        limit = {"limit": limits[f"j{k}"]} if f"j{k}" in limits else {}
        s.joint(f"j{k}", "revolute" if limit else "continuous", parent, f"link{k}",
                xyz=(place, 0, 0), axis=(0, 0, 1), **limit)  # fmt: skip
        parent, place = f"link{k}", length
    s.body("tip", BODY).joint("end", "fixed", parent, "tip", xyz=(place, 0, 0))
    if mimic:
        s.couple(*mimic)
    return rb.build(s)


ARMS = {
    "ur5_robot.urdf": "tool0",
    "panda.urdf": "panda_hand",
    "seven_dof_arm.urdf": "tool_flange",
    "iiwa": "link7",
}


def arm(name):
    if name == "iiwa":
        return iiwa()
    if name == "seven_dof_arm.urdf":
        return rb.load_urdf("config/robots/seven_dof_arm.urdf")
    return rb.load_urdf(robots.find(name))


def drawn(m, frame, number, seed=7):
    """Return the positions and rotations of a frame at random configurations within limits."""
    d, rng = rb.make_data(m), np.random.default_rng(seed)
    poses = []
    for _ in range(number):
        d.qpos = rb.random_qpos(m, rng)
        poses.append(rb.frame_pose(m, d, frame))
    return np.array([p for p, _ in poses]), np.array([R for _, R in poses])


def misses(m, qpos, frame, position=None, rotation=None):
    """Return the position error [m] and angle error [rad] of a frame at qpos, from frame_pose."""
    d = rb.make_data(m)
    d.qpos = qpos
    p, R = rb.frame_pose(m, d, frame)
    place = 0.0 if position is None else np.linalg.norm(p - position)
    if rotation is None:
        return place, 0.0
    return place, Rotation.from_matrix(rotation @ R.T).magnitude()


def within(m, qpos):
    limited = (m.jnt_limited == 1) & (m.jnt_dofnum == 1)
    q = np.asarray(qpos)[..., m.jnt_qposadr[limited]]
    low, high = m.jnt_range[limited].T
    return bool(((low <= q) & (q <= high)).all())


@pytest.mark.parametrize("name", ARMS)
def test_arms_reach_all_poses_that_forward_kinematics_gives(name):
    m, frame = arm(name), ARMS[name]
    d = rb.make_data(m)
    places, turns = drawn(m, frame, POSES)
    # on other processors a start can end elsewhere, so there are more attempts than by default
    found = rb.ik(m, d, frame, places, turns, attempts=400)
    assert found.success.mean() >= 0.999
    assert within(m, found.qpos)
    for k in np.flatnonzero(found.success):
        place, turn = misses(m, found.qpos[k], frame, places[k], turns[k])
        assert place <= 1.01e-8
        assert turn <= 1.01e-8
    assert np.array_equal(d.qpos, m.qpos0)


#: Joint types of a mobile base, and how far it can move [m].
BASES = {
    "prismatic": math.inf,
    "gantry": 100.0,
    **dict.fromkeys(("floating", "planar", "planar_fp", "planar_fs", "sixdof_fs"), math.inf),
}


def mobile(kind, size=1.0):
    """Return the Model of an arm with six joints on a mobile base; `size` scales the links."""
    s = rb.SystemBuilder("mobile", base="world").body("chassis", BODY)
    if kind in ("prismatic", "gantry"):
        limit = {"limit": rb.Limit(-100.0, 100.0)} if kind == "gantry" else {}
        s.body("x", BODY).joint("x", "prismatic", "world", "x", axis=(1, 0, 0), **limit)
        s.body("y", BODY).joint("y", "prismatic", "x", "y", axis=(0, 1, 0), **limit)
        s.joint("yaw", "continuous", "y", "chassis", axis=(0, 0, 1))
    else:
        s.joint("base", kind, "world", "chassis", **({"axis": (0, 0, 1)} if "pl" in kind else {}))
    above = "chassis"
    lengths, limit = (0.4, 0.1, 0.4, 0.35, 0.1, 0.1), rb.Limit(-2.8, 2.8)
    for k, (name, length) in enumerate(zip("zyyxyx", lengths, strict=True)):
        place, axis = (0, 0, size * length), tuple(float(name == x) for x in "xyz")
        s.body(f"link{k}", BODY)
        s.joint(f"j{k}", "revolute", above, f"link{k}", xyz=place, axis=axis, limit=limit)
        above = f"link{k}"
    return rb.build(s)


@pytest.mark.parametrize("kind", BASES)
def test_a_mobile_base_reaches_far_targets(kind):
    """A solver with steps and starts of at most 1 m would miss 45 of 60 such targets."""
    m, rng = mobile(kind), np.random.default_rng(3)
    d = rb.make_data(m)
    places, turns = drawn(m, "link5", 10)
    for here, way in ((0.0, 1.0), (50.0, 1.0), (0.0, 30.0), (-50.0, 80.0), (0.0, 1e4)):
        if here + way > BASES[kind]:
            continue
        for place, turn in zip(places, turns, strict=True):
            d.qpos = rb.random_qpos(m, rng)
            first = {"planar_fp": 1, "planar_fs": 1, "sixdof_fs": 4}.get(kind, 0)
            d.qpos[first : first + 2] = here
            target = rb.frame_pose(m, d, "link5")[0] + (way, 0.0, 0.0)
            target[2] = place[2]
            found = rb.ik(m, d, "link5", target, turn)
            assert max(misses(m, found.check(), "link5", target, turn)) <= 1.01e-8


def test_a_rotation_alone_leaves_the_base_where_it_is():
    m = mobile("planar")
    d = rb.make_data(m)
    d.qpos[:2] = 50.0, -20.0
    _, turns = drawn(m, "link5", 10)
    found = rb.ik(m, d, "link5", rotation=turns)
    assert found.success.all()
    assert np.array_equal(found.qpos[:, :2], np.tile([50.0, -20.0], (10, 1)))


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_ik_succeeds_for_a_robot_of_any_size(size):
    m = mobile("fixed", size)
    found = rb.ik(m, rb.make_data(m), "link5", *drawn(m, "link5", 20), tolerance=1e-8 * size)
    assert found.success.all()
    assert found.attempts.mean() < 3.0


@pytest.mark.parametrize("name", ["ur5_robot.urdf", "panda.urdf"])
def test_solutions_reach_their_targets_in_pinocchio(name):
    pin = pytest.importorskip("pinocchio")
    m, frame = arm(name), ARMS[name]
    model = pin.buildModelFromUrdf(str(robots.find(name)), mimic=True)
    data = model.createData()
    places, turns = drawn(m, frame, 20)
    for place, turn, q in zip(
        places, turns, rb.ik(m, rb.make_data(m), frame, places, turns).check(), strict=True
    ):
        pin.framesForwardKinematics(model, data, np.asarray(q))
        theirs = data.oMf[model.getFrameId(frame)]
        assert np.abs(theirs.translation - place).max() < 2e-8
        assert np.abs(theirs.rotation - turn).max() < 2e-8


@pytest.mark.parametrize("name", ["ur5_robot.urdf", "panda.urdf"])
def test_a_call_with_many_targets_equals_single_calls_to_the_bit(name):
    m, frame = arm(name), ARMS[name]
    d = rb.make_data(m)
    places, turns = drawn(m, frame, 40)
    batch = rb.ik(m, d, frame, places, turns)
    quats = np.roll(Rotation.from_matrix(turns).as_quat(), 1, axis=1)
    for k, q in enumerate(rb.ik(m, d, frame, places, quats, attempts=400).check()):
        assert max(misses(m, q, frame, places[k], turns[k])) <= 1.01e-8
    for k in range(40):
        single = rb.ik(m, rb.make_data(m), frame, places[k], turns[k])
        assert np.array_equal(single.qpos, batch.qpos[k])
        assert single[1:] == tuple(x[k] for x in batch[1:])


def test_a_target_may_be_part_of_a_pose():
    m = arm("seven_dof_arm.urdf")
    d = rb.make_data(m)
    places, turns = drawn(m, "tool_flange", 50)
    for k, q in enumerate(rb.ik(m, d, "tool_flange", places).check()):
        assert misses(m, q, "tool_flange", places[k])[0] <= 1.01e-8
    for k, q in enumerate(rb.ik(m, d, "tool_flange", rotation=turns).check()):
        assert misses(m, q, "tool_flange", None, turns[k])[1] <= 1.01e-8
    one_for_all = rb.ik(m, d, "tool_flange", places[:3] * 0.5 + [0.0, 0.0, 0.4], turns[0])
    assert one_for_all.success.shape == (3,)


def test_both_solutions_of_a_planar_arm_are_found():
    m = planar(0.5, 0.4)
    d = rb.make_data(m)
    target = np.array([0.3, 0.5, 0.0])
    elbow = math.acos((target @ target - 0.5**2 - 0.4**2) / (2 * 0.5 * 0.4))
    for sign in (1.0, -1.0):
        inner = math.atan2(0.4 * math.sin(sign * elbow), 0.5 + 0.4 * math.cos(sign * elbow))
        shoulder = math.atan2(target[1], target[0]) - inner
        d.qpos = [shoulder + 0.2, sign * elbow - 0.3 * sign]  # start near the wanted solution
        q = rb.ik(m, d, "tip", target).check()
        np.testing.assert_allclose(q, [shoulder, sign * elbow], atol=1e-7)


def test_limits_select_a_solution_or_exclude_the_target():
    target = np.array([0.3, 0.5, 0.0])
    m = planar(0.5, 0.4, j1=(-3.0, -0.2))
    d = rb.make_data(m)
    d.qpos = [0.5, 1.2]  # start near the other solution
    assert rb.ik(m, d, "tip", target).check()[1] < -0.2
    narrow = planar(0.5, 0.4, j1=(-0.2, 0.2))
    found = rb.ik(narrow, rb.make_data(narrow), "tip", target)
    assert not found.success
    assert within(narrow, found.qpos)
    # nearest to the target, the elbow is at its limit and the tip points at the target
    reach = math.sqrt(0.5**2 + 0.4**2 + 2 * 0.5 * 0.4 * math.cos(0.2))
    assert found.position_error == pytest.approx(reach - np.linalg.norm(target), rel=1e-5)
    with refused(rb.ModelError, "not-reached", "target"):
        found.check()


def test_a_target_out_of_reach_is_approached():
    m = planar(0.5, 0.4)
    found = rb.ik(m, rb.make_data(m), "tip", [[2.0, 0.0, 0.0], [0.6, 0.0, 0.0]])
    assert found.success.tolist() == [False, True]
    assert found.position_error[0] == pytest.approx(1.1, abs=1e-6)
    assert found.attempts[0] == 100
    with refused(rb.ModelError, "not-reached", "target"):
        found.check()
    few = rb.ik(m, rb.make_data(m), "tip", [2.0, 0.0, 0.0], attempts=3)
    assert few.attempts == 3


def test_mimic_joints_follow_within_their_own_limits():
    free = planar(0.5, 0.4, mimic=("j1", "j0", -2.0, 0.1))
    target = np.array([0.5 * math.cos(0.7) + 0.4 * math.cos(-0.6), 0.0, 0.0])
    target[1] = 0.5 * math.sin(0.7) + 0.4 * math.sin(0.7 - 1.3)
    target[0] = 0.5 * math.cos(0.7) + 0.4 * math.cos(0.7 - 1.3)
    q = rb.ik(free, rb.make_data(free), "tip", target).check()
    np.testing.assert_allclose(q, [0.7], atol=1e-7)
    # the second joint must not reach -1.3, so its leader cannot reach 0.7
    limited = planar(0.5, 0.4, j1=(-1.0, 3.0), mimic=("j1", "j0", -2.0, 0.1))
    found = rb.ik(limited, rb.make_data(limited), "tip", target)
    assert not found.success
    assert -2.0 * found.qpos[0] + 0.1 >= -1.0 - 1e-12


def test_a_ball_joint_stops_at_its_cone():
    s = rb.SystemBuilder("ball").body("a", BODY)
    m = rb.build(s.joint("j", "spherical", "base", "a", limit=(0.0, 0.8)))
    d = rb.make_data(m)
    turn = Rotation.from_rotvec([0.3, 0.5, 0.2]).as_matrix()
    assert misses(m, rb.ik(m, d, "a", rotation=turn).check(), "a", None, turn)[1] < 1e-8
    far = rb.ik(m, d, "a", rotation=Rotation.from_rotvec([0.0, 1.5, 0.0]).as_matrix())
    assert not far.success
    assert far.rotation_error == pytest.approx(0.7, abs=1e-3)
    assert Rotation.from_quat(np.roll(far.qpos, -1)).magnitude() <= 0.8 + 1e-9


def test_closed_loops_stay_closed():
    m = rb.build(mechanisms.delta())
    d = rb.make_data(m)
    d.qpos = mechanisms.delta_at(m, np.array([0.0, 0.0, -0.5]))
    for target in ([0.05, 0.04, -0.45], [-0.08, 0.02, -0.52], [0.0, -0.1, -0.48]):
        found = rb.ik(m, d, "platform", target)
        q = found.check()
        judge = rb.make_data(m)
        judge.qpos = q
        see_constraints(m, judge)
        assert np.abs(judge.efc_pos).max() <= 1.01e-8
        assert misses(m, q, "platform", target)[0] <= 1.01e-8
        motors = [q[m.jnt_qposadr[m.jnt_id(f"motor_{i}")]] for i in range(3)]
        np.testing.assert_allclose(motors, mechanisms.delta_motors(target), atol=1e-6)


def test_only_joints_that_carry_the_frame_move():
    m = rb.load_urdf(robots.find("talos_reduced.urdf"), floating_base=True, strict=False)
    d = rb.make_data(m)
    d.qpos = rb.random_qpos(m, np.random.default_rng(3))
    fixed = [name for name in m.jnt_names if "arm_left" not in name]
    hand = "gripper_left_base_link"
    p, _ = rb.frame_pose(m, d, hand)
    q = rb.ik(m, d, hand, p + np.array([0.02, -0.01, 0.02]), fixed=fixed).check()
    moved = np.flatnonzero(q != d.qpos)
    names = {m.jnt_names[int(np.flatnonzero(m.jnt_qposadr <= k)[-1])] for k in moved}
    assert names
    assert all("arm_left" in name for name in names)
    # if the base may move, the hand reaches any pose
    assert rb.ik(m, d, hand, [5.0, 3.0, 2.0], np.eye(3)).success


def test_no_angle_would_be_nearer_to_its_start_after_a_full_turn():
    m = arm("ur5_robot.urdf")
    assert m.jnt_range[0, 1] > 6.0  # the joint can make two turns
    d = rb.make_data(m)
    d.qpos = [5.0, -1.0, 1.2, 4.0, -4.5, 3.0]
    places, turns = drawn(m, "tool0", 50)
    q = rb.ik(m, d, "tool0", places, turns).check()
    low, high = m.jnt_range.T
    way = q - d.qpos
    nearer = q - 2 * np.pi * np.sign(way)
    could = (nearer >= low) & (nearer <= high) & (np.abs(way) > np.pi + 1e-9)
    assert not could.any()


@pytest.mark.parametrize("name", ["panda.urdf", "seven_dof_arm.urdf", "iiwa"])
def test_a_result_is_as_near_to_the_posture_as_the_target_allows(name):
    m, frame = arm(name), ARMS[name]
    d = rb.make_data(m)
    posture = rb.random_qpos(m, np.random.default_rng(11))
    places, turns = drawn(m, frame, 20)
    plain, posed = (
        rb.ik(m, d, frame, places, turns, posture=wanted).check() for wanted in (None, posture)
    )
    chain = [k for k in range(m.nv) if "finger" not in m.jnt_names[m.dof_jntid[k]]]

    def distance(q):
        return np.linalg.norm((q - posture)[..., chain], axis=-1)

    assert (distance(posed) <= distance(plain) + 1e-9).all()
    assert (distance(posed) < distance(plain) - 1e-3).any()
    judge, low_high = rb.make_data(m), m.jnt_range[m.dof_jntid]
    for q in posed:
        judge.qpos = q
        J = rb.frame_jacobian(m, judge, frame)[:, chain]
        room = np.minimum(q - low_high[:, 0], low_high[:, 1] - q)[chain] > 1e-9
        _, size, V = np.linalg.svd(J[:, room])
        null, way = V[int((size > 1e-6).sum()) :], (posture - q)[chain][room]
        # an error of 1e-12 in the target changes the squared distance by |way| 1e-12 / size; near
        # the minimum a step changes it by the square of the step
        hidden = math.sqrt(8.0 * np.linalg.norm(way) * 1e-12 / size.min())
        # no motion that keeps the target reduces the distance (KKT conditions)
        assert np.abs(null @ way).max(initial=0.0) < 1e-6 + hidden


def test_a_posture_that_reaches_the_target_is_returned_unchanged():
    m = arm("seven_dof_arm.urdf")
    d = rb.make_data(m)
    posture = np.array([0.3, 0.5, -0.4, -1.2, 0.6, 0.7, -0.2])
    d.qpos = posture
    target = rb.frame_pose(m, d, "tool_flange")
    d.qpos = posture + np.array([0.3, -0.2, -0.3, 0.2, 0.3, 0.2, -0.3])
    away = rb.ik(m, d, "tool_flange", *target).check()
    assert np.abs(away - posture).max() > 0.05
    q = rb.ik(m, d, "tool_flange", *target, posture=posture).check()
    np.testing.assert_allclose(q, posture, atol=1e-5)


def test_ik_does_not_depend_on_earlier_calls():
    m = arm("panda.urdf")
    d = rb.make_data(m)
    places, turns = drawn(m, "panda_hand", 5)
    first = rb.ik(m, d, "panda_hand", places, turns)
    rb.ik(m, d, "panda_link4", places * 0.3, attempts=150)
    d.buffer[:] = np.nan  # no other field of the Data matters
    d.qpos = m.qpos0
    again = rb.ik(m, d, "panda_hand", places, turns)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


def panda_at_a_wall(x=0.45):
    """Return a Panda in front of a wall at x [m], whose lower edge is 0.3 m high."""
    wall = rb.Obstacle("wall", rb.Box((0.1, 2.0, 0.8)), rb.pose((x + 0.05, 0.0, 0.7)))
    return rb.load_urdf(robots.find("panda.urdf"), contact=rb.Contact(obstacles=(wall,)))


@pytest.mark.filterwarnings("ignore:.*overlap at qpos0")
def test_solutions_keep_the_clearance():
    m = panda_at_a_wall()
    d, judge, rng = rb.make_data(m), rb.make_data(m), np.random.default_rng(5)
    poses = []
    while len(poses) < 30:
        judge.qpos = rb.random_qpos(m, rng)
        if not rb.collisions(m, judge, 0.01):
            poses.append(rb.frame_pose(m, judge, "panda_hand"))
    places, turns = (np.array(part) for part in zip(*poses, strict=True))
    clear = rb.ik(m, d, "panda_hand", places, turns, clearance=0.01, attempts=400)
    plain = rb.ik(m, d, "panda_hand", places, turns, attempts=400)
    near = []
    for k in range(len(places)):
        judge.qpos = clear.qpos[k]
        assert rb.collisions(m, judge, 0.01) == []
        assert max(misses(m, clear.qpos[k], "panda_hand", places[k], turns[k])) <= 1.01e-8
        judge.qpos = plain.qpos[k]
        near.append(bool(rb.collisions(m, judge, 0.01)))
    assert clear.success.all()
    assert not clear.too_near.any()
    assert any(near)  # without a clearance, some solutions are too near
    assert (clear.attempts >= plain.attempts).all()
    same = ~np.array(near)
    assert np.array_equal(clear.qpos[same], plain.qpos[same])


@pytest.mark.filterwarnings("ignore:.*overlap at qpos0")
def test_a_target_inside_an_obstacle_is_reported_as_too_near():
    m = panda_at_a_wall()
    d = rb.make_data(m)
    found = rb.ik(m, d, "panda_hand", (0.5, 0.0, 0.6), clearance=0.0, attempts=5)
    assert (found.success, found.too_near, found.attempts) == (False, True, 5)
    # the returned configuration reaches the target
    assert misses(m, found.qpos, "panda_hand", (0.5, 0.0, 0.6))[0] <= 1.01e-8
    assert found.position_error <= 1e-8
    with refused(rb.ModelError, "too-near", "target"):
        found.check()
    far = rb.ik(m, d, "panda_hand", (5.0, 0.0, 0.6), clearance=0.0, attempts=5)
    assert (far.success, far.too_near) == (False, False)


def test_pairs_at_a_constant_distance_do_not_count_for_the_clearance():
    s = rb.SystemBuilder("planar").body("a", BODY).body("b", BODY)
    s.joint("j0", "continuous", "base", "a", axis=(0, 0, 1))
    s.joint("j1", "prismatic", "a", "b", xyz=(0.5, 0, 0), axis=(1, 0, 0), limit=(-1.0, 1.0))
    s.body("c", BODY).joint("j2", "prismatic", "b", "c", xyz=(0.1, 0, 0), axis=(1, 0, 0))
    # the distance of a and c is constant while j1 and j2 are fixed, so the pair does not count
    for name in "ac":
        s.geometry(f"{name}_ball", name, rb.Sphere(0.4 if name == "a" else 0.1))
    m = rb.build(s, contact=rb.Contact(obstacles=()))
    d = rb.make_data(m)
    d.qpos[1] = 0.4
    assert rb.ik(m, d, "c", (0.0, 1.0, 0.0), fixed=["j1", "j2"], clearance=0.6).success
    found = rb.ik(m, d, "c", (0.0, 1.0, 0.0), clearance=0.6, attempts=3)
    assert (found.success, found.too_near) == (False, True)


def test_an_empty_list_of_targets_has_no_solutions():
    m = planar(0.5, 0.4)
    found = rb.ik(m, rb.make_data(m), "tip", np.zeros((0, 3)))
    assert found.qpos.shape == (0, 2)
    assert found.check().shape == (0, 2)


TURN = np.eye(3)
BAD = {
    "no-target": ((), {}, rb.ParameterError, "position"),
    "target": (([0.0, 0.0],), {}, rb.ParameterError, "position"),
    "target 2": (([0, 0, 0], np.eye(4)[:, :2]), {}, rb.ParameterError, "rotation"),
    "target 3": ((np.zeros((2, 3)), np.tile(TURN, (3, 1, 1))), {}, rb.ParameterError,
                       "rotation"),
    "target 4": (("abc",), {}, rb.ParameterError, "position"),
    "target 5": (([0.0, math.nan, 0.0],), {}, rb.ParameterError, "position"),
    "target 6": (([0.0, 1.0, 0.0], np.full((3, 3), math.inf)), {}, rb.ParameterError, "rotation"),
    "not-a-rotation": ((None, 2.0 * TURN), {}, rb.ParameterError, "rotation"),
    "not-a-rotation 2": ((None, np.diag([1.0, 1.0, -1.0])), {}, rb.ParameterError, "rotation"),
    "not-a-rotation 3": ((None, [0.0, 0.0, 0.0, 0.0]), {}, rb.ParameterError, "rotation"),
    "posture": (([0.1, 0, 0],), {"posture": [0.0]}, rb.ParameterError, "posture"),
    "fixed": (([0.1, 0, 0],), {"fixed": "j0"}, rb.ParameterError, "fixed"),
    "fixed 2": (([0.1, 0, 0],), {"fixed": [["j0"]]}, rb.ParameterError, "fixed"),
    "clearance": (([0.1, 0, 0],), {"clearance": math.nan}, rb.ParameterError, "clearance"),
    "unknown-joint": (([0.1, 0, 0],), {"fixed": ["j7"]}, rb.ModelError, "j7"),
    "tolerance": (([0.1, 0, 0],), {"tolerance": 0.0}, rb.ParameterError, "tolerance"),
    "attempts": (([0.1, 0, 0],), {"attempts": 0}, rb.ParameterError, "attempts"),
    "attempts 2": (([0.1, 0, 0],), {"attempts": 1e3}, rb.ParameterError, "attempts"),
    "no-geometries": (([0.1, 0, 0],), {"clearance": 0.0}, rb.ModelError, "ik"),
    "frame-cannot-move": (([0.1, 0, 0],), {"fixed": ["j0", "j1"]}, rb.ModelError, "tip"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_targets_are_refused(case):
    arguments, options, error, element = BAD[case]
    m = planar(0.5, 0.4)
    d = rb.make_data(m)
    with refused(error, case.split(" ")[0], element):
        rb.ik(m, d, "tip", *arguments, **options)
    assert np.array_equal(d.qpos, m.qpos0)


def test_bad_models_frames_and_starts_are_refused():
    m = planar(0.5, 0.4)
    d = rb.make_data(m)
    with refused(rb.ModelError, "unknown-frame", "tipp"):
        rb.ik(m, d, "tipp", [0.1, 0.0, 0.0])
    with refused(rb.ModelError, "data-of-other-model"):
        rb.ik(planar(0.5, 0.4), d, "tip", [0.1, 0.0, 0.0])
    with refused(rb.ModelError, "frame-cannot-move", "base"):
        rb.ik(m, d, "base", [0.1, 0.0, 0.0])
    d.qpos[1] = math.nan
    with refused(rb.ParameterError, "qpos"):
        rb.ik(m, d, "tip", [0.1, 0.0, 0.0])
