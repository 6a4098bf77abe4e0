# SPDX-License-Identifier: Apache-2.0
"""A finding about a misplaced element or attribute in a URDF names the right place."""

import pytest
from support.refusals import refused

from rbdyn_ros.description.urdf_files.schema import SCHEMA
from rbdyn_ros.description.urdf_files.urdf import read_text
from rbdyn_ros.errors import DescriptionError

BODY = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
AXIS = '<axis xyz="0 0 1"/>'
LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
LEADER = (
    f'<link name="c"/><joint name="k" type="revolute"><parent link="a"/><child link="c"/>{LIMIT}'
    "</joint>"
)


def document(*, link="", body=BODY, joint="", inner=LIMIT + AXIS, more=""):
    return (
        f'<robot name="r">{LEADER}<link name="a"/><link name="b"{link}>{body}</link>'
        f'<joint name="j" type="revolute"{joint}><parent link="a"/><child link="b"/>{inner}'
        f"</joint>{more}</robot>"
    )


def inside(inner):
    return document(inner=LIMIT + AXIS + inner)


def inertial(old, new):
    return document(body=BODY.replace(old, new))


#: Documents with a misplaced word that would change the motion, and its right place.
LOST = {
    "an axis of the joint": (document(joint=' axis="0 0 1"', inner=LIMIT), "<axis xyz>"),
    "damping of the joint": (document(joint=' damping="0.5"'), "<dynamics damping>"),
    "friction of the joint": (document(joint=' friction="0.5"'), "<dynamics friction>"),
    "a bound of the joint": (
        document(joint=' lower="-2"', inner=AXIS + '<limit effort="1" velocity="1"/>'),
        "<limit lower>",
    ),
    "a place of the joint": (document(joint=' xyz="0 0 1"'), "<origin xyz>"),
    "an origin of the joint": (document(joint=' origin="0 0 1"'), "<origin xyz>"),
    "a leader of the joint": (document(joint=' mimic="k"'), "<mimic joint>"),
    "damping as an element": (inside('<damping value="0.5"/>'), "<dynamics damping>"),
    "damping as text": (inside("<damping>0.5</damping>"), "<dynamics damping>"),
    "xyz as an element": (inside("<origin><xyz>0 0 1</xyz></origin>"), "<origin xyz>"),
    "damping of a limit": (inside("").replace("/>", ' damping="3"/>', 4), "<dynamics damping>"),
    "a limit of other words": (
        document(inner=AXIS + '<limit min="-1" effort="1" velocity="1"/>'),
        "<limit lower>",
    ),
    "a ratio": (inside('<mimic joint="k" ratio="2"/>'), "<mimic multiplier>"),
    "a ratio as text": (inside('<mimic joint="k">2</mimic>'), "<mimic multiplier>"),
    "coordinates": (inside('<origin z="3"/>'), "<origin xyz>"),
    "an angle": (inside('<origin xyz="0 0 1" yaw="1"/>'), "<origin rpy>"),
    "a quaternion": (inside('<origin quat="1 0 0 0"/>'), "<origin quat_xyzw>"),
    "an origin as text": (inside("<origin>0 0 1</origin>"), "<origin xyz>"),
    "a pose": (inside("<pose>0 0 1 0 0 0</pose>"), "<origin>"),
    "an axis in the origin": (
        document(inner=LIMIT + f"<origin>{AXIS}</origin>"),
        "<joint>",
    ),
    "a place of the inertial": (inertial("<inertial", '<inertial xyz="0 0 1"'), "<origin xyz>"),
    "a place of the inertia": (inertial("<inertia ", '<inertia rpy="0 0 1" '), "<origin rpy>"),
    "a center of mass": (inertial("<mass", '<com xyz="0 0 1"/><mass'), "<origin xyz>"),
    "grams": (inertial("<mass", '<mass unit="g"'), "convert"),
    "a mass of the link": (document(link=' mass="1"', body=""), "<mass value>"),
    "a mass in the link": (document(body='<mass value="1"/>'), "<inertial>"),
    "an inertial in the joint": (inside(BODY), "<link>"),
    "a joint in the link": (document(body='<joint name="q" type="fixed"/>'), "<robot>"),
    "a place of the parent": (
        document().replace('<parent link="a"/><child link="b"', '<parent link="a" xyz="1 0 0"/>'
                           '<child link="b"'),
        "<origin xyz>",
    ),
}  # fmt: skip

