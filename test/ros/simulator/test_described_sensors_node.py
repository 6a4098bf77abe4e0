# SPDX-License-Identifier: Apache-2.0
"""`rbdyn sim world.sdf` uses the world's gravity and publishes the sensors of the world."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from sensor_msgs.msg import Imu, MagneticField, NavSatFix

LINK = """<link name="{}"><inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz>
<ixy>0</ixy><ixz>0</ixz><iyz>0</iyz></inertia></inertial>{}</link>"""
IMU = '<sensor name="imu" type="imu"><pose>0 0 0 0 3.141592653589793 0</pose></sensor>'
BAD = (
    '<sensor name="bad" type="camera"><camera><horizontal_fov>9</horizontal_fov></camera></sensor>'
)
SCAN = """<sensor name="scan" type="ray"><ray><range><min>0.1</min><max>5</max></range></ray>
</sensor>"""
OTHERS = '<sensor name="mag" type="magnetometer"/><sensor name="gnss" type="navsat"/>'
WORLD = f"""<sdf version="1.9"><world name="w"><gravity>0 0 -3.7</gravity><model name="post">
{LINK.format("base", IMU + BAD + SCAN + OTHERS)}{LINK.format("arm", "")}
<joint name="fix" type="fixed"><parent>world</parent><child>base</child></joint>
<joint name="j" type="revolute"><parent>base</parent><child>arm</child>
<axis><xyz>0 0 1</xyz></axis></joint></model></world></sdf>"""


@pytest.mark.parametrize(
    ("more", "gravity"), [((), 3.7), (("-p", "gravity:=[0.0,0.0,-5.0]"), 5.0)]
)
def test_an_imu_measures_the_gravity_of_the_world_file(simulate, peer, tmp_path, more, gravity):
    (tmp_path / "world.sdf").write_text(WORLD)
    simulator = simulate(
        "--scene", tmp_path / "world.sdf", *(("--ros-args", *more) if more else ())
    )
    reading = peer.hear(Imu, "post_imu/data")[0]
    assert reading.header.frame_id == "post/imu_frame"
    assert reading.linear_acceleration.z == pytest.approx(-gravity, abs=1e-9)
    field = peer.hear(MagneticField, "post_mag/mag")[0]
    assert field.header.frame_id == "post/base"
    assert field.magnetic_field.y == pytest.approx(22.8758e-6, abs=1e-15)
    fix = peer.hear(NavSatFix, "post_gnss/fix")[0]
    assert fix.header.frame_id == "post/base"
    assert (fix.latitude, fix.longitude) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert "sensor 'post_bad'" in simulator.text()
    assert "range sensors of the robot file are left out: sensor 'post_scan'" in simulator.text()
    simulator.end_well()
