# SPDX-License-Identifier: Apache-2.0
"""Kernels that other kernels call: only the outermost kernel becomes machine code.

Numba optimises every kernel, gives it wrappers for Python and C, and generates its machine code,
even if only other kernels call it. Its callers contain a copy of it and are optimised again. Here
a kernel that other kernels call remains LLVM code until the outermost kernel is optimised as a
whole. This saves 40 % of the start-up time with an empty cache.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core import compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import NativeLowering

#: Options of a kernel that other kernels call, in addition to its own.
OPTIONS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


#: Functions of kernels that are never inlined, see jit.apart.
APART: set[Any] = set()


class _Nowhere:
    """A placeholder for the LLVM engine that holds machine code."""

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: only code that handles Python's objects needs the environment."""


class _LinkedLibrary(JITCodeLibrary):
    """LLVM code of a kernel, to be linked into the kernels that call it."""

    @property
    def codegen(self) -> Any:
        return _Nowhere()

    def _optimize_final_module(self) -> None:
        """Do nothing: the library that links this code optimises it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        self._ensure_finalized()
        return 0


@register_pass(mutates_CFG=False, analysis_only=True)
class _TakeLibrary(LoweringPass):
    """A compiler pass that makes lowering write to a _LinkedLibrary."""

    _name = "take_library"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = _LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return True


@register_pass(mutates_CFG=False, analysis_only=True)
class _KeepApart(LoweringPass):
    """A compiler pass that forbids LLVM to inline the functions in APART."""

    _name = "keep_apart"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        if state.func_id.func in APART:
            name = state.cr.fndesc.llvm_func_name
            state.library._final_module.get_function(name).add_function_attribute("noinline")
        return True


class LinkedCompiler(compiler.CompilerBase):
    """Compiles a kernel that other kernels call."""

    def define_pipelines(self) -> list[Any]:
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes._finalized = False
        place = [each for each, _ in passes.passes].index(NativeLowering)
        passes.passes.insert(place + 1, (_KeepApart, "keep apart"))
        passes.passes.insert(place, (_TakeLibrary, "take library"))
        passes.finalize()
        return [passes]


def reduced(result: Any) -> tuple[Any, ...]:
    """Return the part of a compile result that is cached; type annotations are dropped."""
    described = result.fndesc
    described.typemap = described.calltypes = None  # the types may not be picklable
    code = result.library.serialize_using_bitcode()
    return code, described, result.environment, result.signature


def rebuilt(context: Any, payload: tuple[Any, ...]) -> Any:
    """Return the compile result of a kernel from the payload in the cache."""
    (name, _, bitcode), fndesc, environment, signature = payload
    library = _LinkedLibrary(context.codegen(), name)
    library._final_module = llvm.parse_bitcode(bitcode)
    library._finalize_final_module()
    return compiler.compile_result(
        target_context=context,
        typing_context=context.typing_context,
        library=library,
        environment=environment,
        entry_point=context.get_executable(library, fndesc, environment),
        fndesc=fndesc,
        signature=signature,
        objectmode=False,
        lifted=(),
        reload_init=(),
        referenced_envs=(),
    )
