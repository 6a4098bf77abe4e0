# SPDX-License-Identifier: Apache-2.0
"""Mimic joints have the right leaders, and the pattern of M agrees with dense elimination."""

import time
from dataclasses import replace

import numpy as np
import pytest
from support import states, trees

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Joint, Mimic, Trajectory
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS
from rbdyn_ros.model.tree.couplings import couplings, joint_classes, starts_by_class
from rbdyn_ros.model.tree.inertia_pattern import inertia_pattern


def joints(*mimics):
    return [Joint(f"j{k}", "revolute", "a", "b", mimic=x) for k, x in enumerate(mimics)]


def test_the_last_joint_of_a_chain_leads_all_its_mimic_joints():
    """Here q0 = 2 q2 + 1 and q1 = -q0 + 0.5, and q2 is free."""
    found = couplings(joints(Mimic("j2", 2.0, 1.0), Mimic("j0", -1.0, 0.5), None))
    assert found["jnt_mimic"].tolist() == [2, 2, -1]
    assert found["jnt_mimic_ratio"].tolist() == [2.0, -2.0, 1.0]
    assert found["jnt_mimic_offset"].tolist() == [1.0, -0.5, 0.0]


def test_a_root_joint_has_no_coupling():
    root = Joint("root_joint", "floating", "world", "a")
    found = couplings([root, *joints(None, Mimic("j0", 0.0, 3.0))])
    assert found["jnt_mimic"].tolist() == [-1, -1, 1]
    assert found["jnt_mimic_ratio"].tolist() == [1.0, 1.0, 0.0]
    assert found["jnt_mimic_offset"].tolist() == [0.0, 0.0, 3.0]


@pytest.mark.parametrize("order", [1, -1])
def test_a_long_chain_is_resolved_in_linear_time(order):
    n = 3000
    chain = joints(None, *(Mimic(f"j{k}", -1.0, 1.0) for k in range(n)))[::order]
    start = time.process_time()
    found = couplings(chain)
    # following the chain from every joint would be 4.5 million steps, or some seconds
    assert time.process_time() - start < 1.0
    ratio = found["jnt_mimic_ratio"][::order]
    assert ratio.tolist() == [(-1.0) ** k for k in range(n + 1)]
    assert found["jnt_mimic_offset"][::order].tolist() == [float(k % 2) for k in range(n + 1)]


def test_a_mimic_of_a_driven_joint_is_driven():
    """Coordinates are sorted by class: free, driven, mimic."""
    free, driven, mimic = JointClass
    leader = np.array([-1, 0, -1, 2, 2])
    moved = np.array([False, False, True, False, False])
    classes = joint_classes(leader, moved)
    assert classes.tolist() == [free, mimic, driven, driven, driven]
    assert starts_by_class([1, 1, 1, 1, 1], classes).tolist() == [0, 4, 1, 2, 3]
    assert starts_by_class([2, 1, 3], np.array([free, driven, free])).tolist() == [0, 5, 2]


def coupled_tree(seed, share=0.4, driven=False):
    rng = np.random.default_rng([seed, 5])
    tree = trees.auto_tree(
        14, 1.0 + 0.25 * (seed % 5), kinds=(*trees.SIMPLE, *trees.SIMPLE, "universal"), seed=seed
    )
    order = rng.permutation([j.name for j in tree.joints if j.type in trees.SIMPLE]).tolist()
    more = {}
    for place, name in enumerate(order[1:], start=1):
        if rng.random() < share:
            more[name] = {"mimic": Mimic(order[rng.integers(place)], rng.uniform(0.5, 2.0))}
    if driven:
        more[order[0]] = {"motion": Trajectory((0.0, 1.0), (0.0, 1.0))}
    return replace(
        tree, joints=tuple(replace(j, **more.get(j.name, {})) for j in tree.joints), base="base"
    )


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_a_row_is_the_path_to_the_root_of_the_elimination_tree(seed, driven):
    """A symbolic elimination, from the last dof to the first, gives the same rows."""
    description = coupled_tree(seed, driven=driven)
    m, free = rb.build(description), rb.build(description, mimic=False)
    assert m.nmimic > 0
    G = np.zeros((free.nv, m.nv))
    for j in np.flatnonzero(
        (free.jnt_class == JointClass.FREE) & (m.jnt_class != JointClass.DRIVEN)
    ):
        for k in range(m.jnt_dofnum[j]):
            G[free.jnt_dofadr[j] + k, m.jnt_dofadr[j] + k] = m.jnt_mimic_ratio[j]
    # find the pairs of dofs that some body couples in M
    move = np.zeros((m.nbody, m.nv), bool)
    for i in range(1, m.nbody):
        move[i] = move[m.body_parentid[i]]
        rows = slice(free.jnt_dofadr_all[i - 1], free.jnt_dofadr_all[i - 1] + m.jnt_dofnum[i - 1])
        if rows.start < free.nv:
            move[i] |= (G[rows] != 0.0).any(axis=0)
    filled = (move[1:, :, None] & move[1:, None, :]).any(axis=0)
    for k in range(m.nv - 1, -1, -1):  # the fill of the factorisation L^T D L
        row = np.flatnonzero(filled[k, :k])
        filled[np.ix_(row, row)] = True
    pattern = np.zeros((m.nv, m.nv), bool)
    for k in range(m.nv):
        columns = m.M_colind[m.M_rowadr[k] : m.M_rowadr[k] + m.M_rownnz[k]]
        assert columns.tolist() == sorted(set(columns.tolist()))
        assert columns[-1] == k
        pattern[k, columns] = True
    filled = np.tril(filled)
    for k in range(m.nv):
        met = np.flatnonzero(filled[k, :k])
        above = pattern[met[-1]] if len(met) else np.zeros(m.nv, bool)
        assert pattern[k].tolist() == (above | (np.arange(m.nv) == k)).tolist()
    assert not (filled & ~pattern).any()


@pytest.mark.parametrize("seed", range(4))
def test_all_entries_of_the_coupled_matrix_are_in_the_pattern(seed):
    """M of the coupled Model is G^T M G, and the pattern contains each of its entries."""
    description = coupled_tree(seed)
    m, free = rb.build(description), rb.build(description, mimic=False)
    d, e = rb.make_data(m), rb.make_data(free)
    d.qpos = states.random_qpos(m, np.random.default_rng(seed))
    G = np.zeros((free.nv, m.nv))
    for j in range(m.njnt):
        for k in range(m.jnt_dofnum[j]):
            G[free.jnt_dofadr[j] + k, m.jnt_dofadr[j] + k] = m.jnt_mimic_ratio[j]
    e.qpos = G @ d.qpos
    projected = G.T @ rb.mass_matrix(free, e) @ G
    assert rb.mass_matrix(m, d) == pytest.approx(projected, abs=1e-13 * np.abs(projected).max())


def test_the_elimination_tree_without_couplings_is_the_tree_itself():
    m = rb.build(trees.auto_tree(12, 1.7, kinds=trees.LIBRARY, seed=3))
    arrays = {field.name: getattr(m, field.name) for field in MODEL_FIELDS}
    found = inertia_pattern(arrays)
    assert m.npair == len(found["pair_entry"]) == 0
    for k in range(m.nv):
        columns = m.M_colind[m.M_rowadr[k] : m.M_rowadr[k] + m.M_rownnz[k]].tolist()
        parent = m.dof_parentid[k]
        above = m.M_colind[m.M_rowadr[parent] :][: m.M_rownnz[parent]].tolist()
        assert columns == [*(above if parent >= 0 else []), k]
