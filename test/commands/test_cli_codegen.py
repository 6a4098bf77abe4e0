"""The command `rbdyn codegen`: what it writes, what it says, what it refuses."""

import pytest
from support.c_compilers import COMPILERS, STRICT, needs_gcc
from support.c_compilers import run as run_program
from support.commands import run

from rbdyn_ros.codegen.names import FileNames
from rbdyn_ros.loading.assets import bundled_robot

ARM = bundled_robot("seven_dof_arm")
NAMES = tuple(FileNames("seven_dof_arm"))

ALL = "there are gravity, bias, inverse, forward, step, mass_matrix, kinematics, jacobian"

FILES = "give the path of a .urdf, .xacro or mechanism .yaml file"

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


def test_mounting_is_in_the_header_and_in_the_help(tmp_path):
    assert run("codegen", ARM, "-o", tmp_path, "--mounting", 0, 0.5, 0).returncode == 0
    head = " ".join((tmp_path / NAMES[0]).read_text().replace("\n *", "").split())
    assert "base link, mounted with roll, pitch, yaw 0, 0.5, 0 rad" in head
    assert "world" not in head
    told = " ".join(run("codegen", "--help").stdout.split())
    assert "With --mounting, gravity is turned into the axes of the base link, and poses" in told


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
    mimic = '<mimic joint="thumb" multiplier="-0.123456789" offset="0.1"/></joint></robot>'
    robot.write_text(text.replace("</joint></robot>", mimic))
    for words, freedoms in (((), 1), (("--no-mimic",), 2)):
        out = tmp_path / f"out{freedoms}"
        assert run("codegen", robot, "-o", out, *words).returncode == 0
        head = (out / "hand_dynamics.h").read_text()
        assert f"#define HAND_NV {freedoms}U\n" in head
        assert ("'finger' follows 'thumb': -0.123456789 q + 0.1." in head) == (freedoms == 1)
        check(out)


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("--functions", "gravty"), 2, f"no function 'gravty' (did you mean 'gravity'?); {ALL}"),
        (("--functions", ""), 2, f"a name is missing; {ALL}"),
        (("--functions", "gravity,,bias"), 2, f"a name is missing; {ALL}"),
        (("--frame", "hand"), 2, "--frame is for the function jacobian"),
        (("--functions", "jacobian"), 2, "jacobian needs a --frame"),
        (("--functions", "jacobian", "--frame", "hnad"), 1, "'hnad' (did you mean 'hand'?)"),
        (("--timestep", "0.01"), 2, "--timestep is for the function step"),
        (("--functions", "step", "--timestep", "nan"), 2, "--timestep is nan; allowed is a "),
        (("--functions", "step", "--timestep", "0"), 2, "--timestep is 0.0; allowed is a "),
        (("--functions", "step", "--timestep", "1e-310"), 2, "--timestep is 1e-310; allowed "),
        (("--functions", "step", "--float", "--timestep", "1e-60"), 2,
         "is 1e-60; allowed is a normal number of the type float, 1.1754944e-38 to 3.4028235e+38"),
        (("--functions", "step", "--float", "--timestep", "1e39"), 2, "--timestep is 1e+39; "),
        (("--functions", "kinematics", "--gravity-input"), 2,
         "--gravity-input is for gravity, bias, inverse, forward and step"),
        (("--functions", "gravity", "--external-forces"), 2,
         "--external-forces is for forward and step"),
        (("--functions", "gravity,bias", "--no-passive"), 2,
         "--no-passive is for inverse, forward and step"),
        (("--functions", "mass_matrix", "--gravity", 0, 0, -9.81), 2, "--gravity is for gravity,"),
        (("--functions", "kinematics", "--mounting", 0, 0, 1), 2, "--mounting is for gravity, "),
        (("--gravity-input", "--gravity", 0, 0, -9.81), 2,
         "for a constant gravity; with --gravity-input who calls the functions gives it\n"),
        (("--gravity-input", "--mounting", 0, 0, 0), 2, "--mounting is for a constant gravity; "),
        (("--floating-base", "--mounting", 0, 0, 0), 2,
         "--mounting is for a base that is fixed; with --floating-base q says how it stands\n"),
        (("--prefix", "7arm"), 2, "prefix '7arm' cannot begin names in C; allowed are "),
        (("--lang", "rust"), 2,
         "argument --lang: it is 'rust'; allowed is c (C99), the only language so far; see "),
        (("--lang", "C\n"), 2, "--lang: it is 'C\\n'; allowed is c (C99)"),
        (("--gravity", "0", "0", "inf"), 2, "gravity is "),
        (("--mounting", "0", "0", "nan"), 2, "the mounting is "),
        (("--package-dir", "/no/such/folder"), 2, "--package-dir is '/no/such/folder'"),
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
        (loop, (), f"there is no file '{loop}' (did you mean 'still.urdf'?); {FILES}\n"),
        (tmp_path, (), f"'{tmp_path}' is not a file; {FILES}\n"),
        ("<robot name='x'/>", (), f"there is no file '<robot name='x'/>'; {FILES}\n"),
        ("x" * 300, (), "cannot be read: File name too long"),
    ):
        told = run("codegen", robot, "-o", tmp_path / "out", *words)
        assert told.returncode == 1
        assert sentence in told.stderr, told.stderr
        assert not (tmp_path / "out").exists()


def test_what_would_compile_for_minutes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("rbdyn_ros.codegen.functions.MAX_C_OPERATIONS", 300)
    told = run("codegen", ARM, "-o", tmp_path / "out")
    assert told.returncode == 1
    assert "for 'seven_dof_arm': inverse has " in told.stderr
    assert told.stderr.endswith(" operations, more than 300\n")
    assert not (tmp_path / "out").exists()
