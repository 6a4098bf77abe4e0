"""A look at a COLLADA document with expat alone, before a library builds anything of it."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NoReturn
from xml.parsers import expat

from rbdyn_ros.description.meshes.files import UnusableMeshError

#: Nodes that a scene may have when every instance of a node is written out, with the sets of
#: triangles or polygons that they show.
MOST_NODES = 10_000
_PRIMITIVES = {"triangles", "polylist", "polygons", "trifans", "tristrips"}
#: Of the geometries of a scene when every instance of one is written out; no file is longer.
MOST_BYTES = 64 * 1024 * 1024


def check_dae(data: bytes) -> tuple[float, int]:
    """Return the unit of length of a document [m] and how many sets of triangles it shows.

    Its up axis says nothing, as in RViz.

    Raises:
        UnusableMeshError: it is no XML, has a DOCTYPE, no scene, a unit that is none, or nodes
            and geometries that are shown so often that they are far more than the document.
    """
    parser = expat.ParserCreate()
    look = _Look(parser)
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = look.start
    parser.EndElementHandler = look.end
    try:
        parser.Parse(data, True)
        unit = float(look.unit)
    except (expat.ExpatError, ValueError) as error:
        raise UnusableMeshError("bad-mesh", f"is no COLLADA document: {error}") from error
    if not 0.0 < unit < math.inf:
        raise UnusableMeshError("bad-mesh", f"has a unit of {look.unit} m, which is no length")
    if not look.has_scene:
        raise UnusableMeshError("bad-mesh", "has no scene, which says what is placed where")
    nodes, parts, size = look.written_out()
    if nodes + parts > MOST_NODES:
        message = f"has a scene of more than {MOST_NODES} nodes, or one that contains itself"
        raise UnusableMeshError("mesh-too-large", message, f"up to {MOST_NODES} nodes")
    if size > MOST_BYTES:
        allowed = f"up to {MOST_BYTES >> 20} MiB"
        message = "has a scene that shows its geometries again and again, written out more than"
        raise UnusableMeshError("mesh-too-large", f"{message} {MOST_BYTES >> 20} MiB", allowed)
    return unit, parts


def without_materials(data: bytes, known: Collection[str]) -> bytes:
    """Return a judged document in which materials that are not known are not used either.

    Args:
        data: the document.
        known: ids of materials.

    Raises:
        ValueError: its encoding is an unusual one.
    """
    parser, text = expat.ParserCreate(), bytearray(data)
    hidden: list[bool] = []  # of each open element, whether it is

    def hide(begin: int) -> None:
        text[text.index(b"instance_material", begin)] = ord("x")  # a tag that means nothing

    def start(tag: str, attributes: dict[str, str]) -> None:
        target = attributes.get("target", "").removeprefix("#")
        hidden.append(tag.rpartition(":")[2] == "instance_material" and target not in known)
        if hidden[-1]:
            hide(parser.CurrentByteIndex)

    def end(tag: str) -> None:
        index = parser.CurrentByteIndex  # of </a>, or of what comes after <a/>
        if hidden.pop() and text.startswith(b"</" + tag.encode(), index):
            hide(index)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(data, True)
    return bytes(text)


def _refuse_doctype(*_parts: object) -> NoReturn:
    message = "has a DOCTYPE, which can define entities and is refused; delete it"
    raise UnusableMeshError("doctype", message)


class _Look:
    """Takes expat's events.

    Attributes:
        unit: as written; "1" if it is not.
        has_scene: whether it names one to show.
        inside: by node, which nodes stand in it or are instanced there; "" is the document.
        shown: by node, which geometries are instanced there.
        sizes: of the geometries, as they stand in the document [bytes], and how many sets of
            triangles or polygons they have.
    """

    def __init__(self, parser: expat.XMLParserType) -> None:
        self.unit = "1"
        self.has_scene = False
        self.inside: dict[str, list[str]] = {"": []}
        self.shown: dict[str, list[str]] = {}
        self.sizes: dict[str, tuple[int, int]] = {}
        self._parser = parser
        self._geometry = ("", 0, 0)  # the last one: its name, where it begins, its primitives
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
            name = attributes.get("id") or f"\0{self._count}"  # no id holds a NUL
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

    def written_out(self) -> tuple[int, int, int]:
        """Return the number of nodes, of what they show and its size, with all instances.

        Counting ends where there are too many.
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
