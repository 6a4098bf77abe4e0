"""Systems built in Python, part by part."""

import math
from dataclasses import replace

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.description.build import shapes
from rbdyn_ros.description.build.builder import SystemBuilder
from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.poses import pose
from rbdyn_ros.description.types import (
    Description,
    Gear,
    GearTerm,
    Joint,
    Length,
    Limit,
    Link,
    Mimic,
    Roll,
    Spring,
    Trajectory,
)
from rbdyn_ros.errors import DescriptionError, ParameterError

BALL = shapes.sphere(0.1, mass=1.0)
Z = (0.0, 0.0, 1.0)


def crank_slider():
    return (
        SystemBuilder("crank_slider", base="ground")
        .body("crank", BALL)
        .joint("J1", "revolute", "ground", "crank", axis=Z, damping=0.1)
        .joint("J2", "revolute", "crank", "rod", xyz=(1, 0, 0), axis=Z)
        .body("rod", BALL)
        .joint("J3", "prismatic", "slider", "ground", rpy=(0, 0, 1.0), limit=(-1, 1))
        .body("slider", BALL)
        .loop("J4", "revolute", "rod", "slider", X_P=pose((2, 0, 0)), X_S=pose((0, 1, 0)), axis=Z)
    )


def test_a_joint_that_closes_a_loop_cannot_be_driven():
    with pytest.raises(DescriptionError) as caught:
        crank_slider().drive("J4", "wave").description()
    assert str(caught.value) == (
        "crank_slider: joint 'J4': closes a loop and has no coordinate of its own that could be "
        "driven over time; let another joint close the loop"
    )


def test_what_is_built_is_what_was_said():
    built = crank_slider().description()
    assert built == Description(
        name="crank_slider",
        links=(Link("ground"), *(Link(name, BALL) for name in ("crank", "rod", "slider"))),
        joints=(
            Joint("J1", "revolute", "ground", "crank", axis=Z, damping=0.1),
            Joint("J2", "revolute", "crank", "rod", pose((1, 0, 0)), axis=Z),
            Joint("J3", "prismatic", "slider", "ground", pose(rpy=(0, 0, 1)), limit=Limit(-1, 1)),
            Joint(
                "J4",
                "revolute",
                "rod",
                "slider",
                pose((2, 0, 0)),
                axis=Z,
                child_origin=pose((0, 1, 0)),
                closes_loop=True,
            ),
        ),
        source="crank_slider",
        base="ground",
    )
    assert check(built) == built


def test_every_property_of_a_joint():
    built = (
        SystemBuilder("s")
        .body("base", BALL)
        .body("a")
        .body("b")
        .joint(
            "screw",
            "helical",
            "base",
            "a",
            origin=pose((0, 0, 1)),
            child_origin=pose((0, 0, 2)),
            axis=Z,
            pitch=0.01,
            stiffness=5.0,
            rest=0.2,
            armature=0.3,
            friction=0.4,
            limit=Limit(-1, 1, 2, 3),
        )
        .joint("cross", "universal", "a", "b", axis=Z, axis2=(1, 0, 0), limits=[(-1, 1), Limit()])
        .spring("s", "base", "b", point2=(0, 0, 1), stiffness=10, damping=1, length=0.5)
        .description()
    )
    assert built.links[0] == Link("base", BALL)
    assert built.joints[0] == Joint(
        "screw",
        "helical",
        "base",
        "a",
        pose((0, 0, 1)),
        Z,
        Limit(-1, 1, 2, 3),
        friction=0.4,
        child_origin=pose((0, 0, 2)),
        parameters={"pitch": 0.01},
        stiffness=5.0,
        rest=(0.2,),
        armature=0.3,
    )
    assert built.joints[1].limits == (Limit(-1, 1), Limit())
    assert built.springs == (Spring("s", "base", "b", (0, 0, 0), (0, 0, 1), 10, 1, 0.5),)


def test_couplings_and_drives():
    wave = Trajectory([0, 1, 2], [[0], [1], [0]], periodic=True)
    builder = crank_slider().couple("J2", "J3", 2.0, -1.0).drive("J1", wave)
    first, second = builder.description().joints[:2]
    assert first.motion == wave
    assert second.mimic == Mimic("J3", 2.0, -1.0)
    assert builder.drive("J3", "my_motion").description().joints[2].motion == "my_motion"


