# SPDX-License-Identifier: Apache-2.0
"""Mimic joints follow exactly, have no dof, and add their inertia to their leaders.

One reference is the system without couplings, projected (RBDA eq 3.20) by the constant matrix G
of q = ratio q_leader + offset and solved by NumPy. The other is Pinocchio, which also couples
joints, but has no forward dynamics for them.
"""

from dataclasses import replace

import numpy as np
import pytest
from support import pinocchio_twin, robots, states, trees
from support.compare import EPS, Comparison, with_inverse

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Description, Joint, Link, Mimic, Trajectory

SINGLE = ("revolute", "prismatic", "helical", "rack_pinion")
SEEDS = range(2, 18)
MIXED = (*SINGLE, *SINGLE, "spherical", "universal", "planar", "floating")

#: Robots with mimic joints of moving leaders, and the number of these mimic joints.
ROBOTS = {
    "baxter.urdf": 2,
    "panda.urdf": 1,
    "panda_collision.urdf": 1,
    "pr2.urdf": 10,
    "tiago_pro.urdf": 10,
    "talos_full_v2.urdf": 12,
    "talos_full_v2_box.urdf": 12,
}
#: Robots in which each mimic joint comes after its leader, as Pinocchio requires.
PINOCCHIO = [name for name in ROBOTS if not name.startswith("talos")]


class Reduced:
    """A Model m with couplings, the Model `free` without couplings, and the matrix G."""

    def __init__(self, m, free):
        assert m.jnt_names == free.jnt_names
        self.m, self.free = m, free
        self.G = np.zeros((free.nv, m.nv))
        for j in range(m.njnt):
            rows, columns = states.joint_slices(free, j)[1], states.joint_slices(m, j)[1]
            self.G[rows, columns] = m.jnt_mimic_ratio[j] * np.eye(m.jnt_dofnum[j])

    def data(self, d):
        """Return a Data of the free Model in the state of d."""
        e = rb.make_data(self.free)
        for j in range(self.m.njnt):
            place, source = states.joint_slices(self.free, j)[0], states.joint_slices(self.m, j)[0]
            e.qpos[place] = d.qpos[source]
            if self.m.jnt_mimic[j] >= 0:
                q = self.m.jnt_mimic_ratio[j] * d.qpos[source] + self.m.jnt_mimic_offset[j]
                e.qpos[place] = q
        e.qvel, e.xfrc_applied = self.G @ d.qvel, d.xfrc_applied
        return e

    def mass_matrix(self, e):
        """Return G^T M G for the free Model's Data e, with the armatures of the coupled Model."""
        M = rb.mass_matrix(self.free, e) - np.diag(self.free.dof_armature)
        return self.G.T @ M @ self.G + np.diag(self.m.dof_armature)


def couple(description, share, seed):
    """Let a share of the one-dof joints mimic other joints anywhere in the tree."""
    rng = np.random.default_rng([seed, 77])
    single = [j.name for j in description.joints if j.type in SINGLE]
    # joints mimic only earlier joints of this order, so there is no cycle
    order = rng.permutation(single).tolist()
    mimics = {}
    for place, name in enumerate(order[1:], start=1):
        if rng.random() < share:
            ratio = rng.choice((-1, 1)) * rng.uniform(0.3, 2.0)
            mimics[name] = Mimic(order[rng.integers(place)], ratio, rng.uniform(-0.5, 0.5))
    joints = tuple(replace(j, mimic=mimics.get(j.name)) for j in description.joints)
    return replace(description, joints=joints)


def tree(seed, nb=10, share=0.6, **fields):
    description = trees.auto_tree(
        nb, 1.0 + 0.3 * (seed % 4), kinds=MIXED, seed=seed, reversals=0.4, offsets=0.4, **fields
    )
    return couple(description, share, seed)


def pair(description):
    return Reduced(rb.build(description), rb.build(description, mimic=False))


