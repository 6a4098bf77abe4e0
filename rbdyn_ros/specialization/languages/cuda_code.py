# SPDX-License-Identifier: Apache-2.0
"""Write programs as CUDA C++: one thread per robot, with robots side by side in memory.

A C++ compiler compiles the same text to functions that advance one robot after the other.
Without contraction of products and sums (-fmad=false, -ffp-contract=off) both compute the same
bits as the LLVM code: multiply-adds are explicit, and our own code computes the sines and cosines
of angles up to 1e5. Only tan, exp, log, tanh, arctan2 and larger angles use the library of each
compiler.

    advance: robot -> registers    qpos[k n + robot] -> qpos_k
             once                  operations on constant arrays
             nstep times           all others; qpos_k = ...
             registers -> robot    and whether the state is finite
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rbdyn_ros.specialization.languages.c_blocks import in_blocks, stores
from rbdyn_ros.specialization.languages.c_language import Real, Writer, named
from rbdyn_ros.specialization.languages.sincos_c import sincos_source
from rbdyn_ros.specialization.programs.blocks import SINCOS, SinCos
from rbdyn_ros.specialization.programs.program import Program

#: Number of threads in a block. With more threads, each thread would have fewer registers.
THREADS = 128

#: A longer program becomes several functions; a shorter program becomes one, unless the compiler
#: fails to optimise it.
LONGEST_FUNCTION = 5200

#: Number of operations in each part of a longer program.
BLOCK = 2000

#: If a long function uses fewer registers than FEW_REGISTERS and more bytes of local memory than
#: MUCH_MEMORY, the compiler has failed to optimise it and keeps all numbers in memory. The
#: function is then several times as fast if it is divided into blocks.
FEW_REGISTERS, MUCH_MEMORY = 64, 4096

#: The array that counts failures in a step; it is 0 at the start of the step.
COUNTER = "nbad"

#: Arrays of a state; a robot has diverged if a number in them is not finite.
HEALTH = ("qpos", "qvel")

_HEAD = """\
#if defined(__CUDACC__)
#define DEVICE static __device__ __forceinline__
#define APART static __device__ __noinline__
#else
#include <cmath>
#include <cstring>
#define DEVICE static inline
#define APART static
#endif

#if defined(__CUDACC_RTC__)
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#endif

