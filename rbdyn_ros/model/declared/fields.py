# SPDX-License-Identifier: Apache-2.0
"""The declaration of an array of Model or Data: its dims and meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Dim = str | int


@dataclass(frozen=True, slots=True)
class Field:
    """The declaration of one array.

    Attributes:
        name: attribute name; MuJoCo's where MuJoCo has the array.
        dims: for each dimension, the name of a Model size, or a number; empty for a scalar.
        doc: meaning, unit, frame.
        kind: element type; every element takes eight bytes.
        stage: the stage that writes the array (Data only); the user writes ``input``.
        inside: an earlier field whose first entries are this field (Data only).
        derived: whether model/derive.py computes the array, so that it is not stored (Model only).
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


def frozen(field: Field, value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a copy of a field, in C order over `bytes`, which can never become writeable.

    Kernels read the copy as flat memory, by its address.
    """
    dtype = np.int64 if field.kind == "int" else np.float64
    if type(value) is np.ndarray and type(getattr(value, "base", None)) is bytes:
        same, flags = value.dtype == dtype and value.shape == shape, value.flags
        if same and flags.c_contiguous and flags.aligned:
            return value  # the array needs no copy
    return immutable(np.asarray(value, dtype).reshape(shape))


def immutable(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of an array over immutable memory."""
    copied: NDArray[Any] = np.ndarray(array.shape, array.dtype, array.tobytes())
    return copied
