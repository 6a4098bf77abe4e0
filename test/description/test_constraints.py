"""What holds between bodies beside their joints: what is taken, and what each mistake is told."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.types import (
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


def refused(*constraints):
    with pytest.raises(DescriptionError) as caught:
        check(system(*constraints))
    return str(caught.value).removeprefix("built: ")


def test_good_ones_are_taken_as_they_are():
    given = system(ROD, BAND, GEAR, ROLL, replace(ROLL, name="ball", axis=None))
    assert check(given) == given
    assert given.findings == ()


def test_lists_and_arrays_are_taken():
    said = Length("rod", ["a", "b"], np.array([[0, 0, 0], [1, 0, 0]]), 0.5)
    assert said == ROD
    assert Gear("gear", list(GEAR.terms), 0.5) == GEAR
    rolls = Roll("roll", "c", "base", 0.1, axis=[0, 1, 0], centre=np.zeros(3), normal=[0, 0, 1])
    assert rolls == ROLL
    assert check(replace(system(), constraints=[ROD])).constraints == (ROD,)


def test_directions_become_unit_vectors():
    checked = check(system(replace(ROLL, axis=(0.0, 2.0, 0.0), normal=(0.0, 3.0, 4.0))))
    assert checked.constraints == (replace(ROLL, normal=(0.0, 0.6, 0.8)),)
    assert [finding.message for finding in checked.findings] == [
        "constraint 'roll': the axis has length 2 and was normalised",
        "constraint 'roll': the normal has length 5 and was normalised",
    ]
    assert check(checked) == checked


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"links": ("a", "bb")},
            "the link 'bb' does not exist (did you mean 'b'?)",
        ),
        ({"links": ("a",)}, "has 1 links and 2 points; it needs one point a link"),
        (
            {"links": ("a",), "points": (ORIGIN,)},
            "has 1 point; a line that is open needs 2 at least",
        ),
        ({"links": (), "points": ()}, "has 0 points; a line that is open needs 2 at least"),
        ({"closed": True}, "has 2 points; a line that is closed needs 3 at least"),
        (
            {"links": ("a", "a")},
            "points 1 and 2 are both on the link 'a'; their distance cannot change",
        ),
        (
            {"links": ("a", "tip")},
            (
                "points 1 and 2 are on the links 'a' and 'tip', which are one rigid body; "
                "their distance cannot change"
            ),
        ),
        (
            {"links": ("a", "b", "tip"), "points": (ORIGIN,) * 3, "closed": True},
            (
                "points 3 and 1 are on the links 'tip' and 'a', which are one rigid body; "
                "their distance cannot change"
            ),
        ),
        (
            {"points": (ORIGIN, (0.0, NAN, 0.0))},
            "the point 2 is (0.0, nan, 0.0), not 3 finite numbers",
        ),
        ({"points": (ORIGIN, 5)}, "the point 2 is 5, not 3 finite numbers"),
        ({"points": (ORIGIN, (10**400, 0, 0))}, None),
        ({"length": NAN}, "the length is nan, not a finite number"),
        ({"length": "1"}, "the length is '1', not a finite number"),
        ({"length": 0.0}, "the length is 0; it must be above 0"),
        ({"length": -2.0}, "the length is -2; it must be above 0"),
        ({"name": " "}, "the name ' ' is empty or holds a NUL character"),
        ({"name": "chord"}, "a joint that closes a loop has the same name; names must be unique"),
    ],
)
def test_lengths_refused(changes, sentence):
    told = refused(replace(ROD, **changes))
    if sentence is not None:
        assert told == f"constraint '{changes.get('name', 'rod')}': {sentence}"


def test_an_open_line_may_come_back_to_its_first_body():
    check(system(replace(BAND, links=("a", "b", "a"), closed=False)))


def terms(*given):
    return replace(GEAR, terms=tuple(GearTerm(*term) for term in given))


@pytest.mark.parametrize(
    ("gear", "sentence"),
    [
        (terms(), "has 0 terms; a gear needs 2 at least"),
        (terms(("ja",)), "has 1 term; a gear needs 2 at least"),
        (terms(("ja",), ("glu",)), "there is no joint 'glu' (did you mean 'glue'?)"),
        (
            terms(("ja",), ("chord",)),
            "the joint 'chord' closes a loop and has no coordinate of its own",
        ),
        (terms(("ja",), ("glue",)), "the joint 'glue' is fixed and does not move"),
        (
            terms(("ja",), ("jc",)),
            "the joint 'jc' is spherical and has no coordinates that add up",
        ),
        (
            terms(("ja", 1.0, 1), ("jb",)),
            "the joint 'ja' has no coordinate 1; it has one, number 0",
        ),
        (
            terms(("ja",), ("jb", 1.0, -1)),
            "the joint 'jb' has no coordinate -1; it has 2, numbered 0 to 1",
        ),
        (terms(("ja",), ("jb", NAN)), "the factor of 'jb' is nan, not a finite number"),
        (terms(("ja",), ("jb", 0.0)), "the factor of 'jb' is 0; it must not be zero"),
        (
            terms(("ja",), ("jb",), ("ja", 2.0)),
            ("coordinate 0 of the joint 'ja' stands in more than one term; add up their factors"),
        ),
        (replace(GEAR, offset=math.inf), "the offset is inf, not a finite number"),
    ],
)
def test_gears_refused(gear, sentence):
    assert refused(gear) == f"constraint 'gear': {sentence}"


def test_two_coordinates_of_one_joint_can_be_geared():
    check(system(terms(("jb", 1.0, 0), ("jb", 2.0, 1))))


def test_a_gear_of_a_joint_that_could_not_be_read_is_not_blamed():
    broken = replace(JOINTS[0], damping=NAN)
    with pytest.raises(DescriptionError) as caught:
        check(replace(system(GEAR), joints=(broken, *JOINTS[1:])))
    assert str(caught.value) == "built: joint 'ja': the damping is nan, not a finite number"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"link": "cc"}, "the link 'cc' does not exist (did you mean 'c'?)"),
        ({"on": "bse"}, "the link 'bse' does not exist (did you mean 'base'?)"),
        ({"on": "c"}, "the link 'c' cannot roll on itself"),
        (
            {"link": "a", "on": "tip"},
            "the links 'a' and 'tip' are one rigid body, so it could not roll",
        ),
        ({"radius": 0.0}, "the radius is 0; it must be above 0"),
        ({"radius": math.inf}, "the radius is inf, not a finite number"),
        ({"centre": (0, NAN, 0)}, "the centre is (0, nan, 0), not 3 finite numbers"),
        ({"point": 5}, "the point is 5, not 3 finite numbers"),
        ({"axis": (0, 0, 0)}, "the axis is zero; a disk needs a direction"),
        ({"axis": "z"}, "the axis is 'z', not 3 finite numbers"),
        ({"normal": (0, 0, 0)}, "the normal is zero; a plane needs a direction"),
        ({"normal": None}, "the normal is None, not 3 finite numbers"),
    ],
)
def test_rolls_refused(changes, sentence):
    assert refused(replace(ROLL, **changes)) == f"constraint 'roll': {sentence}"


def test_everything_wrong_is_told_at_once():
    gear = replace(terms(("ja", 0.0), ("glue", NAN), ("ja",)), offset=NAN)
    assert refused(gear, replace(ROLL, link="x", radius=-1.0, axis=(0, 0, 0))) == (
        "8 errors\n"
        "  constraint 'gear': the offset is nan, not a finite number\n"
        "  constraint 'gear': the factor of 'ja' is 0; it must not be zero\n"
        "  constraint 'gear': the factor of 'glue' is nan, not a finite number\n"
        "  constraint 'gear': the joint 'glue' is fixed and does not move\n"
        "  constraint 'gear': coordinate 0 of the joint 'ja' stands in more than one term; "
        "add up their factors\n"
        "  constraint 'roll': the link 'x' does not exist\n"
        "  constraint 'roll': the radius is -1; it must be above 0\n"
        "  constraint 'roll': the axis is zero; a disk needs a direction"
    )


def test_names_are_unique_among_constraints():
    assert refused(ROD, replace(GEAR, name="rod")) == (
        "constraint 'rod': the name is given to more than one constraint; names must be unique"
    )
    assert refused(replace(ROD, line=3), replace(GEAR, name="rod", line=5)) == (
        "line 5: constraint 'rod': the name is given to more than one constraint, "
        "on lines 3 and 5; names must be unique"
    )
    check(system(replace(GEAR, name="ja")))  # a joint of the tree is called by its own kind


def test_a_weld_is_a_loop_joint():
    weld = Joint("weld", "fixed", "b", "c", closes_loop=True)
    given = replace(system(), joints=(*JOINTS[:4], weld))
    assert check(given) == given
    within = replace(weld, parent="a", child="tip")
    with pytest.raises(DescriptionError) as caught:
        check(replace(given, joints=(*JOINTS[:4], within)))
    assert str(caught.value) == (
        "built: joint 'weld': joins the links 'a' and 'tip', which fixed joints make one rigid "
        "body; delete one of these joints"
    )
