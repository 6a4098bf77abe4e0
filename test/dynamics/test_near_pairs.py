# SPDX-License-Identifier: Apache-2.0
"""Pairs of geometries that are near each other are listed, and some pairs are left out."""

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.dynamics import collisions as module
from rbdyn_ros.model.geometry.geom_pairs import MOST_PAIRED

ARM = """<robot name="arm">{links}{joints}</robot>"""
LINK = """<link name="l{n}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0"
ixz="0" iyz="0"/></inertial><collision><origin xyz="0 0 0.5"/><geometry><box size="0.2 0.2 0.7"/>
</geometry></collision></link>"""
JOINT = """<joint name="j{n}" type="revolute"><origin xyz="0 0 1"/><axis xyz="0 1 0"/><parent
link="l{n}"/><child link="l{m}"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>"""


def arm_text(count=4):
    links = "".join(LINK.format(n=n) for n in range(count))
    joints = "".join(JOINT.format(n=n, m=n + 1) for n in range(count - 1))
    return ARM.format(links=links, joints=joints)


@pytest.fixture
def arm():
    return rb.load_urdf(arm_text(), contact=True)


def names_of(found):
    return [(one.geom1, one.geom2) for one in found]


def listed(m):
    return {(m.geom_names[g], m.geom_names[h]) for g, h in m.distance_geom}


def test_pairs_are_sorted_by_moving_and_fixed_geometries_and_obstacles(arm):
    assert arm.geom_names == ("l1", "l2", "l3", "l0", "floor")
    assert arm.geom_bodyid.tolist() == [1, 2, 3, 0, 0]
    assert (arm.ngeommoving, arm.ngeomlink, arm.nobstacle, arm.ngeom) == (3, 4, 1, 5)
    assert [arm.frame_names[k] for k in arm.geom_frameid[:4]] == ["l1", "l2", "l3", "l0"]
    assert arm.geom_frameid[4] == -1


def test_pairs_of_parent_and_child_are_left_out_but_not_pairs_with_a_floor(arm):
    assert listed(arm) == {
        ("l1", "l3"), ("l2", "l0"), ("l3", "l0"), ("l1", "floor"), ("l2", "floor"),
        ("l3", "floor"),
    }  # fmt: skip


