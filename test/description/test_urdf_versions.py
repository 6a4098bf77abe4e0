# SPDX-License-Identifier: Apache-2.0
"""A robot is the same in URDF 1.0, 1.1 and 1.2; elements that a version lacks are reported."""

import itertools
import math

import numpy as np
import pytest
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import read_appearance
from rbdyn_ros.description.parts.geometries import Capsule, Contact
from rbdyn_ros.description.parts.poses import quat_from_rpy, rotate, rpy_from_quat
from rbdyn_ros.description.parts.types import Limit
from rbdyn_ros.description.urdf_files.urdf import read_text
from rbdyn_ros.errors import DescriptionError

LIMIT = 'lower="-1" upper="2" effort="3" velocity="4"'
NEW = 'acceleration="5" deceleration="6" jerk="7"'


def robot(turn, version="1.0", limit=LIMIT, shape='<sphere radius="0.1"/>'):
    """Return a URDF; `turn` is in the origins on lines 3, 7 and 9, and `limit` is on line 11."""
    origin = f'<origin xyz="0.1 0.2 0.3" {turn}/>'
    return f"""<robot name="r" version="{version}"><link name="a"/><link name="b">
      <inertial>
        {origin}
        <mass value="2"/><inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0.2" iyz="0.3"/>
      </inertial>
      <collision>
        {origin}<geometry>{shape}</geometry></collision></link>
      <joint name="j" type="revolute"><parent link="a"/><child link="b"/>
        {origin}
        <axis xyz="0 0 1"/>
        <limit {limit}/></joint></robot>"""


def codes(description):
    return [(finding.severity, finding.code, finding.line) for finding in description.findings]


def rpy(*angles):
    return f'rpy="{angles[0]!r} {angles[1]!r} {angles[2]!r}"'


def xyzw(*angles, length=1.0):
    w, *rest = quat_from_rpy(*angles)
    return 'quat_xyzw="{}"'.format(" ".join(repr(length * value) for value in (*rest, w)))


TURNS = [(0.3, -1.1, 2.5), (0.0, 0.0, math.pi), (math.pi / 2, 0.0, 0.0), (0.4, math.pi / 2, -0.7)]


@pytest.mark.parametrize("turn", TURNS)
def test_a_quaternion_and_its_angles_give_equal_models(turn):
    ball = '<capsule radius="0.1" length="0.2"/>'
    texts = [
        robot(rpy(*turn), "1.1", shape=ball),
        robot(xyzw(*turn), "1.1", shape=ball),
        robot(xyzw(*turn, length=1.0005), "1.2", shape=ball),
    ]
    m, *others = (rb.load_urdf(text, contact=True) for text in texts)
    for other in others:
        assert other.findings == m.findings
        for field in ("body_mat", "body_imat", "body_fullinertia", "geom_mat", "body_pos"):
            np.testing.assert_allclose(getattr(other, field), getattr(m, field), atol=1e-12)
    looks = [read_appearance(text).collisions[0].origin for text in texts]
    for axis in np.eye(3):
        turned = [rotate(look.quat, tuple(axis)) for look in looks]
        np.testing.assert_allclose(turned[1:], turned[:1] * 2, atol=1e-12)


def test_the_angles_of_a_quaternion_give_the_same_rotation():
    rng = np.random.default_rng(4)
    quats = [q / np.linalg.norm(q) for q in rng.normal(size=(200, 4))]
    for pitch, off in itertools.product((0.5 * math.pi, -0.5 * math.pi), (0, 1e-15, 1e-9, 1e-7)):
        quats += [quat_from_rpy(*rng.uniform(-3, 3, 1), pitch + off, *rng.uniform(-3, 3, 1))]
    for quat in quats:
        again = quat_from_rpy(*rpy_from_quat(tuple(quat)))
        # q and -q are one rotation; the angles have rounding errors of a few 4e-16
        assert abs(np.dot(quat, again)) == pytest.approx(1.0, abs=4e-15)
        for axis in np.eye(3):
            np.testing.assert_allclose(rotate(again, axis), rotate(tuple(quat), axis), atol=4e-15)