def test_constraints():
    zero, x = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)
    built = (
        crank_slider()
        .rod("strut", "ground", "rod", 2.0, point2=x)
        .band("belt", [("ground", zero), ("crank", x), ("rod", zero)], 9.0, radius=0.5)
        .band("rope", [("ground", zero), ["crank", x]], 2, closed=False)
        .gear("pair", {"J1": 2.0, "J3": -1}, 0.5)
        .gear("same", [("J1", 0, 1.0), ("J2", 0, 1.0)])
        .roll("ball", "rod", "ground", 0.1)
        .roll("disk", "rod", "ground", 0.1, centre=x, axis=Z, point=x, normal=(0, 1, 0))
        .description()
    )
    line = 9.0 - math.tau * 0.5
    assert built.constraints == (
        Length("strut", ("ground", "rod"), (zero, x), 2.0),
        Length("belt", ("ground", "crank", "rod"), (zero, x, zero), line, closed=True),
        Length("rope", ("ground", "crank"), (zero, x), 2.0),
        Gear("pair", (GearTerm("J1", 2.0), GearTerm("J3", -1.0)), 0.5),
        Gear("same", (GearTerm("J1"), GearTerm("J2"))),
        Roll("ball", "rod", "ground", 0.1),
        Roll("disk", "rod", "ground", 0.1, x, Z, x, (0.0, 1.0, 0.0)),
    )
    assert check(built) == built


def test_points_and_welds_close_loops():
    at, there = pose((1, 0, 0)), pose((0, 1, 0))
    builder = crank_slider()
    for body in ("marker", "flag"):
        builder.body(body, BALL).joint(f"to {body}", "revolute", "ground", body)
    builder.point("p", "rod", "marker", at, there).weld("w", "rod", "flag", X_S=there)
    assert builder.description().joints[-2:] == (
        Joint("p", "spherical", "rod", "marker", at, child_origin=there, closes_loop=True),
        Joint("w", "fixed", "rod", "flag", child_origin=there, closes_loop=True),
    )
    m = rb.build(builder)
    assert m.loop_names[-2:] == ("p", "w")
    assert m.graph.N_L == 3  # the weld is a chord, its bodies are not one


