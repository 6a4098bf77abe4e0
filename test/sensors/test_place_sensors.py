# SPDX-License-Identifier: Apache-2.0
"""Magnetometer, GPS, pose and joint torque sensors on moving robots agree with closed forms."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation
from snapshot import snapshot
from support.states import random_qpos
from support.trees import auto_tree

import rbdyn_ros as rb
from rbdyn_ros.description import robot_files
from rbdyn_ros.description.checks.check import check
from rbdyn_ros.errors import DescriptionError
from rbdyn_ros.sensors import (
    GpsSpec,
    JointTorqueSpec,
    MagnetometerSpec,
    NoiseSpec,
    PoseSpec,
    Suite,
    read_sensors_text,
    sensors_of,
)
from rbdyn_ros.sensors.readings import RADIUS, earth_axes, earth_point, geodetic, geodetic_of_enu

PERIOD = 1_000_000
#: A lift carries an arm of 1 m, which turns about a tilted axis and has a tool at its end.
CRANE = """<robot name="crane">
  <link name="base"/>
  <joint name="lift" type="prismatic"><origin xyz="0.1 0.2 0.3"/><parent link="base"/>
    <child link="car"/><axis xyz="0 0 2"/><dynamics damping="3" friction="1"/>
    <limit lower="-2" upper="2" effort="900" velocity="9"/></joint>
  <link name="car"><inertial><origin xyz="0.1 0 0"/><mass value="4"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="turn" type="continuous"><origin rpy="0.3 0 0"/><parent link="car"/>
    <child link="arm"/><axis xyz="0 1 0"/><dynamics damping="0.5"/>
    <limit effort="100" velocity="9"/></joint>
  <link name="arm"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.02"/></inertial></link>
  <joint name="mount" type="fixed"><origin xyz="1 0 0" rpy="0 0 1.2"/><parent link="arm"/>
    <child link="tool"/></joint>
  <link name="tool"/>
