# SPDX-License-Identifier: Apache-2.0
"""The default classes of an MJCF."""

from collections.abc import Mapping

from rbdyn_ros.description.mjcf_files.document import Item, MjcfDocument, elements, overlaid
from rbdyn_ros.description.mjcf_files.drives import ACTUATORS, Drives
from rbdyn_ros.description.mjcf_files.settings import ORIENTATIONS
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.errors import quote

MAIN = "main"


class Classes:
    """The attributes of each class by the tag of an element, with its parents' attributes."""

    def __init__(self, document: MjcfDocument) -> None:
        self._document = document
        self._attributes: dict[str, dict[str, dict[str, str]]] = {MAIN: {}}
        self._drives: dict[str, Drives] = {MAIN: Drives()}
        for element in document.root.iterfind("default"):
            assert isinstance(element, Element)
            name = element.get("class", MAIN)
            if name != MAIN:
                message = f"the class of the top default is {quote(name)}; allowed is {MAIN}"
                document.item(element, "default").error("bad-value", message, found=name)
            self._read(element, MAIN, MAIN)

    def _read(self, element: Element, name: str, parent: str) -> None:
        item = self._document.item(element, f"default class {quote(name)}")
        if name in self._attributes and name not in (MAIN, parent):
            message = "another class has this name; names must be unique"
            item.error("duplicate-name", message, found=name)
        own = {tag: {**given} for tag, given in self._attributes[parent].items()}
        drives = self._drives[parent]
        children = list(elements(element))
        for child in children:
            if child.tag in ACTUATORS:
                actuator = self._document.item(child, f"<{child.tag}> of {item.owner}")
                drives = drives.changed(actuator)
            elif child.tag != "default":
                self._document.seen.add(id(child))
                given = own.setdefault(child.tag, {})
                # replace the orientation of the class above
                if not child.attrib.keys().isdisjoint(ORIENTATIONS):
                    for key in ORIENTATIONS:
                        given.pop(key, None)
                for key, value in child.attrib.items():
                    given[key] = overlaid(key, value, given.get(key, ""))
        self._attributes[name], self._drives[name] = own, drives
        for child in children:
            if child.tag == "default":
                if not child.get("class"):
                    inner = self._document.item(child, f"default of class {quote(name)}")
                    inner.error("missing-name", "a default inside another one needs a class")
                    continue
                self._read(child, child.attrib["class"], name)

    def item(self, element: Element, owner: str, around: str = MAIN) -> Item:
        """Return an element with its defaults.

        Args:
            element: element of the document.
            owner: its name in messages.
            around: the class of the elements around it, for an element that names no class.
        """
        name = self._known(element, owner, around)
        defaults: Mapping[str, str] = self._attributes[name].get(element.tag, {})
        return self._document.item(element, owner, defaults)

    def drives(self, element: Element, owner: str) -> Drives:
        """Return the defaults of an actuator's class."""
        return self._drives[self._known(element, owner, MAIN)]

    def child(self, element: Element, owner: str, around: str) -> str:
        """Return the class of the elements in a body or frame; `around` is the class outside."""
        name = element.get("childclass", around)
        return name if name in self._attributes else self._unknown(element, owner, name)

    def _known(self, element: Element, owner: str, around: str) -> str:
        name = element.get("class", around)
        return name if name in self._attributes else self._unknown(element, owner, name)

    def _unknown(self, element: Element, owner: str, name: str) -> str:
        item = self._document.item(element, owner)
        message = f"there is no class {quote(name)}"
        hint = self._document.audit.hint(name, self._attributes)
        item.error("unknown-class", f"{message}{hint}", found=name)
        return MAIN
