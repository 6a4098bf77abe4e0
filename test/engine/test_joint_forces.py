# SPDX-License-Identifier: Apache-2.0
"""Joint forces balance the forces on each body, and agree with closed forms and MuJoCo."""

from dataclasses import replace

import numpy as np
import pytest
from support import pairs, states, trees
from support.compare import Comparison
from support.trees import rotation

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import (
    Description,
    Gear,
    GearTerm,
    Inertial,
    Joint,
    Length,
    Link,
    Mimic,
    Spring,
    Trajectory,
)
from rbdyn_ros.textbook.maximal import maximal
from rbdyn_ros.textbook.system import System

G = 9.81
WAVE = Trajectory((0.0, 0.5, 1.0), (0.0, 1.0, -0.5))
#: Joint types whose first coordinate can have a gear.
FLAT = (*trees.SIMPLE, "helical", "rack_pinion", "universal", "cylindrical")


def forces(m, d):
    rb.forward(m, d)
    rb.joint_forces(m, d)
    return d


# balance of forces


def system(seed, constrained):
    """Return a tree with every joint type; `constrained` adds loops, springs and drives."""
    description = trees.auto_tree(
        9, 1.5, kinds=trees.LIBRARY, seed=seed, damping=0.3, reversals=0.5, offsets=0.5
    )
    if not constrained:
        return description
    turning = next(j.name for j in description.joints if j.type in FLAT)
    more = (
        Joint("lead", "revolute", "link4", "wheel", axis=(0.0, 1.0, 0.0), armature=0.1),
        Joint("follow", "prismatic", "wheel", "tip", mimic=Mimic("lead", -0.8, 0.1)),
        Joint("loop", "universal", "link2", "tip", axis=(1.0, 0.0, 0.0), axis2=(0.0, 1.0, 0.0),
              closes_loop=True),
        Joint("sway", "revolute", "link3", "flag", motion=WAVE),
        Joint("echo", "prismatic", "flag", "bell", mimic=Mimic("sway", 0.5)),
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    links = [Link(name, trees.random_inertial(rng)) for name in ("wheel", "tip", "flag", "bell")]
    rod = Length("rod", ("link1", "link6"), ((0.1, 0.0, 0.0), (0.0, 0.1, 0.0)), 0.7)
    terms = tuple(GearTerm(name, 0.5) for name in (turning, "lead"))
    return replace(
        description,
        links=(*description.links, *links),
        joints=(*description.joints, *more),
        springs=(Spring("coil", "link1", "tip", stiffness=30.0, damping=1.0, length=0.2),),
        constraints=(rod, Gear("train", terms)),
    )


def in_world(d, joint_wrench, body, pose):
    """Return [moment about the world's origin; force] of a joint wrench given in the frame F_s."""
    R = d.xmat[body].reshape(3, 3) @ rotation(pose.quat).as_matrix()
    p = d.xpos[body] + d.xmat[body].reshape(3, 3) @ np.array(pose.pos)
    moment, force = R @ joint_wrench[:3], R @ joint_wrench[3:]
    return np.concatenate([moment + np.cross(p, force), force])


def on_bodies(m, d, description):
    """Return the sum of joint wrenches on each body, about the world's origin."""
    total = np.zeros((m.nbody, 6))
    joints = {joint.name: joint for joint in description.joints}
    body = {name: i for i, name in enumerate(m.frame_names)}
    every = [(name, d.jnt_force[j]) for j, name in enumerate(m.jnt_names)]
    every += [(name, d.loop_force[j]) for j, name in enumerate(m.loop_names)]
    for name, wrench in every:
        joint = joints[name]
        s, p = (m.frame_bodyid[body[link]] for link in (joint.child, joint.parent))
        # pose of the link in its body, then X_S in the link
        k = body[joint.child]
        link = rb.Pose(tuple(m.frame_pos[k]), tuple(m.frame_quat[k]))
        world = in_world(d, wrench, s, _then(link, joint.child_origin))
        total[s] += world
        total[p] -= world
    return total


def _then(a, b):
    turn = rotation(a.quat)
    return rb.Pose(tuple(np.array(a.pos) + turn.apply(b.pos)), trees.wxyz(turn * rotation(b.quat)))


def newton_euler(m, d, h=1e-6):
    """Return d(momentum)/dt - gravity - xfrc of each body, about the world's origin.

    The rate of momentum is a central difference between states that qacc leads to. Thus only
    velocities, and no accelerations, come from the engine.
    """
    momenta = []
    for sign in (-1.0, 1.0):
        e = rb.make_data(m)
        e.time = d.time + sign * h
        e.qpos = d.qpos
        rb.integrate_pos(m, e.qpos, d.qvel + 0.5 * sign * h * d.qacc, sign * h)
        e.qvel = d.qvel + sign * h * d.qacc
        rb.forward(m, e)
        momenta.append([_momentum(m, e, i) for i in range(m.nbody)])
    rate = (np.array(momenta[1]) - np.array(momenta[0])) / (2.0 * h)
    for i in range(1, m.nbody):
        force = m.body_mass[i] * m.opt.gravity + d.xfrc_applied[i, :3]
        moment = np.cross(d.xipos[i], force) + d.xfrc_applied[i, 3:]
        rate[i] -= np.concatenate([moment, force])
    return rate


def _momentum(m, d, i):
    w = d.cvel[i, :3]
    v = d.cvel[i, 3:] + np.cross(w, d.xipos[i] - d.subtree_com[m.body_rootid[i]])
    R = d.ximat[i].reshape(3, 3)
    spin = R @ (m.body_inertia[i] * (R.T @ w))
    return np.concatenate([spin + np.cross(d.xipos[i], m.body_mass[i] * v), m.body_mass[i] * v])


def pulls(m, d):
    """Return the wrenches of springs and rods on each body, about the world's origin."""
    total = np.zeros((m.nbody, 6))

    def pull(bodies, points, tension):
        ends = [
            d.xpos[b] + d.xmat[b].reshape(3, 3) @ p for b, p in zip(bodies, points, strict=True)
        ]
        u = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
        for b, x, sign in zip(bodies, ends, (1.0, -1.0), strict=True):
            force = sign * tension(ends, u) * u
            total[b] += np.concatenate([np.cross(x, force), force])

    def velocity(b, x):
        at = d.subtree_com[m.body_rootid[b]]
        return d.cvel[b, 3:] + np.cross(d.cvel[b, :3], x - at)

    for n in range(m.nspring):
        bodies = m.spring_bodyid[n]

        def tension(ends, u, n=n, bodies=bodies):
            stretch = np.linalg.norm(ends[1] - ends[0]) - m.spring_length[n]
            rate = u @ (velocity(bodies[1], ends[1]) - velocity(bodies[0], ends[0]))
            return m.spring_stiffness[n] * stretch + m.spring_damping[n] * rate

        pull(bodies, m.spring_pos[n], tension)
    for n in range(m.nlength):
        first = m.length_pointadr[n]
        # a positive lambda lengthens the rod
        force = -d.efc_force[m.nefc - m.ngear - m.nlength + n]
        pull(m.point_bodyid[first : first + 2], m.point_pos[first : first + 2],
             lambda _ends, _u, force=force: force)  # fmt: skip
    return total


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_joint_forces_balance_the_momentum_of_each_body(seed, constrained):
    """All joint, spring and rod forces on a body sum to d(momentum)/dt - m g - xfrc."""
    description = system(seed, constrained)
    m = rb.build(description)
    d = rb.make_data(m)
    states.randomise(m, d, seed)
    if constrained:
        d.time = 0.3  # so that driven joints move
        d.qpos = m.qpos0
        rb.forward(m, d)
        d.qvel -= np.linalg.pinv(d.efc_J) @ (d.efc_J @ d.qvel)
    forces(m, d)
    acting = on_bodies(m, d, description) + pulls(m, d)
    moving = newton_euler(m, d)
    # differences over 1e-6 s have rounding errors of 1e-10 and truncation errors of 1e-12
    with Comparison("joint forces", f"seed {seed}, {constrained}") as compare:
        compare.close("balance", acting[1:], moving[1:], 1e-7)


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_force_along_a_joint_equals_the_applied_force(seed, constrained):
    """S^T f is the applied and passive force along the joint minus the rotor's inertial force.

    Mimic joints and their leaders are left out, because they share one force.
    """
    m = rb.build(replace(system(seed, constrained), springs=()))
    d = rb.make_data(m)
    states.randomise(m, d, seed + 10)
    if constrained:
        d.qpos = m.qpos0
    forces(m, d)
    tau = d.qfrc_applied + d.qfrc_passive - m.dof_armature * d.qacc
    for r in range(m.nefc - m.ngear, m.nefc):  # add the forces of gears along the joints
        tau += d.efc_J[r] * d.efc_force[r]
    along = np.array([d.cdof[k] @ d.cfrc_int[m.dof_bodyid[k]] for k in range(m.nv)])
    alone = ~np.isin(np.arange(m.nv), m.jnt_dofadr[m.jnt_mimic >= 0])
    with Comparison("joint forces", f"seed {seed}") as compare:
        compare.close("S^T f", along[alone], tau[alone], 1e-9)


# comparison with MuJoCo


@pytest.mark.parametrize("base", pairs.BASES)
@pytest.mark.parametrize("name", [n for n in pairs.TREES if n != "tree-fixed"])
def test_cfrc_int_agrees_with_mujoco(name, base):
    mujoco = pytest.importorskip("mujoco")
    m, theirs = pairs.tree_pair(name, base)
    d, t = rb.make_data(m), mujoco.MjData(theirs)
    states.randomise(m, d, 1)
    forces(m, d)
    t.qpos, t.qvel = d.qpos, d.qvel
    t.xfrc_applied[:] = d.xfrc_applied
    mujoco.mj_fwdPosition(theirs, t)
    mujoco.mj_fwdVelocity(theirs, t)
    t.qacc = d.qacc
    mujoco.mj_rnePostConstraint(theirs, t)
    with Comparison("MuJoCo", f"{name}, {base}") as compare:
        compare.close("cacc", d.cacc, t.cacc, 1e-10)
        compare.close("cfrc_int", d.cfrc_int[1:], t.cfrc_int[1:], 1e-10)


# comparison with closed forms


def pendulum(**fields):
    """Return a bar of 2 kg along x, with its centre of mass at 0.5 m, on a hinge along y."""
    bar = Inertial(2.0, rb.Pose((0.5, 0.0, 0.0)), (0.01, 0.2, 0.2, 0.0, 0.0, 0.0))
    joint = {"name": "j", "type": "revolute", "parent": "base", "child": "bar",
             "axis": (0.0, 1.0, 0.0)} | fields  # fmt: skip
    return Description(
        "pendulum", (Link("base"), Link("bar", bar)), (Joint(**joint),), base="base"
    )


def held(m):
    """Return a Data at rest with computed joint forces; qfrc_applied holds the Model."""
    d = rb.make_data(m)
    rb.inverse(m, d)
    d.qfrc_applied = d.qfrc_inverse
    return forces(m, d)


def test_the_base_carries_the_weight_of_an_arm():
    d = held(rb.build(pendulum()))
    assert np.abs(d.qacc).max() < 1e-14
    # an upward force of 2 kg g, and a moment about y of 0.5 m 2 kg g
    assert d.jnt_force[0] == pytest.approx([0.0, -G, 0.0, 0.0, 0.0, 2.0 * G], abs=1e-12)
    assert d.jnt_bearing[0] == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.0, 2.0 * G], abs=1e-12)


