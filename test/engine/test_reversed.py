# SPDX-License-Identifier: Apache-2.0
"""A mechanism moves in the same way whichever link is its base.

A joint between the two bases is forward in one Model and reversed in the other, with the same
positions, velocities and forces (RBDA table 4.2).
"""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import states, trees
from support.compare import Comparison, with_inverse

import rbdyn_ros as rb
from rbdyn_ros.description.parts.types import Description, Link

each_type = pytest.mark.parametrize("name", trees.LIBRARY)
ROOT = "root_joint"


def chain(kinds, seed):
    """Return a chain of links link0, link1 ... with joints of these types, some reversed."""
    rng = np.random.default_rng(seed)
    links = [Link(f"link{i}", trees.random_inertial(rng)) for i in range(len(kinds) + 1)]
    joints = []
    for i, kind in enumerate(kinds):
        ends = [(f"link{k}", trees.random_pose(rng, 2.0)) for k in (i, i + 1)]
        order = ends[:: rng.choice((-1, 1))]
        axis = trees.unit(rng.normal(size=3))
        joints.append(trees.library_joint(f"joint{i}", kind, *order, axis, rng, damping=0.1))
    return Description("chain", tuple(links), tuple(joints))


def floating(description, base):
    m = rb.build(dataclasses.replace(description, base=base), floating_base=True)
    m.opt.integrator = "rk4"
    return m, rb.make_data(m)


def link_motion(m, d, name):
    """Return a link's position, rotation matrix, velocity of the origin and angular velocity."""
    p, R = rb.frame_pose(m, d, name)
    i = m.frame_bodyid[m.frame_id(name)]
    w, v = d.cvel[i, :3], d.cvel[i, 3:]
    return p, R, v + np.cross(w, p - d.subtree_com[m.body_rootid[i]]), w


def same_state(m, d, base, other, e):
    """Write the state of d to e: joints by name, the root joint from the motion of link `base`."""
    rb.forward(m, d)
    p, R, v, w = link_motion(m, d, base)
    root = other.jnt_id(ROOT)
    q, qv = states.joint_slices(other, root)
    e.qpos[q] = [*p, *trees.wxyz(Rotation.from_matrix(R))]
    e.qvel[qv] = [*v, *(R.T @ w)]
    for name in m.jnt_names:
        if name != ROOT:
            (ours, our_v), (theirs, their_v) = places(m, other, name)
            e.qpos[theirs], e.qvel[their_v] = d.qpos[ours], d.qvel[our_v]
            e.qfrc_applied[their_v] = d.qfrc_applied[our_v]
    for name in m.frame_names:  # each link is a body, so external forces can be copied
        ours, theirs = (x.frame_bodyid[x.frame_id(name)] for x in (m, other))
        e.xfrc_applied[theirs] = d.xfrc_applied[ours]


def places(m, other, name):
    return [states.joint_slices(x, x.jnt_id(name)) for x in (m, other)]


def start(description, seed, bases):
    m, d = floating(description, bases[0])
    other, e = floating(description, bases[1])
    states.randomise(m, d, seed)
    d.qfrc_applied *= 0.02  # slow motions keep the error of rk4 small
    d.xfrc_applied *= 0.02
    d.qfrc_applied[states.joint_slices(m, m.jnt_id(ROOT))[1]] = 0.0
    same_state(m, d, bases[1], other, e)
    rb.forward(other, e)
    return m, d, other, e


def compare_links(case, m, d, other, e, tolerance):
    for name in m.frame_names:
        ours, theirs = link_motion(m, d, name), link_motion(other, e, name)
        for what, x, y in zip(("position", "axes", "velocity", "turn"), ours, theirs, strict=True):
            case.close(f"{what} of a link", x, y, tolerance)


def polarity(m, names):
    return [int(m.jnt_reversed[m.jnt_id(name)]) for name in names]