def compare_with_projection(x, d, where):
    """Compare results of the coupled Model with projections of the free Model's results."""
    m, e = x.m, x.data(d)
    rb.forward(m, d)
    rb.forward(x.free, e)
    M = x.mass_matrix(e)
    bias = x.G.T @ e.qfrc_bias
    outside = x.G.T @ _outside(x.free, e)
    qacc = np.linalg.solve(M, d.qfrc_applied + d.qfrc_passive + outside - bias)
    allowed = with_inverse(1e-10, M, 1.0)
    with Comparison("couplings", where) as compare:
        compare.close("M", rb.mass_matrix(m, d), M, 1e-13)
        compare.close("qfrc_bias", d.qfrc_bias, bias, 1e-12)
        compare.close("qacc", d.qacc, qacc, allowed)
        compare.close("xpos", d.xpos, e.xpos, 1e-13)
        compare.close("cvel", d.cvel, e.cvel, 1e-12)
        rb.inverse(m, d)
        compare.close("inverse", d.qfrc_inverse, d.qfrc_applied + outside, allowed)


def _outside(m, d):
    """Return the joint forces (nv,) that are equivalent to xfrc_applied."""
    qfrc = np.zeros(m.nv)
    for i in range(1, m.nbody):
        force, torque = d.xfrc_applied[i, :3], d.xfrc_applied[i, 3:]
        arm = d.xipos[i] - d.subtree_com[m.body_rootid[i]]
        wrench = np.concatenate([torque + np.cross(arm, force), force])
        k = m.body_lastdof[i]
        while k >= 0:
            qfrc[k] += d.cdof[k] @ wrench
            k = m.dof_parentid[k]
    return qfrc


# real robots


@robots.needs_robots
@pytest.mark.parametrize("name", ROBOTS)
def test_real_robots_agree_with_the_projection(name):
    path = robots.find(name)
    m = rb.load_urdf(path, strict=False)
    x = Reduced(m, rb.load_urdf(path, strict=False, mimic=False))
    for opt in (m.opt, x.free.opt):  # explicit damping and friction
        opt.integrator, opt.exact_stops = "euler", False
    assert m.nmimic == ROBOTS[name] == x.free.nv - m.nv
    d = rb.make_data(m)
    states.randomise(m, d, 1)
    states.apply_reasonable_forces(m, d)
    compare_with_projection(x, d, name)


@robots.needs_robots
@pytest.mark.parametrize("name", PINOCCHIO)
def test_real_robots_agree_with_pinocchio(name):
    pin, path = pinocchio_twin.pin, robots.find(name)
    m = rb.load_urdf(path, strict=False)
    model = pin.buildModelFromUrdf(str(path), mimic=True)
    assert model.nv == m.nv
    d = rb.make_data(m)
    states.randomise(m, d, 2)
    q, B = pin.neutral(model), np.zeros((m.nv, m.nv))
    for j in np.flatnonzero(m.jnt_mimic < 0):
        theirs = model.joints[model.getJointId(m.jnt_names[j])]
        angle = d.qpos[m.jnt_qposadr[j]]
        turn = (np.cos(angle), np.sin(angle)) if theirs.nq == 2 else angle
        q[theirs.idx_q : theirs.idx_q + theirs.nq] = turn
        B[theirs.idx_v, m.jnt_dofadr[j]] = 1.0
    data = model.createData()
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    nle = pin.nonLinearEffects(model, data, q, B @ d.qvel)
    rnea = pin.rnea(model, data, q, B @ d.qvel, B @ d.qacc)
    d.xfrc_applied = 0.0
    m.opt.passive = False
    qacc = d.qacc.copy()
    rb.forward(m, d)
    d.qacc = qacc
    rb.inverse(m, d)
    armature = m.dof_armature * qacc
    with Comparison("couplings, Pinocchio", name) as compare:
        compare.close("M", rb.mass_matrix(m, d) - np.diag(m.dof_armature), B.T @ M @ B, 1e-10)
        compare.close("qfrc_bias", d.qfrc_bias, B.T @ nle, 1e-10)
        compare.close("qfrc_inverse", d.qfrc_inverse - armature, B.T @ rnea, 1e-10)


