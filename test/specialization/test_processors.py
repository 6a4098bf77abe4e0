# SPDX-License-Identifier: Apache-2.0
"""Each processor has its own code; specialised code gives the same bits on all of them."""

import json
import os
import pickle
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from support import processors, specialised_models

#: A process that compiles with Numba and with our LLVM, and prints the assembly and the results.
#: It reads a Model from stdin, because building one would compile for 12 s.
CHILD = """
import json
import pickle
import sys
import llvmlite.binding as llvm
import numba
import numpy as np
import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.engine.compiler.processor import processor
from rbdyn_ros.specialization import machine
from rbdyn_ros.specialization.lanes import compile_lanes

emitted = []

def emit(text):
    target = machine._target()
    emitted.append(target.emit_assembly(llvm.parse_assembly(text)))
    return bytes(target.emit_object(llvm.parse_assembly(text)))

machine._compiled, machine._directory = emit, lambda: None

@numba.njit(**jit.OPTIONS)
def multiply_add(a, b, c):
    for k in range(a.size):
        a[k] = a[k] * b[k] + c[k]

multiply_add(*np.ones((3, 64)))
(by_numba,) = multiply_add.inspect_asm().values()

m = pickle.load(sys.stdin.buffer)
d = rb.make_data(m)
d.qpos = np.random.default_rng(31).normal(size=m.nq)
d.qvel = 0.3
rolled = rb.rollout(m, d.qpos, d.qvel, nstep=50)
s = rb.specialize(m, symbolic=("timestep",))
compile_lanes({"step": s.program("step")})
s.step(d, 50)
print(json.dumps({
    "name": processor().name,
    "width": processor().vector_width,
    "cache": jit.CACHE_DIRECTORY,
    "numba": by_numba,
    "ours": "".join(emitted),
    "left": (d.qpos.tobytes() + d.qvel.tobytes()).hex(),
    "rolled": (rolled.qpos[0, -1].tobytes() + rolled.qvel[0, -1].tobytes()).hex(),
}))
"""

TESTS = Path(__file__).resolve().parents[1]


@cache
def made(name):
    """Return what CHILD prints for a processor; skip the test if it cannot run here."""
    lacking = processors.missing(name)
    if lacking:
        pytest.skip(f"this machine lacks {', '.join(lacking)}")
    path = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        env=os.environ | processors.environment(name) | {"PYTHONPATH": path},
        input=pickle.dumps(specialised_models.springs()),
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout.splitlines()[-1])


def instructions(text):
    """Return which of "zmm" and "ymm" (registers) and "fma" (multiply-adds) are in assembly."""
    kinds = {"zmm": r"%zmm\d", "ymm": r"%ymm\d", "fma": r"\tvfn?m(add|sub)\d{3}[sp]d"}
    return {kind for kind, pattern in kinds.items() if re.search(pattern, text)}


#: For each processor, the registers and instructions in Numba's code and in our code, and the
#: vector width. A processor takes 10 s. znver3 is left out, because its row would equal the row
#: of x86-64-v3.
EXPECTED = {
    "generic": (set(), set(), 2),
    "x86-64-v3": ({"ymm", "fma"}, {"ymm", "fma"}, 4),
    # LLVM avoids the widest registers of this processor unless code requests them, as ours does
    "skylake-avx512": ({"ymm", "fma"}, {"zmm", "ymm", "fma"}, 8),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_code_uses_the_instructions_of_the_chosen_processor(name):
    """Environment variables choose the processor for Numba and for our LLVM."""
    numba, ours, width = EXPECTED[name]
    child = made(name)
    assert (child["name"], child["width"]) == (name, width)
    assert instructions(child["numba"]) == numba
    assert instructions(child["ours"]) == ours


def test_each_processor_has_its_own_cache():
    assert len({made(name)["cache"] for name in ("generic", "x86-64-v3")}) == 2


@pytest.mark.parametrize("name", [name for name in EXPECTED if name != "generic"])
def test_specialised_code_gives_the_same_bits_on_every_processor(name):
    """Without instructions for multiply-adds, a function computes them with one rounding."""
    assert made(name)["left"] == made("generic")["left"]


@pytest.mark.parametrize("name", EXPECTED)
def test_a_rollout_gives_the_bits_of_steps_on_every_processor(name):
    assert made(name)["rolled"] == made(name)["left"]
