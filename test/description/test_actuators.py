"""Which joints have an actuator, and where its force acts."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.joint_types import JOINT_SPECS
from rbdyn_ros.description.types import Description, Joint, Link, Trajectory
from rbdyn_ros.errors import DescriptionError
from rbdyn_ros.model.joints import JOINT_KINDS, TYPE_OF_NAME

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


def refused(given):
    with pytest.raises(DescriptionError) as caught:
        check(system(given))
    return str(caught.value)


@pytest.mark.parametrize("kind", list(TYPE_OF_NAME))
def test_degrees_of_freedom_are_those_of_the_model(kind):
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
def test_taken_as_it_is(given):
    checked = check(system(given))
    assert checked == system(given)
    assert checked.findings == ()


def test_lists_and_arrays_are_taken():
    assert joint(transmission=np.array([PUSH])) == joint(transmission=(PUSH,))
    check(system(joint(transmission=np.array([PUSH]))))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            joint(transmission=5),
            "transmission is 5; allowed is a sequence of spatial forces, one a degree of freedom",
        ),
        (
            joint(transmission=PUSH),
            (
                "the transmission is (0.0, 0.0, 0.0, 1.0, 0.0, 0.0), "
                "not a spatial force of 6 numbers for each degree of freedom"
            ),
        ),
        (joint(actuated=1), "actuated is 1; allowed is True or False"),
        (
            joint(transmission=(PUSH, PUSH)),
            (
                "the transmission has 2 forces; a revolute joint takes 1, one for each degree of "
                "freedom"
            ),
        ),
        (
            joint("universal", transmission=(PUSH,)),
            (
                "the transmission has 1 force; a universal joint takes 2, one for each degree of "
                "freedom"
            ),
        ),
        (
            joint(transmission=((0.0,) * 6,)),
            "force 1 of the transmission is zero; it must have a direction",
        ),
        (
            joint(transmission=((1.0, 0.0, 0.0),)),
            "the force 1 of the transmission is (1.0, 0.0, 0.0), not 6 finite numbers",
        ),
        (
            joint("universal", transmission=(PUSH, (math.nan,) * 6)),
            (
                "the force 2 of the transmission is (nan, nan, nan, nan, nan, nan), "
                "not 6 finite numbers"
            ),
        ),
    ],
)
def test_refused(given, sentence):
    assert refused(given) == f"built: joint 'j': {sentence}"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            joint("fixed", transmission=(PUSH,)),
            "a fixed joint does not move, so these mean nothing and are ignored: transmission",
        ),
        (
            joint(closes_loop=True, transmission=(PUSH,), damping=1.0),
            (
                "closes a loop and has no coordinate of its own, so these mean nothing and are "
                "ignored: damping, transmission"
            ),
        ),
        (
            joint(motion=MOTION, actuated=False, damping=1.0),
            "is driven over time, so these mean nothing and are ignored: damping, actuated",
        ),
    ],
)
def test_ignored_with_a_note(given, sentence):
    checked = check(system(given))
    assert [finding.message for finding in checked.findings] == [f"joint 'j': {sentence}"]
    kept = checked.joints[0]
    assert kept == replace(given, transmission=(), actuated=True, damping=0.0)
    assert check(checked) == checked
