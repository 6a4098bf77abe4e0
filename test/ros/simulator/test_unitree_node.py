# SPDX-License-Identifier: Apache-2.0
"""A policy controls a simulated Go2 by the topics lowcmd and lowstate."""

import ctypes
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("unitree_go.msg", reason="unitree_go is not installed")

from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu, JointState
from support import networks, robots
from unitree_go import msg as go

import rbdyn_ros as rb
from rbdyn_ros.model.tree.rotation import mat_to_quat
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.policies.pacer import JointsState
from rbdyn_ros.policies.reader import read_policy
from rbdyn_ros.ros.common.unitree.records import UnitreeRecord
from rbdyn_ros.ros.common.unitree.robots import H1, NO_POSITION, QUADRUPED
from rbdyn_ros.ros.policy.unitree import Rise, UnitreeMotors
from rbdyn_ros.ros.simulator.topics.unitree import ImuPlace

pytestmark = robots.needs_robots

GRAVITY = 9.81
SENSORS = "rbdyn_sensors: 1\nsensors: {body: {type: imu, link: imu}}\n"
#: Largest deviation of a joint from its goal under the robot's weight [rad].
SAG = 0.15


def structure(name, *fields):
    """Return a ctypes structure with these fields, laid out as by a C compiler."""
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


U8, U16, U32, F32 = ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_float
MOTOR = structure(
    "Motor",
    ("mode", U8),
    *((x, F32) for x in ("q", "dq", "tau", "kp", "kd")),
    ("reserve", U32 * 3),
)
BMS = structure("Bms", ("off", U8), ("reserve", U8 * 3))
LOW_CMD = structure(
    "LowCmd",
    *(("head", U8 * 2), ("level_flag", U8), ("frame_reserve", U8)),
    *(("sn", U32 * 2), ("version", U32 * 2), ("bandwidth", U16), ("motor_cmd", MOTOR * 20)),
    *(("bms_cmd", BMS), ("wireless_remote", U8 * 40), ("led", U8 * 12), ("fan", U8 * 2)),
    *(("gpio", U8), ("reserve", U32), ("crc", U32)),
)


def fill(target, message):
    """Copy a message into a ctypes structure with the same fields."""
    for name, kind in target._fields_:
        value = getattr(message, name)
        if not issubclass(kind, ctypes.Array):
            if issubclass(kind, ctypes.Structure):
                fill(getattr(target, name), value)
            else:
                setattr(target, name, value)
        elif issubclass(kind._type_, ctypes.Structure):
            for one, part in zip(getattr(target, name), value, strict=True):
                fill(one, part)
        else:
            getattr(target, name)[:] = [int(x) for x in value]


def bitwise_crc(message):
    """Return the CRC of a message, computed bit by bit by the vendor's description."""
    raw = LOW_CMD()
    fill(raw, message)
    crc = 0xFFFFFFFF
    for word in np.frombuffer(bytes(raw), "<u4")[:-1].tolist():
        for bit in range(31, -1, -1):
            top = (crc >> 31) ^ (word >> bit & 1)
            crc = (crc << 1 & 0xFFFFFFFF) ^ (0x04C11DB7 if top else 0)
    return crc


def low_cmd(goals=(), kp=100.0, kd=3.0, mode=1):
    """Return a LowCmd with goals [rad], gains and mode of the first motors, and with its CRC."""
    message = go.LowCmd(level_flag=0xFF, sn=[7, 8], gpio=3, bandwidth=5)
    for motor, q in zip(message.motor_cmd, goals, strict=False):
        motor.mode, motor.q, motor.kp, motor.kd = mode, float(np.float32(q)), kp, kd
    return signed(message)


def signed(message):
    message.crc = bitwise_crc(message)
    return message


def test_packed_rows_equal_the_serialised_message_and_the_c_structure():
    random = np.random.default_rng(1)
    for kind in (go.LowCmd, go.LowState):
        record = UnitreeRecord(kind)
        message = low_cmd(random.normal(size=12)) if kind is go.LowCmd else go.LowState(tick=9)
        row = record.row(message)
        assert len(row) == len(record.places)
        message.crc = record.crc(row)
        data = record.message(row)
        assert deserialize_message(data, kind) == message
        assert len(data) == len(serialize_message(message))
    assert ctypes.sizeof(LOW_CMD) == 812
    command = low_cmd(random.normal(size=12))
    assert UnitreeRecord(go.LowCmd).crc(UnitreeRecord(go.LowCmd).row(command)) == bitwise_crc(
        command
    )


