"""Bars on stderr for a person at a terminal; where nobody watches nothing is written."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

from numba.core import event
from numba.core.dispatcher import Dispatcher

#: What takes less than this shows no bar [s].
PATIENCE = 1.0

_COMPILING = (
    "compiling, first run only: {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} kernels [{elapsed}]"
)
_ROUNDS = "{desc}: |{bar:20}| {n_fmt}/{total_fmt} [{elapsed}]{postfix}"


def bar(total: int, **settings: Any) -> Any:
    """Return a bar of tqdm that vanishes at its end, and is none where no terminal watches."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    # neither a thread nor a lock between processes: some of them have deadlines
    tqdm.monitor_interval = 0
    tqdm.set_lock(threading.RLock())
    return tqdm(total=total, disable=None, leave=False, dynamic_ncols=True, **settings)


@contextlib.contextmanager
def rounds(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar, which every sentence that is told moves by one; the last one stands beside it.

    Args:
        what: is done.
        total: how many rounds there are at most.
    """
    with bar(total, desc=what, bar_format=_ROUNDS, mininterval=0.0) as shown:

        def tell(sentence: str) -> None:
            shown.set_postfix_str(sentence, refresh=False)
            shown.update()

        yield tell


def show_compiling(patience: float = PATIENCE) -> Compiling:
    """Show a bar from now on whenever kernels are compiled; call it once, before the first one.

    The first run of a version compiles the engine, which takes about a minute; later ones find it
    in the cache.

    Args:
        patience: what is compiled faster shows none [s].
    """
    listener = Compiling(patience)
    event.register("numba:compile", listener)
    return listener


class Compiling(event.Listener):  # type: ignore[misc]
    """Counts the kernels that are compiled, of those that the outermost one calls.

    These are known before: kernels call each other by names of their modules. What a cache holds
    already is counted too and never told of, so a bar may end early, but it does not overrun.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self._depth = 0
        self._waiting: dict[int, Any] = {}
        self._bar: Any = None

    def on_start(self, event: Any) -> None:
        """Open a bar for the outermost kernel; make room for one that it was not known to call."""
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
        """Count a kernel, once; close the bar after the outermost one."""
        kernel = event.data["dispatcher"]
        self._depth -= 1
        with contextlib.suppress(OSError, ValueError):  # a terminal that is gone
            if self._waiting.get(id(kernel)) is not None:
                self._waiting[id(kernel)] = None
                self._bar.update()
            if self._depth == 0:
                self._bar.close()


def uncompiled(kernel: Any) -> dict[int, Any]:
    """Return, by id, a kernel and those it calls, as far as this process has none of them yet."""
    found: dict[int, Any] = {}
    left = [kernel]
    while left:
        each = left.pop()
        if id(each) not in found and not each.overloads:
            found[id(each)] = each
            left += _called(each.py_func)
    return found


def _called(function: Any) -> list[Any]:
    """Return the kernels that a function names: global ones, and those of modules it names."""
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
    return [value for value in values if isinstance(value, Dispatcher)]
