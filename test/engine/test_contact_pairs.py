# SPDX-License-Identifier: Apache-2.0
"""Two moving geometries have the right contact points and keys in many poses."""

import itertools
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots
from support.touching import wxyz

import rbdyn_ros as rb

HALF = np.array(list(itertools.product((-0.1, 0.1), repeat=3)))
FLAT = {
    "box": rb.Box((0.2, 0.2, 0.2)),
    "hull": rb.Points(tuple(map(tuple, HALF))),
    "cylinder": rb.Cylinder(0.1, 0.2),
    "lying cylinder": rb.Cylinder(0.1, 0.2),
    "capsule": rb.Capsule(0.1, 0.2),
    "sphere": rb.Sphere(0.1),
}
LIE = Rotation.from_euler("x", 90, degrees=True)
TURN = {"lying cylinder": LIE, "capsule": LIE}

#: Number of contact points that a shape can have when it lies flat.
NUMBER = {
    "box": 4, "hull": 4, "cylinder": 8, "lying cylinder": 2, "capsule": 2, "sphere": 1,
}  # fmt: skip


def free(shapes):
    """Return a Model of free bodies, one for each shape, without a floor."""
    system = rb.SystemBuilder("pairs", base="world")
    for name, shape in shapes.items():
        system.body(name, rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
        system.joint(f"to {name}", "floating", "world", name).geometry(name, name, shape)
    return rb.build(system)


@pytest.fixture(scope="module")
def zoo():
    return free({f"{side} {name}": FLAT[name] for side in ("low", "high") for name in FLAT})


def put(m, d, name, pos, turn=None):
    q = d.qpos[7 * m.body_id(name) - 7 :][:7]
    q[:3], q[3:] = pos, wxyz(turn or Rotation.identity())


def apart(m):
    """Return a Data in which no two bodies are near each other."""
    d = rb.make_data(m)
    d.qpos.reshape(-1, 7)[:, 0] = 5.0 + np.arange(m.nbody - 1)
    return d


def points(d):
    n = d.ncon
    return d.contact_pos[:n], d.contact_normal[:n], d.contact_dist[:n]


@pytest.mark.parametrize("high", FLAT)
@pytest.mark.parametrize("low", FLAT)
def test_a_shape_lies_flat_on_another_shape(zoo, low, high):
    """All points are 1 mm deep and midway between the surfaces; normals are vertical."""
    d = apart(zoo)
    put(zoo, d, f"low {low}", (0.0, 0.0, -0.1), TURN.get(low))
    put(zoo, d, f"high {high}", (0.0, 0.0, 0.099), TURN.get(high))
    rb.forward(zoo, d)
    at, normal, dist = points(d)
    numbers = NUMBER[low], NUMBER[high]
    assert d.ncon == (max(numbers) if min(numbers) > 2 else min(numbers))
    names = [zoo.geom_names[g] for g in d.contact_geom[0]]
    assert names == [f"low {low}", f"high {high}"]
    assert np.abs(normal - [0.0, 0.0, 1.0]).max() < 1e-12
    assert dist == pytest.approx(-0.001, abs=1e-12)
    assert at[:, 2] == pytest.approx(-0.0005, abs=1e-12)
    # distance of the points from the middle: zero, at the ends of an axis, or at corners
    reach = {1: 0.0, 2: 0.1}.get(d.ncon, 0.1 if {low, high} <= {"box", "hull"} else 0.0999)
    assert np.abs(at[:, :2]).max() == pytest.approx(reach, abs=1.1e-4)


@pytest.mark.parametrize("high", FLAT)
@pytest.mark.parametrize("low", FLAT)
def test_a_shape_tilted_by_less_than_a_degree_keeps_its_deepest_point(zoo, low, high):
    """The largest depth agrees with rb.distance, and all points have the same normal."""
    for tilt in (1e-9, 1e-7, 1e-5, 1e-3, 1e-2):
        d = apart(zoo)
        turn = Rotation.from_rotvec([0.6 * tilt, 0.8 * tilt, 0.0])
        put(zoo, d, f"low {low}", (0.0, 0.0, -0.1), TURN.get(low))
        own = TURN.get(high, Rotation.identity())
        put(zoo, d, f"high {high}", (0.0, 0.0, 0.099), turn * own)
        rb.forward(zoo, d)
        _, normal, dist = points(d)
        found = rb.distance(zoo, d, f"low {low}", f"high {high}")
        assert dist.min() == pytest.approx(found.distance, abs=1.1e-5)
        assert np.abs(normal - normal[0]).max() == 0.0
        assert normal[0] @ found.normal > 1.0 - 1e-3


def test_swapping_two_bodies_only_reverses_the_normals(zoo):
    """Points and depths stay the same."""
    rng = np.random.default_rng(5)
    seen = 0
    for one, other in itertools.product(FLAT, repeat=2):
        for _ in range(6):
            turns = Rotation.random(2, random_state=rng)
            gap = rng.normal(size=3)
            gap *= rng.uniform(0.1, 0.2) / np.linalg.norm(gap)
            found = []
            for first, second in (("low", "high"), ("high", "low")):
                d = apart(zoo)
                put(zoo, d, f"{first} {one}", np.zeros(3), turns[0])
                put(zoo, d, f"{second} {other}", gap, turns[1])
                rb.forward(zoo, d)
                found.append(points(d))
            seen += compared(*found)
    assert seen > 50


def compared(first, second):
    """Assert equal contacts but for order and signs of normals; return whether there are any."""
    (x, n, dist), (y, k, other) = first, second
    assert len(x) == len(y)
    if len(x) == 0:
        return False
    # a cylinder's normal has the square root of the distance's error
    assert np.abs(n[0] + k[0]).max() < 1e-5
    order = np.lexsort(x.round(6).T), np.lexsort(y.round(6).T)
    assert x[order[0]] == pytest.approx(y[order[1]], abs=1e-6)
    assert dist[order[0]] == pytest.approx(other[order[1]], abs=1e-8)
    return True


@pytest.fixture(scope="module")
def solids():
    rng = np.random.default_rng(1)
    shapes = {
        "box": rb.Box((0.2, 0.15, 0.1)),
        "slab": rb.Box((0.3, 0.2, 0.02)),
        "sphere": rb.Sphere(0.08),
        "capsule": rb.Capsule(0.05, 0.2),
        "cylinder": rb.Cylinder(0.07, 0.15),
        "hull": hull(rng, 14),
        "large hull": hull(rng, 90),
        "flat": rb.Points(((-0.1, -0.1, 0.0), (0.1, -0.1, 0.0), (0.1, 0.1, 0.0), (-0.1, 0.1, 0))),
        "line": rb.Points(((-0.1, 0.0, 0.0), (0.1, 0.0, 0.0))),
        "point": rb.Points(((0.0, 0.0, 0.0),)),
    }
    return free(shapes)


def hull(rng, count):
    corners = rng.normal(size=(count, 3))
    corners *= 0.1 / np.linalg.norm(corners, axis=1)[:, None]
    return rb.Points(tuple(map(tuple, corners)))


def test_contacts_of_random_piles_agree_with_the_distance_query(solids):
    """The same pairs touch as in rb.collisions, with the same depths, and all keys differ.

    Other tests compare rb.collisions with coal.
    """
    rng, d = np.random.default_rng(2), rb.make_data(solids)
    touched = 0
    for _ in range(60):
        q = d.qpos.reshape(-1, 7)
        q[:, :3] = rng.normal(size=(len(q), 3)) * 0.15
        q[:, 3:] = [wxyz(turn) for turn in Rotation.random(len(q), random_state=rng)]
        rb.forward(solids, d)
        n = d.ncon
        assert np.isfinite(d.contact_pos[:n]).all()
        assert np.abs(np.linalg.norm(d.contact_normal[:n], axis=1) - 1.0).max(initial=0.0) < 1e-12
        assert (np.diff(d.contact_key[:n]) > 0).all()
        deepest = {}
        for c in range(n):
            pair = tuple(solids.geom_names[g] for g in d.contact_geom[c])
            deepest[pair] = min(deepest.get(pair, 0.0), d.contact_dist[c])
        found = {(one.geom1, one.geom2): one for one in rb.collisions(solids, d)}
        clear = {pair for pair, one in found.items() if one.distance < -1e-9}
        assert clear <= set(deepest) <= set(found)
        for pair, dist in deepest.items():
            # boxes prefer a face to a pair of edges, even with a slightly larger depth
            assert dist == pytest.approx(found[pair].distance, abs=1.1e-4)
        touched += len(clear)
    assert touched > 150
    assert d.ndropped == 0


def test_contact_points_keep_their_keys_while_bodies_rest(zoo):
    for low, high in itertools.product(FLAT, repeat=2):
        d = apart(zoo)
        put(zoo, d, f"low {low}", (0.0, 0.0, -0.1), TURN.get(low))
        put(zoo, d, f"high {high}", (0.013, 0.007, 0.099), TURN.get(high))
        rb.forward(zoo, d)
        keys = d.contact_key[: d.ncon].tolist()
        rng = np.random.default_rng(0)
        for _ in range(5):  # a body at rest moves by rounding errors
            moved = d.copy()
            moved.qpos[:] += rng.normal(size=zoo.nq) * 1e-12
            rb.forward(zoo, moved)
            assert moved.contact_key[: moved.ncon].tolist() == keys


def test_contacts_do_not_depend_on_earlier_poses(solids):
    """A used Data and a new Data have the same contacts."""
    rng, used = np.random.default_rng(4), rb.make_data(solids)
    for _ in range(20):
        q = used.qpos.reshape(-1, 7)
        q[:, :3] = rng.normal(size=(len(q), 3)) * 0.2
        q[:, 3:] = [wxyz(turn) for turn in Rotation.random(len(q), random_state=rng)]
        rb.forward(solids, used)
        new = rb.make_data(solids)
        new.qpos[:] = used.qpos
        rb.forward(solids, new)
        assert new.ncon == used.ncon
        for field in ("contact_key", "contact_pos", "contact_normal", "contact_dist"):
            a, b = getattr(new, field)[: new.ncon], getattr(used, field)[: used.ncon]
            assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize(("name", "poses"), [("go2.urdf", 60), ("talos_reduced.urdf", 25)])
def test_contacts_of_real_robots_match_rb_collisions(name, poses):
    """At random poses the pairs in contact are the pairs that rb.collisions lists."""
    contact = rb.Contact(obstacles=())
    m = rb.load_urdf(robots.find(name), contact=contact, strict=False)
    rng, d, touched = np.random.default_rng(6), rb.make_data(m), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # about overlaps at the start
        rb.collisions(m, d)
    for _ in range(poses):
        d.qpos[:] = rb.random_qpos(m, rng)
        rb.forward(m, d)
        inside = d.contact_dist[: d.ncon] <= 0.0  # other contacts only may begin within the step
        listed = {tuple(sorted(pair)) for pair in d.contact_geom[: d.ncon][inside].tolist()}
        found = {
            (m.geom_numbers[one.geom1], m.geom_numbers[one.geom2]): one.distance
            for one in rb.collisions(m, d)
        }
        assert {pair for pair, dist in found.items() if dist < -1e-9} <= listed <= set(found)
        touched += len(listed)
    assert touched > poses / 10


def test_pairs_that_overlap_at_the_start_have_no_contacts_and_are_reported():
    """In the first arm the third link overlaps the first link at zero positions."""
    arm = rb.SystemBuilder("arm", base="world")
    for k, parent in enumerate(("world", "l0", "l1")):
        arm.body(f"l{k}", rb.shapes.box((0.1, 0.1, 0.3), mass=1.0))
        arm.joint(f"j{k}", "revolute", parent, f"l{k}", xyz=(0, 0, 0.1), axis=(0, 1, 0))
        arm.geometry(f"g{k}", f"l{k}", rb.Capsule(0.05, 0.3))
    m = rb.build(arm)
    assert m.npush == 0
    (note,) = [finding for finding in m.findings if finding.code == "start-overlaps"]
    assert "g0 and g2" in note.message
    far = rb.SystemBuilder("arm", base="world")
    for k, parent in enumerate(("world", "l0", "l1")):
        far.body(f"l{k}", rb.shapes.box((0.1, 0.1, 0.3), mass=1.0))
        far.joint(f"j{k}", "revolute", parent, f"l{k}", xyz=(0, 0, 0.4), axis=(0, 1, 0))
        far.geometry(f"g{k}", f"l{k}", rb.Capsule(0.05, 0.1))
    assert rb.build(far).push_geom.tolist() == [[0, 2]]
    assert rb.build(far, contact=rb.Contact(self_collision=False)).npush == 0
    assert rb.build(far, contact=rb.Contact(exclude=(("l0", "l2"),))).npush == 0


def test_a_full_list_of_contacts_causes_one_warning():
    """50 balls at one point have 1225 contacts; those that do not fit are dropped from the end."""
    m = free({f"ball {k}": rb.Sphere(0.1) for k in range(50)})
    d = rb.make_data(m)
    with pytest.warns(RuntimeWarning, match=r"d\.ndropped") as caught:
        rb.step(m, d)
    assert d.ncon == m.ncontact
    assert d.ndropped == m.npush - m.ncontact
    kept = [tuple(pair) for pair in d.contact_geom.tolist()]
    assert kept == [tuple(pair) for pair in m.push_geom[: m.ncontact].tolist()]
    assert sum("ndropped" in str(one.message) for one in caught) == 1
    d.qvel[:] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rb.step(m, d)
    assert d.ndropped > 0


def test_near_pairs_are_found_in_order_even_if_they_exceed_the_list():
    """190 balls at one point have 17955 near pairs, more than the engine sorts at once."""
    m = free({f"ball {k}": rb.Sphere(0.1) for k in range(190)})
    assert m.npush > m.nfound
    d = rb.make_data(m)
    rb.forward(m, d)
    assert d.ncon + d.ndropped == m.npush
    assert d.contact_geom.tolist() == m.push_geom[: d.ncon].tolist()


#: Program: a box turns 1 um above another one; print how often a step computes the gap.
TURNING = """
import numpy as np
import rbdyn_ros as rb
from rbdyn_ros.engine.contact.points import pairs

box, at = rb.Box((0.2, 0.2, 0.2)), rb.pose((0.02, 0.01, 0.5), rpy=(0.6, 0.5, 0.0))
low = rb.Object("low", box, mass=1.0, pose=rb.pose((0.0, 0.0, 0.1)))
m = rb.scene(objects=[low, rb.Object("high", box, mass=1.0, pose=at)])
d = rb.make_data(m)
rb.kinematics(m, d)
d.qpos[9] = 0.2 + 1e-6 + 0.1 * abs(d.xmat[2, 6:]).sum()
d.qvel[6:12] = 0.0, 0.0, 0.01, 0.5, -0.4, 0.3
gap, calls = pairs._gap, []
pairs._gap = lambda *args: calls.append(1) or gap(*args)
rb.step(m, d)
print(len(calls))
"""


def test_the_search_for_the_time_of_a_touch_ends_if_it_makes_no_progress():
    """The bound on a corner's speed lets the search advance by less than 1 % of a step."""
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", TURNING]
    done = subprocess.run(command, env=plain, capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) <= 8
