# SPDX-License-Identifier: Apache-2.0
"""`rbdyn check` refuses a robot whose appearance is broken."""

import json

import pytest
from support.commands import run

import rbdyn_ros as rb

BAD = "<{}><geometry><box/></geometry></{}>"


def robot(*parts, version=""):
    return f'<robot name="r"{version}>\n<link name="a">\n{"".join(parts)}</link></robot>'


@pytest.fixture
def check(tmp_path):
    def checked(text, *flags, name="r.urdf"):
        file = tmp_path / name
        file.write_text(text)
        done = run("check", str(file), "--json", *flags)
        return done.returncode, json.loads(done.stdout), file

    return checked


@pytest.mark.parametrize("kind", ["visual", "collision"])
@pytest.mark.parametrize("flags", [[], ["--contact"], ["--floating-base"]])
def test_a_broken_element_is_reported_as_one_error(kind, flags, check):
    status, report, file = check(robot(BAD.format(kind, kind)), *flags)
    found = [(f["code"], f["line"]) for f in report["findings"]]
    assert (status, report["ok"], found) == (1, False, [("missing-attribute", 3)])
    assert rb.load_urdf(file).name == "r"


def test_all_errors_are_printed(check):
    text = robot(BAD.format("visual", "visual"), '<inertial><mass value="x"/></inertial>')
    codes = {f["code"] for f in check(text)[1]["findings"]}
    assert codes == {"missing-attribute", "bad-number", "missing-element"}


def test_the_appearance_of_a_xacro_file_is_checked(check):
    pytest.importorskip("xacro")
    status, report, _ = check(robot(BAD.format("visual", "visual")), name="r.urdf.xacro")
    assert (status, [f["code"] for f in report["findings"]]) == (1, ["missing-attribute"])


def test_a_missing_visual_mesh_is_a_warning_in_the_report(check):
    mesh = '<visual><geometry><mesh filename="package://no/x.stl"/></geometry></visual>'
    status, report, _ = check(robot(mesh))
    assert (status, report["ok"]) == (0, True)
    assert "missing-meshes" in [f["code"] for f in report["findings"]]


def test_a_broken_element_is_only_a_warning_with_repair(check):
    status, report, _ = check(robot(BAD.format("visual", "visual")), "--repair")
    severities = {f["severity"] for f in report["findings"] if f["code"] == "missing-attribute"}
    assert (status, severities) == (0, {"warning"})


def test_fix_writes_nothing_while_an_element_is_broken(check):
    text = robot(BAD.format("visual", "visual"), version=' version="2.0"')
    status, report, file = check(text, "--fix")
    assert (status, file.read_text()) == (1, text)
    assert {"unknown-version", "missing-attribute"} & {f["code"] for f in report["findings"]}


def test_fix_removes_a_collision_element_with_an_unknown_shape(check):
    text = robot("<collision><geometry><cone/></geometry></collision>")
    status, report, file = check(text, "--fix")
    assert (status, report["ok"]) == (0, True)
    assert "cone" not in file.read_text()
