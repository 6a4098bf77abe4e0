# SPDX-License-Identifier: Apache-2.0
"""Twists of a tool become joint velocities that agree with closed forms and keep all limits."""

import numpy as np
import pytest
from closed_loop import BENT, model
from scipy.spatial.transform import Rotation
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.motion.servoing import (
    JointLimits,
    ServoSettings,
    TwistServo,
    joint_rates,
    reachable_share,
    room_of,
    towards,
)
from rbdyn_ros.errors import ParameterError, RbdynError

UR5, PANDA = "ur5_robot.urdf", "panda.urdf"
TOOLS = {UR5: "tool0", PANDA: "panda_link8"}
FREE = {"lower_singularity_threshold": 1e6, "hard_stop_singularity_threshold": 1e7}
LINKS = np.array([0.5, 0.4])
PLANAR = ("x", "y")
OTHERS = ("roll", "pitch", "yaw", "z")


def servo_of(file=UR5, **more):
    m = model(file)
    settings = ServoSettings(TOOLS[file], **more)
    return TwistServo(m, tuple(m.jnt_names), settings), np.array(BENT[file])


def moved(servo, qpos, velocity):
    """Return the twist of the tool (6,) in world axes for these joint velocities."""
    d = rb.make_data(servo.m)
    d.qpos = qpos
    d.qvel[servo.dofs] = velocity
    return rb.frame_velocity(servo.m, d, servo.settings.frame, "local_world_aligned")


def in_world(servo, qpos, frame, twist):
    d = rb.make_data(servo.m)
    d.qpos = qpos
    R = rb.frame_pose(servo.m, d, frame)[1]
    return np.concatenate([R @ twist[:3], R @ twist[3:]])


@pytest.mark.parametrize("file", TOOLS)
@pytest.mark.parametrize("frame", ["", "tool", "elbow"])
def test_a_tool_far_from_all_limits_has_the_commanded_twist(file, frame):
    servo, qpos = servo_of(file, **FREE)
    links = {"": "", "tool": TOOLS[file], "elbow": servo.m.frame_names[4]}
    name = links[frame]
    twist = np.array([0.02, -0.03, 0.05, 0.01, 0.04, -0.02])
    found = servo.rates(qpos, qpos[servo.dofs], name, twist)
    assert (found.scale, found.reason) == (pytest.approx(1.0, abs=1e-9), "")
    wanted = in_world(servo, qpos, name, twist) if name else twist
    assert moved(servo, qpos, found.velocity) == pytest.approx(wanted, abs=1e-9)


def test_fingers_do_not_move_with_the_tool():
    servo, _ = servo_of(PANDA)
    assert servo.names == tuple(f"panda_joint{k}" for k in range(1, 8))


def test_a_twist_beyond_a_velocity_limit_keeps_its_direction():
    servo, qpos = servo_of(max_linear=100.0, max_angular=100.0, **FREE)
    twist = np.array([2.0, -3.0, 1.0, 1.0, 4.0, -2.0])
    found = servo.rates(qpos, qpos, "", twist)
    assert found.reason == "velocity"
    shares = np.abs(found.velocity) / servo.limits.velocity
    assert shares.max() == pytest.approx(1.0, abs=1e-12)
    assert int(shares.argmax()) == found.joint
    got = moved(servo, qpos, found.velocity)
    assert got == pytest.approx(found.scale * twist, abs=1e-9)


def test_a_twist_beyond_the_speeds_of_the_tool_keeps_its_direction():
    servo, qpos = servo_of(max_linear=0.1, max_angular=0.5, **FREE)
    twist = np.array([0.0, 0.3, 0.4, 0.6, 0.0, 0.8])
    found = servo.rates(qpos, qpos, "", twist)
    assert moved(servo, qpos, found.velocity) == pytest.approx(0.1 * twist, abs=1e-9)


def planar_jacobian(q):
    """Return the Jacobian (6, 2) of two links in a plane, in closed form."""
    a, b = LINKS[0], LINKS[1]
    s1, s12, c1, c12 = np.sin(q[0]), np.sin(q.sum()), np.cos(q[0]), np.cos(q.sum())
    J = np.zeros((6, 2))
    J[2] = 1.0
    J[3], J[4] = (-a * s1 - b * s12, -b * s12), (a * c1 + b * c12, b * c12)
    return J


ENDLESS = JointLimits(np.full(2, -9.0), np.full(2, 9.0), np.full(2, 99.0), np.full(2, 1e9))
FLAT = ServoSettings("tool", drift_dimensions=OTHERS)


