# SPDX-License-Identifier: Apache-2.0
"""The commands and options of `rbdyn` have help texts and examples; mistyped words get hints."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import AS_A_PROCESS, run, run_process

import rbdyn_ros as rb
from rbdyn_ros.cli import GROUPS, make_parser

#: A device on which every write fails for lack of space.
FULL = Path("/dev/full")

NAMES = (
    *("check", "view", "codegen", "sim", "plot", "replay", "excite", "identify"),
    *("bench", "info", "completion", "schema", "moveit", "layout", "dataset"),
)


def test_all_commands_are_listed():
    _, commands = make_parser()
    assert set(NAMES) <= set(commands.choices)
    assert len(commands.choices) == sum(map(len, GROUPS.values()))


def test_no_parser_accepts_abbreviations():
    parser, commands = make_parser()
    assert not any(each.allow_abbrev for each in (parser, *commands.choices.values()))


def test_rbdyn_without_a_command_lists_the_commands_in_groups():
    done = run()
    assert done.returncode == 0
    assert done.stdout == run("--help").stdout
    for title in GROUPS:
        assert f"\n{title}:\n" in done.stdout
    for name in NAMES:
        assert re.search(rf"^  {name} +\w.*\w$", done.stdout, re.MULTILINE)
    assert "Examples:\n  rbdyn check robot.urdf" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 99


def test_the_version_is_printed():
    done = run_process("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"rbdyn {rb.__version__}\n", "")


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_a_command_is_complete(name):
    done = run(name, "--help")
    assert done.returncode == 0
    assert f"rbdyn {name}" in done.stdout.split("options:")[1], "it has no example"
    assert "Exit status: " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.parametrize("name", NAMES)
def test_examples_of_the_help_are_valid(name):
    """The parser accepts the examples in the help of a command."""
    parser, commands = make_parser()
    lines = [
        line.strip().split("  ")[0]  # two spaces separate a remark
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
        (("chekc",), "'check'"),
        (("x" * 5000,), "'xxx"),
        (("che\nck",), "'che\\nck'"),
        (("",), "''"),
        (("--verison",), "'--version'"),
        (("check", "a", "--jsno"), "'--json'"),
        (("check", "a", "--js"), "'--json'"),
        (("check", "--grpah=x.svg", "a"), "'--graph'"),
        (("excite", "a", "--ouput", "m.csv"), "'--output'"),
        (("check",), "file"),
        (("view", "a.urdf", "b.urdf"), "one argument too many: 'b.urdf'; see rbdyn view"),
        (("check", "a.urdf", "-o", "b.urdf"), "there is no option '-o'; see rbdyn check"),
        (("check", "a.urdf", "b"), "'b'"),
        (("check", "a.urdf", "--fix", "--repair"), "--repair"),
        (("check", "a.urdf", "--format", "xml"), "'xml'"),
        (("check", "a", "--ros-args", "-p", "x:=1"), "--ros-args"),
        (("--ros-args",), "''"),
        (("completion", "fsh"), "'fsh'"),
        (("bench", "--seconds", "nan"), "--seconds: "),
        (("bench", "--seconds", "-1"), "--seconds: "),
        (("bench", "--seconds", "0"), "--seconds: "),
        (("check", ""), "file: "),
    ],
)
def test_a_mistyped_word_gives_one_line_of_error(words, named):
    done = run(*words)
    assert done.returncode == 2
    assert named in done.stderr
    assert re.search(r"; see rbdyn( \w+)? --help\n$", done.stderr)
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert len(done.stderr) < 400


def test_a_word_after_two_dashes_is_not_an_option():
    done = run("check", "--", "--json.urdf")
    assert done.returncode == 1
    assert "'--json.urdf'" in done.stderr


def test_a_closed_pipe_ends_the_command_without_a_traceback():
    """A pipe closes early in `rbdyn ... | head`."""
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
def test_a_full_disk_gives_one_line_of_error(words, unbuffered):
    """The error is the same with and without buffered output."""
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


def test_an_os_error_of_a_command_is_not_hidden(monkeypatch):
    def fail(*_, **__):
        raise BlockingIOError(28, "of another file")

    monkeypatch.setattr("rbdyn_ros.cli._run", fail)
    with pytest.raises(BlockingIOError):
        run("info")


def test_listing_commands_loads_no_slow_module():
    slow = ("rclpy", "viser", "matplotlib", "mujoco", "numba", "scipy", "shtab", "tqdm")
    code = (
        "import sys\nfrom rbdyn_ros.cli import make_parser\nmake_parser()\n"
        f"print([name for name in {slow} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