BODY = '<inertial><mass value="2"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/>'
TORSO = f"""<robot name="h1">
  <link name="pelvis">{BODY}</inertial></link>
  <link name="torso_link">{BODY}</inertial></link>
  <joint name="torso_joint" type="revolute">
    <origin xyz="0.01 0.02 0.1"/><parent link="pelvis"/><child link="torso_link"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="9" velocity="9"/>
  </joint>
  <link name="imu_link"/>
  <joint name="imu_joint" type="fixed">
    <origin xyz="-0.04 -0.02 0.28"/><parent link="torso_link"/><child link="imu_link"/>
  </joint>
</robot>"""
RATE = np.array([0.3, -0.5, 0.8])


def swung(t):
    """Return qpos, qvel and qacc at time t of a robot whose pelvis and torso joint move."""
    angle = np.linalg.norm(RATE) * t
    turn = [math.cos(0.5 * angle), *(math.sin(0.5 * angle) * RATE / np.linalg.norm(RATE))]
    qpos = [t * t, 0.5 * t, math.sin(t), *turn, 0.4 + 1.5 * t + t * t]
    qvel = [2.0 * t, 0.5, math.cos(t), *RATE, 1.5 + 2.0 * t]
    qacc = [2.0, 0.0, -math.sin(t), 0.0, 0.0, 0.0, 2.0]
    return map(np.array, (qpos, qvel, qacc))


@pytest.mark.parametrize("text", [TORSO, TORSO.replace("imu_link", "other")], ids=["imu", "torso"])
def test_the_imu_of_an_h1_is_on_the_torso_but_a_policy_gets_the_pelvis_state(text):
    m = rb.load_urdf(text, floating_base=True)
    d, t, h = rb.make_data(m), 0.3, 1e-4
    link = "imu_link" if text is TORSO else "torso_link"
    places = []
    for time in (t - h, t + h, t):
        qpos, qvel, qacc = swung(time)
        d.qpos = qpos
        place, R = rb.frame_pose(m, d, link)
        places.append(place)
    d.qpos, d.qvel, d.qacc, d.time = qpos, qvel, qacc, t
    gravity = np.array([0.0, 0.0, -GRAVITY])
    omega, force, axes = ImuPlace(m, "torso_joint").measured(m, d)
    a = (places[0] + places[1] - 2.0 * places[2]) / h**2
    assert axes == pytest.approx(R)
    assert force == pytest.approx(R.T @ (a - gravity), abs=1e-5)  # error of the finite difference
    message = go.LowState()
    quat = mat_to_quat(axes)
    message.imu_state.quaternion, message.imu_state.gyroscope = quat.tolist(), omega.tolist()
    message.motor_state[6].q, message.motor_state[6].dq = float(qpos[7]), float(qvel[6])
    base = policy_motors("h1", H1[:2]).state(message)[1]
    sign = math.copysign(1.0, base.quat @ qpos[3:7])
    assert sign * base.quat == pytest.approx(qpos[3:7], abs=1e-6)  # float32
    assert base.angular == pytest.approx(RATE, abs=1e-6)


def policy_motors(robot, joints):
    gains = np.full(len(joints), 5.0)
    return UnitreeMotors(robot, SimpleNamespace(joints=joints, stiffness=gains, damping=gains))


@pytest.mark.parametrize(
    ("robot", "joints", "modes"),
    [
        ("go2", QUADRUPED, [1] * 12),
        ("b2", QUADRUPED, [10] * 12),
        ("h1", ("right_knee_joint", "torso_joint", "left_ankle_joint"), [10, 10, 1]),
        ("h1", ("left_hip_yaw_joint", "right_hip_yaw_joint", "left_elbow_joint"), [10, 10, 1]),
    ],
)
def test_each_robot_type_has_its_own_mode_number_for_running_motors(robot, joints, modes):
    data = policy_motors(robot, joints).command(np.zeros(len(joints)))
    motors = {"go2": QUADRUPED, "b2": QUADRUPED, "h1": H1}[robot]
    sent = deserialize_message(data, go.LowCmd).motor_cmd
    assert [sent[motors.index(joint)].mode for joint in joints] == modes
    assert sum(one.mode != 0 for one in sent) == len(joints)


def test_position_targets_that_would_switch_off_a_motor_are_refused():
    targets = np.zeros(12)
    targets[3] = -3e9
    with pytest.raises(rb.RbdynError, match=r"commands a position of 3e\+09"):
        policy_motors("go2", QUADRUPED).command(targets)