@pytest.mark.parametrize(
    ("turn", "code"),
    [
        ('quat_xyzw="0 0 0 0"', "zero-quaternion"),
        ('quat_xyzw="0 0 nan 1"', "not-finite"),
        ('quat_xyzw="0 0 1"', "bad-number"),
        ('quat_xyzw=""', "bad-number"),
        ('quat_xyzw="1e300 0 0 1"', "out-of-range"),
        ('quat_xyzw="0 0 0 1" rpy="0 0 0"', "two-orientations"),
        ('rpy="0 0 1" quat_xyzw="0 0 0 1"', "two-orientations"),
    ],
)
def test_bad_orientations_are_refused_in_every_origin(turn, code):
    with refused(DescriptionError, [code] * 3, "link 'b'", line=3) as caught:
        read_text(robot(turn, "1.1"), contact=True)
    assert [finding.line for finding in caught.value.findings] == [3, 7, 9]


def test_a_long_quaternion_is_normalised_with_a_note():
    description = read_text(robot('quat_xyzw="0 0 2 0"', "1.1"))
    assert codes(description) == [("note", "quaternion-normalised", n) for n in (3, 9)]
    assert description.joints[0].origin.quat == pytest.approx((0, 0, 0, 1), abs=1e-16)


@pytest.mark.parametrize("beside", ["", ' rpy="0 0 0.5"'])
@pytest.mark.parametrize("version", ['version="1.0"', ""])
def test_version_1_0_has_no_quaternion(version, beside):
    """As in urdfdom, the angles are used, and a quaternion is ignored with a warning."""
    text = robot(f'quat_xyzw="0 0 1 0"{beside}').replace('version="1.0"', version)
    description = read_text(text)
    assert codes(description) == [("warning", "newer-attribute", n) for n in (3, 9)]
    angle = 0.5 if beside else 0.0
    assert description.joints[0].origin.quat == quat_from_rpy(0.0, 0.0, angle)


def test_version_1_0_has_no_capsule():
    """As in urdfdom, a capsule is left out with a warning."""
    text = robot("", shape='<capsule radius="1" length="2"/>')
    left = read_text(text, contact=True)
    assert (left.geometries, codes(left)) == ((), [("warning", "newer-shape", 7)])
    look = read_appearance(text)
    assert (look.collisions, [f.code for f in look.findings]) == ((), ["newer-shape"])
    newer = read_text(text.replace("1.0", "1.1"), contact=Contact())
    assert (newer.geometries[0].shape, newer.findings) == (Capsule(1.0, 2.0), ())


def test_version_1_2_requires_position_limits():
    text = robot("", "1.2", 'upper="2"')
    with refused(DescriptionError, "missing-bound", "joint 'j'", line=11):
        read_text(text)
    repaired = read_text(text, strict=False)
    assert (repaired.joints[0].limit.lower, codes(repaired)) == (
        0.0,
        [("warning", "missing-bound", 11)],
    )
    assert codes(read_text(text.replace("revolute", "continuous")))[0][0] == "note"


#: Arguments of `robot` with which urdfdom and this reader agree.
CASES = {
    **{f"version {v}": ("", v) for v in (" 1.0", "1.00", "01.1", "1", "1.3", "0.9", "", "1.0.0")},
    **{f"a quaternion in {v}": ('quat_xyzw="0 0 0.6 0.8"', v) for v in ("1.0", "1.1", "1.2")},
    "a quaternion beside angles in 1.0": ('quat_xyzw="0 0 1 0" rpy="0 0 0.5"', "1.0"),
    "a quaternion beside angles": ('quat_xyzw="0 0 1 0" rpy="0 0 0.5"', "1.1"),
    "a long quaternion": ('quat_xyzw="0 0 2 1"', "1.1"),
    "three numbers": ('quat_xyzw="0 0 1"', "1.1"),
    "nan": ('quat_xyzw="0 0 nan 1"', "1.1"),
    "an ignored acceleration": ("", "1.1", f'{LIMIT} acceleration="fast"'),
    "a negative acceleration": ("", "1.2", f'{LIMIT} acceleration="-1"'),
    "a jerk that is nan": ("", "1.2", f'{LIMIT} jerk="nan"'),
    "no effort in 1.1": ("", "1.1", 'lower="-1" upper="2"'),
    "no effort in 1.2": ("", "1.2", 'lower="-1" upper="2"'),
    "no lower in 1.1": ("", "1.1", 'upper="2" effort="3" velocity="4"'),
    "no lower in 1.2": ("", "1.2", 'upper="2" effort="3" velocity="4"'),
}


