# SPDX-License-Identifier: Apache-2.0
"""Sensors in robot files equal sensors in a sensors file, and give the readings of MuJoCo."""

import numpy as np
import pytest
from snapshot import snapshot

import rbdyn_ros as rb
from rbdyn_ros.description.source import opened
from rbdyn_ros.loading.load import complete
from rbdyn_ros.sensors import (
    ColorSpec,
    ForceTorqueSpec,
    ImuSpec,
    LidarSpec,
    NoiseSpec,
    RangeNoise,
    RangeSpec,
    Suite,
    sensors_of,
)

MJCF = """<mujoco><worldbody><geom type="plane" size="9 9 1"/><body name="b" pos="0 0 1">
<joint name="j" axis="0 1 0.3"/><geom size="0.1" pos="0.3 0 0"/>
<site name="imu" pos="0.1 0.2 0" euler="20 30 0"/>
<body name="tip" pos="0.5 0 0"><joint axis="1 0 0"/><geom size="0.05" pos="0 0.1 0"/>
<site name="ft" pos="0 0 0.1" euler="0 40 10"/><site name="eye" pos="0 0 0.2" euler="180 0 0"/>
</body></body></worldbody><sensor><accelerometer site="imu"/><gyro site="imu"/>
<framequat objtype="site" objname="imu"/><force site="ft"/><torque site="ft"/>
<rangefinder name="r" site="eye" cutoff="7"/><touch site="ft"/></sensor></mujoco>"""
LINK = """<link name="{}"><inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz>
<ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia></inertial>{}</link>"""
SENSORS = """<sensor name="imu" type="imu"><update_rate>100</update_rate><imu><angular_velocity>
<x><noise type="gaussian"><mean>0.5</mean><stddev>0.1</stddev></noise></x></angular_velocity></imu>
</sensor><sensor name="front view" type="camera"><pose>0.1 0 0 0 0 0</pose><camera>
<pose>0 0 1 0 0 0</pose><image>
<width>64</width><height>48</height></image><horizontal_fov>1.5</horizontal_fov></camera></sensor>
<sensor name="scan" type="gpu_lidar"><update_rate>10</update_rate><lidar><scan><horizontal>
<samples>10</samples><min_angle>-1</min_angle><max_angle>1</max_angle></horizontal></scan>
<range><min>0.1</min><max>9</max></range><noise><stddev>0.01</stddev></noise></lidar></sensor>
<sensor name="bad" type="camera"><camera><image><width>inf</width></image></camera></sensor>
"""
JOINT = """<joint name="j" type="revolute"><parent>base</parent><child>arm</child><axis><xyz>0 0 1
</xyz></axis><sensor name="ft" type="force_torque"><force_torque><frame>parent</frame>
<measure_direction>parent_to_child</measure_direction></force_torque></sensor></joint>"""


def described(path, *, contact=False):
    found = opened(path, contact=contact).description
    return found, complete(found)


def test_readings_of_mjcf_sensors_equal_mujocos(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "m.xml").write_text(MJCF)
    description, m = described(tmp_path / "m.xml", contact=True)
    specs, findings = sensors_of(m, description)
    assert findings == ()
    assert [type(spec) for spec in specs] == [ImuSpec, ForceTorqueSpec, RangeSpec]
    assert specs[2].far == 7.0
    assert specs[2].excluded == ("tip",)
    theirs = mujoco.MjModel.from_xml_string(MJCF)
    data, d = mujoco.MjData(theirs), rb.make_data(m)
    data.qpos[:] = d.qpos[:] = (0.3, -0.4)
    data.qvel[:] = d.qvel[:] = (1.2, -0.7)
    mujoco.mj_forward(theirs, data)
    rb.forward(m, d)
    suite = Suite(m, description, specs[:2], 1_000_000)
    (_, imu), (_, wrench) = suite.read(snapshot(m, d))
    wanted = np.split(data.sensordata, np.cumsum([3, 3, 4, 3, 3]))
    np.testing.assert_allclose(imu.linear_acceleration, wanted[0], atol=1e-9)
    np.testing.assert_allclose(imu.angular_velocity, wanted[1], atol=1e-12)
    sign = np.sign(np.dot(imu.orientation, wanted[2]))
    np.testing.assert_allclose(sign * np.array(imu.orientation), wanted[2], atol=1e-12)
    np.testing.assert_allclose(wrench.force, wanted[3], atol=1e-9)
    np.testing.assert_allclose(wrench.torque, wanted[4], atol=1e-9)
    eye = m.frame_id(specs[2].link)
    hits = rb.cast_rays(m, d, [[0, 0, 0]], [[1, 0, 0]], frame=eye, exclude=specs[2].excluded)
    np.testing.assert_allclose(hits.distance, wanted[5][:1], rtol=1e-9)


