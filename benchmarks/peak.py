# SPDX-License-Identifier: Apache-2.0
"""Measure the processor's peak performance by independent multiply-adds on full vectors."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from rbdyn_ros.engine.compiler.processor import processor
from rbdyn_ros.measuring.turns import Job
from rbdyn_ros.specialization import machine
from rbdyn_ros.specialization.calling import entry

#: Number of independent sums: enough to hide the latency of an operation, few enough for 16
#: registers.
SUMS = 12

#: Multiply-adds of each sum in one run.
LENGTH = 1000


def flops() -> int:
    """Return the floating-point operations of one run; a multiply-add counts as two."""
    return 2 * SUMS * LENGTH * processor().vector_width


def peak_job(threads: int = 1) -> Job:
    """Return a job that runs the multiply-adds on the given number of threads."""
    address = machine.code(["peak", _text()], ("peak",), _text).addresses["peak"]
    enter = entry()
    if threads == 1:
        return lambda n: _run(enter, address, n)
    pool = ThreadPoolExecutor(threads)
    return lambda n: _all(pool, threads, lambda: _run(enter, address, n))


def _run(enter: Callable[..., int], address: int, n: int) -> None:
    enter(address, n * LENGTH, 0, 0, 0)


def _all(pool: ThreadPoolExecutor, threads: int, run: Callable[[], None]) -> None:
    for future in [pool.submit(run) for _ in range(threads)]:
        future.result()


def _text() -> str:
    """Return LLVM code that multiplies and adds and returns whether a sum is NaN.

    The compiler cannot prove that the sums start at equal values, and all sums are used.
    """
    width = processor().vector_width
    kind = f"<{width} x double>"
    sums = range(SUMS)
    begun = [f"%b{k} = fadd {kind} %all, {_every(float(k), width)}" for k in sums]
    added = [
        f"%u{k + 1} = fadd {kind} {f'%u{k}' if k else 'zeroinitializer'}, %t{k}" for k in sums
    ]
    lines = [
        f"declare {kind} @llvm.fma.v{width}f64({kind}, {kind}, {kind})",
        "define i64 @peak(i64 %times, i64 %x, i64 %y, i64 %z) {",
        "entry:",
        "%number = sitofp i64 %x to double",
        f"%one = insertelement {kind} undef, double %number, i32 0",
        f"%all = shufflevector {kind} %one, {kind} undef, <{width} x i32> zeroinitializer",
        *begun,
        "br label %loop",
        *_loop(kind, width),
        "end:",
        *added,
        f"%first = extractelement {kind} %u{SUMS}, i32 0",
        "%nan = fcmp uno double %first, %first",
        "%answer = zext i1 %nan to i64",
        "ret i64 %answer",
        "}",
    ]
    return "\n".join(lines)


def _loop(kind: str, width: int) -> list[str]:
    """Return the lines of the loop: sum k is %b<k> before it and %t<k> after it."""
    sums = range(SUMS)
    factor, term = _every(0.5, width), _every(1.0, width)
    starts = [f"%s{k} = phi {kind} [%b{k}, %entry], [%t{k}, %loop]" for k in sums]
    steps = [
        f"%t{k} = call {kind} @llvm.fma.v{width}f64({kind} %s{k}, {kind} {factor}, {kind} {term})"
        for k in sums
    ]
    return [
        "loop:",
        "%k = phi i64 [0, %entry], [%more, %loop]",
        *starts,
        *steps,
        "%more = add i64 %k, 1",
        "%again = icmp slt i64 %more, %times",
        "br i1 %again, label %loop, label %end",
    ]


def _every(value: float, width: int) -> str:
    return f"<{', '.join([f'double {value}'] * width)}>"