@pytest.mark.parametrize("bend", [1.2, 0.3, 0.22, 0.15])
def test_an_approach_to_a_singular_posture_slows_down_between_the_thresholds(bend):
    """For two links in a plane the determinant and norm of J give the condition number."""
    q = np.array([0.4, bend])
    J = planar_jacobian(q)[3:5]
    area, square = LINKS.prod() * np.sin(bend), np.sum(J**2)
    condition = (square + np.sqrt(square**2 - 4.0 * area**2)) / (2.0 * area)
    outward = np.append(LINKS[0] * np.array([np.cos(0.4), np.sin(0.4)]), 0.0)
    outward[:2] += LINKS[1] * np.array([np.cos(q.sum()), np.sin(q.sum())])
    twist = np.concatenate([np.zeros(3), 0.01 * outward])
    found = joint_rates(planar_jacobian, q, twist, ENDLESS, FLAT)
    share = np.clip((30.0 - condition) / 13.0, 0.0, 1.0)
    assert found.scale == pytest.approx(share, abs=1e-9)
    assert planar_jacobian(q)[3:] @ found.velocity == pytest.approx(share * twist[3:], abs=1e-9)
    assert found.reason == ("singularity" if share < 1.0 else "")
    back = joint_rates(planar_jacobian, q, -twist, ENDLESS, FLAT)
    if condition < 30.0:  # far from the singular posture the tool does not slow down
        assert planar_jacobian(q)[3:] @ back.velocity == pytest.approx(-twist[3:], abs=1e-9)
    assert (found.velocity[1] < 0.0) == (back.velocity[1] > 0.0) or share == 0.0


def test_the_gain_out_of_a_singular_posture_is_bounded():
    """At condition number 100 the weak direction has 0.3 times the gain that it has at 30."""
    q = np.array([0.0, 0.0458])
    J = planar_jacobian(q)[3:5]
    U, S, _ = np.linalg.svd(J)
    weak = np.concatenate([np.zeros(3), 0.01 * U[:, 1], np.zeros(1)])
    both = [joint_rates(planar_jacobian, q, s * weak, ENDLESS, FLAT) for s in (1.0, -1.0)]
    halted, back = sorted(both, key=lambda one: one.scale)
    assert not halted.velocity.any()
    gain = S[1] / (S[0] / 30.0) ** 2
    assert np.linalg.norm(back.velocity) == pytest.approx(0.01 * gain, rel=1e-9)
    assert back.reason == "direction"


def test_a_joint_approaches_its_limit_no_faster_than_it_can_brake():
    """From the speed s all joints stop together within s^2 T / 2 plus 1.5 steps at s."""
    limits = JointLimits(np.array([-1.0, -3.0]), np.ones(2), np.full(2, 9.0), np.full(2, 2.0))
    settings = ServoSettings("tool", joint_limit_margin=0.1, drift_dimensions=OTHERS)
    q = np.array([-0.85, 0.8])
    twist = planar_jacobian(q) @ np.array([-0.6, 0.2])
    found = joint_rates(planar_jacobian, q, twist, limits, settings)
    assert (found.reason, found.joint) == ("limit", 0)
    speed, stop = abs(found.velocity[0]), np.abs(found.velocity).max() / 2.0
    assert speed * (0.5 * stop + 0.015) == pytest.approx(0.05, rel=1e-9)
    assert planar_jacobian(q)[3:] @ found.velocity == pytest.approx(found.scale * twist[3:])
    q[0] = -0.9
    twist = planar_jacobian(q) @ np.array([-0.6, 0.2])
    assert not joint_rates(planar_jacobian, q, twist, limits, settings).velocity.any()
    back = joint_rates(planar_jacobian, q, -twist, limits, settings)
    assert back.velocity[0] > 0.0


def run(servo, qpos, frame, twist, seconds, period=0.01):
    """Follow a twist for a time [s], in k steps; return positions and velocities (k, n)."""
    q, v, rows = qpos[servo.dofs], np.zeros(len(servo.names)), []
    for _ in range(round(seconds / period)):
        new, _ = servo.step(qpos, q, v, frame, twist, period)
        q, v = q + 0.5 * period * (v + new), new
        rows.append((q, v))
    return np.array(rows).swapaxes(0, 1)


DIRECTIONS = np.vstack([np.eye(6), -np.eye(6)])


@pytest.mark.parametrize("k", range(12))
def test_a_twist_of_three_seconds_exceeds_no_limit(k):
    servo, qpos = servo_of(max_linear=2.0, max_angular=3.0)
    limits, m = servo.limits, servo.m
    limits = JointLimits(qpos - 0.4, qpos + 0.4, np.full(6, 1.5), np.full(6, 3.0))
    servo.limits = limits
    q, v = run(servo, qpos, "base_link", 2.0 * DIRECTIONS[k], 3.0)
    assert m.nv == 6
    assert (np.abs(v) <= limits.velocity * (1.0 + 1e-12)).all()
    assert (q >= limits.lower + 0.05 - 1e-9).all()
    assert (q <= limits.upper - 0.05 + 1e-9).all()
    assert np.abs(np.diff(v, axis=0)).max() <= 3.0 * 0.01 * (1.0 + 1e-9)
    assert np.abs(v[-1]).max() < 0.05
    assert np.abs(q[-1] - qpos).max() > 0.1


