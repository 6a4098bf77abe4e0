# SPDX-License-Identifier: Apache-2.0
"""`rbdyn check --fix` and `--format sarif`."""

import json
import re
from pathlib import Path

import pytest
import yaml
from support.commands import run

import rbdyn_ros as rb
from rbdyn_ros.description.urdf_files import repair
from rbdyn_ros.share import bundled_robot

ARM = str(bundled_robot("seven_dof_arm"))
BODY = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    "</inertial>"
)
ODD = "<collision><geometry><cone/></geometry></collision>"
HEAD = '<?xml version="1.0"?>\n<!-- of the workshop -->\n'


def robot(joint, more="", version=""):
    return (
        f'{HEAD}<robot name="r"{version}>\n  <link name="a"/><!-- base -->\n'
        f'  <link name="b">{BODY}{more}</link>\n{joint}\n</robot>\n<!-- end -->\n'
    )


def joint(inner, kind="revolute"):
    ends = '<parent link="a"/><child link="b"/>'
    return f'  <joint name="j" type="{kind}">{ends}<!-- here -->\n    {inner}</joint>'


LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'
OPEN = '<limit lower="-1" upper="2"/>'

#: For each flaw: the file, the flags, and a part of the repaired text.
REPAIRS = {
    "no limit": (robot(joint("")), [], 'type="continuous"'),
    "no effort": (robot(joint(OPEN)), [], '<robot name="r" version="1.2">'),
    "no leader": (robot(joint(LIMIT + '<mimic joint="x"/>')), [], LIMIT + "</joint>"),
    "large effort": (robot(joint(LIMIT.replace("3", "1e30"))), [], 'upper="2" velocity="4"'),
    "a cone": (robot(joint(LIMIT), ODD), ["--contact"], f'<link name="b">{BODY}</link>'),
    "several": (robot(joint(OPEN + '<mimic joint="x"/>')), [], 'version="1.2"'),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_a_repaired_file_loads_as_repaired(name, tmp_path):
    text, flags, changed = REPAIRS[name]
    file = tmp_path / "r.urdf"
    file.write_text(text)
    assert run("check", str(file), *flags).returncode == 1
    wanted = rb.load_urdf(text, strict=False, contact=bool(flags))
    done = run("check", str(file), "--fix", *flags)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"'{file}' was repaired" in done.stdout
    fixed = file.read_text()
    assert changed in fixed
    assert re.findall("<!--.*?-->", fixed) == re.findall("<!--.*?-->", text)
    assert len(fixed.splitlines()) == len(text.splitlines())
    assert rb.load_urdf(fixed, contact=bool(flags)).sha256() == wanted.sha256()
    again = run("check", str(file), "--fix", *flags)
    assert (again.returncode, "was repaired" in again.stdout) == (0, False)
    assert file.read_text() == fixed


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        (robot(joint("", "prismatic")), []),
        (robot(joint(LIMIT.replace("2", "1e30"))), []),
        (robot(joint(LIMIT).replace('"a"', '"x"')), []),
        (robot(joint(LIMIT), '<visual name="a"><b>'), []),
        ('<!DOCTYPE robot [<!ENTITY e SYSTEM "/etc/passwd">]>' + robot(joint("")), []),
        # in a newer version of URDF this attribute would rotate the frame
        (robot(joint('<origin quat_xyzw="0 0 1 0"/>' + OPEN)), []),
        (robot(joint(OPEN), version=' version="2.0"'), []),
    ],
)
def test_a_file_without_a_possible_repair_is_not_changed(text, flags, tmp_path):
    file = tmp_path / "r.urdf"
    file.write_text(text)
    done = run("check", str(file), "--fix", *flags)
    assert done.returncode == 1
    assert "was repaired" not in done.stdout
    assert done.stderr.startswith(f"rbdyn check: {file}: ")
    assert file.read_text() == text
    assert list(tmp_path.iterdir()) == [file]


MISSPELT = {
    "a decimal comma": (LIMIT.replace("-1", "-1,5"), [], 'lower="-1.5"'),
    "commas between": (LIMIT + '<axis xyz="0, 0, 1"/>', [], '<axis xyz="0 0 1"/>'),
    "decimal commas": (LIMIT + '<origin xyz="0,1 -,5 0,25"/>', [], 'xyz="0.1 -.5 0.25"'),
    "a wheel": (
        '<limit lower="0" upper="0.0" effort="3" velocity="4"/>',
        ["--continuous"],
        '<limit effort="3" velocity="4"/>',
    ),
}


@pytest.mark.parametrize("name", MISSPELT)
def test_commas_in_numbers_and_zero_limits_of_wheels_are_repaired_in_the_file(name, tmp_path):
    inner, flags, changed = MISSPELT[name]
    file = tmp_path / "r.urdf"
    file.write_text(robot(joint(inner)))
    done = run("check", str(file), "--fix", *flags)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"line {6 if flags else 7}: joint 'j'" in done.stdout
    assert changed in file.read_text()
    assert ('type="continuous"' in file.read_text()) == bool(flags)
    again = run("check", str(file), "--fix", *flags)
    assert "there is nothing that --fix can repair" in again.stdout


def test_the_output_about_an_unrepaired_wheel_names_the_option_for_its_repair(tmp_path):
    file = tmp_path / "r.urdf"
    file.write_text(robot(joint(MISSPELT["a wheel"][0])))
    done = run("check", str(file), "--fix")
    assert "--fix --continuous makes joints with the limits 0 and 0 continuous" in done.stdout


