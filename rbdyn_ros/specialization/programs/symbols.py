# SPDX-License-Identifier: Apache-2.0
"""Symbols: numbers whose arithmetic is recorded instead of computed.

A SymbolGraph is a list of operations in the order in which they were recorded, so operands come
before the operations that use them. Equal operations share one entry. Operations on constants are
computed immediately. Adding zero, or multiplying by one or zero, adds no operation, unless the
zero or one was entered as a constant. Nothing is rearranged, so results equal those of arithmetic
on numbers up to rounding, except that a product with an exact zero is zero even for NaN and
infinity.
"""

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.specialization.programs.numpy_ops import UNARY, SymbolArray, apply

#: Names of conditions. With NaN they are false, except "ne", which is true.
CONDITIONS = ("lt", "le", "eq", "ne")

#: Operations that are computed immediately if all operands are constants.
KNOWN: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg,
    "lt": operator.lt, "le": operator.le, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip

#: The operations that symbols allow, for messages.
ALLOWED = (
    f"+ - * /, powers up to 4, comparisons, sums and products of arrays, and NumPy's "
    f"{', '.join(UNARY)}, abs, sign, arctan2, minimum, maximum, clip and where"
)

#: Largest number of operations; more would take minutes to compile. A step of a humanoid has about
#: 20,000.
MAX_OPERATIONS = 1_000_000

Operation: TypeAlias = tuple[Any, ...]