def test_the_path_of_the_tool_is_straight():
    servo, qpos = servo_of(**FREE)
    along = np.array([-0.6, 0.0, -0.8])
    q, _ = run(servo, qpos, "", np.append(np.zeros(3), 0.1 * along), 2.0)
    d, places, turns = rb.make_data(servo.m), [], []
    for row in [qpos, *q]:
        d.qpos = row
        p, R = rb.frame_pose(servo.m, d, "tool0")
        places.append(p)
        turns.append(R)
    way = np.array(places) - places[0]
    # 1e-5 m is the error of the trapezoidal rule with steps of 10 ms
    assert np.abs(way - np.outer(way @ along, along)).max() < 1e-5
    assert max(Rotation.from_matrix(R @ turns[0].T).magnitude() for R in turns) < 2e-5
    begin = servo.rates(qpos, qpos, "", np.append(np.zeros(3), 0.1 * along)).velocity
    speeding_up = np.abs(begin).max() / servo.limits.acceleration[0]
    assert way[-1] @ along == pytest.approx(0.2 - 0.05 * speeding_up, abs=2e-4)


def test_a_path_lasts_as_long_as_the_twist_and_rests():
    servo, qpos = servo_of(timeout=0.1)
    twist = np.array([0.0, 0.0, 0.0, 0.1, 0.0, 0.0])
    path, seen = servo.path(qpos, qpos, np.zeros(6), "", twist)
    assert (seen.reason, path.times[0]) == ("", 0.0)
    stop = np.abs(path.velocities[-2]).max() / servo.limits.acceleration[0]
    assert path.times[-1] == pytest.approx(0.1 + stop, abs=1e-9)
    assert not path.velocities[-1].any()
    # between two points the velocity is linear, so each segment has one acceleration
    mean = np.diff(path.positions, axis=0) / np.diff(path.times)[:, None]
    assert mean == pytest.approx(0.5 * (path.velocities[1:] + path.velocities[:-1]), abs=1e-12)
    assert (path.peaks()[1] <= servo.limits.acceleration * (1.0 + 1e-6)).all()
    rest, _ = servo.path(qpos, qpos, np.zeros(6), "", np.zeros(6))
    assert len(rest.times) == 1
    braked, _ = servo.path(qpos, qpos, path.velocities[-2], "", np.zeros(6))
    assert len(braked.times) == 2


@pytest.mark.parametrize(
    ("now", "wanted", "share"),
    [
        # joint 1 allows 0.4 to 0.6 of the twist, joint 2 allows 0.44 to 0.67
        ((1.0, 1.0), (2.0, 1.8), 0.6),
        ((0.0, 0.0), (1.0, -4.0), 0.05),
        ((1.0, 1.0), (1.1, 1.1), 1.0),
        # joint 1 allows 0.8 to 1.2 of the twist and joint 2 none above -0.8
        ((1.0, -1.0), (1.0, 1.0), 0.0),
        ((1.0, 1.0), (0.0, 0.0), 1.0),
    ],
)
def test_the_direction_stays_while_joints_accelerate_slowly(now, wanted, share):
    found = reachable_share(np.array(now), np.array(wanted), np.full(2, 0.2))
    assert found == pytest.approx(share, abs=1e-15)


def test_a_rounding_error_of_a_joint_at_its_limit_does_not_stop_the_tool():
    """A slide at its limit is perpendicular to the twist, so its velocity is a rounding error."""
    limits = JointLimits(np.full(2, -1.0), np.array([1.0, 0.0]), np.ones(2), np.ones(2))
    settings = ServoSettings("tool", joint_limit_margin=0.0, drift_dimensions=OTHERS)
    for angle in np.linspace(0.1, 1.4, 40):
        J = np.zeros((6, 2))
        c, s = np.cos(angle), np.sin(angle)
        J[3:5] = [[c, -s], [s, c]]
        twist = np.append(np.zeros(3), [0.1 * c, 0.1 * s, 0.0])
        found = joint_rates(lambda _, J=J: J, np.zeros(2), twist, limits, settings)
        assert found.velocity == pytest.approx([0.1, 0.0], abs=1e-15)


