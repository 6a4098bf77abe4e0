# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn check`."""

import json
import subprocess
import sys

import pytest
from support.commands import run as _rbdyn
from support.commands import run_process
from support.refusals import worded

import rbdyn_ros as rb
from rbdyn_ros.share import bundled_robot

ARM = str(bundled_robot("seven_dof_arm"))
BROKEN = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="nan"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="a"/><child link="bb"/></joint></robot>"""


def test_check_prints_the_audit():
    done = run_process("check", ARM)
    assert done.returncode == 0, done.stderr
    assert "robot 'seven_dof_arm'" in done.stdout
    assert "nq 7, nv 7" in done.stdout
    assert done.stderr == ""


def test_check_prints_json():
    done = json.loads(_rbdyn("check", ARM, "--json", "--floating-base").stdout)
    assert (done["ok"], done["nq"], done["nv"]) == (True, 14, 13)


def test_check_counts_geometries_with_contact(tmp_path):
    file = tmp_path / "brick.urdf"
    file.write_text(
        '<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" '
        'izz="1" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><box size="1 1 1"/>'
        "</geometry></collision></link></robot>"
    )
    words = ("check", str(file), "--json", "--floating-base")
    off, on = json.loads(_rbdyn(*words).stdout), json.loads(_rbdyn(*words, "--contact").stdout)
    assert off["geometries"] == off["obstacles"] == []
    assert [row["size"] for row in on["geometries"]] == ["edges 1 1 1 m"]
    assert [row["name"] for row in on["obstacles"]] == ["floor"]


@pytest.fixture
def broken(tmp_path):
    file = tmp_path / "broken.urdf"
    file.write_text(BROKEN)
    return str(file)


def test_check_lists_all_errors_of_a_refused_file_with_their_lines(broken):
    done = _rbdyn("check", broken)
    assert done.returncode == 1
    assert "line 1:" in done.stderr
    assert "'nan'" in done.stderr
    assert "line 3:" in done.stderr
    assert "Traceback" not in done.stderr
    findings = json.loads(_rbdyn("check", broken, "--json").stdout)["findings"]
    assert len(findings) >= 2


def test_the_option_repair_reports_each_repair(tmp_path):
    file = tmp_path / "massless.urdf"
    file.write_text(
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/></joint></robot>'
    )
    refused = _rbdyn("check", str(file))
    assert refused.returncode == 1
    assert "joint 'j'" in refused.stderr
    repaired = _rbdyn("check", str(file), "--repair")
    assert repaired.returncode == 0
    assert "joint 'j'" in repaired.stdout
    assert "an armature of 1e-06" in repaired.stdout


def test_a_missing_file_is_refused_with_the_nearest_name():
    done = _rbdyn("check", ARM.replace("seven", "sevn"))
    assert done.returncode == 1
    assert "'seven_dof_arm.urdf'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_each_finding_is_reported_once(tmp_path):
    file = tmp_path / "odd.urdf"
    file.write_text(
        '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="9" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
    )
    done = json.loads(_rbdyn("check", str(file), "--json").stdout)
    assert [finding["code"] for finding in done["findings"]] == ["non-physical-inertia"]


# mechanism files and pictures

LINKAGE = """\
rbdyn_mechanism: 1
base: ground
links:
  ground:
  crank: {box: {size: [1, 0.1, 0.1], density: 2700, xyz: [0.5, 0, 0]}}
  rod: {box: {size: [2, 0.1, 0.1], density: 2700, xyz: [1, 0, 0]}}
  slider: {box: {size: [0.1, 0.1, 0.1], density: 2700}}
joints:
  J1: {type: revolute, parent: ground, child: crank, axis: [0, 0, 1]}
  J2: {type: revolute, parent: crank, child: rod, axis: [0, 0, 1], origin: {xyz: [1, 0, 0]}}
  J3: {type: revolute, parent: rod, child: slider, axis: [0, 0, 1], origin: {xyz: [2, 0, 0]}}
loops:
  J4: {type: prismatic, predecessor: slider, successor: ground, X_S: {xyz: [3, 0, 0]}}
