# SPDX-License-Identifier: Apache-2.0
"""Progress bars count kernels, appear only on terminals, and do not disturb a compilation."""

import io
import re
import subprocess
import sys

import numba
import pytest
from numba.core import event
from support.commands import Screen

from rbdyn_ros.report import progress
from rbdyn_ros.report.progress import Compiling, rounds, uncompiled


def kernels():
    """Return three uncompiled kernels; the first calls both others, and the second the third."""

    @numba.njit
    def last(x):
        return x + 1.0

    @numba.njit
    def middle(x):
        return last(x) * 2.0

    @numba.njit
    def first(x):
        return middle(x) + last(x)

    return first, middle, last


@pytest.fixture
def listening(monkeypatch):
    """Yield a function that shows progress bars on a stream until the end of the test."""
    registered = []

    def listen(stream, patience=0.0):
        monkeypatch.setattr(sys, "stderr", stream)
        registered.append(Compiling(patience))
        event.register("numba:compile", registered[-1])
        return registered[-1]

    yield listen
    for listener in registered:
        event.unregister("numba:compile", listener)


def test_uncompiled_kernels_are_found_through_their_calls():
    first, middle, last = kernels()
    assert set(uncompiled(first)) == set(map(id, (first, middle, last)))
    last(1.0)
    assert set(uncompiled(first)) == {id(first), id(middle)}
    first(1.0)
    assert uncompiled(first) == {}


def test_kernels_of_a_module_are_counted():
    """Like most kernels of the engine, the inner kernel is called as an attribute of a module."""
    module = type(sys)("kernels_of_this_test")
    exec("import numba\n@numba.njit\ndef inner(x): return x + 1.0\n", vars(module))
    namespace = {"numba": numba, "module": module}
    exec("@numba.njit\ndef outer(x): return module.inner(x)\n", namespace)
    outer = namespace["outer"]
    assert set(uncompiled(outer)) == {id(outer), id(module.inner)}


def test_a_bar_shows_compiled_kernels(listening):
    screen = Screen()
    listening(screen)
    first, *_ = kernels()
    assert first(1.0) == 6.0
    shown = re.findall(r"(\d+)/(\d+) kernels", screen.getvalue())
    assert shown[0] == ("0", "3")
    assert {total for _, total in shown} == {"3"}
    assert [int(n) for n, _ in shown] == sorted(int(n) for n, _ in shown)
    assert screen.getvalue().endswith("\r")  # the bar is erased at the end
    before = screen.getvalue()
    first(2.0)  # these types are compiled already
    assert screen.getvalue() == before


def test_a_kernel_compiled_for_two_types_is_counted_once(listening, monkeypatch):
    screen = Screen()
    listening(screen)
    _, _, last = kernels()
    bars, make = [], progress.bar
    monkeypatch.setattr(progress, "bar", lambda *a, **k: bars.append(make(*a, **k)) or bars[-1])

    @numba.njit
    def both(k, x):
        return last(k) + last(x)

    both(1, 1.0)
    shown = re.findall(r"(\d+)/(\d+) kernels", screen.getvalue())
    assert {total for _, total in shown} == {"2"}
    # the count on the screen may be lower, because it is not drawn every time
    assert bars[0].n == 2


def test_a_quick_compilation_shows_no_bar(listening):
    screen = Screen()
    listening(screen, patience=3600.0)
    kernels()[0](1.0)
    assert "kernels" not in screen.getvalue()


def test_there_is_no_bar_without_a_terminal(listening):
    stream = io.StringIO()
    listening(stream)
    kernels()[0](1.0)
    assert stream.getvalue() == ""


def test_a_closed_terminal_does_not_stop_a_compilation(listening):
    screen = Screen()
    listening(screen)
    first, *_ = kernels()
    screen.close()
    assert first(1.0) == 6.0


def test_a_failed_compilation_does_not_change_the_count(listening):
    screen = Screen()
    listening(screen)

    @numba.njit
    def wrong(x):
        return x.nothing_of_this_name

    with pytest.raises(numba.TypingError):
        wrong(1.0)
    kernels()[0](1.0)
    assert re.findall(r"(\d+)/(\d+) kernels", screen.getvalue())[-1][1] == "3"


def test_a_bar_of_rounds_shows_the_text_of_each_round(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with rounds("looking", 3) as advance:
        for k in range(3):
            advance(f"round {k}")
            # the bar still draws on its own stream
            monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert screen.getvalue().startswith("\rlooking: ")
    for k in range(3):
        assert re.search(rf" {k + 1}/3 \[[0-9:]+\], round {k}", screen.getvalue())


def test_rounds_show_nothing_without_a_terminal(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with rounds("looking", 3) as advance:
        advance("round")
    assert stream.getvalue() == ""


def test_a_bar_starts_no_thread_and_is_imported_late():
    """A bar must not disturb processes with deadlines."""
    code = (
        "import sys, threading, rbdyn_ros\n"
        "assert 'rbdyn_ros.report.progress' not in sys.modules and 'tqdm' not in sys.modules\n"
        "from rbdyn_ros.report.progress import bar\n"
        "sys.stderr.isatty = lambda: True\n"
        "with bar(3) as shown: print(threading.active_count())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "1\n"
