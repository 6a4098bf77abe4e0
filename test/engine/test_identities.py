# SPDX-License-Identifier: Apache-2.0
"""Identities between algorithms hold on generated trees with branches and all joint types.

The tolerance is 1e-13 of the largest entry. Results that use M^-1 have a tolerance of at least
64 nv cond(M) eps, as the elimination of each dof adds rounding.
"""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import states, trees
from support.compare import Comparison, with_inverse
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.textbook.aba import aba
from rbdyn_ros.textbook.crba import crba
from rbdyn_ros.textbook.kinematics import kinematics
from rbdyn_ros.textbook.rnea import rnea
from rbdyn_ros.textbook.system import System

TOLERANCE = 1e-13

CASES = {
    f"n{nb}-b{branching}-skew{skew}-{label}": {
        "nb": nb,
        "branching": branching,
        "skew": skew,
        "kinds": kinds,
        "seed": seed,
    }
    for seed, (nb, branching, skew, (label, kinds)) in enumerate(
        itertools.product(
            (1, 4, 13),
            (1.0, 1.6),
            (0.0, 2.0),
            (("hinge", trees.HINGES), ("simple", trees.SIMPLE), ("all", trees.ALL)),
        )
    )
}
CASES["massless-inside"] = {
    "nb": 9,
    "branching": 1.5,
    "kinds": trees.SIMPLE,
    "seed": 3,
    "massless": (1, 2, 4),
}
CASES["planar-only"] = {"nb": 5, "branching": 1.3, "kinds": ("planar",), "seed": 4}
CASES["free-only"] = {"nb": 4, "branching": 1.3, "kinds": ("floating",), "seed": 5}
CASES["ball-only"] = {"nb": 6, "branching": 1.3, "kinds": ("spherical",), "seed": 6}
CASES["deep-chain"] = {"nb": 40, "kinds": ("revolute",), "skew": 1.0, "seed": 7}
for _label, _odd in (
    ("library", {}),
    ("library-mixed", {"reversals": 0.5, "offsets": 0.5}),
    ("library-reversed", {"reversals": 1.0, "offsets": 1.0}),
):
    for _branching in (1.0, 1.6):
        CASES[f"{_label}-b{_branching}"] = {
            "nb": len(trees.LIBRARY),
            "branching": _branching,
            "kinds": trees.LIBRARY,
            "seed": 8,
            "shuffle": False,
            **_odd,
        }
for _seed in (9, 10, 11):
    CASES[f"library-{_seed}"] = {
        "nb": 9,
        "branching": 1.4,
        "kinds": trees.LIBRARY,
        "seed": _seed,
        "reversals": 0.5,
        "offsets": 0.5,
    }


@pytest.fixture(
    params=[(case, base) for case in CASES for base in (False, True)],
    ids=lambda p: f"{p[0]}-{'floating' if p[1] else 'fixed'}",
    scope="module",
)
def tree(request):  # fmt: skip
    name, floating = request.param
    m = trees.build(trees.auto_tree(**CASES[name]), floating)
    m.opt.integrator = "euler"  # the textbook's forward dynamics is in continuous time
    d = rb.make_data(m)
    states.randomise(m, d, 42)
    return m, d, f"{name}, {'floating' if floating else 'fixed'} base"


def test_the_engine_agrees_with_the_textbook(tree):
    m, d, where = tree
    s = System.of(m)
    zero = np.zeros(m.nv)
    with Comparison("textbook", where) as case:
        M = crba(s, d.qpos)
        case.close("mass_matrix", rb.mass_matrix(m, d), M, TOLERANCE)
        rb.inverse(m, d)
        expected = rnea(s, d.qpos, d.qvel, d.qacc)
        case.close("inverse", d.qfrc_inverse, expected, TOLERANCE)
        twin = d.copy()
        rb.forward(m, twin)
        case.close("bias", twin.qfrc_bias, rnea(s, d.qpos, d.qvel, zero), TOLERANCE)
        compare_kinematics(case, m, twin, s)
        tolerance = with_inverse(TOLERANCE, M, m.nv)
        wrenches = [None, *(states.at_world_origin(twin, i) for i in range(1, m.nbody))]
        expected = aba(s, d.qpos, d.qvel, d.qfrc_applied, wrenches)
        case.close("qacc", twin.qacc, expected, tolerance)


def compare_kinematics(case, m, d, s):
    """Compare xpos, xmat and cvel with the textbook's iX_0 and v_i, converted to world axes."""
    xpos, xmat, cvel = np.zeros((m.nbody, 3)), np.zeros((m.nbody, 3, 3)), np.zeros((m.nbody, 6))
    for i, (X, v) in enumerate(zip(*kinematics(s, d.qpos, d.qvel), strict=True)):
        R = X[:3, :3].T
        rx = -R @ X[3:, :3]
        xpos[i], xmat[i] = [rx[2, 1], rx[0, 2], rx[1, 0]], R
        w, to_com = R @ v[:3], d.subtree_com[m.body_rootid[i]] - xpos[i]
        cvel[i] = [*w, *(R @ v[3:] + np.cross(w, to_com))]
    case.close("xpos", d.xpos, xpos, TOLERANCE)
    case.close("xmat", d.xmat.reshape(-1, 3, 3), xmat, TOLERANCE)
    case.close("cvel", d.cvel[1:], cvel[1:], TOLERANCE)


