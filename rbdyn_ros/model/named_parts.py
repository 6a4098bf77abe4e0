# SPDX-License-Identifier: Apache-2.0
"""Parts of a Model or a Data by name: `m.joint("elbow").range`, `d.joint("elbow").qpos`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rbdyn_ros.errors import Finding, ModelError, did_you_mean
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.fields import Field
from rbdyn_ros.model.declared.joints import JointClass
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS
from rbdyn_ros.other_names import Owner, our_words

Kind = Literal["joint", "body", "geom", "key"]

#: First dimension of the fields of each kind of part.
_DIMS = {"joint": ("njnt", "nq", "nv"), "body": ("nbody",), "geom": ("ngeom",), "key": ("nkey",)}
#: Prefixes that can be left out of a field's name: m.joint(name).range is the row of m.jnt_range.
_PREFIXES = {"joint": ("jnt_", "dof_"), "body": ("body_",), "geom": ("geom_",), "key": ("key_",)}


def _attributes(fields: Sequence[Field], kind: str) -> dict[str, Field]:
    """Return the fields of a kind of part, by their full names and by their short names."""
    of_kind = [field for field in fields if field.dims and field.dims[0] in _DIMS[kind]]
    found = {field.name: field for field in of_kind}
    for prefix in _PREFIXES[kind]:
        for field in of_kind:
            if field.name.startswith(prefix):
                found.setdefault(field.name.removeprefix(prefix), field)
    return found


_FIELDS: dict[Owner, dict[str, dict[str, Field]]] = {
    "Model": {kind: _attributes(MODEL_FIELDS, kind) for kind in _DIMS},
    "Data": {kind: _attributes(DATA_FIELDS, kind) for kind in _DIMS},
}

#: The variable name of a Model and of a Data in examples.
_WORDS: dict[Owner, str] = {"Model": "m", "Data": "d"}


class NamedPart:
    """A joint, body, geometry or keyframe, with its entries of the arrays as attributes.

    An attribute is a view; a single number is an array of shape (1,), as in MuJoCo's Python
    bindings. The prefix of a field's name can be left out: `m.joint(name).range` is the row of
    m.jnt_range. For a Data the views are writable, and an assignment writes into them.

    Attributes:
        name: name of the part.
        id: number of the part.
    """

    __slots__ = ("_fields", "_kind", "_of", "_owner", "id", "name")

    id: int
    name: str
    _owner: Owner
    _of: Any
    _kind: Kind
    _fields: dict[str, Field]

    def __init__(self, owner: Owner, of: Any, kind: Kind, number: int, name: str) -> None:
        fields = _FIELDS[owner][kind]
        values = {"_owner": owner, "_of": of, "_kind": kind, "_fields": fields}
        for slot, value in {**values, "id": number, "name": name}.items():
            object.__setattr__(self, slot, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedPart, (self._owner, self._of, self._kind, self.id, self.name)

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name.startswith("_"):  # the object is not complete yet
            raise AttributeError(name)
        field = self._fields.get(name)
        if field is not None:
            return self._rows(field)
        hint = our_words(self._owner, name) or did_you_mean(name, self._fields)
        for owner, word in _WORDS.items():
            if name in _FIELDS[owner][self._kind]:
                hint = f"; {word}.{self._kind}('{self.name}').{name} is there"
        raise AttributeError(f"{self!r} has no attribute '{name}'{hint}")

    def _rows(self, field: Field) -> NDArray[Any]:
        """Return the entries of the part as a view; raise AttributeError if there are none."""
        values: NDArray[Any] = getattr(self._of, field.name)
        if field.dims[0] not in ("nq", "nv"):
            return values[self.id : self.id + 1] if values.ndim == 1 else values[self.id]
        m = self._of if self._owner == "Model" else self._of.model
        # another joint or a prescribed motion determines its coordinates
        if m.jnt_class[self.id] != JointClass.FREE:
            if not hasattr(self._of, f"{field.name}_all"):
                text = f"joint '{self.name}' is driven or a mimic joint and has no {field.name}"
                raise AttributeError(text)
            values = getattr(self._of, f"{field.name}_all")
        kind, positions = m.jnt_kind(self.id), field.dims[0] == "nq"
        begin = (m.jnt_qposadr_all if positions else m.jnt_dofadr_all)[self.id]
        return values[begin : begin + (kind.nq if positions else kind.nv)]

    def __setattr__(self, name: str, value: object) -> None:
        view = getattr(self, name)
        if self._owner == "Model" or not isinstance(view, np.ndarray):
            text = f"{name} of {self!r} cannot be set; m.replaced returns a changed Model"
            raise ModelError(Finding("model-read-only", text, element=name))
        view[...] = value

    def __dir__(self) -> list[str]:
        return ["id", "name", *self._fields]

    def __repr__(self) -> str:
        return f"<{self._kind} {self.id} '{self.name}' of a {self._owner}>"
