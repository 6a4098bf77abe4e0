# SPDX-License-Identifier: Apache-2.0
"""Each type of joint accepts its properties and refuses others."""

import math
from dataclasses import replace

import pytest
from support.refusals import refused

from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.parts.joint_types import JOINT_SPECS, JointSpec
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.parts.types import Description, Joint, Limit, Link, Mimic, Trajectory
from rbdyn_ros.errors import DescriptionError

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
NAN = math.nan
MOTION = Trajectory((0.0, 1.0), ((0.0,), (1.0,)))


def system(*joints):
    links = tuple(Link(name) for name in "abc"[: len(joints) + 1])
    return Description("r", links, joints, source="built", base="a")


def joint(kind, **fields):
    spec = JOINT_SPECS.get(kind, JointSpec())
    if spec.parameters and "parameters" not in fields:
        fields["parameters"] = dict.fromkeys(spec.parameters, 0.1)
    if spec.axes == 2 and "axis2" not in fields:
        fields["axis2"] = Y
    return Joint("j", kind, "a", "b", **fields)


def found(*joints):
    """Check a system with these joints; return code and element of each finding."""
    return [(finding.code, finding.element) for finding in check(system(*joints)).findings]


@pytest.mark.parametrize("kind", list(JOINT_SPECS))
def test_joints_of_every_type_are_unchanged(kind):
    given = system(joint(kind))
    assert check(given) == given


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_urdf_requires_limits_and_a_mechanism_does_not(kind):
    tree = replace(system(joint(kind)), base="")
    with refused(DescriptionError, "missing-limit", "joint 'j'"):
        check(tree)
    check(replace(tree, joints=(joint(kind, motion=MOTION),)))
    assert check(system(joint(kind))).joints[0].limit is None


@pytest.mark.parametrize(("kind", "name"), [("helical", "pitch"), ("rack_pinion", "radius")])
def test_a_screw_with_pitch_zero_and_a_rack_with_radius_zero_are_refused(kind, name):
    """At zero the joint would only rotate; a negative value reverses it."""
    with refused(DescriptionError, "zero-parameter", "joint 'j'"):
        check(system(joint(kind, parameters={name: 0.0})))
    assert found(joint(kind, parameters={name: -0.02})) == []


