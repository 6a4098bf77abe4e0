# SPDX-License-Identifier: Apache-2.0
"""Translate kernels and all functions that they call to C++."""

import ast
import builtins
import inspect
import itertools
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from rbdyn_ros.codegen.kernels import texts
from rbdyn_ros.codegen.kernels.statements import KernelBody
from rbdyn_ros.control.base.record import RECORDS
from rbdyn_ros.dynamics.entry import Entry
from rbdyn_ros.engine.compiler.views import ViewType
from rbdyn_ros.specialization.uncompiled import LIBRARIES


class Translation:
    """Kernels as C++ functions, each in a namespace that is named like its module.

    Args:
        kernels: kernels, or entry points of kernels.
        given: signatures, by name, of kernels that exist in C++ already.

    Attributes:
        modules: modules of the kernels, by their namespaces.
        records: records that the kernels take, by the names of their classes.

    Raises:
        NotImplementedError: a kernel uses unsupported Python; the message has file and line.
    """

    def __init__(self, kernels: Iterable[Any], given: Mapping[str, texts.Signature]) -> None:
        self.modules: dict[str, ModuleType] = {}
        self.records: dict[str, ViewType] = {}
        self._given = given
        self._found: dict[Any, texts.Signature] = {}
        self._texts: list[tuple[str, str]] = []
        for kernel in kernels:
            self.signature(kernel)

    def text(self) -> str:
        """Return the C++ of all functions, each after the functions that it calls."""
        parts = []
        for space, group in itertools.groupby(self._texts, lambda text: text[0]):
            inner = "\n\n".join(text for _, text in group)
            parts.append(f"namespace {space}\n{{\n{inner}\n}}  // namespace {space}")
        return "\n\n".join(parts)

    def signature(self, kernel: Any) -> texts.Signature | None:
        """Return the signature of a kernel, after translating it once.

        Return None for other functions.
        """
        function = _python_of(kernel)
        if function is None:
            return None
        if function.__name__ in self._given:
            return self._given[function.__name__]
        if function not in self._found:
            self._found[function] = self._translated(function)
        return self._found[function]

    def _translated(self, function: FunctionType) -> texts.Signature:
        source = textwrap.dedent(inspect.getsource(function))
        node = ast.parse(source).body[0]
        assert isinstance(node, ast.FunctionDef)
        try:
            return self._define(function, node)
        except texts.TranslationError as error:
            file = Path(inspect.getfile(function)).name
            line = function.__code__.co_firstlineno + getattr(error.node, "lineno", 1) - 1
            text = f"{file}, line {line}: kernel `{function.__name__}` uses {error}"
            raise NotImplementedError(f"{text}, which is not translated to C++") from error

    def _define(self, function: FunctionType, node: ast.FunctionDef) -> texts.Signature:
        """Append a function to the texts and return its signature."""
        space, name = function.__module__.rpartition(".")[2], node.name.lstrip("_")
        kinds = {argument.arg: _kind(argument) for argument in node.args.args}
        result, parts = _result(node)
        self.records |= {kind: RECORDS[kind] for kind in kinds.values() if kind in RECORDS}
        self.modules[space] = sys.modules[function.__module__]
        names = {**vars(builtins), **function.__globals__}
        body = KernelBody(node, names, kinds, result, self.signature)
        lines = [f"  {line}" for line in body.lines()]
        used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        arguments = ", ".join(
            _argument(argument if argument in used else "", kind, argument in body.written)
            for argument, kind in kinds.items()
            if kind != texts.MODEL
        )
        # not inlined: a function that contains all others has too many live values and is slower
        kind = "[[maybe_unused, gnu::noinline]] static"
        kind = kind if texts.DATA in kinds.values() else "static inline"
        head = f"{kind} {_type(result, parts)} {name}({arguments})"
        self._texts.append((space, "\n".join([*_comment(node), head, "{", *lines, "}"])))
        written = frozenset(k for k, argument in enumerate(kinds) if argument in body.written)
        return texts.Signature(f"{space}::{name}", tuple(kinds.values()), result, parts, written)


def _python_of(kernel: Any) -> FunctionType | None:
    """Return the Python function of a kernel, or None for other functions."""
    if isinstance(kernel, Entry):
        kernel = kernel.kernel
    function = getattr(kernel, "py_func", kernel)  # without compilation the kernel is the function
    if not inspect.isfunction(function) or function.__module__.split(".")[0] in LIBRARIES:
        return None
    return function


def _kind(argument: ast.arg) -> str:
    kind = ast.unparse(argument.annotation) if argument.annotation else "no type"
    if kind not in (*texts.NUMBERS, *texts.ARRAYS, texts.MODEL, texts.DATA, *RECORDS):
        raise texts.TranslationError(argument, f"the argument `{argument.arg}` of {kind}")
    return kind


def _result(node: ast.FunctionDef) -> tuple[str, tuple[str, ...]]:
    """Return the type of a result, and the types of a tuple's entries; or raise an error."""
    given = ast.unparse(node.returns) if node.returns else "no type"
    parts = tuple(given.removeprefix("tuple[").removesuffix("]").split(", "))
    if given.startswith("tuple[") and set(parts) <= set(texts.NUMBERS):
        return "tuple", parts
    if given not in (*texts.NUMBERS, "None"):
        raise texts.TranslationError(node, f"a result of {given}")
    return given, ()


def _type(result: str, parts: tuple[str, ...]) -> str:
    if result == "tuple":
        return f"std::tuple<{', '.join(texts.NUMBERS[part] for part in parts)}>"
    return texts.NUMBERS.get(result, "void")


def _argument(name: str, kind: str, written: bool) -> str:
    if kind in texts.NUMBERS:
        return f"{texts.NUMBERS[kind]} {name}".rstrip()
    if kind == texts.DATA:
        return f"Data & {name}".rstrip()
    if kind in RECORDS:
        return f"{'' if written else 'const '}{kind} & {name}".rstrip()
    shape = "Matrix" if kind == "Matrix" else "Vector"
    entry = texts.NUMBERS[texts.ARRAYS[kind][1]]
    return f"{shape}<{entry if written else f'const {entry}'}> {name}".rstrip()


def _comment(node: ast.FunctionDef) -> list[str]:
    text = ast.get_docstring(node) or ""
    return [f"/// {line}".rstrip() for line in text.splitlines()]
