"""The command `rbdyn codegen`: what it writes, what it refuses, what it never overwrites."""

import shutil

import pytest
from support.c_compilers import COMPILERS, STRICT, needs_gcc
from support.c_compilers import run as run_program
from support.commands import run

from rbdyn_ros.assets import bundled_robot
from rbdyn_ros.codegen.names import FileNames

ARM = bundled_robot("seven_dof_arm")
PENDULUM = bundled_robot("pendulum")
NAMES = tuple(FileNames("seven_dof_arm"))

ALL = "there are gravity, bias, inverse, forward, step, mass_matrix, kinematics, jacobian"

BRICK = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="1" effort="9" velocity="9"/>'


def text_of(robot, joints):
    """Return the URDF of a chain whose joints have these names, its links their numbers."""
    links = "".join(f'<link name="{k} */">{BRICK}</link>' for k in range(len(joints) + 1))
    chain = "".join(
        f'<joint name="{name}" type="revolute"><parent link="{k} */"/><child link="{k + 1} */"/>'
        f'<origin xyz="0 0.1 0.2"/><axis xyz="0 {k % 2} 1"/>{LIMIT}</joint>'
        for k, name in enumerate(joints)
    )
    return f'<?xml version="1.0"?><robot name="{robot}">{links}{chain}</robot>'


def check(folder, compiler="gcc", *more):
    """Compile what lies in a folder without a warning, and run its test."""
    sources = sorted(folder.glob("*.c"))
    run_program(compiler, *STRICT, *more, "-O0", *sources, "-lm", "-o", folder / "program")
    return run_program(folder / "program")


def test_it_says_what_it_wrote(tmp_path):
    told = run("codegen", ARM, "-o", tmp_path / "new")
    assert (told.returncode, told.stderr) == (0, "")
    lines = told.stdout.splitlines()
    assert lines[:4] == [f"wrote {tmp_path / 'new' / name}" for name in NAMES]
    assert [line.split()[0] for line in lines[4:]] == ["gravity", "inverse", "forward"]
    assert all(line.endswith(" operations") for line in lines[4:])
    assert {path.name for path in (tmp_path / "new").iterdir()} == set(NAMES)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("precision", [(), ("--float",)], ids=["double", "float"])
def test_everything_at_once(compiler, precision, tmp_path):
    told = run(
        "codegen", ARM, "-o", tmp_path, "--floating-base", "--gravity-input", "--external-forces",
        "--functions", "step, kinematics,jacobian,gravity,gravity,bias", "--timestep", 0.004,
        "--frame", "hand", "--frame", "hand", "--frame", "base_link", "--prefix", "Arm_2",
        "--lang", "c", *precision,
    )  # fmt: skip
    assert (told.returncode, told.stderr) == (0, "")
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
def test_options_change_what_they_say(tmp_path):
    """A robot that hangs on its side and does not rub: other constants, and fewer operations."""
    base = ("codegen", ARM, "--functions", "gravity,inverse")
    usual = run(*base, "-o", tmp_path / "a").stdout.splitlines()[-1]
    for k, words in enumerate((("--gravity", 9.81, 0, 0), ("--mounting", 0, 1.5, 0))):
        assert run(*base, "-o", tmp_path / f"b{k}", *words).returncode == 0
        texts = [(tmp_path / place / NAMES[1]).read_text() for place in ("a", f"b{k}")]
        assert texts[0] != texts[1]
        check(tmp_path / f"b{k}")
    still = run(*base, "-o", tmp_path / "c", "--no-passive").stdout.splitlines()[-1]
    assert int(still.split()[1]) < int(usual.split()[1])
    assert "limits of the joints are left out" in " ".join(
        (tmp_path / "c" / NAMES[0]).read_text().replace("\n *", "").split()
    )
    check(tmp_path / "c")


@needs_gcc
def test_names_from_a_hostile_file(tmp_path):
    joints = ("关节", "a b", "a-b", "*/ bad /*", "double", "??/", "__", "A_B")
    robot = tmp_path / "robot.urdf"
    robot.write_text(text_of("机器人*/", joints))
    out = tmp_path / "out"
    told = run(
        "codegen", robot, "-o", out, "--functions", "gravity,kinematics,jacobian", "--frame",
        "3 */", "--frame", "2 */",
    )  # fmt: skip
    assert (told.returncode, told.stderr) == (0, "")
    head = (out / "u673a_u5668_u4eba_dynamics.h").read_text()
    for text in ("Q_U5173_U8282 0U", "Q_A_B 1U", "Q_A_B_2 2U", "V_BAD 3U", "Q_UNNAMED 5U"):
        assert f"#define U673A_U5668_U4EBA_{text}\n" in head
    assert check(out).count(": passed") == 4


