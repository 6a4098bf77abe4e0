# SPDX-License-Identifier: Apache-2.0
"""Valid constraints between bodies are accepted, and invalid constraints are refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.refusals import refused

from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.parts.types import (
    Description,
    Gear,
    GearTerm,
    Joint,
    Length,
    Link,
    Roll,
)
from rbdyn_ros.errors import DescriptionError

NAN = math.nan
ORIGIN = (0.0, 0.0, 0.0)
LINKS = tuple(Link(name) for name in ("base", "a", "b", "c", "tip"))
JOINTS = (
    Joint("ja", "revolute", "base", "a"),
    Joint("jb", "cylindrical", "a", "b"),
    Joint("jc", "spherical", "base", "c"),
    Joint("glue", "fixed", "a", "tip"),
    Joint("chord", "revolute", "b", "c", closes_loop=True),
)
ROD = Length("rod", ("a", "b"), (ORIGIN, (1.0, 0.0, 0.0)), 0.5)
BAND = Length("band", ("base", "a", "b"), (ORIGIN,) * 3, 2.0, closed=True)
GEAR = Gear("gear", (GearTerm("ja", 2.0), GearTerm("jb", -1.0, 1)), 0.5)
ROLL = Roll("roll", "c", "base", 0.1, axis=(0.0, 1.0, 0.0))


def system(*constraints):
    return Description("r", LINKS, JOINTS, "built", base="base", constraints=constraints)


def test_valid_constraints_are_unchanged():
    given = system(ROD, BAND, GEAR, ROLL, replace(ROLL, name="ball", axis=None))
    assert check(given) == given
    assert given.findings == ()


def test_lists_and_arrays_are_accepted():
    said = Length("rod", ["a", "b"], np.array([[0, 0, 0], [1, 0, 0]]), 0.5)
    assert said == ROD
    assert Gear("gear", list(GEAR.terms), 0.5) == GEAR
    rolls = Roll("roll", "c", "base", 0.1, axis=[0, 1, 0], centre=np.zeros(3), normal=[0, 0, 1])
    assert rolls == ROLL
    assert check(replace(system(), constraints=[ROD])).constraints == (ROD,)


def test_directions_become_unit_vectors():
    checked = check(system(replace(ROLL, axis=(0.0, 2.0, 0.0), normal=(0.0, 3.0, 4.0))))
    assert checked.constraints == (replace(ROLL, normal=(0.0, 0.6, 0.8)),)
    found = [(finding.code, finding.element, finding.found) for finding in checked.findings]
    assert found == [("axis-normalised", "constraint 'roll'", length) for length in "25"]
    assert check(checked) == checked


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        (
            {"links": ("a", "bb")},
            ("unknown-link", "constraint 'rod'"),
        ),
        ({"links": ("a",)}, ("bad-points", "constraint 'rod'")),
        (
            {"links": ("a",), "points": (ORIGIN,)},
            ("bad-points", "constraint 'rod'"),
        ),
        ({"links": (), "points": ()}, ("bad-points", "constraint 'rod'")),
        ({"closed": True}, ("bad-points", "constraint 'rod'")),
        (
            {"links": ("a", "a")},
            ("one-body", "constraint 'rod'"),
        ),
        (
            {"links": ("a", "tip")},
            ("one-body", "constraint 'rod'"),
        ),
        (
            {"links": ("a", "b", "tip"), "points": (ORIGIN,) * 3, "closed": True},
            ("one-body", "constraint 'rod'"),
        ),
        (
            {"points": (ORIGIN, (0.0, NAN, 0.0))},
            ("not-finite", "constraint 'rod'"),
        ),
        ({"points": (ORIGIN, 5)}, ("not-finite", "constraint 'rod'")),
        ({"points": (ORIGIN, (10**400, 0, 0))}, ("not-finite", "constraint 'rod'")),
        ({"length": NAN}, ("not-finite", "constraint 'rod'")),
        ({"length": "1"}, ("not-finite", "constraint 'rod'")),
        ({"length": 0.0}, ("non-positive-length", "constraint 'rod'")),
        ({"length": -2.0}, ("non-positive-length", "constraint 'rod'")),
        ({"name": " "}, ("missing-name", "constraint ' '")),
        ({"name": "chord"}, ("duplicate-name", "constraint 'chord'")),
    ],
)
def test_bad_lengths_are_refused(changes, refusal):
    with refused(DescriptionError, *refusal):
        check(system(replace(ROD, **changes)))


def test_an_open_band_may_end_at_the_body_where_it_begins():
    check(system(replace(BAND, links=("a", "b", "a"), closed=False)))


def terms(*given):
    return replace(GEAR, terms=tuple(GearTerm(*term) for term in given))


@pytest.mark.parametrize(
    ("gear", "refusal"),
    [
        (terms(), ("bad-terms", "constraint 'gear'")),
        (terms(("ja",)), ("bad-terms", "constraint 'gear'")),
        (terms(("ja",), ("glu",)), ("unknown-joint", "constraint 'gear'")),
        (terms(("ja",), ("glue",)), ("bad-terms", "constraint 'gear'")),
        (
            terms(("ja",), ("jc",)),
            ("bad-terms", "constraint 'gear'"),
        ),
        (
            terms(("ja", 1.0, 1), ("jb",)),
            ("bad-terms", "constraint 'gear'"),
        ),
        (
            terms(("ja",), ("jb", 1.0, -1)),
            ("bad-terms", "constraint 'gear'"),
        ),
        (terms(("ja",), ("jb", NAN)), ("not-finite", "constraint 'gear'")),
        (terms(("ja",), ("jb", 0.0)), ("zero-factor", "constraint 'gear'")),
        (
            terms(("ja",), ("jb",), ("ja", 2.0)),
            ("bad-terms", "constraint 'gear'"),
        ),
        (replace(GEAR, offset=math.inf), ("not-finite", "constraint 'gear'")),
    ],
)
def test_bad_gears_are_refused(gear, refusal):
    with refused(DescriptionError, *refusal):
        check(system(gear))


def test_two_coordinates_of_one_joint_can_be_geared():
    check(system(terms(("jb", 1.0, 0), ("jb", 2.0, 1))))


def test_a_gear_of_a_bad_joint_is_not_reported_again():
    broken = replace(JOINTS[0], damping=NAN)
    with refused(DescriptionError, "not-finite", "joint 'ja'"):
        check(replace(system(GEAR), joints=(broken, *JOINTS[1:])))


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"link": "cc"}, ("unknown-link", "constraint 'roll'")),
        ({"on": "bse"}, ("unknown-link", "constraint 'roll'")),
        ({"on": "c"}, ("one-body", "constraint 'roll'")),
        (
            {"link": "a", "on": "tip"},
            ("one-body", "constraint 'roll'"),
        ),
        ({"radius": 0.0}, ("non-positive-radius", "constraint 'roll'")),
        ({"radius": math.inf}, ("not-finite", "constraint 'roll'")),
        ({"centre": (0, NAN, 0)}, ("not-finite", "constraint 'roll'")),
        ({"point": 5}, ("not-finite", "constraint 'roll'")),
        ({"axis": (0, 0, 0)}, ("zero-axis", "constraint 'roll'")),
        ({"axis": "z"}, ("not-finite", "constraint 'roll'")),
        ({"normal": (0, 0, 0)}, ("zero-axis", "constraint 'roll'")),
        ({"normal": None}, ("not-finite", "constraint 'roll'")),
    ],
)
def test_bad_rolling_contacts_are_refused(changes, refusal):
    with refused(DescriptionError, *refusal):
        check(system(replace(ROLL, **changes)))


def test_all_errors_are_reported_at_once():
    gear = replace(terms(("ja", 0.0), ("glue", NAN), ("ja",)), offset=NAN)
    roll = replace(ROLL, link="x", radius=-1.0, axis=(0, 0, 0))
    codes = ["not-finite", "zero-factor", "not-finite", "bad-terms", "bad-terms"]
    codes += ["unknown-link", "non-positive-radius", "zero-axis"]
    with refused(DescriptionError, codes) as caught:
        check(system(gear, roll))
    elements = [finding.element for finding in caught.value.findings]
    assert elements == ["constraint 'gear'"] * 5 + ["constraint 'roll'"] * 3


def test_names_are_unique_among_constraints():
    with refused(DescriptionError, "duplicate-name", "constraint 'rod'"):
        check(system(ROD, replace(GEAR, name="rod")))
    with refused(DescriptionError, "duplicate-name", "constraint 'rod'", line=5):
        check(system(replace(ROD, line=3), replace(GEAR, name="rod", line=5)))
    # a joint of the tree may have the name of a constraint
    check(system(replace(GEAR, name="ja")))


def test_a_fixed_joint_can_close_a_loop_between_two_bodies():
    weld = Joint("weld", "fixed", "b", "c", closes_loop=True)
    given = replace(system(), joints=(*JOINTS[:4], weld))
    assert check(given) == given
    within = replace(weld, parent="a", child="tip")
    with refused(DescriptionError, "one-body", "joint 'weld'"):
        check(replace(given, joints=(*JOINTS[:4], within)))
