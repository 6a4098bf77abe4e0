# SPDX-License-Identifier: Apache-2.0
"""The joints that can be commanded are the same in lock-step, trials, environments and topics."""

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.dynamics.commanded import commandable, commanded_joints, reason_passive
from rbdyn_ros.rollouts.policies import PDPolicy

#: A cart with a drive, a pole without a drive, and joints that mimic the cart or the pole.
CART_POLE = """<robot name="cart_pole">
<link name="rail"/>
{bodies}
{joints}
</robot>"""
BODY = """<link name="{0}"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{0}_link"/>
<axis xyz="{3}"/><limit effort="{4}" velocity="9" lower="-9" upper="9"/>{5}</joint>"""
PARTS = (
    ("cart", "prismatic", "rail", "1 0 0", 20, ""),
    ("pole", "revolute", "cart_link", "0 1 0", 0, ""),
    ("finger", "prismatic", "rail", "0 1 0", 20, '<mimic joint="cart" multiplier="0.5"/>'),
    ("loose", "prismatic", "rail", "0 1 0", 0, '<mimic joint="cart" multiplier="0.5"/>'),
    ("shadow", "revolute", "rail", "0 1 0", 20, '<mimic joint="pole"/>'),
)


def cart_pole():
    """Return the URDF of the cart with the pole."""
    bodies = "".join(BODY.format(f"{part[0]}_link") for part in PARTS)
    return CART_POLE.format(bodies=bodies, joints="".join(JOINT.format(*part) for part in PARTS))


@pytest.fixture
def m():
    return rb.load_urdf(cart_pole())


def named(m, joints):
    return [m.jnt_names[j] for j in joints]


def test_a_joint_with_an_effort_limit_of_0_is_passive(m):
    assert named(m, np.flatnonzero(commandable(m))) == ["cart", "finger"]
    assert named(m, commanded_joints(m)) == ["cart"]
    reasons = {name: reason_passive(m, j) for j, name in enumerate(m.jnt_names)}
    assert reasons["pole"] == reasons["loose"] == "has an effort limit of 0"
    assert reasons["shadow"] == "mimics joint 'pole', which has an effort limit of 0,"


def test_joints_without_an_actuator_and_with_a_prescribed_motion_are_passive():
    box = rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)
    b = rb.SystemBuilder("all")
    for name in ("slack", "rail", "shadow"):
        b.body(f"{name}_body", box)
        b.joint(name, "revolute", "base", f"{name}_body", axis=(0, 0, 1), actuated=name != "slack")
    b.couple("shadow", "rail", 3.0).drive("rail", rb.Trajectory((0.0, 1.0), (0.0, 1.0)))
    m = rb.build(b.description())
    reasons = {name: reason_passive(m, j) for j, name in enumerate(m.jnt_names)}
    assert reasons == {
        "slack": "has no actuator",
        "rail": "has a prescribed motion",
        "shadow": "mimics joint 'rail', which has a prescribed motion,",
    }


def test_lockstep_and_trials_command_the_same_joints(m):
    from rbdyn_ros.runtime.preparation import actuated, for_efforts
    from rbdyn_ros.trials.trial import Joints

    dof = m.jnt_dofadr[m.jnt_names.index("cart")]
    np.testing.assert_array_equal(np.flatnonzero(actuated(m)), [dof])
    assert named(m, np.flatnonzero(for_efforts(m).jnt_actuated)) == ["cart"]
    assert Joints.of(m).names == ("cart",)


def test_environments_have_no_action_for_a_passive_joint(m):
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    from rbdyn_ros.gym import BatchEnv

    env = BatchEnv(m, 1, effort=20.0)
    assert named(m, m.dof_jntid[env.actuated]) == ["cart"]
    assert env.single_action_space.shape == (1,)
    env.close()


def test_a_law_does_not_push_a_passive_joint(m):
    start = np.zeros((1, m.nq))
    start[0, m.jnt_qposadr[m.jnt_names.index("pole")]] = 0.5
    law, chosen = PDPolicy(100.0, 1.0), ("qfrc_applied",)
    found = rb.rollout(
        m, start, 0 * start, np.zeros(m.nq), nstep=1, policy=law, outputs=chosen, progress=False
    )
    forces = found.qfrc_applied
    assert not np.asarray(forces)[..., m.jnt_dofadr[m.jnt_names.index("pole")]].any()


def test_topics_command_the_same_joints_and_give_a_reason_for_refusing_others(m):
    pytest.importorskip("rclpy", reason="rclpy is not installed")
    from support.refusals import refused

    from rbdyn_ros.description.source import read
    from rbdyn_ros.ros.common.parsing.commands import command_parser
    from rbdyn_ros.ros.common.parsing.single_joints import SingleJoints

    assert SingleJoints.commanded(m).names == ("cart",)
    assert SingleJoints.free(m).names == ("cart", "pole")
    parser = command_parser(m, read(cart_pole()), "reject")
    assert parser.in_order([3.0]).effort.tolist() == [3.0]
    with refused(rb.RbdynError, "request", "joint 'pole'"):
        parser.by_name(["cart", "pole"], effort=[1.0, 1.0])