def test_a_goal_is_approached_at_a_given_rate():
    R = Rotation.from_rotvec([0.3, -0.2, 0.5])
    turn = np.array([0.1, 0.4, -0.2])
    goal = (Rotation.from_rotvec(turn) * R).as_matrix()
    found = towards(np.array([1.0, 2.0, 3.0]), R.as_matrix(), np.array([1.5, 2.0, 2.0]), goal, 4.0)
    assert found == pytest.approx([*(4.0 * turn), 2.0, 0.0, -4.0], abs=1e-14)


def test_the_distance_to_a_limit_is_measured_in_the_direction_of_the_motion():
    limits = JointLimits(np.array([-1.0, -1.0]), np.array([2.0, 2.0]), np.ones(2), np.ones(2))
    settings = ServoSettings("tool", joint_limit_margin=0.5)
    room = room_of(np.array([1.0, 1.9]), np.array([1.0, 1.0]), limits, settings)
    assert room.tolist() == [0.5, 0.0]
    room = room_of(np.array([1.0, 1.9]), np.array([-1.0, -1.0]), limits, settings)
    assert room == pytest.approx([1.5, 2.4])


BAD = [
    ({"lower_singularity_threshold": 30.0}, "more than lower_singularity_threshold, 30"),
    ({"timeout": 0.0}, "timeout"),
    ({"max_linear": np.nan}, "max_linear"),
    ({"drift_dimensions": ("x", "w")}, "'w'"),
    ({"drift_dimensions": (*PLANAR, *OTHERS)}, "leave one out"),
]


@pytest.mark.parametrize(("wrong", "words"), BAD)
def test_settings_that_make_no_sense_are_refused(wrong, words):
    with pytest.raises(ParameterError, match=words):
        ServoSettings("tool0", **wrong)


def test_unknown_frames_and_fixed_frames_are_refused():
    servo, _ = servo_of()
    with refused(RbdynError, "frame"):
        servo.check_frame("tool1")
    servo.check_frame("base_link")
    with pytest.raises(ParameterError, match="'base_link' is moved by no joint"):
        TwistServo(servo.m, servo.names, ServoSettings("base_link"))


def planar_arm(joints, limit=3.0):
    """Return an arm with this many joints, which all turn about y."""
    text = '<robot name="planar"><link name="l0"/>'
    for k in range(joints):
        text += f"""<joint name="j{k}" type="revolute"><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
          <parent link="l{k}"/><child link="l{k + 1}"/>
          <limit lower="{-limit}" upper="{limit}" effort="9" velocity="2"/></joint>
          <link name="l{k + 1}"><inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0"
          iyy="0.1" iyz="0" izz="0.1"/></inertial></link>"""
    return rb.load_urdf(text + "</robot>")


@pytest.mark.parametrize("drift", [(), ("roll", "pitch", "yaw")])
@pytest.mark.parametrize("joints", [3, 4, 6, 7])
def test_a_planar_arm_moves_in_its_plane(joints, drift):
    """In no posture can the arm move in three of six directions; this is not a singularity."""
    m = planar_arm(joints)
    wide = {"lower_singularity_threshold": 100.0, "hard_stop_singularity_threshold": 200.0}
    settings = ServoSettings(f"l{joints}", drift_dimensions=drift, **wide)
    servo = TwistServo(m, m.jnt_names, settings)
    qpos = np.linspace(0.5, 1.1, joints)
    for direction in ((0.05, 0.0, 0.0), (0.0, 0.0, -0.05), (-0.04, 0.0, 0.03)):
        twist = np.array([0.0, 0.0, 0.0, *direction])
        for frame in ("", "l0"):
            found = servo.rates(qpos, qpos, frame, twist)
            assert (found.scale, found.reason) == (pytest.approx(1.0, abs=1e-12), "")
            moved = rb.frame_jacobian(m, _at(m, qpos), f"l{joints}") @ found.velocity
            np.testing.assert_allclose(moved[3:], direction, rtol=0.0, atol=1e-12)
    out = servo.rates(qpos, qpos, "", np.array([0.0, 0.0, 0.0, 0.0, 0.05, 0.0]))
    assert out.reason == "direction"
    assert np.abs(out.velocity).max() < 1e-12


def _at(m, qpos):
    d = rb.make_data(m)
    d.qpos[:] = qpos
    return d


def test_a_joint_with_a_short_range_has_a_margin_of_a_quarter_of_its_range():
    m = planar_arm(3, limit=0.05)
    servo = TwistServo(m, m.jnt_names, ServoSettings("l3"))
    for rates in (np.ones(3), -np.ones(3)):
        room = room_of(np.zeros(3), rates, servo.limits, servo.settings)
        np.testing.assert_allclose(room, 0.025, atol=1e-15)
