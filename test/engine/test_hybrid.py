# SPDX-License-Identifier: Apache-2.0
"""Hybrid dynamics: forces move some joints, and others have a given motion.

Given accelerations are met exactly. With qfrc_drive added to qfrc_applied, forces alone cause the
same motion. Inverse dynamics and dense algebra are the references.
"""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from support import robots, states, trees
from support.compare import Comparison, with_inverse
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Gear, GearTerm, Mimic, Trajectory
from rbdyn_ros.model.declared.joints import JointClass

INTEGRATORS = ("euler", "implicit_damping", "rk4")
each_integrator = pytest.mark.parametrize("integrator", INTEGRATORS)


def tree(seed, **fields):
    return trees.auto_tree(8, 1.5, kinds=trees.SIMPLE, seed=seed, reversals=0.3, **fields)


def coupled(seed):
    description = tree(seed, damping=0.2)
    mimics = {"joint4": Mimic("joint2", -0.6, 0.1), "joint7": Mimic("joint4", 1.5)}
    joints = tuple(replace(j, mimic=mimics.get(j.name)) for j in description.joints)
    return replace(description, joints=joints)


def geared(seed):
    """Return a tree with a gear between three joints, which is a constraint of full rank."""
    terms = (GearTerm("joint2"), GearTerm("joint5", -0.7), GearTerm("joint8", 0.4))
    return replace(tree(seed), constraints=(Gear("train", terms),))


def looped(seed):
    """Return a tree in which a ball joint closes a loop between the first and last links."""
    description = tree(seed)
    loop = trees.library_joint(
        "loop", "spherical", ("link1", rb.Pose()), ("link8", rb.Pose()), (0.0, 0.0, 1.0),
        np.random.default_rng(seed), closes_loop=True,
    )  # fmt: skip
    return replace(description, joints=(*description.joints, loop))


SYSTEMS = {"tree": tree, "couplings": coupled, "gear": geared, "loop": looped}


def moving(system, seed):
    """Return a Model, and a Data in a random state that satisfies the constraints."""
    m = rb.build(SYSTEMS[system](seed))
    d = rb.make_data(m)
    rng = np.random.default_rng(seed)
    d.qpos = m.qpos0 if m.nefc else states.random_qpos(m, rng)
    d.qvel = rng.uniform(-1.0, 1.0, m.nv)
    d.qfrc_applied = rng.uniform(-5.0, 5.0, m.nv)
    if m.nefc:
        rb.forward(m, d)
        d.qvel -= np.linalg.pinv(d.efc_J) @ (d.efc_J @ d.qvel)
    return m, d


def own(m):
    """Return the numbers of the joints that have dofs."""
    return np.flatnonzero(m.jnt_class == JointClass.FREE)


