# SPDX-License-Identifier: Apache-2.0
"""Geometries, obstacles and surfaces that are made in Python are checked."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.build.contacts import check_contact
from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.parts.geometries import (
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
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Description, Inertial, Joint, Link
from rbdyn_ros.errors import DescriptionError, ParameterError

BALL = Inertial(1.0, inertia=(0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
LINKS = (Link("base"), Link("hand", BALL))
JOINT = Joint("j", "revolute", "base", "hand")
GEOM = Geometry("palm", "hand", Sphere(0.1), line=3)


def system(*geometries, obstacles=(FLOOR,)):
    return Description(
        "n", LINKS, (JOINT,), base="base", geometries=geometries, obstacles=obstacles
    )


def test_lists_and_arrays_are_accepted():
    box = Box(np.array([1, 2, 3]))
    points = Points([[0, 0, 0], np.ones(3)])
    assert box.size == (1.0, 2.0, 3.0)
    assert points.points == ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    check(system(replace(GEOM, shape=box), replace(GEOM, name="b", shape=points)))


@pytest.mark.parametrize(
    ("shape", "refusal"),
    [
        (Sphere(0.0), ("non-positive-radius", "geometry 'palm'")),
        (Sphere(math.nan), ("not-finite", "geometry 'palm'")),
        (Cylinder(0.1, -1.0), ("non-positive-length", "geometry 'palm'")),
        (Capsule("x", 1.0), ("not-finite", "geometry 'palm'")),
        (Box((1.0, 0.0, 1.0)), ("non-positive-size", "geometry 'palm'")),
        (Box((1.0, 1.0)), ("not-finite", "geometry 'palm'")),
        (Points(()), ("bad-points", "geometry 'palm'")),
        (Points(((0, 0, math.inf),)), ("not-finite", "geometry 'palm'")),
        (Sphere(2e5), ("out-of-range", "geometry 'palm'")),
        (Cylinder(1.0, 2e9), ("out-of-range", "geometry 'palm'")),
        (Box((1.0, 1e300, 1.0)), ("out-of-range", "geometry 'palm'")),
        (
            Points(((0, 0, 0), (0, -1e6, 0))),
            ("out-of-range", "geometry 'palm'"),
        ),
    ],
)
def test_bad_sizes_are_refused(shape, refusal):
    with refused(DescriptionError, *refusal, line=3):
        check(system(replace(GEOM, shape=shape)))


@pytest.mark.parametrize(
    ("surface", "refusal"),
    [
        (Surface(friction=-0.1), ("negative-friction", "contact, surface of 'hand'")),
        (Surface(friction=math.inf), ("not-finite", "contact, surface of 'hand'")),
        (Surface(time_constant=0.0), ("non-positive-time-constant", "contact, surface of 'hand'")),
        (
            Surface(damping_ratio=-1.0),
            ("non-positive-damping-ratio", "contact, surface of 'hand'"),
        ),
        (Surface(friction="a"), ("not-finite", "contact, surface of 'hand'")),
        (Surface(time_constant="1"), ("not-finite", "contact, surface of 'hand'")),
        (Surface(stiffness=-1.0), ("non-positive-stiffness", "contact, surface of 'hand'")),
        (Surface(stiffness=0.0), ("non-positive-stiffness", "contact, surface of 'hand'")),
        (Surface(damping=-1.0), ("negative-damping", "contact, surface of 'hand'")),
        (Surface(damping="x"), ("not-finite", "contact, surface of 'hand'")),
        (Surface(viscosity=-2.0), ("negative-viscosity", "contact, surface of 'hand'")),
        (Surface(viscosity=math.nan), ("not-finite", "contact, surface of 'hand'")),
        (Surface(restitution=-0.1), ("negative-restitution", "contact, surface of 'hand'")),
        (Surface(restitution=1.1), ("large-restitution", "contact, surface of 'hand'")),
        (Surface(restitution="x"), ("not-finite", "contact, surface of 'hand'")),
        (Surface(torsional=-0.1), ("negative-torsional-friction", "contact, surface of 'hand'")),
        (Surface(limit_surface=1), ("wrong-kind", "contact, surface of 'hand'")),
        (Surface(rolling=-0.1), ("negative-rolling-friction", "contact, surface of 'hand'")),
        (Surface(rolling=math.inf), ("not-finite", "contact, surface of 'hand'")),
    ],
)
def test_bad_surfaces_are_refused(surface, refusal):
    codes, _ = refusal
    with refused(DescriptionError, codes, "geometry 'palm'", line=3):
        check(system(replace(GEOM, surface=surface)))
    with refused(ParameterError, codes, "contact"):
        check_contact(Contact(surface=surface))
    with refused(ParameterError, codes, "contact, surface of 'hand'"):
        check_contact(Contact(surfaces={"hand": surface}))


def test_surfaces_without_damping_or_friction_are_allowed():
    slick = Surface(friction=0.0, stiffness=1e4, damping=0.0, viscosity=0.0)
    made = system(replace(GEOM, surface=slick))
    assert check(made).geometries == made.geometries
    assert check_contact(Contact(surface=slick)).surface == slick


def test_lengths_up_to_the_largest_allowed_length_are_accepted():
    far = Pose((1e5, -1e5, 1e5))
    for shape in (Sphere(1e5), Cylinder(1e5, 1e5), Box((1e5, 1e5, 1e5)), Points(((1e5, 0, 0),))):
        check(system(replace(GEOM, shape=shape, origin=far)))


def test_positions_too_far_away_are_refused():
    far = Pose((0.0, 0.0, -2e5))
    made = system(replace(GEOM, origin=far), obstacles=(replace(FLOOR, origin=far),))
    with refused(
        DescriptionError, ["out-of-range", "out-of-range"], "geometry 'palm'", line=3
    ) as caught:
        check(made)
    assert caught.value.findings[1].element == "obstacle 'floor'"


def test_an_unknown_link_and_a_duplicate_name_are_refused():
    codes = ["unknown-link", "duplicate-name"]
    with refused(DescriptionError, codes, "geometry 'palm'", line=3) as caught:
        check(system(replace(GEOM, link="hend"), replace(GEOM, line=5)))
    assert "(did you mean 'hand'?)" in caught.value.findings[0].message
    assert caught.value.findings[1].line == 5


def test_bad_obstacles_are_refused():
    crooked = Obstacle("ramp", Plane(), Pose(quat=(1.0, 1.0, 0.0, 0.0)))
    made = system(obstacles=(FLOOR, FLOOR, crooked, Obstacle("b", Sphere(1.0), friction=math.nan)))
    codes = ["duplicate-name", "bad-quaternion", "bad-friction"]
    with refused(DescriptionError, codes) as caught:
        check(made)
    elements = [finding.element for finding in caught.value.findings]
    assert elements == ["obstacle 'floor'", "obstacle 'ramp'", "obstacle 'b'"]


@pytest.mark.parametrize("contact", [None, 1, "yes", FLOOR, Contact])
def test_the_argument_contact_must_be_a_contact_or_a_bool(contact):
    with refused(ParameterError, "bad-contact"):
        check_contact(contact)


def test_contact_true_means_a_contact_with_a_floor():
    assert check_contact(True) == Contact()
    assert check_contact(np.True_).obstacles == (FLOOR,)
    assert check_contact(False) is None


@pytest.mark.parametrize(
    ("contact", "refusal"),
    [
        (
            Contact(obstacles=FLOOR),
            ("wrong-kind", "contact"),
        ),
        (
            Contact(obstacles=(Plane(),)),
            ("wrong-kind", "contact"),
        ),
        (
            Contact(surfaces={"hand": 0.5}),
            ("wrong-kind", "contact"),
        ),
        (
            Contact(surfaces={5: Surface()}),
            ("wrong-kind", "contact"),
        ),
        (Contact(surface=None), ("wrong-kind", "contact")),
    ],
)
def test_fields_of_a_contact_with_wrong_types_are_refused(contact, refusal):
    with refused(ParameterError, *refusal):
        check_contact(contact)


# the argument `contact` of build


def test_the_surface_of_a_geometry_overrides_that_of_its_link_and_the_default():
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
    assert m.geom_names == ("a", "b", "c", "d", "floor")
    assert m.geom_friction.tolist() == [0.2, 0.3, 0.4, 0.1, np.inf]


def test_a_surface_of_an_unknown_geometry_is_refused():
    with refused(DescriptionError, "unknown-geometry", "contact", found="plam") as caught:
        rb.build(system(GEOM), contact=Contact(surfaces={"plam": Surface()}))
    assert "(did you mean 'palm'?)" in str(caught.value)


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
def test_an_obstacle_of_the_caller_replaces_a_namesake_in_the_file(own, asked, names, heights):
    m = rb.build(system(GEOM, obstacles=own), contact=asked)
    assert m.geom_names[m.ngeomlink :] == names
    assert m.geom_pos[m.ngeomlink :][:, 2].tolist() == heights


# findings


@pytest.mark.parametrize(
    ("geometries", "obstacles", "severity", "code"),
    [
        ((), (), None, None),
        ((GEOM,), (LOW,), "note", "geometries"),
        (
            (GEOM, Geometry("stand", "base", Sphere(1.0))),
            (LOW, Obstacle("b", Sphere(0.5), Pose((0.0, 0.0, -1.0)))),
            "note",
            "geometries",
        ),
        (
            (),
            (FLOOR,),
            "warning",
            "no-geometries",
        ),
        (
            (GEOM,),
            (),
            "note",
            "no-obstacles",
        ),
        (
            (Geometry("stand", "base", Sphere(1.0)),),
            (FLOOR,),
            "warning",
            "no-geometries",
        ),
    ],
)
def test_unusual_geometries_cause_findings(geometries, obstacles, severity, code):
    findings = rb.build(system(*geometries, obstacles=obstacles)).findings
    assert [(f.severity, f.code) for f in findings] == [(severity, code)] * bool(code)
