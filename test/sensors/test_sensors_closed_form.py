# SPDX-License-Identifier: Apache-2.0
"""Sensors agree with closed forms for weights, centrifugal forces, pushes and contact."""

import numpy as np
import pytest
from snapshot import snapshot
from support.mechanisms import four_bar

import rbdyn_ros as rb
from rbdyn_ros.actuators import ActuatorSpec
from rbdyn_ros.description import robot_files
from rbdyn_ros.description.source import read
from rbdyn_ros.dynamics.payload import with_payload
from rbdyn_ros.sensors import ContactSpec, ForceTorqueSpec, ImuSpec, JointTorqueSpec, Suite

G = 9.81
PERIOD = 1_000_000

LEG = """<robot name="leg">
  <link name="leg"><inertial><origin xyz="0 0 0.2"/><mass value="3"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <joint name="ankle" type="fixed"><origin xyz="0 0 -0.1"/><parent link="leg"/>
    <child link="sole"/></joint>
  <link name="sole"><inertial><mass value="0.5"/>
    <inertia ixx="0.002" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.002"/></inertial>
    <collision><geometry><box size="0.3 0.2 0.04"/></geometry></collision></link>
</robot>"""

#: An arm of 0.5 m that turns about a vertical axis, with a tool of 2 kg fixed to its end.
TURNTABLE = """<robot name="turntable">
  <link name="base"/>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/>
    <axis xyz="0 0 1"/></joint>
  <link name="arm"><inertial><origin xyz="0.25 0 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="mount" type="fixed"><origin xyz="0.5 0 0" rpy="0 0 1.5707963267948966"/>
    <parent link="arm"/><child link="tool"/></joint>
  <link name="tool"><inertial><origin xyz="0 -0.1 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
</robot>"""


@pytest.fixture
def arm():
    path = "config/robots/seven_dof_arm.urdf"
    return rb.load_urdf(path), read(path)


@pytest.fixture
def turntable():
    return rb.load_urdf(TURNTABLE), robot_files.read(TURNTABLE)


def readings(robot, specs, state, **more):
    m, description = robot
    return [reading for _, reading in Suite(m, description, specs, PERIOD, **more).read(state)]