def test_the_base_carries_the_weight_of_a_reversed_arm():
    """The base is the joint's child link here, so the wrench is opposite, in the base's axes."""
    d = held(rb.build(pendulum(parent="bar", child="base")))
    assert d.jnt_force[0] == pytest.approx([0.0, G, 0.0, 0.0, 0.0, -2.0 * G], abs=1e-12)
    assert d.jnt_bearing[0] == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.0, -2.0 * G], abs=1e-12)


def test_the_root_carries_the_weight_of_a_tree():
    m = rb.build(trees.auto_tree(8, 1.5, kinds=trees.SIMPLE, seed=3))
    d = rb.make_data(m)
    d.qpos = states.random_qpos(m, np.random.default_rng(3))
    rb.inverse(m, d)
    d.qfrc_applied = d.qfrc_inverse
    forces(m, d)
    for i in np.flatnonzero(m.body_parentid[1:] == 0) + 1:
        R = d.xmat[i].reshape(3, 3)
        weight = m.body_subtreemass[i] * m.opt.gravity
        arm = d.subtree_com[i] - d.xpos[i]
        assert R @ d.jnt_force[i - 1, 3:] == pytest.approx(-weight, abs=1e-9)
        assert R @ d.jnt_force[i - 1, :3] == pytest.approx(-np.cross(arm, weight), abs=1e-9)


