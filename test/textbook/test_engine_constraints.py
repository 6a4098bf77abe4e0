# SPDX-License-Identifier: Apache-2.0
"""Constraints of the engine agree with the textbook's on random mechanisms.

Both share only the Model. The engine works about the centre of mass in world axes, finds the
positions of loop joints in closed form, and uses no KKT matrix.
"""

from dataclasses import replace

import numpy as np
import pytest
from closed import LOOP_TYPES, mechanism, tolerance, unconstrained
from support import trees
from support.compare import Comparison

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Mimic
from rbdyn_ros.dynamics.explicit import ExplicitConstraint
from rbdyn_ros.textbook import constraints
from rbdyn_ros.textbook.loops import loop_constraints
from rbdyn_ros.textbook.maximal import maximal
from rbdyn_ros.textbook.subspaces import same
from rbdyn_ros.textbook.system import System

TOLERANCE = 1e-10
# joint5 mimics joint3, which mimics joint1
RATIOS = {"joint3": ("joint1", -0.7, 0.2), "joint5": ("joint3", 1.5, 0.0)}


@pytest.mark.parametrize("seed", range(24))
def test_closed_loops_agree_with_the_textbook(seed):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(LOOP_TYPES, 1 + seed % 3).tolist()
    x = mechanism(6 + seed % 4, kinds, 100 + seed, branching=1.5, reversals=0.4, offsets=0.5)
    tau = rng.uniform(-1.0, 1.0, x.s.nv)
    H, C = unconstrained(x.s, x.q, x.qd)
    loops = loop_constraints(x.s, x.q, x.qd)
    kkt = constraints.implicit(H, C, tau, loops.K, loops.k)
    d = rb.make_data(x.m)
    d.qpos, d.qvel, d.qfrc_applied = x.q, x.qd, tau
    rb.forward(x.m, d)
    assert d.efc_rank == kkt.rank
    assert same(d.efc_J.T, loops.K.T)
    allowed = tolerance(TOLERANCE, H, loops.K)
    with Comparison("engine constraints", f"seed {seed}, {kinds}") as compare:
        compare.close("qacc, KKT", d.qacc, kkt.qdd, allowed)
        compare.close("qacc, maximal", d.qacc, maximal(x.s, x.q, x.qd, tau).qdd, allowed)
        compare.close("qfrc_constraint", d.qfrc_constraint, loops.K.T @ kkt.lam, allowed)


@pytest.mark.parametrize("seed", range(4))
def test_mimic_joints_act_like_an_explicit_constraint(seed):
    """As constraints, q_i = ratio q_leader + offset have a constant G, and g = 0."""
    tree = trees.auto_tree(6, 1.5, kinds=trees.SIMPLE, seed=seed, damping=0.1)
    joints = tuple(
        replace(j, mimic=Mimic(*RATIOS[j.name])) if j.name in RATIOS else j for j in tree.joints
    )
    m, free = rb.build(replace(tree, joints=joints)), rb.build(tree)
    m.opt.integrator = free.opt.integrator = "euler"  # here damping is explicit
    leading = np.array([m.jnt_dofadr[m.jnt_id(name)] for name in free.jnt_names])
    ratio = np.array([{"joint3": -0.7, "joint5": -1.05}.get(n, 1.0) for n in free.jnt_names])
    offset = np.array([{"joint3": 0.2, "joint5": 0.3}.get(n, 0.0) for n in free.jnt_names])

    def gamma(y, yd, q, G, g):
        q[:] = ratio * y[leading] + offset
        G[np.arange(free.nv), leading] = ratio

    constraint, s = ExplicitConstraint(free, m.nv, gamma), System.of(free)
    y, yd, u = np.random.default_rng(seed).uniform(-1.0, 1.0, (3, m.nv))
    d, twin = rb.make_data(m), rb.make_data(free)
    d.qpos, d.qvel, d.qfrc_applied = y, yd, u
    rb.forward(m, d)
    _, G, g = constraint.evaluate(y, yd)
    tau = np.linalg.pinv(G).T @ u  # one of the solutions of G^T tau = u
    ydd, _ = constraint.forward(twin, y, yd, tau)
    H, C = unconstrained(s, twin.qpos, twin.qvel)
    H_G, _ = constraints.projected(H, C, G, g)
    projected = constraints.projection(H, C - twin.qfrc_passive, tau, G, g)
    allowed = tolerance(TOLERANCE, H_G, np.zeros((0, m.nv)))
    with Comparison("engine couplings", f"seed {seed}") as compare:
        compare.close("mass_matrix", rb.mass_matrix(m, d), H_G, 1e-13)
        compare.close("qacc, textbook", d.qacc, projected, allowed)
        compare.close("qacc, ExplicitConstraint", d.qacc, ydd, allowed)
