# SPDX-License-Identifier: Apache-2.0
"""Connectivity graphs are right for the examples in RBDA and for random systems in any order."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from support import robots, trees
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Description, Joint, Link
from rbdyn_ros.model.compile import compile_model
from rbdyn_ros.model.tree.graph import Graph

BRICK = trees.random_inertial(np.random.default_rng(1))
SEEDS = range(250)


def system(joints, bodies, base="base", name="system"):
    links = (Link(base), *(Link(body, BRICK) for body in bodies))
    return Description(name, links, tuple(joints), base=base)


# the systems of figure 4.1

CRANK, ROD, SLIDER = "B1", "B2", "B3"
CRANK_SLIDER = (
    Joint("J1", "revolute", "base", CRANK),
    Joint("J2", "revolute", CRANK, ROD),
    Joint("J3", "revolute", ROD, SLIDER),
    Joint("J4", "prismatic", SLIDER, "base"),
)


def crank_slider(*order, loop=""):
    """Return the Model of a crank slider with its joints in an order; `loop` closes the loop."""
    joints = [CRANK_SLIDER[i - 1] for i in order or (1, 2, 3, 4)]
    joints = [dataclasses.replace(joint, closes_loop=joint.name == loop) for joint in joints]
    return rb.build(system(joints, (CRANK, ROD, SLIDER)))


def test_the_slider_can_close_the_loop_of_a_crank_slider():
    """The tree is that in figure 4.5, left, with lambda = [0, 1, 2]."""
    m = crank_slider(loop="J4")
    g = m.graph
    assert (g.N_B, g.N_J, g.N_L) == (3, 4, 1)
    assert g.lam == (0, 1, 2)
    assert (g.p, g.s) == ((0, 1, 2, 3), (1, 2, 3, 0))
    assert m.jnt_names == ("J1", "J2", "J3")
    assert m.loop_names == ("J4",)
    assert sorted(g.cycle(1)) == [1, 2, 3, 4]
    assert m.body_parentid.tolist() == [0, 0, 1, 2]


def test_the_tree_of_a_crank_slider_grows_breadth_first():
    """The neighbours of the base come first, so J3, between the farthest bodies, closes the loop.

    The tree is that in figure 4.5, right. The figure numbers it breadth first, lambda = [0, 0, 1],
    and a Model depth first.
    """
    m = crank_slider()
    assert m.body_names == ("world", CRANK, ROD, SLIDER)
    assert m.graph.lam == (0, 1, 0)
    assert m.loop_names == ("J3",)
    figure = Graph(p=(0, 0, 1, 3), s=(1, 2, 3, 2))
    assert figure.lam == (0, 0, 1)
    of_figure = {0: "world", 1: CRANK, 2: SLIDER, 3: ROD}
    parents = {of_figure[i]: of_figure[figure.lam[i - 1]] for i in (1, 2, 3)}
    names = m.body_names
    assert parents == {names[i]: names[m.graph.lam[i - 1]] for i in (1, 2, 3)}
    assert m.jnt_reversed[m.jnt_id("J4")] == 1  # J4 leads from the slider to the base


@pytest.mark.parametrize("order", list(itertools.permutations((1, 2, 3, 4))))
def test_a_crank_slider_in_any_order_has_a_regular_numbering(order):
    """In figure 4.4, J2 or J3 closes the loop, and the tree branches at the base."""
    m = crank_slider(*order)
    assert m.loop_names in (("J2",), ("J3",))
    assert m.graph.lam in {(0, 1, 0), (0, 0, 2)}
    assert sorted(m.graph.cycle(1)) == [1, 2, 3, 4]
    by_name = {*m.jnt_names, *m.loop_names}
    assert by_name == {"J1", "J2", "J3", "J4"}


@pytest.mark.parametrize(
    ("floating", "lam", "reversed_"), [("body", (0, 1), [0, 0]), ("antenna", (0, 1), [0, 1])]
)
def test_either_body_of_a_satellite_may_float(floating, lam, reversed_):
    """The base is the earth, and one of the two bodies floats."""
    joints = (
        Joint("orbit", "sixdof_fp", "earth", floating),
        Joint("pivot", "revolute", "body", "antenna"),
    )
    m = rb.build(system(joints, ("body", "antenna"), base="earth"))
    assert (m.graph.N_B, m.graph.N_J, m.graph.N_L) == (2, 2, 0)
    assert m.graph.lam == lam
    assert m.jnt_reversed.tolist() == reversed_
    assert m.nv == 6 + 1


# figure 4.6: the source leaves the parents of bodies 6 and 7 open


@pytest.mark.parametrize("parents", [(4, 4), (4, 6)])
def test_the_system_of_eight_bodies_has_the_sets_of_the_book(parents):
    lam = (0, 1, 1, 0, 3, *parents, 4)
    s = list(range(1, 9))
    p, s[3] = list(lam), lam[3]
    p[3] = 4  # joint 4 is reversed
    g = Graph(p, s)
    assert g.lam == lam
    assert [g.kappa(i) for i in (1, 2, 3, 8)] == [(1,), (1, 2), (1, 3), (4, 8)]
    assert [g.mu(i) for i in (0, 1, 2, 8)] == [(1, 4), (2, 3), (), ()]
    assert g.nu(0) == (0, 1, 2, 3, 4, 5, 6, 7, 8)
    assert [g.nu(i) for i in (1, 2, 8)] == [(1, 2, 3, 5), (2,), (8,)]
    assert_identities(g)


# random graphs


def random_system(seed):
    """Return a random connected system, with joints in any order and direction, and loops."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    names = [f"b{i}" for i in range(n + 1)]
    pairs = [(int(rng.integers(i)), i) for i in range(1, n + 1)]
    fixed = {k for k in range(1, n) if rng.random() < 0.15}
    rigid = [k if k not in fixed else pairs[k - 1][0] for k in range(n + 1)]
    for k in range(n + 1):
        rigid[k] = rigid[rigid[k]]
    pairs += [(int(a), int(b)) for a, b in rng.integers(0, n + 1, (int(rng.integers(5)), 2))]
    joints = []
    for k, ends in enumerate(pairs):
        if k >= n and rigid[ends[0]] == rigid[ends[1]]:
            continue  # a chord within one rigid body is refused
        a, b = ends if rng.random() < 0.5 else reversed(ends)
        kind = "fixed" if k + 1 in fixed and k < n else ("revolute", "prismatic")[k % 2]
        closes = k >= n and rng.random() < 0.5
        joints.append(Joint(f"j{k}", kind, names[a], names[b], closes_loop=closes))
    joints = [joints[k] for k in rng.permutation(len(joints))]
    bodies = [names[1 + k] for k in rng.permutation(n)]
    return system(joints, bodies, base=names[0], name=f"random-{seed}")


