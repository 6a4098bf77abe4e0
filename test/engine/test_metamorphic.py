# SPDX-License-Identifier: Apache-2.0
"""Different descriptions of one robot give the same motion."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots, states, trees

import rbdyn_ros as rb
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Description, Inertial, Joint, Link

# relative to the largest entry, for results that use M^-1 of small trees
TOLERANCE = 1e-12


def forward(m, **state):
    d = rb.make_data(m)
    for name, value in state.items():
        setattr(d, name, value)
    rb.forward(m, d)
    return d


def close(ours, theirs, tolerance=TOLERANCE):
    return np.abs(ours - theirs).max() <= tolerance * np.abs(theirs).max()


@pytest.fixture(scope="module")
def tree():
    return trees.auto_tree(9, 1.6, kinds=trees.ALL[:4], seed=12, damping=0.4)


def random_state(m, seed=1):
    d = rb.make_data(m)
    states.randomise(m, d, seed)
    return {n: getattr(d, n).copy() for n in ("qpos", "qvel", "qacc", "qfrc_applied")}


def test_names_of_links_and_joints_do_not_change_the_motion(tree):
    def new(name):
        return f"other/{name} \u00e9"

    links = tuple(dataclasses.replace(link, name=new(link.name)) for link in tree.links)
    joints = tuple(
        dataclasses.replace(j, name=new(j.name), parent=new(j.parent), child=new(j.child))
        for j in tree.joints
    )
    renamed = trees.build(dataclasses.replace(tree, name="x", links=links, joints=joints))
    m = trees.build(tree)
    state = random_state(m)
    assert np.array_equal(forward(renamed, **state).buffer, forward(m, **state).buffer)
    assert renamed.jnt_names == tuple(new(name) for name in m.jnt_names)


def test_reordering_links_changes_no_bit_of_the_results(tree):
    shuffled = dataclasses.replace(tree, links=tree.links[::-1])
    m = trees.build(tree)
    state = random_state(m)
    assert np.array_equal(
        forward(trees.build(shuffled), **state).buffer, forward(m, **state).buffer
    )


@pytest.mark.parametrize("base", [False, True])
def test_the_order_of_joints_in_a_description_does_not_change_the_motion(tree, base):
    order = np.random.default_rng(3).permutation(len(tree.joints))
    shuffled = dataclasses.replace(tree, joints=tuple(tree.joints[k] for k in order))
    m, other = trees.build(tree, base), trees.build(shuffled, base)
    assert m.jnt_names != other.jnt_names, "the shuffle has not changed the numbering"
    state, moved = random_state(m), {}
    by_q, by_v = joint_map(m, other)
    for name, value in state.items():
        moved[name] = value[by_q if name == "qpos" else by_v]
    assert close(forward(other, **moved).qacc, forward(m, **state).qacc[by_v])


def joint_map(m, other):
    """Return the indices into qpos and qvel of m that give qpos and qvel of `other`."""
    by_q, by_v = [], []
    for name in other.jnt_names:
        q, v = states.joint_slices(m, m.jnt_id(name))
        by_q += range(q.start, q.stop)
        by_v += range(v.start, v.stop)
    return by_q, by_v


def test_splitting_links_by_fixed_joints_changes_no_result(tree):
    """Each link is cut into two pieces, joined by a fixed joint with a rotated frame."""
    rng = np.random.default_rng(5)
    links, joints = [], []
    for link in tree.links:
        first, second, place = split(link.inertial, rng)
        links += [Link(link.name, first), Link(f"{link.name}-half", second)]
        joints.append(Joint(f"{link.name}-weld", "fixed", link.name, f"{link.name}-half", place))
    for joint in tree.joints:  # half of the joints move to the second piece
        joints.append(joint if rng.random() < 0.5 else rehung(joint, joints))
    parted = trees.build(Description("split", tuple(links), tuple(joints)))
    m = trees.build(tree)
    by_q, by_v = joint_map(m, parted)
    state = random_state(m)
    moved = {n: value[by_q if n == "qpos" else by_v] for n, value in state.items()}
    assert parted.nbody == m.nbody
    assert parted.nframe == 2 * m.nframe
    assert close(forward(parted, **moved).qacc, forward(m, **state).qacc[by_v])


def rehung(joint, welds):
    """Return the same joint attached to the parent's second piece, with its pose in that frame."""
    place = next(w.origin for w in welds if w.child == f"{joint.parent}-half")
    R = trees.rotation(place.quat)
    origin = R.inv().apply(np.subtract(joint.origin.pos, place.pos))
    turn = R.inv() * trees.rotation(joint.origin.quat)
    pose = Pose(tuple(origin), trees.wxyz(turn))
    return dataclasses.replace(joint, parent=f"{joint.parent}-half", origin=pose)


