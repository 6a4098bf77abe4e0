"""A trace once more: what is not given is zero and folds away; the rest is as it was."""

import numpy as np
import pytest

from rbdyn_ros.codegen.again import again
from rbdyn_ros.codegen.language import DOUBLE, FLOAT, statements
from rbdyn_ros.errors import ModelError
from rbdyn_ros.specialize.functions import Trace
from rbdyn_ros.specialize.program import program
from rbdyn_ros.specialize.symbols import UNARY, Graph


def written(make, given, real=DOUBLE):
    """Return the statements for what `make` makes of x[0] and f[0], where some are given."""
    graph = Graph()
    x, f = (graph.enter(("input", name, 0)) for name in ("x", "f"))
    outputs = {"out": np.array([make(x, f), None], object)[:1]}
    trace = again(Trace(graph, outputs), given, real)
    return statements(program(trace.graph, trace.outputs, fused=False), {"x": "x", "f": "f"},
                      {"out": "out"}, real)  # fmt: skip


SAME = {
    "sum of products": lambda x, f: x * f + x / (f + 2.5) - (-f),
    "select": lambda x, f: (x < f).select(x * 2.0, f * 3.0),
    "functions": lambda x, f: np.sqrt(np.fabs(x)) + np.sin(f) * np.tanh(x) - np.exp(f),
    "angle": lambda x, f: x.arctan2(f),
}


@pytest.mark.parametrize("make", SAME.values(), ids=SAME)
def test_with_everything_given_it_is_the_same(make):
    graph = Graph()
    x, f = (graph.enter(("input", name, 0)) for name in ("x", "f"))
    outputs = {"out": np.array([make(x, f)], object)}
    names = {"x": "x", "f": "f"}
    usual = statements(program(graph, outputs, fused=False), names, {"out": "out"}, DOUBLE)
    assert written(make, {"x", "f"}) == usual


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda x, f: x + f, "const double t0 = x[0];"),
        (lambda x, f: x * 3.0 + f * x, "const double t0 = x[0] * 3.0;"),
        (lambda x, f: (x + 1.0) * f.cos(), "const double t0 = x[0] + 1.0;"),
        (lambda x, f: (f < 1.0).select(x * x, f), "const double t0 = x[0] * x[0];"),
        (lambda x, f: (f != 0.0).select(f, x * x), "const double t0 = x[0] * x[0];"),
        (lambda x, f: (x < f).select(x, 0.0), "const double t0 = (x[0] < 0.0) ? x[0] : 0.0;"),
        (lambda x, f: f.arctan2(x + 1.0), "const double t1 = atan2(0.0, t0);"),
        (lambda x, f: x.arctan2(f), "const double t0 = atan2(x[0], 0.0);"),
        (lambda x, f: f / x, "out[0] = 0.0;"),
        (lambda _, f: (f + 2.0).arctan2(f), f"out[0] = {np.pi / 2};"),
    ],
)
def test_what_is_not_given_is_zero(make, line):
    lines = written(make, {"x"})
    assert line in lines
    assert not any("f[0]" in text for text in lines)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_what_is_known_are_computed(name):
    lines = written(lambda _, f: getattr(f + 1.5, name)(), {"x"})
    reference = {"floor": 1.0}.get(name) or float(getattr(np, name)(1.5))
    assert lines == [f"out[0] = {reference!r};"]


def test_what_is_nothing_in_float_vanishes():
    """Rounding of authors, multiplied four times, is less than the smallest normal float."""
    assert written(lambda x, _: x + x * 1e-39, {"x"}, FLOAT)[0] == "const float t0 = x[0];"
    assert written(lambda _, f: f + 1e-45, {"x"}, FLOAT) == ["out[0] = 0.0F;"]
    assert "1e-39" in written(lambda x, _: x + x * 1e-39, {"x"})[0]
    assert "1e-37F" in written(lambda x, _: x * 1e-37, {"x"}, FLOAT)[0]


def test_to_divide_by_nothing_is_refused():
    with pytest.raises(ModelError, match="divide by a constant that is nothing in the type float"):
        written(lambda x, _: x / 1e-40, {"x"}, FLOAT)