@pytest.mark.parametrize("seed", SEEDS)
def test_random_graphs_are_numbered_by_the_rules(seed):
    description = random_system(seed)
    m = compile_model(description)
    g = m.graph
    moving = [joint for joint in description.joints if joint.type != "fixed"]
    assert len(moving) == g.N_J
    assert {*m.jnt_names, *m.loop_names} == {joint.name for joint in moving}
    assert_ends_as_described(m, description)
    assert_identities(g)
    for loop in range(1, g.N_L + 1):
        assert_one_chord_cycle(g, loop)
    assert_shortest_paths(m, description)
    assert {j.name for j in moving if j.closes_loop} <= set(m.loop_names)
    again = compile_model(random_system(seed))
    assert again.sha256() == m.sha256()


def assert_ends_as_described(m, description):
    """Assert that p and s of each joint are the bodies of its links in the description."""
    body_of = dict(zip(m.frame_names, m.frame_bodyid.tolist(), strict=True))
    written = {joint.name: (body_of[joint.parent], body_of[joint.child])
               for joint in description.joints}  # fmt: skip
    names = (*m.jnt_names, *m.loop_names)
    assert [written[name] for name in names] == list(zip(m.graph.p, m.graph.s, strict=True))


def assert_identities(g):
    bodies = range(1, g.N_B + 1)
    assert g.N_L == g.N_J - g.N_B
    assert all(0 <= g.lam[i - 1] < i for i in bodies)
    for i in bodies:
        assert g.lam[i - 1] == min(g.p[i - 1], g.s[i - 1])  # equation 4.2 of RBDA
        assert max(g.p[i - 1], g.s[i - 1]) == i
        assert g.kappa(i) == (*g.kappa(g.lam[i - 1]), i)
        assert set(g.mu(i)) == {j for j in bodies if g.lam[j - 1] == i}
        assert set(g.mu(i)) <= set(g.nu(i))
        assert set(g.nu(i)) == {i}.union(*(g.nu(child) for child in g.mu(i)))
    # equation 4.3 of RBDA: both sides sum over all pairs in which joint j supports body i
    left = {(i, j) for i in bodies for j in g.kappa(i)}
    right = {(i, j) for j in bodies for i in g.nu(j)}
    assert left == right
    assert set(g.nu(0)) == {0, *bodies}
    assert g.kappa(0) == ()