def test_a_gear_loads_its_bearing():
    """RBDA example 3.2: a tooth force at the pitch radius r loads the gear's bearing by tau / r.

    A unit tooth force acts along y at (r, 0, 0), so its moment along z is r.
    """
    r, tau = 0.05, 3.0
    disk = Inertial(1.0, inertia=(0.01, 0.01, 0.02, 0.0, 0.0, 0.0))
    joint = Joint("j", "revolute", "base", "wheel", axis=(0.0, 0.0, 1.0),
                  transmission=((0.0, 0.0, r, 0.0, 1.0, 0.0),))  # fmt: skip
    m = rb.build(Description("gear", (Link("base"), Link("wheel", disk)), (joint,), base="base"))
    m.opt.gravity = (0.0, 0.0, 0.0)
    d = rb.make_data(m)
    d.qfrc_applied = tau
    forces(m, d)
    assert d.qacc[0] == pytest.approx(tau / 0.02, rel=1e-14)
    assert d.jnt_force[0] == pytest.approx([0, 0, tau, 0, 0, 0], abs=1e-13)
    assert d.jnt_bearing[0] == pytest.approx([0, 0, 0, 0, -tau / r, 0], abs=1e-12)


def test_an_unbalanced_rotor_loads_its_bearings():
    """Static unbalance causes a rotating bearing force, and dynamic unbalance a rotating moment.

    The rotor turns about z at w. Its centre of mass is at (e, 0, h), about which its products of
    inertia are Ixz and Iyz. In rotor axes the bearing at the origin exerts the force
    m (-e w^2, 0, 0) and the moment w x (I_O w) = (-I_O,yz, I_O,xz, 0) w^2, with I_O about the
    origin: I_O,xz = Ixz - m e h and I_O,yz = Iyz.
    """
    mass, e, h, Ixz, Iyz, w = 3.0, 0.002, 0.1, 0.004, -0.003, 200.0
    rotor = Inertial(mass, rb.Pose((e, 0.0, h)), (0.05, 0.05, 0.08, 0.0, Ixz, Iyz))
    joint = Joint("j", "revolute", "base", "rotor", axis=(0.0, 0.0, 1.0))
    m = rb.build(Description("rotor", (Link("base"), Link("rotor", rotor)), (joint,), base="base"))
    m.opt.gravity = (0.0, 0.0, 0.0)
    d = rb.make_data(m)
    for angle in (0.0, 1.1, -2.4):
        d.qpos, d.qvel = angle, w
        forces(m, d)
        moment = np.array([-Iyz, Ixz - mass * e * h, 0.0]) * w**2
        force = np.array([-mass * e * w**2, 0.0, 0.0])
        assert d.qacc[0] == pytest.approx(0.0, abs=1e-9)
        assert d.jnt_force[0, :3] == pytest.approx(moment, rel=1e-12, abs=1e-10)
        assert d.jnt_force[0, 3:] == pytest.approx(force, rel=1e-12, abs=1e-10)
        assert d.jnt_bearing[0] == pytest.approx(d.jnt_force[0], abs=1e-10)
        # in the axes of the stand the force rotates with the rotor
        R = d.xmat[1].reshape(3, 3)
        towards = R @ d.jnt_force[0, 3:]
        assert towards == pytest.approx(
            -mass * e * w**2 * np.array([np.cos(angle), np.sin(angle), 0.0]), abs=1e-9
        )