class Dog:
    """A simulated Go2 and its topics lowstate and lowcmd."""

    def __init__(self, simulate, peer, *words, fixed=False, crouch=0.0):
        # motors have the vendor's order, and the policy's joints another order
        pose = dict(zip(networks.GO2, networks.STANDING, strict=True))
        pose |= {name: q + crouch for name, q in pose.items() if "thigh" in name}
        pose |= {name: q - 2.0 * crouch for name, q in pose.items() if "calf" in name}
        self.pose = np.array([pose[name] for name in QUADRUPED])
        start = [w for name, q in pose.items() for w in ("-p", f"initial_positions.{name}:={q}")]
        stands = () if fixed else ("--floating-base", "--contact")
        more = ("strict:=false", "unitree:=go2", "command_timeout:=5.0", *words)
        given = [w for one in more for w in ("-p", one)]
        self.peer = peer
        self.node = simulate(robots.find("go2.urdf"), *stands, "--ros-args", *given, *start)
        self.states = peer.hear(go.LowState, "lowstate")
        self.publisher = peer.publisher(go.LowCmd, "lowcmd")

    def q(self):
        return np.array([motor.q for motor in self.states[-1].motor_state])

    def send(self, message, condition):
        self.peer.insist(self.publisher, message, condition)


@pytest.fixture
def dog(simulate, peer):
    return lambda *words, **more: Dog(simulate, peer, *words, **more)


def test_the_robot_stands_by_motor_commands_and_reports_its_state(dog, peer, tmp_path):
    (tmp_path / "s.yaml").write_text(SENSORS)
    it = dog(f"sensors:={tmp_path / 's.yaml'}", "start:=held")
    begun = len(it.states)
    it.send(low_cmd(it.pose), lambda: it.states[-1].motor_state[0].mode == 1)
    peer.until(lambda: len(it.states) > begun + 1000)
    state, imu = it.states[-1], peer.hear(Imu, "body/data")[-1]
    assert np.abs(it.q()[:12] - it.pose).max() < SAG
    assert not it.q()[12:].any()
    joints = peer.hear(JointState, "joint_states")[-1]
    by_name = dict(zip(joints.name, joints.position, strict=True))
    assert it.q()[:12] == pytest.approx([by_name[name] for name in QUADRUPED], abs=1e-3)
    rest = state.imu_state
    assert np.linalg.norm(rest.accelerometer) == pytest.approx(GRAVITY, abs=0.05)
    assert rest.accelerometer[2] == pytest.approx(imu.linear_acceleration.z, abs=0.05)
    turn = imu.orientation
    assert rest.quaternion == pytest.approx([turn.w, turn.x, turn.y, turn.z], abs=1e-3)
    roll, pitch = rest.rpy[:2]
    assert rest.accelerometer[0] == pytest.approx(-GRAVITY * math.sin(pitch), abs=0.05)
    assert rest.accelerometer[1] == pytest.approx(
        GRAVITY * math.cos(pitch) * math.sin(roll), abs=0.05
    )
    # the feet carry the weight
    mass = 15.2
    assert sum(state.foot_force) == pytest.approx(mass * GRAVITY, rel=0.15)
    assert state.crc == UnitreeRecord(go.LowState).crc(UnitreeRecord(go.LowState).row(state))
    ticks = [one.tick for one in it.states[-100:]]
    assert np.median(np.diff(ticks)) == 2  # 500 states per second; some may be lost


def test_a_motor_applies_the_law_of_its_command(dog, peer):
    it = dog("gravity:=[0.0, 0.0, 0.0]", fixed=True)
    message = low_cmd(it.pose + 0.1, kp=20.0, kd=1.0)
    message.motor_cmd[0].tau = 1.5
    # 2.146e9 means: no position control
    message.motor_cmd[3].q, message.motor_cmd[3].tau = 2.146e9, 0.0
    message.motor_cmd[6].dq, message.motor_cmd[6].q = 16000.0, float(it.pose[6])
    begun = len(it.states)
    it.send(signed(message), lambda: it.states[-1].motor_state[0].mode == 1)
    peer.until(lambda: len(it.states) > begun + 1500)
    rest = it.states[-1].motor_state
    # at rest without gravity the torques kp (goal - q) + tau vanish
    assert rest[0].q == pytest.approx(it.pose[0] + 0.1 + 1.5 / 20.0, abs=2e-3)
    assert rest[1].q == pytest.approx(it.pose[1] + 0.1, abs=2e-3)
    # the reported torques follow the motor's law, also in motion
    moving = it.states[begun : begun + 300]
    for k in (0, 1, 3):
        law = [
            message.motor_cmd[k].tau
            + (20.0 * (message.motor_cmd[k].q - one.motor_state[k].q) if k != 3 else 0.0)
            - one.motor_state[k].dq
            for one in moving
            if one.motor_state[k].mode == 1
        ]
        said = [one.motor_state[k].tau_est for one in moving if one.motor_state[k].mode == 1]
        assert np.median(np.abs(np.array(law) - said)) < 0.02
    off = low_cmd(it.pose, mode=0)
    it.send(off, lambda: it.states[-1].motor_state[0].mode == 0)
    peer.until(lambda: abs(it.states[-1].motor_state[0].tau_est) < 1e-6)


