# SPDX-License-Identifier: Apache-2.0
"""Mimic joints with and without their own limits.

test_urdf_refused.py and test_joint_library_check.py test invalid mimic joints.
"""

import math

import pytest
from support.refusals import refused

from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.parts.types import Description, Joint, Limit, Link, Mimic, Trajectory
from rbdyn_ros.errors import DescriptionError


def found(*joints):
    """Check a chain of joints; return severity, code and message of each finding."""
    links = tuple(Link(name) for name in "abcde"[: len(joints) + 1])
    given = Description("r", links, joints, "built", base="a")
    checked = check(given)
    assert check(checked) == checked
    assert {finding.element for finding in checked.findings} <= {"joint 'finger'", "joint 'tip'"}
    return [(finding.severity, finding.code, finding.message) for finding in checked.findings]


def thumb(lower=-math.inf, upper=math.inf, **fields):
    return Joint("thumb", "revolute", "a", "b", limit=Limit(lower, upper), **fields)


def finger(mimic, lower=-math.inf, upper=math.inf):
    return Joint("finger", "revolute", "b", "c", limit=Limit(lower, upper), mimic=mimic)


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
            [("mimic-limits", "0.005 to 1")],
        ),
        (
            thumb(0, 1),
            finger(Mimic("thumb", 2.0), 0, 1.9),
            [("mimic-limits", "0 to 0.95")],
        ),
        (
            thumb(-1, 1),
            finger(Mimic("thumb", -2.0, 0.5), -1, 1),
            [("mimic-limits", "-0.25 to 0.75")],
        ),
        (
            thumb(0, 1),
            finger(Mimic("thumb", -1.0), 0, 1),
            [("mimic-limits", "at 0")],
        ),
        (thumb(), finger(Mimic("thumb", 2.0), 0), [("mimic-limits", "0 to inf")]),
        (
            thumb(0, 1),
            finger(Mimic("thumb", 1.0, 5.0), 0, 1),
            [("mimic-limits", "no position")],
        ),
        (
            thumb(0, 1),
            finger(Mimic("thumb", 0.0, 0.5), 0, 1),
            [("mimic-still", "0.5")],
        ),
        (
            thumb(0, 1),
            finger(Mimic("thumb", 0.0, 5.0), 0, 1),
            [
                ("mimic-still", "5"),
                ("mimic-limits", "0 to 1"),
            ],
        ),
    ],
)
def test_a_mimic_joint_beyond_its_limits_has_a_warning(lead, follower, expected):
    findings = found(lead, follower)
    assert [code for _, code, _ in findings] == [code for code, _ in expected]
    for (severity, code, message), (_, part) in zip(findings, expected, strict=True):
        assert severity == ("note" if code == "mimic-still" else "warning")
        assert part in message


def test_the_limits_of_the_leader_hold_a_chain_of_mimic_joints():
    """q_tip = 2 q_finger + 1 = -2 q_thumb + 3, whatever the limits of the finger are."""
    tip = Joint("tip", "revolute", "c", "d", limit=Limit(0.0, 4.0), mimic=Mimic("finger", 2.0, 1))
    ((severity, code, message),) = found(thumb(-0.5, 2.0), finger(Mimic("thumb", -1.0, 1.0)), tip)
    assert (severity, code) == ("warning", "mimic-limits")
    assert "-0.5 to 1.5" in message


def test_a_joint_may_mimic_a_driven_joint():
    wave = Trajectory((0.0, 1.0), ((0.0,), (1.0,)))
    driven = Joint("thumb", "revolute", "a", "b", motion=wave)
    assert found(driven, finger(Mimic("thumb"), 0.0, 0.5)) == []


def test_a_mimic_joint_cannot_be_driven():
    driven = Joint("finger", "revolute", "b", "c", mimic=Mimic("thumb"), motion="wave")
    with refused(DescriptionError, "motion-mimic", "joint 'finger'"):
        found(thumb(), driven)
