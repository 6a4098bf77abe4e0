# SPDX-License-Identifier: Apache-2.0
"""A Panda picks a cube with the two actions that its MoveIt package names."""

import numpy as np
import pytest
import yaml
from support.commands import run
from support.robots import find

pytest.importorskip("control_msgs.action")
from control_msgs import action as actions

if not hasattr(actions, "GripperCommand"):
    pytest.skip("control_msgs is not built", allow_module_level=True)

from action_msgs.msg import GoalStatus
from arm_pair import ALL, Pair
from builtin_interfaces.msg import Duration
from rclpy.action import ActionClient
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import rbdyn_ros as rb

#: A cube of 50 mm on a table; the fingers open to 80 mm.
SCENE = """rbdyn_scene: 1
robot: {{file: {urdf}, surface: rubber, start: {{panda_finger_joint1: 0.04}}}}
surfaces: {{rubber: {{friction: 1.0}}}}
objects:
  cube: {{box: {{size: [0.05, 0.05, 0.05]}}, mass: 0.1, xyz: [0.5, 0, 0.025]}}
"""
CUBE = np.array([0.5, 0.0, 0.025])
DOWN = np.diag([1.0, -1.0, -1.0])
LIFTED = 0.2
SECONDS, POINTS = 2.0, 21


class Actions:
    """Action clients as MoveIt's controller manager makes them from moveit_controllers.yaml."""

    def __init__(self, peer, config):
        self.peer, self.clients = peer, {}
        self.managed = config["moveit_simple_controller_manager"]
        for name in self.managed["controller_names"]:
            row = self.managed[name]
            kind = getattr(actions, row["type"])
            client = ActionClient(peer.node, kind, f"{name}/{row['action_ns']}")
            self.clients[name] = client, kind
            peer.until(client.server_is_ready)

    def send(self, name, goal):
        """Send a goal, which must succeed, to a controller; return the result."""
        sent = self.clients[name][0].send_goal_async(goal)
        self.peer.until(sent.done)
        assert sent.result().accepted
        ended = sent.result().get_result_async()
        self.peer.until(ended.done)
        assert ended.result().status == GoalStatus.STATUS_SUCCEEDED, ended.result().result
        return ended.result().result

    def follow(self, start, end):
        """Move the arm from rest to rest along a straight line in joint positions."""
        goal = actions.FollowJointTrajectory.Goal()
        goal.trajectory = JointTrajectory(joint_names=self.managed["arm_controller"]["joints"])
        for share in np.linspace(0.0, 1.0, POINTS):
            s = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])
            rows = [s(share), s.deriv(1)(share) / SECONDS, s.deriv(2)(share) / SECONDS**2]
            q, v, a = (row * (end - start) for row in rows)
            nanoseconds = round(share * SECONDS * 1e9)
            when = Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
            numbers = {"positions": list(start + q), "velocities": list(v)}
            point = JointTrajectoryPoint(**numbers, accelerations=list(a), time_from_start=when)
            goal.trajectory.points.append(point)
        return self.send("arm_controller", goal)

    def grip(self, position):
        goal = actions.GripperCommand.Goal()
        goal.command.position = position
        goal.command.max_effort = self.managed["simulator"]["max_effort"]
        return self.send("simulator", goal)

    def close(self):
        for client, _ in self.clients.values():
            client.destroy()


def poses(m, start, heights):
    """Return, for each height [m], arm positions with the hand at this height above the cube."""
    d, found = rb.make_data(m), []
    d.qpos[:] = start
    for height in heights:
        place = CUBE + np.array([0.0, 0.0, height])
        d.qpos[:] = rb.ik(m, d, "panda_hand_tcp", place, DOWN).check()
        found.append(d.qpos[:7].copy())
    return found


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "panda_moveit_config"
    assert run("moveit", find("panda.urdf"), folder, "--samples", 100).returncode == 0
    return folder / "config"


def test_the_arm_and_the_gripper_lift_the_cube(package, simulate, control, peer, tmp_path):
    urdf = find("panda.urdf")
    scene = tmp_path / "pick.yaml"
    scene.write_text(SCENE.format(urdf=urdf))
    arm = yaml.safe_load((package / "arm_controller.yaml").read_text())
    joints = arm["arm_controller"]["ros__parameters"]["joints"]
    words = ["--params-file", package / "simulator.yaml", "-p", f"scene:={scene}"]
    words += ["-p", "on_timeout:=hold", "-p", "time_mode:=lockstep", "-p", "lockstep_timeout:=2.0"]
    words += ["-p", f"lockstep_joints:=[{', '.join(joints)}]", "-p", "control_decimation:=2"]
    simulator = simulate("--ros-args", *words, entry="node", wait=False, clock=True)
    more = {"state_timeout": 1.0, "simulated_clock": "true", "use_sim_time": "true"}
    controller = control(urdf, mode="computed_torque", joints=joints, **more)
    simulator.wait_for("simulating '")
    pair = Pair(simulator, controller, peer, qos=ALL)
    objects = peer.hear(TFMessage, "object_poses")
    moveit = Actions(peer, yaml.safe_load((package / "moveit_controllers.yaml").read_text()))
    pair.arm_it("computed_torque")

    m = rb.load_urdf(urdf)
    rows = [pair.arm.names.index(name) for name in m.jnt_names[:8]]
    start = pair.arm.position[rows]
    above, there, lifted = poses(m, start, [0.15, 0.0, LIFTED])
    moveit.follow(start[:7], above)
    moveit.follow(above, there)
    assert objects[-1].transforms[0].transform.translation.z < CUBE[2] + 0.001
    gripped = moveit.grip(0.0)
    assert gripped.stalled
    assert gripped.position == pytest.approx(CUBE[2], abs=1e-3)  # half the cube's width
    moveit.follow(there, lifted)
    place = objects[-1].transforms[0].transform.translation
    # while the fingers close, the cube may slip, and the fingers may yield
    np.testing.assert_allclose([place.x, place.y], CUBE[:2], atol=5e-3)
    assert place.z - CUBE[2] == pytest.approx(LIFTED, abs=5e-3)
    moveit.close()
    pair.end_well()
