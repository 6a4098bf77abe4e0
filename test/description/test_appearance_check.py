# SPDX-License-Identifier: Apache-2.0
"""Broken <visual> and <collision> elements are errors in `rbdyn check`, but not when loading."""

import pytest

from rbdyn_ros.description.appearance.check import check_appearance
from rbdyn_ros.description.urdf_files.urdf import read_text

BOX = '<geometry><box size="1 1 1"/></geometry>'


def robot(inner, kind="visual", more=""):
    return f'<robot name="r">{more}\n<link name="a">\n<{kind}>\n{inner}</{kind}></link></robot>'


def shape(text):
    return f"<geometry>{text}</geometry>"


def material(inner, name=' name="m"'):
    return f"{BOX}<material{name}>{inner}</material>"


#: The content of a broken element, and the code of the error.
BROKEN = {
    "nothing": ("", "missing-element"),
    "no shape": (shape(""), "missing-element"),
    "two shapes": (shape('<sphere radius="1"/><box size="1 1 1"/>'), "duplicate-element"),
    "two geometries": (BOX + BOX, "duplicate-element"),
    "no such shape": (shape('<cone radius="1"/>'), "unknown-shape"),
    "a shape without geometry": ('<box size="1 1 1"/>', "misplaced"),
    "no size": (shape("<box/>"), "missing-attribute"),
    "two of three": (shape('<box size="1 1"/>'), "bad-number"),
    "a decimal comma": (shape('<sphere radius="0,5"/>'), "bad-number"),
    "a unit": (shape('<sphere radius="5mm"/>'), "bad-number"),
    "NaN": (shape('<sphere radius="nan"/>'), "not-finite"),
    "no radius": (shape("<sphere/>"), "missing-attribute"),
    "a negative radius": (shape('<sphere radius="-1"/>'), "non-positive-radius"),
    "no thickness": (shape('<box size="1 1 0"/>'), "non-positive-size"),
    "no length": (shape('<cylinder radius="1"/>'), "missing-attribute"),
    "no file": (shape("<mesh/>"), "missing-attribute"),
    "an empty name": (shape('<mesh filename=""/>'), "missing-attribute"),
    "a mesh that is not there": (shape('<mesh filename="x.stl"/>'), "mesh-missing"),
    "a bad scale": (shape('<mesh filename="a.stl" scale="0.001"/>'), "bad-number"),
    "no scale": (shape('<mesh filename="a.stl" scale="0 0 0"/>'), "zero-scale"),
    "a scale of the geometry": (
        '<geometry scale="2 2 2"><mesh filename="a.stl"/></geometry>',
        "misplaced",
    ),
    "a scale of a box": (shape('<box size="1 1 1" scale="2 2 2"/>'), "misplaced"),
    "millimetres": (shape('<mesh filename="a.stl" unit="mm"/>'), "misplaced"),
    "a bad origin": ('<origin xyz="0 0"/>' + BOX, "bad-number"),
    "two origins": ("<origin/><origin/>" + BOX, "duplicate-element"),
    "an origin as text": ("<origin>0 0 1</origin>" + BOX, "misplaced"),
    "a distant origin": ('<origin xyz="1e30 0 0"/>' + BOX, "out-of-range"),
}
COLORS = {
    "three numbers": '<color rgba="1 0 0"/>',
    "no numbers": "<color/>",
    "a name": '<color rgba="red"/>',
}


def errors(text, **options):
    findings = check_appearance(text, "r.urdf", **options)
    return [(f.code, f.line) for f in findings if f.severity == "error"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.stl").write_bytes(b"")  # the check does not open meshes
    return tmp_path


@pytest.mark.parametrize("kind", ["visual", "collision"])
@pytest.mark.parametrize("flaw", BROKEN)
def test_broken_elements_are_errors(flaw, kind, folder):
    inner, code = BROKEN[flaw]
    found = errors(robot(inner, kind), folder=folder)
    assert code in [found_code for found_code, _ in found]
    assert all(line in (3, 4) for _, line in found)
    assert read_text(robot(inner, kind)).findings == ()


@pytest.mark.parametrize("flaw", COLORS)
def test_broken_colors_are_errors(flaw):
    assert errors(robot(material(COLORS[flaw]))) == [("bad-color", 4)]
    whole = f'<material name="m">{COLORS[flaw]}</material>'
    assert errors(robot(BOX, more=whole)) == [("bad-color", 1)]


def test_each_broken_element_is_an_error():
    assert errors(robot(BOX + "</visual><visual>" + "</visual>\n<visual>")) == [
        ("missing-element", 4),
        ("missing-element", 5),
    ]


def test_errors_are_warnings_unless_strict():
    (finding,) = check_appearance(robot(""), "r.urdf", strict=False)
    assert (finding.severity, finding.code) == ("warning", "missing-element")


def test_the_check_of_collisions_can_be_switched_off():
    assert errors(robot("", "collision"), collisions=False) == []


@pytest.mark.parametrize(
    ("inner", "code"),
    [
        (shape('<mesh filename="package://nowhere/x.stl"/>'), "missing-meshes"),
        (shape('<mesh filename="x.glb"/>'), "missing-meshes"),
        (shape('<capsule radius="1" length="1"/>'), "newer-shape"),
        (material('<color rgba="1 0 0 1"/>', name=""), "unportable"),
        (BOX.replace('"1 1 1"', '"1\t1 1"'), "unportable"),
    ],
)
def test_elements_that_some_programs_cannot_show_cause_a_warning(inner, code, folder):
    (finding,) = check_appearance(robot(inner), "r.urdf", folder=folder)
    assert (finding.severity, finding.code) == ("warning", code)


def test_a_sound_appearance_has_no_findings(folder):
    sound = '<origin xyz="0 0 1"/><geometry><mesh filename="a.stl" scale="1 -1 1"/></geometry>'
    text = robot(f'{sound}<material name="m"><color rgba="1 0 0 1"/></material>')
    assert check_appearance(text, "r.urdf", folder=folder) == ()
