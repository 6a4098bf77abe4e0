# SPDX-License-Identifier: Apache-2.0
"""Paths on which an arm would touch itself are refused."""

import numpy as np
import pytest
from support import robots
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.control.collisions.collision_kernels import RESOLUTION
from rbdyn_ros.control.collisions.self_collision import SelfCollision
from rbdyn_ros.control.motion.handover import approach_to
from rbdyn_ros.control.motion.paths import Path
from rbdyn_ros.errors import RbdynError

LIMITS = 'lower="-3" upper="3" effort="9" velocity="9"'
LINK = """<link name="l{n}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0"
ixz="0" iyz="0"/></inertial><collision><origin xyz="0 0 0.5"/><geometry><capsule radius="0.05"
length="0.7"/></geometry></collision></link>"""
JOINT = """<joint name="j{n}" type="{kind}"><origin xyz="0 0 1"/><axis xyz="{axis}"/><parent
link="l{n}"/><child link="l{m}"/><limit {limits}/></joint>"""


def arm(kinds=("revolute",) * 3, limits=LIMITS, obstacles=()):
    """Return a chain of links of 1 m that folds in a plane; prismatic joints move along x."""
    count = len(kinds)
    parts = [LINK.format(n=n) for n in range(count + 1)]
    parts += [
        JOINT.format(
            n=n, m=n + 1, kind=kind, limits=limits,
            axis="1 0 0" if kind == "prismatic" else "0 1 0",
        )
        for n, kind in enumerate(kinds)
    ]  # fmt: skip
    text = f'<robot name="arm" version="1.2">{"".join(parts)}</robot>'
    return rb.load_urdf(text, contact=rb.Contact(obstacles))


@pytest.fixture(scope="module")
def m():
    return arm()


def check(m, margin=0.01):
    return SelfCollision(m, np.arange(m.nv), margin)


def line(*points, duration=2.0, order=1):
    times = np.linspace(0.0, duration, len(points))
    rates = np.zeros_like(points)
    return Path(times, points, *([rates] if order == 3 else []), order=order)


def nearest(m, path, steps=4000):
    """Return the smallest distance between two geometries at samples of a path."""
    d, rows, least = rb.make_data(m), np.empty((3, m.nv)), np.inf
    for t in np.linspace(path.times[0], path.times[-1], steps):
        d.qpos[:] = path.sample(t, rows)[0]
        least = min([least, *(one.distance for one in rb.collisions(m, d, 0.5))])
    return least


FOLDED = (0.0, 2.8, 2.8)


@pytest.mark.parametrize("order", [1, 3])
def test_the_error_about_a_path_into_the_arm_names_the_links(m, order):
    path = line((0.0, 0.0, 0.0), FOLDED, order=order)
    with refused(RbdynError, "self-collision", "l1") as caught:
        check(m).check([path], np.zeros(3))
    assert "'l3'" in str(caught.value)
    check(m).check([line((0.0, 0.0, 0.0), (0.0, 1.2, 1.2), order=order)], np.zeros(3))


def test_a_collision_between_waypoints_that_are_free_is_found(m):
    """In 1 ms the last link sweeps through the first link; both waypoints are free."""
    ends = [(0.0, 2.6, 1.0), (0.0, 2.6, 1.85)]
    d = rb.make_data(m)
    for end in ends:
        d.qpos[:] = end
        assert rb.collisions(m, d, 0.02) == []
    path = line(*ends, duration=1e-3)
    assert nearest(m, path) < 0.0
    with refused(RbdynError, "self-collision"):
        check(m).check([path], np.zeros(3))


def rightly_accepted(m, checker, path, margin):
    """Return whether a path is accepted, and assert that samples of the path agree."""
    least = nearest(m, path, 400)
    try:
        checker.check([path], np.zeros(3))
    except RbdynError:
        assert least < margin + 0.05  # the arm moves by up to 0.05 m between two samples
        return False
    assert least > margin - RESOLUTION
    return True


