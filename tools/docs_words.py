# SPDX-License-Identifier: Apache-2.0
"""Convert docstrings to Markdown."""

from __future__ import annotations

import inspect
import re

SECTIONS = ("Args", "Returns", "Yields", "Raises", "Attributes")
HEADING = re.compile(rf"^({'|'.join(SECTIONS)}):$")
ITEM = re.compile(r"^    (\S[^:]*): (.*)$")


def escaped(text: str) -> str:
    """Return text with Markdown's special characters escaped, except inside back quotes."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _plain(part) for part in parts)


def _plain(text: str) -> str:
    for sign, instead in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "&#124;")):
        text = text.replace(sign, instead)
    # a space between brackets and parentheses prevents a link
    text = re.sub(r"\](?=[\[(])", "] ", text)
    # an underscore within a word needs no escape
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text.replace("*", "\\*"))


def as_markdown(doc: str | None) -> str:
    """Return a docstring in Google's style as Markdown, with sections as lists."""
    if not doc:
        return ""
    lines: list[str] = []
    inside = False
    for line in inspect.cleandoc(doc).splitlines():
        heading = HEADING.match(line)
        if heading:
            lines += [f"**{heading[1]}**", ""]
            inside = True
        elif inside and line and not line.startswith(" "):
            inside = False
            lines += ["", escaped(line)]
        elif inside:
            lines.append(_entry(line))
        elif line.startswith("    "):
            lines.append(line)  # code
        else:
            lines.append(escaped(line))
    return "\n".join(lines).strip() + "\n"


def _entry(line: str) -> str:
    """Return a line of a section: the start of an item or its continuation."""
    item = ITEM.match(line)
    if item and not line.startswith("     "):
        return f"- `{item[1]}`: {escaped(item[2])}"
    if line.startswith("    ") and not line.startswith("     "):
        return f"- {escaped(line.strip())}"
    return f"  {escaped(line.strip())}" if line.strip() else ""
