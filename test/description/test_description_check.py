"""Descriptions that were built in Python are judged like those that were read."""

import math
from dataclasses import replace

import pytest

from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.poses import Pose
from rbdyn_ros.description.types import Description, Inertial, Joint, Limit, Link, Mimic
from rbdyn_ros.errors import DescriptionError, Finding

GOOD = Description(
    name="r",
    links=(Link("a"), Link("b", Inertial(1.0))),
    joints=(Joint("j", "revolute", "a", "b", limit=Limit()),),
    source="built",
)


def with_joint(**changes):
    return replace(GOOD, joints=(replace(GOOD.joints[0], **changes),))


def with_inertial(**changes):
    return replace(GOOD, links=(Link("a"), Link("b", Inertial(**({"mass": 1.0} | changes)))))


def test_good_is_unchanged_and_findings_are_kept():
    note = Finding("x", "said before", "note")
    given = replace(GOOD, findings=(note,))
    assert check(GOOD) == GOOD
    assert check(given).findings == (note,)
    assert check(check(given)) == given


NAN = math.nan


@pytest.mark.parametrize(
    ("description", "sentence"),
    [
        (replace(GOOD, name=" "), "robot without a name: has no name"),
        (
            replace(GOOD, links=(), joints=()),
            "robot 'r': has no links; the smallest robot is one <link name=.../>",
        ),
        (
            replace(GOOD, links=(Link("c\0"),), joints=()),
            "link 'c\\x00': the name 'c\\x00' is empty or holds a NUL character",
        ),
        (
            replace(GOOD, links=(*GOOD.links, Link("a"))),
            "link 'a': the name is given to more than one link; names must be unique",
        ),
        (with_inertial(mass=NAN), "link 'b': the mass is nan, not a finite number"),
        (
            with_inertial(inertia=(1, 1, math.inf, 0, 0, 0)),
            "link 'b': the inertia is (1, 1, inf, 0, 0, 0), not 6 finite numbers",
        ),
        (
            with_inertial(inertia=(1, 1, 1)),
            "link 'b': the inertia is (1, 1, 1), not 6 finite numbers",
        ),
        (
            with_inertial(mass="heavy"),
            "link 'b': the mass is 'heavy', not a finite number",
        ),
        (
            with_joint(origin=Pose((0, NAN, 0))),
            "joint 'j': the position of the origin is (0, nan, 0), not 3 finite numbers",
        ),
        (
            with_joint(origin=Pose(quat=(1, 1, 0, 0))),
            "joint 'j': the quaternion of the origin has length 1.41421; it must be 1",
        ),
        (with_joint(axis=(0, 1)), "joint 'j': the axis is (0, 1), not 3 finite numbers"),
        (with_joint(damping=NAN), "joint 'j': the damping is nan, not a finite number"),
        (
            with_joint(limit=Limit(lower=NAN)),
            "joint 'j': the limits are (nan, inf, inf, inf); a limit must be a number",
        ),
        (
            with_joint(limit=Limit(lower=math.inf)),
            "joint 'j': the lower limit inf is above the upper limit inf",
        ),
        (
            with_joint(type="hinge"),
            (
                "joint 'j': the type 'hinge' is unknown; allowed are "
                "revolute, continuous, prismatic, fixed, floating, planar, helical, cylindrical, "
                "universal, spherical, spherical_ypr, rack_pinion, planar_fp, planar_fs, "
                "sixdof_fp, sixdof_fs"
            ),
        ),
        (
            with_joint(mimic=Mimic("j", NAN)),
            "joint 'j': the mimic ratio and offset is (nan, 0.0), not 2 finite numbers",
        ),
    ],
)
def test_bad_values(description, sentence):
    with pytest.raises(DescriptionError) as caught:
        check(description)
    assert str(caught.value) == f"built: {sentence}"


def test_long_cycles_and_lists_are_cut():
    links = tuple(Link(f"l{i}") for i in range(1000))
    ring = tuple(Joint(f"j{i}", "fixed", f"l{i - 1}", f"l{i}") for i in range(1, 1000))
    ring += (Joint("j0", "fixed", "l999", "l0"),)
    with pytest.raises(DescriptionError) as caught:
        check(Description("r", links, ring))
    assert caught.value.findings[0].message == (
        "link 'l0': lies on a cycle: 'l0' -> 'l1' -> 'l2' -> 'l3' -> ... -> "
        "'l997' -> 'l998' -> 'l999' -> 'l0' (1000 steps); delete one of its joints"
    )
    with pytest.raises(DescriptionError) as caught:
        check(Description("r", links, ()))
    assert "'l6', 'l7', ... (1000 in all) have no parent" in str(caught.value)


def test_two_cycles_are_both_told():
    links = tuple(Link(name) for name in "abcde")
    joints = tuple(Joint(p + c, "fixed", p, c) for p, c in ("bc", "cb", "de", "ed"))
    with pytest.raises(DescriptionError) as caught:
        check(Description("r", links, joints))
    assert [finding.code for finding in caught.value.findings] == ["cycle", "cycle"]


def test_long_mimic_chain_is_not_recursive():
    count = 5000
    links = tuple(Link(f"l{i}") for i in range(count + 1))
    joints = tuple(
        Joint(
            f"j{i}",
            "continuous",
            f"l{i}",
            f"l{i + 1}",
            mimic=Mimic(f"j{i + 1}") if i + 1 < count else None,
        )
        for i in range(count)
    )
    assert len(check(Description("r", links, joints)).joints) == count