# closed loops


def test_two_supports_share_the_weight_of_a_beam():
    """A hinge at one end and a ball joint at the other carry 1 kg each.

    Forces along the beam are not determined; in the solution of least norm they are zero.
    """
    description = pendulum()
    end = rb.Pose((1.0, 0.0, 0.0))
    support = Joint("support", "spherical", "base", "bar", end, child_origin=end, closes_loop=True)
    m = rb.build(replace(description, joints=(*description.joints, support)))
    d = forces(m, rb.make_data(m))
    assert np.abs(d.qacc).max() < 1e-13
    assert d.jnt_force[0, 3:] == pytest.approx([0.0, 0.0, G], abs=1e-12)
    assert d.loop_force[0] == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.0, G], abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_loop_forces_agree_with_maximal_coordinates(seed):
    """Without redundant equations joint forces are unique, and equal the forces of RBDA 3.7."""
    description = trees.auto_tree(7, 1.4, kinds=trees.LIBRARY, seed=seed + 40, reversals=0.4)
    loop = trees.library_joint(
        "loop", "spherical", ("link2", rb.Pose((0.1, 0.0, 0.0))), ("link7", rb.Pose()),
        (0.0, 0.0, 1.0),
        np.random.default_rng(seed), closes_loop=True,
    )  # fmt: skip
    m = rb.build(replace(description, joints=(*description.joints, loop)))
    d = rb.make_data(m)
    rng = np.random.default_rng(seed)
    d.qfrc_applied = rng.uniform(-3.0, 3.0, m.nv)
    forces(m, d)
    assert d.efc_rank == m.nefc
    assert np.abs(d.efc_pos).max() < 1e-9
    f_J = maximal(System.of(m), d.qpos, d.qvel, d.qfrc_applied).f_J
    for j in range(m.njnt):
        # the textbook's f_J is the parent's force on the joint's body, in the body's frame
        body = j + 1
        R, p = d.xmat[body].reshape(3, 3), d.xpos[body]
        about = d.subtree_com[m.body_rootid[body]]
        wrench = d.cfrc_int[body]
        moment = wrench[:3] + np.cross(about - p, wrench[3:])
        ours = np.concatenate([R.T @ moment, R.T @ wrench[3:]])
        assert ours == pytest.approx(f_J[body], abs=1e-8 * np.abs(f_J).max())
    assert d.loop_force[0] == pytest.approx(f_J[m.nbody], abs=1e-8 * np.abs(f_J).max())
