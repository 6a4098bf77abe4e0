# SPDX-License-Identifier: Apache-2.0
"""Messages quote names from files and users in short, on one line, without control characters."""

import pytest

from rbdyn_ros.errors import counted, did_you_mean, quote


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("left arm_7", "'left arm_7'"),
        ("", "''"),
        ("Gelenk_é", "'Gelenk_é'"),
        ("it's", "'it's'"),
        ("back\\slash", "'back\\slash'"),
        ("a\nb\r\t", "'a\\nb\\r\\t'"),
        ("\x1b[31m\0", "'\\x1b[31m\\x00'"),
        ("\u2028\u202e\ud800", "'\\u2028\\u202e\\ud800'"),
        ("x" * 100, "'" + "x" * 100 + "'"),
        ("x" * 2_000_000, "'" + "x" * 100 + "...'"),
    ],
)
def test_long_names_are_cut_and_unprintable_characters_are_escaped(name, shown):
    assert quote(name) == shown


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("parameter", ["parameters", "robot"], " (did you mean 'parameters'?)"),
        ("parameters", ["parameters"], ""),  # the name is known, but not installed
        ("parameters", ["parameters", "parameter"], " (did you mean 'parameter'?)"),
        ("robot", ["parameters"], ""),
    ],
)
def test_a_name_is_never_suggested_for_itself(name, known, hint):
    assert did_you_mean(name, known) == hint


def test_a_count_of_one_has_its_noun_in_the_singular():
    assert [counted(k, "joint") for k in (0, 1, 2)] == ["0 joints", "1 joint", "2 joints"]
    assert [counted(k, "entry", "entries") for k in (1, 2)] == ["1 entry", "2 entries"]