</robot>"""
Q, V, A = np.array([0.7, 0.9]), np.array([0.4, -1.3]), np.array([2.0, 3.0])


@pytest.fixture
def crane():
    return rb.load_urdf(CRANE), robot_files.read(CRANE)


def read(robot, specs, **more):
    m, description = robot
    state = snapshot(m, qpos=Q, qvel=V, qacc=A)
    return [reading for _, reading in Suite(m, description, specs, PERIOD, **more).read(state)]


def tool():
    """Return the position and the Rotation of the tool by the closed form."""
    R = Rotation.from_euler("x", 0.3) * Rotation.from_euler("y", Q[1])
    return np.array([0.1, 0.2, 0.3 + Q[0]]) + R.apply([1.0, 0.0, 0.0]), R * Rotation.from_euler(
        "z", 1.2
    )


def test_a_magnetometer_measures_the_field_of_the_earth_in_its_own_frame(crane):
    field = (21e-6, -3e-6, -44e-6)
    (found,) = read(crane, [MagnetometerSpec("mag", "tool", earth_field=field)])
    wanted = tool()[1].inv().apply(field)
    np.testing.assert_allclose(found.magnetic_field, wanted, rtol=0.0, atol=1e-19)


def test_a_pose_sensor_measures_the_pose_in_the_world_or_in_a_link(crane):
    specs = [PoseSpec("here", "tool"), PoseSpec("there", "base", reference="tool")]
    here, there = read(crane, specs)
    p, R = tool()
    np.testing.assert_allclose(here.position, p, rtol=0.0, atol=1e-14)
    turned = Rotation.from_quat(here.orientation[[1, 2, 3, 0]]).inv() * R
    assert turned.magnitude() < 1e-14
    np.testing.assert_allclose(there.position, -R.inv().apply(p), rtol=0.0, atol=1e-14)
    turned = Rotation.from_quat(there.orientation[[1, 2, 3, 0]]) * R
    assert turned.magnitude() < 1e-14


def test_a_joint_torque_sensor_does_not_measure_damping_and_friction(crane):
    """The expected efforts follow from Lagrange's equations.

    The lift accelerates all masses, and the arm is a pendulum about y. Damping and friction act
    inside the joints, and the sensors are behind the joints.
    """
    lift, turn = read(crane, [JointTorqueSpec("a", "lift"), JointTorqueSpec("b", "turn")])
    tilt, g = math.cos(0.3), 9.81
    c, s = math.cos(Q[1]), math.sin(Q[1])
    # the arm's centre of mass is at 0.5 (cos, 0, -sin), rotated by the tilt about x
    centre = 0.5 * tilt * (-c * A[1] + s * V[1] ** 2)
    assert lift.effort == pytest.approx(6.0 * (g + A[0]) + 2.0 * centre, abs=1e-12)
    inertia = 0.03 + 2.0 * 0.5**2
    pull = -2.0 * (g + A[0]) * 0.5 * tilt * c
    assert turn.effort == pytest.approx(inertia * A[1] + pull, abs=1e-12)


PLACES = [(48.137, 11.575, 519.0), (-33.9, 151.2, -5.0), (89.9999, -120.0, 0.0), (0.0, 180.0, 4e5)]


@pytest.mark.parametrize("place", PLACES)
def test_a_point_gives_back_its_latitude_longitude_and_height(place):
    """The formulas of the ellipsoid give the point, and geodetic() computes the place again."""
    a, f = 6378137.0, 1.0 / 298.257223563
    b = a * (1.0 - f)
    lat, lon = map(math.radians, place[:2])
    normal = a**2 / math.hypot(a * math.cos(lat), b * math.sin(lat))
    flat = (normal + place[2]) * math.cos(lat)
    z = (normal * (b / a) ** 2 + place[2]) * math.sin(lat)
    point = np.array([flat * math.cos(lon), flat * math.sin(lon), z])
    np.testing.assert_allclose(earth_point(*place), point, rtol=0.0, atol=2e-9)
    found = geodetic(point)
    assert found[0] == pytest.approx(place[0], abs=1e-13 * 180.0)
    assert math.remainder(found[1] - place[1], 360.0) == pytest.approx(0.0, abs=1e-12)
    assert found[2] == pytest.approx(place[2], abs=5e-9)


def test_a_gps_moves_along_meridian_and_parallel(crane):
    """The radii of curvature M and N of the ellipsoid predict small displacements."""
    spec = GpsSpec("gps", "tool", 48.137, 11.575, 519.0)
    (found,) = read(crane, [spec])
    east, north, up = tool()[0]
    e2 = 6.69437999014e-3
    sine = math.sin(math.radians(48.137))
    N = RADIUS / math.sqrt(1.0 - e2 * sine**2)
    M = N * (1.0 - e2) / (1.0 - e2 * sine**2)
    lat = 48.137 + math.degrees(north / (M + 519.0))
    lon = 11.575 + math.degrees(east / ((N + 519.0) * math.cos(math.radians(48.137))))
    assert found.position[0] == pytest.approx(lat, abs=2e-11)  # 2e-11 degrees are 2 um
    assert found.position[1] == pytest.approx(lon, abs=2e-11)
    assert found.position[2] == pytest.approx(519.0 + up, abs=1e-6)


def test_geodetic_coordinates_of_a_far_point_match_a_numerical_solution():
    reference, enu = (48.137, 11.575, 519.0), np.array([3e5, -2e5, 1e4])
    found = geodetic_of_enu(reference, enu)
    point = earth_point(*reference) + earth_axes(*reference[:2]) @ enu
    wanted = fsolve(lambda x: earth_point(*x) - point, reference, xtol=1e-14)
    assert (np.abs(found - wanted) < [1e-12, 1e-12, 2e-8]).all(), found - wanted


def test_noise_of_each_sensor_has_the_given_size(crane):
    """Means and standard deviations over 4000 ticks are right within five standard errors."""
    size, n = NoiseSpec(stddev=(1e-6, 2e-6, 3e-6), bias=(5e-6, 0.0, 0.0)), 4000
    m, description = crane
    specs = [
        MagnetometerSpec("mag", "tool", noise={"magnetic_field": size}),
        PoseSpec("pose", "tool", noise={"position": size, "orientation": size}),
        JointTorqueSpec("torque", "turn", noise={"effort": size}),
    ]
    exact = [dataclasses.replace(spec, noise={}) for spec in specs]
    state = snapshot(m, qpos=Q, qvel=V, qacc=A)
    true = [reading for _, reading in Suite(m, description, exact, PERIOD).read(state)]
    suite = Suite(m, description, specs, PERIOD, seed=4)
    rows = []
    for tick in range(n):
        found = [
            x for _, x in suite.measure(range(3), snapshot(m, qpos=Q, qvel=V, qacc=A, tick=tick))
        ]
        mag = found[0].magnetic_field - true[0].magnetic_field
        place = found[1].position - true[1].position
        turn = Rotation.from_quat(true[1].orientation[[1, 2, 3, 0]]).inv() * Rotation.from_quat(
            found[1].orientation[[1, 2, 3, 0]]
        )
        rows.append([*mag, *place, *turn.as_rotvec(), found[2].effort - true[2].effort])
    errors = np.array(rows)
    sizes = np.array([1e-6, 2e-6, 3e-6] * 3 + [1e-6])
    bias = np.array([5e-6, 0.0, 0.0] * 3 + [5e-6])
    assert (np.abs(errors.mean(axis=0) - bias) < 5.0 * sizes / math.sqrt(n)).all()
    assert (np.abs(errors.std(axis=0) / sizes - 1.0) < 5.0 / math.sqrt(2 * n)).all()


FILE = """rbdyn_sensors: 1
sensors:
  mag: {type: magnetometer, link: tool, earth_field: [1e-5, 0, 2e-5]}
  gps: {type: gps, link: tool, latitude: 48.1, longitude: 11.5, altitude: 519, rate: 10,
        noise: {position: {stddev: [0.5, 0.5, 1]}}}
  pose: {type: pose, link: tool, reference: base, noise: {orientation: {stddev: 0.01}}}
  torque: {type: joint_torque, joint: turn, noise: {effort: {stddev: 0.1, resolution: 0.01}}}
