"""How kernels are compiled, cached and called.

`kernel` compiles a function that only other kernels call; `stage` compiles a function of
(m, d, ...) and makes it callable from Python as well. Both leave plain Python when
NUMBA_DISABLE_JIT=1.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np
from numba import types
from numba.extending import typeof_impl
from numpy.typing import NDArray

from rbdyn_ros.engine.views import DATA, MODEL
from rbdyn_ros.errors import Finding, ModelError

Vector = NDArray[np.float64]  # (n,), contiguous
Matrix = NDArray[np.float64]  # (n, n), contiguous

P = ParamSpec("P")
R = TypeVar("R")

DISABLED = bool(numba.config.DISABLE_JIT)
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}

_PACKAGE = Path(__file__).resolve().parents[1]
_ARGUMENT_TYPES = {
    "Model": MODEL,
    "Data": DATA,
    "int": types.int64,
    "float": types.float64,
    "Vector": types.float64[::1],
    "Matrix": types.float64[:, ::1],
}


def _source_hash() -> str:
    """Hash of all that decides the machine code: numba itself would look at one file only."""
    digest = hashlib.sha256(f"{sys.version} {numba.__version__} {OPTIONS}".encode())
    digest.update(str(numba.config.BOUNDSCHECK).encode())
    for source in sorted([*_PACKAGE.glob("engine/*.py"), *_PACKAGE.glob("model/*.py")]):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _private_directory(path: Path) -> bool:
    """Make a directory only this user can enter (it holds machine code); say if that worked."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
        return path.stat().st_uid == os.getuid() and os.access(path, os.W_OK)
    except OSError:
        return False


def _cache_directory() -> str:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = Path(home) / "rbdyn_ros" / _source_hash()
    return str(path) if _private_directory(path) else tempfile.mkdtemp(prefix="rbdyn_ros_")


CACHE_DIRECTORY = "" if DISABLED else _cache_directory()


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function for use by other kernels and by ordinary Numba code."""
    return function if DISABLED else _compile(function, OPTIONS)


def inline(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that is always inlined: for algebra on tuples, which then stays in registers."""
    return function if DISABLED else _compile(function, {**OPTIONS, "forceinline": True})


def _compile(function: Callable[P, R], options: dict[str, Any]) -> Callable[P, R]:
    theirs = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = CACHE_DIRECTORY  # only while Numba looks where to keep this one
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = theirs
    return compiled


class Stage:
    """A kernel of (m, d, ...) that Python calls without Numba's dispatch (0.4 us a call)."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.dispatcher: Any = kernel(function)
        self._entry = self._compile_and_call

    def compile(self) -> None:
        """Compile, or take from the cache, without running."""
        if DISABLED:
            self._entry = self.dispatcher
            return
        kinds = [kind for name, kind in self.__annotations__.items() if name != "return"]
        signature = tuple(_ARGUMENT_TYPES[kind] for kind in kinds)
        self.dispatcher.compile(signature)
        self._entry = self.dispatcher.overloads[signature].entry_point

    def _compile_and_call(self, *args: Any) -> Any:
        self.compile()
        return self._entry(*args)

    def __call__(self, m: Any, d: Any, *args: Any) -> Any:
        try:
            belongs = d.model is m
        except AttributeError:
            belongs = False
        if not belongs:
            raise _not_a_pair(m, d)
        return self._entry(m, d, *args)


if not DISABLED:

    @typeof_impl.register(Stage)  # type: ignore[untyped-decorator]
    def _typeof_stage(value: Stage, context: object) -> types.Type:
        return types.Dispatcher(value.dispatcher)


def stage(function: Callable[P, R]) -> Callable[P, R]:
    """Make a public stage from a kernel of (m: Model, d: Data, ...)."""
    return Stage(function)


def _not_a_pair(m: object, d: object) -> ModelError:
    text = f"{d!r} was not made for {m!r}; use d = rb.make_data(m) with the same m."
    return ModelError(Finding("data-of-other-model", text))


@inline
def select(condition: bool, yes: float, no: float) -> float:
    """Choose without a branch; symbols take this road too."""
    return yes if condition else no