def test_forward_undoes_inverse(tree):
    m, d, where = tree
    d = d.copy()
    qacc = d.qacc.copy()
    d.xfrc_applied = 0.0
    rb.inverse(m, d)
    d.qfrc_applied = d.qfrc_inverse
    rb.forward_dynamics(m, d)
    tolerance = with_inverse(TOLERANCE, rb.mass_matrix(m, d), m.nv)
    with Comparison("identities", where) as case:
        case.close("ABA(RNE(qacc)) = qacc", d.qacc, qacc, tolerance)


def test_inverse_undoes_forward_with_external_forces(tree):
    m, d, where = tree
    d = d.copy()
    rb.forward_dynamics(m, d)
    rb.inverse(m, d)
    external = np.zeros(m.nv)  # sum of J^T f of all external forces
    for i in range(1, m.nbody):
        external += generalised(m, d, i)
    M = rb.mass_matrix(m, d)
    tolerance = with_inverse(TOLERANCE, M, m.nv)
    with Comparison("identities", where) as case:
        expected = d.qfrc_applied + external
        case.close("RNE(ABA(f)) = f + J^T xfrc", d.qfrc_inverse, expected, tolerance)


def generalised(m, d, i):
    """Return J^T f, the joint forces (nv,) equivalent to xfrc_applied on body i."""
    force = np.zeros(m.nv)
    k = m.body_dofadr[i] + m.body_dofnum[i] - 1
    while k >= 0:
        w, v = d.cdof[k, :3], d.cdof[k, 3:]
        at_centre = v + np.cross(w, d.xipos[i] - d.subtree_com[m.body_rootid[i]])
        force[k] = at_centre @ d.xfrc_applied[i, :3] + w @ d.xfrc_applied[i, 3:]
        k = m.dof_parentid[k]
    return force


def test_the_mass_matrix_is_the_derivative_of_inverse_dynamics(tree):
    m, d, where = tree
    d = d.copy()
    d.xfrc_applied = 0.0
    M = rb.mass_matrix(m, d)
    given = d.qacc.copy()
    rb.inverse(m, d)
    rb.forward(m, d)
    rb.factor_m(m, d)
    y, x, back = np.ones(m.nv), np.empty(m.nv), np.empty(m.nv)
    rb.solve_m(m, d, x, y)
    rb.mul_m(m, d, back, x)
    tolerance = with_inverse(TOLERANCE, M, m.nv)
    L = np.eye(m.nv)
    for k in range(m.nv):
        row = slice(m.M_rowadr[k], m.M_rowadr[k] + m.M_rownnz[k] - 1)
        L[k, m.M_colind[row]] = d.qLD[row]
    with Comparison("identities", where) as case:
        case.equal("M = M^T", M, M.T)
        assert np.linalg.eigvalsh(M)[0] > 0.0
        case.close("L^T D L = M", L.T @ np.diag(1.0 / d.qLDiagInv) @ L, M, TOLERANCE)
        force = M @ given + d.qfrc_bias
        case.close("M qacc + bias = RNE", force, d.qfrc_inverse, TOLERANCE)
        case.close("M qacc = applied - bias", d.qacc,
                   np.linalg.solve(M, d.qfrc_applied - d.qfrc_bias), tolerance)  # fmt: skip
        case.close("mul_m(solve_m(y)) = y", back, y, tolerance)


def test_bias_is_quadratic_in_velocity(tree):
    m, d, where = tree
    m, d = m.replaced(), rb.make_data(m)
    d = rb.make_data(m)
    m.opt.gravity = (0.0, 0.0, 0.0)
    states.randomise(m, d, 6)
    bias = []
    for scale in (1.0, 2.0):
        twin = d.copy()
        twin.qvel *= scale
        rb.forward(m, twin)
        bias.append(twin.qfrc_bias.copy())
    with Comparison("identities", where) as case:
        case.close("bias(2 v) = 4 bias(v)", bias[1], 4.0 * bias[0], TOLERANCE)


def test_the_rate_of_energy_is_the_power_of_the_applied_forces(tree):
    """The rate of the energy is computed by central differences.

    Differences with h and h / 2 are extrapolated (Richardson), which removes the truncation error
    of order h^2 and leaves rounding errors of about eps / h.
    """
    m, d, where = tree
    d = d.copy()
    states.apply_reasonable_forces(m, d)
    rb.forward_dynamics(m, d)
    power = d.qvel @ d.qfrc_applied
    for i in range(1, m.nbody):
        power += d.qvel @ generalised(m, d, i)
    rates = [energy_rate(m, d, h) for h in (2e-3, 1e-3)]
    rate = (4.0 * rates[1] - rates[0]) / 3.0
    rb.energy(m, d)
    scale = np.abs(d.qvel) @ np.abs(d.qfrc_applied) + np.abs(d.energy).sum()
    assert abs(rate - power) < 1e-7 * scale, where


