# SPDX-License-Identifier: Apache-2.0
"""Messages of joints that are not controlled are read, and paths need their positions."""

import numpy as np
import pytest
from support.refusals import refused

pytest.importorskip("rclpy", reason="rclpy is not installed")

from closed_loop import ClosedLoop
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import rbdyn_ros as rb
from rbdyn_ros.control.arm.settings import ControlSettings
from rbdyn_ros.control.collisions.self_collision import SelfCollision
from rbdyn_ros.control.collisions.uncontrolled import uncontrolled
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.arm.trajectories import TrajectoryController

LINK = """<link name="{name}"><inertial><origin xyz="0.4 0 0"/><mass value="1"/><inertia ixx="0.1"
iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial><collision><origin xyz="0.4 0 0"
rpy="0 1.5708 0"/><geometry><cylinder radius="0.05" length="0.8"/></geometry></collision></link>"""
JOINT = """<joint name="{name}" type="revolute"><origin xyz="{at}"/><axis xyz="0 0 1"/><parent
link="{parent}"/><child link="{child}"/><limit lower="-3" upper="3" effort="50" velocity="3"/>
</joint>"""


def robot(*joints):
    """Return the URDF of a robot whose links are capsules of 0.8 m.

    `joints` are (parent, child, place); each joint is named after its child.
    """
    links = {link: None for parent, child, _ in joints for link in (parent, child)}
    parts = [LINK.format(name=name) for name in links]
    parts += [
        JOINT.format(name=f"{child}_joint", parent=parent, child=child, at=at)
        for parent, child, at in joints
    ]
    return f'<robot name="cell">{"".join(parts)}</robot>'


#: Two arms turn about vertical axes 1 m apart. At 1 rad the right arm is in the left arm's way.
CELL = robot(("base", "left", "0 0.5 0"), ("base", "right", "0 -0.5 0"))
RIGHT, RIGHT_JOINT = 1.0, ("right_joint",)


class Cell:
    """Two arms: the left one is controlled, and another driver sends states of the right one."""

    def __init__(self):
        m, near = rb.load_urdf(CELL), rb.load_urdf(CELL, contact=rb.Contact(obstacles=()))
        names = ["left_joint"]
        self.loop = ClosedLoop(m, mode="computed_torque", qpos=[0.0, RIGHT], names=names)
        self.loop.names = names
        check = SelfCollision(near, self.loop.gate.limits.dofs, 0.01)
        known = self.loop.controller
        settings = ControlSettings(dry_run=False, start_up_test=False)
        self.controller = self.loop.controller = TrajectoryController(
            m, urdf.read_text(CELL), check, known.arm, self.loop.gate, settings
        )
        self.controller.set_mode("computed_torque")
        whole = self.loop.state
        one = {name: slice(1) for name in ("position", "velocity", "effort")}
        self.loop.state = lambda **changes: (
            {k: v[one[k]] if k in one else v for k, v in whole().items()} | changes
        )
        self.loop.arm().run(0.1)

    def report(self, *position, names=RIGHT_JOINT):
        """Send a state of the right arm's driver, which has positions only."""
        none, now = np.empty(0), self.loop.now
        self.controller.on_state(list(names), np.array(position), none, none, now, now)

    def move(self, to):
        """Send a trajectory that moves the left arm to a position [rad]."""
        message = JointTrajectory(joint_names=["left_joint"])
        for second, q in enumerate([float(self.controller.progress().desired[0][0]), to]):
            message.points.append(JointTrajectoryPoint(positions=[q]))
            message.points[-1].time_from_start.sec = 2 * second
        self.controller.follow(message)


def test_the_check_uses_the_reported_position_of_an_uncontrolled_joint():
    """With the right arm at the default 0 the path to -1 is free; at 1 rad the arms collide."""
    cell = Cell()
    cell.report(RIGHT)
    cell.loop.run(0.01)
    np.testing.assert_allclose(cell.controller.measured()[0], [0.0, RIGHT], atol=1e-3)
    with refused(RbdynError, "self-collision", "left"):
        cell.move(-1.0)
    cell.report(-1.5)
    cell.move(-1.0)


def test_no_path_is_accepted_until_the_uncontrolled_joints_are_measured():
    cell = Cell()
    with refused(RbdynError, "unmeasured", "right_joint"):
        cell.move(0.3)
    cell.report(-1.5)
    cell.move(0.3)


@pytest.mark.parametrize(
    ("position", "names"),
    [([np.nan], RIGHT_JOINT), ([0.1, 0.2], RIGHT_JOINT), ([0.1, 0.2], 2 * RIGHT_JOINT)],
    ids=["nan", "length", "twice"],
)
def test_a_wrong_message_of_another_device_is_not_used(position, names):
    cell = Cell()
    cell.report(-1.5)
    cell.report(*position, names=names)
    assert "right_joint" in cell.controller.ignored or "2 positions" in cell.controller.ignored
    cell.loop.run(0.01)
    assert cell.controller.measured()[0][1] == -1.5
    assert cell.controller.fault is None


def test_states_of_rails_and_other_arms_are_needed_but_not_of_grippers():
    """A rail carries two arms, the left arm carries a gripper, and the base has a wheel."""
    text = robot(
        ("base", "rail", "0 0 1"),
        ("rail", "left", "0 1 0"),
        ("left", "wrist", "0.8 0 0"),
        ("wrist", "finger", "0.8 0 0"),
        ("rail", "right", "0 -1 0"),
        ("base", "wheel", "0 0 -1"),
    )
    m = rb.load_urdf(text, contact=rb.Contact(obstacles=()))

    def joints(*controlled):
        dofs = np.array([m.jnt_names.index(f"{name}_joint") for name in controlled])
        found = uncontrolled(m, dofs, m.distance_geom)
        return [[m.jnt_names[dof].removesuffix("_joint") for dof in kind] for kind in found]

    assert joints("left", "wrist") == [["rail", "right", "wheel"], ["finger"]]
    assert joints("rail", "left", "wrist", "right") == [["wheel"], ["finger"]]
    assert joints("left", "wrist", "finger", "right", "rail", "wheel") == [[], []]
    assert joints("wheel") == [["rail", "left", "wrist", "finger", "right"], []]


def test_states_of_wheels_and_casters_are_not_needed():
    """Joints without limits are not needed, unless they carry joints with limits."""
    text = robot(
        ("base", "left", "0 1 0"),
        ("base", "caster", "0 0 -1"),
        ("caster", "wheel", "0 0.1 0"),
        ("base", "shoulder", "0 -1 0"),
        ("shoulder", "elbow", "0.8 0 0"),
        ("elbow", "hand", "0.8 0 0"),
    )
    for name in ("caster", "wheel", "shoulder", "hand"):
        text = text.replace(f'"{name}_joint" type="revolute"', f'"{name}_joint" type="continuous"')
    m = rb.load_urdf(text, contact=rb.Contact(obstacles=()))
    dofs = np.array([m.jnt_names.index("left_joint")])
    found = uncontrolled(m, dofs, m.distance_geom)
    needed, assumed = ({m.jnt_names[dof] for dof in kind} for kind in found)
    assert needed == {"shoulder_joint", "elbow_joint"}
    assert assumed == {"caster_joint", "wheel_joint", "hand_joint"}
