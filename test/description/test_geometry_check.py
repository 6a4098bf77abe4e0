"""Geometries, obstacles and surfaces that were made in Python: what is refused, and how."""

import math
from dataclasses import replace

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.description.build.contacts import check_contact
from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.geometries import (
    FLOOR,
    Box,
    Capsule,
    Contact,
    Cylinder,
    Geometry,
    Obstacle,
    Plane,
    Points,
    Sphere,
    Surface,
)
from rbdyn_ros.description.poses import Pose
from rbdyn_ros.description.types import Description, Inertial, Joint, Link
from rbdyn_ros.errors import DescriptionError, ParameterError

BALL = Inertial(1.0, inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
LINKS = (Link("base"), Link("hand", BALL))
JOINT = Joint("j", "revolute", "base", "hand")
GEOM = Geometry("palm", "hand", Sphere(0.1), line=3)


def system(*geometries, obstacles=(FLOOR,)):
    return Description(
        "n", LINKS, (JOINT,), base="base", geometries=geometries, obstacles=obstacles
    )


def refusal(description):
    with pytest.raises(DescriptionError) as caught:
        check(description)
    return str(caught.value)


def test_lists_and_arrays_are_taken():
    box = Box(np.array([1, 2, 3]))
    points = Points([[0, 0, 0], np.ones(3)])
    assert box.size == (1.0, 2.0, 3.0)
    assert points.points == ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    check(system(replace(GEOM, shape=box), replace(GEOM, name="b", shape=points)))


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        (Sphere(0.0), "the radius is 0; it must be above 0"),
        (Sphere(math.nan), "the radius is nan, not a finite number"),
        (Cylinder(0.1, -1.0), "the length is -1; it must be above 0"),
        (Capsule("x", 1.0), "the radius is 'x', not a finite number"),
        (Box((1.0, 0.0, 1.0)), "the size is 1 0 1; all three must be above 0"),
        (Box((1.0, 1.0)), "the size is (1.0, 1.0), not 3 finite numbers"),
        (Points(()), "has 0 points; allowed are 1 to 10000"),
        (Points(((0, 0, math.inf),)), "the point 1 is (0.0, 0.0, inf), not 3 finite numbers"),
        (Sphere(2e5), "the radius is 200000; allowed is up to 100000 m"),
        (Cylinder(1.0, 2e9), "the length is 2e+09; allowed is up to 100000 m"),
        (Box((1.0, 1e300, 1.0)), "the size is 1 1e+300 1; allowed is up to 100000 m"),
        (
            Points(((0, 0, 0), (0, -1e6, 0))),
            "the point 2 is 0 -1e+06 0; allowed is up to 100000 m",
        ),
    ],
)
def test_sizes(shape, sentence):
    assert (
        refusal(system(replace(GEOM, shape=shape)))
        == f"<text>: line 3: geometry 'palm': {sentence}"
    )


@pytest.mark.parametrize(
    ("surface", "sentence"),
    [
        (Surface(friction=-0.1), "the friction is -0.1; it must not be negative"),
        (Surface(friction=math.inf), "the friction is inf, not a finite number"),
        (Surface(time_constant=0.0), "the time constant is 0; it must be above 0"),
        (Surface(damping_ratio=-1.0), "the damping ratio is -1; it must be above 0"),
        (Surface(friction="a"), "the friction is 'a', not a finite number"),
        (Surface(time_constant="1"), "the time constant is '1', not a finite number"),
        (Surface(stiffness=-1.0), "the stiffness is -1; it must be above 0"),
        (Surface(stiffness=0.0), "the stiffness is 0; it must be above 0"),
        (Surface(damping=-1.0), "the damping is -1; it must not be negative"),
        (Surface(damping="x"), "the damping is 'x', not a finite number"),
        (Surface(viscosity=-2.0), "the viscosity is -2; it must not be negative"),
        (Surface(viscosity=math.nan), "the viscosity is nan, not a finite number"),
    ],
)
def test_surfaces(surface, sentence):
    made = system(replace(GEOM, surface=surface))
    assert refusal(made) == f"<text>: line 3: geometry 'palm': {sentence}"
    with pytest.raises(ParameterError) as caught:
        check_contact(Contact(surface=surface))
    assert str(caught.value) == f"contact: {sentence}"
    with pytest.raises(ParameterError) as caught:
        check_contact(Contact(surfaces={"hand": surface}))
    assert str(caught.value) == f"contact, surface of 'hand': {sentence}"


