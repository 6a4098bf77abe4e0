# SPDX-License-Identifier: Apache-2.0
"""All sensor readings of a loop's state belong to one evaluation of the forces.

Readings of different sensors satisfy Newton's law for each body. The next step has the measured
acceleration if the efforts stay the same.
"""

from itertools import pairwise

import numpy as np
import pytest
from running import WALKING, bundled_arm, commanded, walk
from support.mechanisms import HINGE
from support.mujoco_twin import mujoco

import rbdyn_ros as rb
from rbdyn_ros.description import robot_files
from rbdyn_ros.description.source import read
from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.share import bundled_robot

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime.settings import STANDS
from rbdyn_ros.runtime.types import EFFORT, POSITION, Command, Faults
from rbdyn_ros.sensors import ContactSpec, ForceTorqueSpec, ImuSpec, JointTorqueSpec, Suite

G, H = 9.81, 1e-3
CRANK, COUPLER, ROCKER, GROUND = 0.1, 0.25, 0.2, 0.3

BOX = '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.02"/></inertial>'
#: A leg with a sole, its only geometry; the frame "com" is at the centre of mass of both links.
LEG = f"""<robot name="leg">
  <link name="leg"><inertial><origin xyz="0 0 0.2"/><mass value="3"/>{BOX}</link>
  <joint name="ankle" type="fixed"><origin xyz="0 0 -0.1"/><parent link="leg"/>
    <child link="sole"/></joint>
  <link name="sole"><inertial><mass value="0.5"/>{BOX}
    <collision><geometry><box size="0.3 0.2 0.04"/></geometry></collision></link>
  <joint name="middle" type="fixed"><origin xyz="0 0 {0.55 / 3.5}"/><parent link="leg"/>
    <child link="com"/></joint>
  <link name="com"/>
</robot>"""

ARM = """<mujoco model="arm"><option gravity="0.3 -0.2 -9.7" timestep="0.001"/>
  <worldbody><body name="upper"><joint name="a" axis="0 1 0"/>
    <geom type="box" size="0.05 0.05 0.2" pos="0.02 0 0.2" mass="2"/>
    <body name="fore" pos="0 0 0.4"><joint name="b" axis="1 0 0"/>
      <geom type="box" size="0.03 0.04 0.15" pos="0 0 0.15" mass="1"/>
      <body name="hand" pos="0 0 0.3"><joint name="c" axis="0 1 0"/>
        <geom type="box" size="0.03 0.06 0.05" pos="0 0.01 0.05" mass="0.5"/>
        <site name="tip"/></body></body></body></worldbody>
  <sensor><accelerometer site="tip"/><gyro site="tip"/><force site="tip"/><torque site="tip"/>
  </sensor></mujoco>"""


def four_bar(**of_crank):
    """Return a four-bar whose links have their origins at their centres of mass."""
    sizes = {"crank": CRANK, "coupler": COUPLER, "rocker": ROCKER}
    near = {name: rb.pose((-size / 2, 0.0, 0.0)) for name, size in sizes.items()}
    far = {name: rb.pose((size / 2, 0.0, 0.0)) for name, size in sizes.items()}
    system = rb.SystemBuilder("four_bar", base="ground")
    for name, size in sizes.items():
        system.body(name, rb.shapes.box((size, 0.02, 0.02), mass=10.0 * size))
    for joint, parent, child, place, more in (
        ("A", "ground", "crank", rb.pose(), of_crank),
        ("B", "crank", "coupler", far["crank"], {}),
        ("D", "ground", "rocker", rb.pose((GROUND, 0.0, 0.0)), {}),
    ):
        ends = {"origin": place, "child_origin": near[child]}
        system.joint(joint, "revolute", parent, child, **ends, **HINGE, **more)
    ends = {"X_P": far["coupler"], "X_S": far["rocker"]}
    return system.loop("C", "revolute", "coupler", "rocker", **ends, **HINGE)


#: For each bar its joints, each with the direction in which the sensor measures.
BEARINGS = {
    "crank": (("A", "parent_to_child"), ("B", "child_to_parent")),
    "coupler": (("B", "parent_to_child"), ("C", "child_to_parent")),
    "rocker": (("D", "parent_to_child"), ("C", "parent_to_child")),
}


