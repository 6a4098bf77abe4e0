# SPDX-License-Identifier: Apache-2.0
"""qfrc_driven has the force of a joint driven over time after forward, step and inverse.

The reference is a system in which the joint is free; the computed force gives the same motion.
"""

import numpy as np
import pytest
from support import mechanisms, states, trees
from support.compare import Comparison

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Mimic

MOTION = rb.Trajectory((0.0, 0.5, 1.0), ((1.0,), (1.6,), (2.3,)))
SMALL = rb.Trajectory((0.0, 0.5, 1.0), ((0.4,), (0.6,), (0.5,)))
LOOPS = {
    "grashof": (mechanisms.grashof, "A", MOTION),
    "five_bar": (lambda: mechanisms.five_bar(passive=False), "shoulder_2", MOTION),
    "crank_slider": (mechanisms.crank_slider, "A", MOTION),
    "pantograph": (mechanisms.pantograph, "O", SMALL),
}


class Twins:
    """Model m, Data d with a driven joint; Model `free`, Data e in which the joint is free."""

    def __init__(self, driven, free, joint, seed=0):
        self.m, self.free, self.joint = driven, free, joint
        self.d, self.e = rb.make_data(driven), rb.make_data(free)
        self.d.time = 0.3
        rb.forward(driven, self.d)
        rng, dof = np.random.default_rng(seed), free.jnt_dofadr[free.jnt_id(joint)]
        # give both Data a state that closes the loop at the driven joint's motion
        start = free.qpos0.copy()
        k = driven.jnt_id(joint)
        start[free.jnt_qposadr[free.jnt_id(joint)]] = self.d.qpos_all[driven.jnt_qposadr_all[k]]
        self.e.qpos = rb.assemble(free, start, fixed=(joint,)) if free.nefc else start
        rb.forward(free, self.e)
        rows = np.vstack([self.e.efc_J, np.eye(free.nv)[dof]])
        wanted = np.zeros(len(rows))
        wanted[-1] = self.d.qvel_all[driven.jnt_dofadr_all[k]]
        v = rng.uniform(-1.0, 1.0, free.nv)
        self.e.qvel = v + np.linalg.lstsq(rows, wanted - rows @ v, rcond=1e-9)[0]
        for name in self.others():
            j, i = driven.jnt_id(name), free.jnt_id(name)
            self.d.qpos[driven.jnt_qposadr[j]] = self.e.qpos[free.jnt_qposadr[i]]
            self.d.qvel[driven.jnt_dofadr[j]] = self.e.qvel[free.jnt_dofadr[i]]
        self.d.qfrc_applied = rng.uniform(-1.0, 1.0, driven.nv)
        for i, name in enumerate(driven.body_names[1:], start=1):
            self.d.xfrc_applied[i] = rng.uniform(-1.0, 1.0, 6)
            self.e.xfrc_applied[free.body_id(name)] = self.d.xfrc_applied[i]

    def others(self):
        """Return the names of the joints that have a dof in both Models."""
        return [self.m.jnt_names[j] for j in self.m.dof_jntid]

    def close(self, forces, drive):
        """Assert equal accelerations if e gets these forces, and `drive` at its free joint."""
        for name in self.others():
            j, i = self.m.jnt_id(name), self.free.jnt_id(name)
            self.e.qfrc_applied[self.free.jnt_dofadr[i]] = forces[self.m.jnt_dofadr[j]]
        self.e.qfrc_applied[self.free.jnt_dofadr[self.free.jnt_id(self.joint)]] = drive
        rb.forward(self.free, self.e)
        names = [*self.others(), self.joint]
        ours = [self.d.qacc_all[self.m.jnt_dofadr_all[self.m.jnt_id(name)]] for name in names]
        theirs = [self.e.qacc[self.free.jnt_dofadr[self.free.jnt_id(name)]] for name in names]
        with Comparison("qfrc_driven", self.m.name) as case:
            case.close("qacc", np.array(ours), np.array(theirs), 1e-9)


@pytest.fixture(params=LOOPS)
def loop(request):
    system, joint, motion = LOOPS[request.param]
    return Twins(rb.build(system().drive(joint, motion)), rb.build(system()), joint)


def test_qfrc_driven_after_forward_gives_a_free_joint_the_same_motion(loop):
    rb.forward(loop.m, loop.d)
    loop.close(loop.d.qfrc_applied, loop.d.qfrc_driven[0])


def test_qfrc_driven_after_inverse_with_xfrc_gives_a_free_joint_the_same_motion(loop):
    """Inverse dynamics chooses the forces of the other joints, so the drive's force differs."""
    rb.forward(loop.m, loop.d)
    rb.inverse_with_xfrc(loop.m, loop.d)
    loop.close(loop.d.qfrc_inverse, loop.d.qfrc_driven[0])
    # inverse ignores xfrc_applied
    rb.inverse(loop.m, loop.d)
    loop.d.xfrc_applied, loop.e.xfrc_applied = 0.0, 0.0
    loop.close(loop.d.qfrc_inverse, loop.d.qfrc_driven[0])


