# SPDX-License-Identifier: Apache-2.0
"""Write LLVM code for one robot that works in place on a row of Data and reads the Model."""

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

from llvmlite import ir

from rbdyn_ros.engine.compiler.processor import processor
from rbdyn_ros.engine.compiler.views import MODEL, OPTIONS
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.model import Model
from rbdyn_ros.specialization import machine
from rbdyn_ros.specialization.languages.llvm_code import DOUBLE, INT64, POINTER, Module
from rbdyn_ros.specialization.programs.limbs import side_by_side
from rbdyn_ros.specialization.programs.program import Program

TABLE = INT64.as_pointer()
INTEGERS = {field.name for field in DATA_FIELDS if field.kind == "int"}

#: Return values of the functions.
DONE, OTHER_OPTIONS = 0, 1


class Row:
    """Locates fields of a Data in its row, and fields of the Model by addresses in its table."""

    #: Types of the Model's table, the row of Data and the array "out".
    arguments: Sequence[ir.Type] = (TABLE, POINTER, POINTER)

    def __init__(self, m: Model) -> None:
        self.offsets = m.data_offsets

    def load(self, builder: ir.IRBuilder, given: Any, array: str, place: int) -> Any:
        """Write code that loads an entry of an array as a double; return the value."""
        if array in INTEGERS:
            pointer = builder.bitcast(self._at(builder, given, array, place), TABLE)
            return builder.sitofp(builder.load(pointer), DOUBLE)
        return builder.load(self._at(builder, given, array, place))

    def store(self, builder: ir.IRBuilder, given: Any, array: str, place: int, x: Any) -> None:
        """Write code that stores a double as an entry of an array."""
        pointer = self._at(builder, given, array, place)
        if array in INTEGERS:
            builder.store(builder.fptosi(x, INT64), builder.bitcast(pointer, TABLE))
        else:
            builder.store(x, pointer)

    def _at(self, builder: ir.IRBuilder, given: Any, array: str, place: int) -> Any:
        table, row, out = given
        if array == "out":
            return builder.gep(out, [INT64(place)])
        if array in self.offsets:
            return builder.gep(row, [INT64(self.offsets[array] + place)])
        return builder.gep(_behind(builder, table, array, POINTER), [INT64(place)])


def compiled_row(
    m: Model, name: str, make: Callable[[], Program], symbolic: Collection[str], *more: str
) -> machine.Code:
    """Return the machine code of a function of one robot, with the current options built in.

    Args:
        m: the Model.
        name: name of the function.
        make: function that returns the program.
        symbolic: arrays and options of the Model that are read at every call.
        more: other strings that determine the program.
    """
    opt, width = m.opt, processor().vector_width
    key = [m.sha256(), name, opt.integrator, str(opt.passive), *symbolic, str(width), *more]
    if "timestep" not in symbolic:
        key.append(opt.timestep.hex())
    # the hash of the Model does not include user functions
    if any([*m.jnt_usertype, *m.jnt_motion_name]):
        key.append(repr(make()))

    def text() -> str:
        return row_code(m, name, side_by_side(m, make(), width), symbolic, width)

    return machine.code(key, (name, f"{name}.stage"), text)


def row_code(
    m: Model, name: str, program: Program, symbolic: Collection[str], register: int
) -> str:
    """Return LLVM code of a function of one robot.

    The function `name` takes the addresses of the Model's table, of the row and of "out", and a
    number of repetitions; it returns DONE or OTHER_OPTIONS. The function `name`.stage has only the
    first two arguments.
    """
    module = Module(1, register)
    once = module.add(f"{name}.once", program, Row(m))
    kind = ir.FunctionType(INT64, [INT64] * 4)
    function = ir.Function(module.ir, kind, name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    table, row, out, times = function.args
    given = [builder.inttoptr(table, TABLE)]
    given += [builder.inttoptr(address, POINTER) for address in (row, out)]
    _emit_options_check(m, builder, given[0], symbolic)
    _repeat(builder, function, times, lambda: builder.call(once, given))
    builder.ret(INT64(DONE))
    stage = ir.Function(module.ir, ir.FunctionType(ir.VoidType(), [INT64] * 2), f"{name}.stage")
    builder = ir.IRBuilder(stage.append_basic_block())
    given = [builder.inttoptr(stage.args[0], TABLE), builder.inttoptr(stage.args[1], POINTER)]
    builder.call(once, [*given, ir.Constant(POINTER, None)])  # a timestep does not write "out"
    builder.ret_void()
    return module.text()


def _behind(builder: ir.IRBuilder, table: Any, name: str, kind: ir.Type) -> Any:
    """Return a pointer to an option or an array of the Model, from its address in the table."""
    fields = OPTIONS.fields if name in OPTIONS.fields else MODEL.fields
    address = builder.load(builder.gep(table, [INT64(fields[name][0])]))
    return builder.inttoptr(address, kind)


def _emit_options_check(
    m: Model, builder: ir.IRBuilder, table: Any, symbolic: Collection[str]
) -> None:
    """Write code that returns OTHER_OPTIONS if the options differ from the built-in options."""
    same = []
    for name, value in (("integrator_id", m.opt.integrator_id), ("passive", int(m.opt.passive))):
        found = builder.load(_behind(builder, table, name, TABLE))
        same.append(builder.icmp_signed("==", found, INT64(value)))
    if "timestep" not in symbolic:
        found = builder.load(_behind(builder, table, "timestep", POINTER))
        same.append(builder.fcmp_ordered("==", found, DOUBLE(m.opt.timestep)))
    others = builder.not_(functools.reduce(builder.and_, same))
    with builder.if_then(others, likely=False):
        builder.ret(INT64(OTHER_OPTIONS))


def _repeat(builder: ir.IRBuilder, function: Any, times: Any, body: Any) -> None:
    head = builder.block
    loop, end = function.append_basic_block("loop"), function.append_basic_block("end")
    builder.cbranch(builder.icmp_signed(">", times, INT64(0)), loop, end)
    builder.position_at_end(loop)
    done = builder.phi(INT64)
    body()
    more = builder.add(done, INT64(1))
    done.add_incoming(INT64(0), head)
    done.add_incoming(more, loop)
    builder.cbranch(builder.icmp_signed("<", more, times), loop, end)
    builder.position_at_end(end)