def energy_rate(m, d, h):
    energies = []
    for side in (h, -h):
        twin = d.copy()
        # q(t + s) is exact to second order, so the quotient has an error of order h^2
        states.move(m, twin, side, d.qvel + 0.5 * side * d.qacc)
        twin.qvel = d.qvel + side * d.qacc
        rb.kinematics(m, twin)
        rb.com_pos(m, twin)
        rb.com_vel(m, twin)
        rb.energy(m, twin)
        energies.append(twin.energy.sum())
    return (energies[0] - energies[1]) / (2.0 * h)


def test_one_data_gives_the_same_result_three_times(tree):
    m, d, where = tree
    d = d.copy()
    results = []
    for _ in range(3):
        rb.forward(m, d)
        results.append(d.buffer.copy())
        rb.inverse(m, d)  # overwrites cfrc_sum, cacc and scratch
        rb.energy(m, d)
        rb.mass_matrix(m, d)
    rb.forward(m, d)
    fresh = rb.make_data(m)
    for name in ("qpos", "qvel", "qfrc_applied", "xfrc_applied"):
        setattr(fresh, name, getattr(d, name))
    rb.forward(m, fresh)
    for name in ("xpos", "M", "qfrc_bias", "qacc", "cvel", "cdof_dot", "cfrc_sum"):
        assert np.array_equal(getattr(d, name), getattr(fresh, name)), f"{where}: {name}"
    qacc = m.data_offsets["qacc"]
    for other in results[1:]:
        assert np.array_equal(other[qacc : qacc + m.nv], results[0][qacc : qacc + m.nv]), where


def test_velocity_is_the_derivative_of_position(tree):
    """cvel agrees with differences of xipos and xmat along a motion with qvel."""
    m, d, where = tree
    d = d.copy()
    rb.forward(m, d)
    h = 1e-5
    ends = []
    for side in (h, -h):
        twin = d.copy()
        states.move(m, twin, side, d.qvel)
        rb.kinematics(m, twin)
        ends.append(twin)
    for i in range(1, m.nbody):
        w, v = d.cvel[i, :3], d.cvel[i, 3:]
        centre = v + np.cross(w, d.xipos[i] - d.subtree_com[m.body_rootid[i]])
        moved = (ends[0].xipos[i] - ends[1].xipos[i]) / (2.0 * h)
        R = ends[0].xmat[i].reshape(3, 3) @ ends[1].xmat[i].reshape(3, 3).T
        turned = Rotation.from_matrix(R).as_rotvec() / (2.0 * h)
        # the truncation error h^2 |v|^3 and the rounding error eps / h are both about 1e-9
        scale = 1.0 + np.abs(d.cvel).max() ** 3
        assert np.abs(moved - centre).max() < 1e-8 * scale, f"{where}, body {i}"
        assert np.abs(turned - w).max() < 1e-8 * scale, f"{where}, body {i}"


@pytest.mark.parametrize("seed", range(4))
def test_the_momentum_of_a_free_tree_is_constant(seed):
    """The tree floats without gravity and without applied forces."""
    m = trees.build(trees.auto_tree(8, 1.6, kinds=trees.ALL[:4], seed=seed), floating_base=True)
    m.opt.gravity = (0.0, 0.0, 0.0)
    m.opt.integrator = "rk4"
    m.opt.timestep = 1e-4
    d = rb.make_data(m)
    states.randomise(m, d, seed)
    d.qfrc_applied = 0.0
    d.xfrc_applied = 0.0
    start = momentum(m, d)
    rb.step(m, d, 100)
    # the error of a step, h^4 T, is about 1e-13 of the motion
    assert np.abs(momentum(m, d) - start).max() < 1e-10 * np.abs(start).max()


def momentum(m, d):
    """Return the spatial momentum [angular; linear] about the world's origin."""
    d = d.copy()
    rb.forward(m, d)
    total = np.zeros(6)
    for i in range(1, m.nbody):
        R = d.ximat[i].reshape(3, 3)
        w = d.cvel[i, :3]
        arm = d.xipos[i] - d.subtree_com[m.body_rootid[i]]
        p = m.body_mass[i] * (d.cvel[i, 3:] + np.cross(w, arm))
        total[:3] += R @ (m.body_inertia[i] * (R.T @ w)) + np.cross(d.xipos[i], p)
        total[3:] += p
    return total


def test_a_massless_leaf_is_refused():
    with refused(rb.DescriptionError, "no-inertia"):
        trees.build(trees.auto_tree(3, kinds=trees.SIMPLE, massless=(3,)))