def test_an_imu_at_rest_measures_g_upwards(arm):
    """At qpos0 the z axis of the bundled arm's tool points down."""
    links = ("base_link", "tool_flange")
    base, tool = readings(arm, [ImuSpec(name, name) for name in links], snapshot(arm[0]))
    np.testing.assert_allclose(base.linear_acceleration, [0.0, 0.0, G], atol=1e-12)
    np.testing.assert_allclose(base.orientation, [1.0, 0.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(tool.linear_acceleration, [0.0, 0.0, -G], atol=1e-12)
    np.testing.assert_allclose(tool.angular_velocity, 0.0, atol=1e-15)


def test_a_falling_imu_reads_zero():
    description = robot_files.read(LEG)
    m = rb.load_urdf(LEG, floating_base=True)
    state = snapshot(m, qacc=np.array([0.0, 0.0, -G, 0.0, 0.0, 0.0]))
    specs = [ImuSpec("imu", "sole"), ForceTorqueSpec("ankle", "ankle", "sole")]
    imu, wrench = readings((m, description), specs, state)
    np.testing.assert_allclose(imu.linear_acceleration, 0.0, atol=1e-12)
    np.testing.assert_allclose([*wrench.force, *wrench.torque], 0.0, atol=1e-12)


@pytest.mark.parametrize("blocked", [False, True])
def test_sensors_follow_the_gravity_of_their_model(arm, blocked):
    """On the moon, a falling IMU reads zero, and an IMU at rest reads the moon's gravity."""
    m = rb.load_urdf(LEG, floating_base=True)
    specs = [ImuSpec("imu", "sole"), ForceTorqueSpec("ankle", "ankle", "sole")]
    falling = Suite(m, robot_files.read(LEG), specs, PERIOD)
    resting = Suite(*arm, [ImuSpec("imu", "base_link"), ImuSpec("tool", "tool_flange")], PERIOD)
    held = np.full(arm[0].nv, blocked)
    resting.measure([0], snapshot(arm[0], blocked=held))
    m.opt.gravity = arm[0].opt.gravity = (0.0, 0.0, -1.62)
    (_, imu), (_, wrench) = falling.read(snapshot(m, rb.make_data(m)))
    np.testing.assert_allclose(imu.linear_acceleration, 0.0, atol=1e-12)
    np.testing.assert_allclose([*wrench.force, *wrench.torque], 0.0, atol=1e-12)
    (_, base), (_, tool) = resting.read(snapshot(arm[0], blocked=held))
    np.testing.assert_allclose(base.linear_acceleration, [0.0, 0.0, 1.62], atol=1e-12)
    np.testing.assert_allclose(tool.linear_acceleration, [0.0, 0.0, -1.62], atol=1e-6)


def test_sensors_on_a_turntable_measure_the_centrifugal_force(turntable):
    """The tool is 0.5 m from the axis; its x axis points along its motion, and y to the axis."""
    m, _ = turntable
    speed, rise = 3.0, 0.7
    state = snapshot(m, qvel=np.array([speed]), qacc=np.array([rise]))
    specs = [ImuSpec("imu", "tool"), ForceTorqueSpec("ft", "mount", "tool")]
    imu, ft = readings(turntable, specs, state)
    np.testing.assert_allclose(imu.angular_velocity, [0.0, 0.0, speed], atol=1e-12)
    expected = [0.5 * rise, 0.5 * speed**2, G]
    np.testing.assert_allclose(imu.linear_acceleration, expected, atol=1e-12)
    # the tool's centre of mass is 0.6 m from the axis, and its force on the arm is m (g - a)
    force = -2.0 * np.array([0.6 * rise, 0.6 * speed**2, G])
    np.testing.assert_allclose(ft.force, force, atol=1e-12)
    moment = np.cross([0.0, -0.1, 0.0], force) - [0.0, 0.0, 0.01 * rise]
    np.testing.assert_allclose(ft.torque, moment, atol=1e-12)


def test_a_fixed_joint_measures_the_weight_in_both_directions(turntable):
    m, _ = turntable
    down = ForceTorqueSpec("down", "mount", "tool")
    up = ForceTorqueSpec("up", "mount", "tool", "parent_to_child")
    at_arm = ForceTorqueSpec("arm", "mount", "arm")
    shown, reverse, moved = readings(turntable, [down, up, at_arm], snapshot(m))
    np.testing.assert_allclose(shown.force, [0.0, 0.0, -2.0 * G], atol=1e-12)
    np.testing.assert_allclose(shown.torque, [0.2 * G, 0.0, 0.0], atol=1e-12)
    np.testing.assert_array_equal(reverse.force, -shown.force)
    np.testing.assert_array_equal(reverse.torque, -shown.torque)
    # the weight of 2 kg acts 0.6 m from the arm's origin, and is measured in the arm's axes
    np.testing.assert_allclose(moved.force, [0.0, 0.0, -2.0 * G], atol=1e-12)
    np.testing.assert_allclose(moved.torque, [0.0, 2.0 * 0.6 * G, 0.0], atol=1e-12)


def test_a_sensor_under_the_base_measures_the_weight_of_the_robot():
    text = TURNTABLE.replace(
        '<link name="base"/>',
        """<link name="ground"/>
      <joint name="foundation" type="fixed"><parent link="ground"/><child link="base"/></joint>
      <link name="base"><inertial><mass value="4"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>""",
    )
    robot = rb.load_urdf(text), robot_files.read(text)
    spec = ForceTorqueSpec("scale", "foundation", "base")
    (shown,) = readings(robot, [spec], snapshot(robot[0]))
    np.testing.assert_allclose(shown.force, [0.0, 0.0, -7.0 * G], atol=1e-12)
    np.testing.assert_allclose(shown.torque, [0.0, (0.25 + 1.2) * G, 0.0], atol=1e-12)


def test_a_load_cell_weighs_the_cube_on_its_plate():
    """The plate is fixed to the world, and the cell's frame is rotated about the vertical."""
    turn = 0.3
    system = (
        rb.SystemBuilder("scale", base="ground")
        .body("plate", rb.shapes.box((0.4, 0.4, 0.02), mass=2.0))
        .joint("cell", "fixed", "ground", "plate", xyz=(0.0, 0.0, 0.5), rpy=(0.0, 0.0, turn))
        .geometry("top", "plate", rb.Box((0.4, 0.4, 0.02)))
        .body("cube", rb.shapes.box((0.1, 0.1, 0.1), mass=3.0))
        .joint("loose", "floating", "ground", "cube")
        .geometry("cube", "cube", rb.Box((0.1, 0.1, 0.1)))
    )
    m = rb.build(system)
    d = rb.make_data(m)
    d.qpos[:3] = 0.1, 0.0, 0.56
    rb.step(m, d, 500)
    specs = [ForceTorqueSpec("cell", "cell", "plate"), ContactSpec("top", "plate")]
    suite = Suite(m, system.description(), specs, PERIOD)
    assert suite.notes == [
        "sensor 'top' never reports contact: link 'plate' is fixed to the world"
    ]
    (_, shown), _ = suite.read(snapshot(m, d))
    np.testing.assert_allclose(shown.force, [0.0, 0.0, -5.0 * G], atol=1e-6)
    about = 3.0 * G * 0.1
    expected = [about * np.sin(turn), about * np.cos(turn), 0.0]
    np.testing.assert_allclose(shown.torque, expected, atol=1e-6)


@pytest.mark.parametrize(("pushes", "share"), [("child", 1.0), ("parent", 0.0)])
def test_a_push_acts_on_the_declared_side_of_a_fixed_joint(turntable, pushes, share):
    """A push acts at the common centre of mass of arm and tool, at x = (0.25 + 2 0.6) / 3."""
    m, _ = turntable
    xfrc = np.zeros((m.nbody, 6))
    xfrc[1] = [1.0, 2.0, 5.0, 0.1, 0.2, 0.3]
    spec = ForceTorqueSpec("ft", "mount", "arm", pushes=pushes)
    suite = Suite(*turntable, [spec], PERIOD)
    (_, idle), (_, pushed) = (
        suite.measure([0], state)[0] for state in (snapshot(m), snapshot(m, xfrc=xfrc))
    )
    at_axle = xfrc[1, 3:] + np.cross([1.45 / 3.0, 0.0, 0.0], xfrc[1, :3])
    np.testing.assert_allclose(pushed.force - idle.force, share * xfrc[1, :3], atol=1e-12)
    np.testing.assert_allclose(pushed.torque - idle.torque, share * at_axle, atol=1e-12)


@pytest.mark.parametrize(("pushes", "share"), [("child", 0.0), ("parent", -1.0)])
def test_a_push_acts_on_the_declared_side_of_a_reversed_joint(pushes, share):
    """The arm is the joint's child but nearer to the base, so its force has the opposite sign."""
    system = (
        rb.SystemBuilder("backwards", base="ground")
        .body("arm", rb.shapes.box((0.4, 0.1, 0.1), mass=1.0))
        .body("tool", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
        .joint("turn", "revolute", "ground", "arm", axis=(0, 0, 1))
        .joint("mount", "fixed", "tool", "arm", xyz=(-0.2, 0.0, 0.0))
    )
    m, description = rb.build(system), system.description()
    spec = ForceTorqueSpec("ft", "mount", "arm", pushes=pushes)
    suite = Suite(m, description, [spec], PERIOD)
    xfrc = np.zeros((m.nbody, 6))
    xfrc[1, :3] = [1.0, 2.0, 5.0]
    (_, idle), (_, pushed) = (
        suite.measure([0], state)[0] for state in (snapshot(m), snapshot(m, xfrc=xfrc))
    )
    np.testing.assert_allclose(idle.force, [0.0, 0.0, G], atol=1e-12)
    np.testing.assert_allclose(pushed.force - idle.force, share * xfrc[1, :3], atol=1e-12)


def test_a_push_on_a_body_is_measured_at_its_joint(turntable):
    m, _ = turntable
    xfrc = np.zeros((m.nbody, 6))
    xfrc[1, 2] = 5.0
    spec = ForceTorqueSpec("ft", "turn", "arm")
    (shown,) = readings(turntable, [spec], snapshot(m, xfrc=xfrc))
    np.testing.assert_allclose(shown.force, [0.0, 0.0, 5.0 - 3.0 * G], atol=1e-12)


def test_sensors_follow_changes_of_payload_and_gravity(turntable):
    m, description = turntable
    spec = ForceTorqueSpec("ft", "mount", "tool")
    suite = Suite(m, description, [spec], PERIOD)
    loads = [("tool", 1.5, (0.0, 0.0, 0.2), (0.0,) * 6), ("arm", 9.0, (0.1, 0.0, 0.0), (0.0,) * 6)]
    plant = m
    for load in loads:
        plant = with_payload(plant, *load)
    plant.opt.gravity = (0.0, 0.0, -1.62)
    suite.use(plant, loads)
    ((_, shown),) = suite.measure([0], snapshot(m))
    np.testing.assert_allclose(shown.force, [0.0, 0.0, -3.5 * 1.62], atol=1e-12)
    suite.use(m)
    ((_, shown),) = suite.measure([0], snapshot(m))
    np.testing.assert_allclose(shown.force, [0.0, 0.0, -2.0 * G], atol=1e-12)


def contact_of(m, d):
    """Return d.cfrc_contact as force and torque (nbody, 6) at xipos in world axes."""
    force, moment = d.cfrc_contact[:, 3:], d.cfrc_contact[:, :3]
    arm = d.subtree_com[m.body_rootid] - d.xipos
    return np.hstack([force, moment + np.cross(arm, force)])


def test_the_contact_sensor_of_a_standing_leg_measures_its_weight():
    m = rb.load_urdf(LEG, floating_base=True, contact=True)
    description = robot_files.read(LEG, contact=True)
    d = rb.make_data(m)
    rb.step(m, d, 3000)
    rb.forward(m, d)
    specs = [
        ContactSpec("foot", "sole"),
        ContactSpec("dull", "sole", threshold=40.0),
        # contact acts on the sole whatever `pushes` is, because only the sole has a geometry
        ForceTorqueSpec("ankle", "ankle", "sole", pushes="parent"),
        ImuSpec("imu", "leg"),
    ]
    state = snapshot(m, d, contact=contact_of(m, d))
    foot, dull, ankle, imu = readings((m, description), specs, state)
    np.testing.assert_allclose(foot.force, [0.0, 0.0, 3.5 * G], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(foot.torque, 0.0, atol=1e-3)
    np.testing.assert_allclose(ankle.force, [0.0, 0.0, 3.0 * G], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(imu.linear_acceleration, [0.0, 0.0, G], rtol=1e-3, atol=1e-3)
    assert foot.touching
    assert not dull.touching


def test_the_contact_sensors_of_a_robot_in_the_air_measure_nothing():
    m = rb.load_urdf(LEG, floating_base=True, contact=True)
    robot = m, robot_files.read(LEG, contact=True)
    (foot,) = readings(robot, [ContactSpec("foot", "sole")], snapshot(m))
    assert not foot.touching
    assert foot.force.tolist() == [0.0, 0.0, 0.0]


def test_the_bearings_of_a_loop_carry_its_weight():
    """The two ground joints of a resting four-bar carry its whole weight."""
    system = four_bar(0.1, 0.25, 0.2, 0.3)
    m, description = rb.build(system), system.description()
    # with one motor the joint that closes the loop carries a load
    m = m.replaced(jnt_actuated=[1, 0, 0])
    m.opt.gravity = (0.0, 0.0, -G)
    d = rb.make_data(m)
    d.qpos[:] = rb.assemble(m, m.qpos0)
    d.qacc[:] = 0.0
    rb.inverse(m, d)
    d.qfrc_applied[:] = d.qfrc_inverse
    rb.forward(m, d)
    np.testing.assert_allclose(d.qacc, 0.0, atol=1e-9)
    specs = [
        ForceTorqueSpec("left", "A", "ground"),
        ForceTorqueSpec("right", "D", "ground"),
        ForceTorqueSpec("loop", "C", "rocker", "parent_to_child"),
        JointTorqueSpec("hinge", "C"),
    ]
    left, right, loop, hinge = readings((m, description), specs, snapshot(m, d))
    weight = [0.0, 0.0, -G * m.body_mass.sum()]
    np.testing.assert_allclose(left.force + right.force, weight, atol=1e-9)
    rb.joint_forces(m, d)
    assert np.linalg.norm(loop.force) > 0.1
    assert abs(hinge.effort) < 1e-9  # this joint has no motor
    np.testing.assert_allclose(np.linalg.norm(loop.force), np.linalg.norm(d.loop_force[0, 3:]))
    # the forces of the ground and the coupler on the rocker balance its weight
    body = m.body_id("rocker")
    R = d.xmat[body].reshape(3, 3)
    rest = R @ loop.force - right.force + [0.0, 0.0, -G * m.body_mass[body]]
    np.testing.assert_allclose(rest, 0.0, atol=1e-9)


def test_bearings_of_a_loop_carry_the_limited_torque_of_its_actuator():
    """The motor gives at most 0.2 N m before a gear of 3, although 2 N m are commanded."""
    system = four_bar(0.1, 0.25, 0.2, 0.3)
    m = rb.build(system)
    spec = ActuatorSpec("A", gear=3.0, armature=1e-5, damping=1e-3, torque_speed=((0.0, 0.2),))
    plant = rb.with_actuators(m, [spec])
    d = rb.make_data(plant)
    d.qfrc_applied[m.jnt_dofadr[m.jnt_id("A")]] = 2.0
    rb.step(plant, d, 100)
    rb.forward(plant, d)
    rb.joint_forces(plant, d)
    effort = m.jnt_axis[m.jnt_id("A")] @ d.jnt_force[m.jnt_id("A"), :3]
    specs = [
        ForceTorqueSpec("loop", "C", "rocker", "parent_to_child"),
        JointTorqueSpec("torque", "A"),
    ]
    for loaded in (m, plant):
        suite = Suite(loaded, system.description(), specs, PERIOD)
        suite.use(plant)
        loop, torque = (reading for _, reading in suite.read(snapshot(plant, d)))
        force = np.linalg.norm(d.loop_force[0, 3:])
        np.testing.assert_allclose(np.linalg.norm(loop.force), force, rtol=1e-9)
        np.testing.assert_allclose(torque.effort, effort, rtol=1e-9)
    assert abs(torque.effort) < 0.7  # 0.2 N m at the motor, times the gear, less friction


def test_every_joint_of_the_arm_agrees_with_pinocchio(arm):
    pin = pytest.importorskip("pinocchio")
    m, description = arm
    model = pin.buildModelFromUrdf("config/robots/seven_dof_arm.urdf")
    data = model.createData()
    rng = np.random.default_rng(3)
    q, v, a = rng.uniform(-1.5, 1.5, (3, m.nv))
    pin.rnea(model, data, q, v, a)
    pin.forwardKinematics(model, data, q, v, a)
    joints = [joint for joint in description.joints if joint.type != "fixed"]
    specs = [ForceTorqueSpec(j.name, j.name, j.child, "parent_to_child") for j in joints]
    state = snapshot(m, qpos=q, qvel=v, qacc=a)
    for spec, shown in zip(specs, readings(arm, specs, state), strict=True):
        theirs = data.f[model.getJointId(spec.joint)]
        np.testing.assert_allclose(shown.force, theirs.linear, atol=1e-10)
        np.testing.assert_allclose(shown.torque, theirs.angular, atol=1e-10)
    (imu,) = readings(arm, [ImuSpec("imu", "tool_flange")], state)
    frame = model.getFrameId("tool_flange")
    local = pin.ReferenceFrame.LOCAL
    pin.updateFramePlacements(model, data)
    speed = pin.getFrameVelocity(model, data, frame, local)
    rate = pin.getFrameClassicalAcceleration(model, data, frame, local)
    R = data.oMf[frame].rotation
    np.testing.assert_allclose(imu.angular_velocity, speed.angular, atol=1e-10)
    np.testing.assert_allclose(
        imu.linear_acceleration, rate.linear + R.T @ [0.0, 0.0, G], atol=1e-10
    )
