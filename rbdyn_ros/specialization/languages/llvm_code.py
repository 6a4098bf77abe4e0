# SPDX-License-Identifier: Apache-2.0
"""Write programs as LLVM code: straight-line code on numbers, or on vectors with a lane per robot.

The compiler has no choice that changes a result: multiply-adds are explicit, and our own code
computes the sines and cosines of angles up to 1e5. So the bits are the same for every W and every
processor. The functions in LIBRARY depend on the C library of the machine, but not on W.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from llvmlite import ir

from rbdyn_ros.specialization.languages.sincos import declarations, sincos_text
from rbdyn_ros.specialization.programs.blocks import Blocks, Line, SinCos, cut, widths
from rbdyn_ros.specialization.programs.program import Program
from rbdyn_ros.specialization.programs.symbols import CONDITIONS

DOUBLE, INT64, INT32 = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
POINTER = DOUBLE.as_pointer()
COMPARED = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}
INTRINSICS = ("sqrt", "fabs", "floor")
#: Functions of the C library, which are called for one number at a time.
LIBRARY = ("tan", "exp", "log", "tanh", "arctan2")


class ArrayAccess(Protocol):
    """Locates the arrays of a program from the arguments of a function."""

    arguments: Sequence[ir.Type]

    def load(self, builder: ir.IRBuilder, given: Any, array: str, place: int) -> Any:
        """Return the entry of an array at a place; `given` are the arguments of the function."""

    def store(self, builder: ir.IRBuilder, given: Any, array: str, place: int, x: Any) -> None:
        """Write x to the entry of an array at a place."""


class Module:
    """LLVM code of programs for the same number of robots.

    Args:
        width: number of robots, W.
        register: numbers in a vector register. For a single robot, this many sines and cosines
            are computed at once.
    """

    def __init__(self, width: int, register: int) -> None:
        self.width = width
        self.together = register if width == 1 else 1
        self.lanes = self.together * width
        self.ir = ir.Module()
        turned = number_type(self.lanes)
        kind = ir.FunctionType(ir.LiteralStructType([turned, turned]), [turned])
        self.sincos = ir.Function(self.ir, kind, "sincos")

    def text(self) -> str:
        """Return the LLVM code.

        The code of sincos is text with declarations, which an ir.Module cannot hold, so both are
        joined here. A module may declare each function only once.
        """
        own = [line for line in str(self.ir).splitlines() if not _declares(line, "sincos")]
        known = [line for line in own if line.startswith("declare")]
        needed = [
            line for line in declarations(self.lanes)
            if not any(_declares(other, _declared(line)) for other in known)
        ]  # fmt: skip
        return "\n".join([*own, *needed, sincos_text(self.lanes)])

    def declared(self, name: str, number: ir.Type, operands: int) -> Any:
        """Return a function that another module defines, with `operands` arguments of one type."""
        kind = ir.FunctionType(number, [number] * operands)
        return self.ir.globals.get(name) or ir.Function(self.ir, kind, name)

    def add(self, name: str, program: Program, places: ArrayAccess) -> ir.Function:
        """Add a function that runs a program on the arrays to which its arguments point."""
        blocks = cut(program, self.together)
        functions = [
            _BlockWriter(self, program, blocks, places, f"{name}.{k}").block(block)
            for k, block in enumerate(blocks.blocks)
        ]
        functions.append(_BlockWriter(self, program, blocks, places, f"{name}.end").end())
        whole = ir.Function(self.ir, ir.FunctionType(ir.VoidType(), list(places.arguments)), name)
        builder = ir.IRBuilder(whole.append_basic_block())
        scratch = builder.alloca(DOUBLE, INT32(max(1, blocks.size * self.width)))
        scratch.align = 64
        for function in functions:
            builder.call(function, [*whole.args, scratch])
        builder.ret_void()
        return whole


class _BlockWriter:
    """Writes the function of one block; the last argument holds the values that blocks share."""

    def __init__(
        self, module: Module, program: Program, blocks: Blocks, places: ArrayAccess, name: str
    ) -> None:
        self.module, self.program, self.blocks, self.places = module, program, blocks, places
        kind = ir.FunctionType(ir.VoidType(), [*places.arguments, POINTER])
        self.function = ir.Function(module.ir, kind, name)
        self.function.linkage = "internal"
        # otherwise the compiler would merge the blocks again
        self.function.attributes.add("noinline")
        self.given, self.scratch = self.function.args[:-1], self.function.args[-1]
        self.builder = ir.IRBuilder(self.function.append_basic_block())
        self.values: dict[int, Any] = {}
        self.sizes = [module.width * numbers for numbers in widths(program)]

    def block(self, block: SinCos | Line) -> ir.Function:
        """Write the function of a block."""
        if isinstance(block, SinCos):
            self._sincos(block)
        else:
            for n in block.operations:
                self.values[n] = self._computed(n)
                if n in self.blocks.slots:
                    self._keep(self.blocks.slots[n], self.values[n])
            self._store_outputs(block.outputs)
        self.builder.ret_void()
        return self.function

    def end(self) -> ir.Function:
        """Write the function that stores the remaining outputs."""
        self._store_outputs(self.blocks.outputs)
        self.builder.ret_void()
        return self.function

    def _store_outputs(self, outputs: Sequence[tuple[str, int, int]]) -> None:
        """Load all outputs before they are stored: an output may overwrite another's input."""
        changed = [o for o in outputs if self.program.operations[o[2]] != ("input", *o[:2])]
        values = [self._value(n) for *_, n in changed]
        for (array, place, _), value in zip(changed, values, strict=True):
            self.places.store(self.builder, self.given, array, place, value)

    def _sincos(self, block: SinCos) -> None:
        """Compute sines and cosines, as many at once as a register holds."""
        together = self.module.together
        for k in range(0, len(block.angles), together):
            angles = [self._value(n) for n in block.angles[k : k + together]]
            together_now = angles[0] if together == 1 else self._vector(angles, together)
            both = self.builder.call(self.module.sincos, [together_now])
            for first, side in ((block.sin, 0), (block.cos, 1)):
                self._keep(first + k, self.builder.extract_value(both, side))

    def _vector(self, numbers: Sequence[Any], length: int) -> Any:
        """Return numbers as a vector, padded with zeros."""
        vector = constant(0.0, length)
        for k, number in enumerate(numbers):
            vector = self.builder.insert_element(vector, number, INT32(k))
        return vector

    def _keep(self, slot: int, value: Any) -> None:
        store(self.builder, self.scratch, slot * self.module.width, value)

    def _value(self, n: int) -> Any:
        """Return the value of an operation of this or another block."""
        if n not in self.values:
            self.values[n] = self._found(n)
        return self.values[n]

    def _found(self, n: int) -> Any:
        kind, *operands = self.program.operations[n]
        match kind:
            case "constant":
                return constant(operands[0], self.module.width)
            case "constants":
                return ir.Constant(number_type(len(operands)), [DOUBLE(x) for x in operands])
            case "input":
                return self.places.load(self.builder, self.given, *operands)
            case "pack":
                return self._packed(operands)
            case "lane":
                return self._lane(*operands)
        if kind in CONDITIONS:
            return self._computed(n)
        return self._loaded(self.blocks.slots[n], self.sizes[n])

    def _loaded(self, slot: int, size: int) -> Any:
        return load(self.builder, self.scratch, slot * self.module.width, size)

    def _packed(self, members: Sequence[int]) -> Any:
        """Return numbers as a vector, by one load if they are adjacent in memory."""
        slots = [self.blocks.slots.get(n, -1) for n in members]
        first = slots[0]
        elsewhere = not any(n in self.values for n in members)
        if elsewhere and first >= 0 and slots == list(range(first, first + len(slots))):
            return self._loaded(first, len(slots))
        return self._vector([self._value(n) for n in members], len(members))

    def _lane(self, vector: int, place: int) -> Any:
        """Return one number of a vector; if the vector is in memory, load only that number."""
        if vector not in self.values and vector in self.blocks.slots:
            return self._loaded(self.blocks.slots[vector] + place, 1)
        return self.builder.extract_element(self._value(vector), INT32(place))

    def _computed(self, n: int) -> Any:
        kind, *operands = self.program.operations[n]
        x = [self._value(operand) for operand in operands]
        builder = self.builder
        if kind in COMPARED:
            compare = builder.fcmp_unordered if kind == "ne" else builder.fcmp_ordered
            return compare(COMPARED[kind], *x)
        if kind in LIBRARY:
            return self._library(kind, x)
        if kind in INTRINSICS:
            return self._intrinsic(kind, x)
        match kind:
            case "add":
                return builder.fadd(*x)
            case "sub":
                return builder.fsub(*x)
            case "mul":
                return builder.fmul(*x)
            case "div":
                return builder.fdiv(*x)
            case "neg":
                return builder.fneg(x[0])
            case "fma":
                return self._intrinsic("fma", x)
            case "fms":
                return self._intrinsic("fma", [x[0], x[1], builder.fneg(x[2])])
            case "fnma":
                return self._intrinsic("fma", [builder.fneg(x[0]), x[1], x[2]])
            case _:
                return builder.select(*x)

    def _intrinsic(self, kind: str, x: list[Any]) -> Any:
        number = x[0].type
        suffix = "f64" if number == DOUBLE else f"v{number.count}f64"
        function = self.module.declared(f"llvm.{kind}.{suffix}", number, len(x))
        return self.builder.call(function, x)

    def _library(self, kind: str, x: list[Any]) -> Any:
        """Call a function of the C library for each robot in turn."""
        function = self.module.declared({"arctan2": "atan2"}.get(kind, kind), DOUBLE, len(x))
        width = self.module.width
        if width == 1:
            return self.builder.call(function, x)
        vector = constant(0.0, width)
        for lane in range(width):
            numbers = [self.builder.extract_element(operand, INT32(lane)) for operand in x]
            called = self.builder.call(function, numbers)
            vector = self.builder.insert_element(vector, called, INT32(lane))
        return vector


def number_type(width: int) -> ir.Type:
    """Return the type of one number per robot."""
    return DOUBLE if width == 1 else ir.VectorType(DOUBLE, width)


def constant(value: float, width: int) -> ir.Constant:
    """Return a number that all robots share."""
    return (
        DOUBLE(value) if width == 1 else ir.Constant(number_type(width), [DOUBLE(value)] * width)
    )


def load(builder: ir.IRBuilder, memory: Any, start: int, count: int) -> Any:
    """Load numbers from memory, as a vector if there are several."""
    first = builder.gep(memory, [INT32(start)])
    return builder.load(builder.bitcast(first, number_type(count).as_pointer()), align=8)


def store(builder: ir.IRBuilder, memory: Any, start: int, value: Any) -> None:
    """Write a number or a vector to memory from the index `start` on."""
    first = builder.gep(memory, [INT32(start)])
    builder.store(value, builder.bitcast(first, value.type.as_pointer()), align=8)


def _declared(line: str) -> str:
    return line.split("@", 1)[1].split("(", 1)[0].strip('"')


def _declares(line: str, name: str) -> bool:
    return line.startswith("declare") and "@" in line and _declared(line) == name