@pytest.mark.parametrize("in_world", [False, True])
def test_sensors_of_sdf_match_a_sensors_file(tmp_path, in_world):
    body = LINK.format("base", SENSORS) + LINK.format("arm", "") + JOINT
    model = f"<model name='cart'>{body}</model>"
    text = f"<world name='w'>{model}</world>" if in_world else model
    (tmp_path / "m.sdf").write_text(f"<sdf version='1.9'>{text}</sdf>")
    description, m = described(tmp_path / "m.sdf")
    specs, findings = sensors_of(m, description)
    of, called = ("cart/", "cart_") if in_world else ("", "")
    noise = NoiseSpec(stddev=(0.1, 0, 0), bias=(0.5, 0, 0))
    imu, camera, lidar, wrench = specs
    assert imu == ImuSpec(f"{called}imu", f"{of}base", 100.0, noise={"angular_velocity": noise})
    assert isinstance(camera, ColorSpec)
    assert (camera.name, camera.width, camera.height) == (f"{called}front_view", 64, 48)
    assert (camera.field_of_view, camera.rate) == (1.5, 30.0)
    assert m.frame_pos[m.frame_id(camera.link)].tolist() == [0.1, 0.0, 1.0]
    assert isinstance(lidar, LidarSpec)
    assert (lidar.horizontal.first, lidar.horizontal.last, lidar.columns) == (-1.0, 1.0, 10)
    assert (lidar.near, lidar.far, lidar.noise) == (0.1, 9.0, RangeNoise(stddev=0.01))
    assert wrench == ForceTorqueSpec(f"{called}ft", f"{of}j", f"{of}base", "parent_to_child")
    line = 1 + text[: text.index("'bad'" if "'bad'" in text else '"bad"')].count("\n")
    assert [(x.severity, x.line) for x in findings] == [("warning", None if in_world else line)]
    assert f"sensor '{called}bad'" in str(findings[0])


@pytest.mark.parametrize("relative", ["", "base", "j"])
def test_a_sensor_of_a_joint_is_in_the_frame_of_the_joint(tmp_path, relative):
    """The joint is 1 m above the base and rotated by 90 degrees; the arm's body has this frame."""
    at = f' relative_to="{relative}"' if relative else ""
    own = f"<pose{at}>0.5 0 0 0 0 0</pose><force_torque><frame>sensor</frame></force_torque>"
    joint = (
        '<joint name="j" type="revolute"><pose>0 0 1 0 0 1.5707963267948966</pose>'
        "<parent>base</parent><child>arm</child><axis><xyz>0 0 1</xyz></axis>"
        f'<sensor name="ft" type="force_torque">{own}</sensor></joint>'
    )
    model = f"<model name='m'>{LINK.format('base', '')}{LINK.format('arm', '')}{joint}</model>"
    (tmp_path / "m.sdf").write_text(f"<sdf version='1.9'>{model}</sdf>")
    description, m = described(tmp_path / "m.sdf")
    (spec,), findings = sensors_of(m, description)
    assert findings == description.findings == ()
    frame, root = m.frame_id(spec.frame), np.sqrt(0.5)
    wanted, turn = (
        ([0, -0.5, -1], [root, 0, 0, -root]) if relative == "base" else ([0.5, 0, 0], [1, 0, 0, 0])
    )
    np.testing.assert_allclose(m.frame_pos[frame], wanted, atol=1e-15)
    np.testing.assert_allclose(m.frame_quat[frame], turn, atol=1e-15)