def test_a_free_body_has_no_parent():
    system = (
        rb.SystemBuilder("s", base="table")
        .body("table")
        .body("cube", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
        .joint("free", "floating", "table", "cube")
        .geometry("top", "table", rb.Box((1.0, 1.0, 0.1)))
        .geometry("cube", "cube", rb.Box((0.1, 0.1, 0.1)))
    )
    assert listed(rb.build(system)) == {("cube", "top")}


def test_a_folded_arm_touches_itself(arm):
    d = rb.make_data(arm)
    assert rb.collisions(arm, d) == []
    d.qpos[:] = 0.0, 3.0, 3.0
    assert ("l1", "l3") in names_of(rb.collisions(arm, d))
    assert d.ncon == 0  # there are no contact forces between links


def test_a_margin_lists_near_pairs_with_their_distances(arm):
    d = rb.make_data(arm)
    found = rb.collisions(arm, d, margin=1.35)
    by_names = {names: one.distance for names, one in zip(names_of(found), found, strict=True)}
    assert by_names == pytest.approx(
        {("l1", "l3"): 1.3, ("l1", "floor"): 1.15, ("l2", "l0"): 1.3}, abs=1e-12
    )
    for one in found:
        alone = rb.distance(arm, d, one.geom1, one.geom2)
        assert alone.distance == one.distance
        assert np.array_equal(alone.point1, one.point1)
        assert np.array_equal(alone.normal, one.normal)
    assert set(names_of(rb.collisions(arm, d, margin=np.inf))) == listed(arm)


def test_calls_do_not_depend_on_earlier_calls(arm):
    """A Data stores directions and orders to save time, which changes no bit of the result."""
    rng, used = np.random.default_rng(1), rb.make_data(arm)
    for _ in range(30):
        used.qpos[:] = rng.uniform(-3.0, 3.0, 3)
        margin = rng.choice([0.0, 0.1, 1.0])
        fresh = rb.make_data(arm)
        fresh.qpos = used.qpos
        one, two = rb.collisions(arm, used, margin), rb.collisions(arm, fresh, margin)
        assert names_of(one) == names_of(two)
        for a, b in zip(one, two, strict=True):
            assert (a.distance, a.point1.tobytes()) == (b.distance, b.point1.tobytes())


def test_the_sweep_finds_all_near_pairs():
    """80 balls are placed at random over a floor.

    Their centres and radii determine which pairs are near.
    """
    built = rb.SystemBuilder("balls", base="world").floor()
    rng = np.random.default_rng(4)
    radius = rng.uniform(0.01, 0.2, 80)
    for n, r in enumerate(radius):
        built.body(f"b{n}", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
        built.joint(f"j{n}", "floating", "world", f"b{n}").geometry(f"b{n}", f"b{n}", rb.Sphere(r))
    m = rb.build(built)
    d = rb.make_data(m)
    first, second = np.triu_indices(80, 1)
    for margin in (0.0, 0.05):
        centre = rng.uniform(-1.0, 1.0, (80, 3))
        d.qpos.reshape(80, 7)[:, :3] = centre
        apart = np.linalg.norm(centre[first] - centre[second], axis=1) - radius[first]
        near = apart - radius[second] <= margin
        expected = list(zip(first[near], second[near], strict=True))
        expected += [(n, 80) for n in np.flatnonzero(centre[:, 2] - radius <= margin)]
        found = [tuple(map(m.geom_numbers.get, pair)) for pair in
                 names_of(rb.collisions(m, d, margin))]  # fmt: skip
        assert found == sorted(expected)


def test_pairs_that_overlap_at_the_start_are_left_out_and_named():
    """This holds for links of one robot, but not for two free bodies that start in one place."""
    crowded = rb.load_urdf(arm_text().replace("0.2 0.2 0.7", "0.2 0.2 2.5"), contact=True)
    d = rb.make_data(crowded)
    with pytest.warns(RuntimeWarning, match="l1 and l3"):
        assert rb.collisions(crowded, d) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the warning appears only once
        assert rb.collisions(crowded, d) == []
    assert names_of(rb.start_overlaps(crowded)) == [("l1", "l3"), ("l2", "l0")]
    two = rb.SystemBuilder("two", base="world")
    for name in ("a", "b"):
        two.body(name, rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
        two.joint(f"j{name}", "floating", "world", name).geometry(name, name, rb.Sphere(0.1))
    m = rb.build(two)
    assert names_of(rb.collisions(m, rb.make_data(m))) == [("a", "b")]


@pytest.mark.parametrize("pair", [("l1", "l3"), ("l3", "l1")])
def test_excluded_pairs_are_not_listed(pair):
    m = rb.load_urdf(arm_text(), contact=rb.Contact(exclude=(pair, ("floor", "l3"))))
    assert listed(m) == {("l2", "l0"), ("l3", "l0"), ("l1", "floor"), ("l2", "floor")}


@pytest.mark.parametrize(
    ("exclude", "code"),
    [
        ((("l1", "l9"),), "unknown-geometry"),
        ("l1", "wrong-kind"),
        ((("l1", "l2", "l3"),), "wrong-kind"),
        (((1, "l2"),), "wrong-kind"),
    ],
)
def test_bad_exclusions_are_refused(exclude, code):
    error = rb.DescriptionError if code == "unknown-geometry" else rb.ParameterError
    with refused(error, code):
        rb.load_urdf(arm_text(), contact=rb.Contact(exclude=exclude))


def test_a_name_in_an_srdf_means_a_link_not_a_geometry_or_an_obstacle():
    """A geometry of l0 and an obstacle are also called l4, but their pairs with l2 are kept."""
    text = arm_text(5).replace("<collision>", '<collision name="l4">', 1)
    ball = rb.Obstacle("l4", rb.Sphere(0.1), rb.Pose((5.0, 0.0, 0.0)))
    srdf = '<robot name="arm"><disable_collisions link1="l2" link2="l4"/></robot>'
    m = rb.load_urdf(text, contact=rb.Contact(obstacles=(ball,)), srdf=srdf)
    names = [m.frame_names[n] if n >= 0 else "ball" for n in m.geom_frameid.tolist()]
    pairs = {frozenset((names[g], names[h])) for g, h in m.distance_geom.tolist()}
    assert frozenset(("l2", "l4")) not in pairs
    assert {frozenset(("l2", "l0")), frozenset(("l2", "ball"))} <= pairs


def test_a_name_that_two_parts_have_cannot_be_excluded():
    text = arm_text(5).replace("<collision>", '<collision name="l4">', 1)
    for contact in (rb.Contact(exclude=(("l2", "l4"),)), rb.Contact((), exclude=(("l4", "l2"),))):
        with refused(rb.DescriptionError, "ambiguous-name", found="l4") as caught:
            rb.load_urdf(text, contact=contact)
        assert "a link and a geometry of link 'l0'" in str(caught.value)


def test_obstacles_named_like_a_link_get_a_number():
    ball = rb.Obstacle("l1", rb.Sphere(0.1), rb.Pose((5.0, 0.0, 0.0)))
    m = rb.load_urdf(arm_text(), contact=rb.Contact(obstacles=(ball,)))
    assert m.geom_names[-1] == "l1_1"
    assert rb.distance(m, rb.make_data(m), "l1", "l1_1").distance > 4.0


def test_bad_queries_are_refused(arm):
    d = rb.make_data(arm)
    with refused(rb.ModelError, "unknown-geometry", "l9"):
        rb.distance(arm, d, "l9", "l1")
    with refused(rb.ModelError, "unknown-geometry"):
        rb.distance(arm, d, True, "l1")
    with refused(rb.ParameterError, "same-geometry"):
        rb.distance(arm, d, "l1", 0)
    with refused(rb.ModelError, "data-of-other-model"):
        rb.collisions(arm.replaced(), d)
    for margin in (-1.0, np.nan, "far", [0.0, 1.0]):
        with refused(rb.ParameterError, "bad-argument", "margin"):
            rb.collisions(arm, d, margin)
    bare = rb.load_urdf(arm_text())
    for call in (rb.collisions, lambda m, d: rb.distance(m, d, 0, 1)):
        with refused(rb.ModelError, "no-geometries"):
            call(bare, rb.make_data(bare))
        d.qpos[1] = np.nan
        with refused(rb.ParameterError, "qpos", "d.qpos"):
            call(arm, d)
        d.qpos[1] = 1e200  # a position far away, but finite
        call(arm, d)
    with refused(rb.ModelError, "no-geometries"):
        rb.start_overlaps(bare)
    slopes = tuple(rb.Obstacle(name, rb.Plane()) for name in ("floor", "slope"))
    two = rb.load_urdf(arm_text(), contact=rb.Contact(obstacles=slopes))
    with refused(rb.ParameterError, "two-planes"):
        rb.distance(two, rb.make_data(two), "floor", "slope")


def test_listing_the_pairs_of_a_thousand_geometries_is_refused():
    built = rb.SystemBuilder("many", base="world")
    built.body("b", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0)).joint("j", "floating", "world", "b")
    for n in range(MOST_PAIRED + 1):
        built.geometry(f"g{n}", "b", rb.Sphere(0.1), origin=rb.Pose((n, 0.0, 0.0)))
    m = rb.build(built)
    d = rb.make_data(m)
    with refused(rb.ModelError, "too-many-geometries"):
        rb.collisions(m, d)
    assert rb.distance(m, d, 0, MOST_PAIRED).distance == pytest.approx(MOST_PAIRED - 0.2)


def test_collision_code_is_compiled_only_on_request(arm):
    """Steps compute no collisions, and a new Data has no memory for them."""
    d = rb.make_data(arm)
    rb.step(arm, d, 3)
    assert "near" not in vars(d)
    assert not any("collision" in stage or "near" in stage for stage in arm.needed_stages)


def test_distance_queries_do_not_change_the_dynamics(arm):
    one, two = rb.make_data(arm), rb.make_data(arm)
    one.qpos[:] = two.qpos[:] = 0.3, 0.5, -0.2
    for _ in range(20):
        rb.collisions(arm, two, 0.1)
        rb.step(arm, one)
        rb.step(arm, two)
    assert one.buffer.tobytes() == two.buffer.tobytes()


def test_a_saved_model_gives_the_same_near_pairs(arm, tmp_path):
    rb.save(arm, tmp_path / "arm.npz")
    again = rb.load(tmp_path / "arm.npz")
    d, e = rb.make_data(arm), rb.make_data(again)
    d.qpos[:] = e.qpos[:] = 0.1, 2.9, 2.8
    one, two = rb.collisions(arm, d, 0.5), rb.collisions(again, e, 0.5)
    assert names_of(one) == names_of(two)
    assert [a.distance for a in one] == [b.distance for b in two]


#: All robots are tested if there are at least this many poses for each.
MANY = 10

FEW = ("panda.urdf", "go2.urdf", "icub.urdf", "talos_full_v2_box.urdf")


@robots.each_robot
def test_self_contacts_of_robots_match_coal(path, request):
    """`--poses N` tests all robots with N / 100 poses each; by default only a few are tested.

    If coal does not converge, it returns no distance or no unit normal, and the pair is skipped.
    """
    poses = request.config.getoption("--poses") // 100
    if path.name not in FEW and poses < MANY:
        pytest.skip(f"this robot needs --poses {100 * MANY} or more")
    pytest.importorskip("coal", reason="coal comes with pin")
    from support.coal_twin import CoalTwin

    m = rb.load_urdf(path, contact=rb.Contact(obstacles=()), strict=False)
    if m.ngeom == 0:
        pytest.skip("the robot has no collision geometry")
    d, rng, twin = rb.make_data(m), np.random.default_rng(3), CoalTwin(m)
    skipped = set(names_of(rb.start_overlaps(m)))
    for _ in range(poses):
        d.qpos[:] = rb.random_qpos(m, rng)
        found = set(names_of(module.collisions(m, d)))
        for pair, (dist, normal) in twin.distances(d).items():
            gave_up = not abs(np.linalg.norm(normal) - 1.0) < 1e-9
            if pair not in skipped and abs(dist) > 1e-6 and not gave_up:
                assert (pair in found) == (dist < 0.0), (pair, dist)


def test_distances_far_from_the_origin_are_equally_exact():
    """Distances use relative poses, so at 1 km only the positions themselves lose digits."""
    built = rb.SystemBuilder("far", base="world")
    for name in ("a", "b"):
        built.body(name, rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
        built.joint(f"j{name}", "floating", "world", name)
        built.geometry(name, name, rb.Box((0.2, 0.3, 0.1)))
    m = rb.build(built)
    d = rb.make_data(m)
    turn = Rotation.from_euler("xyz", [0.2, 0.4, 0.6]).as_quat()[[3, 0, 1, 2]]
    d.qpos[7:14] = 0.15, 0.1, 0.05, *turn
    near = rb.distance(m, d, "a", "b").distance
    d.qpos[[0, 7]] += 1000.0
    assert rb.distance(m, d, "a", "b").distance == pytest.approx(near, abs=1e-12)