def split(inertial, rng):
    """Split an inertial in two; return both, and the pose of the second piece's frame."""
    R = trees.rotation(inertial.origin.quat).as_matrix()
    xx, yy, zz, xy, xz, yz = inertial.inertia
    whole = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    share, shift = 0.4, rng.uniform(-0.02, 0.02, 3)
    m1, m2 = share * inertial.mass, (1.0 - share) * inertial.mass
    c1 = np.array(inertial.origin.pos) + shift
    c2 = np.array(inertial.origin.pos) - shift * m1 / m2
    spread = m1 * steiner(shift) + m2 * steiner(shift * m1 / m2)
    I1, I2 = share * (whole - spread), (1.0 - share) * (whole - spread)
    place = Pose(tuple(rng.uniform(-0.3, 0.3, 3)), trees.random_quat(rng, 3.0))
    turn = trees.rotation(place.quat)
    c2_there = turn.inv().apply(c2 - np.array(place.pos))
    T = turn.as_matrix()
    second = Inertial(m2, Pose(tuple(c2_there)), six(T.T @ I2 @ T))
    return Inertial(m1, Pose(tuple(c1)), six(I1)), second, place


def steiner(r):
    return r @ r * np.eye(3) - np.outer(r, r)


def six(I):
    return (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])


def test_rotating_base_and_gravity_together_does_not_change_the_motion(tree):
    R = Rotation.from_rotvec([0.3, -1.1, 0.7])
    mount = Joint("mount", "fixed", "ground", "base", Pose((1.0, 2.0, 3.0), trees.wxyz(R)))
    tilted = Description("tilted", (*tree.links, Link("ground")), (mount, *tree.joints))
    m, other = trees.build(tree), trees.build(tilted)
    other.opt.gravity = R.apply(m.opt.gravity)
    state = random_state(m)
    d, e = forward(m, **state), forward(other, **state)
    assert close(e.qacc, d.qacc)
    assert close(e.qfrc_bias, d.qfrc_bias)
    assert close(e.xpos[1:], R.apply(d.xpos[1:]) + np.array([1.0, 2.0, 3.0]))
    other.opt.gravity = m.opt.gravity
    assert not close(forward(other, **state).qacc, d.qacc), "gravity has no effect here"


def test_a_chain_described_from_its_other_end_has_the_same_accelerations():
    """The chain floats; joints and forces keep their numbers."""
    rng = np.random.default_rng(8)
    n = 6
    inertials = [trees.random_inertial(rng) for _ in range(n)]
    places = [
        Pose(tuple(rng.uniform(-0.5, 0.5, 3)), trees.random_quat(rng, 1.0)) for _ in range(n)
    ]
    axes = [trees.unit(rng.normal(size=3)) for _ in range(n)]
    forwards = Description(
        "forwards",
        tuple(Link(f"l{i}", inertials[i]) for i in range(n)),
        tuple(
            Joint(f"j{i}", "continuous", f"l{i - 1}", f"l{i}", places[i], axes[i])
            for i in range(1, n)
        ),
    )
    backwards = reversed_chain(forwards, places, n)
    m = rb.build(forwards, floating_base=True)
    d = rb.make_data(m)
    states.randomise(m, d, 3)
    d.xfrc_applied = 0.0
    rb.forward(m, d)
    rb.inverse(m, d)
    w = rb.build(backwards, floating_base=True)
    e = rb.make_data(w)
    take_over(m, d, w, e, n)
    rb.forward(w, e)
    for i in range(n):
        a, b = m.body_id(f"l{i}"), w.body_id(f"l{i}")
        assert np.abs(inertial_acceleration(m, d, a) - inertial_acceleration(w, e, b)).max() < 1e-9
    for i in range(1, n):
        a, b = m.jnt_dofadr[m.jnt_id(f"j{i}")], w.jnt_dofadr[w.jnt_id(f"j{i}")]
        assert e.qacc[b] == pytest.approx(d.qacc[a], rel=1e-9, abs=1e-9)


def reversed_chain(chain, places, n):
    """Return the description from the other end: the frame of link l<i> is now at joint j<i+1>."""
    links = [chain.links[n - 1]]
    joints = []
    here = Pose()  # pose of the new frame of link i in its old frame
    for i in range(n - 1, 0, -1):
        # joint i is at the old frame of link i, whose pose in the new frame is the inverse
        turn = trees.rotation(here.quat)
        origin = Pose(tuple(turn.inv().apply(-np.array(here.pos))), trees.wxyz(turn.inv()))
        axis = tuple(-np.array(chain.joints[i - 1].axis))
        joints.append(Joint(f"j{i}", "continuous", f"l{i}", f"l{i - 1}", origin, axis))
        here = places[i]  # the new frame of link i - 1 is at joint i
        links.append(Link(f"l{i - 1}", moved(chain.links[i - 1].inertial, here)))
    return Description("backwards", tuple(links), tuple(joints))


def moved(inertial, frame):
    """Return the same inertial relative to another frame of its link."""
    turn = trees.rotation(frame.quat).inv()
    pos = turn.apply(np.subtract(inertial.origin.pos, frame.pos))
    quat = trees.wxyz(turn * trees.rotation(inertial.origin.quat))
    return dataclasses.replace(inertial, origin=Pose(tuple(pos), quat))