def test_no_accepted_path_comes_nearer_than_the_margin_and_no_free_path_is_refused(m):
    rng, margin = np.random.default_rng(5), 0.03
    checker, verdicts = check(m, margin), []
    for _ in range(25):
        points = rng.uniform(-2.9, 2.9, (3, 3)) * (0.3, 1.0, 1.0)
        points[0] = rng.uniform(-0.5, 0.5, 3)
        path = Path([0.0, 0.7, 1.1], points, np.zeros((3, 3)))
        verdicts.append(rightly_accepted(m, checker, path, margin))
    assert 3 < sum(verdicts) < 22


def test_a_path_with_a_distance_below_the_margin_is_refused(m):
    """Two links pass each other at about 4 cm."""
    path = line((0.0, 2.2, 0.0), (0.0, 2.2, 1.6))
    least = nearest(m, path)
    assert 0.0 < least < 0.5
    check(m, least - 2 * RESOLUTION).check([path], np.zeros(3))
    with refused(RbdynError, "self-collision"):
        check(m, least + 2 * RESOLUTION).check([path], np.zeros(3))


def test_links_that_are_too_near_may_move_apart_but_not_nearer(m):
    near = np.array([0.0, 2.1, 2.1])
    d = rb.make_data(m)
    d.qpos[:] = near
    dist = min(one.distance for one in rb.collisions(m, d, 0.5))
    checker = check(m, margin=dist + 0.02)
    checker.check([line(near, near)], near)
    checker.check([line(near, (0.0, 1.0, 1.0))], near)
    checker.check([line(near, (0.5, 2.1, 2.1))], near)  # here another joint moves
    with refused(RbdynError, "self-collision"):
        checker.check([line(near, (0.0, 2.11, 2.11))], near)


def test_many_small_steps_are_checked_like_one_long_step(m):
    """The motion to each target of a stream starts at the previous target."""
    checker, at = check(m), np.zeros(3)
    refusals = 0
    for step in np.linspace(0.0, 1.0, 200)[1:]:
        goal = step * np.array(FOLDED)
        late = Path([0.02], goal[None])
        rows = np.zeros((3, 3))
        rows[0] = at
        try:
            checker.check([approach_to(late, rows), late], at)
            at = goal
        except RbdynError:
            refusals += 1
    d = rb.make_data(m)
    d.qpos[:] = at
    assert refusals > 5
    assert min(one.distance for one in rb.collisions(m, d, 0.5)) > 0.01 - RESOLUTION


def test_joints_that_the_path_does_not_move_stay_where_they_are(m):
    partial = SelfCollision(m, np.array([1]), 0.01)
    path = Path([0.0, 1.0], np.array([[0.0], [2.8]]))
    partial.check([path], np.zeros(3))
    with refused(RbdynError, "self-collision"):
        partial.check([path], np.array([0.0, 0.0, 2.8]))


def test_a_collision_of_a_thin_link_and_a_thin_sheet_is_found_at_the_smallest_margin():
    """The link and the sheet are a tenth as thick as a step of the check."""
    system = (
        rb.SystemBuilder("arm", base="world")
        .body("a", rb.shapes.box((0.1, 0.1, 1.0), mass=1.0))
        .joint("j", "revolute", "world", "a", axis=(0, 0, 1))
        .geometry("g", "a", rb.Box((0.02, 1e-4, 0.02)), origin=rb.pose((1.0, 0.0, 0.0)))
    )
    place = rb.pose((np.cos(1.0), np.sin(1.0), 0.0), (0.0, 0.0, 1.0))
    thin = rb.build(system.obstacle("sheet", rb.Box((0.2, 1e-4, 0.2)), origin=place))
    checker = SelfCollision(thin, np.arange(1), RESOLUTION, world=True)
    for start in np.linspace(-0.5, -0.48, 20):
        with refused(RbdynError, "scene-collision"):
            checker.check([line((start,), (2.0,))], np.array([start]))
    for margin in (0.0, 0.9 * RESOLUTION, np.nan):
        with refused(rb.ParameterError, "self-collision", "margin"):
            SelfCollision(thin, np.arange(1), margin, world=True)


