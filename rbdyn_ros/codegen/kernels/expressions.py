# SPDX-License-Identifier: Apache-2.0
"""Translate the expressions of a kernel to C++, and find their types."""

import ast
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rbdyn_ros.codegen.kernels.texts import (
    AND,
    ARRAYS,
    ATOM,
    CHOICE,
    COMPARISON,
    DATA,
    EQUALITY,
    MODEL,
    NUMBERS,
    OR,
    PRODUCT,
    SUM,
    UNARY,
    WIDTH,
    Names,
    Text,
    TranslationError,
    kind_of,
    number,
)
from rbdyn_ros.control.base.record import RECORDS

OPERATORS = {ast.Mult: ("*", PRODUCT), ast.Div: ("/", PRODUCT), ast.Add: ("+", SUM)}
OPERATORS |= {ast.Sub: ("-", SUM)}
COMPARISONS = {ast.Lt: ("<", COMPARISON), ast.LtE: ("<=", COMPARISON), ast.Gt: (">", COMPARISON)}
COMPARISONS |= {ast.GtE: (">=", COMPARISON), ast.Eq: ("==", EQUALITY), ast.NotEq: ("!=", EQUALITY)}
#: Functions of Python, NumPy and math, with their names in C++ or in the header views.hpp.
FUNCTIONS = {
    getattr(module, name): f"std::{name}"
    for module in (math, np)
    for name in ("exp", "expm1", "sqrt", "sin", "cos", "copysign", "tanh")
}
FUNCTIONS |= {np.abs: "std::abs", abs: "std::abs", np.sign: "sign"}
#: Python classes that convert numbers.
CONVERSIONS = {bool: "bool", float: "float", int: "int"}


def expression(node: ast.expr, names: Names) -> Text:
    """Return the C++ of a kernel's expression; raise TranslationError for unsupported Python."""
    rule = _RULES.get(type(node))
    if rule is None:
        raise TranslationError(node, f"the expression `{ast.unparse(node)}`")
    found: Text = rule(node, names)
    return found


def _constant(node: ast.Constant, _names: Names) -> Text:
    if not isinstance(node.value, (bool, int, float)):
        raise TranslationError(node, f"the constant {node.value!r}")
    return number(node.value)


def _name(node: ast.Name, names: Names) -> Text:
    return names.variable(node) or names.constant(node)


def _attribute(node: ast.Attribute, names: Names) -> Text:
    if isinstance(node.value, ast.Name) and names.variable(node.value) is None:
        return number(names.value(node))  # np.inf, math.pi
    owner = expression(node.value, names)
    if owner.kind == MODEL and node.attr == "nv":
        return Text("NV", "int")
    kind = "Vector" if owner.kind == DATA and node.attr in DATA_FIELDS else ""
    if owner.kind in RECORDS and node.attr in RECORDS[owner.kind].fields:
        kind = kind_of(RECORDS[owner.kind].fields[node.attr][1])
    if not kind:
        raise TranslationError(node, f"`{ast.unparse(node)}`")
    return Text(f"{owner.text}.{node.attr}", kind)


#: Fields of Data that a kernel may use.
DATA_FIELDS = ("qpos", "qvel", "qacc", "qfrc_applied", "qfrc_inverse")


def _subscript(node: ast.Subscript, names: Names) -> Text:
    match node:
        case ast.Subscript(ast.Attribute(matrix, "shape"), ast.Constant(0 | 1 as axis)):
            owner = expression(matrix, names)
            if owner.kind == "Matrix":
                return Text(f"{owner.text}.{'columns' if axis else 'rows'}()", "int")
    owner = expression(node.value, names)
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    places = [expression(index, names) for index in indices]
    if owner.kind not in ARRAYS or any(place.kind != "int" for place in places):
        raise TranslationError(node, f"`{ast.unparse(node)}`")
    texts, (axes, entry) = ", ".join(place.text for place in places), ARRAYS[owner.kind]
    if len(places) == axes:
        text = f"{owner.text}[{texts}]" if axes == 1 else f"{owner.text}({texts})"
        return Text(text, entry)
    if (len(places), axes) == (1, 2):
        return Text(f"{owner.text}.row({texts})", "Vector")
    raise TranslationError(node, f"`{ast.unparse(node)}`")


def _unary(node: ast.UnaryOp, names: Names) -> Text:
    operand = expression(node.operand, names)
    if isinstance(node.op, ast.Not):
        return Text(f"!{operand.within(UNARY)}", "bool", UNARY)
    if isinstance(node.op, ast.USub):
        return Text(f"-{operand.within(ATOM)}", operand.kind, UNARY)
    raise TranslationError(node, f"`{ast.unparse(node)}`")


