"""How an array of Model or Data is declared: once, with dims, meaning and its writer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Dim = str | int


@dataclass(frozen=True, slots=True)
class Field:
    """One array.

    Attributes:
        name: attribute name; MuJoCo's where MuJoCo has the array.
        dims: names of Model sizes, or numbers; empty for a scalar.
        doc: meaning, unit, frame.
        kind: element type; every element takes eight bytes.
        stage: the stage that writes it (Data only); ``input`` is the user's to write.
        inside: the field, declared before, whose first entries it is.
    """

    name: str
    dims: tuple[Dim, ...]
    doc: str
    kind: Literal["float", "int"] = "float"
    stage: str = ""
    inside: str = ""

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(sizes[dim] if isinstance(dim, str) else dim for dim in self.dims)