@pytest.mark.parametrize(
    "inside",
    [
        "<update_rate>abc</update_rate>",
        "<pose>0 0 0</pose>",
        "<pose>1e300 0 0 0 0 0</pose>",
        '<pose relative_to="nowhere">0 0 0 0 0 0</pose>',
    ],
)
def test_a_bad_sensor_of_an_sdf_causes_a_warning(tmp_path, inside):
    body = LINK.format("base", f'<sensor name="s" type="imu">{inside}</sensor>')
    (tmp_path / "m.sdf").write_text(f"<sdf version='1.9'><model name='m'>{body}</model></sdf>")
    description, _ = described(tmp_path / "m.sdf")
    assert [x.severity for x in description.findings] == ["warning"]


def test_a_camera_does_not_see_the_housing_that_carries_its_frames(tmp_path):
    """As in TIAGo, the camera is fixed to a lens, and the lens to a head that contains both."""
    shape = "<collision name='c'><geometry><box><size>{}</size></box></geometry></collision>"
    eye = """<sensor name="eye" type="depth"><pose>0.01 0 0.09 0 0 0</pose><camera><image><width>8
    </width><height>6</height></image><horizontal_fov>1</horizontal_fov></camera></sensor>"""
    contents = {
        "base": "",
        "head": shape.format("0.2 0.2 0.2"),
        "lens": eye,
        "wall": f"<pose>3 0 0 0 0 0</pose>{shape.format('0.2 8 8')}",
    }
    body = "".join(LINK.format(link, inside) for link, inside in contents.items())
    for parent, child, kind in (
        ("base", "head", "revolute"),
        ("head", "lens", "fixed"),
        ("base", "wall", "revolute"),
    ):
        body += f"""<joint name="to_{child}" type="{kind}"><parent>{parent}</parent>
        <child>{child}</child><axis><xyz>0 0 1</xyz></axis></joint>"""
    (tmp_path / "m.sdf").write_text(f"<sdf version='1.9'><model name='m'>{body}</model></sdf>")
    description, m = described(tmp_path / "m.sdf", contact=True)
    ((eye,), _) = sensors_of(m, description)
    assert eye.excluded == ("eye_frame", "lens", "head")
    above_the_floor = rb.scan(m, rb.make_data(m), eye).distance[:3]
    np.testing.assert_allclose(above_the_floor, 3.0 - 0.1 - 0.01, atol=1e-9)


def test_a_lidar_without_a_largest_range_measures_as_far_as_it_can(tmp_path):
    scan = "<lidar><range><min>0.1</min><max>inf</max></range></lidar>"
    body = LINK.format("base", f'<sensor name="s" type="gpu_lidar">{scan}</sensor>')
    (tmp_path / "m.sdf").write_text(f"<sdf version='1.9'><model name='m'>{body}</model></sdf>")
    description, m = described(tmp_path / "m.sdf")
    (spec,), findings = sensors_of(m, description)
    assert findings == ()
    assert spec.far == 1e9


def test_each_rangefinder_of_a_site_is_a_sensor(tmp_path):
    more = MJCF.replace("<touch", '<rangefinder name="s" site="eye" cutoff="3"/><touch')
    (tmp_path / "m.xml").write_text(more)
    description, m = described(tmp_path / "m.xml")
    specs, _ = sensors_of(m, description)
    assert {x.name: x.far for x in specs if isinstance(x, RangeSpec)} == {"r": 7.0, "s": 3.0}