def _binary(node: ast.BinOp, names: Names) -> Text:
    left, right = expression(node.left, names), expression(node.right, names)
    if isinstance(node.op, ast.Mod) and left.kind == right.kind == "int":
        return Text(f"remainder({left.text}, {right.text})", "int")
    if isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant):
        if node.right.value == 2:
            return Text(f"square({left.as_number('float')})", "float")
    elif type(node.op) in OPERATORS:
        sign, binds = OPERATORS[type(node.op)]
        kind = "float" if sign == "/" else _wider(left, right)
        texts = _converted((left, binds), (right, binds + 1), kind=kind)
        return Text(f" {sign} ".join(texts), kind, binds)
    raise TranslationError(node, f"the operator of `{ast.unparse(node)}`")


def _wider(*given: Text) -> str:
    """Return the widest type of several numbers, at least int."""
    return max((*(text.kind for text in given), "int"), key=WIDTH.index)


def _converted(*given: tuple[Text, int], kind: str) -> list[str]:
    """Return operands converted to one type of numbers."""
    found = []
    for text, binds in given:
        whole = text.as_number(kind)
        found.append(text.within(binds) if whole == text.text else whole)
    return found


def _compare(node: ast.Compare, names: Names) -> Text:
    parts = [expression(part, names) for part in (node.left, *node.comparators)]
    if any(not isinstance(middle, ast.Name | ast.Constant) for middle in node.comparators[:-1]):
        raise TranslationError(node, "a chain of comparisons with a term in the middle")
    found = []
    for left, right, operator in zip(parts[:-1], parts[1:], node.ops, strict=True):
        if type(operator) not in COMPARISONS:
            raise TranslationError(node, f"the comparison `{ast.unparse(node)}`")
        sign, binds = COMPARISONS[type(operator)]
        kind = max((left.kind, right.kind), key=WIDTH.index)
        texts = _converted((left, binds + 1), (right, binds + 1), kind=kind)
        found.append(Text(f" {sign} ".join(texts), "bool", binds))
    return _joined(found, "&&", AND)


def _logic(node: ast.BoolOp, names: Names) -> Text:
    sign, binds = ("&&", AND) if isinstance(node.op, ast.And) else ("||", OR)
    return _joined([condition(part, names) for part in node.values], sign, binds)


def _joined(parts: Sequence[Text], sign: str, binds: int) -> Text:
    if len(parts) == 1:
        return parts[0]
    # compilers warn of && inside || without parentheses
    within = AND + 1 if binds == OR else binds
    return Text(f" {sign} ".join(part.within(within) for part in parts), "bool", binds)


def condition(node: ast.expr, names: Names) -> Text:
    """Return the translation of a condition.

    The expression must be a bool, because the truth value of numbers is error-prone.
    """
    found = expression(node, names)
    if found.kind != "bool":
        raise TranslationError(node, f"the condition `{ast.unparse(node)}`, a {found.kind}")
    return found


def _choice(node: ast.IfExp, names: Names) -> Text:
    test, first, second = (
        condition(node.test, names),
        expression(node.body, names),
        expression(node.orelse, names),
    )
    kind = max((first.kind, second.kind), key=WIDTH.index)
    texts = _converted((first, CHOICE + 1), (second, CHOICE), kind=kind)
    return Text(f"{test.within(CHOICE + 1)} ? {texts[0]} : {texts[1]}", kind, CHOICE)


def _tuple(node: ast.Tuple, names: Names) -> Text:
    parts = [expression(part, names) for part in node.elts]
    texts = ", ".join(part.text for part in parts)
    return Text(f"{{{texts}}}", "tuple", parts=tuple(part.kind for part in parts))


def _call(node: ast.Call, names: Names) -> Text:
    if node.keywords:
        raise TranslationError(node, f"the keyword of `{ast.unparse(node)}`")
    function: Any = names.value(node.func)
    if function is len:
        (array,) = (expression(given, names) for given in node.args)
        return Text(f"length({array.text})", "int")
    if (kernel := names.called(node, function)) is not None:
        return kernel.call(node, [expression(given, names) for given in node.args])
    given = [expression(argument, names) for argument in node.args]
    if any(text.kind not in NUMBERS for text in given):
        raise TranslationError(node, f"the call `{ast.unparse(node)}`")
    if function in (min, max):
        kind = _wider(*given)
        name = f"std::{function.__name__}<{NUMBERS[kind]}>"
        first, *others = (text.as_number(kind) for text in given)
        for other in others:  # from the left, in the order in which Python compares them
            first = f"{name}({first}, {other})"
        return Text(first, kind)
    if function in CONVERSIONS:
        return Text(given[0].as_number(CONVERSIONS[function]), CONVERSIONS[function])
    if function in (np.isnan, math.isnan):
        return Text(f"std::isnan({given[0].text})", "bool")
    if function in FUNCTIONS:
        texts = ", ".join(text.as_number("float") for text in given)
        return Text(f"{FUNCTIONS[function]}({texts})", "float")
    raise TranslationError(node, f"the function `{ast.unparse(node.func)}`")


_RULES: dict[type[ast.expr], Any] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.BoolOp: _logic,
    ast.IfExp: _choice,
    ast.Tuple: _tuple,
    ast.Call: _call,
}
