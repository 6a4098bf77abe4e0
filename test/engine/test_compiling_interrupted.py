# SPDX-License-Identifier: Apache-2.0
"""A compilation of kernels survives Ctrl-C, garbage collection and deep recursion."""

import gc
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rbdyn_ros.engine.compiler import interrupts, jit

#: Time limit in case a process hangs [s].
PATIENCE = 60.0


def inner(x):
    return x + 1


def outer(x):
    return compiled_inner(x) + 1


compiled_inner = None


@pytest.fixture(autouse=True)
def default_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


IN_LLVM = """
import signal, sys
from numba.core.codegen import CPUCodeLibrary
hook, calls = CPUCodeLibrary._object_compiled_hook.__func__, []
def interrupting(cls, *arguments):
    if not calls:
        calls.append(signal.raise_signal(signal.SIGINT))
    return hook(cls, *arguments)
CPUCodeLibrary._object_compiled_hook = classmethod(interrupting)

from numba import types
from rbdyn_ros.engine.compiler import jit
sys.path.insert(0, {tests!r})
from test_compiling_interrupted import inner
made = {made}
try:
    made()
except KeyboardInterrupt:
    print("interrupted")
print(made())
"""


@pytest.mark.parametrize(
    "made",
    [
        "(kernel := jit.compile_cached(inner, jit.OPTIONS, {folder!r})) and (lambda: kernel(1))",
        "lambda: jit.callback(inner, types.int64(types.int64), {folder!r}).ctypes(1)",
    ],
)
def test_ctrl_c_ends_a_compilation_while_llvm_calls_python(tmp_path, made):
    """If LLVM lost the exception, the next call would fail with "no compiled object yet"."""
    tests = str(Path(__file__).parent)
    code = IN_LLVM.format(made=made.format(folder=str(tmp_path)), tests=tests)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.stdout, done.stderr) == ("interrupted\n2\n", "")


def test_ctrl_c_ends_a_compilation_between_two_kernels(tmp_path):
    """The current kernel is finished and stored; the next call compiles the others."""
    global compiled_inner  # noqa: PLW0603 - a kernel finds the kernels it calls by global names
    compiled_inner = jit.compile_cached(inner, jit.OPTIONS, str(tmp_path))
    kernel = jit.compile_cached(outer, jit.OPTIONS, str(tmp_path))
    linked = compiled_inner.linked
    keep = linked._cache.save_overload

    def save(*arguments):
        keep(*arguments)
        signal.raise_signal(signal.SIGINT)

    linked._cache.save_overload = save
    with pytest.raises(KeyboardInterrupt):
        kernel(1)
    assert len(linked.overloads) == 1
    assert len(kernel.overloads) == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert kernel(1) == 3


def test_ctrl_c_takes_effect_at_the_end_of_the_outermost_deferred_block():
    seen = []

    def work():
        with interrupts.deferred():
            signal.raise_signal(signal.SIGINT)
            seen.append("goes on")
        seen.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert seen == ["goes on"]


def traced(function, act):
    """Enter and leave a deferred block; call act(line number) before each line of `function`."""

    def trace(frame, event, _argument):
        if frame.f_code is function.__code__ and event == "line":
            act(frame.f_lineno)
        return trace if frame.f_code is function.__code__ else None

    sys.settrace(trace)
    try:
        with interrupts.deferred():
            pass
    finally:
        sys.settrace(None)


@pytest.mark.parametrize("function", [interrupts._Waiting.enter, interrupts._Waiting.leave])
def test_ctrl_c_at_any_line_of_the_handler_code_raises_keyboardinterrupt(function):
    lines = []
    traced(function, lines.append)
    assert len(lines) > 3
    for line in lines:
        with pytest.raises(KeyboardInterrupt):
            traced(
                function, lambda here, at=line: here == at and signal.raise_signal(signal.SIGINT)
            )
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        with interrupts.deferred():
            pass


def test_a_signal_handler_of_the_user_is_not_replaced():
    seen = []
    signal.signal(signal.SIGINT, lambda *_: seen.append("theirs"))
    with interrupts.deferred():
        signal.raise_signal(signal.SIGINT)
    assert seen == ["theirs"]


def test_compiling_in_another_thread_does_not_change_the_signal_handler():
    failed = []

    def work():
        try:
            with interrupts.deferred():
                pass
        except ValueError as error:  # Python's signal module works only in the main thread
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failed == []


@pytest.fixture
def collector():
    yield
    gc.enable()


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_is_off_during_compilation_and_then_restored(collector, collects):
    seen = []

    def work():
        seen.append(gc.isenabled())
        interrupts.deferring(seen.append)(gc.isenabled())
        seen.append(gc.isenabled())
        raise ZeroDivisionError

    if not collects:
        gc.disable()
    with pytest.raises(ZeroDivisionError):
        interrupts.deferring(work)()
    assert seen == [False, False, False]
    assert gc.isenabled() == collects


def leaf():
    return 0


def page_faults(work):
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    work()
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def test_deep_recursion_of_the_compiler_does_not_map_memory_repeatedly():
    """At some depths a call needs a new chunk of Python's stack, which must be kept."""

    def descend(depth):
        for _ in range(1000):
            leaf()
        if depth:
            descend(depth - 1)

    def nested():
        interrupts.deferring(descend)(250)
        interrupts.deferring(descend)(250)

    nested()  # the first call has more page faults
    faults = [page_faults(interrupts.deferring(nested)) for _ in range(3)]
    assert max(faults) < 100
    with pytest.raises(RecursionError):
        interrupts.deferring(descend)(10**6)
    assert page_faults(interrupts.deferring(nested)) < 100
