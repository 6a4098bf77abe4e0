# SPDX-License-Identifier: Apache-2.0
"""The terms of an Arm include its mounting, payloads and the robot's own gravity compensation."""

import numpy as np
import pytest
from closed_loop import BENT, FILES, model, path_of
from scipy.spatial.transform import Rotation
from support import pinocchio_twin
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.arm.arm import Arm, mounted_gravity
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.errors import ModelError, ParameterError

pin = pytest.importorskip("pinocchio", reason="pin is not installed")

each_arm = pytest.mark.parametrize("file", FILES)
PAYLOAD = ("tool0", 2.0, (0.01, -0.02, 0.15), (0.01, 0.012, 0.005, 0.001, 0.0, -0.001))


def state(file, seed=0):
    rng = np.random.default_rng(seed)
    q = np.array(BENT[file])
    return q, rng.normal(size=len(q)), rng.normal(size=len(q))


class Pin:
    """Pinocchio's terms in our coordinates; mimic joints are projected onto their leaders."""

    def __init__(self, file, m):
        self.model = pinocchio_twin.load(path_of(file))
        self.data = self.model.createData()
        self.G = np.zeros((self.model.nv, m.nv))
        self.kinds = [self.model.joints[self.model.getJointId(name)] for name in m.jnt_names]
        for j, theirs in enumerate(self.kinds):
            ratio = m.jnt_mimic_ratio[j] if m.jnt_mimic[j] >= 0 else 1.0
            self.G[theirs.idx_v, m.jnt_dofadr[j]] = ratio

    def place(self, qpos):
        q = pin.neutral(self.model)
        for theirs, value in zip(
            self.kinds, (self.G @ qpos)[[k.idx_v for k in self.kinds]], strict=True
        ):
            # Pinocchio represents a joint without limits by (cos, sin)
            at = slice(theirs.idx_q, theirs.idx_q + theirs.nq)
            q[at] = value if theirs.nq == 1 else (np.cos(value), np.sin(value))
        return q

    def gravity(self, qpos):
        g = pin.computeGeneralizedGravity(self.model, self.data, self.place(qpos))
        return self.G.T @ g

    def rnea(self, qpos, qvel, qacc):
        rows = self.G @ qvel, self.G @ qacc
        return self.G.T @ pin.rnea(self.model, self.data, self.place(qpos), *rows)

    def mass(self, qpos):
        M = pin.crba(self.model, self.data, self.place(qpos))
        return self.G.T @ (np.triu(M) + np.triu(M, 1).T) @ self.G


@each_arm
def test_gravity_and_inverse_dynamics_agree_with_pinocchio(file):
    m = model(file, damped=True)  # an Arm has no passive forces
    arm, theirs = Arm(m), Pin(file, m)
    q, v, a = state(file)
    out = np.full(m.nv, np.nan)
    np.testing.assert_allclose(arm.gravity_effort(q, out), theirs.gravity(q), atol=1e-10)
    expected = theirs.rnea(q, v, a)
    np.testing.assert_allclose(arm.inverse_dynamics(q, v, a, out), expected, rtol=0, atol=1e-10)


@each_arm
def test_gravity_and_inverse_dynamics_agree_with_mujoco(file):
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    from support import mujoco_twin

    m, (q, v, a) = model(file), state(file)
    theirs = mujoco_twin.from_urdf(path_of(file))
    d = mujoco.MjData(theirs)
    G = np.zeros((theirs.nv, m.nv))  # this matrix projects mimic joints onto their leaders
    for j, name in enumerate(m.jnt_names):
        ratio = m.jnt_mimic_ratio[j] if m.jnt_mimic[j] >= 0 else 1.0
        G[theirs.joint(name).dofadr[0], m.jnt_dofadr[j]] = ratio

    def rne(*rows):
        d.qpos[:], d.qvel[:], d.qacc[:] = (G @ row for row in rows)
        mujoco.mj_fwdPosition(theirs, d)
        mujoco.mj_fwdVelocity(theirs, d)
        found = np.empty(theirs.nv)
        mujoco.mj_rne(theirs, d, 1, found)
        return G.T @ found

    arm, out = Arm(m), np.empty(m.nv)
    np.testing.assert_allclose(arm.gravity_effort(q, out), rne(q, 0 * v, 0 * a), atol=1e-10)
    np.testing.assert_allclose(arm.inverse_dynamics(q, v, a, out), rne(q, v, a), atol=1e-10)