def take_over(m, d, w, e, n):
    """Write the state and the forces of d to e, the Data of the reversed chain w."""
    last = m.body_id(f"l{n - 1}")
    R = d.xmat[last].reshape(3, 3)
    velocity = d.cvel[last]
    arm = d.xpos[last] - d.subtree_com[m.body_rootid[last]]
    e.qpos[:3] = d.xpos[last]
    e.qpos[3:7] = trees.wxyz(Rotation.from_matrix(R))
    e.qvel[:3] = velocity[3:] + np.cross(velocity[:3], arm)
    e.qvel[3:6] = R.T @ velocity[:3]
    for i in range(1, n):
        a, b = m.jnt_id(f"j{i}"), w.jnt_id(f"j{i}")
        e.qpos[w.jnt_qposadr[b]] = d.qpos[m.jnt_qposadr[a]]
        e.qvel[w.jnt_dofadr[b]] = d.qvel[m.jnt_dofadr[a]]
        e.qfrc_applied[w.jnt_dofadr[b]] = d.qfrc_applied[m.jnt_dofadr[a]]
    # forces on the old root joint are external forces in the new tree
    first = m.body_id("l0")
    force, torque = d.qfrc_applied[:3], d.xmat[first].reshape(3, 3) @ d.qfrc_applied[3:6]
    arm = d.xpos[first] - d.xipos[first]
    e.xfrc_applied[w.body_id("l0")] = np.concatenate([force, torque + np.cross(arm, force)])


def inertial_acceleration(m, d, i):
    """Return the angular acceleration of body i and the acceleration of its centre of mass."""
    d = d.copy()
    rb.inverse(m, d)
    w, v = d.cvel[i, :3], d.cvel[i, 3:]
    arm = d.xipos[i] - d.subtree_com[m.body_rootid[i]]
    alpha = d.cacc[i, :3]
    linear = d.cacc[i, 3:] + np.cross(alpha, arm) + np.cross(w, v + np.cross(w, arm))
    return np.concatenate([alpha, linear])


def test_motions_with_shorter_timesteps_converge():
    """With half the timestep the result changes by less than an eighth of the previous change."""
    m = trees.build(trees.auto_tree(4, seed=2))
    m.opt.integrator = "rk4"
    ends = []
    for n in (10, 20, 40):
        m.opt.timestep = 0.1 / n
        d = rb.make_data(m)
        rb.step(m, d, n)
        ends.append(d.qpos.copy())
    assert np.abs(ends[1] - ends[2]).max() < np.abs(ends[0] - ends[1]).max() / 8.0


def test_the_motion_stays_the_same_if_masses_and_forces_are_scaled(tree):
    """Both are ten times as large."""
    heavy = []
    for link in tree.links:
        moments = tuple(10.0 * value for value in link.inertial.inertia)
        inertial = Inertial(10.0 * link.inertial.mass, link.inertial.origin, moments)
        heavy.append(dataclasses.replace(link, inertial=inertial))
    joints = tuple(dataclasses.replace(j, damping=10.0 * j.damping) for j in tree.joints)
    m = trees.build(tree)
    other = trees.build(dataclasses.replace(tree, links=tuple(heavy), joints=joints))
    state = random_state(m)
    d = forward(m, **state)
    state["qfrc_applied"] = 10.0 * state["qfrc_applied"]
    assert close(forward(other, **state).qacc, d.qacc)


def test_a_description_and_its_urdf_text_give_the_same_robot():
    tree = trees.auto_tree(9, 1.6, kinds=("revolute", "prismatic", "planar"), seed=4, damping=0.2)
    m, other = trees.build(tree), rb.load_urdf(trees.to_urdf(tree))
    state = random_state(m)
    d, e = forward(m, **state), forward(other, **state)
    assert m.jnt_names == other.jnt_names
    for name in ("xpos", "xmat", "M", "qfrc_bias", "qfrc_passive"):
        assert close(getattr(e, name), getattr(d, name), 1e-13), name


@robots.needs_robots
@pytest.mark.parametrize("name", ["panda.urdf", "talos_reduced.urdf"])
def test_the_order_of_elements_in_a_robot_file_changes_no_result(name, tmp_path):
    import xml.etree.ElementTree as ET

    path = robots.find(name)
    root = ET.parse(path).getroot()
    parts = list(root)
    for part in parts:
        root.remove(part)
    root.extend(parts[::-1])
    text = tmp_path / name
    text.write_bytes(ET.tostring(root))
    m, other = robots.load(path), rb.load_urdf(text, strict=False, mimic=False)
    by_q, by_v = joint_map(m, other)
    state = random_state(m)
    swapped = {n: value[by_q if n == "qpos" else by_v] for n, value in state.items()}
    M = rb.mass_matrix(m, forward(m, **state))
    assert close(rb.mass_matrix(other, forward(other, **swapped)), M[np.ix_(by_v, by_v)])
