# SPDX-License-Identifier: Apache-2.0
"""Check a COLLADA document with expat, before a library parses it."""

import math
from collections.abc import Collection
from typing import NoReturn
from xml.parsers import expat

from rbdyn_ros.description.meshes.files import UnusableMeshError

#: Maximum number of nodes and primitives of a scene with all instances expanded.
MOST_NODES = 10_000
_PRIMITIVES = {"triangles", "polylist", "polygons", "trifans", "tristrips"}
#: Maximum size of the geometries of a scene with all instances expanded; no file is larger.
MOST_BYTES = 64 * 1024 * 1024


def check_dae(data: bytes) -> tuple[float, int]:
    """Return the unit of length of a document [m] and its number of primitives.

    The up axis is ignored, as in RViz.

    Raises:
        UnusableMeshError: the document is not XML, has a DOCTYPE, no scene or an invalid unit, or
            its instances expand to far more than the document.
    """
    parser = expat.ParserCreate()
    counter = _InstanceCounter(parser)
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = counter.start
    parser.EndElementHandler = counter.end
    try:
        parser.Parse(data, True)
        unit = float(counter.unit)
    except (expat.ExpatError, ValueError) as error:
        raise UnusableMeshError("bad-mesh", f"is not a COLLADA document: {error}") from error
    if not 0.0 < unit < math.inf:
        raise UnusableMeshError(
            "bad-mesh", f"has a unit of {counter.unit} m; a unit must be above 0"
        )
    if not counter.has_scene:
        raise UnusableMeshError("bad-mesh", "has no scene")
    nodes, parts, size = counter.expanded()
    if nodes + parts > MOST_NODES:
        message = f"has a scene of more than {MOST_NODES} nodes, or one that contains itself"
        raise UnusableMeshError("mesh-too-large", message, f"up to {MOST_NODES} nodes")
    if size > MOST_BYTES:
        allowed = f"up to {MOST_BYTES >> 20} MiB"
        message = "has a scene that repeats its geometries to more than"
        raise UnusableMeshError("mesh-too-large", f"{message} {MOST_BYTES >> 20} MiB", allowed)
    return unit, parts


def without_materials(data: bytes, known: Collection[str]) -> bytes:
    """Return a checked document in which unknown materials are not used.

    Args:
        data: the document.
        known: ids of materials.

    Raises:
        ValueError: the encoding is unusual.
    """
    parser, text = expat.ParserCreate(), bytearray(data)
    hidden: list[bool] = []  # whether each open element is hidden

    def hide(begin: int) -> None:
        # rename the element, because readers ignore unknown tags
        text[text.index(b"instance_material", begin)] = ord("x")

    def start(tag: str, attributes: dict[str, str]) -> None:
        target = attributes.get("target", "").removeprefix("#")
        hidden.append(tag.rpartition(":")[2] == "instance_material" and target not in known)
        if hidden[-1]:
            hide(parser.CurrentByteIndex)

    def end(tag: str) -> None:
        index = parser.CurrentByteIndex  # the start of </a>, or the position after <a/>
        if hidden.pop() and text.startswith(b"</" + tag.encode(), index):
            hide(index)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(data, True)
    return bytes(text)


def _refuse_doctype(*_parts: object) -> NoReturn:
    raise UnusableMeshError("doctype", "has a DOCTYPE, which is not allowed; delete it")


class _InstanceCounter:
    """Handles expat events and counts instances.

    Attributes:
        unit: as written; "1" by default.
        has_scene: whether the document names a scene.
        inside: for each node, its child nodes and instanced nodes; "" is the document.
        shown: for each node, its instanced geometries.
        sizes: for each geometry, its size in the document [bytes] and number of primitives.
    """

    def __init__(self, parser: expat.XMLParserType) -> None:
        self.unit = "1"
        self.has_scene = False
        self.inside: dict[str, list[str]] = {"": []}
        self.shown: dict[str, list[str]] = {}
        self.sizes: dict[str, tuple[int, int]] = {}
        self._parser = parser
        self._geometry = ("", 0, 0)  # current geometry: name, position, number of primitives
        self._open = [""]
        self._count = 0
        self._path: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        self._path.append(tag)
        if tag == "unit":
            self.unit = attributes.get("meter", self.unit)
        elif tag == "instance_visual_scene":
            self.has_scene |= self._path[1:-1] == ["scene"]
        elif tag == "instance_node":
            self.inside[self._open[-1]].append(attributes.get("url", "").removeprefix("#"))
        elif tag == "instance_geometry":
            url = attributes.get("url", "").removeprefix("#")
            self.shown.setdefault(self._open[-1], []).append(url)
        elif tag == "geometry":
            self._geometry = (attributes.get("id", ""), self._parser.CurrentByteIndex, 0)
        elif tag in _PRIMITIVES:
            name, begin, count = self._geometry
            self._geometry = (name, begin, count + 1)
        elif tag == "node":
            self._count += 1
            # no id contains a NUL, so this name is unique
            name = attributes.get("id") or f"\0{self._count}"
            self.inside[self._open[-1]].append(name)
            self.inside.setdefault(name, [])
            self._open.append(name)

    def end(self, tag: str) -> None:
        self._path.pop()
        tag = tag.rpartition(":")[2]
        if tag == "node":
            self._open.pop()
        elif tag == "geometry":
            name, begin, count = self._geometry
            size, most = self.sizes.get(name, (0, 0))
            self.sizes[name] = max(size, self._parser.CurrentByteIndex - begin), max(most, count)

    def expanded(self) -> tuple[int, int, int]:
        """Return the numbers of nodes and primitives, and their size, with every instance counted.

        Counting stops above MOST_NODES.
        """
        shown = dict.fromkeys(self.shown, (0, 0))
        for node, names in self.shown.items():
            sizes = [self.sizes.get(name, (0, 0)) for name in names]
            shown[node] = sum(max(count, 1) for _, count in sizes), sum(s for s, _ in sizes)
        waiting, nodes, parts, size = [""], 0, 0, 0
        while waiting and nodes + len(waiting) + parts <= MOST_NODES:
            node = waiting.pop()
            more, bytes_more = shown.get(node, (0, 0))
            nodes, parts, size = nodes + 1, parts + more, size + bytes_more
            waiting.extend(self.inside.get(node, ()))
        return nodes + len(waiting), parts, size
