# SPDX-License-Identifier: Apache-2.0
"""The scripts that `rbdyn completion` prints."""

import shutil
import subprocess
import sys

import pytest
from support.commands import run

pytest.importorskip("shtab")

ASK = """
source "$1"
complete -p rbdyn
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _shtab_rbdyn
        echo "$* -> ${COMPREPLY[*]}"; }
ask rbdyn ch
ask rbdyn completion ""
ask rbdyn check --jso
ask rbdyn check ""
ask rbdyn check --json p
ask rbdyn identify a.urdf r
ask rbdyn sim --record ""
ask rbdyn check a.urdf --package-dir mes
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_options_choices_and_files(tmp_path):
    told = run("completion", "bash")
    assert (told.returncode, told.stderr) == (0, "")
    script, place = tmp_path / "rbdyn.bash", tmp_path / "place"
    script.write_text(told.stdout)
    (place / "meshes").mkdir(parents=True)
    for name in ("panda.urdf", "plain.txt", "other.xacro", "run.mcap", "readme.md"):
        (place / name).touch()
    done = subprocess.run(
        ["bash", "-c", ASK, "bash", str(script)],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    bound, *answers = done.stdout.splitlines()
    assert bound.endswith("-F _shtab_rbdyn rbdyn")
    found = {
        question: set(words.split()) for question, words in (a.split(" -> ") for a in answers)
    }
    assert found == {
        "rbdyn ch": {"check"},
        "rbdyn completion ": {"bash", "zsh", "tcsh"},
        "rbdyn check --jso": {"--json"},
        "rbdyn check ": {"panda.urdf", "other.xacro", "meshes"},
        "rbdyn check --json p": {"panda.urdf"},
        "rbdyn identify a.urdf r": {"run.mcap"},
        "rbdyn sim --record ": {"run.mcap", "meshes"},
        "rbdyn check a.urdf --package-dir mes": {"meshes"},
    }


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_every_shell_completes_every_command(shell):
    told = run("completion", shell)
    assert told.returncode == 0
    for name in ("check", "sim", "identify", "completion", "bench"):
        assert name in told.stdout
    if shutil.which(shell):
        done = subprocess.run([shell, "-n"], input=told.stdout, text=True, timeout=60, check=False)
        assert done.returncode == 0


def test_completion_without_shtab_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    told = run("completion", "bash")
    assert (told.returncode, told.stdout) == (2, "")
    assert "pip install shtab" in told.stderr
