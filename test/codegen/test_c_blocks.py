# SPDX-License-Identifier: Apache-2.0
"""Long functions, which are cut into blocks, compute the same bits as uncut functions."""

import ctypes

import numpy as np
import pytest
from support.c_code import Library, code_of
from support.c_compilers import COMPILERS, compiled, needs_gcc
from support.refusals import refused
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.codegen import source
from rbdyn_ros.codegen.source import blocks_of
from rbdyn_ros.errors import ModelError
from rbdyn_ros.specialization.languages.c_language import DOUBLE, FLOAT
from rbdyn_ros.specialization.programs.program import program
from rbdyn_ros.specialization.programs.symbols import SymbolGraph

NAMES = {"x": "x"}, {"out": "out"}


@pytest.fixture(params=[1, 7, 100])
def short(request, monkeypatch):
    """Cut every function into blocks of at most `request.param` operations."""
    monkeypatch.setattr(source, "LONGEST_FUNCTION", 0)
    monkeypatch.setattr(source, "LONGEST_BLOCK", request.param)


@needs_gcc
@pytest.mark.usefixtures("short")
def test_blocks_give_the_bits_of_one_long_function(monkeypatch, tmp_path):
    """Blocks keep the order of operations, so the bits are equal if the compiler keeps it too."""
    m = rb.load_urdf(find("ur5_robot.urdf"))
    functions = ("gravity", "forward", "step")
    code = code_of(m, *functions)
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    in_parts = Library(code, "gcc", cut, "-O0", "-ffp-contract=off")
    assert "static void block0_of_robot_gravity(" in (cut / code.files.source).read_text()
    monkeypatch.setattr(source, "LONGEST_FUNCTION", 10**6)
    at_once = Library(code, "gcc", whole, "-O0", "-ffp-contract=off")
    assert "static" not in (whole / code.files.source).read_text()
    rng = np.random.default_rng(0)
    for _ in range(3):
        given = {name: rng.normal(size=6) for name in ("qpos", "qvel", "qfrc_applied")}
        for name in functions:
            same = ("q_next", "v_next") if name == "step" else ("a",) if name == "forward" else ()
            found, expected = in_parts.call(name, given, same), at_once.call(name, given)
            for array, values in expected.items():
                assert np.array_equal(found[array], values)


def gantry(slides):
    """Return a chain of prismatic joints along different axes."""
    made = rb.SystemBuilder("gantry", base="b0")
    for k in range(slides):
        box = rb.shapes.box((0.1, 0.2, 0.3), mass=1.0 + k)
        made.body(f"b{k + 1}", box)
        made.joint(f"j{k}", "prismatic", f"b{k}", f"b{k + 1}", axis=(1.0, k, 0.5 * k))
    return rb.build(made)


@needs_gcc
@pytest.mark.usefixtures("short")
def test_a_function_without_inputs_is_generated_correctly(tmp_path):
    """The mass matrix, Jacobian and gravity term of prismatic joints do not depend on qpos."""
    m = gantry(5)
    code = code_of(m, "mass_matrix", "jacobian", "gravity", frames=("b5",))
    assert not any(function.program.inputs for function in code.functions)
    library, d = Library(code, "gcc", tmp_path, "-O0"), rb.make_data(m)
    q = {"qpos": np.ones(m.nq)}
    for name, output, expected in (
        ("mass_matrix", "M", rb.mass_matrix(m, d)),
        ("jacobian_b5", "J", rb.frame_jacobian(m, d, "b5")),
        ("gravity", "tau", rb.gravity_term(m, d)),
    ):
        found = library.call(name, q)[output]
        # the generated code does the operations of the kernel, which LLVM may contract
        np.testing.assert_allclose(found, expected.ravel(), rtol=1e-13, atol=1e-13)


def straight(make):
    graph = SymbolGraph()
    x = [graph.enter(("input", "x", k)) for k in range(3)]
    return program(graph, {"out": make(*x)}, fused=False)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.usefixtures("short")
def test_outputs_may_share_memory_with_inputs(compiler, tmp_path):
    """Among the outputs are inputs, a constant, a sine and a select."""
    each = straight(
        lambda x, y, z: [y, x, 2.5, (x * y + z).sin(), (x < y).select(z, x * y), x * y - z]
    )
    told = blocks_of(each, *NAMES, DOUBLE)
    text = [
        *(f"static void p{k}({''.join(f'const double {c}[], ' for c in p.reads)}double s[])"
          f" {{ {' '.join(p.lines)} }}" for k, p in enumerate(told.blocks)),
        "void f(const double x[], double out[]); void f(const double x[], double out[]) {",
        f"double s[{told.size}];",
        *(f"p{k}({', '.join([*p.reads, 's'])});" for k, p in enumerate(told.blocks)),
        *told.stores, "}",
    ]  # fmt: skip
    library = compiled(compiler, "#include <math.h>\n" + "\n".join(text) + "\n", tmp_path)
    x, y, z = 0.75, -2.0, 3.5
    memory = (ctypes.c_double * 6)(x, y, z)
    library.f(memory, memory)
    expected = [y, x, 2.5, np.sin(x * y + z), x * y, x * y - z]
    np.testing.assert_allclose(list(memory), expected, rtol=1e-15)


def test_blocks_with_too_small_divisors_or_too_large_constants_are_refused():
    with refused(ModelError, "no-code"):
        blocks_of(straight(lambda x, *_: [x / 1e-40]), *NAMES, FLOAT)
    with refused(ModelError, "no-such-constant"):
        blocks_of(straight(lambda x, *_: [x * 1e39]), *NAMES, FLOAT)