@pytest.mark.parametrize("seed", range(4))
def test_all_joint_types_agree_in_a_reversed_chain(seed):
    """In the same state link motions, energy, joint accelerations and passive forces agree."""
    kinds = np.random.default_rng(seed).permutation(trees.LIBRARY)
    description = chain([str(kind) for kind in kinds], seed)
    last = f"link{len(kinds)}"
    m, d, other, e = start(description, seed, ("link0", last))
    names = [joint.name for joint in description.joints]
    assert polarity(m, names) == [1 - x for x in polarity(other, names)]
    tolerance = with_inverse(1e-12, rb.mass_matrix(m, d).copy(), m.nv)
    rb.energy(m, d)
    rb.energy(other, e)
    with Comparison("reversed", f"chain, seed {seed}") as case:
        compare_links(case, m, d, other, e, 1e-12)
        case.close("energy", d.energy, e.energy, 1e-12)
        by_v = np.concatenate([np.r_[places(m, other, n)[1][1]] for n in names])
        our_v = np.concatenate([np.r_[places(m, other, n)[0][1]] for n in names])
        case.close("qacc", d.qacc[our_v], e.qacc[by_v], tolerance)
        case.close("passive", d.qfrc_passive[our_v], e.qfrc_passive[by_v], 1e-12)


@each_type
def test_two_links_move_in_the_same_way_from_either_base(name):
    """The links move for half a second with gravity, joint forces and external forces.

    The tolerance covers the error of rk4, of order h^4, which depends on the base.
    """
    description = chain([name], seed=trees.LIBRARY.index(name))
    m, d, other, e = start(description, 3, ("link0", "link1"))
    for x, y in ((m, d), (other, e)):
        assert x.opt.timestep == 1e-3
        rb.step(x, y, 500)
        rb.forward(x, y)
    with Comparison("reversed", f"two links, {name}") as case:
        compare_links(case, m, d, other, e, 1e-9)


#: Joint types whose reverse is a joint of the same type with opposite positions.
SYMMETRIC = ("revolute", "prismatic", "helical", "cylindrical", "universal")


@pytest.mark.parametrize("name", SYMMETRIC)
def test_a_reversed_joint_equals_a_joint_written_from_child_to_parent(name):
    """The written joint has exchanged links, and opposite positions and forces."""
    rng = np.random.default_rng(5)
    links = [Link("base"), *(Link(f"link{i}", trees.random_inertial(rng)) for i in (1, 2, 3))]
    ends = [(f"link{i}", trees.random_pose(rng, 2.0)) for i in (1, 2)]
    joint = trees.library_joint("joint", name, *ends, trees.unit(rng.normal(size=3)), rng)
    swapped = dataclasses.replace(
        joint,
        parent=joint.child,
        child=joint.parent,
        origin=joint.child_origin,
        child_origin=joint.origin,
    )
    order = slice(None)
    if name == "universal":  # swapping the links swaps the axes
        swapped = dataclasses.replace(swapped, axis=joint.axis2, axis2=joint.axis)
        order = slice(None, None, -1)
    ends = [("base", trees.random_pose(rng, 2.0)), ("link1", trees.random_pose(rng, 2.0))]
    first = trees.library_joint("first", "revolute", *ends, trees.unit(rng.normal(size=3)), rng)
    ends = [("link2", trees.random_pose(rng, 2.0)), ("link3", trees.random_pose(rng, 2.0))]
    last = trees.library_joint("last", "spherical", *ends, (0.0, 0.0, 1.0), rng)
    moved = []
    for middle, sign, turned in ((joint, 1.0, slice(None)), (swapped, -1.0, order)):
        m = rb.build(Description("fixed", tuple(links), (first, middle, last), base="base"))
        m.opt.integrator = "rk4"
        d = rb.make_data(m)
        states.randomise(m, d, 2)
        d.xfrc_applied = 0.0
        q, v = states.joint_slices(m, m.jnt_id("joint"))
        for array, place in ((d.qpos, q), (d.qvel, v), (d.qfrc_applied, v)):
            array[place] = sign * array[place][turned]
        rb.step(m, d, 1000)
        rb.forward(m, d)
        moved.append((m, d))
    (m, d), (other, e) = moved
    assert polarity(m, ["joint"]) == [0]
    assert polarity(other, ["joint"]) == [1]
    with Comparison("reversed", f"written from child to parent, {name}") as case:
        compare_links(case, m, d, other, e, 1e-9)
