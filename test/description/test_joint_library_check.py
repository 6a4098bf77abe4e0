"""What a joint of each type of the library takes, and what it is told when it gets another."""

import math
from dataclasses import replace

import pytest

from rbdyn_ros.description.checks.check import check
from rbdyn_ros.description.joint_types import JOINT_SPECS, JointSpec
from rbdyn_ros.description.poses import Pose
from rbdyn_ros.description.types import Description, Joint, Limit, Link, Mimic, Trajectory
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


def told(*joints):
    """Return what the check says of joints that it takes."""
    return [finding.message for finding in check(system(*joints)).findings]


def refused(*joints):
    with pytest.raises(DescriptionError) as caught:
        check(system(*joints))
    return str(caught.value)


@pytest.mark.parametrize("kind", list(JOINT_SPECS))
def test_every_type_is_taken_as_it_is(kind):
    given = system(joint(kind))
    assert check(given) == given


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_urdf_wants_limits_where_a_mechanism_does_not(kind):
    tree = replace(system(joint(kind)), base="")
    with pytest.raises(DescriptionError, match=f"a {kind} joint must have a <limit>"):
        check(tree)
    check(replace(tree, joints=(joint(kind, motion=MOTION),)))
    assert check(system(joint(kind))).joints[0].limit is None


def test_a_rack_without_a_radius_is_a_hinge():
    assert told(joint("rack_pinion", parameters={"radius": 0.0})) == []


def test_types_that_users_register(monkeypatch):
    spec = JointSpec(axes=1, parameters=("lift",), nonzero=("lift",), coordinates=("rad",))
    monkeypatch.setitem(JOINT_SPECS, "cam", spec)
    given = system(joint("cam", parameters={"lift": 0.02}))
    assert check(given) == given
    assert refused(joint("cam", parameters={"lift": 0})) == (
        "built: joint 'j': the lift is 0; it must not be zero"
    )
    followed = joint("cam", parameters={"lift": 1.0}, mimic=Mimic("k"))
    check(system(followed, Joint("k", "revolute", "b", "c")))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"kind": "helical", "parameters": {"pich": 0.1}},
            "the parameter 'pich' is unknown (did you mean 'pitch'?); a helical joint takes pitch",
        ),
        (
            {"kind": "revolute", "parameters": {"dampng": 0.1}},
            (
                "the parameter 'dampng' is unknown (did you mean 'damping'?); "
                "a revolute joint takes none"
            ),
        ),
        (
            {"kind": "helical", "parameters": {}},
            "has no pitch; a helical joint takes pitch",
        ),
        (
            {"kind": "helical", "parameters": {"pitch": NAN}},
            "the pitch is nan, not a finite number",
        ),
        (
            {"kind": "helical", "parameters": {"pitch": "fine"}},
            "the pitch is 'fine', not a finite number",
        ),
        (
            {"kind": "helical", "parameters": {"pitch": 0.0}},
            "the pitch is 0; it must not be zero",
        ),
        (
            {"kind": "helical", "parameters": 0.1},
            "the parameters are 0.1, not a mapping of names to numbers",
        ),
        (
            {"kind": "helical", "axis": (0, 0, 0)},
            "the axis is zero; a helical joint needs a direction",
        ),
        (
            {"kind": "universal", "axis2": None},
            "has no second axis (axis2); a universal joint needs two",
        ),
        (
            {"kind": "universal", "axis2": (0, 0, 0)},
            "the second axis is zero; a universal joint needs a direction",
        ),
        (
            {"kind": "universal", "axis2": (0, NAN, 0)},
            "the second axis is (0, nan, 0), not 3 finite numbers",
        ),
        (
            {"kind": "universal", "axis2": (1, 1, 0)},
            "the axes must be perpendicular; they are 45 degrees apart",
        ),
        (
            {"kind": "planar", "axis2": (1, 2e-6, 0), "axis": (0, 1, 0)},
            "the axes must be perpendicular; they are 89.9999 degrees apart",
        ),
        (
            {"kind": "cylindrical", "limit": Limit(-1, 1)},
            "of limits it has one; a cylindrical joint takes a list of 2, one for each coordinate",
        ),
        (
            {"kind": "cylindrical", "limits": (Limit(),)},
            (
                "of limits it has a list of 1; "
                "a cylindrical joint takes a list of 2, one for each coordinate"
            ),
        ),
        (
            {"kind": "helical", "limits": (Limit(),)},
            "of limits it has a list of 1; a helical joint takes one, not a list",
        ),
        (
            {"kind": "sixdof_fp", "limit": Limit()},
            "of limits it has one; a sixdof_fp joint takes none",
        ),
        (
            {"kind": "spherical", "limits": (Limit(), Limit())},
            "of limits it has a list of 2; a spherical joint takes one, not a list",
        ),
        (
            {"kind": "universal", "limits": (Limit(), Limit(1, -1))},
            "the lower limit 1 is above the upper limit -1",
        ),
        (
            {"kind": "universal", "limits": (Limit(), Limit(NAN))},
            "the limits are (nan, inf, inf, inf); a limit must be a number",
        ),
        (
            {"kind": "universal", "limits": 3},
            "the limits are 3, not a tuple of one Limit for each coordinate",
        ),
        (
            {"kind": "helical", "limit": (-1, 1)},
            "the limit is (-1, 1), not a Limit",
        ),
        (
            {"kind": "helical", "limit": Limit("low")},
            "the limits are ('low', inf, inf, inf); a limit must be a number",
        ),
        (
            {"kind": "helical", "limit": Limit(2, 1)},
            "the lower limit 2 is above the upper limit 1",
        ),
        (
            {"kind": "spherical", "limit": Limit(0, 4)},
            (
                "the upper limit is 4; a spherical joint is limited in the angle from its "
                "zero position, from 0 to pi"
            ),
        ),
        (
            {"kind": "spherical", "limit": Limit(0, -0.1)},
            (
                "the upper limit is -0.1; a spherical joint is limited in the angle from its "
                "zero position, from 0 to pi"
            ),
        ),
        (
            {"kind": "spherical", "stiffness": 1.0, "rest": (0.1,)},
            (
                "the spring of a spherical joint is at rest at the zero position; "
                "no other rest position can be given"
            ),
        ),
        (
            {"kind": "cylindrical", "stiffness": 1.0, "rest": (0.1,)},
            "the rest position has 1 numbers; a cylindrical joint takes 2",
        ),
        (
            {"kind": "helical", "stiffness": 1.0, "rest": (NAN,)},
            "the rest position is nan, not a finite number",
        ),
        ({"kind": "helical", "stiffness": NAN}, "the stiffness is nan, not a finite number"),
        ({"kind": "helical", "stiffness": -1}, "the stiffness is -1; it must not be negative"),
        ({"kind": "helical", "armature": -2}, "the armature is -2; it must not be negative"),
        ({"kind": "helical", "armature": math.inf}, "the armature is inf, not a finite number"),
        (
            {"kind": "revolute", "child_origin": Pose(quat=(1, 1, 0, 0))},
            "the quaternion of the child origin has length 1.41421; it must be 1",
        ),
        (
            {"kind": "revolute", "child_origin": (0, 0, 0)},
            "the child origin is (0, 0, 0), not a Pose",
        ),
        ({"kind": "revolute", "origin": None}, "the origin is None, not a Pose"),
    ],
)
def test_refused(fields, sentence):
    fields = dict(fields)
    assert refused(joint(fields.pop("kind"), **fields)) == f"built: joint 'j': {sentence}"


