"""A look at a COLLADA document with expat alone, before a library builds anything of it."""

from __future__ import annotations

import math
from typing import NoReturn
from xml.parsers import expat

from rbdyn_ros.description.mesh_files import UnusableMeshError

#: Nodes that a scene may have when every instance of a node is written out.
MOST_NODES = 10_000


def judge_dae(data: bytes) -> float:
    """Return the unit of length of a document [m]; its up axis says nothing, as in RViz.

    Raises:
        UnusableMeshError: it is no XML, has a DOCTYPE, no scene, a unit that is none, or nodes
            within nodes that are far more than the document is long.
    """
    look = _Look()
    parser = expat.ParserCreate()
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
    if look.nodes() > MOST_NODES:
        message = f"has a scene of more than {MOST_NODES} nodes, or one that contains itself"
        raise UnusableMeshError("mesh-too-large", message, f"up to {MOST_NODES} nodes")
    return unit


def _refuse_doctype(*_parts: object) -> NoReturn:
    message = "has a DOCTYPE, which can define entities and is refused; delete it"
    raise UnusableMeshError("doctype", message)


class _Look:
    """Takes expat's events.

    Attributes:
        unit: as written; "1" if it is not.
        has_scene: whether it names one to show.
        inside: by node, which nodes stand in it or are instanced there; "" is the document.
    """

    def __init__(self) -> None:
        self.unit = "1"
        self.has_scene = False
        self.inside: dict[str, list[str]] = {"": []}
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
        elif tag == "node":
            self._count += 1
            name = attributes.get("id") or f"\0{self._count}"  # no id holds a NUL
            self.inside[self._open[-1]].append(name)
            self.inside.setdefault(name, [])
            self._open.append(name)

    def end(self, tag: str) -> None:
        self._path.pop()
        if tag.rpartition(":")[2] == "node":
            self._open.pop()

    def nodes(self) -> int:
        """Return how many nodes there are, instances written out; no more than one too many."""
        waiting, count = [""], 0
        while waiting and count <= MOST_NODES:
            count += 1
            waiting.extend(self.inside.get(waiting.pop(), ()))
        return count
