# SPDX-License-Identifier: Apache-2.0
"""A loop is cut at a joint without properties if it has one, and through a link otherwise."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.parts.geometries import Box, Geometry
from rbdyn_ros.description.parts.poses import Pose, pose
from rbdyn_ros.description.parts.servos import Servo, ServoTerm
from rbdyn_ros.description.parts.types import (
    Description,
    Gear,
    GearTerm,
    Inertial,
    Joint,
    Limit,
    Link,
    Mimic,
    Trajectory,
)
from rbdyn_ros.errors import DescriptionError

HEAVY = Inertial(1.0, Pose((0.1, 0.2, 0.3)), (1.0, 2.0, 2.5, 0.1, 0.2, 0.3))
ENDS = {"A": "ga", "B": "ab", "C": "bc", "D": "cg"}
WAVE = Trajectory((0.0, 1.0), (0.0, 1.0))
ORDERS = list(itertools.permutations("ABCD"))
TURN = (0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


def ring(order="ABCD", loops="", inertial=HEAVY, **properties):
    """Return four links in a ring; joints in `loops` close it; `properties` are for each joint."""
    links = (Link("g"), *(Link(name, inertial) for name in "abc"))
    joints = (
        Joint(name, "revolute", *ENDS[name], closes_loop=name in loops, **properties.get(name, {}))
        for name in order
    )
    return Description("ring", links, tuple(joints), base="g")


def loops_of(checked):
    return [joint.name for joint in checked.joints if joint.closes_loop]


def cuts(checked):
    return [finding for finding in checked.findings if finding.code == "loop-cut"]


@pytest.mark.parametrize("order", ORDERS, ids="".join)
def test_the_joint_without_properties_closes_the_loop_in_every_order(order):
    damped = {"damping": 1.0}
    checked = check(ring(order, A=damped, B=damped, D=damped))
    assert loops_of(checked) == ["C"]
    (note,) = cuts(checked)
    assert (note.severity, note.element, note.found) == ("note", "joint 'C'", "C")
    assert checked.links == ring().links


@pytest.mark.parametrize(
    "properties",
    [
        {"limit": Limit(-1.0, 1.0)},
        {"limit": Limit(effort=3.0)},
        {"damping": 1.0},
        {"friction": 1.0},
        {"stiffness": 1.0},
        {"armature": 1.0},
        {"motion": WAVE},
        {"mimic": Mimic("A")},
        {"transmission": (TURN,)},
        {"actuated": True},
        {"start": (0.1,)},
    ],
    ids=lambda properties: next(iter(properties)),
)
@pytest.mark.parametrize("loops", ["", "C"])
def test_each_property_keeps_a_joint_in_the_tree(properties, loops):
    plain = {"actuated": False}
    given = ring(loops=loops, A=plain, B=plain, C=plain | properties, D=plain)
    weak = {"actuated", "start"} & set(properties)
    assert ("C" in loops_of(check(given))) == bool(weak and loops)


def test_joints_named_by_mimics_gears_or_servos_stay_in_the_tree():
    given = ring(loops="C", A={"mimic": Mimic("C")}, B={"damping": 1.0})
    assert loops_of(check(given)) == ["D"]
    gear = Gear("gear", (GearTerm("C"), GearTerm("A")))
    assert loops_of(check(replace(ring(loops="C"), constraints=(gear,)))) == ["B"]
    servo = Servo("servo", (ServoTerm("C"),))
    assert loops_of(check(replace(ring(loops="C"), servos=(servo,)))) == ["B"]


def test_a_loop_joint_without_properties_keeps_closing_the_loop():
    damped = {"damping": 1.0}
    checked = check(ring(loops="B", A=damped))
    assert (loops_of(checked), cuts(checked)) == (["B"], [])


def test_a_constraint_cannot_have_the_name_of_a_joint_that_closes_a_loop():
    damped, gear = {"damping": 1.0}, Gear("C", (GearTerm("A"), GearTerm("B")))
    given = replace(ring(A=damped, B=damped, D=damped), constraints=(gear,))
    with refused(DescriptionError, "duplicate-name", "constraint 'C'"):
        check(given)


def limited(order="ABCD", **changes):
    bounds = {"limit": Limit(-2.0, 2.0)}
    return replace(ring(order, **dict.fromkeys("ABCD", bounds)), **changes)


@pytest.mark.parametrize("order", ORDERS, ids="".join)
def test_a_loop_of_joints_with_properties_is_cut_through_a_link(order):
    checked = check(limited(order))
    (note,) = cuts(checked)
    name, half = note.found.removesuffix("_half"), note.found
    links = {link.name: link.inertial for link in checked.links}
    assert (
        links[name]
        == links[half]
        == replace(HEAVY, mass=0.5, inertia=(0.5, 1.0, 1.25, 0.05, 0.1, 0.15))
    )
    weld = checked.joints[-1]
    assert (weld.name, weld.type, weld.parent, weld.child) == (
        f"{half}_weld", "fixed", name, half
    )  # fmt: skip
    assert loops_of(checked) == [weld.name]
    assert {joint.name: joint.limit for joint in checked.joints[:-1]} == dict.fromkeys(
        order, Limit(-2.0, 2.0)
    )


def test_a_checked_description_is_not_cut_again():
    checked = check(limited())
    assert check(checked) == checked


def test_the_names_of_new_links_are_not_in_use():
    given = limited()
    (note,) = cuts(check(given))
    taken = replace(given, links=(*given.links, Link(note.found)))
    extra = Joint(f"{note.found}_weld", "revolute", "g", note.found, damping=1.0)
    (other,) = cuts(check(replace(taken, joints=(*given.joints, extra))))
    assert other.found == f"{note.found}_"


def test_the_link_with_inertia_is_cut():
    given = limited()
    for name in "abc":
        links = [Link(link.name, HEAVY if link.name == name else None) for link in given.links]
        (note,) = cuts(check(replace(given, links=tuple(links))))
        assert note.found == f"{name}_half"
    flat = Inertial(1.0, inertia=(0.0, 0.0, 1.0, 0.0, 0.0, 0.0))
    links = [Link(link.name, HEAVY if link.name == "a" else flat) for link in given.links]
    (note,) = cuts(check(replace(given, links=tuple(links))))
    assert note.found == "a_half"


def test_the_halves_of_a_cut_body_of_several_links_add_up_to_the_body():
    given, turned = limited(), pose((0.3, 0.1, -0.2), (0.4, 0.5, 0.6))
    links = [Link(link.name, HEAVY if link.name == "b" else None) for link in given.links]
    parts = (*links, Link("tip", HEAVY), Link("rear", HEAVY))
    fixed = (
        Joint("f", "fixed", "b", "tip", turned, child_origin=pose((0, 0.2, 0), (0, 0, 1.0))),
        Joint("h", "fixed", "rear", "b", pose((0.1, 0, 0), (1.0, 0, 0))),
    )
    whole = replace(given, links=parts, joints=(*given.joints, *fixed))
    checked = check(whole)
    (note,) = cuts(checked)
    assert note.found == "b_half"
    hung = (Joint("hang", "revolute", "g", "b"), *fixed)
    one = rb.build(replace(whole, links=(*(p for p in parts if p.name not in "ac"),), joints=hung))
    welded = Joint("w", "fixed", "b", "b_half")
    kept = tuple(link for link in checked.links if link.name not in "ac")
    other = rb.build(replace(whole, links=kept, joints=(*hung, welded)))
    for name in ("body_mass", "body_ipos", "body_fullinertia"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=1e-14)


def test_links_that_a_moved_joint_connected_may_overlap():
    shapes = tuple(Geometry(f"{name}_box", name, Box((1, 1, 1))) for name in "gabc")
    checked = check(limited(geometries=shapes))
    (note,) = cuts(checked)
    moved = next(j for j in checked.joints if note.found in (j.parent, j.child) and j.limit)
    cut = note.found.removesuffix("_half")
    far = moved.child if moved.parent == note.found else moved.parent
    assert [(pair.first, pair.second) for pair in checked.exclusions] == [(far, cut)]


def test_every_loop_of_a_net_is_cut():
    """The net is two squares with a common side; one has a joint without properties."""
    given = limited()
    bounds = {"limit": Limit(-2.0, 2.0)}
    more = (Link("d", HEAVY), Link("e", HEAVY))
    joints = (
        Joint("E", "revolute", "b", "d", **bounds),
        Joint("F", "revolute", "d", "e"),
        Joint("G", "revolute", "e", "c", **bounds),
    )
    checked = check(replace(given, links=(*given.links, *more), joints=(*given.joints, *joints)))
    assert len(cuts(checked)) == 2
    assert "F" in loops_of(checked)
    assert len(loops_of(checked)) == 2


def test_a_loop_in_the_graph_of_an_sdf_is_cut(tmp_path):
    """All joints have limits, and a link has two parents."""
    limit = "<axis><xyz>0 1 0</xyz><limit><lower>-2</lower><upper>2</upper></limit></axis>"
    joints = (
        f'<joint name="{name}" type="revolute"><parent>{ends[0]}</parent><child>{ends[1]}</child>'
        f"{limit}</joint>"
        for name, ends in (ENDS | {"D": "gc"}).items()
    )
    links = (f'<link name="{name}"/>' for name in "gabc")
    world = '<joint name="w" type="fixed"><parent>world</parent><child>g</child></joint>'
    path = tmp_path / "ring.sdf"
    parts = "".join((*links, world, *joints))
    path.write_text(f'<sdf version="1.9"><model name="ring">{parts}</model></sdf>')
    m = rb.load(path)
    (note,) = cuts(m)
    assert m.loop_names == (f"{note.found}_weld",)
    assert m.jnt_range.tolist() == [[-2.0, 2.0]] * 4
