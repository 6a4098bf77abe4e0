# SPDX-License-Identifier: Apache-2.0
"""Pieces of C++ that translate pieces of a kernel, and the signatures of kernels."""

import ast
import math
from dataclasses import dataclass
from typing import Any, Protocol

from rbdyn_ros.model.declared.fields import Field

#: Precedence of operators in C++: operands that bind less tightly need parentheses.
ATOM, UNARY, PRODUCT, SUM, COMPARISON, EQUALITY, AND, OR, CHOICE = range(9, 0, -1)
#: Array types of kernels: number of indices, and type of an entry.
ARRAYS = {"Vector": (1, "float"), "Matrix": (2, "float"), "Ints": (1, "int")}
#: Types of the Model and the Data. The Model is compiled into the C++, so it is not an argument.
MODEL, DATA = "Model", "Data"
#: Types of numbers, from narrow to wide, and their names in C++.
NUMBERS = {"bool": "bool", "int": "Index", "float": "double"}
WIDTH = list(NUMBERS)


@dataclass(frozen=True, slots=True)
class Text:
    """A C++ expression.

    Attributes:
        text: the C++ code.
        kind: type of the expression: one of NUMBERS or ARRAYS, MODEL, DATA, or "tuple".
        binds: precedence of its operator, see ATOM.
        parts: types of the entries of a tuple.
    """

    text: str
    kind: str
    binds: int = ATOM
    parts: tuple[str, ...] = ()

    def within(self, binds: int) -> str:
        """Return the text as an operand of such an operator, in parentheses if needed."""
        return self.text if self.binds >= binds else f"({self.text})"

    def as_number(self, kind: str) -> str:
        """Return the text converted to a type of numbers."""
        if kind == self.kind or (kind == "float" and self.text.isdecimal()):
            return self.text if kind == self.kind else f"{self.text}.0"
        return f"static_cast<{NUMBERS[kind]}>({self.text})"


def number(value: float) -> Text:
    """Return a number as a C++ literal with all of its digits."""
    if isinstance(value, bool):
        return Text(str(value).lower(), "bool")
    if isinstance(value, int):
        return Text(str(value), "int", ATOM if value >= 0 else UNARY)
    if math.isnan(value):
        return Text("NOTHING", "float")
    if math.isinf(value):
        return Text("INFINITE" if value > 0.0 else "-INFINITE", "float", UNARY)
    return Text(repr(value), "float", ATOM if value >= 0.0 else UNARY)


def is_constant(name: str, value: object) -> bool:
    """Return whether a global name of a module is a number that also exists in C++."""
    return name.isupper() and type(value) in (int, float)


def kind_of(field: Field) -> str:
    """Return the kind of a field of a record."""
    kinds = {(0, "int"): "int", (0, "float"): "float", (1, "int"): "Ints"}
    kinds |= {(1, "float"): "Vector", (2, "float"): "Matrix"}
    return kinds.get((len(field.dims), field.kind), "")


class TranslationError(Exception):
    """A kernel uses Python that the translation does not support.

    Args:
        node: the unsupported node.
        what: the unsupported part.
    """

    def __init__(self, node: ast.AST, what: str) -> None:
        super().__init__(what)
        self.node = node


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of a kernel in C++.

    Attributes:
        name: name of the kernel, with its namespace.
        kinds: types of the arguments.
        result: type of the result: one of NUMBERS, "None", or "tuple".
        parts: types of the entries of a tuple.
        written: indices of the arguments whose arrays the kernel writes.
    """

    name: str
    kinds: tuple[str, ...]
    result: str = "None"
    parts: tuple[str, ...] = ()
    written: frozenset[int] = frozenset()

    def call(self, node: ast.Call, given: list[Text]) -> Text:
        """Return a call; raise TranslationError if the arguments do not fit."""
        texts = []
        if len(given) != len(self.kinds):
            raise TranslationError(node, f"the number of arguments of `{ast.unparse(node)}`")
        for kind, text in zip(self.kinds, given, strict=True):
            if kind in NUMBERS and text.kind in NUMBERS:
                texts.append(text.as_number(kind))
            elif kind != text.kind:
                raise TranslationError(
                    node, f"a {text.kind} for a {kind} in `{ast.unparse(node)}`"
                )
            elif kind != MODEL:
                texts.append(text.text)
        return Text(f"{self.name}({', '.join(texts)})", self.result, parts=self.parts)


class Names(Protocol):
    """The meanings of the names in an expression; the body of a kernel provides them."""

    def variable(self, node: ast.Name) -> Text | None:
        """Return an argument or a local variable, or None."""

    def constant(self, node: ast.Name) -> Text:
        """Return a constant of the kernel's module."""

    def value(self, node: ast.expr) -> Any:
        """Return the object that a global name stands for, such as np.exp."""

    def called(self, node: ast.Call, function: Any) -> Signature | None:
        """Return the signature of a kernel that is called here, or None for other functions."""