@needs_gcc
def test_mimic_joints_follow_or_not(tmp_path):
    robot = tmp_path / "robot.urdf"
    text = text_of("hand", ("thumb", "finger"))
    mimic = '<mimic joint="thumb" multiplier="-2" offset="0.1"/></joint></robot>'
    robot.write_text(text.replace("</joint></robot>", mimic))
    for words, freedoms in (((), 1), (("--no-mimic",), 2)):
        out = tmp_path / f"out{freedoms}"
        assert run("codegen", robot, "-o", out, *words).returncode == 0
        head = (out / "hand_dynamics.h").read_text()
        assert f"#define HAND_NV {freedoms}U\n" in head
        assert ("'finger' follows 'thumb': -2 q + 0.1." in head) == (freedoms == 1)
        check(out)


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("--functions", "gravty"), 2, f"no function 'gravty' (did you mean 'gravity'?); {ALL}"),
        (("--functions", ""), 2, "there is no function ''; there are gravity, "),
        (("--functions", "gravity,,bias"), 2, "there is no function ''; "),
        (("--frame", "hand"), 2, "--frame is for the function jacobian"),
        (("--functions", "jacobian"), 2, "jacobian needs a --frame"),
        (("--functions", "jacobian", "--frame", "hnad"), 1, "'hnad' (did you mean 'hand'?)"),
        (("--timestep", "0.01"), 2, "--timestep is for the function step"),
        (("--functions", "step", "--timestep", "nan"), 2, "opt.timestep is nan; allowed is "),
        (("--functions", "step", "--timestep", "0"), 2, "opt.timestep is 0.0; allowed is "),
        (("--functions", "kinematics", "--gravity-input"), 2,
         "--gravity-input is for gravity, bias, inverse, forward and step"),
        (("--functions", "gravity", "--external-forces"), 2,
         "--external-forces is for forward and step"),
        (("--prefix", "7arm"), 2, "prefix '7arm' cannot begin names in C; allowed are "),
        (("--lang", "rust"), 2, "argument --lang: invalid choice: 'rust'"),
        (("--gravity", "0", "0", "inf"), 1, "gravity is "),
    ],
)  # fmt: skip
def test_refusals(words, status, sentence, tmp_path):
    told = run("codegen", ARM, "-o", tmp_path / "out", *words)
    assert told.returncode == status
    assert told.stderr.startswith("rbdyn codegen: ")
    assert sentence in told.stderr
    assert not (tmp_path / "out").exists()


def test_robots_that_are_refused(tmp_path):
    loop, still, huge = (tmp_path / f"{name}.urdf" for name in ("loop", "still", "huge"))
    still.write_text(f'<robot name="stone"><link name="a">{BRICK}</link></robot>')
    huge.write_text(text_of("whale", ("fin",)).replace('mass value="1"', 'mass value="1e39"'))
    for robot, words, sentence in (
        ("examples/crank_slider.yaml", (), "cannot be specialised: which of its constraints"),
        (still, (), "no C can be generated for 'stone': it has no degrees of freedom"),
        (huge, ("--float",), "which is not finite as a float"),
        (loop, (), "there is no file"),
    ):
        told = run("codegen", robot, "-o", tmp_path / "out", *words)
        assert told.returncode == 1
        assert sentence in told.stderr, told.stderr
        assert not (tmp_path / "out").exists()


def test_what_it_wrote_is_replaced_and_nothing_else(tmp_path):
    out = tmp_path / "out"
    assert run("codegen", ARM, "-o", out).returncode == 0
    (out / "mine.c").write_text("int mine;\n")
    before = (out / NAMES[1]).read_bytes()
    assert run("codegen", ARM, "-o", out, "--functions", "bias").returncode == 0
    assert (out / NAMES[1]).read_bytes() != before
    assert (out / "mine.c").read_text() == "int mine;\n"


@pytest.mark.parametrize("name", NAMES)
def test_foreign_and_changed_files_stay(name, tmp_path):
    kept = {}
    foreign, changed = tmp_path / "foreign", tmp_path / "changed"
    foreign.mkdir()
    (foreign / name).write_text("precious\n")
    run("codegen", ARM, "-o", changed)
    with (changed / name).open("a") as file:
        file.write("\n")
    for folder, sentence in (
        (foreign, "there is a file of this name that rbdyn codegen has not written"),
        (changed, "it was changed after rbdyn codegen wrote it; move it away"),
    ):
        kept = {path: path.read_bytes() for path in folder.iterdir()}
        told = run("codegen", ARM, "-o", folder, "--functions", "bias")
        assert told.returncode == 2
        assert told.stderr == f"rbdyn codegen: '{folder / name}' is not written: {sentence}\n"
        assert {path: path.read_bytes() for path in folder.iterdir()} == kept


def test_a_folder_is_for_one_prefix(tmp_path):
    assert run("codegen", ARM, "-o", tmp_path).returncode == 0
    told = run("codegen", PENDULUM, "-o", tmp_path)
    assert told.returncode == 2
    sentence = "the folder has code for seven_dof_arm; a folder is for one prefix"
    assert told.stderr == f"rbdyn codegen: '{tmp_path / NAMES[3]}' is not written: {sentence}\n"
    assert {path.name for path in tmp_path.iterdir()} == set(NAMES)


def test_folders_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    for folder, sentence in (
        (tmp_path / "no" / "such", "there is no such folder above it"),
        (tmp_path / "file", "it is a file"),
    ):
        told = run("codegen", ARM, "-o", folder)
        assert told.returncode == 2
        assert told.stderr == f"rbdyn codegen: '{folder}' is not written: {sentence}\n"
    assert (tmp_path / "file").read_text() == ""


def test_a_link_to_elsewhere_is_not_followed(tmp_path):
    """Through a symbolic link nothing is written, be there a file at its end or none."""
    out, target = tmp_path / "out", tmp_path / "target"
    out.mkdir()
    (out / NAMES[1]).symlink_to(target)
    for _ in range(2):
        told = run("codegen", ARM, "-o", out)
        assert told.returncode == 2
        assert str(out / NAMES[1]) in told.stderr
        target.write_text("precious\n")
    assert target.read_text() == "precious\n"
    shutil.rmtree(out)


def test_what_would_compile_for_minutes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("rbdyn_ros.codegen.functions.MAX_OPERATIONS", 300)
    told = run("codegen", ARM, "-o", tmp_path / "out")
    assert told.returncode == 1
    assert "for 'seven_dof_arm': inverse has " in told.stderr
    assert told.stderr.endswith(" operations, more than 300\n")
    assert not (tmp_path / "out").exists()
