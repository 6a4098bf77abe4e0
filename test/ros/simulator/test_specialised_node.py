# SPDX-License-Identifier: Apache-2.0
"""A node simulates with specialised code, and refuses robots without such code."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("diagnostic_msgs.msg", reason="diagnostic_msgs is not installed")
pytest.importorskip("rbdyn_interfaces.srv", reason="rbdyn_interfaces is not built")

from arm_pair import UR5_START, start_pair
from geometry_msgs.msg import Inertia, Vector3
from sensor_msgs.msg import JointState
from support.robots import find
from support.smooth import smoothly

import rbdyn_ros as rb
from rbdyn_interfaces.srv import SetGravity, SetPayload
from rbdyn_ros.nanoseconds import nanoseconds
from rbdyn_ros.share import bundled_robot

EXAMPLES = Path(__file__).parents[3] / "examples"
SPECIAL = ("--ros-args", "-p", "specialize:=true")
TICKS, TICK = 25, 1_000_000


def falling(m, d, ticks=TICKS):
    """Return qpos after some ticks of the engine, which is not specialised."""
    rb.step(m, d, ticks)
    return d.qpos.copy()


class Arm:
    """The bundled arm in a paused node, which the test steps tick by tick."""

    def __init__(self, peer):
        self.peer = peer
        self.states = peer.collect(JointState, "joint_states", 100)
        peer.until(lambda: self.states)

    def stamp(self):
        return nanoseconds(self.states[-1].header.stamp)

    def fall(self):
        end = self.stamp() + TICKS * TICK
        for _ in range(TICKS):
            assert self.peer.trigger("simulator/step") == "one tick"
        self.peer.until(lambda: self.stamp() == end)
        return np.array(self.states[-1].position)


def test_payloads_gravity_and_stuck_joints_act_on_specialised_code_as_on_the_engine(
    simulate, peer
):
    robot = bundled_robot("seven_dof_arm")
    flags = ("-p", "start_paused:=true", "-p", "initial_positions.elbow_pitch:=0.4")
    simulator = simulate(robot, *SPECIAL, *flags)
    simulator.wait_for("timesteps of 'seven_dof_arm' specialised in")
    arm, m = Arm(peer), smoothly(rb.load_urdf(robot))
    d = rb.make_data(m)
    d.qpos = np.array(arm.states[-1].position)
    assert list(arm.states[-1].name) == [m.jnt_names[j] for j in m.dof_jntid]

    np.testing.assert_allclose(arm.fall(), falling(m, d), rtol=0.0, atol=1e-12)

    load = Inertia(m=1.5, com=Vector3(z=0.1), ixx=0.01, iyy=0.012, izz=0.005, ixy=0.001)
    request = SetPayload.Request(link="tool_flange", inertia=load)
    assert peer.call(SetPayload, "simulator/set_payload", request).success
    m = rb.with_payload(m, "tool_flange", 1.5, (0, 0, 0.1), (0.01, 0.012, 0.005, 0.001, 0.0, 0.0))
    d = taken_over(m, d)
    np.testing.assert_allclose(arm.fall(), falling(m, d), rtol=0.0, atol=1e-12)

    request = SetGravity.Request(gravity=Vector3(x=3.0, y=-2.0, z=1.0))
    assert peer.call(SetGravity, "simulator/set_gravity", request).success
    m.opt.gravity = (3.0, -2.0, 1.0)
    np.testing.assert_allclose(arm.fall(), falling(m, d), rtol=0.0, atol=1e-12)

    stuck = m.jnt_names[m.dof_jntid[1]]
    assert peer.set_parameters({"faults.stuck_joints": [stuck]}) == [""]
    held = arm.states[-1].position[1]
    assert abs(arm.fall()[1] - held) < 1e-12
    # the other joints move on
    assert np.abs(np.subtract(arm.states[-1].position, d.qpos))[2:].max() > 1e-4
    simulator.end_well()


def taken_over(m, d):
    """Return new Data of a Model with the state of another Model's Data d."""
    new = rb.make_data(m)
    new.qpos, new.qvel, new.time = d.qpos, d.qvel, d.time
    return new


def test_the_parameter_specialize_cannot_change_while_the_node_runs(simulate, peer, two_joints):
    simulate(two_joints)
    (why,) = peer.set_parameters({"specialize": True})
    assert why


@pytest.mark.parametrize(
    ("robot", "more", "why"),
    [
        ("go2", ("-p", "contact:=true"), "contact"),
        ("loop", (), "constraints"),
    ],
)
def test_a_robot_that_cannot_be_specialised_is_refused(simulate, robot, more, why):
    path = find("go2.urdf") if robot == "go2" else EXAMPLES / "crank_slider.yaml"
    simulator = simulate(path, *SPECIAL, *more, wait=False)
    assert simulator.process.wait(600.0) == 2
    assert "parameter 'specialize' is true, but '" in simulator.text()
    assert why in simulator.text()
    assert "Traceback" not in simulator.text()


def test_specialised_control_laws_hold_an_arm_with_a_payload(simulate, control, peer):
    """A service sets the payload after the laws were compiled."""
    robot = find("ur5_robot.urdf")
    pair = start_pair(simulate, control, peer, robot, UR5_START, lockstep=True, specialize="true")
    pair.controller.wait_for("compiled the laws of")
    load = SetPayload.Request(link="tool0", inertia=Inertia(m=2.0, com=Vector3(z=0.05)))
    pair.arm_it("hold")
    before = pair.arm.rest()
    first = len(pair.arm.rows)
    assert peer.call(SetPayload, "simulator/set_payload", load).success
    pair.arm.until_moving(first, 0.01)
    assert np.abs(pair.arm.rest() - before).max() > 5e-3
    first = len(pair.arm.rows)
    assert peer.call(SetPayload, "arm_controller/set_payload", load).success
    pair.arm.until_moving(first, 0.01)
    assert np.abs(pair.arm.rest() - before).max() < 2e-3
    pair.end_well()
