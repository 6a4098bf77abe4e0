"""The command `rbdyn`, started as a user starts it."""

import json
import subprocess
import sys
import time

import pytest

from rbdyn_ros.assets import bundled_robot

ARM = str(bundled_robot("seven_dof_arm"))
BROKEN = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="nan"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="a"/><child link="bb"/></joint></robot>"""


def _rbdyn(*words):
    command = [sys.executable, "-c", "from rbdyn_ros.cli import main; main()", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_check_prints_the_audit():
    told = _rbdyn("check", ARM)
    assert told.returncode == 0, told.stderr
    assert "robot 'seven_dof_arm'" in told.stdout
    assert "nq 7, nv 7" in told.stdout
    assert told.stderr == ""


def test_check_prints_json():
    told = json.loads(_rbdyn("check", ARM, "--json", "--floating-base").stdout)
    assert (told["ok"], told["nq"], told["nv"]) == (True, 14, 13)


@pytest.fixture
def broken(tmp_path):
    file = tmp_path / "broken.urdf"
    file.write_text(BROKEN)
    return str(file)


def test_refusal_lists_all_errors_with_lines(broken):
    told = _rbdyn("check", broken)
    assert told.returncode == 1
    assert "line 1:" in told.stderr
    assert "'nan'" in told.stderr
    assert "line 3:" in told.stderr
    assert "Traceback" not in told.stderr
    findings = json.loads(_rbdyn("check", broken, "--json").stdout)["findings"]
    assert len(findings) >= 2


def test_refusal_is_quick(broken):
    _rbdyn("check", broken)
    start = time.monotonic()
    _rbdyn("check", broken)
    # the promise is under a second; a bound that only a broken reader passes, on a busy machine
    assert time.monotonic() - start < 5.0


def test_repair_says_what_it_repaired(tmp_path):
    file = tmp_path / "massless.urdf"
    file.write_text(
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/></joint></robot>'
    )
    refused = _rbdyn("check", str(file))
    assert refused.returncode == 1
    assert "joint 'j': moves no inertia" in refused.stderr
    repaired = _rbdyn("check", str(file), "--repair")
    assert repaired.returncode == 0
    assert "repaired with an armature of 1e-06" in repaired.stdout


def test_a_typo_is_answered_with_what_there_is():
    told = _rbdyn("chekc", ARM)
    assert told.returncode == 2
    assert "invalid choice: 'chekc'" in told.stderr
    assert "sim" in told.stderr
    assert "check" in told.stderr


def test_missing_file():
    told = _rbdyn("check", "no_such_robot.urdf")
    assert told.returncode == 1
    assert "no_such_robot.urdf" in told.stderr
    assert "Traceback" not in told.stderr


def test_nothing_is_said_twice(tmp_path):
    file = tmp_path / "odd.urdf"
    file.write_text(
        '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="9" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
    )
    told = json.loads(_rbdyn("check", str(file), "--json").stdout)
    assert [finding["code"] for finding in told["findings"]] == ["non-physical-inertia"]
