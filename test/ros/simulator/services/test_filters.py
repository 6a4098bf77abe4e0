# SPDX-License-Identifier: Apache-2.0
"""Filters by POSIX extended regular expressions match like Python's `re`; bad ones are refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.ros.simulator.services.filters import matching

NAMES = ["arm", "left_arm", "right_arm_2", "", "aaa", "a-b]c", "Panda 7", "x^2$", "\u00e9\u00e9a"]
PATTERNS = [
    "arm", "^arm$", "(left|right)_arm", "a{2}", "a{4}", "^a{2,}$", "^a{1,2}$", "a?b", "[a-c]+_",
    "[^a-z]", "[]x]", "a|b|", "^$", "()", "(a|b)?c", "x\\^2\\$", ".r.", "[0-9]$", "^(aa){1}$",
    "(left_)?arm", "[a-]b", "\u00e9+a", "(ar)+m", "a b",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_filters_agree_with_re(pattern):
    assert matching(pattern, NAMES) == [name for name in NAMES if re.search(pattern, name)]


@given(st.text("ab()|*+?.^$", max_size=12), st.text("ab", max_size=8))
def test_random_patterns_match_the_same_texts_as_re(pattern, name):
    try:
        found = matching(pattern, [name])
    except rb.RbdynError:
        return
    assert bool(found) == bool(re.search(pattern, name))


def test_brackets_may_contain_classes_and_backslashes():
    assert matching("^[[:alpha:]_]+[[:digit:]]$", ["arm_7", "7_arm"]) == ["arm_7"]
    assert matching("[[:upper:][:space:]]", ["arm_7", "Arm", "an arm"]) == ["Arm", "an arm"]
    assert matching("[\\d]", ["7", "d", "\\"]) == ["d", "\\"]


#: Patterns that would take Python's `re` seconds to years.
HOSTILE = [
    "(a+)+$",
    "(a|a)*b",
    "(a*)*b",
    "(a?)*b",
    "a?" * 100 + "b",
    "((((a*)*)*)*)*c",
    "(a|a)" * 40 + "b",
    "(" * 20 + "a" + "){2}" * 20 + "b",
    "(((){255}){255}){255}",
    "a*" * 120 + "b",
    "(((a?){255}){255}){255}b",
]


@pytest.mark.parametrize("pattern", HOSTILE)
def test_hostile_patterns_are_refused(pattern):
    with refused(rb.RbdynError, "pattern"):
        matching(pattern, ["a" * 60 + "!"])


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a", "a)", "a[b", "*a", "a{2", "a{3,2}", "a{999}b{1000}", "[z-a]", "(" * 256),
        *("a{2}{2}", "a**", "(?:a)", "[\n-\t]", "a" * 257, "a\\d", "a\\", "[[:letter:]]"),
    ],
)
def test_invalid_patterns_are_refused(pattern):
    with refused(rb.RbdynError, "pattern"):
        matching(pattern, NAMES)