# given accelerations


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("system", SYSTEMS)
def test_given_accelerations_agree_with_a_dense_solve(system, seed):
    """Dense algebra gives the other accelerations, the drive forces and lambda."""
    m, d = moving(system, seed)
    rng = np.random.default_rng(seed + 50)
    chosen = rng.choice(own(m), 2, replace=False)
    for j in chosen:
        rb.set_drive(m, d, int(j), "acceleration", rng.uniform(-3.0, 3.0))
    rb.forward(m, d)
    given = m.jnt_dofadr[chosen]
    force = d.qfrc_applied + d.qfrc_passive - d.qfrc_bias
    M, K, k = rb.mass_matrix(m, d), d.efc_J, d.efc_aref
    E = np.eye(m.nv)[given]
    rows = np.vstack([K, E])
    kkt = np.block([[M, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
    solution = np.linalg.solve(kkt, np.concatenate([force, k, d.drive_target[given]]))
    drive = np.zeros(m.nv)
    drive[given] = -solution[m.nv + m.nefc :]
    free = np.setdiff1d(np.arange(m.nv), given)
    allowed = with_inverse(1e-10, kkt, 1.0)
    with Comparison("hybrid", f"{system}, seed {seed}") as compare:
        compare.equal("given qacc", d.qacc[given], d.drive_target[given])
        compare.close("qacc", d.qacc[free], solution[free], allowed)
        compare.close("qfrc_drive", d.qfrc_drive, drive, allowed)
        compare.close("balance", M @ d.qacc, force + d.qfrc_drive + d.qfrc_constraint, allowed)
        if m.nefc == 0:
            rb.inverse(m, d)
            compare.close("inverse", d.qfrc_inverse, d.qfrc_applied + d.qfrc_drive, allowed)


@pytest.mark.parametrize("system", SYSTEMS)
def test_drive_forces_as_applied_forces_give_the_same_motion(system):
    """Without drives, but with qfrc_drive in qfrc_applied, the motion is the same."""
    m, d = moving(system, 9)
    for j in own(m)[:2]:
        rb.set_drive(m, d, int(j), "acceleration", 1.5)
    rb.forward(m, d)
    before = d.qacc.copy()
    d.qfrc_applied += d.qfrc_drive
    for j in own(m)[:2]:
        rb.set_drive(m, d, int(j), "force")
    rb.forward(m, d)
    assert not d.qfrc_drive.any()
    assert d.qacc == pytest.approx(before, rel=1e-9, abs=1e-9 * np.abs(before).max())


@pytest.mark.parametrize("kind", ["spherical", "floating", "planar_fs", "universal"])
def test_joints_of_several_coordinates_can_be_driven(kind):
    m = rb.build(trees.auto_tree(4, kinds=("revolute", kind), seed=2, shuffle=False))
    d = rb.make_data(m)
    states.randomise(m, d, 2)
    n = int(m.jnt_dofnum[1])
    target = np.linspace(-1.0, 2.0, n)
    rb.set_drive(m, d, 1, "acceleration", target)
    rb.forward(m, d)
    dofs = slice(m.jnt_dofadr[1], m.jnt_dofadr[1] + n)
    assert d.qacc[dofs].tolist() == target.tolist()
    assert not np.delete(d.qfrc_drive, np.r_[dofs]).any()
    d.qfrc_applied += d.qfrc_drive
    qacc = d.qacc.copy()
    rb.set_drive(m, d, 1, "force")
    rb.forward(m, d)
    assert d.qacc == pytest.approx(qacc, rel=1e-10, abs=1e-10 * np.abs(qacc).max())


# given velocities and positions


@each_integrator
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_driven_velocity_is_reached_in_one_step(system, integrator):
    m, d = moving(system, 3)
    m.opt.integrator = integrator
    j = int(own(m)[1])
    rb.set_drive(m, d, j, "velocity", 0.7)
    for _ in range(3):
        rb.step(m, d)
        assert d.qvel[m.jnt_dofadr[j]] == pytest.approx(0.7, rel=1e-12)


@each_integrator
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_driven_position_is_reached_in_one_step(system, integrator):
    m, d = moving(system, 3)
    m.opt.integrator = integrator
    j = int(own(m)[0])
    q, v = m.jnt_qposadr[j], m.jnt_dofadr[j]
    for n in range(3):
        start = d.qpos[q]
        target = start + 1e-3 * (n + 1)
        rb.set_drive(m, d, j, "position", target)
        rb.step(m, d)
        # the position correction of constraints also moves this joint a little
        assert d.qpos[q] == pytest.approx(target, abs=1e-6 if m.nefc else 1e-15)
        speed = (target - start) / m.opt.timestep
        assert d.qvel[v] == pytest.approx(speed, rel=1e-3 if m.nefc else 1e-9)


def test_a_drive_without_a_target_keeps_the_current_motion():
    m, d = moving("tree", 4)
    present = d.qpos[1], d.qvel[2]
    rb.set_drive(m, d, 0, "acceleration")
    rb.set_drive(m, d, 1, "position")
    rb.set_drive(m, d, 2, "velocity")
    assert d.drive_target[:3].tolist() == [0.0, *present]
    assert d.drive_mode.tolist() == [1, 3, 2, 0, 0, 0, 0, 0]


@each_integrator
def test_a_joint_in_position_mode_moves_like_a_joint_driven_over_time(integrator):
    """The targets of joint2 in position mode follow a trajectory (RBDA eq 3.30).

    The motions differ by a first-order error: half the timestep gives half the difference.
    """
    times = np.linspace(0.0, 1.0, 41)
    wave = Trajectory(tuple(times), tuple(0.4 * np.sin(2.0 * np.pi * times)), periodic=False)
    description = tree(5)
    joints = tuple(
        replace(j, motion=wave) if j.name == "joint2" else j for j in description.joints
    )
    driven = rb.build(replace(description, joints=joints))
    differences = []
    for h in (1e-3, 5e-4):
        m = rb.build(description)
        for model in (m, driven):
            model.opt.integrator, model.opt.timestep = integrator, h
        d, e = rb.make_data(m), rb.make_data(driven)
        rb.kinematics(driven, e)
        j = m.jnt_id("joint2")
        d.qpos[m.jnt_qposadr[j]] = e.qpos_all[driven.jnt_qposadr_all[j]]
        d.qvel[m.jnt_dofadr[j]] = e.qvel_all[driven.jnt_dofadr_all[j]]
        for _ in range(round(0.3 / h)):
            rb.step(driven, e)  # e.qpos_all has the new positions
            rb.set_drive(m, d, j, "position", e.qpos_all[driven.jnt_qposadr_all[j]])
            rb.step(m, d)
        ours = np.delete(d.qpos, m.jnt_qposadr[j])
        differences.append(np.abs(ours - e.qpos).max())
    assert differences[0] < 2e-2
    assert differences[1] < 0.6 * differences[0]


def test_a_joint_set_back_to_force_mode_moves_as_if_never_driven():
    m, d = moving("tree", 6)
    twin = rb.make_data(m)
    rb.set_drive(m, d, 0, "velocity", 2.0)
    rb.step(m, d, 5)
    rb.set_drive(m, d, 0, "force")
    twin.buffer[:] = d.buffer
    plain, other = moving("tree", 6)
    other.qpos, other.qvel, other.time = d.qpos, d.qvel, d.time
    rb.step(m, d, 5)
    rb.step(plain, other, 5)  # never had a drive mode
    assert other.accelerate_stage == 0
    assert d.accelerate_stage != 0
    assert d.qpos == pytest.approx(other.qpos, rel=1e-12, abs=1e-12)
    assert not d.qfrc_drive.any()


def test_several_steps_at_once_equal_single_steps():
    m, d = moving("couplings", 7)
    rb.set_drive(m, d, 0, "velocity", 2.0)
    rb.set_drive(m, d, 1, "acceleration", 1.0)
    e = d.copy()
    rb.step(m, d, 6)
    for _ in range(6):
        rb.step(m, e)
    assert d.qpos.tobytes() == e.qpos.tobytes()
    assert d.qvel.tobytes() == e.qvel.tobytes()


def test_reset_clears_drive_modes_and_copies_keep_them():
    m, d = moving("tree", 8)
    rb.set_drive(m, d, "joint3", "position", 0.2)
    twin = d.copy()
    rb.reset_data(m, d)
    assert not d.drive_mode.any()
    assert twin.drive_mode[m.jnt_dofadr[m.jnt_id("joint3")]] == 3
    rb.step(m, twin)
    assert twin.qpos[m.jnt_qposadr[m.jnt_id("joint3")]] == pytest.approx(0.2, abs=1e-15)


@pytest.mark.parametrize(
    "twin",
    [copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))],
    ids=["deepcopy", "pickle"],
)
def test_a_data_copied_with_its_model_keeps_its_drive_modes(twin):
    m, d = moving("tree", 8)
    rb.set_drive(m, d, 0, "acceleration", 1.0)
    other, e = twin((m, d))
    rb.forward(other, e)
    assert e.qacc[0] == 1.0


# a humanoid with driven joints


@robots.needs_robots
def test_drives_do_not_change_the_momentum_of_a_humanoid():
    """Drive forces act between links, so d(momentum)/dt = m g + xfrc."""
    m = robots.load(robots.find("talos_reduced.urdf"), floating_base=True)
    m.opt.integrator, m.opt.timestep = "rk4", 1e-3
    d = rb.make_data(m)
    hinges = [j for j in range(m.njnt) if m.jnt_type[j] == rb.JointType.HINGE]
    push = np.array([30.0, -20.0, 10.0])
    d.xfrc_applied[m.nbody // 2, :3] = push

    mass, places, steps = m.body_mass.sum(), [], 200
    for n in range(steps + 1):
        rb.kinematics(m, d)
        places.append(m.body_mass @ d.xipos / mass)
        for j in hinges:
            rb.set_drive(m, d, j, "position", 0.1 * np.sin(10.0 * (n + 1) * m.opt.timestep) ** 2)
        rb.step(m, d)
    t = m.opt.timestep * steps
    fallen = places[-1] - places[0]
    expected = 0.5 * (m.opt.gravity + push / mass) * t**2
    # of first order, as joint accelerations are constant during a step
    assert fallen == pytest.approx(expected, abs=2e-4)
    assert np.abs(d.qfrc_drive[6:]).max() > 1.0
    assert not d.qfrc_drive[:6].any()


@robots.needs_robots
def test_the_rate_of_momentum_of_a_driven_humanoid_is_exact():
    """For any joint motion, the rate of momentum from cacc equals gravity and the push."""
    m = robots.load(robots.find("talos_reduced.urdf"), floating_base=True)
    d = rb.make_data(m)
    states.randomise(m, d, 3)
    d.qfrc_applied = 0.0
    for j in range(1, m.njnt):
        rb.set_drive(m, d, j, "acceleration", np.sin(j))
    rb.forward(m, d)
    rb.joint_forces(m, d)
    # the free root joint exerts no force on its body
    scale = np.abs(d.cfrc_int).max()
    assert np.abs(d.jnt_force[0]).max() < 1e-10 * scale
    assert d.qacc[6:].tolist() == np.sin(np.arange(1, m.njnt)).tolist()


# arguments of set_drive that are refused


def described():
    description = tree(1)
    wave = Trajectory((0.0, 1.0), (0.0, 1.0))
    more = {"joint3": {"mimic": Mimic("joint2")}, "joint5": {"motion": wave}}
    joints = [replace(j, **more.get(j.name, {})) for j in description.joints]
    joints[5] = replace(joints[5], type="spherical", limit=None)
    return replace(description, joints=tuple(joints))


@pytest.mark.parametrize(
    ("arguments", "element"),
    [
        (("joint1", "speed"), "joint 'joint1'"),
        (("joint1", "velocty"), "joint 'joint1'"),
        (("joint1", 2), "joint 'joint1'"),
        (("joint1", []), "joint 'joint1'"),
        ((99, "force"), "99"),
        ((-1, "force"), "-1"),
        ((True, "force"), "True"),
        ((None, "force"), "None"),
        (("joint3", "force"), "joint 'joint3'"),
        (("joint5", "velocity"), "joint 'joint5'"),
        (("joint6", "position"), "joint 'joint6'"),
        (("joint1", "velocity", "fast"), "joint 'joint1'"),
        (("joint1", "velocity", [1.0, 2.0]), "joint 'joint1'"),
        (("joint6", "velocity", [1.0, 2.0]), "joint 'joint6'"),
        (("joint1", "velocity", float("nan")), "joint 'joint1'"),
        (("joint1", "position", [[1], [1, 2]]), "joint 'joint1'"),
    ],
)
def test_a_refused_drive_mode_changes_nothing(arguments, element):
    m = rb.build(described())
    d = rb.make_data(m)
    before, stages = d.buffer.copy(), d.stages.copy()
    with refused(rb.ParameterError, "drive", element):
        rb.set_drive(m, d, *arguments)
    assert d.buffer.tobytes() == before.tobytes()
    assert np.array_equal(d.stages, stages)


def test_a_drive_mode_belongs_to_one_data_and_not_to_the_model():
    m, d = moving("tree", 6)
    other, reference = d.copy(), d.copy()
    before = m.table.copy()
    rb.step(m, reference, 5)
    rb.set_drive(m, d, 0, "velocity", 2.0)
    rb.step(m, d, 5)
    rb.step(m, other, 5)
    assert other.buffer.tobytes() == reference.buffer.tobytes()
    assert not other.stages.any()  # the other Data has no drive modes
    assert not rb.make_data(m).stages.any()
    assert m.table.tobytes() == before.tobytes()
    assert not m.table.flags.writeable
    rb.reset_data(m, d)
    assert not d.stages.any()


@pytest.mark.parametrize("system", SYSTEMS)
def test_copies_of_a_data_have_its_drive_modes(system):
    m, d = moving(system, 3)
    rb.set_drive(m, d, 0, "velocity", 0.5)
    n, pickled = pickle.loads(pickle.dumps((m, d)))
    twins = [(m, d.copy()), (m, copy.copy(d)), (n, pickled)]
    rb.step(m, d, 3)
    for model, twin in twins:
        rb.step(model, twin, 3)
        assert twin.buffer.tobytes() == d.buffer.tobytes()


def test_set_drive_refuses_unknown_joints_and_data_of_other_models():
    m, d = moving("tree", 1)
    with refused(rb.ModelError, "unknown-joint", "joint11"):
        rb.set_drive(m, d, "joint11", "force")
    other, _ = moving("tree", 1)
    with refused(rb.ModelError, "data-of-other-model"):
        rb.set_drive(other, d, 0, "force")
