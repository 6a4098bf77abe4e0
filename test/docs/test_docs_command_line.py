# SPDX-License-Identifier: Apache-2.0
"""docs/reference/command_line.md lists every command of `rbdyn` and every option."""

import re

import pytest
from support.documents import text_of

from rbdyn_ros.cli import main

PAGE = text_of("docs/reference/command_line.md")
SECTIONS = dict(re.findall(r"^## rbdyn (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))


def output_of(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main(list(words))
    assert end.value.code == 0
    return capsys.readouterr().out


def test_every_command_has_a_section_and_a_row(capsys):
    listed = set(
        re.findall(
            r"^  (\w+)  +\S", output_of(capsys, "--help").split("Examples:")[0], re.MULTILINE
        )
    )
    assert listed == set(SECTIONS)
    for name in listed:
        assert f"| [{name}](#rbdyn-{name}) |" in PAGE


@pytest.mark.parametrize("name", SECTIONS)
def test_every_option_is_on_the_page(capsys, name):
    text = output_of(capsys, name, "--help").split("options:")[1].split("Example")[0]
    options = set(re.findall(r"(?:^  |, )(--[\w-]+)", text, re.MULTILINE)) - {"--help"}
    shared = set(re.findall(r"^\| `(--[\w-]+)", PAGE.split("## rbdyn")[0], re.MULTILINE))
    assert "--repair" in shared
    assert "NAME:=VALUE" not in text or options >= shared, "it lacks a shared option"
    for option in options - (shared if "NAME:=VALUE" in text else set()):
        assert re.search(rf"{option}(?![\w-])", SECTIONS[name]), f"{name} has {option}"
    named = set(re.findall(r"`(--[\w-]+)", SECTIONS[name])) - {"--ros-args"}
    assert named <= options, "the section has an unknown option"