def test_two_axes_become_unit_and_perpendicular():
    tilted = joint("universal", axis=(0, 0, 2), axis2=(3, 0, 3e-7))
    checked = check(system(tilted)).joints[0]
    assert (checked.axis, checked.axis2) == ((0, 0, 1), (1, 0, 0))
    assert told(tilted) == [
        "joint 'j': the axis has length 2 and was normalised",
        "joint 'j': the second axis has length 3 and was normalised",
    ]
    assert check(system(checked)) == replace(check(system(tilted)), findings=())


def test_an_axis_beyond_the_largest_number():
    checked = check(system(joint("revolute", axis=(1.7e308, 1.7e308, 0)))).joints[0]
    assert checked.axis == pytest.approx((math.sqrt(0.5), math.sqrt(0.5), 0), rel=1e-15)


@pytest.mark.parametrize(
    ("fields", "notes"),
    [
        (
            {"kind": "revolute", "axis2": Y},
            ["the second axis means nothing for a revolute joint and is ignored"],
        ),
        (
            {"kind": "spherical", "axis": Z},
            ["the axis means nothing for a spherical joint and is ignored"],
        ),
        (
            {"kind": "planar", "limit": Limit()},
            ["the limits mean nothing for a planar joint and are ignored"],
        ),
        (
            {"kind": "spherical", "limit": Limit(-1, 1)},
            [
                (
                    "the lower limit -1 is ignored: the limit of a spherical joint is of the "
                    "angle from its zero position"
                )
            ],
        ),
        ({"kind": "spherical", "limit": Limit(0, 0)}, ["the limit 0 leaves no room to move"]),
        ({"kind": "helical", "limit": Limit(1, 1)}, ["the limits 1 to 1 leave no room to move"]),
        (
            {"kind": "helical", "rest": (1.0,)},
            ["the rest position means nothing, for the stiffness is 0"],
        ),
        (
            {"kind": "fixed", "axis2": Y, "stiffness": 1.0, "rest": (1.0,), "armature": 1.0},
            [
                (
                    "a fixed joint does not move, so these mean nothing and are ignored: "
                    "axis2, stiffness, rest, armature"
                )
            ],
        ),
    ],
)
def test_noted(fields, notes):
    fields = dict(fields)
    assert told(joint(fields.pop("kind"), **fields)) == [f"joint 'j': {note}" for note in notes]