@pytest.mark.parametrize(
    "limits", ['lower="-2" upper="2"', 'lower="-0.1" upper="0.1"'], ids=["wide", "narrow"]
)
def test_a_mimic_slide_reaches_as_far_as_its_leader_pushes_it(limits):
    """With its leader at 1 m the ball is 3 m out, and a rotation sweeps it through a post."""
    ball = '<collision><geometry><sphere radius="0.02"/></geometry></collision>'
    inertia = """<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
    iyz="0"/></inertial>"""
    links = "".join(f'<link name="{n}">{inertia}{ball if n == "c" else ""}</link>' for n in "oabc")
    rows = (("o", "a", "revolute", "-3", "3", ""), ("a", "b", "prismatic", "-1", "1", ""),
            ("b", "c", "prismatic", "", "", '<mimic joint="b" multiplier="2"/>'))  # fmt: skip
    joints = "".join(
        f'<joint name="{child}" type="{kind}"><axis xyz="{"0 0 1" if child == "a" else "1 0 0"}"/>'
        f'<parent link="{parent}"/><child link="{child}"/>{mimic}<limit '
        + (limits if mimic else f'lower="{low}" upper="{high}"')
        + ' effort="9" velocity="9"/></joint>'
        for parent, child, kind, low, high, mimic in rows
    )
    text = f'<robot name="slide" version="1.2">{links}{joints}</robot>'
    for angle in np.linspace(-0.3, 0.3, 7):
        place = rb.Pose((3.0 * np.cos(angle), 3.0 * np.sin(angle), 0.0))
        post = rb.Obstacle("post", rb.Sphere(0.05), place)
        m = rb.load_urdf(text, contact=rb.Contact(obstacles=(post,)))
        world = SelfCollision(m, np.arange(2), 0.01, links=False, world=True)
        with refused(RbdynError, "scene-collision", "c"):
            world.check([line((-1.0, 1.0), (1.0, 1.0))], np.array([-1.0, 1.0]))


def test_slides_are_checked_along_their_whole_stroke():
    """A slide moves its link through another link; both ends of the motion are free."""
    m = arm(("prismatic", "revolute", "prismatic"), LIMITS)
    path = line((-2.0, 3.0, 0.0), (2.0, 3.0, 0.0), duration=1e-2)
    assert nearest(m, path) < 0.0
    with refused(RbdynError, "self-collision"):
        check(m).check([path], np.zeros(3))
    check(m).check([line((-2.0, 3.0, 0.0), (-1.0, 3.0, 0.0))], np.zeros(3))


