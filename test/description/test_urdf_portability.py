# SPDX-License-Identifier: Apache-2.0
"""A warning names what urdfdom refuses in a URDF. Pinocchio reads URDF with urdfdom 6.0."""

import pytest

from rbdyn_ros.description.urdf_files.urdf import read_text

AXIS = '<axis xyz="0 0 1"/>'
LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'


def document(*, mass="1.5", place="0 0 1", inner=AXIS + LIMIT, kind="revolute", more=""):
    return (
        f'<robot name="r">{more}<link name="a"/><link name="b"><inertial><origin xyz="{place}"/>'
        f'<mass value="{mass}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        f'</inertial></link><joint name="j" type="{kind}"><parent link="a"/><child link="b"/>'
        f"{inner}</joint></robot>"
    )


def part(text):
    return document(inner=AXIS + LIMIT + text)


MATERIAL = '<material name="m"><color rgba="1 0 0 1"/></material>'
REFUSED = {
    "a blank after a mass": document(mass="1.5 "),
    "a tab after a mass": document(mass="1.5\t"),
    "a tab in a vector": document(place="0\t0 1"),
    "a tab as a character": document(place="0&#9;0 1"),
    "a line break in a vector": document(place="0\n0 1"),
    "a Windows line break": document(place="0 0\r\n1"),
    "a line break after a vector": document(place="0 0 1\n"),
    "a line break between blanks": document(place="0 \n 0 1"),
    "a tab in an axis": document(inner=LIMIT + '<axis xyz="0\t0 1"/>'),
    "a blank after a limit": document(inner=AXIS + LIMIT.replace('"-1"', '"-1 "')),
    "single quotes": document(inner=AXIS + LIMIT.replace('"-1"', "'-1 '")),
    "dynamics without numbers": part("<dynamics/>"),
    "dynamics with another word": part('<dynamics model="x"/>'),
    "an empty safety_controller": part("<safety_controller/>"),
    "a bad safety_controller": part('<safety_controller k_velocity="1" k_position="x"/>'),
    "a bad calibration": part('<calibration rising="x"/>'),
    "two materials": document(more=MATERIAL * 2),
    "two materials without names": document(more="<material/>" * 2),
}
READ = {
    "nothing special": document(),
    "a blank before a mass": document(mass=" 1.5"),
    "a line break before a mass": document(mass="\n1.5"),
    "blanks around a vector": document(place="  0  0 1 "),
    "a line break after a blank": document(place="0 0 \n1"),
    "forms of numbers": document(mass="+15.e-1", place=".5 1E-3 -0"),
    "a tab in the axis of a fixed joint": document(inner='<axis xyz="0\t0 1"/>', kind="fixed"),
    "a safety_controller": part('<safety_controller k_velocity="1"/>'),
    "an empty calibration": part("<calibration/>"),
    "a tab between attributes": document(inner=AXIS + LIMIT.replace(" ", "\t")),
    "a material": document(more=MATERIAL),
}


def read_by_urdfdom(text):
    """Return whether Pinocchio reads a robot, with the right mass if it has joints."""
    pinocchio = pytest.importorskip("pinocchio", minversion="4.1")
    try:
        model = pinocchio.buildModelFromXML(text)
    except ValueError:
        return False
    return model.nq == 0 or sum(body.mass for body in model.inertias) == 1.5


@pytest.mark.parametrize("form", [*REFUSED, *READ])
def test_documents_that_urdfdom_refuses_have_a_warning(form):
    text = REFUSED.get(form) or READ[form]
    found = [(f.severity, f.code) for f in read_text(text).findings if f.code == "unportable"]
    assert found == ([("warning", "unportable")] if form in REFUSED else [])


@pytest.mark.parametrize("form", [*REFUSED, *READ])
def test_urdfdom_refuses_exactly_the_documents_with_the_warning(form):
    assert read_by_urdfdom(REFUSED.get(form) or READ[form]) == (form in READ)


def test_line_breaks_in_numbers_change_neither_values_nor_reported_lines():
    plain, broken = document(), document(mass="\n1.5\n", place="0\n0\n\n1")
    links = [read_text(text).links[1].inertial for text in (plain, broken)]
    assert links[0] == links[1]
    assert read_text(broken).joints[0].line == 1 + broken.count("\n")


def test_a_finding_shows_the_attribute_as_written_in_the_file():
    (finding,) = read_text(document(place="0\t0 1")).findings
    assert (finding.element, finding.found) == ("link 'b'", "0\t0 1")


@pytest.mark.parametrize(
    "comment", ["<!-- it's = '1\n2\" -->", '<![CDATA[ a="1\t2 ]]>', '<x a="\t1"/>']
)
def test_an_unportable_attribute_is_found_after_quotes_in_comments_and_text(comment):
    text = document(more=comment, place="0\t0 1")
    assert [f.code for f in read_text(text).findings][:1] == ["unportable"]
