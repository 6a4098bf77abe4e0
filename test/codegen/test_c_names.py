# SPDX-License-Identifier: Apache-2.0
"""The names in any robot become different identifiers of C, and they cannot end a comment."""

import re

import pytest
from support.c_compilers import compiled, needs_gcc
from support.refusals import refused

from rbdyn_ros.codegen.names import (
    LONGEST_IDENTIFIER,
    PREFIX,
    WIDTH,
    check_prefix,
    comment,
    identifier,
    in_comment,
    prefix_of,
    unique,
)
from rbdyn_ros.errors import ParameterError

NASTY = (
    "", " ", "_", "__", "7", "7dof arm", "double", "a-b", "a b", "a/b", "a.b", "A_B", "a__b_",
    "é", "e", "Ärmel", "关节1", "关节2", "*/ int x; /*", "/*", "**//", "??/", "??/\n", "\\",
    "\\\n", "tab\there", "\u202e", "\x00", "\ud800", "ﬁnger", "²", "x" * 300, "x" * 299 + "y",
    "//", '"', "/" + "*/" * 3, "*" + "/*" * 3, "?" * 9, "u5173",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("shoulder_pan_joint", "shoulder_pan_joint"),
        ("left-arm.joint 1", "left_arm_joint_1"),
        ("__x__", "x"),
        ("Ärmel", "Armel"),
        ("关节1", "u5173_u8282_1"),
        ("ﬁnger", "finger"),
        ("", "unnamed"),
    ],
)
def test_names_become_identifiers(name, text):
    assert identifier(name) == text


def test_identifiers_are_valid_and_differ():
    found = unique(NASTY)
    assert len(found) == len(NASTY)
    assert len({text.lower() for text in found}) == len(NASTY), "macros are in capitals"
    for text in found:
        assert re.fullmatch(r"[A-Za-z0-9]+(_[A-Za-z0-9]+)*", text), text
        assert len(text) <= LONGEST_IDENTIFIER + 3


def test_different_chinese_names_give_different_identifiers():
    assert identifier("关节") != identifier("手臂")


@pytest.mark.parametrize("name", NASTY)
def test_every_robot_name_gives_a_valid_prefix(name):
    assert PREFIX.fullmatch(prefix_of(name))


@needs_gcc
def test_names_cannot_end_a_comment(tmp_path):
    lines = [line for name in NASTY for line in comment(f"Joint {in_comment(name)}: an angle.")]
    assert max(map(len, lines)) <= WIDTH
    compiled("gcc", "\n".join([*lines, "extern int nothing;", ""]), tmp_path, "-Wcomment")


@pytest.mark.parametrize("text", ["a", "A", "ur5", "left_arm_2", "x" * LONGEST_IDENTIFIER])
def test_valid_prefixes_are_accepted(text):
    assert check_prefix(text) == text


@pytest.mark.parametrize(
    "text", ["", "_a", "a_", "a__b", "2a", "a-b", "é", "a b", "a\n", "x" * 49, "../a"]
)
def test_invalid_prefixes_are_refused(text):
    with refused(ParameterError, "bad-prefix", "prefix"):
        check_prefix(text)
