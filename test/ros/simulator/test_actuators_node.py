# SPDX-License-Identifier: Apache-2.0
"""Actuators of a file move the joints of a node, and joint_states has their efforts."""

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from sensor_msgs.msg import JointState

import rbdyn_ros as rb

CART = """<robot name="cart"><link name="rail"/><link name="cart"><inertial><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="x" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>
<limit lower="-100" upper="100" effort="100" velocity="100"/></joint></robot>"""

MOTOR = """rbdyn_actuators: 1
actuators:
  x: {gear: 20, armature: 1e-4, motorconst: 0.05, resistance: 0.5, inductance: 0.01, delay: 0.003}
"""


def test_a_node_moves_a_motor_and_reports_its_current(simulate, peer, tmp_path):
    (tmp_path / "cart.urdf").write_text(CART)
    (tmp_path / "motor.yaml").write_text(MOTOR)
    flags = ("-p", "start_paused:=true", "-p", "actuator_effort:=current")
    flags += ("-p", "command_timeout:=1e6")
    arguments = ("--actuators", tmp_path / "motor.yaml", "--ros-args", *flags)
    simulator = simulate(tmp_path / "cart.urdf", *arguments)
    assert "servos have time constants of up to 0.092 s instead of 0.01 s" in simulator.text()
    states, motors = (peer.hear(JointState, f"{x}_states", 100) for x in ("joint", "motor"))
    peer.send(JointState, "joint_commands", JointState(name=["x"], effort=[10.0]))
    m = rb.with_actuators(rb.load_urdf(CART), tmp_path / "motor.yaml")
    d, currents = rb.make_data(m), set()
    d.qfrc_applied[0] = 10.0
    for _ in range(20):
        rb.step(m, d)
        currents.add(round(float(d.act[0]), 12))
    # the command may take effect one or more ticks later
    for _ in range(15):
        assert peer.trigger("simulator/step") == "one tick"
    peer.until(lambda: states[-1].effort[0] > 1.0)
    assert round(states[-1].effort[0], 12) in currents
    peer.until(lambda: motors and motors[-1].header.stamp == states[-1].header.stamp)
    assert motors[-1].name == ["x"]
    assert motors[-1].position[0] == 20.0 * states[-1].position[0] > 0.0
    assert motors[-1].velocity[0] == 20.0 * states[-1].velocity[0] > 0.0
    simulator.end_well()


def test_an_error_in_the_actuator_file_ends_the_start_and_is_reported_with_its_line(
    simulate, tmp_path
):
    (tmp_path / "cart.urdf").write_text(CART)
    (tmp_path / "motor.yaml").write_text(MOTOR.replace("gear: 20", "gear: 0"))
    arguments = ("--ros-args", "-p", f"actuators:={tmp_path / 'motor.yaml'}")
    simulator = simulate(tmp_path / "cart.urdf", *arguments, wait=False)
    assert simulator.process.wait(120.0) != 0
    assert "motor.yaml: line 3: actuator 'x': gear is '0'" in simulator.text()
