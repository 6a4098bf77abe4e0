# SPDX-License-Identifier: Apache-2.0
"""Compile and cache kernels.

With NUMBA_DISABLE_JIT=1 kernels stay plain Python, for debugging and tracing.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import llvmlite
import numba
import numpy as np
from numba import types
from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher
from numba.core.sigutils import normalize_signature
from numba.extending import overload, typeof_impl
from numpy.typing import NDArray

from rbdyn_ros.engine.compiler import (
    linking,
    views,  # noqa: F401  makes Model and Data known to Numba
)
from rbdyn_ros.engine.compiler.cache import KernelCache, alone, warn_once
from rbdyn_ros.engine.compiler.interrupts import deferring
from rbdyn_ros.engine.compiler.processor import processor
from rbdyn_ros.engine.compiler.source_hash import sources_hash

Vector = NDArray[np.float64]  # (n,), contiguous
Matrix = NDArray[np.float64]  # (n, n), contiguous
Cube = NDArray[np.float64]  # (k, n, n), contiguous

P = ParamSpec("P")
R = TypeVar("R")

#: Subfolder of each cache for the code of kernels that other kernels call.
LINKED = "linked"
#: Folder for the hashes of sources, next to the caches.
SOURCES = "sources"

DISABLED = bool(numba.config.DISABLE_JIT)
# without Numba's runtime a kernel cannot allocate memory and does not count references
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}, "_nrt": False}

_PACKAGE = Path(__file__).resolve().parents[2]


def _inputs_hash(folder: Path) -> str:
    """Return a hash of all inputs of the machine code; Numba itself checks only one file."""
    versions = f"{sys.version} {numba.__version__} {llvmlite.__version__}"
    digest = hashlib.sha256(f"{versions} {OPTIONS}".encode())
    digest.update(repr(processor()).encode())
    digest.update(str(numba.config.BOUNDSCHECK).encode())
    sources = [*_PACKAGE.glob("engine/**/*.py"), *_PACKAGE.glob("model/**/*.py")]
    digest.update(sources_hash(sources, folder / SOURCES))
    return digest.hexdigest()[:16]


def _private_directory(path: Path) -> bool:
    """Make a directory that only this user can write; return whether this succeeded."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
        return path.stat().st_uid == os.getuid() and os.access(path, os.W_OK)
    except OSError:
        return False


def _cache_directory() -> str:
    """Return the directory of the machine code, in the user's cache or a temporary one, or ""."""
    parents = [_user_cache(), _temporary_cache()]
    for parent in parents:
        if parent and _private_directory(parent):
            folder = parent / _inputs_hash(parent)
            if _private_directory(folder):
                return str(folder)
    warn_once(parents[0] or "the cache of this user", "it cannot be made or written")
    return ""


def _temporary_cache() -> Path | None:
    try:
        return Path(tempfile.gettempdir(), f"rbdyn_ros_{os.getuid()}")
    except OSError:  # no folder for temporary files can be written
        return None


def _user_cache() -> Path | None:
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(given or "~/.cache").expanduser() / "rbdyn_ros"
    except RuntimeError:  # the user has no home directory, as in some containers
        return None


#: Folder of the engine's machine code; "" if no folder can be made, or nothing is compiled.
CACHE_DIRECTORY = "" if DISABLED else _cache_directory()


def cache_below(name: str, sources: Iterable[Path]) -> str:
    """Return the subdirectory `name` of the engine's cache, or "" if there is no cache.

    Its name contains a hash of `sources`, so that edits of `sources` do not affect the engine.
    """
    if not CACHE_DIRECTORY:
        return ""
    folder = Path(CACHE_DIRECTORY)
    code = sources_hash(sources, folder.parent / SOURCES).hex()
    return str(folder / f"{name}-{code[:16]}")


