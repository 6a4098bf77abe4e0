# SPDX-License-Identifier: Apache-2.0
"""Compile LLVM code to machine code, which is cached in this process and on disk."""

import contextlib
import functools
import hashlib
import itertools
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from rbdyn_ros.engine.compiler import cache, jit
from rbdyn_ros.engine.compiler.processor import processor
from rbdyn_ros.errors import Finding, ModelError

#: Cache folder for the code of Models; its name contains a hash of all sources of the code.
CACHE_DIRECTORY = jit.cache_below("specialize", Path(__file__).parent.rglob("*.py"))

#: If the cache is larger than this, the least recently used files are removed [bytes]. It holds a
#: few thousand robots.
MOST_ON_DISK = 256 * 2**20

_lock = threading.RLock()
_numbers = itertools.count()
_loaded: "dict[str, Code]" = {}


def _renew_lock() -> None:
    """Replace the lock after a fork, because a thread that held it does not exist in the child."""
    global _lock  # noqa: PLW0603
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


@dataclass(frozen=True, slots=True)
class Code:
    """Machine code that is never unloaded."""

    addresses: dict[str, int]
    keep: Any


def check_compiler(what: str) -> None:
    """Raise ModelError if NUMBA_DISABLE_JIT is set."""
    if jit.DISABLED:
        text = f"{what} needs compiled code, and NUMBA_DISABLE_JIT is set; unset it"
        raise ModelError(Finding("not-compiled", text, "error", what))


def code(key: Sequence[str], names: Sequence[str], make: Callable[[], str]) -> Code:
    """Return machine code from this process or from disk, or compile it.

    Args:
        key: texts that contain everything on which the result of `make` depends.
        names: names of the functions.
        make: function that returns LLVM code.
    """
    parts = (llvmlite.__version__, repr(processor()), *key)
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    with _lock:
        if name not in _loaded:
            folder = _directory()
            file = folder / f"{name}.o" if folder else None
            _loaded[name] = _found(file, names) or _made(file, names, make)
        return _loaded[name]


def _found(file: Path | None, names: Sequence[str]) -> Code | None:
    """Return the code in a file, or None if the file is missing or damaged."""
    objects = cache.read(file) if file else None
    if file is None or objects is None:
        return None
    with contextlib.suppress(OSError):
        os.utime(file)  # record the time of last use, see _prune
    try:
        return _link(objects, names)
    except RuntimeError:  # the hash is correct, but the content is not machine code
        return None


def _made(file: Path | None, names: Sequence[str], make: Callable[[], str]) -> Code:
    objects = _compiled(make())
    if file:
        cache.write(file, objects)
        _prune(file.parent)
    return _link(objects, names)


def _compiled(text: str) -> bytes:
    module = llvm.parse_assembly(text)
    return bytes(_target().emit_object(module))


def _link(objects: bytes, names: Sequence[str]) -> Code:
    builder = llvm.JITLibraryBuilder().add_object_img(objects).add_current_process()
    for name in names:
        builder.export_symbol(name)
    library = builder.link(_linker(), f"specialised-{next(_numbers)}")
    return Code({name: library[name] for name in names}, library)


def _target() -> Any:
    """Return the target machine; Numba has initialised LLVM for this processor.

    The target machine selects instructions and registers. No optimisation pass changes the LLVM
    code before, so the operations and their order stay as written.
    """
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=processor().name, features=processor().features, opt=2, reloc="pic", codemodel="small"
    )


@functools.cache
def _linker() -> Any:
    return llvm.create_lljit_compiler(_target())


def _directory() -> Path | None:
    """Return the cache folder inside the engine's private cache, or None without a cache."""
    return Path(CACHE_DIRECTORY) if CACHE_DIRECTORY else None


def _prune(folder: Path) -> None:
    """Remove the least recently used files until the others fit in MOST_ON_DISK."""
    with contextlib.suppress(OSError):  # another process may prune too
        used = sorted((file.stat().st_mtime_ns, file) for file in folder.glob("*.o"))
        total = 0
        for _, file in reversed(used):
            total += file.stat().st_size
            if total > MOST_ON_DISK and file != used[-1][1]:  # keep the newest file
                file.unlink()