def test_what_is_noted_is_left_out():
    fixed = check(system(joint("fixed", axis2=Y, stiffness=1.0, rest=(1.0,), armature=1.0)))
    assert fixed.joints[0] == joint("fixed")
    ball = check(system(joint("spherical", limit=Limit(-1, 1, 5, 6))))
    assert ball.joints[0].limit == Limit(0, 1, 5, 6)
    assert check(system(joint("spherical", limit=Limit()))).joints[0].limit == Limit(0)


def driven(times=(0.0, 1.0), positions=((0.0,), (1.0,)), periodic=False, kind="revolute"):
    return joint(kind, motion=Trajectory(times, positions, periodic))


def test_motions_are_taken():
    assert told(driven()) == []
    assert told(joint("helical", motion="my_motion")) == []
    assert told(driven(positions=((0, 1), (2, 3)), kind="universal")) == []
    assert told(driven(positions=[0, 1])) == []


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (driven((0.0,), ((0.0,),)), "its trajectory needs two samples at least, got 1"),
        (driven((0, 1, 2)), "its trajectory has 3 times and 2 positions"),
        (driven((0, 0)), "its trajectory goes from time 0 back to 0"),
        (driven((0, NAN)), "its trajectory is not finite in sample 2"),
        (driven(positions=((math.inf,), (0,))), "its trajectory is not finite in sample 1"),
        (driven(positions=((0,), (0, 1))), "its trajectory has 2 numbers in sample 2, not 1"),
        (driven(positions=((0,), ())), "its trajectory has 0 numbers in sample 2, not 1"),
        (driven(kind="universal"), "its trajectory has 1 number in sample 1, not 2"),
        (driven(positions=(None, 1)), "its trajectory holds what is not a number"),
        (driven(positions=None), "its trajectory holds what is not a number"),
        (driven(times=("a", "b")), "its trajectory holds what is not a number"),
        (driven(periodic=True), "its trajectory is periodic, but does not end where it starts"),
        (joint("revolute", motion=""), "the name of the function that drives it is empty"),
        (
            joint("revolute", motion=3),
            "the motion is 3, neither a Trajectory nor the name of a function",
        ),
        (
            joint("spherical", motion="f"),
            (
                "a spherical joint cannot be driven over time: "
                "it has no coordinates that a motion could give one by one"
            ),
        ),
        (joint("fixed", motion="f"), "a fixed joint cannot be driven over time"),
        (
            joint("revolute", motion="f", mimic=Mimic("k")),
            "is driven over time and cannot follow 'k' too",
        ),
    ],
)
def test_bad_motions(given, sentence):
    assert refused(given) == f"built: joint 'j': {sentence}"


def test_a_period_is_closed_exactly():
    rows = ((1.0,), (3.0,), (1.0 + 1e-10,))
    checked = check(system(driven((0, 1, 2), rows, periodic=True))).joints[0]
    assert checked.motion == Trajectory((0.0, 1.0, 2.0), ((1.0,), (3.0,), (1.0,)), periodic=True)


def test_a_driven_joint_has_no_passive_forces():
    given = joint(
        "revolute", motion=MOTION, limit=Limit(-1, 1), damping=1.0, friction=2.0, armature=3.0
    )
    assert check(system(given)).joints[0] == joint("revolute", motion=MOTION)
    sentence = "is driven over time, so these mean nothing and are ignored"
    assert told(given) == [f"joint 'j': {sentence}: limit, damping, friction, armature"]


def test_a_joint_that_closes_a_loop_has_no_passive_forces():
    tree = joint("revolute"), Joint("k", "revolute", "b", "c")
    bare = Joint("m", "prismatic", "c", "a", closes_loop=True)
    given = replace(bare, limit=Limit(-1, 1), stiffness=2.0, rest=(0.5,), damping=-1.0)
    assert check(system(*tree, given)).joints[2] == bare
    sentence = "closes a loop and has no coordinate of its own"
    ignored = "so these mean nothing and are ignored: limit, damping, stiffness, rest"
    assert told(*tree, given) == [f"joint 'm': {sentence}, {ignored}"]
    assert refused(*tree, replace(bare, motion=MOTION)) == (
        f"built: joint 'm': {sentence} that could be driven over time; let another joint close "
        "the loop"
    )


def test_followers_of_the_library():
    follower = joint("helical", mimic=Mimic("k", 2.0))
    assert told(follower, Joint("k", "prismatic", "b", "c")) == []


def test_couplings_refused():
    ball = Joint("k", "spherical", "b", "c")
    assert refused(joint("helical", mimic=Mimic("k")), ball) == (
        "built: joint 'j': follows the joint 'k', which is spherical; it must be one of "
        "revolute, continuous, prismatic, helical, rack_pinion"
    )
    loop = Joint("k", "revolute", "b", "a", closes_loop=True)
    assert refused(joint("revolute", mimic=Mimic("k")), loop).startswith(
        "built: 2 errors\n"
        "  joint 'j': follows the joint 'k', which closes a loop and has no coordinate\n"
    )
    assert "a loop joint has no coordinate of its own and cannot follow another" in refused(
        joint("revolute"), replace(loop, mimic=Mimic("j"))
    )