def test_actuators():
    force = (0.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    built = (
        SystemBuilder("s")
        .body("a")
        .body("b")
        .joint("j", "revolute", "base", "a", actuated=False)
        .joint("k", "revolute", "a", "b", transmission=[np.array(force)])
        .description()
    )
    assert [joint.actuated for joint in built.joints] == [False, True]
    assert built.joints[1].transmission == (force,)


def test_a_builder_goes_on():
    builder = crank_slider()
    before = builder.description()
    after = builder.body("hand").joint("J5", "fixed", "rod", "hand").description()
    assert builder.description() == after
    assert (len(before.links), len(after.links)) == (4, 5)
    assert replace(after, links=after.links[:4], joints=after.joints[:4]) == before


def test_everything_wrong_is_told_at_once():
    builder = (
        crank_slider()
        .body("rod")
        .joint("J5", "helical", "rod", "tool", pich=0.1)
        .couple("J22", "J1")
        .couple("J2", "J33")
        .drive("J9", "f")
        .drive("J1", "f")
        .drive("J1", "g")
        .spring("s", "rod", "rood")
    )
    with pytest.raises(DescriptionError) as caught:
        builder.description()
    assert str(caught.value) == (
        "crank_slider: 8 errors\n"
        "  coupling of 'J22': there is no such joint (did you mean 'J2'?)\n"
        "  drive of 'J9': there is no such joint\n"
        "  drive of 'J1': is given more than once\n"
        "  link 'rod': the name is given to more than one link; names must be unique\n"
        "  joint 'J5': the parameter 'pich' is unknown (did you mean 'pitch'?); "
        "a helical joint takes pitch\n"
        "  joint 'J2': follows the joint 'J33', which does not exist (did you mean 'J3'?)\n"
        "  joint 'J5': its child link 'tool' does not exist\n"
        "  spring 's': the link 'rood' does not exist (did you mean 'rod'?)"
    )


def test_a_motion_is_given_once():
    builder = SystemBuilder("s").body("a").joint("j", "revolute", "base", "a", motion="f")
    assert builder.description().joints[0].motion == "f"
    with pytest.raises(DescriptionError, match="drive of 'j': is given more than once"):
        builder.drive("j", "g").description()


def base():
    return SystemBuilder("s")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: SystemBuilder(""), "the name of the system is ''; allowed is a name"),
        (lambda: SystemBuilder("s", base=3), "the name of the base is 3; allowed is a name"),
        (lambda: base().body(None), "the name of a body is None; allowed is a name"),
        (
            lambda: base().body("a", 3.0),
            "the inertial of 'a' is 3.0; allowed is an Inertial or None",
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", xyz=(1, 2)),
            "xyz is (1, 2); allowed is 3 finite numbers",
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", xyz=(1, 2, 3), origin=pose()),
            None,
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", origin=(1, 2, 3)),
            "the origin of joint 'j' is (1, 2, 3); allowed is a Pose",
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", axis="z"),
            "the axis of joint 'j' is 'z'; allowed is 3 finite numbers",
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", damping=math.nan),
            "the damping of joint 'j' is nan; allowed is a finite number",
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", limit=(1, 2, 3)),
            "the limit of joint 'j' is (1, 2, 3); allowed is a Limit or a pair (lower, upper)",
        ),
        (
            lambda: base().joint("j", "universal", "base", "a", limits=3),
            (
                "the limits of joint 'j' is 3; "
                "allowed is a Limit or a pair (lower, upper) for each coordinate"
            ),
        ),
        (
            lambda: base().joint("j", "revolute", "base", ""),
            "the child of joint 'j' is ''; allowed is a name",
        ),
        (
            lambda: base().loop("j", "revolute", "base", "a", X_S=1),
            "the child origin of joint 'j' is 1; allowed is a Pose",
        ),
        (
            lambda: base().couple("j", "k", ratio="2"),
            "the ratio is '2'; allowed is a finite number",
        ),
        (
            lambda: base().drive("j", 3),
            "the motion is 3; allowed is a Trajectory or the name of a function",
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", transmission=3),
            (
                "the transmission of joint 'j' is 3; "
                "allowed is a spatial force of 6 numbers for each degree of freedom"
            ),
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", transmission=[(1, 2)]),
            "a force of the transmission of joint 'j' is (1, 2); allowed is 6 finite numbers",
        ),
        (
            lambda: base().rod("", "a", "b", 1.0),
            "the name of a rod is ''; allowed is a name",
        ),
        (
            lambda: base().rod("r", "a", "b", "1"),
            "the length is '1'; allowed is a finite number",
        ),
        (
            lambda: base().rod("r", "a", "b", 1.0, (0, 0, 0), 5),
            "point 2 of the rod 'r' is 5; allowed is 3 finite numbers",
        ),
        (
            lambda: base().band("r", {"a": (0, 0, 0)}, 1.0),
            (
                "the points of the band 'r' is {'a': (0, 0, 0)}; "
                "allowed is a sequence of pairs (body, point)"
            ),
        ),
        (
            lambda: base().band("r", ["a", "b"], 1.0),
            "a point of the band 'r' is 'a'; allowed is a pair (body, point)",
        ),
        (
            lambda: base().band("r", [("a", 5)], 1.0),
            "point 1 of the band 'r' is 5; allowed is 3 finite numbers",
        ),
        (
            lambda: base().band("r", [], 1.0, closed=1),
            "closed is 1; allowed is True or False",
        ),
        (
            lambda: base().band("r", [], 1.0, radius=-1.0),
            "the radius is -1.0; allowed is a number that is not negative",
        ),
        (
            lambda: base().band("r", [], 1.0, closed=False, radius=1.0),
            "the radius is 1.0; allowed is 0, for a band with ends does not go round disks",
        ),
        (
            lambda: base().band("r", [], 3.0, radius=0.5),
            "the length is 3.0; allowed is more than once round a disk, 3.14159",
        ),
        (
            lambda: base().gear("g", 3),
            (
                "the terms of the gear 'g' is 3; "
                "allowed is a mapping of joints to factors, or triples (joint, coordinate, factor)"
            ),
        ),
        (
            lambda: base().gear("g", "jk"),
            "a term of the gear 'g' is 'j'; allowed is a triple (joint, coordinate, factor)",
        ),
        (
            lambda: base().gear("g", {"j": None}),
            "a factor of the gear 'g' is None; allowed is a finite number",
        ),
        (
            lambda: base().gear("g", [("j", 0.0, 1.0)]),
            "a coordinate of the gear 'g' is 0.0; allowed is a whole number",
        ),
        (
            lambda: base().gear("g", [("j", True, 1.0)]),
            "a coordinate of the gear 'g' is True; allowed is a whole number",
        ),
        (
            lambda: base().roll("r", "a", "b", 1.0, axis=5),
            "the axis is 5; allowed is 3 finite numbers",
        ),
        (
            lambda: base().weld("w", "a", "b", (1, 0, 0)),
            "the origin of joint 'w' is (1, 0, 0); allowed is a Pose",
        ),
        (
            lambda: base().spring("s", "a", "b", point1=1),
            "point1 is 1; allowed is 3 finite numbers",
        ),
    ],
)
def test_bad_arguments(call, sentence):
    with pytest.raises(ParameterError) as caught:
        call()
    assert sentence is None or str(caught.value) == sentence
