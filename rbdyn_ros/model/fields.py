"""How an array of Model or Data is declared: once, with its dims and meaning."""

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
        stage: the stage that writes it (Data only); the user writes ``input``.
        inside: an earlier field whose first entries this field is (Data only).
        derived: computed from other fields by model/derive.py, never stored (Model only).
    """

    name: str
    dims: tuple[Dim, ...]
    doc: str
    kind: Literal["float", "int"] = "float"
    stage: str = ""
    inside: str = ""
    derived: bool = False

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(sizes[dim] if isinstance(dim, str) else dim for dim in self.dims)
