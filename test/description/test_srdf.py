# SPDX-License-Identifier: Apache-2.0
"""SRDF files list pairs of links that may overlap; they are given, or found beside a robot."""

import itertools

import numpy as np
import pytest
from support import robots
from support.refusals import refused

import rbdyn_ros as rb

LINK = """<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0"
ixz="0" iyz="0"/></inertial><collision><geometry><sphere radius="0.3"/></geometry></collision>
</link>"""
JOINT = """<joint name="j{n}" type="continuous"><origin xyz="0 0 1"/><parent link="{a}"/>
<child link="{b}"/></joint>"""
NAMES = ["base", "arm", "wrist", "hand"]
URDF = f"""<robot name="bot">{"".join(LINK.format(name=name) for name in NAMES)}{
    "".join(JOINT.format(n=n, a=a, b=b) for n, (a, b) in enumerate(itertools.pairwise(NAMES)))
}
</robot>"""
BENT = URDF.replace('type="continuous">', 'type="continuous"><axis xyz="1 0 0"/>')
ALL = {("arm", "hand"), ("wrist", "base"), ("hand", "base")}


def pair(first, second, tag="disable_collisions"):
    return f'<{tag} link1="{first}" link2="{second}" reason="Never"/>'


def srdf(*elements):
    return "\n".join(['<?xml version="1.0"?>', '<robot name="bot">', *elements, "</robot>"])


def listed(m):
    names = m.geom_names
    return {(names[g], names[h]) for g, h in m.distance_geom if names[h] != "floor"}


def load(text, **more):
    return rb.load_urdf(URDF, contact=True, srdf=text, **more)


@pytest.mark.parametrize(
    ("elements", "left"),
    [
        ([], ALL),
        ([pair("hand", "arm")], ALL - {("arm", "hand")}),
        ([pair("arm", "hand"), pair("arm", "hand"), pair("base", "hand")], {("wrist", "base")}),
        ([pair("arm", "arm")], ALL),
        (['<disable_default_collisions link="hand"/>'], {("wrist", "base")}),
        (
            [
                pair("hand", "arm", "enable_collisions"),
                '<disable_default_collisions link="hand"/>',
            ],
            {("wrist", "base"), ("arm", "hand")},
        ),
        (['<group name="g"><chain base_link="base" tip_link="hand"/></group>'], ALL),
        (
            ['<disable_collisions link1="arm" link2="hand"><a><b/></a></disable_collisions>'],
            ALL - {("arm", "hand")},
        ),
    ],
    ids=["none", "one", "two", "itself", "default", "enabled", "group", "nested"],
)
def test_pairs_disabled_in_the_srdf_are_excluded(elements, left):
    m = load(srdf(*elements))
    assert listed(m) == left
    assert [f.code for f in m.findings if f.severity == "warning"] == []


def test_the_warning_about_an_unknown_link_has_its_line_and_a_hint():
    m = load(srdf(pair("arn", "hand"), pair("arn", "base"), '<disable_collisions link1="arm"/>'))
    found = [(f.code, f.line, f.found) for f in m.findings if f.severity == "warning"]
    assert found == [("unknown-link", 3, "arn"), ("unknown-link", 5, "")]
    first = next(f for f in m.findings if f.code == "unknown-link")
    assert "arm" in first.message  # the message suggests 'arm'
    assert listed(m) == ALL


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("<robot", "malformed-xml"),
        ("<sdf/>", "not-urdf"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><robot/>', "doctype"),
        (b"<robot>\xff</robot>", "bad-encoding"),
        ("/there/is/no.srdf", "no-such-file"),
    ],
)
def test_a_given_file_that_cannot_be_read_is_refused(text, code):
    with pytest.raises(rb.DescriptionError) as caught:
        load(text)
    assert [f.code for f in caught.value.findings] == [code]


@pytest.mark.parametrize("bad", [1, None, ["a"], np.zeros(3)])
def test_an_srdf_argument_of_a_wrong_type_is_refused(bad):
    with refused(rb.ParameterError, "bad-srdf", "srdf"):
        load(bad)


def test_no_pair_is_excluded_without_contact():
    assert rb.load_urdf(URDF, srdf=srdf()).findings == rb.load_urdf(URDF).findings


@pytest.mark.parametrize(
    "place", ["urdf/robot.srdf", "urdf/srdf/robot.srdf", "srdf/robot.srdf", "srdf/bot.srdf"]
)
def test_an_srdf_beside_the_urdf_is_found(tmp_path, place):
    folder = tmp_path / "urdf"
    (folder / "srdf").mkdir(parents=True)
    (tmp_path / "srdf").mkdir()
    robot = folder / "robot.urdf"
    robot.write_text(URDF)
    assert listed(rb.load_urdf(robot, contact=True)) == ALL
    (tmp_path / place).write_text(srdf(pair("arm", "hand")))
    m = rb.load_urdf(robot, contact=True)
    assert listed(m) == ALL - {("arm", "hand")}
    assert [f.severity for f in m.findings if f.code == "srdf"] == ["note"]
    assert listed(rb.load(robot, contact=True)) == listed(m)
    assert listed(rb.load_urdf(robot, contact=True, srdf=False)) == ALL
    assert listed(rb.load_urdf(robot, contact=True, srdf=srdf())) == ALL
    assert listed(rb.load_urdf(robot, contact=True, srdf=tmp_path / place)) == listed(m)


