# SPDX-License-Identifier: Apache-2.0
"""Edit the XML of a URDF and keep everything else: comments, order, white space, prefixes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

#: The declaration, comments and white space before the root element.
_PROLOG = re.compile(r"(?:[\ufeff\s]|<\?.*?\?>|<!--.*?-->)*", re.DOTALL)


class Document:
    """A URDF with comments, which guard has checked before.

    Attributes:
        root: the element <robot>.
        links, joints: elements by name.
    """

    def __init__(self, text: str) -> None:
        from lxml import etree  # this import is slow

        # size and depth are bounded by guard; recover keeps prefixes that are not declared
        parser = etree.XMLParser(
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            strip_cdata=False,
            huge_tree=True,
            recover=True,
        )
        prolog = _PROLOG.match(text)
        assert prolog is not None
        self._prolog = prolog.group()
        self._line_end = "\r\n" if "\r\n" in text else "\n"
        self.root = etree.fromstring(text[len(self._prolog) :], parser)
        self._written: Any = etree.tostring
        self.links, self.joints = (_by_name(self.root, tag) for tag in ("link", "joint"))

    def place(self, element: Element) -> str:
        """Return the line of an element, and the part of the robot that contains it."""
        line = (element.sourceline or 1) + self._prolog.count("\n")
        owners = [element, *element.iterancestors()]
        named = (part for part in owners if part.get("name") and part is not self.root)
        owner = next(named, None)
        inside = "" if owner is element else f" <{str(element.tag).split('}')[-1]}>"
        part = "robot" if owner is None else f"{owner.tag} '{owner.get('name')}'"
        return f"line {line}: {part}:{inside}"

    def text(self) -> str:
        """Return the document."""
        parts = (self.root, *self.root.itersiblings())  # comments may follow the root
        lines = [self._written(part, encoding="unicode", with_tail=False) for part in parts]
        body = "\n".join([*lines, ""])
        return self._prolog + body.replace("\n", self._line_end)


def _by_name(root: Element, tag: str) -> dict[str, Element]:
    elements = [child for child in root if is_element(child, tag)]
    return {element.get("name", ""): element for element in reversed(elements)}


def is_element(element: Element, tag: str) -> bool:
    """Return whether a node is an element of URDF: no comment, and without a namespace prefix."""
    name = element.tag  # the tag of a comment is a function; a tag may begin with a "{namespace}"
    return isinstance(name, str) and element.prefix is None and name.split("}")[-1] == tag


def first_child(parent: Element, tag: str) -> Element | None:
    """Return the first child with a tag, or None."""
    return next((child for child in parent if is_element(child, tag)), None)


def child_of(parent: Element, tag: str) -> Element:
    """Return the first child with a tag; if it is missing, add it before all other children."""
    found = first_child(parent, tag)
    if found is not None:
        return found
    namespace = parent.tag[: parent.tag.find("}") + 1]
    new = parent.makeelement(f"{namespace}{tag}")
    outside = "\n" + "  " * sum(1 for _ in parent.iterancestors())
    if len(parent) == 0:
        parent.text = outside + "  "
    new.tail = parent.text if len(parent) else outside
    parent.insert(0, new)
    return new


def remove(element: Element) -> None:
    """Remove an element, with the white space before it."""
    parent, before = element.getparent(), element.getprevious()
    assert parent is not None
    if before is None:
        parent.text = element.tail
    else:
        before.tail = element.tail
    parent.remove(element)