def test_parameters_of_registered_joint_types_are_checked(monkeypatch):
    spec = JointSpec(axes=1, parameters=("lift",), nonzero=("lift",), coordinates=("rad",))
    monkeypatch.setitem(JOINT_SPECS, "cam", spec)
    given = system(joint("cam", parameters={"lift": 0.02}))
    assert check(given) == given
    with refused(DescriptionError, "zero-parameter", "joint 'j'"):
        check(system(joint("cam", parameters={"lift": 0})))
    followed = joint("cam", parameters={"lift": 1.0}, mimic=Mimic("k"))
    check(system(followed, Joint("k", "revolute", "b", "c")))


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        (
            {"kind": "helical", "parameters": {"pich": 0.1}},
            ("unknown-parameter", "joint 'j'"),
        ),
        (
            {"kind": "revolute", "parameters": {"dampng": 0.1}},
            ("unknown-parameter", "joint 'j'"),
        ),
        (
            {"kind": "helical", "parameters": {}},
            ("missing-parameter", "joint 'j'"),
        ),
        (
            {"kind": "helical", "parameters": {"pitch": NAN}},
            ("not-finite", "joint 'j'"),
        ),
        (
            {"kind": "helical", "parameters": {"pitch": "fine"}},
            ("not-finite", "joint 'j'"),
        ),
        (
            {"kind": "helical", "parameters": {"pitch": 0.0}},
            ("zero-parameter", "joint 'j'"),
        ),
        (
            {"kind": "helical", "parameters": 0.1},
            ("bad-parameters", "joint 'j'"),
        ),
        (
            {"kind": "helical", "axis": (0, 0, 0)},
            ("zero-axis", "joint 'j'"),
        ),
        (
            {"kind": "universal", "axis2": None},
            ("missing-axis2", "joint 'j'"),
        ),
        (
            {"kind": "universal", "axis2": (0, 0, 0)},
            ("zero-axis", "joint 'j'"),
        ),
        (
            {"kind": "universal", "axis2": (0, NAN, 0)},
            ("not-finite", "joint 'j'"),
        ),
        (
            {"kind": "universal", "axis2": (1, 1, 0)},
            ("axes-not-perpendicular", "joint 'j'"),
        ),
        (
            {"kind": "planar", "axis2": (1, 2e-6, 0), "axis": (0, 1, 0)},
            ("axes-not-perpendicular", "joint 'j'"),
        ),
        (
            {"kind": "cylindrical", "limit": Limit(-1, 1)},
            ("wrong-limits", "joint 'j'"),
        ),
        (
            {"kind": "cylindrical", "limits": (Limit(),)},
            ("wrong-limits", "joint 'j'"),
        ),
        (
            {"kind": "helical", "limits": (Limit(),)},
            ("wrong-limits", "joint 'j'"),
        ),
        (
            {"kind": "sixdof_fp", "limit": Limit()},
            ("wrong-limits", "joint 'j'"),
        ),
        (
            {"kind": "spherical", "limits": (Limit(), Limit())},
            ("wrong-limits", "joint 'j'"),
        ),
        (
            {"kind": "universal", "limits": (Limit(), Limit(1, -1))},
            ("limit-order", "joint 'j'"),
        ),
        (
            {"kind": "universal", "limits": (Limit(), Limit(NAN))},
            ("not-finite", "joint 'j'"),
        ),
        (
            {"kind": "universal", "limits": 3},
            ("not-a-limit", "joint 'j'"),
        ),
        (
            {"kind": "helical", "limit": (-1, 1)},
            ("not-a-limit", "joint 'j'"),
        ),
        (
            {"kind": "helical", "limit": Limit("low")},
            ("not-finite", "joint 'j'"),
        ),
        (
            {"kind": "helical", "limit": Limit(2, 1)},
            ("limit-order", "joint 'j'"),
        ),
        (
            {"kind": "spherical", "limit": Limit(0, 4)},
            ("limit-angle", "joint 'j'"),
        ),
        (
            {"kind": "spherical", "limit": Limit(0, -0.1)},
            ("limit-angle", "joint 'j'"),
        ),
        (
            {"kind": "spherical", "stiffness": 1.0, "rest": (0.1,)},
            ("bad-rest", "joint 'j'"),
        ),
        (
            {"kind": "cylindrical", "stiffness": 1.0, "rest": (0.1,)},
            ("bad-rest", "joint 'j'"),
        ),
        (
            {"kind": "helical", "stiffness": 1.0, "rest": (NAN,)},
            ("not-finite", "joint 'j'"),
        ),
        ({"kind": "helical", "stiffness": NAN}, ("not-finite", "joint 'j'")),
        ({"kind": "helical", "stiffness": -1}, ("negative-stiffness", "joint 'j'")),
        ({"kind": "helical", "armature": -2}, ("negative-armature", "joint 'j'")),
        ({"kind": "helical", "armature": math.inf}, ("not-finite", "joint 'j'")),
        (
            {"kind": "revolute", "child_origin": Pose(quat=(1, 1, 0, 0))},
            ("bad-quaternion", "joint 'j'"),
        ),
        (
            {"kind": "revolute", "child_origin": (0, 0, 0)},
            ("not-a-pose", "joint 'j'"),
        ),
        ({"kind": "revolute", "origin": None}, ("not-a-pose", "joint 'j'")),
    ],
)
def test_bad_joint_types_are_refused(fields, refusal):
    fields = dict(fields)
    with refused(DescriptionError, *refusal):
        check(system(joint(fields.pop("kind"), **fields)))


def test_two_axes_become_perpendicular_unit_vectors():
    tilted = joint("universal", axis=(0, 0, 2), axis2=(3, 0, 3e-7))
    checked = check(system(tilted)).joints[0]
    assert (checked.axis, checked.axis2) == ((0, 0, 1), (1, 0, 0))
    assert found(tilted) == [("axis-normalised", "joint 'j'")] * 2
    assert check(system(checked)) == replace(check(system(tilted)), findings=())


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        (
            {"kind": "revolute", "axis2": Y},
            "axis-ignored",
        ),
        (
            {"kind": "spherical", "axis": Z},
            "axis-ignored",
        ),
        (
            {"kind": "planar", "limit": Limit()},
            "limit-ignored",
        ),
        (
            {"kind": "spherical", "limit": Limit(-1, 1)},
            "limit-ignored",
        ),
        ({"kind": "spherical", "limit": Limit(0, 0)}, "locked-joint"),
        ({"kind": "helical", "limit": Limit(1, 1)}, "locked-joint"),
        (
            {"kind": "helical", "rest": (1.0,)},
            "rest-ignored",
        ),
        (
            {"kind": "fixed", "axis2": Y, "stiffness": 1.0, "rest": (1.0,), "armature": 1.0},
            "fixed-joint",
        ),
    ],
)
def test_ignored_properties_are_reported(fields, code):
    fields = dict(fields)
    assert found(joint(fields.pop("kind"), **fields)) == [(code, "joint 'j'")]


