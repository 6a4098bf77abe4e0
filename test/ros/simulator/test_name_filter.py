"""POSIX extended regular expressions against Python's own, and those that would hang it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rbdyn_ros.ros.simulator.name_filter import NameFilter, PatternError

NAMES = ["arm", "left_arm", "right_arm_2", "", "aaa", "a-b]c", "Panda 7", "x^2$", "ééa"]
PATTERNS = [
    "arm", "^arm$", "(left|right)_arm", "a{2}", "a{4}", "^a{2,}$", "^a{1,2}$", "a?b", "[a-c]+_",
    "[^a-z]", "[]x]", "a|b|", "^$", "()", "(a|b)*c", "x\\^2\\$", ".r.", "[0-9]$", "^(a?){3}$",
    "[a-]b", "é+a",
]  # fmt: skip

SIGNS = "before one of .[]()*+?{}|^$\\"


@pytest.mark.parametrize("pattern", PATTERNS)
def test_it_agrees_with_pythons_re(pattern):
    found = [name for name in NAMES if NameFilter(pattern).matches(name)]
    assert found == [name for name in NAMES if re.search(pattern, name)]


@given(st.text("ab()|*+?.^$", max_size=12), st.text("ab", max_size=8))
def test_random_patterns_agree_with_pythons_re(pattern, name):
    try:
        mine = NameFilter(pattern)
        theirs = re.compile(pattern)
    except (PatternError, re.error):
        return
    # `a*?` and `a*+` mean something else in Python; `(?` too
    if re.search(r"[*+?][*+?]|\(\?", pattern):
        return
    assert mine.matches(name) == bool(theirs.search(name))


@pytest.mark.parametrize("signs", [a + b + c for a in "*+?" for b in "*+?" for c in ("", *"*+?")])
def test_a_repeat_of_a_repeat_is_that_of_a_group(signs):
    grouped = "a"
    for sign in signs:
        grouped = f"(?:{grouped}){sign}"
    for name in ("", "a", "aa", "aaaaa"):
        found = NameFilter(f"^b?a{signs}$").matches(name)
        assert found == bool(re.search(f"^b?{grouped}$", name))


def test_a_sign_that_is_repeated_for_long_is_one_sign():
    for sign, matched in (("*", [True, True]), ("+", [True, True]), ("?", [False, True])):
        pattern = NameFilter("^a" + sign * 253 + "$")
        assert [pattern.matches(name) for name in ("aa", "a")] == matched


def test_classes():
    assert NameFilter("^[[:alpha:]_]+[[:digit:]]$").matches("arm_7")
    assert not NameFilter("[[:upper:][:space:]]").matches("arm_7")


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|a)*b",
        "(a*)*b",
        "a?" * 100 + "b",
        "((((a*)*)*)*)*c",
        "(a{255}){255}",
        "(" * 40 + "a" + ")*" * 40 + "b",
        "(|" * 40 + "a" + ")*" * 40 + "b",
        "(" * 20 + "a" + "){2}{2}" * 20 + "b",
        "a" + "{1}" * 41 + "b",
        "a*" * 120 + "b",
        "(((a?){255}){255}){255}b",
    ],
)
def test_hostile_patterns_end(pattern):
    assert not NameFilter(pattern).matches("a" * 60 + "!")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a", "'(' at character 1 of the pattern is not closed"),
        ("a)", "')' at character 2 of the pattern closes nothing"),
        ("a[b", "'[' at character 2 of the pattern is not closed"),
        ("*a", "'*' at character 1 of the pattern repeats nothing"),
        ("a{2", "'{' at character 2 of the pattern must begin {m}, {m,} or {m,n}"),
        ("a{3,2}", "'{3,2}' in the pattern must count upwards, to 255 at most"),
        ("a{999}", "'{999}' in the pattern must count upwards, to 255 at most"),
        ("[z-a]", "the range 'z-a' in the pattern runs backwards"),
        ("(" * 256, "the pattern nests groups or repeats more than 40 deep, at character 41"),
        (
            "a" + "{2}" * 60,
            "the pattern nests groups or repeats more than 40 deep, at character 127",
        ),
        ("[\n-\t]", "the range '\\n-\\t' in the pattern runs backwards"),
        ("a" * 257, "the pattern has 257 characters; up to 256 are allowed"),
        (
            "a\\d",
            "'\\d' at character 2 of the pattern means nothing here; a backslash stands " + SIGNS,
        ),
    ],
)
def test_what_is_no_pattern_is_refused(pattern, why):
    with pytest.raises(PatternError) as refused:
        NameFilter(pattern)
    assert str(refused.value) == why