def test_what_presses_without_damping_and_slides_without_friction():
    slick = Surface(friction=0.0, stiffness=1e4, damping=0.0, viscosity=0.0)
    made = system(replace(GEOM, surface=slick))
    assert check(made).geometries == made.geometries
    assert check_contact(Contact(surface=slick)).surface == slick


def test_lengths_up_to_the_longest_are_taken():
    far = Pose((1e5, -1e5, 1e5))
    for shape in (Sphere(1e5), Cylinder(1e5, 1e5), Box((1e5, 1e5, 1e5)), Points(((1e5, 0, 0),))):
        check(system(replace(GEOM, shape=shape, origin=far)))


def test_places_that_are_too_far():
    far = Pose((0.0, 0.0, -2e5))
    made = system(replace(GEOM, origin=far), obstacles=(replace(FLOOR, origin=far),))
    told = "the position of the origin is 0 0 -200000; allowed is up to 100000 m"
    assert refusal(made) == (
        f"<text>: 2 errors\n  line 3: geometry 'palm': {told}\n  obstacle 'floor': {told}"
    )


def test_names_and_links():
    assert refusal(system(replace(GEOM, link="hend"), replace(GEOM, line=5))) == (
        "<text>: 2 errors\n"
        "  line 3: geometry 'palm': the link 'hend' does not exist (did you mean 'hand'?)\n"
        "  line 5: geometry 'palm': the name is given to more than one geometry, on lines 3 and "
        "5; names must be unique"
    )


def test_obstacles():
    crooked = Obstacle("ramp", Plane(), Pose(quat=(1.0, 1.0, 0.0, 0.0)))
    made = system(obstacles=(FLOOR, FLOOR, crooked, Obstacle("b", Sphere(1.0), friction=math.nan)))
    assert refusal(made) == (
        "<text>: 3 errors\n"
        "  obstacle 'floor': the name is given to more than one obstacle; names must be unique\n"
        "  obstacle 'ramp': the quaternion of the origin has length 1.41421; it must be 1\n"
        "  obstacle 'b': the friction is nan, not a number"
    )


@pytest.mark.parametrize("contact", [None, 1, "yes", FLOOR, Contact])
def test_what_is_no_contact(contact):
    with pytest.raises(ParameterError, match=r"contact is .*; allowed is True, False or a Contac"):
        check_contact(contact)


def test_true_is_a_contact_with_a_floor():
    assert check_contact(True) == Contact()
    assert check_contact(np.True_).obstacles == (FLOOR,)
    assert check_contact(False) is None


@pytest.mark.parametrize(
    ("contact", "sentence"),
    [
        (
            Contact(obstacles=FLOOR),
            "contact: obstacles is Obstacle(name='floor', shape=Plane(), origin=Pose(",
        ),
        (
            Contact(obstacles=(Plane(),)),
            "contact: number 1 of its obstacles is Plane(); allowed is an Obstacle",
        ),
        (
            Contact(surfaces={"hand": 0.5}),
            "contact: the surface of 'hand' is 0.5; allowed is a Surface",
        ),
        (
            Contact(surfaces={5: Surface()}),
            "contact: a name in its surfaces is 5; allowed is a te",
        ),
        (Contact(surface=None), "contact: surface is None; allowed is a Surface"),
    ],
)
def test_kinds_of_a_contact(contact, sentence):
    with pytest.raises(ParameterError) as caught:
        check_contact(contact)
    assert str(caught.value).startswith(sentence)


# the argument `contact` of build


def test_surfaces_go_by_geometry_then_by_link_then_to_all_without_one():
    own, of_link, of_geom, of_all = (Surface(friction=k / 10) for k in (1, 2, 3, 4))
    links = (*LINKS, Link("foot", BALL))
    described = Description(
        "n",
        links,
        (JOINT, Joint("k", "revolute", "base", "foot")),
        base="base",
        geometries=(
            Geometry("a", "hand", Sphere(0.1)),
            Geometry("b", "hand", Sphere(0.1), surface=own),
            Geometry("c", "foot", Sphere(0.1)),
            Geometry("d", "foot", Sphere(0.1), surface=own),
        ),
    )
    contact = Contact(surface=of_all, surfaces={"hand": of_link, "b": of_geom})
    m = rb.build(described, contact=contact)
    assert m.geom_names == ("a", "b", "c", "d")
    assert m.geom_friction.tolist() == [0.2, 0.3, 0.4, 0.1]
    assert m.obstacle_names == ("floor",)