@pytest.mark.parametrize("driven", [False, True], ids=["efforts", "actuator"])
def test_newtons_law_holds_for_each_bar_of_a_loop_in_motion_and_at_a_limit(start, driven):
    """In each state the forces of a bar's joints equal the bar's mass times its specific force.

    Hinges without a motor transmit no torque, and the motor's hinge transmits the effort.
    """
    system = four_bar(limit=(-0.5, 0.9))
    m = rb.build(system)
    m.opt.gravity = (0.0, 0.0, -G)
    if driven:
        motor = rb.ActuatorSpec("A", gear=3.0, armature=1e-4, torque_speed=((0.0, 1.5),))
        m = rb.with_actuators(m, [motor])
    specs = [ImuSpec(f"{name}_imu", name) for name in BEARINGS]
    specs += [
        ForceTorqueSpec(f"{name}_{joint}", joint, name, side)
        for name, joints in BEARINGS.items()
        for joint, side in joints
    ]
    specs += [JointTorqueSpec(f"torque_{joint}", joint) for joint in "ABD"]
    suite = Suite(m, system.description(), specs, 1_000_000)
    loop = start(m, rb.assemble(m, m.qpos0), **WALKING)
    loop.orders.command(commanded(0, EFFORT, effort=3.0))
    masses = {name: m.body_mass[m.body_id(name)] for name in BEARINGS}
    sizes = []
    for state in walk(loop, 300):
        shown = {specs[k].name: reading for k, reading in suite.read(state)}
        for name, joints in BEARINGS.items():
            forces = sum(shown[f"{name}_{joint}"].force for joint, _ in joints)
            inertial = masses[name] * shown[f"{name}_imu"].linear_acceleration
            size = np.linalg.norm(inertial)
            np.testing.assert_allclose(forces, inertial, atol=1e-9 * (1.0 + size))
            sizes.append(size)
        torques = [shown[f"torque_{joint}"].effort for joint in "ABD"]
        np.testing.assert_allclose(torques[1:], 0.0, atol=1e-9 * (1.0 + size))
        if not driven and state.qpos[0] < 0.8:
            assert torques[0] == pytest.approx(3.0, abs=1e-9)
    assert max(sizes) > 20.0 * np.median(sizes), "the crank has not hit its limit"


def test_an_imu_and_a_foot_measure_the_landing_of_a_leg(start):
    """The next step has the measured acceleration; ground and ankle carry the two masses."""
    m = rb.load_urdf(LEG, floating_base=True, contact=True)
    specs = [
        ImuSpec("root", "leg"),
        ImuSpec("com", "com"),
        ImuSpec("sole", "sole"),
        ContactSpec("foot", "com"),
        ForceTorqueSpec("ankle", "ankle", "sole", "parent_to_child"),
    ]
    suite = Suite(m, robot_files.read(LEG, contact=True), specs, 1_000_000)
    at = rb.pose((0.0, 0.0, 0.15), (0.0, 0.1, 0.0))
    loop = start(m, np.array([*at.pos, *at.quat]), **WALKING)
    states = walk(loop, 500)
    touched = 0
    for state, after in pairwise(states):
        root, com, sole, foot, ankle = (reading for _, reading in suite.read(state))
        rise = (after.qvel[:3] - state.qvel[:3]) / H + [0.0, 0.0, G]
        size = 1.0 + np.linalg.norm(rise)
        lengths = [np.linalg.norm(root.linear_acceleration), np.linalg.norm(rise)]
        # the next step also turns the velocity of the root, a difference of order h
        np.testing.assert_allclose(*lengths, atol=2e-3 * size)
        np.testing.assert_allclose(foot.force, 3.5 * com.linear_acceleration, atol=1e-8 * size)
        carried = 0.5 * sole.linear_acceleration - foot.force
        np.testing.assert_allclose(ankle.force, carried, atol=1e-8 * size)
        touched += foot.touching
    assert 50 < touched < 450