class SymbolGraph:
    """Recorded operations on symbols.

    Attributes:
        operations: (name, operands ...), whose operands are numbers of earlier operations; or
            ("input", array, index), ("constant", value). Names are add, sub, mul, div, neg,
            select (condition, yes, no), arctan2 (y, x), and the names in UNARY and CONDITIONS.
        decide: function that returns True or False for a condition on which Python branches.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.decide: Callable[[Symbol], bool] = _cannot_decide
        self._known: dict[Operation, Symbol] = {}

    def enter(self, operation: Operation) -> Any:
        """Return the symbol of an operation; equal operations share a symbol.

        Operations in KNOWN whose operands are constants are computed immediately: the result is
        another constant, or True or False. Raise NotTraceableError if there are too many
        operations.
        """
        symbol = self._known.get(operation)
        if symbol is None:
            if operation[0] in KNOWN and self._constants(operation[1:]):
                return self._computed(operation)
            if len(self.operations) >= MAX_OPERATIONS:
                raise NotTraceableError(f"it takes more than {MAX_OPERATIONS} operations")
            kind = Condition if operation[0] in CONDITIONS else Symbol
            symbol = kind(self, len(self.operations))
            self._known[operation] = symbol
            self.operations.append(operation)
        return symbol

    def constant(self, value: float) -> "Symbol":
        """Return a symbol for a number, so that arithmetic with it is recorded too."""
        return Symbol(self, self.number(value))

    def _constants(self, operands: tuple[int, ...]) -> bool:
        known = self.operations
        for x in operands:  # noqa: SIM110 - a generator takes twice the time
            if known[x][0] != "constant":
                return False
        return True

    def _computed(self, operation: Operation) -> Any:
        """Return the result of an operation on constants: True or False, or another constant."""
        name, *operands = operation
        found = KNOWN[name](*(self.operations[x][1] for x in operands))
        return found if name in CONDITIONS else self.constant(found)

    def number(self, value: Any) -> int:
        """Return the number of the operation whose result is a value (a symbol or a number)."""
        if isinstance(value, Condition):
            value = value.as_number()
        if value.__class__ is Symbol:
            if value.graph is not self:
                raise NotTraceableError(KEPT)
            return int(value.number)
        known = float(value)
        key = ("constant", known.hex())  # 0.0 equals -0.0, and NaN does not equal itself
        symbol = self._known.get(key)
        if symbol is None:
            symbol = Symbol(self, len(self.operations))
            self._known[key] = symbol
            self.operations.append(("constant", known))
        return symbol.number


class NotTraceableError(TypeError):
    """A symbol does not support an operation."""


#: The reason for refusing a function that keeps symbols between calls.
KEPT = "it uses a number of an earlier call; it must keep nothing between calls"


class Symbol:
    """A number that becomes known only when the traced code runs."""

    __slots__ = ("graph", "number")

    def __init__(self, graph: SymbolGraph, number: int) -> None:
        self.graph = graph
        self.number = number

    def __add__(self, other: Any) -> Any:
        if other.__class__ is not Symbol:
            if other == 0.0:
                return self
            return self.graph.enter(("add", self.number, self.graph.number(other)))
        graph, a, b = self.graph, self.number, other.number
        operation = graph.operations[b]
        if operation[0] == "neg":  # a + -b
            return graph.enter(("sub", a, operation[1]))
        operation = graph.operations[a]
        if operation[0] == "neg":
            return graph.enter(("sub", b, operation[1]))
        return graph.enter(("add", a, b) if a <= b else ("add", b, a))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if other.__class__ is not Symbol:
            if other == 0.0:
                return self
            return self.graph.enter(("sub", self.number, self.graph.number(other)))
        graph, b = self.graph, other.number
        operation = graph.operations[b]
        if operation[0] == "neg":  # a - -b
            return self + Symbol(graph, operation[1])
        return graph.enter(("sub", self.number, b))

    def __rsub__(self, other: Any) -> Any:
        if other == 0.0:
            return -self
        return self.graph.enter(("sub", self.graph.number(other), self.number))

    def __neg__(self) -> Any:
        name, *operands = self.graph.operations[self.number]
        if name == "neg":
            return Symbol(self.graph, operands[0])
        if name == "sub":
            return self.graph.enter(("sub", operands[1], operands[0]))
        return self.graph.enter(("neg", self.number))

    def __mul__(self, other: Any) -> Any:
        graph, a = self.graph, self.number
        if other.__class__ is not Symbol:
            if other == 0.0:
                return 0.0
            if other == 1.0:
                return self
            if other == -1.0:
                return -self
            return graph.enter(("mul", a, graph.number(other)))
        b = other.number
        first, second = graph.operations[a], graph.operations[b]
        if first[0] == "neg":  # -a b = -(a b), so that a sum becomes a difference
            return -(Symbol(graph, first[1]) * other)
        if second[0] == "neg":
            return -(self * Symbol(graph, second[1]))
        return graph.enter(("mul", a, b) if a <= b else ("mul", b, a))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if not isinstance(other, Symbol) and other == 1.0:
            return self
        return self.graph.enter(("div", self.number, self.graph.number(other)))

    def __rtruediv__(self, other: Any) -> Any:
        if other == 0.0:
            return 0.0
        return self.graph.enter(("div", self.graph.number(other), self.number))

    def __abs__(self) -> Any:
        return self.graph.enter(("fabs", self.number))

    def __floor__(self) -> Any:  # called by NumPy's floor
        return self.graph.enter(("floor", self.number))

    def __pos__(self) -> Any:
        return self

    def __lt__(self, other: Any) -> Any:
        return self.graph.enter(("lt", self.number, self.graph.number(other)))

    def __gt__(self, other: Any) -> Any:
        return self.graph.enter(("lt", self.graph.number(other), self.number))

    def __le__(self, other: Any) -> Any:
        return self.graph.enter(("le", self.number, self.graph.number(other)))

    def __ge__(self, other: Any) -> Any:
        return self.graph.enter(("le", self.graph.number(other), self.number))

    def __eq__(self, other: object) -> Any:  # a condition, not True or False
        return self.graph.enter(("eq", self.number, self.graph.number(other)))

    def __ne__(self, other: object) -> Any:
        return self.graph.enter(("ne", self.number, self.graph.number(other)))

    __hash__ = None  # type: ignore[assignment]

    def select(self, yes: Any, no: Any) -> Any:
        """Return `yes` if this is not zero, else `no`."""
        return (self != 0.0).select(yes, no)

    def __bool__(self) -> bool:
        raise NotTraceableError(
            "an unknown number is used as true or false; compare it, for example with 0"
        )

    def _refuse_value(self) -> Any:
        raise NotTraceableError(
            "it needs the value of an unknown number; np.zeros_like(qpos) makes an array that can "
            "hold unknown numbers, np.zeros does not"
        )

    __float__ = __int__ = __index__ = _refuse_value

    def _refuse(self, *_: Any) -> Any:
        raise NotTraceableError("%, // and powers other than 1 to 4 are not supported")

    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __rpow__ = _refuse

    def __pow__(self, exponent: Any) -> Any:
        if exponent not in (1, 2, 3, 4):
            self._refuse()
        product = self
        for _ in range(int(exponent) - 1):
            product = product * self
        return product

    def arctan2(self, other: Any) -> Any:
        """Return the angle whose tangent is this number over the other."""
        return self.graph.enter(("arctan2", self.number, self.graph.number(other)))

    def angle_from(self, other: Any) -> Any:
        """Return the angle whose tangent is the other number over this number."""
        return self.graph.enter(("arctan2", self.graph.number(other), self.number))

    def clip(self, least: Any, most: Any, **_: Any) -> Any:
        """Return the nearest number in the interval from `least` to `most`; np.clip calls this."""
        return np.clip(np.array(self, object).view(SymbolArray), least, most)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return apply(ufunc, method, inputs, options)


def _meeting_others(method: Callable[[Symbol, Any], Any]) -> Callable[[Symbol, Any], Any]:
    """Return a method that converts conditions to numbers, and leaves arrays to NumPy."""

    def operate(self: Symbol, other: Any) -> Any:
        if isinstance(other, Symbol):
            if other.graph is not self.graph:
                raise NotTraceableError(KEPT)
            if other.__class__ is Condition:
                other = other.as_number()
        elif other.__class__ is not float and isinstance(other, np.ndarray):
            return NotImplemented
        return method(self, other)

    return operate


BINARY = (
    "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__",
    "__rtruediv__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__",
)  # fmt: skip

for _name in BINARY:
    setattr(Symbol, _name, _meeting_others(getattr(Symbol, _name)))


def _method(name: str) -> Callable[[Symbol], Symbol]:
    return lambda x: x.graph.enter((name, x.number))


for _name in UNARY:
    setattr(Symbol, _name, _method(_name))


class Condition(Symbol):
    """A symbol that is true or false; as a number, 1 or 0."""

    __slots__ = ()

    def as_number(self) -> Any:
        """Return 1 if the condition holds, else 0."""
        return self.select(1.0, 0.0)

    def select(self, yes: Any, no: Any) -> Any:
        """Return `yes` if this condition holds, else `no`."""
        graph = self.graph
        if yes is no or graph.number(yes) == graph.number(no):
            return yes
        return graph.enter(("select", self.number, graph.number(yes), graph.number(no)))

    def __bool__(self) -> bool:
        return self.graph.decide(self)

    def __and__(self, other: Any) -> Any:
        return self.as_number() * _number(other) > 0.0

    def __or__(self, other: Any) -> Any:
        return self.as_number() + _number(other) > 0.0

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Any:
        return self.as_number() <= 0.0


def _number(x: Any) -> Any:
    """Return a condition as a number, and any other value unchanged."""
    return x.as_number() if isinstance(x, Condition) else x


def _through_number(name: str) -> Callable[..., Any]:
    method = getattr(Symbol, name)

    def operate(self: Condition, *others: Any) -> Any:
        truths = any(isinstance(x, Condition | bool | np.bool_) for x in others)
        if truths and name == "__mul__":
            return self & others[0]
        if truths and name in ("__add__", "__radd__", "__sub__", "__rsub__"):
            raise NotTraceableError(
                "it adds or subtracts conditions; multiply them by 1.0 first, or use np.logical_or"
            )
        return method(self.as_number(), *others)

    return operate


for _name in (*BINARY, "__neg__", "__pos__", "__abs__", "__floor__", "__pow__", *UNARY):
    setattr(Condition, _name, _through_number(_name))


def not_traceable(reason: str, what: str = "") -> ModelError:
    """Return the error for a function, `what`, that cannot become straight-line code."""
    text = f"{what or 'this'} cannot be specialised: {reason}"
    return ModelError(Finding("not-traceable", text, "error", what))


def _cannot_decide(_: Symbol) -> bool:
    raise NotTraceableError("a branch depends on an unknown number")
