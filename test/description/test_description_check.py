# SPDX-License-Identifier: Apache-2.0
"""Descriptions built in Python pass the same checks as descriptions from files."""

import math
from dataclasses import replace

import pytest
from support.refusals import refused

from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Description, Inertial, Joint, Limit, Link, Mimic
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


def test_the_check_keeps_a_valid_description_and_its_findings():
    note = Finding("x", "said before", "note")
    given = replace(GOOD, findings=(note,))
    assert check(GOOD) == GOOD
    assert check(given).findings == (note,)
    assert check(check(given)) == given


NAN = math.nan


@pytest.mark.parametrize(
    ("description", "refusal"),
    [
        (replace(GOOD, name=" "), ("missing-name", "robot without a name")),
        (
            replace(GOOD, links=(), joints=()),
            ("no-links", "robot 'r'"),
        ),
        (
            replace(GOOD, links=(Link("c\0"),), joints=()),
            ("missing-name", "link 'c\\x00'"),
        ),
        (
            replace(GOOD, links=(*GOOD.links, Link("a"))),
            ("duplicate-name", "link 'a'"),
        ),
        (with_inertial(mass=NAN), ("not-finite", "link 'b'")),
        (
            with_inertial(inertia=(1, 1, math.inf, 0, 0, 0)),
            ("not-finite", "link 'b'"),
        ),
        (
            with_inertial(inertia=(1, 1, 1)),
            ("not-finite", "link 'b'"),
        ),
        (
            with_inertial(mass="heavy"),
            ("not-finite", "link 'b'"),
        ),
        (
            with_joint(origin=Pose((0, NAN, 0))),
            ("not-finite", "joint 'j'"),
        ),
        (
            with_joint(origin=Pose(quat=(1, 1, 0, 0))),
            ("bad-quaternion", "joint 'j'"),
        ),
        (with_joint(axis=(0, 1)), ("not-finite", "joint 'j'")),
        (with_joint(damping=NAN), ("not-finite", "joint 'j'")),
        (
            with_joint(limit=Limit(lower=NAN)),
            ("not-finite", "joint 'j'"),
        ),
        (
            with_joint(limit=Limit(lower=math.inf)),
            ("limit-order", "joint 'j'"),
        ),
        (
            with_joint(type="hinge"),
            ("unknown-joint-type", "joint 'j'"),
        ),
        (
            with_joint(mimic=Mimic("j", NAN)),
            ("not-finite", "joint 'j'"),
        ),
    ],
)
def test_bad_values_are_refused(description, refusal):
    with refused(DescriptionError, *refusal):
        check(description)


def test_long_cycles_and_lists_in_messages_are_cut():
    links = tuple(Link(f"l{i}") for i in range(1000))
    ring = tuple(Joint(f"j{i}", "fixed", f"l{i - 1}", f"l{i}") for i in range(1, 1000))
    ring += (Joint("j0", "fixed", "l999", "l0"),)
    with refused(DescriptionError, "cycle", "link 'l0'") as caught:
        check(Description("r", links, ring))
    assert "'l3' -> ... -> 'l997'" in str(caught.value)
    with refused(DescriptionError, "several-roots", "robot 'r'") as caught:
        check(Description("r", links, ()))
    assert "'l6', 'l7', ... (1000 in all)" in str(caught.value)


def test_two_cycles_are_both_reported():
    links = tuple(Link(name) for name in "abcde")
    joints = tuple(Joint(p + c, "fixed", p, c) for p, c in ("bc", "cb", "de", "ed"))
    with refused(DescriptionError, ["cycle", "cycle"]):
        check(Description("r", links, joints))


def test_a_mimic_chain_of_5000_joints_is_accepted():
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
