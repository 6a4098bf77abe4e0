# SPDX-License-Identifier: Apache-2.0
"""Each operation in C gives the result of NumPy, for every type and compiler."""

import ctypes
import math
from itertools import pairwise

import numpy as np
import pytest
from support.c_compilers import COMPILERS, compiled
from support.refusals import refused

from rbdyn_ros.engine.compiler.jit import select
from rbdyn_ros.errors import ModelError
from rbdyn_ros.specialization.languages.c_language import DOUBLE, FLOAT, statements
from rbdyn_ros.specialization.programs.program import program
from rbdyn_ros.specialization.programs.symbols import SymbolGraph

REALS = (DOUBLE, FLOAT)
C_TYPES = {DOUBLE: ctypes.c_double, FLOAT: ctypes.c_float}
NAN = math.nan

#: Operations on two numbers x and y, with a name for each.
OPERATIONS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x, _: -x,
    "products": lambda x, y: x * y - y * y + 2.5 * x,
    "negative constants": lambda x, y: (x - -0.5) * -3.0 - -2.0 * y,
    "neg of a sum in a sum": lambda x, y: y - (-(x * y)) + (-x),
    "lt": lambda x, y: select(x < y, x, y * 2.0),
    "gt": lambda x, y: select(x > 0.0, x, y),
    "le": lambda x, y: select(x <= y, 1.0, y),
    "eq": lambda x, y: select(x == y, 1.0, -1.0),
    "ne": lambda x, y: select(x != y, 1.0, -1.0),
    "nested": lambda x, y: select(x < y, select(y < 1.0, x, y), x * y),
    "sqrt": lambda x, _: np.sqrt(np.fabs(x)),
    "sin": lambda x, _: np.sin(x),
    "cos": lambda x, _: np.cos(x),
    "tan": lambda x, _: np.tan(x),
    "exp": lambda x, _: np.exp(x),
    "log": lambda x, _: np.log(np.fabs(x)),
    "tanh": lambda x, _: np.tanh(x),
    "floor": lambda x, _: np.floor(x),
    "arctan2": np.arctan2,
}

NUMBERS = ((0.3, -1.7), (-1.25, 2.0), (3.0, 3.0), (-2.5, 0.75), (NAN, 1.0), (1.0, NAN))


def call_of(operation):
    """Return the Program of an operation on two symbols."""
    graph = SymbolGraph()
    x, y = (np.array(graph.enter(("input", "x", k)), object) for k in range(2))
    return program(graph, {"out": operation(x[()], y[()])}, fused=False)


def text_of(programs, real):
    """Return C source with a function for each Program."""
    lines = ["#include <math.h>"]
    for k, each in enumerate(programs):
        head = f"void f{k}(const {real.name} x[2], {real.name} out[1])"
        body = statements(each, {"x": "x"}, {"out": "out"}, real)
        lines += [f"{head};", head, "{", *body, "}"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("real", REALS, ids=lambda real: real.name)
def test_every_operation_in_c_has_the_result_of_numpy(compiler, real, tmp_path):
    programs = [call_of(operation) for operation in OPERATIONS.values()]
    library = compiled(compiler, text_of(programs, real), tmp_path)
    array = C_TYPES[real] * 2
    for k, (name, operation) in enumerate(OPERATIONS.items()):
        for x, y in NUMBERS:
            kind = real.info.dtype.type
            out = array()
            getattr(library, f"f{k}")(array(x, y), out)
            expected = operation(kind(x), kind(y))
            # mathematics libraries differ by one or two units in the last place
            np.testing.assert_allclose(out[0], expected, rtol=4.0 * real.eps, err_msg=name)


def test_statements_are_written_in_the_order_of_computation():
    graph = SymbolGraph()
    x, y = (graph.enter(("input", "q", k)) for k in range(2))
    sine = x.sin()
    lines = statements(
        program(graph, {"out": [sine * y + 0.5, sine, x, (x < y).select(1.0, sine)]}, fused=False),
        {"q": "q"},
        {"out": "tau"},
        DOUBLE,
    )
    assert lines == [
        "const double t0 = q[0];",
        "const double t1 = sin(t0);",
        "const double t2 = (q[1] * t1) + 0.5;",
        "const double t3 = (t0 < q[1]) ? 1.0 : t1;",
        "tau[0] = t2;",
        "tau[1] = t1;",
        "tau[2] = t0;",
        "tau[3] = t3;",
    ]


def test_outputs_are_stored_after_all_inputs_are_read():
    """This lets an output share memory with an input."""
    graph = SymbolGraph()
    x, y = (graph.enter(("input", "q", k)) for k in range(2))
    lines = statements(program(graph, {"q": [y, x, 2.0]}), {"q": "q"}, {"q": "q"}, DOUBLE)
    stores = [line.split(" = ")[1] for line in lines if line.startswith("q[")]
    assert len(stores) == 3
    assert not any("q" in text for text in stores)


@pytest.mark.parametrize("real", REALS, ids=lambda real: real.name)
def test_constants_are_read_back_exactly(real):
    rng = np.random.default_rng(0)
    values = rng.normal(size=200) * 10.0 ** rng.integers(-25, 25, 200)
    for value in [0.0, 1.0, -1.0, 1e22, 0.1, 1 / 3, 123456789.0, *values.tolist()]:
        text = real.constant(value)
        digits = text.strip("()")
        assert digits.endswith("F") == (real is FLOAT)
        assert digits.startswith("-") == text.startswith("(")
        number = digits.removesuffix("F")
        assert real.round(float(number)) == real.round(value)
        assert "." in number or "e" in number, "C would read an integer"
        exact = real.exact(real.round(value)).removesuffix("F")
        assert float.fromhex(exact) == real.round(value)


@pytest.mark.parametrize(
    ("real", "value", "shown"),
    [(FLOAT, 1e39, "1e+39, which is not finite as a float"), (DOUBLE, math.inf, "inf, which"),
     (DOUBLE, NAN, "nan, which"), (FLOAT, -3.5e38, "-3.5e+38")],
)  # fmt: skip
def test_constants_that_are_not_finite_are_refused(real, value, shown):
    with refused(ModelError, "no-such-constant") as caught:
        real.constant(value)
    assert shown in str(caught.value)


def test_statements_use_only_names_that_are_already_defined():
    """C compiles only if each name is defined before its use."""
    each = call_of(OPERATIONS["products"])
    names = [line.split()[2] for line in statements(each, {"x": "x"}, {"out": "out"}, FLOAT)[:-1]]
    assert all(int(a[1:]) + 1 == int(b[1:]) for a, b in pairwise(names))