@pytest.mark.parametrize("case", CASES)
def test_each_version_of_urdf_is_read_or_refused_as_by_urdfdom(case):
    """Pinocchio uses urdfdom, for which a zero quaternion is the identity; here it is refused."""
    pin = pytest.importorskip("pinocchio")
    try:
        pin.buildModelFromXML(robot("", "1.2"))
    except ValueError:
        pytest.skip("this urdfdom does not know URDF 1.2")
    text = robot(*CASES[case])
    try:
        theirs = pin.buildModelFromXML(text)
    except ValueError:
        with pytest.raises(DescriptionError):
            read_text(text)
        return
    joint = read_text(text).joints[0]
    for k, axis in enumerate(np.eye(3)):
        turned = theirs.jointPlacements[1].rotation[:, k]
        np.testing.assert_allclose(rotate(joint.origin.quat, tuple(axis)), turned, atol=1e-12)
    assert theirs.velocityLimit[0] == joint.limit.velocity
    assert theirs.lowerPositionLimit[0] == joint.limit.lower


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_limits_of_a_newer_version_are_ignored_with_a_warning(version):
    description = read_text(robot("", version, f"{LIMIT} {NEW}"))
    assert codes(description) == [("warning", "newer-attribute", 11)] * 3
    assert description.joints[0].limit == Limit(-1, 2, 3, 4)


def test_limits_of_version_1_2_are_read(tmp_path):
    text = robot("", "1.2", f"{LIMIT} {NEW}")
    description = read_text(text)
    assert description.joints[0].limit == Limit(-1, 2, 3, 4, 5, 6, 7)
    assert description.findings == ()
    m = rb.load_urdf(text)
    assert (m.jnt_acceleration[0], m.jnt_deceleration[0], m.jnt_jerk[0]) == (5, 6, 7)
    rb.save(m, tmp_path / "m.npz")
    again = rb.load(tmp_path / "m.npz")
    assert again.sha256() == m.sha256()
    assert (again.jnt_acceleration, again.jnt_deceleration, again.jnt_jerk) == ([5], [6], [7])
    old = rb.load_urdf(robot("", "1.2"))
    assert old.sha256() == m.sha256()  # the new limits have no effect on the motion
    for field in ("jnt_acceleration", "jnt_deceleration", "jnt_jerk"):
        assert getattr(old, field) == [math.inf]
    # since 1.2 effort and velocity are optional
    bare = read_text(robot("", "1.2", 'lower="-1" upper="2"'))
    assert (bare.joints[0].limit, bare.findings) == (Limit(-1, 2), ())
    with refused(DescriptionError, ["missing-attribute"] * 2, "joint 'j'", line=11):
        read_text(robot("", "1.1", 'lower="-1" upper="2"'))


@pytest.mark.parametrize("what", ["acceleration", "deceleration", "jerk"])
@pytest.mark.parametrize(
    ("number", "code", "line"),
    [("nan", "not-finite", 11), ("-1", None, 8), ("fast", "bad-number", 11), ("1e30", None, 8)],
)
def test_bad_limits_of_version_1_2_are_refused(what, number, code, line):
    code = code or ("out-of-range" if number == "1e30" else f"negative-{what}")
    with refused(DescriptionError, code, "joint 'j'", line=line):
        read_text(robot("", "1.2", f'{LIMIT} {what}="{number}"'))


@pytest.mark.parametrize(
    "version", ["1.3", "2.0", "0.9", "1", "1.0.0", "1.0~pre6", "", "one", "-1.0"]
)
def test_an_unknown_version_is_refused(version):
    with refused(DescriptionError, "bad-version", "", line=1, found=version):
        read_text(robot("", version))