class Kernel:
    """A compiled function, as Numba's dispatcher, made at its first use.

    A program needs only a few of the dispatchers; making all of them would take a fifth of the
    start-up time.
    """

    def __init__(
        self, function: Callable[..., Any], options: dict[str, Any], directory: str
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options, self._directory = options, directory

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __call__(self, *args: Any) -> Any:
        return self.dispatcher(*args)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """The dispatcher for calls from Python; kernels call the code of `linked` instead."""
        made = _dispatcher(self.py_func, self._options, self._directory, False)
        # Numba reads these when a kernel calls another kernel
        made.get_call_template = self._call_template
        made.get_overload = self._overload
        return made

    def _call_template(self, args: Any, kws: Any) -> Any:
        return self.linked.get_call_template(args, kws)

    def _overload(self, signature: Any) -> Any:
        return self.linked.get_overload(signature)

    @functools.cached_property
    def linked(self) -> Any:
        """The dispatcher for calls from other kernels, without machine code; see linking.py."""
        return _dispatcher(self.py_func, self._options, self._directory, True)


#: Functions that Numba or this module has compiled.
COMPILED = (Dispatcher, Kernel)


@typeof_impl.register(Kernel)
def _typeof_kernel(value: Kernel, context: object) -> Any:
    return types.Dispatcher(value.dispatcher)


def compile_cached(
    function: Callable[P, R], options: dict[str, Any], directory: str
) -> Callable[P, R]:
    """Compile a function and keep its code in `directory`; if DISABLED, return the function."""
    made: Any = function if DISABLED else Kernel(function, options, directory)
    return made


def _dispatcher(
    function: Callable[..., Any], options: dict[str, Any], directory: str, linked: bool
) -> Any:
    extra = linking.OPTIONS if linked else {}
    pipeline = {"pipeline_class": linking.LinkedCompiler} if linked else {}
    compiled = numba.njit(**options, **extra, **pipeline)(function)
    _keep_in(directory, compiled, function, linked)
    compiled.compile = deferring(compiled.compile)
    if not linked:
        compiled.compile = _in_one_process(compiled.compile, directory, function)
    return compiled


def _in_one_process(
    compiling: Callable[P, R], directory: str, function: Callable[..., Any]
) -> Callable[P, R]:
    """Let only one of several processes compile a function that they need at the same time."""

    @functools.wraps(compiling)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with alone(directory, _name(function)):
            return compiling(*args, **kwargs)

    return run


def callback(function: Callable[P, R], signature: Any, directory: str) -> CFunc:
    """Return a function compiled for calls by its address; its code is stored in `directory`."""
    made = CFunc(function, normalize_signature(signature), {}, dict(OPTIONS))
    _keep_in(directory, made, function)
    _in_one_process(deferring(made.compile), directory, function)()
    return made


def _keep_in(
    directory: str, compiled: Any, function: Callable[..., Any], linked: bool = False
) -> None:
    """Make Numba store the code of a function in a directory; "": the code is not stored."""
    if directory and Path(function.__code__.co_filename).is_file():
        folder = str(Path(directory, LINKED)) if linked else directory
        compiled._cache = KernelCache(function, folder, linked)


def is_cached(kernel: Any, directory: str) -> bool:
    """Return whether machine code of a kernel is in `directory`; True if nothing is compiled."""
    if DISABLED or not directory:
        return DISABLED
    found = Path(directory).rglob(f"{_name(kernel.py_func)}-*.nbi")
    return any(LINKED not in file.parts for file in found)


def _name(function: Callable[..., Any]) -> str:
    """Return the name of a function's files in a cache."""
    return f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}"


def kernels_in(
    directory: str, options: dict[str, Any] = OPTIONS
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that compiles kernels and caches them in `directory`.

    Kernels are called by other kernels and by ordinary Numba code.
    """

    def kernel(function: Callable[P, R]) -> Callable[P, R]:
        return compile_cached(function, options, directory)

    return kernel


kernel = kernels_in(CACHE_DIRECTORY)

#: Compile a kernel that keeps the GIL when called from Python: releasing it would take a twelfth
#: of the call for a small robot. The kernel must take less than 5 ms for any robot, the time after
#: which Python switches threads.
brief = kernels_in(CACHE_DIRECTORY, {**OPTIONS, "nogil": False})

#: Compile a kernel that is always inlined: tuples of numbers then stay in registers.
inline = kernels_in(CACHE_DIRECTORY, {**OPTIONS, "forceinline": True})

_apart = kernels_in(CACHE_DIRECTORY, {**OPTIONS, "forceinline": False})


def apart(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel that is never inlined, because its rarely used code would take registers.

    Any other kernel is always inlined if the first kernel that calls it is always inlined itself.
    """
    linking.APART.add(function)
    return _apart(function)


def select(condition, yes, no):
    """Return yes or no without a branch; a symbolic condition uses its own select method."""
    if hasattr(condition, "select"):
        return condition.select(yes, no)
    return yes if condition else no


@overload(select)
def _select_compiled(condition, yes, no):
    return lambda condition, yes, no: yes if condition else no


def is_known(x):
    """Return whether x has a numeric value now; a symbol has no value."""
    return not hasattr(x, "select")


@overload(is_known)
def _is_known_compiled(x):
    return lambda x: True  # noqa: ARG005


def is_zero(x):
    """Return whether x is zero, so that its terms can be left out; a symbol is never zero."""
    return is_known(x) and x == 0.0


@overload(is_zero)
def _is_zero_compiled(x):
    return lambda x: x == 0.0
