"""The commands and options of `rbdyn`: help, examples, mistyped words."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import AS_A_PROCESS, run, run_process

import rbdyn_ros as rb
from rbdyn_ros.cli import GROUPS, make_parser

#: A disk without space.
FULL = Path("/dev/full")

NAMES = (
    *("check", "view", "codegen", "sim", "plot", "replay", "excite", "identify"),
    *("bench", "info", "completion"),
)


def test_all_commands_are_listed():
    _, commands = make_parser()
    assert set(NAMES) <= set(commands.choices)
    assert len(commands.choices) == sum(map(len, GROUPS.values()))


def test_no_parser_takes_abbreviations():
    parser, commands = make_parser()
    assert not any(each.allow_abbrev for each in (parser, *commands.choices.values()))


def test_rbdyn_without_a_command_lists_them_in_groups():
    told = run()
    assert told.returncode == 0
    assert told.stdout == run("--help").stdout
    for title in GROUPS:
        assert f"\n{title}:\n" in told.stdout
    for name in NAMES:
        assert re.search(rf"^  {name} +\w.*\w$", told.stdout, re.MULTILINE)
    assert "Examples:\n  rbdyn check robot.urdf" in told.stdout
    assert max(map(len, told.stdout.splitlines())) <= 99


def test_version():
    told = run_process("--version")
    assert (told.returncode, told.stdout, told.stderr) == (0, f"rbdyn {rb.__version__}\n", "")


@pytest.mark.parametrize("name", NAMES)
def test_help_of_a_command(name):
    told = run(name, "--help")
    assert told.returncode == 0
    assert f"rbdyn {name}" in told.stdout.split("options:")[1], "it has no example"
    assert "Exit status: " in told.stdout
    assert max(map(len, told.stdout.splitlines())) <= 100


@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_read(name):
    """Parse the examples in the help of each command."""
    parser, commands = make_parser()
    lines = [
        line.strip().split("  ")[0]  # a remark stands behind two spaces
        for line in str(commands.choices[name].epilog).splitlines()
        if line.startswith("  rbdyn ")
    ]
    assert lines
    for line in lines:
        words = re.split(r" (?:--ros-args|>) ", line)[0].split()[1:]
        commands.choices[words[0]].check_options(words[1:])
        assert parser.parse_args(words).run is not None


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("chekc",), "'chekc' (did you mean 'check'?)"),
        (("x" * 5000,), "'xxx"),
        (("che\nck",), "'che\\nck' (did you mean 'check'?)"),
        (("",), "''"),
        (("--verison",), "'--verison' (did you mean '--version'?)"),
        (("check", "a", "--jsno"), "'--jsno' (did you mean '--json'?)"),
        (("check", "a", "--js"), "'--js' (did you mean '--json'?)"),
        (("check", "--grpah=x.svg", "a"), "'--grpah' (did you mean '--graph'?)"),
        (("excite", "a", "--ouput", "m.csv"), "'--ouput' (did you mean '--output'?)"),
        (("check",), "file"),
        (("check", "a", "b"), "arguments: b"),
        (("check", "a", "--ros-args", "-p", "x:=1"), "--ros-args"),
        (("--ros-args",), "''"),
        (("completion", "fsh"), "'fsh'"),
        (("bench", "--seconds", "nan"), "--seconds: got 'nan', expected up to 3600 s"),
        (("bench", "--seconds", "-1"), "argument --seconds: "),
        (("bench", "--seconds", "0"), "argument --seconds: got '0'"),
        (("check", ""), "argument file: "),
    ],
)
def test_a_mistyped_word_gets_a_line_of_error(words, named):
    told = run(*words)
    assert told.returncode == 2
    assert named in told.stderr
    assert re.search(r"; see rbdyn( \w+)? --help\n$", told.stderr)
    assert told.stderr.count("\n") == 1
    assert told.stdout == ""
    assert len(told.stderr) < 400


def test_two_dashes_end_the_options():
    told = run("check", "--", "--json")
    assert told.returncode == 1
    assert "'--json'" in told.stderr


def test_a_closed_pipe_ends_the_command_without_a_traceback():
    """As in `rbdyn ... | head`."""
    read, write = os.pipe()
    os.close(read)
    command = [*AS_A_PROCESS, "info"]
    done = subprocess.run(
        command, stdout=write, stderr=subprocess.PIPE, text=True, timeout=120, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(("words", "unbuffered"), [("info", ""), ("info", "1"), ("--help", "")])
def test_a_full_disk_gets_a_line_of_error(words, unbuffered):
    """Whether Python writes at once or at the end."""
    with FULL.open("w") as full:
        done = subprocess.run(
            [*AS_A_PROCESS, words],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.endswith("No space left on device\n")
    assert done.stderr.count("\n") == 1


def test_errors_of_other_files_are_not_hidden(monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "of another file")

    monkeypatch.setattr("rbdyn_ros.cli._run", fail)
    with pytest.raises(OSError, match="of another file"):
        run("info")


def test_listing_commands_loads_no_slow_module():
    slow = ("rclpy", "viser", "matplotlib", "mujoco", "numba", "scipy", "shtab", "tqdm")
    code = (
        "import sys\nfrom rbdyn_ros.cli import make_parser\nmake_parser()\n"
        f"print([name for name in {slow} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