def test_readings_under_changing_efforts_equal_sensors_of_mujoco(start):
    """MuJoCo gets the state of the loop and the efforts of the last tick."""
    m, description = rb.load_urdf(ARM), robot_files.read(ARM)
    theirs = mujoco.MjModel.from_xml_string(ARM)
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(theirs)
    specs = [
        ImuSpec("imu", "hand"),
        ForceTorqueSpec("ft", "c", "hand", "parent_to_child"),
        JointTorqueSpec("torque", "b"),
    ]
    suite = Suite(m, description, specs, 1_000_000)
    loop = start(m, **WALKING)
    rng = np.random.default_rng(0)
    speeds = []
    for _ in range(100):
        efforts = rng.uniform(-5.0, 5.0, m.nv)
        loop.orders.command(Command.of_efforts(np.arange(m.nv), efforts))
        (state,) = walk(loop, 1)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = state.qpos, state.qvel, efforts
        mujoco.mj_forward(theirs, data)
        imu, ft, torque = (reading for _, reading in suite.read(state))
        shown = [imu.linear_acceleration, imu.angular_velocity, ft.force, ft.torque]
        np.testing.assert_allclose(np.concatenate(shown), data.sensordata, rtol=1e-8, atol=1e-8)
        assert torque.effort == pytest.approx(efforts[1], abs=1e-9)
        speeds.append(np.abs(state.qvel).max())
    assert max(speeds) > 1.0


HOLDS = {
    "brakes": {"held": np.full(7, STANDS)},
    "hold": {"on_timeout": "hold"},
    "gravity": {"on_timeout": "gravity"},
    "stuck": {"stuck": True},
}


@pytest.mark.parametrize("name", HOLDS)
def test_an_accelerometer_on_a_held_arm_measures_g_from_the_first_state_on(start, name):
    m, description = bundled_arm(), read(bundled_robot("seven_dof_arm"))
    suite = Suite(m, description, [ImuSpec("imu", "tool_flange")], 1_000_000)
    settings = dict(HOLDS[name])
    stuck = settings.pop("stuck", False)
    loop = start(m, np.full(7, 0.3), **WALKING | settings)
    if stuck:
        faults = Faults.none(7)
        faults.stuck[:] = True
        loop.plant.set_faults(faults)
        walk(loop, 1)
    else:
        states = [loop.readout.latest(), *walk(loop, 3)]
        loop.orders.command(commanded(np.arange(7), POSITION, position=0.5))
        walk(loop, 30)
        assert np.abs(loop.readout.latest().qvel).max() > 0.01
    loop.plant.reset()
    states = [] if stuck else states
    states += [loop.readout.latest(), *walk(loop, 3)]
    for state in states:
        ((_, shown),) = suite.measure([0], state)
        assert np.linalg.norm(shown.linear_acceleration) == pytest.approx(G, abs=1e-6)


def test_an_accelerometer_on_a_falling_robot_measures_zero_even_after_a_reset(start):
    m = rb.load_urdf(LEG, floating_base=True)
    suite = Suite(m, robot_files.read(LEG), [ImuSpec("imu", "com")], 1_000_000)
    loop = start(m, **WALKING)
    states = [loop.readout.latest(), *walk(loop, 5)]
    loop.plant.reset()
    states += [loop.readout.latest(), *walk(loop, 1)]
    for state in states:
        ((_, shown),) = suite.measure([0], state)
        np.testing.assert_allclose(shown.linear_acceleration, 0.0, atol=1e-12)


def test_a_reading_depends_only_on_its_state(start):
    """Earlier readings of other states change no bit, although the robot has contact."""
    m = rb.load_urdf(LEG, floating_base=True, contact=True)
    specs = [ImuSpec("imu", "com"), ForceTorqueSpec("ankle", "ankle", "sole")]
    description = robot_files.read(LEG, contact=True)
    loop = start(m, np.array([0.0, 0.0, 0.13, 1.0, 0.0, 0.0, 0.0]), **WALKING)
    states = walk(loop, 100)
    used = Suite(m, description, specs, 1_000_000)
    for state in states:
        used.measure([0, 1], state)
    for state in states[::10]:
        fresh = Suite(m, description, specs, 1_000_000)
        for (_, a), (_, b) in zip(
            used.measure([0, 1], state), fresh.measure([0, 1], state), strict=True
        ):
            assert repr(a) == repr(b)