@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_floating_and_planar_joints_are_refused(kind):
    system = (
        rb.SystemBuilder("s", base="world")
        .body("a", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
        .joint("j", kind, "world", "a")
        .geometry("a", "a", rb.Sphere(0.1))
    )
    with refused(rb.ParameterError, "self-collision", "j"):
        SelfCollision(rb.build(system), np.arange(3), 0.01)


def test_a_slide_without_limits_is_refused():
    built = (
        rb.SystemBuilder("s", base="world")
        .body("a", rb.shapes.box((0.1, 0.1, 0.1), mass=1.0))
        .joint("j", "prismatic", "world", "a")
        .geometry("a", "a", rb.Sphere(0.1))
    )
    with refused(rb.ParameterError, "self-collision", "j"):
        SelfCollision(rb.build(built), np.arange(1), 0.01)


def test_a_path_that_takes_too_long_to_check_is_refused(m):
    """Distances exceed the margin by less than 1 mm all along, so the check has steps of 1 mm."""
    points = np.tile([(0.0, 2.1, 2.1), (0.4, 2.1, 2.1)], (200, 1))
    path = Path(np.arange(400.0), points)
    margin = nearest(m, path, 9) - 0.5 * RESOLUTION
    with refused(RbdynError, "self-collision") as caught:
        check(m, margin).check([path], np.zeros(3))
    assert "too long" in str(caught.value)


WALL = rb.Obstacle("wall", rb.Box((0.1, 4.0, 4.0)), rb.pose((1.5, 0.0, 2.0)))


def in_room(*obstacles, margin=0.01, links=True):
    m = arm(obstacles=obstacles or (rb.Obstacle("floor", rb.Plane()), WALL))
    return m, SelfCollision(m, np.arange(m.nv), margin, links=links, world=True)


@pytest.mark.parametrize("order", [1, 3])
def test_the_error_about_a_path_into_the_world_names_link_and_obstacle(order):
    m, checker = in_room()
    into_wall = line((0.0, 0.0, 0.0), (1.2, 0.0, 0.0), order=order)
    with refused(RbdynError, "scene-collision", "l3") as caught:
        checker.check([into_wall], np.zeros(3))
    assert "'wall'" in str(caught.value)
    to_the_floor = line((0.0, 0.0, 0.0), (-2.2, 0.0, 0.0), order=order)
    with refused(RbdynError, "scene-collision", "l3") as caught:
        checker.check([to_the_floor], np.zeros(3))
    assert "'floor'" in str(caught.value)
    checker.check([line((0.0, 0.0, 0.0), (0.4, 0.0, 0.0), order=order)], np.zeros(3))
    # without the world it is free
    SelfCollision(m, np.arange(3), 0.01).check([into_wall], np.zeros(3))


def test_a_post_between_two_free_ends_is_found():
    """The arm sweeps through a thin post within a millisecond."""
    post = rb.Obstacle("post", rb.Sphere(0.02), rb.pose((1.0, 0.0, 3.0)))
    m, checker = in_room(post)
    path = line((0.2, 0.0, 0.0), (0.9, 0.0, 0.0), duration=1e-3)
    d = rb.make_data(m)
    for end in path.positions:
        d.qpos[:] = end
        assert rb.collisions(m, d, 0.1) == []
    assert nearest(m, path) < 0.0
    with refused(RbdynError, "scene-collision"):
        checker.check([path], np.zeros(3))


def test_no_accepted_path_comes_nearer_to_the_world_than_the_margin():
    margin, rng, verdicts = 0.03, np.random.default_rng(7), []
    m, checker = in_room(margin=margin)
    for _ in range(25):
        points = rng.uniform(-1.2, 1.2, (3, 3))
        points[0] = rng.uniform(-0.3, 0.3, 3)
        path = Path([0.0, 0.7, 1.1], points, np.zeros((3, 3)))
        verdicts.append(rightly_accepted(m, checker, path, margin))
    assert 3 < sum(verdicts) < 22


def test_a_link_too_near_to_an_obstacle_may_move_away():
    m, checker = in_room(margin=0.1)
    near = np.array([0.5, 0.0, 0.0])
    d = rb.make_data(m)
    d.qpos[:] = near
    assert 0.0 < min(one.distance for one in rb.collisions(m, d, 0.5)) < 0.1
    checker.check([line(near, (0.2, 0.0, 0.0))], near)
    checker.check([line(near, near)], near)
    with refused(RbdynError, "scene-collision"):
        checker.check([line(near, near + 0.01)], near)


def test_a_stream_of_targets_stops_at_the_wall():
    m, checker = in_room()
    at, refusals = np.zeros(3), 0
    for step in np.linspace(0.0, 1.2, 200)[1:]:
        goal = np.array([step, 0.0, 0.0])
        late, rows = Path([0.02], goal[None]), np.zeros((3, 3))
        rows[0] = at
        try:
            checker.check([approach_to(late, rows), late], at)
            at = goal
        except RbdynError:
            refusals += 1
    d = rb.make_data(m)
    d.qpos[:] = at
    assert refusals > 5
    assert 0.01 - RESOLUTION < min(one.distance for one in rb.collisions(m, d, 0.5)) < 0.03


def test_without_the_check_of_links_only_collisions_with_the_world_are_found():
    _, checker = in_room(links=False)
    checker.check([line((0.0, 0.0, 0.0), (0.0, -2.3, -2.3))], np.zeros(3))
    with refused(RbdynError, "scene-collision"):
        checker.check([line((0.0, 0.0, 0.0), (1.2, 0.0, 0.0))], np.zeros(3))


@robots.needs_robots
def test_a_real_arm_moves_freely_in_free_space():
    m = rb.load_urdf(robots.find("ur5_robot.urdf"), contact=rb.Contact(obstacles=()), strict=False)
    checker = check(m)
    start = np.array([0.0, -1.5, 1.5, 0.0, 1.5, 0.0])
    checker.check([line(start, start + 0.4)], start)
    with refused(RbdynError, "self-collision"):
        checker.check([line(start, (0.0, -1.5, 3.1, 0.0, 1.5, 0.0))], start)