@robots.needs_robots
def test_with_mimic_false_mimic_joints_are_ordinary_joints():
    path = robots.find("panda.urdf")
    m, free = rb.load_urdf(path), rb.load_urdf(path, mimic=False)
    assert (m.nv, m.nmimic, free.nv, free.nmimic) == (8, 1, 9, 0)
    assert m.jnt_names == free.jnt_names
    assert (free.jnt_mimic == -1).all()
    assert (free.jnt_dofadr == np.arange(9)).all()


# generated trees


@pytest.mark.parametrize("seed", SEEDS)
def test_random_couplings_agree_with_the_projection(seed):
    x = pair(tree(seed))
    assert x.m.nmimic > 0
    d = rb.make_data(x.m)
    states.randomise(x.m, d, seed)
    compare_with_projection(x, d, f"seed {seed}")


def test_random_couplings_are_of_every_kind():
    """Mimic joints are above, below and beside their leaders, with ratios of both signs."""
    where = set()
    for seed in SEEDS:
        m = rb.build(tree(seed))
        way = [set(_way(m, i)) for i in range(m.nbody)]
        for j in np.flatnonzero(m.jnt_mimic >= 0):
            own, other = j + 1, m.jnt_mimic[j] + 1
            kind = "below" if other in way[own] else "above" if own in way[other] else "beside"
            where.add((kind, bool(m.jnt_reversed[j]), bool(m.jnt_mimic_ratio[j] < 0.0)))
    assert len(where) == 12


def _way(m, body):
    while body > 0:
        yield body
        body = m.body_parentid[body]


@pytest.mark.parametrize("seed", range(6))
def test_the_factorisation_gives_the_coupled_mass_matrix(seed):
    m = rb.build(tree(seed))
    d = rb.make_data(m)
    states.randomise(m, d, seed)
    rb.forward(m, d)
    rb.factor_m(m, d)
    M = rb.mass_matrix(m, d).copy()
    x = np.random.default_rng(seed).normal(size=m.nv)
    y, back = np.empty(m.nv), np.empty(m.nv)
    rb.mul_m(m, d, y, x)
    rb.solve_m(m, d, back, y)
    with Comparison("coupled factors", f"seed {seed}") as compare:
        compare.close("mul_m", y, M @ x, 1e-13)
        compare.close("solve_m", back, x, with_inverse(1e-13, M, m.nv))
        compare.close("M = M^T", M, M.T, 1e-15)
    assert np.linalg.eigvalsh(M).min() > 0.0


