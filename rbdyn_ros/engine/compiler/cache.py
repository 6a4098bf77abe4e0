# SPDX-License-Identifier: Apache-2.0
"""Machine code on disk, in files with checksums.

A file begins with the hash of its content. A damaged file is removed, and its code is compiled and
written again. Without a writable folder the program runs anyway and logs a warning once.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import logging
import os
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import IO, Any, cast

import llvmlite.binding as llvm
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    UserProvidedCacheLocator,
)

from rbdyn_ros.engine.compiler import linking

#: Longest wait for code that another process compiles [s].
PATIENCE = 180.0

_HASH = hashlib.sha256().digest_size
_PACKAGE = Path(__file__).resolve().parents[2]
_log = logging.getLogger(__name__)
_warned: list[str] = []


def read(file: str | Path) -> bytes | None:
    """Return the content of a file, or None if it is missing or damaged; delete a damaged file."""
    try:
        whole = Path(file).read_bytes()
    except OSError:
        return None
    content = whole[_HASH:]
    if hashlib.sha256(content).digest() == whole[:_HASH]:
        return content
    with contextlib.suppress(OSError):
        Path(file).unlink()
    return None


def write(file: str | Path, content: bytes) -> None:
    """Write a file, completely or not at all. A failure logs a warning but raises no error."""
    folder = Path(file).parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(hashlib.sha256(content).digest() + content)
            Path(name).replace(file)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        warn_once(folder, error.strerror or str(error))


@contextlib.contextmanager
def alone(folder: str, name: str) -> Iterator[None]:
    """Make other processes wait until this block ends before they compile the code `name`.

    Afterwards they find the code in the folder. They do not wait if there is no folder or its file
    system has no locks. They wait at most PATIENCE, because a process can be suspended while it
    compiles.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            if folder:
                Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
                _lock(stack.enter_context(Path(folder, f"{name}.lock").open("w")))
        yield


def _lock(file: IO[str]) -> None:
    """Lock a file until it is closed, or give up after PATIENCE."""
    end = time.monotonic() + PATIENCE
    while not _is_locked_now(file) and time.monotonic() < end:
        time.sleep(0.02)


def _is_locked_now(file: IO[str]) -> bool:
    """Lock a file if no other process has locked it; return whether that worked."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def warn_once(folder: str | Path, reason: str) -> None:
    """Log, once in each process, that code is compiled again at every start, with the reason."""
    if not _warned:
        _warned.append(reason)
        _log.warning(
            "machine code cannot be kept in %s (%s), so every start compiles it again; free space "
            "there, or set XDG_CACHE_HOME to a folder that this user can write",
            folder,
            reason,
        )


def _unpickled(content: bytes) -> Any:
    return pickle.loads(content)  # noqa: S301 - the folder is this user's own


@functools.cache
def _subfolder(source: str) -> Path:
    """Return the folder for the code of a source file, the same for all copies of this package.

    The copies can share code because the name of the cache contains a hash of the sources.
    """
    path = Path(source).resolve()
    if path.is_relative_to(_PACKAGE):
        return path.relative_to(_PACKAGE).parent
    return Path(UserProvidedCacheLocator.get_suitable_cache_subpath(source))


class _Locator(UserProvidedCacheLocator):
    """Tells Numba where the files of a function are; the folder may be read-only.

    The name of the folder contains a hash of the package's sources, so its files are never out of
    date. Numba's own locator would compile a function again when its line moves.
    """

    def __init__(self, function: Any, source: str, folder: str) -> None:
        self._py_file, self._function = source, function
        self._cache_path = str(Path(folder, _subfolder(source)))

    def get_disambiguator(self) -> str:
        return _code_hash(self._function.__code__, self._function.__doc__)

    def get_source_stamp(self) -> Any:
        own = Path(self._py_file).resolve().is_relative_to(_PACKAGE)
        return None if own else super().get_source_stamp()

    def ensure_cache_path(self) -> None:
        """Do nothing: `write` makes the folder."""


def _code_hash(code: CodeType, doc: str | None) -> str:
    """Return a hash of a function's code, which tells apart functions of the same name in a file.

    Args:
        code: the code object of the function.
        doc: the docstring of the function, or None.
    """
    return hashlib.sha256(repr(_parts(code, doc)).encode()).hexdigest()[:16]


def _parts(code: CodeType, doc: str | None) -> tuple[object, ...]:
    consts = [
        _parts(each, None) if isinstance(each, CodeType) else each if each != doc else None
        for each in code.co_consts
    ]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, consts


class _Files(IndexDataCacheFile):
    """The index and the data files of one function; each data file also holds its key.

    The key is needed because two processes that compile different overloads at once can choose the
    same file name.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        found = super().load(key)
        return found[1] if found is not None and found[0] == key else None

    def _load_index(self) -> dict[Any, str]:
        content = read(self._index_path)
        stamp, overloads = _unpickled(content) if content is not None else (None, {})
        return overloads if stamp == self._stamp() else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        write(self._index_path, self._dump((self._stamp(), overloads)))

    def _stamp(self) -> Any:
        return self._version, self._source_stamp

    def _load_data(self, name: str) -> Any:
        content = read(self._data_path(name))
        return None if content is None else _unpickled(content)

    def _save_data(self, name: str, data: Any) -> None:
        write(self._data_path(name), self._dump(data))


class _Implementation(CompileResultCacheImpl):
    def __init__(self, function: Any, folder: str) -> None:
        locator = functools.partial(_Locator, folder=folder)
        self._locator_classes = [SimpleNamespace(from_function=locator)]
        super().__init__(function)


class _CallableImplementation(_Implementation):
    """Keeps machine code without the LLVM code that Numba stores next to it for linking.

    Kernels link the code of linking.py instead, and parsing Numba's LLVM code would take an eighth
    of the start-up time.
    """

    def reduce(self, cres: Any) -> Any:
        (name, kind, (machine_code, _)), *rest = super().reduce(cres)
        return (name, kind, (machine_code, _names_only(cres.library))), *rest

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        result = super().rebuild(target_context, payload)
        # Numba then raises an error if other code links this code
        result.library._shared_module = None
        return result


def _names_only(library: Any) -> bytes:
    """Return LLVM code with empty definitions of a library's functions."""
    functions = library._get_module_for_linking().functions
    names = [each.name for each in functions if not each.is_declaration]
    code = "".join(f'@"{name}" = global i8 0\n' for name in names)
    return cast("bytes", llvm.parse_assembly(code).as_bitcode())


class _LinkedImplementation(_Implementation):
    def reduce(self, cres: Any) -> Any:
        return linking.reduced(cres)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        return linking.rebuilt(target_context, payload)


class KernelCache(FunctionCache):
    """Numba's cache of the overloads of a function, in files with checksums.

    Args:
        function: the Python function.
        folder: folder of its files.
        linked: whether other kernels call the function, see linking.py.
    """

    def __init__(self, function: Callable[..., Any], folder: str, linked: bool = False) -> None:
        kind = _LinkedImplementation if linked else _CallableImplementation
        self._impl_class = functools.partial(kind, folder=folder)
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file: Any = _Files(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code of a signature, or None.

        Numba's own method would first load the compiler's tables of types and SciPy's linear
        algebra, which takes half of the start-up time. If code must be compiled, the compiler
        loads both.
        """
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)
