# SPDX-License-Identifier: Apache-2.0
"""If a field of a Description has a wrong type, the result is a Model or an RbdynError."""

import contextlib
import dataclasses

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.parts.geometries import (
    Box,
    Capsule,
    Contact,
    Cylinder,
    Exclusion,
    Geometry,
    GroupState,
    Obstacle,
    Plane,
    Points,
    Sphere,
    Surface,
)
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import (
    Description,
    Gear,
    GearTerm,
    Inertial,
    Joint,
    Length,
    Limit,
    Link,
    Mimic,
    Roll,
    Spring,
    Trajectory,
)
from rbdyn_ros.errors import DescriptionError, Finding, ParameterError, RbdynError

BALL = Inertial(1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
LINKS = (Link("base"), Link("a", BALL), Link("b", BALL))
J = Joint("j", "revolute", "base", "a")
K = Joint("k", "revolute", "a", "b")
S = Spring("s", "base", "b", stiffness=5.0)
ROD = Length("rod", ("base", "b"), ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)), 1.0)
GEAR = Gear("gear", (GearTerm("j"), GearTerm("k", 2.0)))
ROLL = Roll("roll", "b", "base", 0.1, axis=(1.0, 0.0, 0.0))
GEOM = Geometry("geom", "a", Sphere(0.1))
STEP = Obstacle("step", Box((1.0, 1.0, 0.1)), Pose(), 0.5)
MOTION = Trajectory((0.0, 1.0, 2.0), ((0.0,), (1.0,), (0.0,)))


def system(**parts):
    fields = {"name": "n", "links": LINKS, "joints": (J, K), "base": "base", "springs": (S,),
              "constraints": (ROD, GEAR, ROLL), "geometries": (GEOM,),
              "obstacles": (STEP,)}  # fmt: skip
    return Description(**(fields | parts))


def with_joint(**fields):
    return system(joints=(dataclasses.replace(J, **fields), K))


def with_constraint(part, **fields):
    return system(constraints=(dataclasses.replace(part, **fields),))


def with_inertial(inertial):
    return system(links=(LINKS[0], Link("a", inertial), LINKS[2]))


def with_shape(shape):
    return system(geometries=(dataclasses.replace(GEOM, shape=shape),))


#: For each class: a valid part, and a function that returns a Description with a given part.
PLACES = {
    "Description": (system(), lambda part: part),
    "Link": (LINKS[1], lambda part: system(links=(LINKS[0], part, LINKS[2]))),
    "Inertial": (BALL, with_inertial),
    "Joint": (J, lambda part: system(joints=(part, K))),
    "Spring": (S, lambda part: system(springs=(part,))),
    "Length": (ROD, lambda part: system(constraints=(part,))),
    "Gear": (GEAR, lambda part: system(constraints=(part,))),
    "GearTerm": (
        GearTerm("k", 2.0),
        lambda part: system(constraints=(Gear("g", (GEAR.terms[0], part)),)),
    ),
    "Roll": (ROLL, lambda part: system(constraints=(part,))),
    "Pose": (Pose(), lambda part: with_joint(origin=part, child_origin=part)),
    "Limit": (Limit(), lambda part: with_joint(limit=part)),
    "Mimic": (Mimic("k"), lambda part: with_joint(mimic=part)),
    "Trajectory": (MOTION, lambda part: with_joint(motion=part)),
    "Geometry": (GEOM, lambda part: system(geometries=(part,))),
    "Obstacle": (STEP, lambda part: system(obstacles=(part,))),
    "Sphere": (Sphere(0.1), with_shape),
    "Box": (Box((0.1, 0.2, 0.3)), with_shape),
    "Cylinder": (Cylinder(0.1, 0.2), with_shape),
    "Capsule": (Capsule(0.1, 0.2), with_shape),
    "Points": (Points(((0.0, 0.0, 0.0),)), with_shape),
    "Surface": (
        Surface(),
        lambda part: system(geometries=(dataclasses.replace(GEOM, surface=part),)),
    ),
    "GroupState": (GroupState("folded", {"j": 0.5}), lambda part: system(states=(part,))),
    "Finding": (Finding("c", "m", "note"), lambda part: system(findings=(part,))),
}
NONSENSE = [
    *(None, True, 5, -1.0, 1e308, float("nan"), 10**400, 10**5000, 1 + 2j, "x", "", "\0", b"x"),
    *((), ("a", 0, 0), (1, 2), [[1]], {5: 1}, object(), range(3)),
    *(np.array([1, 0, 0]), np.array(["a"]), np.zeros((2, 2)), (np.zeros(1), 0, 0)),
    *(Limit("a", None), (Limit(),), Mimic(None), Trajectory(None, None), Pose(None, 5)),
]


@pytest.mark.filterwarnings("ignore")  # NumPy warns of 1e308
@pytest.mark.parametrize(
    ("kind", "field"),
    [
        pytest.param(kind, field.name, id=f"{kind}.{field.name}")
        for kind, (part, _) in PLACES.items()
        for field in dataclasses.fields(part)
    ],
)
def test_bad_values_raise_only_errors_of_the_package(kind, field):
    part, place = PLACES[kind]
    for value in NONSENSE:
        with contextlib.suppress(RbdynError):
            rb.build(place(dataclasses.replace(part, **{field: value})))


