"""POSIX extended regular expressions over names, matched in a time that no pattern can blow up.

Patterns come from anyone on the network. Python's ``re`` tries alternatives one after the other,
which takes years for `(a+)+$`, and it cannot be interrupted. Here a pattern maps a place in the
text to the set of places where a match from there may end. Each part of the pattern is asked once
a place, so the time is bounded by len(pattern) len(text)^2. Parts ask the parts within
them, so how deep they nest is bounded too.
"""

from __future__ import annotations

from collections.abc import Callable

from rbdyn_ros.errors import quote

#: A longer pattern is refused [characters].
LONGEST = 256
#: The largest number in braces, as POSIX has it (RE_DUP_MAX).
MOST_REPEATS = 255
#: A pattern whose groups are nested deeper is refused; with them go the repeats of repeats.
DEEPEST = 40

#: Least and most repeats by sign.
SIGNS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}

CLASSES: dict[str, Callable[[str], bool]] = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "blank": lambda c: c in " \t",
    "cntrl": lambda c: not c.isprintable() and not c.isspace(),
    "digit": lambda c: c in "0123456789",
    "graph": lambda c: c.isprintable() and c != " ",
    "lower": str.islower,
    "print": str.isprintable,
    "punct": lambda c: c.isprintable() and not c.isalnum() and c != " ",
    "space": str.isspace,
    "upper": str.isupper,
    "xdigit": lambda c: c in "0123456789abcdefABCDEF",
}

Places = frozenset[int]
#: From a text and a place in it to the places where a match may end.
Part = Callable[[str, int], Places]


class PatternError(ValueError):
    """The pattern is no POSIX extended regular expression; says why."""


class NameFilter:
    """A compiled pattern.

    Args:
        pattern: a POSIX extended regular expression; matches a name if it matches a part of it.

    Raises:
        PatternError: if it is none, longer than LONGEST, or nested deeper than DEEPEST.
    """

    def __init__(self, pattern: str) -> None:
        if len(pattern) > LONGEST:
            raise PatternError(
                f"the pattern has {len(pattern)} characters; up to {LONGEST} are allowed"
            )
        self._parser = _Parser(pattern)
        self._whole = self._parser.parse()

    def matches(self, name: str) -> bool:
        """Whether the pattern is found somewhere in a name."""
        self._parser.seen.clear()
        return any(self._whole(name, start) for start in range(len(name) + 1))