@pytest.mark.parametrize("seed", range(4))
def test_the_kinetic_energy_includes_mimic_joints(seed):
    m = rb.build(tree(seed))
    d = rb.make_data(m)
    states.randomise(m, d, seed)
    rb.forward(m, d)
    rb.energy(m, d)
    assert d.energy[1] == pytest.approx(0.5 * d.qvel @ rb.mass_matrix(m, d) @ d.qvel, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_energy_of_a_tree_with_mimic_joints_is_conserved(seed):
    """Runs with two timesteps show an energy error of order 4, the order of the integrator."""
    losses = []
    for h in (2e-3, 1e-3):
        m = rb.build(tree(seed, nb=6))
        m.opt.integrator, m.opt.timestep = "rk4", h
        d = rb.make_data(m)
        states.randomise(m, d, seed)
        d.qfrc_applied = d.xfrc_applied = 0.0
        rb.energy(m, d)
        rb.forward(m, d)
        rb.energy(m, d)
        before = d.energy.sum()
        rb.step(m, d, round(0.5 / h))
        rb.forward(m, d)
        rb.energy(m, d)
        losses.append(abs(d.energy.sum() - before))
    assert losses[1] < 1e-7
    assert losses[1] < losses[0] / 8.0 + 1e-11


@pytest.mark.parametrize("integrator", ["euler", "implicit_damping", "rk4"])
def test_many_steps_at_once_equal_single_steps_with_mimic_joints(integrator):
    """The bits are equal, and mimic joints follow exactly."""
    m = rb.build(tree(3, damping=0.3))
    m.opt.integrator = integrator
    d, e = rb.make_data(m), rb.make_data(m)
    states.randomise(m, d, 3)
    e.buffer[:] = d.buffer
    rb.step(m, d, 7)
    for _ in range(7):
        rb.step(m, e)
    assert d.qpos.tobytes() == e.qpos.tobytes()
    assert d.qvel.tobytes() == e.qvel.tobytes()
    for j in m.mimic_jntid:
        ratio, q = m.jnt_mimic_ratio[j], d.qpos[m.jnt_qposadr[j]]
        follows = d.qpos_all[m.jnt_qposadr_all[j]]
        # compiled code may round once (fused multiply-add), and NumPy rounds twice
        assert follows == pytest.approx(ratio * q + m.jnt_mimic_offset[j], rel=4 * EPS, abs=EPS)
        assert d.qvel_all[m.jnt_dofadr_all[j]] == ratio * d.qvel[m.jnt_dofadr[j]]


# forces along a mimic joint


def arm(follower=None, leader=None):
    """Return a base with two joints, of which `right` mimics `left` with a ratio of -3.

    follower, leader: further arguments of the joints `right` and `left`.
    """
    brick = trees.random_inertial(np.random.default_rng(5))
    links = (Link("base"), Link("a", brick), Link("b", brick))
    joints = (
        Joint("left", "revolute", "base", "a", axis=(0.0, 1.0, 0.0), **(leader or {})),
        Joint("right", "prismatic", "base", "b", mimic=Mimic("left", -3.0, 0.5),
                 **(follower or {})),
    )  # fmt: skip
    return Description("arm", links, joints, base="base")


@pytest.mark.parametrize("field", ["damping", "armature"])
def test_damping_and_armature_of_a_mimic_joint_act_on_its_leader(field):
    m = rb.build(arm({field: 0.2}, {field: 0.1}))
    assert getattr(m, f"dof_{field}") == pytest.approx([0.1 + 9.0 * 0.2], rel=1e-15)


def test_friction_of_a_mimic_joint_acts_on_its_leader():
    m = rb.build(arm({"friction": 0.2}, {"friction": 0.1}))
    assert m.dof_frictionloss == pytest.approx([0.1 + 3.0 * 0.2], rel=1e-15)


@pytest.mark.parametrize("leader", [{}, {"stiffness": 4.0, "rest": (0.3,)}])
def test_the_spring_of_a_mimic_joint_acts_on_its_leader(leader):
    """The force along `left` is its own spring force minus 3 times the one of `right`."""
    m = rb.build(arm({"stiffness": 2.0, "rest": (0.1,)}, leader))
    d = rb.make_data(m)
    for q in (-0.7, 0.0, 0.4):
        d.qpos = q
        rb.passive(m, d)
        own = -leader.get("stiffness", 0.0) * (q - 0.3)
        other = -2.0 * (-3.0 * q + 0.5 - 0.1)
        assert d.qfrc_passive == pytest.approx([own - 3.0 * other], rel=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_passive_forces_are_projections_of_the_uncoupled_passive_forces(seed):
    description = tree(seed, damping=0.5)
    rng = np.random.default_rng(seed)
    joints = tuple(
        replace(j, stiffness=rng.uniform(0.0, 5.0), rest=(rng.uniform(-0.5, 0.5),))
        if j.type in SINGLE
        else j
        for j in description.joints
    )
    x = pair(replace(description, joints=joints))
    d = rb.make_data(x.m)
    states.randomise(x.m, d, seed)
    e = x.data(d)
    states.at_present(x.m, d)
    states.at_present(x.free, e)
    with Comparison("couplings", f"seed {seed}") as compare:
        compare.close("qfrc_passive", d.qfrc_passive, x.G.T @ e.qfrc_passive, 1e-13)


# the arrays of a coupled Model


def test_mimic_joints_have_no_coordinates():
    m = rb.build(arm())
    assert (m.njnt, m.nq, m.nv, m.nmimic) == (2, 1, 1, 1)
    assert (m.jnt_names, m.mimic_jntid.tolist()) == (("left", "right"), [1])
    assert m.jnt_qposadr.tolist() == m.jnt_dofadr.tolist() == [0, 0]
    assert m.jnt_qposadr_all.tolist() == m.jnt_dofadr_all.tolist() == [0, 1]
    assert m.jnt_mimic.tolist() == [-1, 0]
    assert m.jnt_mimic_ratio.tolist() == [1.0, -3.0]
    assert m.jnt_mimic_offset.tolist() == [0.0, 0.5]
    assert m.qpos0.tolist() == [0.0]
    d = rb.make_data(m)
    rb.kinematics(m, d)
    assert d.qpos_all.tolist() == [0.0, 0.5]
    assert d.xpos[2].tolist() == [0.5, 0.0, 0.0]


def test_the_armature_of_a_coupled_model_can_be_replaced():
    m = rb.build(arm())
    heavier = m.replaced(dof_armature=[0.7])
    d, e = rb.make_data(m), rb.make_data(heavier)
    light, heavy = rb.mass_matrix(m, d)[0, 0], rb.mass_matrix(heavier, e)[0, 0]
    assert heavy == pytest.approx(light + 0.7, rel=1e-15)
    rb.forward_dynamics(m, d)
    rb.forward_dynamics(heavier, e)
    assert e.qacc[0] * heavy == pytest.approx(d.qacc[0] * light, rel=1e-13)


def test_massless_links_of_mimic_joints_are_allowed():
    """A mimic joint has no dof, so its link may have no inertia."""
    description = trees.auto_tree(5, 1.4, kinds=trees.SIMPLE, seed=2, massless=(4, 5))
    mimics = {"joint4": Mimic("joint1", -2.0, 0.1), "joint5": Mimic("joint4", 0.5)}
    joints = tuple(replace(j, mimic=mimics.get(j.name)) for j in description.joints)
    m = rb.build(replace(description, joints=joints))
    lone = rb.build(
        replace(description, links=description.links[:4], joints=description.joints[:3])
    )
    d, e = rb.make_data(m), rb.make_data(lone)
    for model, data in ((m, d), (lone, e)):
        states.randomise(model, data, 4)
        data.xfrc_applied = 0.0
        rb.forward(model, data)
    assert d.nbad == 0
    assert d.qacc == pytest.approx(e.qacc, rel=1e-12)
    assert rb.mass_matrix(m, d) == pytest.approx(rb.mass_matrix(lone, e), rel=1e-14)


def test_a_mimic_joint_follows_a_driven_leader():
    """The joint follows the leader's trajectory times the ratio, plus the offset."""
    times = (0.0, 0.5, 1.3, 2.0)
    positions = np.array([0.0, 1.0, -0.5, 0.3])
    description = trees.auto_tree(5, 1.3, kinds=trees.SIMPLE, seed=6)

    def driven(**fields):
        joints = (replace(j, **fields.get(j.name, {})) for j in description.joints)
        return rb.build(replace(description, joints=tuple(joints)))

    leader = {"motion": Trajectory(times, tuple(positions))}
    m = driven(joint2=leader, joint4={"mimic": Mimic("joint2", -1.5, 0.2)})
    moved = {"motion": Trajectory(times, tuple(-1.5 * positions + 0.2))}
    twin = driven(joint2=leader, joint4=moved)
    assert (m.nv, m.ndrive, m.nmimic) == (twin.nv, twin.ndrive, 0) == (3, 2, 0)
    d, e = rb.make_data(m), rb.make_data(twin)
    for model, data in ((m, d), (twin, e)):
        rb.step(model, data, 700)
        rb.inverse(model, data)
    with Comparison("couplings", "driven") as compare:
        for field in ("qpos_all", "qvel_all", "qacc_all"):
            # rounding grows over 700 steps
            compare.close(field, getattr(d, field), getattr(e, field), 1e-9)
        # the leader's drive also moves the mimic joint
        both = [e.qfrc_driven[0] - 1.5 * e.qfrc_driven[1], 0.0]
        compare.close("qfrc_driven", d.qfrc_driven, both, 1e-9)