#: Documents with a misplaced word that would not change the motion, and the finding's severity.
HARMLESS = {
    "no damping": (document(joint=' damping="0"'), "note"),
    "no damping as text": (inside("<damping> 0 </damping>"), "note"),
    "the usual axis": (document(joint=' axis="1 0 0"', inner=LIMIT), "note"),
    "the usual ratio": (inside('<mimic joint="k" ratio="1"/>'), "note"),
    "kilograms": (inertial("<mass", '<mass unit="kg"'), "note"),
    "a turn of the axis": (document(inner=LIMIT + '<axis xyz="0 0 1" rpy="0 0 0"/>'), "note"),
    "an origin of a link": (document(body=f'<origin xyz="0 0 0"/>{BODY}'), "note"),
    "a place of a link": (document(body=f'<origin xyz="0 0 1"/>{BODY}'), "warning"),
    "an axis twice": (document(joint=' axis="0 0 1"'), "warning"),
    "damping twice": (
        document(joint=' damping="1"', inner=LIMIT + AXIS + '<dynamics damping="1"/>'),
        "warning",
    ),
    "a rotor": (inside('<armature value="1"/>'), "warning"),
    "a rotor in dynamics": (inside('<dynamics damping="1" armature="1"/>'), "warning"),
    "a spring": (inside('<dynamics damping="1" spring_stiffness="3"/>'), "warning"),
    "an inertial of nothing": (document(more=BODY), "warning"),
}


@pytest.mark.parametrize("form", LOST)
def test_a_misplaced_word_that_would_change_the_motion_is_refused(form):
    text, place = LOST[form]
    with pytest.raises(DescriptionError) as caught:
        read_text(text)
    assert {finding.code for finding in caught.value.findings} >= {"misplaced"}
    assert any(place in finding.message for finding in caught.value.findings)


def test_a_misplaced_word_is_ignored_with_a_warning_without_strict():
    text, place = LOST["damping of the joint"]
    with refused(DescriptionError, "misplaced", "joint 'j'", line=1, found="damping"):
        read_text(text)
    (finding,) = read_text(text, strict=False).findings
    assert (finding.severity, finding.code) == ("warning", "misplaced")
    assert place in finding.message


@pytest.mark.parametrize("form", HARMLESS)
def test_a_misplaced_word_that_would_not_change_the_motion_is_reported(form):
    text, severity = HARMLESS[form]
    (finding,) = read_text(text).findings
    assert (finding.severity, finding.code) == (severity, "misplaced")


@pytest.mark.parametrize(
    "text",
    [
        document(link=' concave="yes"'),
        document(inner=LIMIT.replace("/>", ' group="3"/>') + AXIS),
        inside('<hardwareInterface name="x"/><drake:rotor_inertia value="1"/>'),
        inside('<origin xyz="0 0 1" name="x"/>'),
    ],
)
def test_unused_extensions_get_a_note(text):
    assert {(f.severity, f.code) for f in read_text(text).findings} == {("note", "not-used")}


def _moved():
    """Yield elements, each with every numeric attribute that belongs to another element."""
    parts = {"link": ("link", "inertial", "mass", "inertia"), "joint": ("joint", "limit", "mimic")}
    for tags in parts.values():
        words = {word for tag in (*tags, "origin", "dynamics") for word in SCHEMA[tag].kinds}
        for tag in tags:
            for word in sorted(words):
                count = SCHEMA[tag].kinds.get(word)
                if count is None and word not in ("name", "type", "link", "joint", "quat_xyzw"):
                    yield tag, word


@pytest.mark.parametrize(("tag", "word"), list(_moved()))
def test_a_finding_reports_every_attribute_of_the_schema_in_a_wrong_element(tag, word):
    text = inside('<mimic joint="k"/>')
    at = text.rindex(f"<{tag} ") if f"<{tag} " in text else text.rindex(f"<{tag}>")
    vector = word in ("xyz", "rpy")
    end = at + 1 + len(tag)
    changed = f'{text[:end]} {word}="{"1 2 3" if vector else "5"}"{text[end:]}'
    findings = read_text(changed, strict=False).findings
    assert any(f.code == "misplaced" and f.found == word for f in findings)
    assert not any(f.code == "misplaced" for f in read_text(text).findings)


def test_each_word_is_reported_once():
    (finding,) = read_text(inside('<armature value="1"/>' * 100_000)).findings
    assert finding.code == "misplaced"
