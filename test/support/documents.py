# SPDX-License-Identifier: Apache-2.0
"""Read the pages of the documentation and the fenced blocks of each page."""

import re
import shlex
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>```+)(?P<info>.*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its text, its line number, and the words after its first fence."""

    page: str
    line: int
    info: str
    text: str
    after: str = ""  # the text between the previous block and this one

    @property
    def language(self):
        return self.info.split()[0] if self.info else ""

    @property
    def source(self):
        """Return the name of the file that the block shows, or None."""
        found = re.search(r'title="([^"]+)"', self.info)
        return found and found[1]

    @property
    def is_saved(self):
        """Return whether the reader saves the block as a file, whose name then has no folder."""
        return bool(self.source) and "/" not in self.source

    @property
    def where(self):
        return f"{self.page}:{self.line}"

    @property
    def first(self):
        """Return the first line of the block."""
        return self.text.splitlines()[0].strip() if self.text.strip() else ""


def page_names():
    """Return the paths of README.md, CONTRIBUTING.md and every page below docs/."""
    pages = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
    return ["README.md", "CONTRIBUTING.md", *pages]


def text_of(page):
    return (ROOT / page).read_text()


def blocks(page):
    """Return the fenced blocks of a page in order."""
    found, lines, between, k = [], text_of(page).splitlines(), [], 0
    while k < len(lines):
        fence = FENCE.match(lines[k])
        if not fence:
            between.append(lines[k])
            k += 1
            continue
        start = k + 1
        while lines[k + 1].strip() != fence["ticks"]:
            k += 1
        text = textwrap.dedent("\n".join(lines[start : k + 1]))
        found.append(Block(page, start, fence["info"].strip(), text, "\n".join(between)))
        between, k = [], k + 2
    return found


def of_language(page, *languages):
    return [block for block in blocks(page) if block.language in languages]


def commands(text):
    """Return the commands of a block; a backslash or an open quote continues a line."""
    found, begun = [], ""
    for line in text.splitlines():
        begun += line
        if begun.endswith("\\"):
            begun = begun[:-1]
            continue
        try:
            words = shlex.split(begun, comments=True)
        except ValueError:  # a quote is open
            begun += "\n"
            continue
        if words:
            found.append(begun.strip())
        begun = ""
    assert not begun.strip(), f"a command of the block does not end: {begun!r}"
    return found
