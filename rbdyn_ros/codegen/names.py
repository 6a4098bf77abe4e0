"""Names of robots, joints and links as C can have them: identifiers, files, text in comments."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rbdyn_ros.errors import LONGEST_NAME, Finding, ParameterError, quote

#: Of a name that came from outside this much gets into an identifier [characters].
LONGEST_IDENTIFIER = 48

#: Columns of generated text.
WIDTH = 99

#: What generated names may begin with. C keeps leading underscores for itself, C++ double ones.
PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class FileNames:
    """Names of generated files.

    Args:
        prefix: what names in the code begin with.
    """

    prefix: str

    @property
    def library(self) -> str:
        """Name of the library, and what header and source are called without their endings."""
        return f"{self.prefix}_dynamics"

    @property
    def program(self) -> str:
        """Name of the test, and of its source without its ending."""
        return f"test_{self.prefix}"

    @property
    def header(self) -> str:
        """What a user includes."""
        return f"{self.library}.h"

    @property
    def source(self) -> str:
        """The functions."""
        return f"{self.library}.c"

    @property
    def check(self) -> str:
        """The source of the test."""
        return f"{self.program}.c"

    @property
    def build(self) -> str:
        """What CMake reads, which knows no other name."""
        return "CMakeLists.txt"

    def __iter__(self) -> Iterator[str]:
        yield from (self.header, self.source, self.check, self.build)


def identifier(name: str) -> str:
    """Return the end of an identifier for a name: ASCII letters, digits and single underscores.

    Letters lose their accents; what has no ASCII letter is written as its code point, so that
    different names stay different.
    """
    parts = []
    for character in unicodedata.normalize("NFKD", name):
        if character.isascii() and character.isalnum():
            parts.append(character)
        elif character.isascii():
            parts.append("_")
        elif not unicodedata.combining(character):
            parts.append(f"_u{ord(character):x}_")
    text = re.sub("_+", "_", "".join(parts))[:LONGEST_IDENTIFIER].strip("_")
    return text or "unnamed"


def unique(names: Iterable[str]) -> list[str]:
    """Return identifiers that differ by more than the case of letters, one for each name."""
    taken: set[str] = set()
    found = []
    for name in names:
        text = first = identifier(name)
        count = 1
        while text.lower() in taken:
            count += 1
            text = f"{first}_{count}"
        taken.add(text.lower())
        found.append(text)
    return found


def prefix_of(robot: str) -> str:
    """Return what the generated names of a robot begin with if nobody says otherwise."""
    text = identifier(robot).lower()
    return text if text[0].isalpha() else f"robot_{text}"


def demand_prefix(text: str) -> str:
    """Return a prefix that somebody chose.

    Raises:
        ParameterError: no identifier could begin so.
    """
    if PREFIX.fullmatch(text) and len(text) <= LONGEST_IDENTIFIER:
        return text
    allowed = (
        f"up to {LONGEST_IDENTIFIER} ASCII letters, digits, single underscores; a letter first"
    )
    message = f"prefix {quote(text)} cannot begin names in C; allowed are {allowed}"
    raise ParameterError(Finding("bad-prefix", message, "error", "prefix", None, text, allowed))


def in_comment(name: str) -> str:
    """Return a name in quotes that ends no comment and begins none, whatever is in it."""
    shown = "".join(c if c.isprintable() else "?" for c in name[:LONGEST_NAME])
    for harmful, harmless in (("*/", "* /"), ("/*", "/ *"), ("??", "? ?"), ("\\", "?")):
        while harmful in shown:
            shown = shown.replace(harmful, harmless)
    return f"'{shown}'"


def shown(value: float) -> str:
    """Return a number for a comment: all of its digits, and no more."""
    return repr(float(value)).removesuffix(".0")


def comment(text: str) -> list[str]:
    """Return a comment of one line, or of several if it is long."""
    if len(text) + 6 <= WIDTH and "\n" not in text:
        return [f"/* {text} */"]
    lines = [
        line
        for paragraph in text.split("\n")
        for line in textwrap.wrap(paragraph, WIDTH - 3, break_on_hyphens=False) or [""]
    ]
    return ["/*", *(f" * {line}".rstrip() for line in lines), " */"]
