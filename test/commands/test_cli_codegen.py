# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn codegen` writes files, prints what it wrote, and reports errors."""

import pytest
from support.c_compilers import COMPILERS, STRICT, needs_gcc
from support.c_compilers import run as run_program
from support.commands import run

from rbdyn_ros.codegen.names import FileNames
from rbdyn_ros.share import bundled_robot

ARM = bundled_robot("seven_dof_arm")
NAMES = tuple(FileNames("seven_dof_arm"))

BRICK = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="1" effort="9" velocity="9"/>'


def text_of(robot, joints):
    """Return the URDF of a chain with these names of robot and joints, and numbered links."""
    links = "".join(f'<link name="{k} */">{BRICK}</link>' for k in range(len(joints) + 1))
    chain = "".join(
        f'<joint name="{name}" type="revolute"><parent link="{k} */"/><child link="{k + 1} */"/>'
        f'<origin xyz="0 0.1 0.2"/><axis xyz="0 {k % 2} 1"/>{LIMIT}</joint>'
        for k, name in enumerate(joints)
    )
    return f'<?xml version="1.0"?><robot name="{robot}">{links}{chain}</robot>'


def check(folder, compiler="gcc", *more):
    """Compile the C files of a folder without warnings; run the test and return its output."""
    sources = sorted(folder.glob("*.c"))
    run_program(compiler, *STRICT, *more, "-O0", *sources, "-lm", "-o", folder / "program")
    return run_program(folder / "program")


def test_the_command_lists_files_and_costs(tmp_path):
    done = run("codegen", ARM, "-o", tmp_path / "new")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:4] == [f"wrote {tmp_path / 'new' / name}" for name in NAMES]
    assert [line.split()[0] for line in lines[4:]] == ["gravity", "inverse", "forward"]
    assert all(line.endswith(" operations") for line in lines[4:])
    assert {path.name for path in (tmp_path / "new").iterdir()} == set(NAMES)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("precision", [(), ("--float",)], ids=["double", "float"])