class _Parser:
    """Recursive descent: alternatives, concatenations, repeated pieces, atoms."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.seen: dict[tuple[int, int], Places] = {}
        self._parts = 0
        self._levels = 0  # groups that are open, and repeats of repeats so far

    def parse(self) -> Part:
        part = self._alternatives()
        if self.at < len(self.pattern):
            raise PatternError(f"')' at character {self.at + 1} of the pattern closes nothing")
        return part

    def _remembered(self, part: Part) -> Part:
        """Ask a part once a place and text."""
        number, seen = self._parts, self.seen
        self._parts += 1

        def ask(text: str, start: int) -> Places:
            key = (number, start)
            if key not in seen:
                seen[key] = part(text, start)
            return seen[key]

        return ask

    def _next(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _take(self, what: str) -> bool:
        found = self.pattern.startswith(what, self.at)
        self.at += len(what) if found else 0
        return found

    def _alternatives(self) -> Part:
        choices = [self._concatenation()]
        while self._take("|"):
            choices.append(self._concatenation())
        if len(choices) == 1:
            return choices[0]
        return self._remembered(lambda text, i: frozenset().union(*(c(text, i) for c in choices)))

    def _concatenation(self) -> Part:
        pieces: list[Part] = []
        while self._next() not in ("", "|", ")"):
            pieces.append(self._piece())

        def follow(text: str, start: int) -> Places:
            places = frozenset([start])
            for piece in pieces:
                places = _step(piece, text, places)
            return places

        return self._remembered(follow)

    def _piece(self) -> Part:
        if self._next() in tuple("*+?{"):
            raise PatternError(
                f"'{self._next()}' at character {self.at + 1} of the pattern repeats nothing"
            )
        part = self._atom()
        if self._next() not in tuple("*+?{"):
            return part
        least, most = self._repeats()
        while self._next() in tuple("*+?{"):
            again = self._repeats()
            if {(least, most), again} <= set(SIGNS.values()):
                # one of a repeat is a repeat: a?+ is a*
                least, most = least * again[0], None if None in (most, again[1]) else 1
                continue
            self._enter_level()
            part = self._remembered(_repeat(part, least, most))
            least, most = again
        return self._remembered(_repeat(part, least, most))

    def _enter_level(self) -> None:
        self._levels += 1
        if self._levels > DEEPEST:
            raise PatternError(
                f"the pattern nests groups or repeats more than {DEEPEST} deep, at character "
                f"{self.at}"
            )

    def _repeats(self) -> tuple[int, int | None]:
        for sign, bounds in SIGNS.items():
            if self._take(sign):
                return bounds
        start = self.at
        end = self.pattern.find("}", start)
        first, comma, last = self.pattern[start + 1 : max(end, start + 1)].partition(",")
        numbers = [first, last] if last else [first]
        if end < 0 or not all(n.isascii() and n.isdigit() and len(n) <= 3 for n in numbers):
            raise PatternError(
                f"'{{' at character {start + 1} of the pattern must begin {{m}}, {{m,}} or {{m,n}}"
            )
        least = int(first)
        most = int(last) if last else None if comma else least
        if max(least, most or 0) > MOST_REPEATS or (most is not None and most < least):
            raise PatternError(
                f"'{self.pattern[start : end + 1]}' in the pattern must count upwards, to "
                f"{MOST_REPEATS} at most"
            )
        self.at = end + 1
        return least, most

    def _atom(self) -> Part:
        start = self.at
        self.at += 1
        sign = self.pattern[start]
        if sign == "(":
            self._enter_level()
            part = self._alternatives()
            if not self._take(")"):
                raise PatternError(f"'(' at character {start + 1} of the pattern is not closed")
            self._levels -= 1
            return part
        if sign == "[":
            return _character(self._bracket(start))
        if sign == "^":
            return lambda _, i: frozenset([i] if i == 0 else [])
        if sign == "$":
            return lambda text, i: frozenset([i] if i == len(text) else [])
        if sign == ".":
            return _character(lambda _: True)
        if sign == "\\":
            sign = self._next()
            self.at += 1
            if not sign or sign.isalnum():
                raise PatternError(
                    f"'\\{sign}' at character {start + 1} of the pattern means nothing here; a "
                    "backslash stands before one of .[]()*+?{}|^$\\"
                )
        return _character(lambda c: c == sign)

    def _bracket(self, start: int) -> Callable[[str], bool]:
        inverted = self._take("^")
        tests: list[Callable[[str], bool]] = []
        first = True
        while first or self._next() != "]":
            first = False
            if self.at >= len(self.pattern):
                raise PatternError(f"'[' at character {start + 1} of the pattern is not closed")
            tests.append(self._member())
        self.at += 1
        return lambda c: any(test(c) for test in tests) != inverted

    def _member(self) -> Callable[[str], bool]:
        if self._take("[:"):
            name, closed, _ = self.pattern[self.at :].partition(":]")
            if not closed or name not in CLASSES:
                found, known = quote("[:" + name[:20]), ", ".join(CLASSES)
                raise PatternError(f"{found} in the pattern is no class; known are {known}")
            self.at += len(name) + 2
            return CLASSES[name]
        low = self.pattern[self.at]
        self.at += 1
        if self._next() != "-" or self.pattern[self.at + 1 : self.at + 2] in ("", "]"):
            return lambda c: c == low
        high = self.pattern[self.at + 1]
        self.at += 2
        if high < low:
            found = quote(f"{low}-{high}")
            raise PatternError(f"the range {found} in the pattern runs backwards")
        return lambda c: low <= c <= high


def _character(test: Callable[[str], bool]) -> Part:
    """Return the part that takes one character."""
    return lambda text, i: frozenset([i + 1] if i < len(text) and test(text[i]) else [])


def _step(part: Part, text: str, places: Places) -> Places:
    """Return where a match may end that begins at one of these places."""
    return frozenset().union(*(part(text, i) for i in places))


def _repeat(part: Part, least: int, most: int | None) -> Part:
    """Return a part that is repeated from `least` to `most` times; None: any number of times."""

    def ends(text: str, start: int) -> Places:
        places = frozenset([start])
        for _ in range(least):
            # never more than len(text) + 1 different sets: they grow, or their least place does
            places, before = _step(part, text, places), places
            if not places or places == before:
                break
        reached = new = places
        count = least
        while new and (most is None or count < most):
            new = _step(part, text, new) - reached
            reached |= new
            count += 1
        return reached

    return ends
