# SPDX-License-Identifier: Apache-2.0
"""Write a Program as statements of C99, with a named constant for each operation, in order.

A product that only sums use is written inside the sum, so that a compiler may contract both to one
operation. A condition is written where it is used. Outputs may share memory with inputs, so they
are stored at the end, after the last input has been read.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import overload

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.specialization.programs.blocks import SINCOS, SinCos
from rbdyn_ros.specialization.programs.numpy_ops import UNARY
from rbdyn_ros.specialization.programs.program import Program, operands_of
from rbdyn_ros.specialization.programs.symbols import CONDITIONS

#: The C operator of each operation.
INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "eq": "==",
         "ne": "!="}  # fmt: skip

#: Functions whose name in math.h is not their name in NumPy.
RENAMED = {"arctan2": "atan2"}

#: Signs of a and c in a fused multiply-add a b + c.
FUSED = {"fma": ("", ""), "fms": ("", "-"), "fnma": ("-", "")}

#: Operations written inside a sum if only sums use them.
PARTS_OF_SUMS = ("mul", "neg")


@dataclass(frozen=True, slots=True)
class Real:
    """The type of the numbers in generated code.

    Attributes:
        name: name of the type in C.
        suffix: suffix of constants.
        function_suffix: suffix of functions in math.h.
        info: properties of the type, from np.finfo.
    """

    name: str
    suffix: str
    function_suffix: str
    info: np.finfo

    @property
    def eps(self) -> float:
        """Distance from 1 to the next number."""
        return float(self.info.eps)

    @overload
    def round(self, value: float) -> float: ...

    @overload
    def round(self, value: Array) -> Array: ...

    def round(self, value: float | Array) -> float | Array:
        """Return the nearest numbers of this type; infinity beyond the largest number."""
        with np.errstate(over="ignore", under="ignore"):
            rounded = np.asarray(value).astype(self.info.dtype).astype(np.float64)
        return rounded if isinstance(value, np.ndarray) else float(rounded)

    def vanishes(self, value: float) -> bool:
        """Return whether a constant is below the smallest normal number of this type."""
        return abs(value) < float(self.info.smallest_normal)

    def constant(self, value: float) -> str:
        """Return the shortest decimal constant that C reads as the nearest number.

        Values below the smallest normal number become zero, because they are rounding errors of
        the robot file.

        Raises:
            ModelError: the value is not finite in this type.
        """
        self._check_finite(value)
        value = 0.0 if self.vanishes(value) else value
        digits = repr(value) if self.suffix == "" else str(self.info.dtype.type(value))
        text = f"{digits}{self.suffix}"
        return f"({text})" if text.startswith("-") else text

    def exact(self, value: float) -> str:
        """Return the nearest number as an exact hexadecimal constant.

        Raises:
            ModelError: the value is not finite in this type.
        """
        self._check_finite(value)
        return f"{self.round(value).hex()}{self.suffix}"

    def _check_finite(self, value: float) -> None:
        if not math.isfinite(self.round(value)):
            text = f"the code would contain {value!r}, which is not finite as a {self.name}"
            raise ModelError(Finding("no-such-constant", text, found=repr(value)))

    def function(self, name: str) -> str:
        """Return the name in math.h of an operation's function."""
        return f"{RENAMED.get(name, name)}{self.function_suffix}"


DOUBLE = Real("double", "", "", np.finfo(np.float64))
FLOAT = Real("float", "F", "f", np.finfo(np.float32))


def statements(
    program: Program, inputs: Mapping[str, str], outputs: Mapping[str, str], real: Real
) -> list[str]:
    """Return the statements that compute a Program.

    Args:
        program: the Program, not fused, as C compilers contract operations themselves.
        inputs: the C name of each array that the program reads.
        outputs: the C name of each array that the program writes.
        real: the type of all numbers.

    Raises:
        ModelError: a constant is not finite in this type, or a divisor rounds to zero in it.
    """
    check_divisors(program, real)
    writer = Writer(program, inputs, real)
    lines = [writer.statement(i) for i in named(program)]
    stores = [
        f"{outputs[array]}[{place}] = {writer.operand(i)};" for array, place, i in program.outputs
    ]
    return lines + stores