BAD = {
    "its crc is 0x": lambda one: setattr(one, "crc", one.crc ^ 1),
    "the motor of joint 'FR_thigh_joint' has mode 7; allowed is 0 (off), 1 or 10 (on)": (
        lambda one: setattr(one.motor_cmd[1], "mode", 7)
    ),
    "kp of joint 'FL_calf_joint' is nan": lambda one: setattr(one.motor_cmd[5], "kp", math.nan),
    "the stiffness of joint 'FR_hip_joint' is -1": (
        lambda one: setattr(one.motor_cmd[0], "kp", -1.0)
    ),
}


def test_bad_commands_are_refused_as_a_whole(dog, peer):
    it = dog("gravity:=[0.0, 0.0, 0.0]", fixed=True)
    before = it.q()
    for words, spoil in BAD.items():
        message = low_cmd(it.pose + 0.5)
        spoil(message)
        if "crc" not in words:
            message.crc = bitwise_crc(message)
        it.send(message, lambda words=words: words in it.node.text())
        peer.spin(1.1)  # the log has at most one refusal a second
    assert it.q() == pytest.approx(before, abs=1e-6)


@pytest.mark.parametrize(
    ("robot", "word", "said"),
    [
        ("go2.urdf", "time_mode:=lockstep", "LowCmd has no stamp"),
        ("panda.urdf", "time_mode:=realtime", "has no joint 'FR_hip_joint'"),
    ],
)
def test_parameters_that_do_not_fit_unitree_topics_are_refused_at_the_start(
    simulate, robot, word, said
):
    words = ("--ros-args", "-p", "strict:=false", "-p", "unitree:=go2", "-p", word)
    node = simulate(robots.find(robot), *words, wait=False)
    assert node.process.wait(300.0) == 2
    assert said in node.text()


def test_the_joints_move_at_constant_speed_to_the_default_pose_before_the_policy_acts():
    begun, pose = np.array([1.0, -1.0]), np.array([0.0, 1.0])
    stamps = (5.0, 5.02, 5.04, 9.0, 9.01, 9.06)  # states between 5.04 s and 9 s are lost
    states = [JointsState(round(t * NANOSECONDS), begun + t, pose) for t in stamps]
    rise, first = Rise(pose, 0.14), states[0].position
    found = [rise.target(state) for state in states[:-1]]
    share = np.array([0.0, 0.02, 0.04, 0.09, 0.1]) / 0.14
    np.testing.assert_allclose(found, first + np.outer(share, pose - first))
    assert rise.target(states[-1]) is None
    again = replace(states[1], stamp=0)  # as after a reset of time
    np.testing.assert_array_equal(rise.target(again), again.position)
    assert Rise(pose, 0.0).target(again) is None


def test_a_policy_lets_the_robot_trot_by_lowcmd(dog, policy_node, peer, tmp_path):
    it = dog("start:=held", "real_time_factor:=0.1", crouch=0.1)  # slow: answers may be late
    path = networks.trot(tmp_path)
    commands = peer.collect(go.LowCmd, "lowcmd")
    node = policy_node(path, "-p", "unitree:=go2", "-p", "start_duration:=0.5")
    begun = len(it.states)
    peer.until(lambda: it.states[-1].motor_state[0].mode == 1)
    peer.until(lambda: len(it.states) > begun + 900)
    seen = np.array([[motor.q for motor in one.motor_state[:12]] for one in it.states[-500:]])
    assert np.ptp(seen[:, 1]) > 0.1  # a thigh swings
    assert abs(it.states[-1].imu_state.rpy[0]) < 0.3  # the robot has not fallen
    assert "refused" not in it.node.text()
    peer.until(lambda: commands)
    assert commands[-1].crc == bitwise_crc(commands[-1])
    motor = commands[-1].motor_cmd[4]
    spec = read_policy(path)
    k = spec.joints.index(QUADRUPED[4])
    assert motor.mode == 1
    assert (motor.kp, motor.kd) == pytest.approx((spec.stiffness[k], spec.damping[k]))
    assert commands[-1].motor_cmd[12].mode == 0
    # commands begin near the current position and change slowly; the first may be lost
    calf = np.array([one.motor_cmd[2].q for one in commands[:100]])
    assert it.pose[2] - 0.01 < calf[0] < it.pose[2] + 0.1
    assert 0.0 < np.diff(calf).max() < 0.01
    # when the policy ends, the motors only damp, and the robot sinks
    stood = it.q()[2:12:3].mean()
    node.end_well()
    peer.until(lambda: commands[-1].motor_cmd[4].kp == 0.0)
    motor = commands[-1].motor_cmd[4]
    assert (motor.mode, motor.q, motor.dq, motor.kd) == (1, pytest.approx(NO_POSITION), 0.0, 3.0)
    peer.until(lambda: it.q()[2:12:3].mean() < stood - 0.2)
    assert commands[-1].crc == bitwise_crc(commands[-1])