"""
BAD = [
    ("link: tool, earth_field", "link: tol, earth_field", "unknown-link"),
    ("latitude: 48.1, ", "", "missing-key"),
    ("latitude: 48.1", "latitude: 98.1", "bad-value"),
    ("longitude: 11.5", "longitude: .nan", "bad-value"),
    ("reference: base", "reference: bas", "unknown-link"),
    ("joint: turn", "joint: trun", "unknown-joint"),
    ("joint: turn", "joint: mount", "no-axis"),
    ("effort: {stddev: 0.1", "effort: {stddev: [0.1, 0, 0]", "bad-value"),
]


def test_each_kind_of_sensor_is_read_from_a_file(crane):
    mag, gps, pose, torque = read_sensors_text(FILE, *crane)
    assert mag == MagnetometerSpec("mag", "tool", earth_field=(1e-5, 0.0, 2e-5))
    noise = {"position": NoiseSpec(stddev=(0.5, 0.5, 1.0))}
    assert gps == GpsSpec("gps", "tool", 48.1, 11.5, 519.0, 10.0, noise)
    assert (pose.reference, pose.noise["orientation"].stddev) == ("base", (0.01,) * 3)
    assert torque.noise["effort"].resolution[0] == 0.01


@pytest.mark.parametrize(("old", "new", "code"), BAD)
def test_a_wrong_entry_is_refused(crane, old, new, code):
    assert old in FILE
    with pytest.raises(DescriptionError) as caught:
        read_sensors_text(FILE.replace(old, new), *crane)
    assert [finding.code for finding in caught.value.findings] == [code]


GAZEBO = """<gazebo reference="tool">
  <sensor name="compass" type="magnetometer"><update_rate>50</update_rate><magnetometer>
    <x><noise type="gaussian"><mean>0</mean><stddev>1e-7</stddev></noise></x></magnetometer>
    </sensor>
  <sensor name="gnss" type="navsat"><update_rate>5</update_rate><navsat><position_sensing>
    <horizontal><noise type="gaussian"><stddev>0.5</stddev></noise></horizontal>
    <vertical><noise type="gaussian"><stddev>1.5</stddev></noise></vertical>
    </position_sensing></navsat></sensor></gazebo>
  <ros2_control name="c" type="system"><hardware><plugin>p</plugin></hardware>
  <sensor name="tracker"><param name="frame_id">tool</param>
    <state_interface name="position.x"/><state_interface name="orientation.w"/></sensor>
  <sensor name="field"><param name="frame_id">arm</param>
    <state_interface name="magnetic_field.x"/></sensor></ros2_control></robot>"""


def test_each_kind_of_sensor_is_read_from_a_urdf():
    text = CRANE.replace("</robot>", GAZEBO)
    m, description = rb.load_urdf(text), robot_files.read(text)
    specs, findings = sensors_of(m, description)
    assert not findings
    noise = {"magnetic_field": NoiseSpec(stddev=(1e-7, 0.0, 0.0))}
    level = {"position": NoiseSpec(stddev=(0.5, 0.5, 1.5))}
    assert {spec.name: spec for spec in specs} == {
        "compass": MagnetometerSpec("compass", "tool", 50.0, noise=noise),
        "gnss": GpsSpec("gnss", "tool", 0.0, 0.0, 0.0, 5.0, level),
        "tracker": PoseSpec("tracker", "tool"),
        "field": MagnetometerSpec("field", "arm"),
    }
    notes = [finding for finding in description.findings if finding.code == "gps-origin"]
    assert len(notes) == 1


#: An arm of 2 kg in two formats. Its centre of mass is 1 m from the hinge's axis, and its origin
#: is 0.5 m from the axis.
MJCF_ARM = """<mujoco><worldbody><body name="arm" pos="1 0 0">
  <joint name="turn" type="hinge" axis="0 1 0" pos="-0.5 0 0"/>
  <inertial mass="2" pos="0.5 0 0" diaginertia="0.1 0.1 0.1"/></body></worldbody></mujoco>"""
SDF_ARM = """<sdf version="1.10"><model name="m">
  <link name="base"/>
  <joint name="fix" type="fixed"><parent>world</parent><child>base</child></joint>
  <link name="arm"><pose>1 0 0 0 0 0.4</pose>
    <inertial><mass>2</mass><pose>0.5 0 0 0 0 0</pose>
    <inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link>
  <joint name="turn" type="revolute"><pose>-0.5 0 0 0 0 0.7</pose>
    <parent>base</parent><child>arm</child><axis><xyz>0 1 0</xyz>
    <limit><lower>-3</lower><upper>3</upper></limit></axis></joint></model></sdf>"""


@pytest.mark.parametrize(("text", "turn"), [(MJCF_ARM, 0.0), (SDF_ARM, 0.7)], ids=["mjcf", "sdf"])
def test_torque_is_measured_about_an_axis_that_misses_the_link_origin(text, turn):
    """The weight is 1 m from the axis, and the joint's frame is rotated about the vertical."""
    description = robot_files.read(text)
    m = rb.build(description)
    ((_, found),) = Suite(m, description, [JointTorqueSpec("t", "turn")], PERIOD).read(snapshot(m))
    assert found.effort == pytest.approx(-2.0 * 9.81 * math.cos(turn), abs=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_sensors_at_shifted_rotated_and_reversed_joints_measure_the_weight(seed):
    """At rest, each measured effort equals the effort of inverse dynamics."""
    kinds = ("revolute", "prismatic", "fixed")
    description = check(auto_tree(12, 1.7, kinds=kinds, seed=seed, reversals=0.5, offsets=0.5))
    m = rb.build(description)
    assert m.jnt_reversed.any()
    d = rb.make_data(m)
    d.qpos[:] = random_qpos(m, np.random.default_rng(seed))
    rb.inverse(m, d)  # qvel and qacc are zero
    names = [joint.name for joint in description.joints if joint.type != "fixed"]
    suite = Suite(m, description, [JointTorqueSpec(x, x) for x in names], PERIOD)
    found = [reading.effort for _, reading in suite.read(snapshot(m, d, qacc=0.0))]
    wanted = [d.qfrc_inverse[m.jnt_dofadr[m.jnt_id(name)]] for name in names]
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-10)