def test_all_options_work_together(compiler, precision, tmp_path):
    done = run(
        "codegen", ARM, "-o", tmp_path, "--floating-base", "--gravity-input", "--external-forces",
        "--functions", "step, kinematics,jacobian,gravity,gravity,bias", "--timestep", 0.004,
        "--frame", "hand", "--frame", "hand", "--frame", "base_link", "--prefix", "Arm_2",
        "--lang", "c", *precision,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    head = (tmp_path / "Arm_2_dynamics.h").read_text()
    number = "float" if precision else "double"
    suffix = "F" if precision else ""
    assert f"#define ARM_2_TIMESTEP 0.004{suffix}\n" in head
    assert "#define ARM_2_Q_ROOT_JOINT 0U\n#define ARM_2_V_ROOT_JOINT 0U\n" in head
    assert "#define ARM_2_NQ 14U\n#define ARM_2_NV 13U\n#define ARM_2_NBODY 9U\n" in head
    gravity = f"void Arm_2_gravity(const {number} q[ARM_2_NQ], const {number} g[3U], "
    assert f"{gravity}{number} tau[ARM_2_NV]);" in head
    assert check(tmp_path, compiler).count(": passed") == 6


@needs_gcc
def test_gravity_mounting_and_friction_change_the_code(tmp_path):
    """Gravity and mounting change constants. Without friction the code has fewer operations."""
    base = ("codegen", ARM, "--functions", "gravity,inverse")
    usual = run(*base, "-o", tmp_path / "a").stdout.splitlines()[-1]
    for k, words in enumerate((("--gravity", 9.81, 0, 0), ("--mounting", 0, 1.5, 0))):
        assert run(*base, "-o", tmp_path / f"b{k}", *words).returncode == 0
        texts = [(tmp_path / place / NAMES[1]).read_text() for place in ("a", f"b{k}")]
        assert texts[0] != texts[1]
        check(tmp_path / f"b{k}")
    still = run(*base, "-o", tmp_path / "c", "--no-passive").stdout.splitlines()[-1]
    assert int(still.split()[1]) < int(usual.split()[1])
    check(tmp_path / "c")


def test_mounting_is_in_the_header(tmp_path):
    assert run("codegen", ARM, "-o", tmp_path, "--mounting", 0, 0.5, 0).returncode == 0
    head = " ".join((tmp_path / NAMES[0]).read_text().replace("\n *", "").split())
    assert "base link, mounted with roll, pitch, yaw 0, 0.5, 0 rad" in head
    assert "world" not in head


@needs_gcc
def test_names_from_a_hostile_file_are_escaped(tmp_path):
    joints = ("关节", "a b", "a-b", "*/ bad /*", "double", "??/", "__", "A_B")
    robot = tmp_path / "robot.urdf"
    robot.write_text(text_of("机器人*/", joints))
    out = tmp_path / "out"
    done = run(
        "codegen", robot, "-o", out, "--functions", "gravity,kinematics,jacobian", "--frame",
        "3 */", "--frame", "2 */",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    head = (out / "u673a_u5668_u4eba_dynamics.h").read_text()
    for text in ("Q_U5173_U8282 0U", "Q_A_B 1U", "Q_A_B_2 2U", "V_BAD 3U", "Q_UNNAMED 5U"):
        assert f"#define U673A_U5668_U4EBA_{text}\n" in head
    assert check(out).count(": passed") == 4


@needs_gcc
def test_mimic_joints_can_be_followers_or_free(tmp_path):
    robot = tmp_path / "robot.urdf"
    text = text_of("hand", ("thumb", "finger"))
    mimic = '<mimic joint="thumb" multiplier="-0.123456789" offset="0.1"/></joint></robot>'
    robot.write_text(text.replace("</joint></robot>", mimic))
    for words, freedoms in (((), 1), (("--no-mimic",), 2)):
        out = tmp_path / f"out{freedoms}"
        assert run("codegen", robot, "-o", out, *words).returncode == 0
        head = (out / "hand_dynamics.h").read_text()
        assert f"#define HAND_NV {freedoms}U\n" in head
        assert ("'finger' mimics 'thumb': -0.123456789 q + 0.1." in head) == (freedoms == 1)
        check(out)


@pytest.mark.parametrize(
    ("words", "status", "named"),
    [
        (("--functions", "gravty"), 2, "'gravity'"),
        (("--functions", ""), 2, "gravity"),
        (("--functions", "gravity,,bias"), 2, "gravity"),
        (("--frame", "hand"), 2, "--frame"),
        (("--functions", "jacobian"), 2, "--frame"),
        (("--functions", "jacobian", "--frame", "hnad"), 1, "'hand'"),
        (("--timestep", "0.01"), 2, "--timestep"),
        (("--functions", "step", "--timestep", "nan"), 2, "--timestep"),
        (("--functions", "step", "--timestep", "0"), 2, "--timestep"),
        (("--functions", "step", "--timestep", "1e-310"), 2, "--timestep"),
        (("--functions", "step", "--float", "--timestep", "1e-60"), 2, "--timestep"),
        (("--functions", "step", "--float", "--timestep", "1e39"), 2, "--timestep"),
        (("--functions", "kinematics", "--gravity-input"), 2, "--gravity-input"),
        (("--functions", "gravity", "--external-forces"), 2, "--external-forces"),
        (("--functions", "gravity,bias", "--no-passive"), 2, "--no-passive"),
        (("--functions", "mass_matrix", "--gravity", 0, 0, -9.81), 2, "--gravity"),
        (("--functions", "kinematics", "--mounting", 0, 0, 1), 2, "--mounting"),
        (("--gravity-input", "--gravity", 0, 0, -9.81), 2, "--gravity-input"),
        (("--gravity-input", "--mounting", 0, 0, 0), 2, "--mounting"),
        (("--floating-base", "--mounting", 0, 0, 0), 2, "--mounting"),
        (("--prefix", "7arm"), 2, "'7arm'"),
        (("--lang", "rust"), 2, "'rust'"),
        (("--lang", "C\n"), 2, "'C\\n'"),
        (("--gravity", "0", "0", "inf"), 2, "gravity"),
        (("--mounting", "0", "0", "nan"), 2, "mounting"),
        (("--package-dir", "/no/such/folder"), 2, "'/no/such/folder'"),
    ],
)
def test_bad_options_are_refused(words, status, named, tmp_path):
    done = run("codegen", ARM, "-o", tmp_path / "out", *words)
    assert done.returncode == status
    assert done.stderr.startswith("rbdyn codegen: ")
    assert named in done.stderr
    assert not (tmp_path / "out").exists()


def test_robots_for_which_no_code_can_be_generated_are_refused(tmp_path):
    loop, still = (tmp_path / f"{name}.urdf" for name in ("loop", "still"))
    still.write_text(f'<robot name="stone"><link name="a">{BRICK}</link></robot>')
    for robot, words, named in (
        ("examples/crank_slider.yaml", (), "'crank_slider'"),
        (still, (), "'stone'"),
        (loop, (), "'still.urdf'"),
        (tmp_path, (), f"'{tmp_path}'"),
        ("<robot name='x'/>", (), "'<robot name='x'/>'"),
        ("x" * 300, (), "xxx"),
    ):
        done = run("codegen", robot, "-o", tmp_path / "out", *words)
        assert done.returncode == 1
        assert named in done.stderr, done.stderr
        assert not (tmp_path / "out").exists()


def test_too_many_operations_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("rbdyn_ros.codegen.functions.MAX_C_OPERATIONS", 300)
    done = run("codegen", ARM, "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "'seven_dof_arm'" in done.stderr
    assert not (tmp_path / "out").exists()
