"""Joints that follow others, and whether they keep their limits in doing so.

What is wrong with a mimic is told in test_urdf_refused.py and test_joint_library_check.py.
"""

import math

import pytest

from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.types import Description, Joint, Limit, Link, Mimic, Trajectory
from rbdyn_ros.errors import DescriptionError


def told(*joints):
    links = tuple(Link(name) for name in "abcde"[: len(joints) + 1])
    given = Description("r", links, joints, "built", base="a")
    checked = check(given)
    assert check(checked) == checked
    return [(finding.severity, finding.message) for finding in checked.findings]


def thumb(lower=-math.inf, upper=math.inf, **fields):
    return Joint("thumb", "revolute", "a", "b", limit=Limit(lower, upper), **fields)


def finger(mimic, lower=-math.inf, upper=math.inf):
    return Joint("finger", "revolute", "b", "c", limit=Limit(lower, upper), mimic=mimic)


def out_of(limits, both):
    what = f"follows 'thumb' out of its own limits {limits}, which are not enforced; {both}"
    return [("warning", f"joint 'finger': {what}")]


BOTH = "both keep theirs while 'thumb' is from {}"


@pytest.mark.parametrize(
    ("lead", "follower", "expected"),
    [
        (thumb(0, 1), finger(Mimic("thumb")), []),
        (thumb(0, 1), finger(Mimic("thumb", 2.0, 1.0), 1, 3), []),
        (thumb(0, 1), finger(Mimic("thumb", -2.0), -2, 0), []),
        (thumb(0, 1), finger(Mimic("thumb", 2.0), 9e-7, 2.0 - 9e-7), []),
        (
            thumb(0, 1),
            finger(Mimic("thumb", 2.0), 0.01, 2),
            out_of("0.01 to 2", BOTH.format("0.005 to 1")),
        ),
        (
            thumb(0, 1),
            finger(Mimic("thumb", 2.0), 0, 1.9),
            out_of("0 to 1.9", BOTH.format("0 to 0.95")),
        ),
        (
            thumb(-1, 1),
            finger(Mimic("thumb", -2.0, 0.5), -1, 1),
            out_of("-1 to 1", BOTH.format("-0.25 to 0.75")),
        ),
        (
            thumb(0, 1),
            finger(Mimic("thumb", -1.0), 0, 1),
            out_of("0 to 1", "both keep theirs only while 'thumb' is at 0"),
        ),
        (thumb(), finger(Mimic("thumb", 2.0), 0), out_of("0 to inf", BOTH.format("0 to inf"))),
        (
            thumb(0, 1),
            finger(Mimic("thumb", 1.0, 5.0), 0, 1),
            out_of("0 to 1", "no position of 'thumb' keeps the limits of both"),
        ),
        (
            thumb(0, 1),
            finger(Mimic("thumb", 0.0, 0.5), 0, 1),
            [
                (
                    "note",
                    "joint 'finger': the ratio is 0, so it stands still at its offset 0.5",
                )
            ],
        ),
        (
            thumb(0, 1),
            finger(Mimic("thumb", 0.0, 5.0), 0, 1),
            [
                ("note", "joint 'finger': the ratio is 0, so it stands still at its offset 5"),
                ("warning", "joint 'finger': it stands still at 5, outside its limits 0 to 1"),
            ],
        ),
    ],
)
def test_limits_of_a_joint_that_follows(lead, follower, expected):
    assert told(lead, follower) == expected


def test_a_chain_is_held_by_the_limits_at_its_end():
    """q_tip = 2 q_finger + 1 = -2 q_thumb + 3, whatever the limits of the finger."""
    tip = Joint("tip", "revolute", "c", "d", limit=Limit(0.0, 4.0), mimic=Mimic("finger", 2.0, 1))
    assert told(thumb(-0.5, 2.0), finger(Mimic("thumb", -1.0, 1.0)), tip) == [
        (
            "warning",
            (
                "joint 'tip': follows 'thumb' out of its own limits 0 to 4, which are not "
                "enforced; both keep theirs while 'thumb' is from -0.5 to 1.5"
            ),
        )
    ]


def test_a_joint_may_follow_one_that_is_driven():
    wave = Trajectory((0.0, 1.0), ((0.0,), (1.0,)))
    driven = Joint("thumb", "revolute", "a", "b", motion=wave)
    assert told(driven, finger(Mimic("thumb"), 0.0, 0.5)) == []


def test_a_joint_that_follows_cannot_be_driven():
    driven = Joint("finger", "revolute", "b", "c", mimic=Mimic("thumb"), motion="wave")
    with pytest.raises(DescriptionError) as caught:
        told(thumb(), driven)
    assert str(caught.value) == (
        "built: joint 'finger': is driven over time and cannot follow 'thumb' too"
    )
