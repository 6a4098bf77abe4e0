# SPDX-License-Identifier: Apache-2.0
"""Translate the body of a kernel to statements of C++."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from rbdyn_ros.codegen.kernels.expressions import OPERATORS, condition, expression
from rbdyn_ros.codegen.kernels.texts import (
    ARRAYS,
    NUMBERS,
    WIDTH,
    Signature,
    Text,
    TranslationError,
    is_constant,
)


class KernelBody:
    """The body of a kernel.

    Args:
        node: the function.
        names: the global names that the function can use.
        kinds: types of the arguments, by name.
        result: type of the result.
        signature_of: function that returns the signature of a kernel, or None for other functions.

    Attributes:
        written: names of the arguments whose arrays the kernel writes.
    """

    def __init__(
        self,
        node: ast.FunctionDef,
        names: Mapping[str, Any],
        kinds: Mapping[str, str],
        result: str,
        signature_of: Callable[[Any], Signature | None],
    ) -> None:
        self._node, self._names, self._result = node, names, result
        self._signature_of = signature_of
        self._scopes: list[dict[str, Text]] = [{k: Text(k, kind) for k, kind in kinds.items()}]
        # for each array, the name of the argument that owns it
        self._owners = {name: name for name in kinds}
        self.written: set[str] = set()
        parts = (n for n in ast.walk(node) if isinstance(n, ast.Name))
        self._stores = Counter(n.id for n in parts if isinstance(n.ctx, ast.Store))

    def lines(self) -> Iterator[str]:
        """Yield the lines of the body."""
        yield from self._block(self._node.body)

    # methods of Names, which the translation of expressions calls

    def variable(self, node: ast.Name) -> Text | None:
        """Return an argument or local variable; None for a global name.

        Raise TranslationError if the variable may have no value.
        """
        for scope in reversed(self._scopes):
            if node.id in scope:
                return scope[node.id]
        if node.id in self._stores:
            raise TranslationError(node, f"`{node.id}`, which may have no value here")
        return None

    def constant(self, node: ast.Name) -> Text:
        """Return a constant of the kernel's module, or raise TranslationError."""
        value = self.value(node)
        if not is_constant(node.id, value):
            raise TranslationError(node, f"`{node.id}`, which is not a number")
        return Text(node.id, type(value).__name__)

    def value(self, node: ast.expr) -> Any:
        """Return the object of a global name, such as np.exp, or raise TranslationError."""
        if isinstance(node, ast.Attribute):
            return getattr(self.value(node.value), node.attr)
        if isinstance(node, ast.Name) and node.id in self._names:
            return self._names[node.id]
        raise TranslationError(node, f"`{ast.unparse(node)}`")

    def called(self, node: ast.Call, function: Any) -> Signature | None:
        """Return the signature of a kernel that is called here, or None for other functions."""
        signature = self._signature_of(function)
        if signature is not None:
            for place in signature.written:
                self._write(node.args[place])
        return signature

    def _write(self, node: ast.expr) -> None:
        """Record that the kernel writes the array of an argument."""
        while isinstance(node, ast.Subscript | ast.Attribute):
            node = node.value
        if isinstance(node, ast.Name):
            self.written.add(self._owners[node.id])

    # statements

    def _block(self, nodes: list[ast.stmt]) -> Iterator[str]:
        for node in nodes:
            rule = self._RULES.get(type(node))
            if rule is None:
                raise TranslationError(
                    node, f"the statement `{ast.unparse(node).splitlines()[0]}`"
                )
            yield from rule(self, node)

    def _braces(
        self, head: str, nodes: list[ast.stmt], variables: Mapping[str, Text] = {}
    ) -> Iterator[str]:
        """Yield a block in braces, whose variables are local."""
        self._scopes.append(dict(variables))
        yield f"{head} {{"
        yield from (f"  {line}" for line in self._block(nodes))
        yield "}"
        self._scopes.pop()

    def _expression(self, node: ast.Expr) -> Iterator[str]:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        if not isinstance(node.value, ast.Call):
            raise TranslationError(node, f"the statement `{ast.unparse(node)}`")
        found = expression(node.value, self)
        yield f"{found.text};" if found.kind == "None" else f"(void){found.text};"

    def _assign(self, node: ast.Assign) -> Iterator[str]:
        for target in node.targets:
            if not isinstance(target, ast.Tuple):
                yield self._store(target, expression(node.value, self))
            elif isinstance(node.value, ast.Tuple):
                yield from self._store_each(target, node.value)
            else:
                yield from self._unpack(target, node.value)

    def _store_each(self, target: ast.Tuple, value: ast.Tuple) -> Iterator[str]:
        """Assign several values at once; no value may use a target that is assigned before it."""
        if len(target.elts) != len(value.elts):
            raise TranslationError(target, f"`{ast.unparse(target)}` of another length")
        texts = [expression(part, self) for part in value.elts]
        for k, (place, text) in enumerate(zip(target.elts, texts, strict=True)):
            if any(_uses(later, place) for later in value.elts[k + 1 :]):
                raise TranslationError(
                    target, f"`{ast.unparse(place)}`, used beside its assignment"
                )
            yield self._store(place, text)

    def _unpack(self, target: ast.Tuple, value: ast.expr) -> Iterator[str]:
        """Yield the C++ statement that unpacks a tuple into new variables.

        Raises:
            TranslationError: a variable exists already, or the numbers of entries differ.
        """
        found = expression(value, self)
        names = [part.id for part in target.elts if isinstance(part, ast.Name)]
        if len(names) != len(found.parts) or any(name in self._scopes[-1] for name in names):
            raise TranslationError(target, f"`{ast.unparse(target)}`; it takes new variables")
        yield f"const auto [{', '.join(names)}] = {found.text};"
        self._scopes[-1].update({n: Text(n, k) for n, k in zip(names, found.parts, strict=True)})

    def _store(self, target: ast.expr, value: Text) -> str:
        if isinstance(target, ast.Subscript | ast.Attribute):
            place = expression(target, self)
            if place.kind not in NUMBERS or value.kind not in NUMBERS:
                raise TranslationError(target, f"a new array in `{ast.unparse(target)}`")
            self._write(target)
            return f"{place.text} = {value.as_number(place.kind)};"
        if not isinstance(target, ast.Name):
            raise TranslationError(target, f"an assignment to `{ast.unparse(target)}`")
        known = next((s[target.id] for s in reversed(self._scopes) if target.id in s), None)
        if known is None:
            return self._declare(target, value)
        if known.kind not in NUMBERS or value.kind not in NUMBERS:
            raise TranslationError(target, f"a new value of the array `{target.id}`")
        if WIDTH.index(known.kind) < WIDTH.index(value.kind):
            raise TranslationError(target, f"a {value.kind} for `{target.id}`, a {known.kind}")
        return f"{target.id} = {value.as_number(known.kind)};"

    def _declare(self, target: ast.Name, value: Text) -> str:
        name = target.id
        self._scopes[-1][name] = Text(name, value.kind)
        if value.kind in ARRAYS:
            owner = re.match(r"\w+", value.text)  # state.row(0) or d.qpos
            assert owner is not None
            self._owners[name] = self._owners[owner[0]]
            return f"auto && {name} = {value.text};"
        if value.kind not in NUMBERS:
            raise TranslationError(target, f"`{name}`, a {value.kind}")
        const = "const " if self._stores[name] == 1 else ""
        return f"{const}{NUMBERS[value.kind]} {name} = {value.text};"

    def _update(self, node: ast.AugAssign) -> Iterator[str]:
        place, value = expression(node.target, self), expression(node.value, self)
        if type(node.op) not in OPERATORS or WIDTH.index(value.kind) > WIDTH.index(place.kind):
            raise TranslationError(node, f"the statement `{ast.unparse(node)}`")
        if isinstance(node.target, ast.Subscript | ast.Attribute):
            self._write(node.target)
        sign = OPERATORS[type(node.op)][0]
        yield f"{place.text} {sign}= {value.as_number(place.kind)};"

    def _if(self, node: ast.If, otherwise: str = "") -> Iterator[str]:
        yield from self._braces(f"{otherwise}if ({condition(node.test, self).text})", node.body)
        match node.orelse:
            case []:
                return
            case [ast.If() as other]:
                yield from self._if(other, "else ")
            case _:
                yield from self._braces("else", node.orelse)

    def _while(self, node: ast.While) -> Iterator[str]:
        yield from self._braces(f"while ({condition(node.test, self).text})", node.body)

    def _for(self, node: ast.For) -> Iterator[str]:
        if not isinstance(node.target, ast.Name) or node.orelse:
            raise TranslationError(node, "the target or the end of a loop")
        name = node.target.id
        if any(name in scope for scope in self._scopes):
            raise TranslationError(node.target, f"`{name}`, which has a value before the loop")
        if isinstance(node.iter, ast.Call) and self.value(node.iter.func) is range:
            kind, head = "int", self._range(name, node.iter)
        else:
            array = expression(node.iter, self)
            if array.kind not in ARRAYS or ARRAYS[array.kind][0] != 1:
                raise TranslationError(node.iter, f"a loop over `{ast.unparse(node.iter)}`")
            kind = ARRAYS[array.kind][1]
            head = f"for (const {NUMBERS[kind]} {name} : {array.text})"
        yield from self._braces(head, node.body, {name: Text(name, kind)})

    def _range(self, name: str, call: ast.Call) -> str:
        given = [expression(argument, self).text for argument in call.args]
        first, end, step = (["0", *given] if len(given) == 1 else given)[:3] + ["1"][
            : len(given) < 3
        ]
        if step not in ("1", "-1"):
            raise TranslationError(call, f"the step of `{ast.unparse(call)}`")
        sign, change = ("<", "++") if step == "1" else (">", "--")
        return f"for (Index {name} = {first}; {name} {sign} {end}; {change}{name})"

    def _return(self, node: ast.Return) -> Iterator[str]:
        if node.value is None:
            yield "return;"
            return
        found = expression(node.value, self)
        yield f"return {found.as_number(self._result) if found.kind in NUMBERS else found.text};"

    def _jump(self, node: ast.Break | ast.Continue) -> Iterator[str]:
        yield f"{type(node).__name__.lower()};"

    _RULES: ClassVar[dict[type[ast.stmt], Any]] = {
        ast.Expr: _expression,
        ast.Assign: _assign,
        ast.AugAssign: _update,
        ast.If: _if,
        ast.While: _while,
        ast.For: _for,
        ast.Return: _return,
        ast.Break: _jump,
        ast.Continue: _jump,
    }


def _uses(value: ast.expr, target: ast.expr) -> bool:
    """Return whether a value may read the variable, array or field that is assigned."""
    while isinstance(target, ast.Subscript):
        target = target.value
    if isinstance(target, ast.Attribute):
        fields = (node for node in ast.walk(value) if isinstance(node, ast.Attribute))
        return any(ast.unparse(field) == ast.unparse(target) for field in fields)
    name = target.id if isinstance(target, ast.Name) else ""
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value))