CONTACTS = {
    "Contact": (Contact(), lambda part: part),
    "Obstacle": (STEP, lambda part: Contact(obstacles=(part,))),
    "Surface": (Surface(), lambda part: Contact(surface=part, surfaces={"a": part})),
}


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        pytest.param(kind, field.name, id=f"{kind}.{field.name}")
        for kind, (part, _) in CONTACTS.items()
        for field in dataclasses.fields(part)
    ],
)
def test_bad_values_of_a_contact_raise_only_errors_of_the_package(kind, field):
    part, place = CONTACTS[kind]
    for value in [*NONSENSE, {"a": 5}, {"b": Surface()}]:
        with contextlib.suppress(RbdynError):
            rb.build(system(), contact=place(dataclasses.replace(part, **{field: value})))


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        (system(name=None), ("wrong-kind", "robot")),
        (system(states=(GroupState("s", {"j": None}),)), ("not-finite", "state 's'")),
        (system(base=b"x"), ("wrong-kind", "robot 'n'")),
        (system(links=None), ("wrong-kind", "robot 'n'")),
        (system(joints="x"), ("wrong-kind", "robot 'n'")),
        (system(springs=(5,)), ("wrong-kind", "robot 'n'")),
        (system(robots="abc"), ("wrong-kind", "robot 'n'")),
        (system(robots=("lost",)), ("bad-robot", "robot 'lost'")),
        (
            system(constraints=(S,)),
            ("wrong-kind", "robot 'n'"),
        ),
        (
            system(geometries=(5,)),
            ("wrong-kind", "robot 'n'"),
        ),
        (
            system(obstacles=(GEOM.shape,)),
            ("wrong-kind", "robot 'n'"),
        ),
        (
            with_shape(Plane()),
            ("wrong-kind", "geometry 'geom'"),
        ),
        (
            with_shape(Points(5)),
            ("wrong-kind", "geometry 'geom'"),
        ),
        (
            with_constraint(ROD, links=5),
            ("wrong-kind", "constraint 'rod'"),
        ),
        (
            with_constraint(ROD, links=("a", ["b"])),
            ("wrong-kind", "constraint 'rod'"),
        ),
        (
            with_constraint(ROD, points=None),
            ("wrong-kind", "constraint 'rod'"),
        ),
        (
            with_constraint(ROD, closed=1),
            ("wrong-kind", "constraint 'rod'"),
        ),
        (
            with_constraint(GEAR, terms=GearTerm("j")),
            ("wrong-kind", "constraint 'gear'"),
        ),
        (
            with_constraint(GEAR, terms=("j", GearTerm("k"))),
            ("wrong-kind", "constraint 'gear'"),
        ),
        (
            with_constraint(GEAR, terms=(GearTerm("j"), GearTerm("k", 1.0, 0.5))),
            ("wrong-kind", "constraint 'gear'"),
        ),
        (with_constraint(ROLL, on=None), ("wrong-kind", "constraint 'roll'")),
        (system(exclusions=(Exclusion("a", "b", links=1),)), ("wrong-kind", "exclusion number 1")),
        (with_constraint(ROLL, name=3), ("wrong-kind", "constraint number 1")),
        (system(joints=(J, Joint(None, "fixed", "a", "b"))), ("wrong-kind", "joint number 2")),
        (with_joint(parent=None), ("wrong-kind", "joint 'j'")),
        (with_joint(mimic=5), ("wrong-kind", "joint 'j'")),
        (with_joint(mimic=Mimic(("k",))), ("wrong-kind", "joint 'j'")),
        (
            with_joint(motion=dataclasses.replace(MOTION, periodic=np.ones(2))),
            ("wrong-kind", "joint 'j'"),
        ),
        (with_joint(closes_loop=1), ("wrong-kind", "joint 'j'")),
        (
            with_joint(rest=5),
            ("wrong-kind", "joint 'j'"),
        ),
        (with_inertial(5), ("wrong-kind", "link 'a'")),
        (with_joint(line="x"), ("wrong-kind", "joint 'j'")),
        (with_joint(axis=None), ("not-finite", "joint 'j'")),
        (with_joint(axis2=5), ("not-finite", "joint 'j'")),
        (with_joint(damping=np.ones(1)), ("not-finite", "joint 'j'")),
        (
            with_joint(origin=Pose(quat=np.zeros((1, 2)))),
            ("not-finite", "joint 'j'"),
        ),
        (
            with_joint(friction=10**5000),
            ("not-finite", "joint 'j'"),
        ),
    ],
)
def test_a_field_of_the_wrong_type_is_refused(given, refusal):
    with refused(DescriptionError, *refusal):
        check(given)


def test_fields_of_a_subclass_are_checked_too():
    class Hinge(Joint):
        pass

    for wrong in ({"rest": 5}, {"closes_loop": 1}):
        hinge = Hinge("j", "revolute", "a", "b", **wrong)
        with refused(DescriptionError, "wrong-kind", "joint 'j'"):
            check(system(joints=(hinge,)))


def test_all_fields_of_the_wrong_type_are_reported():
    given = system(base=3, joints=(dataclasses.replace(J, child=None, closes_loop=None), 7))
    with refused(DescriptionError, ["wrong-kind"] * 5) as caught:
        check(dataclasses.replace(given, source=np.zeros(2)))
    elements = [finding.element for finding in caught.value.findings]
    assert elements == ["robot 'n'"] * 2 + ["joint 'j'"] * 2 + ["robot 'n'"]


def test_a_builder_refuses_wrong_types():
    swing = rb.SystemBuilder("swing").body("arm", BALL)
    swing.joint("j", "revolute", "base", "arm", closes_loop=np.ones(2))
    with refused(DescriptionError, "wrong-kind", "joint 'j'"):
        swing.description()
    with pytest.raises(ParameterError):
        swing.drive("j", 5)


def test_lists_and_numpy_booleans_are_accepted():
    given = system(links=list(LINKS), joints=[dataclasses.replace(J, closes_loop=np.False_), K])
    assert rb.build(given).njnt == 2