def test_a_broken_file_beside_the_robot_is_a_warning(tmp_path):
    """Nobody asked for this file, so the robot is loaded without it."""
    robot = tmp_path / "robot.urdf"
    robot.write_text(URDF)
    (tmp_path / "robot.srdf").write_text("<robot>")
    m = rb.load_urdf(robot, contact=True)
    assert [f.code for f in m.findings if f.severity == "warning"] == ["unusable-srdf"]
    assert listed(m) == ALL


def test_the_name_of_a_robot_cannot_lead_to_another_folder(tmp_path):
    folder = tmp_path / "urdf"
    folder.mkdir()
    (tmp_path / "secret.srdf").write_text(srdf(pair("arm", "hand")))
    robot = folder / "robot.urdf"
    for name in ("../secret", str(tmp_path / "secret"), ".."):
        robot.write_text(URDF.replace('name="bot"', f'name="{name}"'))
        assert listed(rb.load_urdf(robot, contact=True)) == ALL


def state(*joints):
    values = "".join(f'<joint name="{name}" value="{value}"/>' for name, value in joints)
    return f'<group_state name="folded" group="all">{values}</group_state>'


FOLDED = [(f"j{n}", f"{value}") for n, value in enumerate((2.8, 2.8, 0.0))]


@pytest.mark.parametrize(
    ("joints", "left"),
    [
        (FOLDED, {("hand", "base")}),
        (FOLDED[1:], ALL - {("arm", "hand")}),
        (FOLDED[:2], ALL - {("wrist", "base")}),
        ([*FOLDED[1:], ("j9", "1"), ("float", "0 0 0 1 0 0 0")], ALL - {("arm", "hand")}),
        ([], ALL),
    ],
    ids=["all", "two", "others", "unknown", "none"],
)
def test_pairs_that_overlap_in_a_state_do_not_push_each_other(joints, left):
    """Here the state has all joints between two links. Distance queries still list the pair."""
    m = rb.load_urdf(BENT, contact=True, srdf=srdf(state(*joints)))
    names = m.geom_names
    assert {(names[g], names[h]) for g, h in m.push_geom} == left
    assert listed(m) == ALL
    notes = [f.message for f in m.findings if f.code == "start-overlaps"]
    assert len(notes) == (left != ALL)
    assert all("'folded'" in note for note in notes)


@pytest.mark.parametrize("value", ["fast", "nan", "1e30"])
def test_a_state_with_a_broken_position_is_ignored_with_a_warning(value):
    text = srdf(state(*FOLDED[:2], ("j2", value)))
    m = rb.load_urdf(BENT, contact=True, srdf=text)
    assert m.npush == len(ALL)
    assert [(f.code, f.line) for f in m.findings if f.severity == "warning"] == [("bad-state", 3)]


@pytest.mark.parametrize("contact", [True, False])
def test_states_that_cannot_be_keyframes_are_reported_also_without_contact(contact, tmp_path):
    nameless = state(*FOLDED).replace('name="folded"', "")
    foreign = state(("j9", "1")).replace("folded", "foreign")
    text = srdf(state(("j2", "fast")), nameless, foreign)
    m = rb.load_urdf(BENT, contact=contact, srdf=text)
    found = [(f.code, f.line) for f in m.findings if f.code in ("bad-state", "empty-state")]
    assert found == [("bad-state", 3), ("bad-state", 4), ("empty-state", 5)]
    assert m.nkey == 0
    (tmp_path / "robot.urdf").write_text(BENT)
    (tmp_path / "robot.srdf").write_text("<robot>")
    m = rb.load(tmp_path / "robot.urdf", contact=contact)
    assert [f.code for f in m.findings if f.severity == "warning"] == ["unusable-srdf"]


@robots.needs_robots
@pytest.mark.parametrize(
    ("name", "disabled"), [("panda.urdf", 35), ("ur5_robot.urdf", 10), ("go1.urdf", 658)]
)
def test_files_of_real_robots_are_read(name, disabled):
    m = rb.load_urdf(robots.find(name), contact=rb.Contact(obstacles=()), strict=False)
    assert [f.found for f in m.findings if f.code == "srdf"] == [str(disabled)]
    without = rb.load_urdf(
        robots.find(name), contact=rb.Contact(obstacles=()), strict=False, srdf=False
    )
    assert m.ndistance < without.ndistance