DEVICE bool is_finite({number} x)
{{
    return x - x == 0;
}}
"""

_KERNEL = """\
#if defined(__CUDACC__)
extern "C" __global__ void __launch_bounds__({threads}) {name}({parameters})
{{
    const long long threads = (long long)gridDim.x * blockDim.x;
    for (long long place = blockIdx.x * (long long)blockDim.x + threadIdx.x; place < count;
         place += threads) {{
        {name}_of_robot({arguments});
    }}
}}
#else
extern "C" void {name}({parameters})
{{
    for (long long place = 0; place < count; ++place) {{
        {name}_of_robot({arguments});
    }}
}}
#endif
"""


def gave_up(registers: int, local_memory: int) -> bool:
    """Return whether a compiler has put the numbers of a kernel in memory instead of registers.

    Args:
        registers: number of registers of a thread.
        local_memory: local memory of a thread [bytes].
    """
    return registers < FEW_REGISTERS and local_memory > MUCH_MEMORY


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """The source text of a kernel.

    Its parameters are count, the number of robots of the call; ids, the numbers of these robots,
    or a null pointer for the robots 0 to count - 1; n, the number of robots in the arrays; nstep;
    nbad (n,); diverged (n,); then an array (entries, n) for each name in `arrays`. Integers have
    64 bits, except 8 bits in diverged.

    Attributes:
        name: name of the kernel.
        arrays: names of the arrays, in the order of the parameters.
        text: the definition in CUDA C++.
    """

    name: str
    arrays: tuple[str, ...]
    text: str


def source(kernels: Sequence[CudaKernel], real: Real) -> str:
    """Return the source text of a file with kernels."""
    return "\n".join(
        [
            _HEAD.format(number=real.name),
            sincos_source(real.name),
            *(kernel.text for kernel in kernels),
        ]
    )


def advance_kernel(
    once: Program, repeated: Program, state: Mapping[str, int], real: Real,
    longest: int = LONGEST_FUNCTION,
) -> CudaKernel:  # fmt: skip
    """Return the kernel "advance" of a step.

    Args:
        once: the program that writes the array "invariant", see program.hoist.
        repeated: the operations of a step.
        state: lengths of the arrays that a step reads and writes.
        real: the type of numbers.
        longest: largest number of operations of a program that becomes one function.
    """
    read = _arrays(once, repeated, without=(*state, "invariant", COUNTER))
    kept = [(array, k) for array, size in state.items() for k in range(size)]
    local = {entry: f"state[{place}]" for place, entry in enumerate([*kept, (COUNTER, 0)])}
    local |= {("invariant", k): f"invariant[{k}]" for k in range(len(once.outputs))}
    arguments = _arguments((*state, *read), read, real)
    first = _Function("once", once, real, local, arguments, longest)
    each = _Function("step", repeated, real, local, arguments, longest)
    health = " && ".join(_finite(local, kept))
    body = [
        f"{real.name} state[{len(kept) + 1}], invariant[{len(once.outputs) + 1}];",
        *(f"{local[entry]} = {_entry(*entry)};" for entry in kept),
        f"{local[COUNTER, 0]} = 0;",
        first.call(),
        "for (long long k = 0; k < nstep; ++k) {",
        f"    {each.call()}",
        "}",
        *(f"{_entry(*entry)} = {local[entry]};" for entry in kept),
        f"nbad[robot] += (long long){local[COUNTER, 0]};",
        f"diverged[robot] = !({health or 'true'});",
    ]
    text = [*first.definition(), *each.definition(), *_kernel("advance", arguments, body)]
    return CudaKernel("advance", (*state, *read), "\n".join(text))


def observe_kernel(program: Program, real: Real, longest: int = LONGEST_FUNCTION) -> CudaKernel:
    """Return the kernel "observe", which computes outputs of a state."""
    read = _arrays(program, without=())
    arrays = (*read, *dict.fromkeys(array for array, *_ in program.outputs))
    arguments = _arguments(arrays, read, real)
    whole = _Function("outputs", program, real, {}, arguments, longest)
    head = f"{real.name} state[1], invariant[1];"
    text = [*whole.definition(), *_kernel("observe", arguments, [head, whole.call()])]
    return CudaKernel("observe", arrays, "\n".join(text))


def contact_kernel(
    programs: Mapping[str, Program], state: Mapping[str, int], passes: tuple[int, int], real: Real,
    longest: int = LONGEST_FUNCTION,
) -> CudaKernel:  # fmt: skip
    """Return the kernel "contact" for steps with contact, as in rollouts/contact_drive.py.

    The last array, "left" (1, n), holds the number of steps that each robot should do. It receives
    the number of steps that remain because the next step needs the engine itself.

    Args:
        programs: start, factor, solve, check and finish.
        state: lengths of the arrays that a step reads and writes.
        passes: largest numbers of rounds, and of passes in a round.
        real: the type of numbers.
        longest: largest number of operations of a program that becomes one function.
    """
    written = {array: k for each in programs.values() for array, k in each.lengths().items()}
    inner = {array for each in programs.values() for array, *_ in each.outputs} - {COUNTER}
    local, kept = (
        dict[tuple[str, int], str](),
        [(a, k) for a, n in state.items() for k in range(n)],
    )
    lengths = {**state, COUNTER: 1, **{array: written[array] for array in sorted(inner)}}
    for array, length in lengths.items():
        local |= {(array, k): f"state[{len(local) + k}]" for k in range(length)}
    read = _arrays(*programs.values(), without=lengths)
    arguments = _arguments((*state, *read, "left"), read, real)
    found = {
        name: _Function(name, each, real, local, arguments, longest)
        for name, each in programs.items()
    }
    call = {name: each.call() for name, each in found.items()}
    done, final, refused, stale = (
        f"{local[name, 0]} != 0" for name in ("done", "final", "refused", "stale")
    )
    rounds, most = passes
    solved = [
        call["factor"],
        f"for (int round = 0; round < {rounds}; ++round) {{",
        f"    for (int pass = 0; pass < {most} && !({done}); ++pass) {{ {call['solve']} }}",
        f"    if (!({done})) {{ return false; }}",
        f"    {call['check']}",
        f"    if ({done}) {{ break; }}",
        f"    if ({stale}) {{ {call['factor']} }}",
        "}",
        f"return {final} && !({refused});",
    ]
    taken = found["solve"].arguments
    body = [
        f"{real.name} state[{len(local)}], invariant[1];",
        *(f"{local[entry]} = {_entry(*entry)};" for entry in kept),
        f"{local[COUNTER, 0]} = 0;",
        "long long steps = (long long)left[robot];",
        "for (; steps > 0; --steps) {",
        f"    {call['start']}",
        f"    if (!solved({', '.join(taken)})) {{ break; }}",
        f"    {call['finish']}",
        "}",
        *(f"{_entry(*entry)} = {local[entry]};" for entry in kept),
        f"nbad[robot] += (long long){local[COUNTER, 0]};",
        f"left[robot] = ({real.name})steps;",
        f"diverged[robot] = !({' && '.join(_finite(local, kept))});",
    ]
    text = [line for each in found.values() for line in each.definition()]
    text += _lines(f"APART bool solved({_parameters(taken)})", solved)
    return CudaKernel("contact", (*state, *read, "left"), "\n".join(
        [*text, *_kernel("contact", arguments, body)]
    ))  # fmt: skip


def _finite(local: Mapping[tuple[str, int], str], kept: Collection[tuple[str, int]]) -> list[str]:
    """Return C expressions that are all true if a robot has not diverged."""
    return [f"is_finite({local[entry]})" for entry in kept if entry[0] in HEALTH]


def _arrays(*programs: Program, without: Collection[str]) -> tuple[str, ...]:
    """Return the arrays that programs read, except those in `without`."""
    found = dict.fromkeys(array for each in programs for array, *_ in each.inputs)
    return tuple(array for array in found if array not in without)


def _arguments(arrays: Sequence[str], read: Collection[str], real: Real) -> dict[str, str]:
    """Return the types of the parameters that follow the number of a robot, by name."""
    kinds = {array: "const " * (array in read) + real.name for array in arrays}
    return {
        "n": "long long ",
        "nstep": "long long ",
        "nbad": "long long *__restrict__ ",
        "diverged": "bool *__restrict__ ",
        **{array: f"{kind} *__restrict__ " for array, kind in kinds.items()},
    }


def _kernel(name: str, arguments: Mapping[str, str], body: Sequence[str]) -> list[str]:
    taken = _parameters(arguments)
    given = ", ".join(["ids ? ids[place] : place", *arguments])
    return [
        *_lines(f"DEVICE void {name}_of_robot(long long robot, {taken})", body),
        _KERNEL.format(
            name=name, threads=THREADS, arguments=given,
            parameters=f"long long count, const long long *__restrict__ ids, {taken}",
        ),
    ]  # fmt: skip


def _parameters(arguments: Mapping[str, str]) -> str:
    return ", ".join(f"{kind}{name}" for name, kind in arguments.items())


def _lines(head: str, body: Iterable[str]) -> list[str]:
    return [head, "{", *(f"    {line}" for line in body), "}", ""]


def _entry(array: str, k: int) -> str:
    return f"{array}[{k} * n + robot]"


class _Function:
    """Writes a program for one robot as a function, or as several functions if it is long.

    Args:
        name: name of the function.
        program: the program to write.
        real: the type of numbers.
        local: variables that hold entries of arrays; others are read from memory.
        arguments: the types of the parameters that follow the number of the robot, by name.
        longest: largest number of operations of a program that becomes one function.
    """

    def __init__(
        self, name: str, program: Program, real: Real, local: Mapping[tuple[str, int], str],
        arguments: Mapping[str, str], longest: int,
    ) -> None:  # fmt: skip
        self.name, self.program, self.real, self.local = name, program, real, local
        self.longest = longest
        number = f"{real.name} *"
        self.arguments = {
            "robot": "long long ", **arguments, "state": number, "invariant": number,
        }  # fmt: skip

    def call(self) -> str:
        """Return the statement that calls the function."""
        return f"{self.name}({', '.join(self.arguments)});"

    def definition(self) -> list[str]:
        """Return the definition of the function."""
        head = f"void {self.name}({_parameters(self.arguments)})"
        if len(self.program.operations) <= self.longest:
            # nvcc 13.0 fails to optimise the code of a Unitree Go2 if it is inlined into a loop
            # over steps
            writer = self._writer({})
            lines = [*writer.all(), *stores(self.program, writer, self._place)]
            return _lines(f"APART {head}", lines)
        whole = in_blocks(self.program, self._writer, self._place, BLOCK)
        arguments = {**self.arguments, "s": f"{self.real.name} *"}
        lines, body = list[str](), [f"{self.real.name} s[{max(1, whole.size)}];"]
        for k, block in enumerate(whole.blocks):
            name = f"{self.name}_{k}"
            lines += _lines(f"APART void {name}({_parameters(arguments)})", block.lines)
            body.append(f"{name}({', '.join(arguments)});")
        return [*lines, *_lines(f"DEVICE {head}", [*body, *whole.stores])]

    def _writer(self, names: Mapping[int, str]) -> "_CudaWriter":
        return _CudaWriter(self.program, self.real, self.local, names)

    def _place(self, array: str, k: int) -> str:
        return self.local.get((array, k)) or _entry(array, k)


class _CudaWriter(Writer):
    """Writes statements for one robot; for the arguments see _Function and c_language.Writer."""

    def __init__(
        self, program: Program, real: Real, local: Mapping[tuple[str, int], str],
        names: Mapping[int, str],
    ) -> None:  # fmt: skip
        super().__init__(program, {}, real, names)
        self.program, self.local = program, local

    def all(self) -> Iterator[str]:
        """Yield the statements of all operations."""
        for n in named(self.program):
            kind, *operands = self.operations[n]
            if kind not in SINCOS:
                yield self.statement(n)
            elif n not in self.names:
                yield from self._new_pair(operands[0])

    def _new_pair(self, angle: int) -> Iterator[str]:
        """Yield the statements that compute sine and cosine of an angle."""
        names = {"sin": f"sin_{angle}", "cos": f"cos_{angle}"}
        yield f"{self.real.name} {', '.join(names.values())};"
        yield f"sin_cos({self.operand(angle)}, {', '.join(names.values())});"
        for n, operation in enumerate(self.operations):
            if operation[0] in SINCOS and operation[1] == angle:
                self.names[n] = names[operation[0]]

    def sines(self, block: SinCos) -> Iterator[str]:
        """Yield the statements that compute sines and cosines of a block together."""
        for k, angle in enumerate(block.angles):
            yield f"sin_cos({self.operand(angle)}, s[{block.sin + k}], s[{block.cos + k}]);"

    def entry(self, array: str, place: int) -> str:
        """Return the expression of an entry of an array."""
        return self.local.get((array, place)) or _entry(array, place)

    def constant(self, value: float) -> str:
        """Return the nearest number as text, even for subnormal numbers, NaN and infinity."""
        return _constant(value, self.real)


def _constant(value: float, real: Real) -> str:
    """Return the nearest number as text, even for subnormal numbers, NaN and infinity."""
    rounded = real.round(value)
    if math.isnan(rounded):
        return f"({real.name})NAN"
    if math.isinf(rounded):
        return f"({'-' if rounded < 0 else ''}({real.name})INFINITY)"
    text = f"{rounded.hex()}{real.suffix}"
    return f"({text})" if text.startswith("-") else text