"""


@pytest.fixture
def linkage(tmp_path):
    file = tmp_path / "linkage.yaml"
    file.write_text(LINKAGE)
    return str(file)


def test_check_reads_a_mechanism(linkage):
    done = _rbdyn("check", linkage)
    assert done.returncode == 0, done.stderr
    assert "spanning tree: N_B 3, N_J 4, N_L 1" in done.stdout
    assert "4 J4 (prismatic) from slider to world; around it: J4, J1, J2, J3" in done.stdout
    found = json.loads(_rbdyn("check", linkage, "--json").stdout)
    assert [row["joint"] for row in found["tree"]] == ["J1", "J2", "J3"]
    assert found["loops"][0]["cycle"] == ["J4", "J1", "J2", "J3"]


def test_errors_of_a_mechanism_name_their_lines(tmp_path):
    file = tmp_path / "linkage.yaml"
    file.write_text(LINKAGE.replace("child: rod", "child: rot"))
    done = _rbdyn("check", str(file))
    assert done.returncode == 1
    assert "line 10: joint 'J2'" in done.stderr
    assert "'rot'" in done.stderr


def test_an_unknown_suffix_is_refused(tmp_path):
    file = tmp_path / "robot.usd"
    file.write_text("#usda 1.0")
    done = _rbdyn("check", str(file))
    assert done.returncode == 1
    assert "robot.usd'" in done.stderr
    assert "Traceback" not in done.stderr


def test_check_draws_the_graph(linkage, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "graph.svg"
    done = _rbdyn("check", linkage, "--graph", str(picture))
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"<?xml")
    assert "spanning tree" in done.stdout
    assert done.stderr == ""
    done = _rbdyn("check", linkage, "--json", "--graph", str(picture))
    assert json.loads(done.stdout)["ok"] is True


@pytest.mark.parametrize(
    "picture",
    ["graph.gif", "/no/such/graph.svg"],
)
def test_an_unwritable_graph_is_refused(linkage, picture):
    done = _rbdyn("check", linkage, "--graph", picture)
    assert done.returncode == 2
    assert done.stderr.startswith("rbdyn check --graph: ")
    assert done.stderr.count("\n") == 1
    assert f"'{picture}'" in done.stderr
    assert "spanning tree" in done.stdout  # the robot has no error, so the report is printed


def test_a_graph_without_the_plot_extra_is_refused(linkage):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        f"from rbdyn_ros.cli import main; main(['check', {linkage!r}, '--graph', 'x.svg'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 2
    worded("rbdyn", done.stderr.removesuffix("\n"))
    assert done.stderr.count("\n") == 1


def test_the_option_import_registers_joint_types_of_the_user(tmp_path):
    joints, mechanism = tmp_path / "joints.py", tmp_path / "lift.yaml"
    joints.write_text(
        "import rbdyn_ros as rb\n"
        "@rb.register_joint('lift', coordinates=('m',))\n"
        "def lift(q, qd, p, E, r, S, S_dot):\n"
        "    r[2], S[5, 0] = q[0], 1.0\n"
    )
    mechanism.write_text(
        "rbdyn_mechanism: 1\nbase: floor\nlinks: {car: {mass: 1, inertia: [1, 1, 1, 0, 0, 0]}}\n"
        "joints: {rail: {type: lift, parent: floor, child: car}}\n"
    )
    done = run_process("check", str(mechanism), "--import", str(joints))
    assert done.returncode == 0, done.stderr
    assert "1 car <- rail (lift)" in done.stdout
    refused = run_process("check", str(mechanism))
    assert refused.returncode == 1
    assert "line 4: joint 'rail'" in refused.stderr
    assert "'lift'" in refused.stderr
    missing = run_process("check", str(mechanism), "--import", str(tmp_path / "joint.py"))
    assert missing.returncode == 1
    assert "'joints.py'" in missing.stderr


# saved Models


def test_check_reads_a_saved_model(tmp_path):
    m, file = rb.load(ARM), tmp_path / "arm.npz"
    rb.save(m, file)
    done = _rbdyn("check", file)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"saved Model of robot 'seven_dof_arm' ({file})\n  nq 7, nv 7\n")
    assert m.sha256() in done.stdout
    assert "tool_mount" in done.stdout
    found = json.loads(_rbdyn("check", file, "--json").stdout)
    assert (found["ok"], found["nv"], found["sha256"]) == (True, 7, m.sha256())
    refused = _rbdyn("check", file, "--floating-base")
    assert refused.returncode == 1
    assert "floating_base" in refused.stderr
    file.write_bytes(b"PK")
    assert json.loads(_rbdyn("check", file, "--json").stdout)["ok"] is False


def test_a_missing_recording_is_refused_with_the_nearest_name(tmp_path):
    (tmp_path / "motion.csv").touch()
    done = _rbdyn("identify", ARM, tmp_path / "moton.csv")
    assert done.returncode == 1
    assert "'motion.csv'" in done.stderr
