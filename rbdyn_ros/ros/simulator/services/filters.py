# SPDX-License-Identifier: Apache-2.0
"""Filters of entities and worlds: by name and by tags.

Names are filtered by a POSIX extended regular expression. Anyone on the network can send a
pattern, so the time must be bounded. Python's ``re`` tries alternatives one after the other, which
takes years for `(a+)+$` and cannot be interrupted. So patterns with too many ways to match are
refused, such as a repeated choice.
"""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from rbdyn_ros.errors import RbdynError, quote, refusal

#: Longest accepted pattern [characters].
LONGEST = 256
#: Largest number in braces, as in POSIX (RE_DUP_MAX).
MOST_REPEATS = 255
#: Largest number of ways to match a name; Python can try them all in a fraction of a second.
MOST_WAYS = 1_000_000

#: ASCII members of the POSIX character classes, as written in a bracket of Python's `re`.
CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "\\x21-\\x7e",
    "lower": "a-z",
    "print": "\\x20-\\x7e",
    "punct": "\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
#: A token of a pattern: an escaped character, a bracket, a counted repeat, or one character.
TOKEN = re.compile(
    r"\\.?|\[(?P<inverted>\^?)(?P<members>\]?(?:\[:[^]]*:\]|[^]])*)\]"
    r"|\{(?P<least>[0-9]{1,3})(?P<comma>,?)(?P<most>[0-9]{0,3})\}|.",
    re.DOTALL,
)


def matching(pattern: str, names: Sequence[str]) -> list[str]:
    """Return the names in which a pattern is found.

    Raises:
        RbdynError: the pattern is not a POSIX extended regular expression, is longer than LONGEST,
            or has more than MOST_WAYS ways to match a name.
    """
    if len(pattern) > LONGEST:
        raise _pattern_error(f"has {len(pattern)} characters; at most {LONGEST} are allowed")
    translated = _Translation(pattern, 1 + max(map(len, names), default=0)).text
    try:
        compiled = re.compile(translated, re.DOTALL)
    except (re.error, OverflowError) as error:
        raise _pattern_error(f"{quote(pattern)} is not a regular expression: {error}") from error
    return [name for name in names if compiled.search(name)]


class _Translation:
    """Translates a pattern for Python's `re`, and bounds the number of ways to match it.

    Args:
        pattern: a POSIX extended regular expression.
        places: number of positions in the longest name at which a match can begin.
    """

    def __init__(self, pattern: str, places: int) -> None:
        self.text = ""
        self._places, self._ways = places, places  # a match may begin at any position
        self._open: list[int] = []  # number of ways before each open group
        self._inside = 0  # number of ways to match the last atom; 0: nothing to repeat
        for token in TOKEN.finditer(pattern):
            self._take(token)
            if self._ways > MOST_WAYS:
                raise _pattern_error(
                    "has too many repeats and alternatives to match in bounded time"
                )

    def _take(self, token: re.Match[str]) -> None:
        sign, at = token[0], token.start() + 1
        if sign in "*+?{" or token["least"]:
            self._repeat(token)
            return
        inside, text = 1, sign
        if sign == "(":
            self._open.append(self._ways)
            inside = 0
        elif sign == ")":
            if not self._open:
                raise _pattern_error(f"has a ')' at character {at} that closes nothing")
            inside = self._ways // self._open.pop()
        elif sign == "|":
            self._ways *= 2
            inside = 0
        elif token["members"] is not None:
            text = f"[{token['inverted']}{_members(token['members'])}]"
        elif sign == "[":
            raise _pattern_error(f"has a '[' at character {at} that is not closed")
        elif sign[0] == "\\" and (len(sign) == 1 or sign[1].isalnum()):
            raise _pattern_error(
                f"has {quote(sign)} at character {at}; a backslash is allowed before one of "
                ".[]()*+?{}|^$\\ only"
            )
        elif sign not in "^$.\\" and len(sign) == 1:
            text = re.escape(sign)
        self._inside = inside
        self.text += "\\Z" if sign == "$" else text

    def _repeat(self, token: re.Match[str]) -> None:
        sign, at = token[0], token.start() + 1
        if sign == "{":
            raise _pattern_error(f"has a '{{' at character {at} without {{m}}, {{m,}} or {{m,n}}")
        if not self._inside:
            raise _pattern_error(f"has {quote(sign)} at character {at}, which repeats nothing")
        if max(int(token["least"] or 0), int(token["most"] or 0)) > MOST_REPEATS:
            raise _pattern_error(
                f"has {quote(sign)} at character {at}; at most {MOST_REPEATS} is allowed"
            )
        if self._inside > 1 and sign != "?":
            raise _pattern_error(f"has {quote(sign)} at character {at}, which repeats a choice")
        if token["least"] and not token["comma"]:
            self._ways *= int(token["least"]) or 1 if self.text.endswith(")") else 1
        else:
            self._ways *= 2 if sign == "?" else self._places
        self._inside = 0
        self.text += sign


def _members(members: str) -> str:
    """Translate the inside of a bracket, where a backslash has no special meaning in POSIX."""

    def class_of(match: re.Match[str]) -> str:
        if match[1] is None:
            return "\\" + match[0]
        if match[1] not in CLASSES:
            known = ", ".join(CLASSES)
            raise _pattern_error(f"has the unknown class {quote(match[1])}; known are {known}")
        return CLASSES[match[1]]

    return re.sub(r"\[:([^]]*):\]|[][\\&~|]", class_of, members)


def _pattern_error(reason: str) -> RbdynError:
    return refusal(f"the pattern {reason}", "pattern")


def tags_filter(wanted: Any) -> Callable[[Collection[str]], bool]:
    """Return a function: whether tags pass a TagsFilter; an empty filter passes all tags.

    Raises:
        RbdynError: the mode is unknown.
    """
    modes = {wanted.FILTER_MODE_ANY: any, wanted.FILTER_MODE_ALL: all}
    if wanted.filter_mode not in modes:
        raise refusal(f"filter_mode is {wanted.filter_mode}; allowed are 0 (any) and 1 (all)")
    matches, words = modes[wanted.filter_mode], tuple(wanted.tags)
    return lambda tags: not words or matches(word in tags for word in words)