def test_qfrc_driven_after_a_step_belongs_to_its_start(loop):
    twin = loop.d.copy()
    rb.forward(loop.m, twin)
    rb.step(loop.m, loop.d)
    assert loop.d.qfrc_driven == pytest.approx(twin.qfrc_driven, rel=1e-12)


def following(driven):
    """Return a tree in which joint4 and joint5 mimic joint2, which is driven or free."""
    from dataclasses import replace

    description = trees.auto_tree(6, 1.3, kinds=trees.SIMPLE, seed=6, damping=0.0)
    fields = {
        "joint2": {"motion": MOTION if driven else None},
        "joint4": {"mimic": Mimic("joint2", -1.5, 0.2)},
        "joint5": {"mimic": Mimic("joint4", 0.4)},
    }
    joints = (replace(j, **fields.get(j.name, {})) for j in description.joints)
    return rb.build(replace(description, joints=tuple(joints)))


def test_qfrc_driven_includes_the_forces_of_mimic_joints():
    twins = Twins(following(True), following(False), "joint2")
    assert (twins.m.ndrive, twins.free.nmimic) == (3, 2)
    rb.forward(twins.m, twins.d)
    leader = twins.m.jnt_dofadr_all[twins.m.jnt_id("joint2")] - twins.m.nv
    twins.close(twins.d.qfrc_applied, twins.d.qfrc_driven[leader])
    assert np.count_nonzero(twins.d.qfrc_driven) == 1
    rb.inverse_with_xfrc(twins.m, twins.d)
    twins.close(twins.d.qfrc_inverse, twins.d.qfrc_driven[leader])


def test_a_gear_at_a_mimic_joint_loads_the_drive():
    """The drive of the leader gets the gear's force on the mimic joint times the mimic ratio."""

    def geared(driven):
        s = mechanisms.five_bar(passive=False)
        s = rb.SystemBuilder("train", base="ground")
        for name in ("one", "two", "three"):
            s.body(name, mechanisms.bar(0.2))
        s.joint("A", "revolute", "ground", "one", **mechanisms.HINGE)
        s.joint("B", "revolute", "ground", "two", xyz=(0.5, 0, 0), **mechanisms.HINGE)
        s.joint("C", "revolute", "ground", "three", xyz=(1.0, 0, 0), **mechanisms.HINGE)
        s.couple("B", "A", 0.5)
        s.gear("teeth", {"B": 1.0, "C": 2.0}, offset=0.0)
        return rb.build(s.drive("A", MOTION) if driven else s)

    twins = Twins(geared(True), geared(False), "A")
    rb.forward(twins.m, twins.d)
    leader = twins.m.jnt_dofadr_all[twins.m.jnt_id("A")] - twins.m.nv
    twins.close(twins.d.qfrc_applied, twins.d.qfrc_driven[leader])


def test_virtual_power_is_balanced():
    """The power of all forces and drives is the rate of kinetic and potential energy."""
    system, joint, motion = LOOPS["five_bar"]
    twins = Twins(rb.build(system().drive(joint, motion)), rb.build(system()), joint)
    m, d = twins.m, twins.d
    d.xfrc_applied = 0.0
    rb.forward(m, d)
    power = d.qfrc_applied @ d.qvel + d.qfrc_driven @ d.qvel_all[m.nv :]
    h, energies = 1e-5, []
    for sign in (1.0, -1.0):
        e = d.copy()
        e.time = d.time + sign * h
        rb.integrate_pos(m, e.qpos, d.qvel + 0.5 * sign * h * d.qacc, sign * h)
        e.qvel = d.qvel + sign * h * d.qacc
        rb.forward(m, e)
        energies.append(rb.kinetic_energy(m, e) + rb.potential_energy(m, e))
    assert (energies[0] - energies[1]) / (2.0 * h) == pytest.approx(power, rel=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_inverse_with_xfrc_after_forward_returns_the_applied_forces(seed):
    """The tree has mimic joints and external forces."""
    m = following(False)
    d = rb.make_data(m)
    states.randomise(m, d, seed)
    states.apply_reasonable_forces(m, d)
    assert np.abs(d.xfrc_applied[1:]).min() > 0.0
    rb.forward(m, d)
    rb.inverse_with_xfrc(m, d)
    with Comparison("inverse_with_xfrc", f"seed {seed}") as case:
        case.close("qfrc_inverse", d.qfrc_inverse, d.qfrc_applied, 1e-9)
    rb.inverse(m, d)
    assert not np.allclose(d.qfrc_inverse, d.qfrc_applied, rtol=1e-3)
