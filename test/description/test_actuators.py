# SPDX-License-Identifier: Apache-2.0
"""Actuators of a Description act on chosen dofs, and bad actuators are refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.refusals import refused

from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS
from rbdyn_ros.description.parts.types import Description, Joint, Link, Trajectory
from rbdyn_ros.errors import DescriptionError
from rbdyn_ros.model.declared.joints import JOINT_KINDS, TYPE_OF_NAME

PUSH = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
MOTION = Trajectory((0.0, 1.0), ((0.0,), (1.0,)))
LINKS = (Link("a"), Link("b"), Link("c"))


def system(joint):
    others = [Joint("k", "fixed" if joint.closes_loop else "revolute", "a", "c")]
    if joint.closes_loop:
        others.append(Joint("tree", "revolute", "a", "b"))
    return Description("r", LINKS, (joint, *others), "built", base="a")


def joint(kind="revolute", **fields):
    if kind == "universal":
        fields["axis2"] = (0.0, 1.0, 0.0)
    return Joint("j", kind, "a", "b", **fields)


@pytest.mark.parametrize("kind", list(TYPE_OF_NAME))
def test_the_dofs_of_a_joint_type_match_the_model(kind):
    assert JOINT_SPECS[kind].dofs == JOINT_KINDS[TYPE_OF_NAME[kind]].nv


@pytest.mark.parametrize(
    "given",
    [
        joint(actuated=False),
        joint(transmission=(PUSH,)),
        joint("universal", transmission=(PUSH, PUSH)),
        joint("spherical", transmission=(PUSH,) * 3),
        joint("floating", transmission=(PUSH,) * 6),
        joint(motion=MOTION, transmission=(PUSH,)),
        joint(closes_loop=True, actuated=False),
        joint("fixed", actuated=False),
    ],
)
def test_valid_actuation_is_not_changed(given):
    checked = check(system(given))
    assert checked == system(given)
    assert checked.findings == ()


def test_a_transmission_may_be_an_array():
    assert joint(transmission=np.array([PUSH])) == joint(transmission=(PUSH,))
    check(system(joint(transmission=np.array([PUSH]))))


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        (
            joint(transmission=5),
            ("wrong-kind", "joint 'j'"),
        ),
        (
            joint(transmission=PUSH),
            ("bad-transmission", "joint 'j'"),
        ),
        (joint(actuated=1), ("wrong-kind", "joint 'j'")),
        (
            joint(transmission=(PUSH, PUSH)),
            ("bad-transmission", "joint 'j'"),
        ),
        (
            joint("universal", transmission=(PUSH,)),
            ("bad-transmission", "joint 'j'"),
        ),
        (
            joint(transmission=((0.0,) * 6,)),
            ("bad-transmission", "joint 'j'"),
        ),
        (
            joint(transmission=((1.0, 0.0, 0.0),)),
            ("not-finite", "joint 'j'"),
        ),
        (
            joint("universal", transmission=(PUSH, (math.nan,) * 6)),
            ("not-finite", "joint 'j'"),
        ),
    ],
)
def test_bad_actuators_are_refused(given, refusal):
    with refused(DescriptionError, *refusal):
        check(system(given))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            joint("fixed", transmission=(PUSH,)),
            ("fixed-joint", "transmission"),
        ),
        (
            joint(motion=MOTION, actuated=False, damping=1.0),
            ("driven", "damping, actuated"),
        ),
    ],
)
def test_unused_fields_are_ignored_with_a_note(given, expected):
    checked = check(system(given))
    (note,) = checked.findings
    assert (note.code, note.found) == expected
    assert (note.severity, note.element) == ("note", "joint 'j'")
    kept = checked.joints[0]
    assert kept == replace(given, transmission=(), actuated=True, damping=0.0)
    assert check(checked) == checked
