# SPDX-License-Identifier: Apache-2.0
"""Model, Options and Data as kernels see them.

A kernel receives addresses. A Model is the address of its table of int64 (sizes, addresses of
stages and of its arrays, offsets of a Data's fields). A Data is the address of this table and of
its own row. In a kernel, `m.body_mass` or `d.xpos` makes an array over this memory with two loads.
References are not counted, and the trailing sizes are constants, so the compiler knows the
strides.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.arrayobj import make_array, populate_array

from rbdyn_ros.engine.compiler.indexing import array_type, mark
from rbdyn_ros.model.data import STAGES_AT, Data
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.fields import Field
from rbdyn_ros.model.declared.model_fields import (
    CALLBACK_FIELDS,
    DATA_STAGES,
    MODEL_FIELDS,
    SIZES,
    STAGES,
)
from rbdyn_ros.model.declared.options import OPTION_FIELDS
from rbdyn_ros.model.model import Model

INT64 = ir.IntType(64)

#: Numbers at the head of a Model's table; the table of the loop joints' Model follows.
NUMBERS = (*SIZES, *STAGES)
LOOPS = len(NUMBERS)

#: Positions of the stages' addresses in a Data's head, before its row.
HEAD = {name: STAGES_AT + k for k, name in enumerate(DATA_STAGES)}


#: Views of the imported modules, by name.
_VIEWS: dict[str, types.Type] = {}


class _AbsentView(types.Type):
    """A placeholder, in the signature of an overload, for a view whose module is not imported."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.name,)


def _named(name: str) -> types.Type:
    return _VIEWS.get(name) or _AbsentView(name)


class ViewType(types.Type):
    """Numba type of a Model, Options or Data; `fields` maps a name to its index in the table.

    Files of compiled code store only the name of a view. With its hundreds of fields in each
    signature they would be more than twice as large.

    Args:
        name: name of the type.
        fields: the fields, in the order of the table.
        start: index of the first field in the table.
        read_only: whether kernels are forbidden to write to it.
        in_row: whether the table holds offsets into a row of numbers instead of addresses.
        sizes: the dims of the fields, in the order of the head of the table.
    """

    def __init__(
        self,
        name: str,
        fields: tuple[Field, ...],
        start: int,
        read_only: bool = False,
        in_row: bool = False,
        sizes: tuple[str, ...] = tuple(SIZES),
    ) -> None:
        super().__init__(name=f"rbdyn_ros.{name}")
        _VIEWS.setdefault(self.name, self)
        self.fields = {field.name: (start + k, field) for k, field in enumerate(fields)}
        self.read_only = read_only
        self.in_row = in_row
        self.sizes = sizes

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.name,)

    def array_type(self, field: Field) -> types.Array:
        element = types.int64 if field.kind == "int" else types.float64
        return array_type(element, len(field.dims), readonly=self.read_only)

    def attribute_type(self, name: str) -> types.Type | None:
        if (name in NUMBERS and self is MODEL) or (name in HEAD and self is DATA):
            return types.int64
        if name == "loops" and self in (MODEL, DATA):
            return self
        if name == "opt" and self is MODEL:
            return OPTIONS
        if name not in self.fields:
            return None
        array = self.array_type(self.fields[name][1])
        return array if array.ndim else array.dtype


_OPTIONS_START = LOOPS + 1 + len(MODEL_FIELDS) + len(CALLBACK_FIELDS)
MODEL = ViewType("Model", MODEL_FIELDS + CALLBACK_FIELDS, LOOPS + 1, read_only=True)
OPTIONS = ViewType("Options", OPTION_FIELDS, _OPTIONS_START, read_only=True)
DATA = ViewType("Data", DATA_FIELDS, _OPTIONS_START + len(OPTION_FIELDS), in_row=True)


@register_model(ViewType)
class _ViewModel(models.StructModel):
    """How Numba stores a view: the address of the table, and of the row or null without a row."""

    def __init__(self, manager: Any, kind: ViewType) -> None:
        members = [("table", types.voidptr), ("row", types.voidptr)]
        super().__init__(manager, kind, members)


@infer_getattr
class _ViewAttributes(AttributeTemplate):
    key = ViewType

    def generic_resolve(self, kind: ViewType, name: str) -> types.Type | None:
        return kind.attribute_type(name)


def _load(builder: ir.IRBuilder, table: ir.Value, position: int) -> ir.Value:
    value = builder.load(builder.gep(table, [INT64(position)]))
    # kernels never write to a table or a head, so a loaded value stays valid after any store
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def _locate(context: Any, builder: Any, kind: ViewType, view: Any, name: str) -> tuple[Any, Any]:
    """Return the table and the address of a field."""
    members = cgutils.create_struct_proxy(kind)(context, builder, value=view)
    table = builder.bitcast(members.table, INT64.as_pointer())
    start = _load(builder, table, kind.fields[name][0])
    if kind.in_row:
        row = builder.ptrtoint(members.row, INT64)
        start = builder.add(row, builder.mul(start, INT64(8)))
    return table, start


