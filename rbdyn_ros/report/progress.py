# SPDX-License-Identifier: Apache-2.0
"""Progress bars on stderr; written only if it is a terminal."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

from numba.core import event

from rbdyn_ros.engine.compiler.jit import COMPILED, Kernel

#: Shorter work shows no bar [s].
PATIENCE = 1.0

_COMPILING = (
    "compiling, first run only: {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} kernels [{elapsed}]"
)
_ROUNDS = "{desc}: |{bar:20}| {n_fmt}/{total_fmt} [{elapsed}]{postfix}"


def bar(total: int, **settings: Any) -> Any:
    """Return a tqdm bar that disappears at its end; without a terminal it shows nothing."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    # tqdm's thread and process lock would disturb real-time loops
    tqdm.monitor_interval = 0
    tqdm.set_lock(threading.RLock())
    return tqdm(total=total, disable=None, leave=False, dynamic_ncols=True, **settings)


@contextlib.contextmanager
def rounds(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar; yield a function that advances the bar by one and sets the text next to it.

    Args:
        what: title of the bar.
        total: largest number of rounds.
    """
    with bar(total, desc=what, bar_format=_ROUNDS, mininterval=0.0) as shown:

        def advance(text: str) -> None:
            shown.set_postfix_str(text, refresh=False)
            shown.update()

        yield advance


def show_compiling(patience: float = PATIENCE) -> "Compiling":
    """Show a bar whenever kernels are compiled; call it once, before the first kernel.

    The first run of a version compiles the engine (about half a minute); later runs load it from
    the cache.

    Args:
        patience: shorter compilations show no bar [s].
    """
    listener = Compiling(patience)
    event.register("numba:compile", listener)
    return listener


class Compiling(event.Listener):  # type: ignore[misc]
    """Counts the compiled kernels that the outermost kernel calls.

    The calls are found by the global names in each kernel. Kernels in the cache count, too, but
    nothing is compiled for them. So a bar may end before it is full, but it does not overrun.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self._depth = 0
        self._waiting: dict[int, Any] = {}
        self._bar: Any = None

    def on_start(self, event: Any) -> None:
        """Open a bar for the outermost kernel.

        For a kernel that was not counted, extend the bar.
        """
        kernel = event.data["dispatcher"]
        if self._depth == 0:
            self._waiting = uncompiled(kernel)
            total = len(self._waiting)
            self._bar = bar(total, bar_format=_COMPILING, delay=self.patience)
        elif id(kernel) not in self._waiting:
            new = uncompiled(kernel)
            self._bar.total += len(new.keys() - self._waiting.keys())
            self._waiting.update(new)
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Count each kernel once; close the bar after the outermost kernel."""
        kernel = event.data["dispatcher"]
        self._depth -= 1
        with contextlib.suppress(OSError, ValueError):  # the terminal was closed
            if self._waiting.get(id(kernel)) is not None:
                self._waiting[id(kernel)] = None
                self._bar.update()
            if self._depth == 0:
                self._bar.close()


def uncompiled(kernel: Any) -> dict[int, Any]:
    """Return the uncompiled kernels, by id, among a kernel and the kernels that it calls."""
    found: dict[int, Any] = {}
    left = [kernel]
    while left:
        each = left.pop()
        if id(each) not in found and not each.overloads:
            found[id(each)] = each
            left += _called(each.py_func)
    return found


def _called(function: Any) -> list[Any]:
    """Return the kernels that a function calls by global name or as a module attribute."""
    names = function.__globals__
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    values, codes = list(cells), [function.__code__]
    while codes:
        code = codes.pop()
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        named = [names[name] for name in code.co_names if name in names]
        modules = [value for value in named if isinstance(value, ModuleType)]
        values += named
        values += [vars(module).get(name) for module in modules for name in code.co_names]
    kernels = [value for value in values if isinstance(value, COMPILED)]
    # a kernel calls the linked code of another kernel (engine/compiler/linking.py)
    return [each.linked if isinstance(each, Kernel) else each for each in kernels]
