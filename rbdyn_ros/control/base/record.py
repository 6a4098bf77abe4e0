# SPDX-License-Identifier: Apache-2.0
"""Records: numbers that kernels read and write, each declared once.

In kernels and in Python `s.push` is an array and `s.phase` a number, as in Data. The generated
C++ has a struct with the same fields.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

import numpy as np
from numba.extending import typeof_impl

from rbdyn_ros.dynamics.entry import TYPES
from rbdyn_ros.engine.compiler.jit import DISABLED
from rbdyn_ros.engine.compiler.views import ViewType
from rbdyn_ros.model.declared.fields import Field

#: Numba types of all records, by the names of their classes.
RECORDS: dict[str, ViewType] = {}


class Record:
    """Base of records; assigning to a field writes into its memory.

    Args:
        sizes: the size of each dim that the fields name.
    """

    FIELDS: ClassVar[tuple[Field, ...]]

    def __init_subclass__(cls) -> None:
        names = dict.fromkeys(dim for field in cls.FIELDS for dim in field.dims)
        sizes = tuple(name for name in names if isinstance(name, str))
        kind = ViewType(cls.__name__, cls.FIELDS, len(sizes), in_row=True, sizes=sizes)
        RECORDS[cls.__name__] = TYPES[cls.__name__] = kind
        typeof_impl.register(cls)(lambda value, context: kind)  # noqa: ARG005

    def __init__(self, **sizes: int) -> None:
        keep, kind = vars(self), RECORDS[type(self).__name__]
        shapes = {field.name: field.shape(sizes) for field in self.FIELDS}
        counts = [int(np.prod(shape, dtype=np.int64)) for shape in shapes.values()]
        starts = np.cumsum([0, *counts])
        row = np.zeros(1 + starts[-1])  # the number before the fields is the table's address
        table = np.array([*(sizes[name] for name in kind.sizes), *starts[:-1]], np.int64)
        row.view(np.int64)[0] = table.ctypes.data
        keep["memory"], keep["table"], keep["scalars"] = row, table, {}
        #: arguments for the call of an Entry, see `handles`
        keep["handle"] = self if DISABLED else row[1:].ctypes.data
        for field, start, count in zip(self.FIELDS, starts[:-1], counts, strict=True):
            part = row[1 + start : 1 + start + count]
            part = part.view(np.int64) if field.kind == "int" else part
            (keep if field.dims else keep["scalars"])[field.name] = part.reshape(
                shapes[field.name]
            )

    def __reduce__(self) -> NoReturn:  # a copy would keep the address of the original
        raise TypeError(f"a {type(self).__name__} cannot be copied")

    def __index__(self) -> int:
        return int(self.handle)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.scalars[name].item()
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no field '{name}'") from None

    def __setattr__(self, name: str, value: Any) -> None:
        target = vars(self).get(name, self.scalars.get(name))
        if target is None:
            raise AttributeError(f"{type(self).__name__} has no field '{name}'")
        target[...] = value