def check_divisors(program: Program, real: Real) -> None:
    """Raise ModelError if a divisor is a constant that rounds to zero, or its multiple."""
    vanished: set[int] = set()
    for i, (name, *operands) in enumerate(program.operations):
        if name == "div" and operands[1] in vanished:
            text = f"the code would divide by a constant that is zero as a {real.name}"
            raise ModelError(Finding("no-code", text))
        is_zero = name == "constant" and real.vanishes(operands[0])
        if is_zero or (name in PARTS_OF_SUMS and not vanished.isdisjoint(operands)):
            vanished.add(i)


def named(program: Program) -> list[int]:
    """Return the operations that get a name, in order; other operations are written where used."""
    stored = {i for _, _, i in program.outputs}
    uses: Counter[int] = Counter()
    sums: Counter[int] = Counter()
    for operation in program.operations:
        operands = operands_of(operation)
        uses.update(operands)
        if operation[0] in ("add", "sub"):
            sums.update(operands)
    found = []
    for i, (name, *_) in enumerate(program.operations):
        part = name in PARTS_OF_SUMS and uses[i] == sums[i] == 1
        anywhere = name == "constant" or name in CONDITIONS
        if not anywhere and (i in stored or not (part or name == "input")):
            found.append(i)
    return found


class Writer:
    """Writes one function body, and keeps track of the operations that have names in it.

    Args:
        program: the Program that is written in whole or in part.
        inputs: the C name of each array that the program reads.
        real: the type of all numbers.
        names: names of operations that exist before the first statement.

    Attributes:
        names: names of operations; an operation without a name is written where it is used.
        read: arrays that the statements so far read.
    """

    def __init__(
        self,
        program: Program,
        inputs: Mapping[str, str],
        real: Real,
        names: Mapping[int, str] | None = None,
    ) -> None:
        self.operations = program.operations
        self.inputs = inputs
        self.real = real
        self.names = dict(names or {})
        self.read: set[str] = set()
        self._count = 0

    def statement(self, i: int) -> str:
        """Give an operation a name, and return the statement that computes it."""
        text = self.value(i)
        self.names[i] = f"t{self._count}"
        self._count += 1
        return f"const {self.real.name} {self.names[i]} = {text};"

    def operand(self, i: int) -> str:
        """Return an operation as an operand: its name, or its expression in parentheses."""
        if i in self.names:
            return self.names[i]
        name = self.operations[i][0]
        return self.value(i) if name in ("input", "constant") else f"({self.value(i)})"

    def value(self, i: int) -> str:
        """Return the expression of an operation."""
        name, *operands = self.operations[i]
        if name == "input":
            self.read.add(operands[0])
            return self.entry(*operands)
        if name == "constant":
            return self.constant(operands[0])
        texts = [self.operand(k) for k in operands]
        if name in INFIX:
            return f" {INFIX[name]} ".join(texts)
        if name == "neg":
            return f"-{texts[0]}"
        if name == "select":
            return f"{texts[0]} ? {texts[1]} : {texts[2]}"
        if name in FUSED:
            first, last = FUSED[name]
            factors = f"{first}{texts[0]}, {texts[1]}"
            return f"{self.real.function('fma')}({factors}, {last}{texts[2]})"
        assert name in (*UNARY, "arctan2"), name
        return f"{self.real.function(name)}({', '.join(texts)})"

    def entry(self, array: str, place: int) -> str:
        """Return the expression of an entry of an array."""
        return f"{self.inputs[array]}[{place}]"

    def constant(self, value: float) -> str:
        """Return the expression of a constant."""
        return self.real.constant(value)

    def sines(self, block: SinCos) -> Iterator[str]:
        """Yield the statements that compute a block's sines and cosines, and name the results."""
        angles = set(block.angles)
        for n, (name, *operands) in enumerate(self.operations):
            if name in SINCOS and operands[0] in angles:
                yield f"{self.names[n]} = {self.value(n)};"
