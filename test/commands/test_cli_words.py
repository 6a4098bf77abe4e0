"""The words of `rbdyn`: its commands and options, what is said of mistyped ones, and help."""

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


def test_there_are_these_commands():
    _, commands = make_parser()
    assert set(NAMES) <= set(commands.choices)
    assert len(commands.choices) == sum(map(len, GROUPS.values()))


def test_no_parser_takes_abbreviations():
    parser, commands = make_parser()
    assert not any(each.allow_abbrev for each in (parser, *commands.choices.values()))


def test_rbdyn_alone_lists_them_in_groups():
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
    """Parse the lines of examples with the command that they are of."""
    parser, commands = make_parser()
    lines = [
        line.strip().split("  ")[0]  # a remark stands behind two spaces
        for line in str(commands.choices[name].epilog).splitlines()
        if line.startswith("  rbdyn ")
    ]
    assert lines
    for line in lines:
        words = re.split(r" (?:--ros-args|>) ", line)[0].split()[1:]
        commands.choices[words[0]].demand_options(words[1:])
        assert parser.parse_args(words).run is not None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("chekc",), "rbdyn: there is no command 'chekc' (did you mean 'check'?); there are "),
        (("x" * 5000,), "rbdyn: there is no command 'xxx"),
        (("che\nck",), "rbdyn: there is no command 'che\\nck' (did you mean 'check'?)"),
        (("",), "rbdyn: there is no command ''; there are check, "),
        (("--verison",), "rbdyn: there is no option '--verison' (did you mean '--version'?)"),
        (("check", "a", "--jsno"), "rbdyn check: there is no option '--jsno' (did you mean '--js"),
        (
            ("check", "a", "--js"),
            "rbdyn check: there is no option '--js' (did you mean '--json'?)",
        ),
        (("check", "--grpah=x.svg", "a"), "no option '--grpah' (did you mean '--graph'?)"),
        (("excite", "a", "--ouput", "m.csv"), "no option '--ouput' (did you mean '--output'?)"),
        (("check",), "rbdyn check: the following arguments are required: file"),
        (("check", "a", "b"), "rbdyn: unrecognized arguments: b"),
        (("check", "a", "--ros-args", "-p", "x:=1"), "--ros-args and what follows is for rbdyn s"),
        (("--ros-args",), "there is no command ''"),
        (("completion", "fsh"), "argument shell: invalid choice: 'fsh'"),
        (("bench", "--seconds", "nan"), "argument --seconds: it is 'nan', allowed is up to 3600"),
        (("bench", "--seconds", "-1"), "argument --seconds: "),
        (("bench", "--seconds", "0"), "argument --seconds: it is '0'"),
        (("check", ""), "argument file: an empty word is no path"),
    ],
)
def test_wrong_words_get_a_line(words, sentence):
    told = run(*words)
    assert told.returncode == 2
    assert sentence in told.stderr
    assert re.search(r"; see rbdyn( \w+)? --help\n$", told.stderr)
    assert told.stderr.count("\n") == 1
    assert told.stdout == ""
    assert len(told.stderr) < 400


def test_a_dash_pair_ends_the_options():
    told = run("check", "--", "--json")
    assert told.returncode == 1
    assert "there is no file '--json'" in told.stderr


def test_who_reads_may_leave():
    """`rbdyn ... | head` must not end with a traceback."""
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
def test_what_is_printed_may_not_fit(words, unbuffered):
    """On a full disk that is a sentence, whether Python writes at once or at the end."""
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
    told = "rbdyn: what it prints cannot be written: No space left on device\n"
    assert done.stderr == told


def test_an_error_of_the_system_that_is_not_of_stdout_is_not_hidden(monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "of another file")

    monkeypatch.setattr("rbdyn_ros.cli._run", fail)
    with pytest.raises(OSError, match="of another file"):
        run("info")


def test_listing_commands_loads_neither_ros_nor_a_viewer():
    slow = ("rclpy", "viser", "matplotlib", "mujoco", "pinocchio", "shtab", "tqdm")
    code = (
        "import sys\nfrom rbdyn_ros.cli import make_parser\nmake_parser()\n"
        f"print([name for name in {slow} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