def test_ignored_properties_are_left_out():
    fixed = check(system(joint("fixed", axis2=Y, stiffness=1.0, rest=(1.0,), armature=1.0)))
    assert fixed.joints[0] == joint("fixed")
    ball = check(system(joint("spherical", limit=Limit(-1, 1, 5, 6))))
    assert ball.joints[0].limit == Limit(0, 1, 5, 6)
    assert check(system(joint("spherical", limit=Limit()))).joints[0].limit == Limit(0)


def driven(times=(0.0, 1.0), positions=((0.0,), (1.0,)), periodic=False, kind="revolute"):
    return joint(kind, motion=Trajectory(times, positions, periodic))


def test_valid_motions_are_accepted():
    assert found(driven()) == []
    assert found(joint("helical", motion="my_motion")) == []
    assert found(driven(positions=((0, 1), (2, 3)), kind="universal")) == []
    assert found(driven(positions=[0, 1])) == []


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        (driven((0.0,), ((0.0,),)), ("bad-trajectory", "joint 'j'")),
        (driven((0, 1, 2)), ("bad-trajectory", "joint 'j'")),
        (driven((0, 0)), ("bad-trajectory", "joint 'j'")),
        (driven((0, NAN)), ("bad-trajectory", "joint 'j'")),
        (driven(positions=((math.inf,), (0,))), ("bad-trajectory", "joint 'j'")),
        (driven(positions=((0,), (0, 1))), ("bad-trajectory", "joint 'j'")),
        (driven(positions=((0,), ())), ("bad-trajectory", "joint 'j'")),
        (driven(kind="universal"), ("bad-trajectory", "joint 'j'")),
        (driven(positions=(None, 1)), ("bad-trajectory", "joint 'j'")),
        (driven(positions=None), ("bad-trajectory", "joint 'j'")),
        (driven(times=("a", "b")), ("bad-trajectory", "joint 'j'")),
        (driven(periodic=True), ("bad-trajectory", "joint 'j'")),
        (joint("revolute", motion=""), ("bad-motion", "joint 'j'")),
        (
            joint("revolute", motion=3),
            ("bad-motion", "joint 'j'"),
        ),
        (
            joint("spherical", motion="f"),
            ("motion-type", "joint 'j'"),
        ),
        (joint("fixed", motion="f"), ("motion-type", "joint 'j'")),
        (
            joint("revolute", motion="f", mimic=Mimic("k")),
            ("motion-mimic", "joint 'j'"),
        ),
    ],
)
def test_bad_motions_are_refused(given, refusal):
    with refused(DescriptionError, *refusal):
        check(system(given))


def test_the_last_point_of_a_periodic_motion_becomes_the_first():
    rows = ((1.0,), (3.0,), (1.0 + 1e-10,))
    checked = check(system(driven((0, 1, 2), rows, periodic=True))).joints[0]
    assert checked.motion == Trajectory((0.0, 1.0, 2.0), ((1.0,), (3.0,), (1.0,)), periodic=True)


def test_a_driven_joint_has_no_passive_forces():
    given = joint(
        "revolute", motion=MOTION, limit=Limit(-1, 1), damping=1.0, friction=2.0, armature=3.0
    )
    assert check(system(given)).joints[0] == joint("revolute", motion=MOTION)
    (note,) = check(system(given)).findings
    assert (note.code, note.element) == ("driven", "joint 'j'")
    assert note.found == "limit, damping, friction, armature"


def test_library_joints_may_be_mimic_joints():
    follower = joint("helical", mimic=Mimic("k", 2.0))
    assert found(follower, Joint("k", "prismatic", "b", "c")) == []


def test_mimic_joints_of_other_types_are_refused():
    ball = Joint("k", "spherical", "b", "c")
    with refused(DescriptionError, "mimic-type", "joint 'j'"):
        check(system(joint("helical", mimic=Mimic("k")), ball))