@each_arm
def test_a_rotated_base_and_rotated_gravity_cancel(file):
    """The terms change if only the base is rotated, not if gravity rotates with the base."""
    m, (q, _v, _a) = model(file), state(file)
    rpy = (0.3, -0.7, 1.1)
    turn = Rotation.from_euler("xyz", rpy)  # the axes are fixed, as in URDF
    upright, both = Arm(m), Arm(m, turn.apply([0.0, 0.0, -9.81]), rpy)
    g = upright.gravity_effort(q, np.empty(m.nv))
    np.testing.assert_allclose(both.gravity_effort(q, np.empty(m.nv)), g, atol=1e-12)
    alone = Arm(m, mounting=rpy).gravity_effort(q, np.empty(m.nv))
    assert np.abs(alone - g).max() > 1.0


@each_arm
def test_a_mounting_and_an_equal_fixed_joint_of_the_base_give_the_same_gravity(file):
    rpy, (q, _v, _a) = (0.3, -0.7, 1.1), state(file)
    m = model(file)
    theirs = Pin(file, m)
    theirs.model.gravity.linear = Rotation.from_euler("xyz", rpy).as_matrix().T @ [0, 0, -9.81]
    arm = Arm(m, mounting=rpy)
    np.testing.assert_allclose(
        arm.gravity_effort(q, np.empty(m.nv)), theirs.gravity(q), rtol=0, atol=1e-10
    )


def test_mounted_gravity_is_right_on_the_ceiling_and_on_the_wall():
    np.testing.assert_allclose(mounted_gravity((np.pi, 0, 0)), [0, 0, 9.81], atol=1e-14)
    # pitched down: gravity is along the x axis of the base
    np.testing.assert_allclose(mounted_gravity((0, np.pi / 2, 0)), [9.81, 0, 0], atol=1e-14)
    np.testing.assert_allclose(
        mounted_gravity((0, 0, 1.0), (1.0, 0, 0)), [np.cos(1), -np.sin(1), 0]
    )


@pytest.mark.parametrize("bad", [(0, 0), (0, 0, np.nan), (0, 0, np.inf), "abc", None, ((0,),)])
def test_an_invalid_mounting_is_refused(bad):
    with refused(ParameterError, "bad-argument"):
        mounted_gravity(bad)
    with refused(ParameterError, "bad-argument"):
        Arm(model(), gravity=bad)


def test_a_payload_acts_like_a_link_of_the_robot():
    m, (q, v, a) = model(), state(FILES[0])
    arm = Arm(m).with_payload(*PAYLOAD)
    model_pin = pinocchio_twin.load(path_of(FILES[0]))
    frame = model_pin.frames[model_pin.getFrameId("tool0")]
    xx, yy, zz, xy, xz, yz = PAYLOAD[3]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    body = pin.Inertia(PAYLOAD[1], np.array(PAYLOAD[2]), inertia)
    model_pin.appendBodyToJoint(frame.parentJoint, body, frame.placement)
    expected = pin.rnea(model_pin, model_pin.createData(), q, v, a)
    found = arm.inverse_dynamics(q, v, a, np.empty(m.nv))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_payloads_of_two_links_add_up_and_a_new_payload_replaces_the_last_one_on_its_link():
    m, (q, _v, _a) = model(), state(FILES[0])

    def g(arm):
        return arm.gravity_effort(q, np.empty(m.nv))

    plain = Arm(m)
    one = plain.with_payload("tool0", 1.0, (0, 0, 0.1))
    both = one.with_payload("forearm_link", 3.0, (0, 0.1, 0))
    other = plain.with_payload("forearm_link", 3.0, (0, 0.1, 0))
    np.testing.assert_allclose(g(both) - g(plain), g(one) + g(other) - 2 * g(plain), atol=1e-12)
    np.testing.assert_array_equal(g(both.with_payload("tool0", 0.0, (0, 0, 0))), g(other))
    np.testing.assert_array_equal(
        g(both.with_payload("tool0", 5.0, (0, 0, 0)).with_payload("tool0", 1.0, (0, 0, 0.1))),
        g(other.with_payload("tool0", 1.0, (0, 0, 0.1))),
    )
    assert (
        not both.with_payload("tool0", 0, (0, 0, 0))
        .with_payload("forearm_link", 0, (0, 0, 0))
        .payloads
    )
    assert g(plain).tolist() == g(Arm(m)).tolist()  # the first arm is unchanged
    twin = both.twin()
    np.testing.assert_array_equal(g(twin), g(both))
    assert twin.d is not both.d