def test_commas_and_joints_that_are_ambiguous_are_not_repaired(tmp_path):
    file = tmp_path / "r.urdf"
    for inner, status in ((LIMIT + '<axis xyz="0,0,1"/>', 1), (LIMIT.replace("-1", "2"), 0)):
        file.write_text(robot(joint(inner)))
        done = run("check", str(file), "--fix", "--continuous")
        assert (done.returncode, file.read_text()) == (status, robot(joint(inner)))
    assert run("check", str(file), "--continuous").returncode == 2


def test_repairs_are_written_even_if_other_errors_remain(tmp_path):
    text = robot(joint(LIMIT.replace("-1", "-1,5") + '<axis xyz="0 0 0"/>', "Revolute"))
    file = tmp_path / "r.urdf"
    file.write_text(text)
    before = run("check", str(file))
    assert "3 errors" in before.stderr, "the axis shows only once the type is known"
    assert "the axis is zero" in before.stderr
    done = run("check", str(file), "--fix")
    assert done.returncode == 1
    assert "type is now 'revolute', not 'Revolute'" in done.stdout
    assert "<limit> lower is now '-1.5', not '-1,5'" in done.stdout
    assert "the axis is zero" in done.stderr
    assert "Revolute" not in done.stderr
    assert 'type="revolute"' in file.read_text()


def test_only_urdf_files_are_repaired(tmp_path):
    file = tmp_path / "r.urdf.xacro"
    file.write_text(robot(joint("")))
    done = run("check", str(file), "--fix")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--fix repairs .urdf files" in done.stderr


def test_a_repair_keeps_the_encoding_and_line_ends(tmp_path):
    file = tmp_path / "r.urdf"
    text = robot(joint("")).replace("workshop", "W\xfcrth").replace("\n", "\r\n")
    file.write_bytes(text.replace('"1.0"', '"1.0" encoding="latin-1"', 1).encode("latin-1"))
    assert run("check", str(file), "--fix").returncode == 0
    fixed = file.read_bytes()
    assert b"W\xfcrth" in fixed
    assert fixed.count(b"\r\n") == fixed.count(b"\n") == text.count("\n")


def test_sarif_output_has_all_findings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "r 1.urdf"
    file.write_text(robot(joint(LIMIT + '<mimic joint="x"/><calibration/>')))
    done = run("check", "r 1.urdf", ARM, "--format", "sarif")
    assert (done.returncode, done.stderr) == (1, "")
    log = json.loads(done.stdout)
    assert (log["version"], "sarif-2.1.0" in log["$schema"]) == ("2.1.0", True)
    (ran,) = log["runs"]
    rules = [rule["id"] for rule in ran["tool"]["driver"]["rules"]]
    (result,) = (one for one in ran["results"] if one["level"] == "error")
    assert rules[result["ruleIndex"]] == result["ruleId"] == "mimic-unknown"
    (place,) = (one["physicalLocation"] for one in result["locations"])
    assert place == {"artifactLocation": {"uri": "r%201.urdf"}, "region": {"startLine": 6}}
    assert result["message"]["text"].startswith("joint 'j': it mimics")
    assert {one["level"] for one in ran["results"]} <= {"error", "warning", "note"}
    whole = json.loads(run("check", ARM, "--format", "sarif").stdout)["runs"][0]
    for one in whole["results"]:
        uri = one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert uri == Path(ARM).as_uri()


def test_several_files_can_be_checked_together(tmp_path):
    file = tmp_path / "r.urdf"
    file.write_text(robot(joint("")))
    done = run("check", str(file), ARM)
    assert done.returncode == 1
    assert "robot 'seven_dof_arm'" in done.stdout
    assert "must have a <limit>" in done.stderr
    both = json.loads(run("check", str(file), ARM, "--json").stdout)
    assert [one["ok"] for one in both] == [False, True]
    refused = run("check", str(file), ARM, "--graph", str(tmp_path / "g.svg"))
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


def test_the_hooks_of_pre_commit_name_commands_that_exist():
    hooks = yaml.safe_load((Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text())
    for hook in hooks:
        assert {"id", "name", "entry", "language", "files"} <= hook.keys()
        assert re.search(hook["files"], "urdf/arm.urdf")
        words = hook["entry"].split()
        assert words[0] == "rbdyn"
        assert run(*words[1:], ARM).returncode == 0


@pytest.mark.parametrize(
    "other",
    [
        '<gazebo><sensor pose="0"><param value="1,2"/></sensor></gazebo>',
        '<ros2_control><joint name="j" type="Revolute"><p value="1,2"/></joint></ros2_control>',
        '<transmission name="t"><joint name="j" type="Fixed" size="1,2"/></transmission>',
    ],
)
def test_elements_of_other_tools_stay_as_they_are(other, tmp_path):
    file = tmp_path / "r.urdf"
    file.write_text(robot(joint(LIMIT.replace("-1", "-1,5")) + other))
    assert run("check", str(file), "--fix").returncode == 0
    assert file.read_text() == robot(joint(LIMIT.replace("-1", "-1.5")) + other)


def test_a_repair_of_a_wheel_that_would_add_an_error_is_not_written(tmp_path, monkeypatch):
    def wrong(text, continuous=False):
        return (text.replace('"revolute"', '"round"'), ["round"]) if continuous else (text, [])

    monkeypatch.setattr(repair, "corrected_text", wrong)
    file = tmp_path / "r.urdf"
    file.write_text(robot(joint(LIMIT)))
    done = run("check", str(file), "--fix", "--continuous")
    assert (done.returncode, file.read_text()) == (0, robot(joint(LIMIT)))
