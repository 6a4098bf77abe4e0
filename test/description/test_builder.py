# SPDX-License-Identifier: Apache-2.0
"""Systems can be built in Python, part by part."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.build import shapes
from rbdyn_ros.description.build.builder import SystemBuilder
from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.parts.poses import pose
from rbdyn_ros.description.parts.types import (
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


def test_the_description_has_all_links_and_joints_of_the_builder():
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


def test_the_builder_sets_every_property_of_a_joint():
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


def test_the_builder_adds_couplings_and_drives():
    wave = Trajectory([0, 1, 2], [[0], [1], [0]], periodic=True)
    builder = crank_slider().couple("J2", "J3", 2.0, -1.0).drive("J1", wave)
    first, second = builder.description().joints[:2]
    assert first.motion == wave
    assert second.mimic == Mimic("J3", 2.0, -1.0)
    assert builder.drive("J3", "my_motion").description().joints[2].motion == "my_motion"


def test_the_builder_adds_constraints():
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
    assert m.graph.N_L == 3  # the weld closes a loop, so its bodies are not merged


def test_the_builder_adds_actuators():
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


def test_a_builder_can_be_extended_after_its_description_is_made():
    builder = crank_slider()
    before = builder.description()
    after = builder.body("hand").joint("J5", "fixed", "rod", "hand").description()
    assert builder.description() == after
    assert (len(before.links), len(after.links)) == (4, 5)
    assert replace(after, links=after.links[:4], joints=after.joints[:4]) == before


def test_all_errors_are_reported_at_once():
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
    expected = {
        "coupling of 'J22'": "unknown-joint",
        "drive of 'J9'": "unknown-joint",
        "drive of 'J1'": "duplicate",
        "link 'rod'": "duplicate-name",
        "joint 'J5'": "unknown-parameter",
        "joint 'J2'": "mimic-unknown",
        "joint 'J5' ": "unknown-link",
        "spring 's'": "unknown-link",
    }
    with refused(DescriptionError, list(expected.values())) as caught:
        builder.description()
    found = [finding.element for finding in caught.value.findings]
    assert found == [element.strip() for element in expected]
    assert "(did you mean 'J2'?)" in caught.value.findings[0].message


def test_a_second_motion_of_a_joint_is_refused():
    builder = SystemBuilder("s").body("a").joint("j", "revolute", "base", "a", motion="f")
    assert builder.description().joints[0].motion == "f"
    with refused(DescriptionError, "duplicate", "drive of 'j'"):
        builder.drive("j", "g").description()


def base():
    return SystemBuilder("s")


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        (lambda: SystemBuilder(""), ("bad-argument", "")),
        (lambda: SystemBuilder("s", base=3), ("bad-argument", "")),
        (lambda: base().body(None), ("bad-argument", "")),
        (
            lambda: base().body("a", 3.0),
            ("bad-argument", ""),
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", xyz=(1, 2)),
            ("bad-argument", ""),
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", xyz=(1, 2, 3), origin=pose()),
            ("bad-argument", ""),
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", origin=(1, 2, 3)),
            ("bad-argument", ""),
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", axis="z"),
            ("bad-argument", ""),
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", damping=math.nan),
            ("bad-argument", ""),
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", limit=(1, 2, 3)),
            ("bad-argument", ""),
        ),
        (
            lambda: base().joint("j", "universal", "base", "a", limits=3),
            ("bad-argument", ""),
        ),
        (
            lambda: base().joint("j", "revolute", "base", ""),
            ("bad-argument", ""),
        ),
        (
            lambda: base().loop("j", "revolute", "base", "a", X_S=1),
            ("bad-argument", ""),
        ),
        (
            lambda: base().couple("j", "k", ratio="2"),
            ("bad-argument", ""),
        ),
        (
            lambda: base().drive("j", 3),
            ("bad-argument", ""),
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", transmission=3),
            ("bad-argument", ""),
        ),
        (
            lambda: base().joint("j", "revolute", "base", "a", transmission=[(1, 2)]),
            ("bad-argument", ""),
        ),
        (
            lambda: base().rod("", "a", "b", 1.0),
            ("bad-argument", ""),
        ),
        (
            lambda: base().rod("r", "a", "b", "1"),
            ("bad-argument", ""),
        ),
        (
            lambda: base().rod("r", "a", "b", 1.0, (0, 0, 0), 5),
            ("bad-argument", ""),
        ),
        (
            lambda: base().band("r", {"a": (0, 0, 0)}, 1.0),
            ("bad-argument", ""),
        ),
        (
            lambda: base().band("r", ["a", "b"], 1.0),
            ("bad-argument", ""),
        ),
        (
            lambda: base().band("r", [("a", 5)], 1.0),
            ("bad-argument", ""),
        ),
        (
            lambda: base().band("r", [], 1.0, closed=1),
            ("bad-argument", ""),
        ),
        (
            lambda: base().band("r", [], 1.0, radius=-1.0),
            ("bad-argument", ""),
        ),
        (
            lambda: base().band("r", [], 1.0, closed=False, radius=1.0),
            ("bad-argument", ""),
        ),
        (
            lambda: base().band("r", [], 3.0, radius=0.5),
            ("bad-argument", ""),
        ),
        (
            lambda: base().gear("g", 3),
            ("bad-argument", ""),
        ),
        (
            lambda: base().gear("g", "jk"),
            ("bad-argument", ""),
        ),
        (
            lambda: base().gear("g", {"j": None}),
            ("bad-argument", ""),
        ),
        (
            lambda: base().gear("g", [("j", 0.0, 1.0)]),
            ("bad-argument", ""),
        ),
        (
            lambda: base().gear("g", [("j", True, 1.0)]),
            ("bad-argument", ""),
        ),
        (
            lambda: base().roll("r", "a", "b", 1.0, axis=5),
            ("bad-argument", ""),
        ),
        (
            lambda: base().weld("w", "a", "b", (1, 0, 0)),
            ("bad-argument", ""),
        ),
        (
            lambda: base().spring("s", "a", "b", point1=1),
            ("bad-argument", ""),
        ),
    ],
)
def test_bad_arguments_are_refused(call, refusal):
    with refused(ParameterError, *refusal):
        call()