@pytest.mark.parametrize(
    "bad",
    [
        ("no_such_link", 1.0, (0, 0, 0)),
        ("tool0", -1.0, (0, 0, 0)),
        ("tool0", np.nan, (0, 0, 0)),
        ("tool0", 1.0, (0, np.inf, 0)),
        ("tool0", 1.0, (0, 0)),
        ("tool0", 1.0, (0, 0, 0), (1, 1, 5, 0, 0, 0)),
        ("no_such_link", 0.0, (0, 0, 0)),
        ("base_link", 1.0, (0, 0, 0)),
    ],
)
def test_an_invalid_payload_is_refused(bad):
    with pytest.raises((ModelError, ParameterError)):
        Arm(model()).with_payload(*bad)


@each_arm
def test_a_command_omits_the_gravity_that_the_robot_compensates(file):
    m, (q, v, a) = model(file), state(file)
    link = m.body_names[-1]
    bare_g = Arm(m).gravity_effort(q, np.empty(m.nv))
    helped = Arm(m, robot_compensates_gravity=True).with_payload(link, 1.5, (0.1, 0, 0))
    alone = Arm(m).with_payload(link, 1.5, (0.1, 0, 0))
    effort = alone.inverse_dynamics(q, v, a, np.empty(m.nv))
    command = helped.command(effort.copy(), q, v)
    np.testing.assert_allclose(command + bare_g, effort, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(alone.command(effort.copy(), q, v), effort)
    assert np.abs(command - effort).max() > 0.1


def test_friction_is_added_at_the_measured_velocity():
    m, (q, v, _a) = model(), state(FILES[0])
    friction = Friction.of(m.nv, viscous=2.0, coulomb=0.5)
    command = Arm(m, friction=friction).command(np.zeros(m.nv), q, v)
    np.testing.assert_allclose(command, 2.0 * v + 0.5 * np.tanh(v / 0.01), rtol=1e-12)
    with refused(ParameterError, "bad-argument", "friction"):
        Arm(m, friction=Friction.of(5))


def test_arrays_of_other_lengths_are_refused():
    arm, v = Arm(model()), np.zeros(6)
    for efforts in (np.zeros(3), np.zeros(12)[::2]):
        with refused(ParameterError, "bad-argument", "vector"):
            arm.command(efforts, v, v)
    with refused(ParameterError, "bad-argument", "vector"):
        arm.without_own(np.zeros(6), np.zeros(7))


def test_a_robot_that_is_not_an_arm_is_refused():
    def robot(joint):
        about = 'ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"'
        inertia = f'<inertial><mass value="1"/><inertia {about}/></inertial>'
        return rb.load_urdf(
            f'<robot name="x"><link name="a"/><link name="b">{inertia}</link><joint name="j" '
            f'type="{joint}"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>'
            "</robot>"
        )

    for kind in ("planar", "floating", "fixed"):
        with refused(ModelError, "not-an-arm"):
            Arm(robot(kind))
    with refused(ModelError, "not-an-arm"):
        Arm(rb.load_urdf(path_of(FILES[0]), floating_base=True))
    with refused(ModelError, "not-a-model"):
        Arm("ur5.urdf")


def test_an_arm_does_not_change_its_model():
    m = model(damped=True)
    before = m.opt.gravity, m.opt.passive, m.sha256()
    arm = Arm(m, (0, 0, -1.6), (0.1, 0, 0)).with_payload("tool0", 1.0, (0, 0, 0))
    assert (m.opt.gravity, m.opt.passive, m.sha256()) == before
    assert arm.sha256 == m.sha256()
    assert not arm.m.opt.passive