def assert_one_chord_cycle(g, loop):
    """Assert that the cycle of a loop is closed, has each body once, and contains one chord."""
    cycle = g.cycle(loop)
    assert len(set(cycle)) == len(cycle)
    assert [joint for joint in cycle if joint > g.N_B] == [g.N_B + loop]
    assert cycle[0] == g.N_B + loop
    here, passed = g.p[cycle[0] - 1], []
    for joint in cycle:
        ends = {g.p[joint - 1], g.s[joint - 1]}
        assert here in ends
        (here,) = ends - {here}
        passed.append(here)
    assert here == g.p[cycle[0] - 1]
    assert passed[0] == g.s[cycle[0] - 1]
    assert len(set(passed)) == len(passed)


def assert_shortest_paths(m, description):
    """Assert that each body's path to the base is the shortest over joints of the tree."""
    links = [link.name for link in description.links]
    number = {name: k for k, name in enumerate(links)}

    def adjacency(joints, labels, size):
        ends = [(labels[number[j.parent]], labels[number[j.child]]) for j in joints]
        rows, columns = np.array(ends).reshape(-1, 2).T
        return coo_array((np.ones(len(ends)), (rows, columns)), (size, size)).tocsr()

    fixed = [j for j in description.joints if j.type == "fixed"]
    carrying = [j for j in description.joints if j.type != "fixed" and not j.closes_loop]
    size, rigid = connected_components(adjacency(fixed, range(len(links)), len(links)), False)
    base = rigid[number[description.base]]
    order, before = breadth_first_order(adjacency(carrying, rigid, size), base, directed=False)
    depth = {int(base): 0}
    for group in order[1:]:
        depth[int(group)] = depth[int(before[group])] + 1
    for name, body in zip(m.frame_names, m.frame_bodyid.tolist(), strict=True):
        assert len(m.graph.kappa(body)) == depth[int(rigid[number[name]])]


def test_joints_that_close_loops_keep_their_order():
    for seed in SEEDS[:50]:
        description = random_system(seed)
        m = compile_model(description)
        names = [joint.name for joint in description.joints]
        assert list(m.loop_names) == sorted(m.loop_names, key=names.index)


# trees


@pytest.mark.parametrize("branching", [1.0, 1.5, 3.0])
def test_the_name_of_the_base_does_not_change_the_numbering(branching):
    tree = trees.auto_tree(12, branching, kinds=trees.ALL, seed=5)
    named = rb.build(dataclasses.replace(tree, base="base"))
    assert named.sha256() == rb.build(tree).sha256()
    assert named.graph.N_L == 0
    assert not named.jnt_reversed.any()


@robots.needs_robots
def test_a_urdf_tree_is_numbered_depth_first():
    m = robots.load(robots.find("talos_reduced.urdf"))
    g = m.graph
    assert g.lam == tuple(m.body_parentid[1:].tolist())
    assert g.p == g.lam
    assert g.s == tuple(range(1, m.nbody))
    preorder, waiting = [], [0]
    while waiting:
        body = waiting.pop()
        preorder.append(body)
        waiting.extend(reversed(g.mu(body)))
    assert preorder == list(range(m.nbody))


# refusals of a Graph


@pytest.mark.parametrize(
    ("p", "s"),
    [
        ((1, 0), (2, 1)),
        ((0, 2), (1, 2)),
        ((0, -1), (1, 2)),
        ((0,), (1, 2)),
        ((0, 1, 1), (1, 2, 1)),
        ((0, 1, 3), (1, 2, 0)),
        ((0, 1), (1, 2, 0)),
    ],
)
def test_an_irregular_numbering_is_refused(p, s):
    with refused(rb.ModelError, "irregular-numbering"):
        Graph(p, s, 2)


def test_unknown_bodies_and_loops_are_refused():
    g = Graph((0, 1, 2), (1, 2, 0))
    for question in (g.kappa, g.mu, g.nu):
        for body in (-1, 3):
            with refused(rb.ModelError, "unknown-body"):
                question(body)
    for loop in (0, 2):
        with refused(rb.ModelError, "unknown-loop"):
            g.cycle(loop)
    assert repr(g) == "<Graph: N_B=2, N_J=3, N_L=1>"


def test_a_graph_without_joints_is_empty():
    g = Graph((), ())
    assert (g.N_B, g.N_J, g.N_L, g.lam) == (0, 0, 0, ())
    assert (g.kappa(0), g.mu(0), g.nu(0)) == ((), (), (0,))