@lower_getattr_generic(ViewType)
def _lower_getattr(context: Any, builder: Any, kind: ViewType, view: Any, name: str) -> Any:
    if name == "opt":
        return view
    if name in NUMBERS:
        members = cgutils.create_struct_proxy(kind)(context, builder, value=view)
        table = builder.bitcast(members.table, INT64.as_pointer())
        return _load(builder, table, NUMBERS.index(name))
    if name in HEAD:
        members = cgutils.create_struct_proxy(kind)(context, builder, value=view)
        row = builder.bitcast(members.row, INT64.as_pointer())
        return _load(builder, row, HEAD[name])
    if name == "loops":
        return _loops(context, builder, kind, view)
    table, start = _locate(context, builder, kind, view, name)
    field = kind.fields[name][1]
    array_type = kind.array_type(field)
    element = context.get_data_type(array_type.dtype).as_pointer()
    pointer = builder.inttoptr(start, element)
    if not field.dims:
        value = builder.load(pointer)
        mark(builder, value, _kind_of(field, array_type.dtype), kind.read_only)
        return value
    shape = [
        _load(builder, table, kind.sizes.index(dim)) if isinstance(dim, str) else INT64(dim)
        for dim in field.dims
    ]
    return _array(context, builder, array_type, pointer, shape)


def _loops(context: Any, builder: Any, kind: ViewType, view: Any) -> Any:
    """Return the view of the Model of the loop joints, or of its Data."""
    members = cgutils.create_struct_proxy(kind)(context, builder, value=view)
    table = builder.bitcast(members.table, INT64.as_pointer())
    row = None
    if kind is DATA:
        _, row = _locate(context, builder, kind, view, "loop_data")
    return view_at(context, builder, kind, _load(builder, table, LOOPS), row)


def view_at(context: Any, builder: Any, kind: ViewType, table: Any, row: Any = None) -> Any:
    """Return a view from the addresses of its table and row."""
    members = cgutils.create_struct_proxy(kind)(context, builder)
    address = context.get_value_type(types.voidptr)
    null = context.get_constant_null(types.voidptr)
    members.table = builder.inttoptr(table, address)
    members.row = null if row is None else builder.inttoptr(row, address)
    return members._getvalue()


def _array(context: Any, builder: Any, kind: types.Array, pointer: Any, shape: list[Any]) -> Any:
    strides = [INT64(8)]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    array = make_array(kind)(context, builder)
    populate_array(
        array,
        data=pointer,
        shape=cgutils.pack_array(builder, shape),
        strides=cgutils.pack_array(builder, strides),
        itemsize=INT64(8),
        meminfo=None,
    )
    return array._getvalue()


@lower_setattr_generic(ViewType)
def _lower_setattr(context: Any, builder: Any, sig: Any, args: Any, name: str) -> None:
    kind, value_type = sig.args
    if kind.read_only:
        raise TypeError(f"a kernel writes {kind.name}.{name}, which is read-only")
    view, value = args
    field = kind.fields[name][1]
    element = kind.array_type(field).dtype
    value = context.cast(builder, value, value_type, element)
    _, start = _locate(context, builder, kind, view, name)
    pointer = builder.inttoptr(start, context.get_data_type(element).as_pointer())
    mark(builder, builder.store(value, pointer), _kind_of(field, element), False)


def _kind_of(field: Field, element: types.Type) -> str:
    """Return the kind of access to a single-number field, which may be an entry of an array."""
    return str(element.name if field.inside else f"scalar {element.name}")


@unbox(ViewType)
def _unbox(kind: ViewType, value: Any, c: Any) -> NativeValue:
    """Read the address from an int, or from the __index__ of a Model or Data."""
    number = c.pyapi.number_long(value)
    failed = cgutils.is_null(c.builder, number)
    members = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    with c.builder.if_else(failed) as (otherwise, then):
        with otherwise:
            pass
        with then:
            address = c.pyapi.long_as_voidptr(number)
            c.pyapi.decref(number)
            if kind.in_row:
                # the slot before the row holds the address of the table
                slot = c.builder.bitcast(address, INT64.as_pointer())
                table = c.builder.load(c.builder.gep(slot, [INT64(-1)]))
                members.row = address
                members.table = c.builder.inttoptr(table, address.type)
            else:
                members.row = c.context.get_constant_null(types.voidptr)
                members.table = address
    return NativeValue(members._getvalue(), is_error=failed)


@typeof_impl.register(Model)
def _typeof_model(value: Model, context: object) -> types.Type:
    return MODEL


@typeof_impl.register(Data)
def _typeof_data(value: Data, context: object) -> types.Type:
    return DATA