def test_a_surface_of_nothing():
    with pytest.raises(DescriptionError) as caught:
        rb.build(system(GEOM), contact=Contact(surfaces={"plam": Surface()}))
    assert str(caught.value) == (
        "<text>: contact: there is no geometry, and no link with one, of the name 'plam' "
        "(did you mean 'palm'?)"
    )


LOW = replace(FLOOR, origin=Pose((0.0, 0.0, -1.0)))
WALL = Obstacle("wall", Box((1.0, 1.0, 1.0)))
BALL_OF_STONE = Obstacle("ball", Sphere(1.0))


@pytest.mark.parametrize(
    ("own", "asked", "names", "heights"),
    [
        ((), True, ("floor",), [0.0]),
        ((LOW,), True, ("floor",), [-1.0]),
        ((WALL,), True, ("wall",), [0.0]),
        ((WALL,), Contact(obstacles=()), ("wall",), [0.0]),
        ((LOW,), Contact(obstacles=(WALL,)), ("floor", "wall"), [-1.0, 0.0]),
        (
            (LOW, BALL_OF_STONE),
            Contact(obstacles=(WALL, FLOOR)),
            ("floor", "ball", "wall"),
            [0] * 3,
        ),
        ((FLOOR, WALL), Contact(obstacles=(LOW,)), ("floor", "wall"), [-1.0, 0.0]),
    ],
)
def test_obstacles_of_the_system_stay_but_for_those_the_caller_names(own, asked, names, heights):
    m = rb.build(system(GEOM, obstacles=own), contact=asked)
    assert m.obstacle_names == names
    assert m.obstacle_pos[:, 2].tolist() == heights


# what is worth a word


@pytest.mark.parametrize(
    ("geometries", "obstacles", "severity", "sentence"),
    [
        ((), (), None, None),
        ((GEOM,), (LOW,), "note", "1 geometry can touch the obstacle 'floor'"),
        (
            (GEOM, Geometry("stand", "base", Sphere(1.0))),
            (LOW, Obstacle("b", Sphere(0.5), Pose((0.0, 0.0, -1.0)))),
            "note",
            (
                "1 geometry can touch 2 obstacles; 1 more are left out, on links that are fixed "
                "to the world"
            ),
        ),
        (
            (),
            (FLOOR,),
            "warning",
            "there are obstacles, but no link has a geometry: nothing touches them",
        ),
        (
            (GEOM,),
            (),
            "warning",
            "of 1 geometry none touches anything: there is no obstacle; add a floor",
        ),
        (
            (Geometry("stand", "base", Sphere(1.0)),),
            (FLOOR,),
            "warning",
            "of 1 geometry none touches anything: their links are fixed to the world",
        ),
    ],
)
def test_findings(geometries, obstacles, severity, sentence):
    findings = rb.build(system(*geometries, obstacles=obstacles)).findings
    assert [(f.severity, f.message) for f in findings] == [(severity, sentence)] * bool(sentence)


@pytest.mark.parametrize(
    ("shape", "obstacles", "warned"),
    [
        ("mesh", (FLOOR, WALL), True),
        ("mesh", (BALL_OF_STONE, WALL), True),
        ("mesh", (FLOOR,), False),
        ("box", (FLOOR, WALL), False),
    ],
)
def test_corners_alone_touch_what_is_small(shape, obstacles, warned):
    """Once, though there are two meshes and perhaps two obstacles."""
    solid = Points(((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)))
    one = replace(GEOM, shape=solid if shape == "mesh" else Box((1.0, 1.0, 1.0)))
    made = system(one, replace(one, name="back"), obstacles=obstacles)
    findings = rb.build(made).findings
    told = [(f.severity, f.message) for f in findings if f.code == "corners-only"]
    sentence = (
        "meshes touch boxes and spheres with their corners only: what is smaller than a facet "
        "slips between them"
    )
    assert told == [("warning", sentence)] * warned
