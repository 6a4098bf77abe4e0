# SPDX-License-Identifier: Apache-2.0
"""Make C names of robots, joints and links: identifiers, file names and comments."""

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rbdyn_ros.errors import LONGEST_NAME, Finding, ParameterError, quote

#: Longest part of a robot, joint or link name in an identifier [characters].
LONGEST_IDENTIFIER = 48

#: Largest width of generated text [columns].
WIDTH = 99

#: Allowed prefixes. C reserves leading underscores, and C++ reserves double underscores.
PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class FileNames:
    """Names of generated files.

    Args:
        prefix: prefix of all names in the code.
    """

    prefix: str

    @property
    def library(self) -> str:
        """The name of the library, and the name of header and source without extension."""
        return f"{self.prefix}_dynamics"

    @property
    def program(self) -> str:
        """The name of the test program, and the name of its source without extension."""
        return f"test_{self.prefix}"

    @property
    def header(self) -> str:
        """The name of the header."""
        return f"{self.library}.h"

    @property
    def source(self) -> str:
        """The source of the functions."""
        return f"{self.library}.c"

    @property
    def test(self) -> str:
        """The source of the test."""
        return f"{self.program}.c"

    @property
    def build(self) -> str:
        """The CMake file."""
        return "CMakeLists.txt"

    def __iter__(self) -> Iterator[str]:
        yield from (self.header, self.source, self.test, self.build)


def identifier(name: str) -> str:
    """Return a name as a part of an identifier: ASCII letters, digits and single underscores.

    Letters lose their accents. Characters that do not become ASCII letters are replaced by their
    code points.
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
    """Return an identifier for each name; identifiers differ by more than upper and lower case."""
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
    """Return the default prefix of the generated names of a robot."""
    text = identifier(robot).lower()
    return text if text[0].isalpha() else f"robot_{text}"


def check_prefix(text: str) -> str:
    """Check a prefix given by the user; return it.

    Raises:
        ParameterError: C names cannot begin with the prefix.
    """
    if PREFIX.fullmatch(text) and len(text) <= LONGEST_IDENTIFIER:
        return text
    allowed = (
        f"up to {LONGEST_IDENTIFIER} ASCII letters, digits and single underscores, "
        "beginning with a letter"
    )
    message = f"names in C cannot begin with the prefix {quote(text)}; allowed are {allowed}"
    raise ParameterError(Finding("bad-prefix", message, "error", "prefix", None, text, allowed))


def in_comment(name: str) -> str:
    """Return a quoted name that is safe in a comment."""
    shown = "".join(c if c.isprintable() else "?" for c in name[:LONGEST_NAME])
    for harmful, harmless in (("*/", "* /"), ("/*", "/ *"), ("??", "? ?"), ("\\", "?")):
        while harmful in shown:
            shown = shown.replace(harmful, harmless)
    return f"'{shown}'"


def shown(value: float) -> str:
    """Return a number for a comment, with all of its digits."""
    return repr(float(value)).removesuffix(".0")


def comment(text: str) -> list[str]:
    """Return a comment as one or more lines."""
    if len(text) + 6 <= WIDTH and "\n" not in text:
        return [f"/* {text} */"]
    lines = [
        line
        for paragraph in text.split("\n")
        for line in textwrap.wrap(paragraph, WIDTH - 3, break_on_hyphens=False) or [""]
    ]
    return ["/*", *(f" * {line}".rstrip() for line in lines), " */"]
