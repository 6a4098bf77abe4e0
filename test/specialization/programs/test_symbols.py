# SPDX-License-Identifier: Apache-2.0
"""Symbols record arithmetic, share operations and trace branches, and refuse other uses."""

import math
import operator

import numba
import numpy as np
import pytest
from support import specialised, specialised_models
from support.refusals import refused, worded

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler.jit import is_known, is_zero, select
from rbdyn_ros.errors import ModelError
from rbdyn_ros.specialization import trace
from rbdyn_ros.specialization.programs import symbols
from rbdyn_ros.specialization.programs.numpy_ops import UNARY
from rbdyn_ros.specialization.programs.program import program
from rbdyn_ros.specialization.programs.symbols import (
    CONDITIONS,
    NotTraceableError,
    Symbol,
    SymbolGraph,
)
from rbdyn_ros.specialization.trace import Tracing


@pytest.fixture
def graph():
    return SymbolGraph()


@pytest.fixture
def x(graph):
    return graph.enter(("input", "x", 0))


@pytest.fixture
def y(graph):
    return graph.enter(("input", "y", 0))


def written(value):
    """Return the operation of a symbol as nested tuples of kinds, input names and numbers."""
    if not isinstance(value, Symbol):
        return value
    return _written(value.graph, value.number)


def _written(graph, number):
    kind, *operands = graph.operations[number]
    if kind == "input":
        return operands[0]
    if kind == "constant":
        return operands[0]
    return (kind, *(_written(graph, x) for x in operands))


def value_of(symbol, **numbers):
    """Return the value of a symbol for these numbers of the inputs."""
    whole = program(symbol.graph, {"out": np.array([symbol], object)}, fused=False)
    arrays = {name: np.array([[number]], float) for name, number in numbers.items()}
    return specialised.evaluate(whole, arrays)["out"][0, 0]


def test_adding_zero_and_multiplying_by_one_add_no_operation(graph, x):
    before = len(graph.operations)
    for same in (x + 0.0, 0.0 + x, x - 0.0, x * 1.0, 1.0 * x, x / 1.0, +x, x**1, x + 0, x * 1):
        assert same is x
    for zero in (x * 0.0, 0.0 * x, 0.0 / x, x * 0, -0.0 * x):
        assert zero == 0.0
        assert not isinstance(zero, Symbol)
    assert len(graph.operations) == before


def test_signs_move_out_of_products_and_sums(graph, x, y):
    negative = -x
    assert written(-negative) == "x"
    assert written(-1.0 * x) == ("neg", "x")
    assert written(0.0 - x) == ("neg", "x")
    assert written(x - (-y)) == ("add", "x", "y")
    assert written(x + (-y)) == ("sub", "x", "y")
    assert written((-x) + y) == ("sub", "y", "x")
    assert written(-(x - y)) == ("sub", "y", "x")
    assert written((-x) * y) == ("neg", ("mul", "x", "y"))
    assert written(x * (-y)) == ("neg", ("mul", "x", "y"))
    assert written((-x) * (-y)) == ("mul", "x", "y")
    assert written(2.0 * x - (-(x * y))) == ("add", ("mul", "x", "y"), ("mul", "x", 2.0))


def test_operations_on_known_numbers_are_computed_at_once(graph, x):
    """A known number is recorded only when an operation combines it with a symbol."""
    assert written(x + 2.0 * 3.0) == ("add", "x", 6.0)
    assert written(2.0 - x) == ("sub", 2.0, "x")
    assert written(1.0 / x) == ("div", 1.0, "x")
    assert written(np.float64(2.0) * x) == ("mul", "x", 2.0)
    assert written(x * np.int64(3)) == ("mul", "x", 3.0)
    kinds = [operation[0] for operation in graph.operations]
    assert kinds.count("constant") == 4  # the numbers 6, 2, 1 and 3


def test_equal_operations_are_recorded_once(graph, x, y):
    assert (x + y) is (y + x)
    assert (x * y) is (y * x)
    assert (x - y) is not (y - x)
    assert np.sin(x) is np.sin(x)
    before = len(graph.operations)
    for _ in range(3):
        assert isinstance(np.sin(x * y + 2.0) / (x < y).select(x, y), Symbol)
    assert len(graph.operations) - before <= 6 + 1


def test_constants_with_the_same_bits_are_recorded_once(graph):
    assert graph.number(0.0) != graph.number(-0.0)
    assert graph.number(math.nan) == graph.number(math.nan)
    assert graph.number(1) == graph.number(1.0) == graph.number(np.float64(1.0))
    assert graph.number(math.inf) != graph.number(-math.inf)


@pytest.mark.parametrize("x", [0.3, -1.7, 2.0])
@pytest.mark.parametrize("y", [0.4, -2.5])
def test_operations_on_symbols_give_the_values_of_python(x, y):
    """Each operator and function is tried with symbols on either side."""
    graph = SymbolGraph()
    a, b = graph.enter(("input", "a", 0)), graph.enter(("input", "b", 0))
    for ours, theirs in (
        (a + b, x + y), (a - b, x - y), (a * b, x * y), (a / b, x / y), (3.0 - a, 3.0 - x),
        (2.0 / a, 2.0 / x), (-a, -x), (abs(a), abs(x)), (a**2, x * x), (a**3, x * x * x),
        (a**4.0, x * x * x * x), ((-a) * (b - a), -x * (y - x)), (a - (-b) * a, x + y * x),
        (np.arctan2(a, b), math.atan2(x, y)), (np.sin(a), math.sin(x)), (np.tanh(a), math.tanh(x)),
        (np.sqrt(a * a), abs(x)), (np.floor(a), math.floor(x)), (np.fabs(a), abs(x)),
        (np.exp(a), math.exp(x)), (np.log(a * a), math.log(x * x)), (np.tan(a), math.tan(x)),
        (np.cos(a), math.cos(x)), (np.square(a), x * x), (np.negative(a), -x),
        ((a < b).select(a, b), min(x, y)), ((a > b).select(a, 1.0), x if x > y else 1.0),
        ((a <= b) * 2.0, 2.0 * (x <= y)), (1.0 - (a >= b), 1.0 - (x >= y)),
        (1.0 * (a == a) + (a != a), 1.0), ((a < b) & (a < 0.0), float(x < y and x < 0.0)),
        ((a < b) | (a < 0.0), float(x < y or x < 0.0)), (~(a < b), float(not x < y)),
    ):  # fmt: skip
        assert value_of(ours, a=x, b=y) == pytest.approx(float(theirs), rel=1e-15), ours


def test_comparisons_of_nan_and_zeros_have_the_results_of_python():
    graph = SymbolGraph()
    a, b = graph.enter(("input", "a", 0)), graph.enter(("input", "b", 0))
    expected = {
        "lt": (False, False),
        "le": (False, True),
        "eq": (False, True),
        "ne": (True, False),
    }
    made = {"lt": a < b, "le": a <= b, "eq": a == b, "ne": a != b}
    assert set(made) == set(CONDITIONS)
    for name, condition in made.items():
        chosen = condition.select(1.0, 0.0)
        assert value_of(chosen, a=math.nan, b=1.0) == expected[name][0]
        assert value_of(chosen, a=-0.0, b=0.0) == expected[name][1]
    assert written((a > b).select(1.0, 2.0))[1] == ("lt", "b", "a")


def test_select_with_equal_values_or_a_known_condition_is_simplified(graph, x, y):
    condition = x < y
    assert condition.select(x, x) is x
    assert condition.select(2.0, 2.0) == 2.0
    assert written(select(condition, x, 0.0)) == ("select", ("lt", "x", "y"), "x", 0.0)
    assert select(True, x, y) is x
    assert select(1.0 < 0.5, x, y) is y
    assert not is_known(x)
    assert not is_zero(x)
    assert is_zero(x * 0.0)


def test_arrays_of_symbols_work_in_numpy(graph):
    """NumPy's operators and functions call the methods of every element."""
    array = np.array([graph.enter(("input", "a", k)) for k in range(3)], object)
    total = (2.0 * array + array[::-1]).sum() - array @ np.array([1.0, 0.0, -1.0])
    a = {"a": np.array([[0.5, -0.25, 2.0]])}
    whole = program(graph, {"t": np.array([total]), "s": np.sin(array), "f": np.floor(array)})
    found = specialised.evaluate(whole, a)
    assert found["t"][0, 0] == pytest.approx(3.0 * 2.25 - (0.5 - 2.0), rel=1e-15)
    assert found["s"][0] == pytest.approx(np.sin(a["a"][0]), rel=1e-15)
    assert found["f"][0].tolist() == [0.0, -1.0, 2.0]
    for name in UNARY:
        symbols = getattr(np, name)(array)
        assert [written(s)[0] for s in symbols] == [name] * 3
    assert [written(s)[0] for s in np.arctan2(array, array[::-1])] == ["arctan2"] * 3


@pytest.mark.parametrize(
    "use",
    [
        float, int, bool, math.sin, round,
        lambda x: x % 2, lambda x: 2 % x, lambda x: x // 2, lambda x: x**0.5, lambda x: x**-1,
        lambda x: 2.0**x, lambda x: x**x, lambda x: [1, 2][x], range,
        lambda x: 1.0 if x else 0.0, lambda x: x and 1.0, np.arcsin,
        np.isnan, np.expm1, lambda x: np.array([0.0]).__setitem__(0, x),
        lambda x: f"{x:.3f}", lambda x: {x: 1}, lambda x: x.real,
        lambda x: x & True, complex, lambda x: x < "text", lambda x: x + None,
        lambda x: 1.0 if x < 1.0 else 0.0,
    ],
)  # fmt: skip
def test_operations_that_need_the_value_of_a_symbol_are_refused(x, use):
    with pytest.raises((TypeError, ValueError, AttributeError)):
        use(x)


def test_untraceable_uses_of_a_symbol_are_refused(graph, x):
    for use in (float, bool, lambda x: bool(x < 1.0), lambda x: x % 2):
        with pytest.raises(NotTraceableError) as caught:
            use(x)
        worded("not-traceable", caught.value)


def traced(function, count=2):
    """Trace a function of `count` symbols; return its Program, and how often it ran."""
    tracing = Tracing(specialised_models.springs())
    a = [tracing.graph.enter(("input", "a", k)) for k in range(count)]
    runs = []

    def run():
        runs.append(1)
        return {"out": np.array(function(*a), object)}

    outputs = tracing.trace(run)
    return program(tracing.graph, outputs), len(runs)


def compare_branches(function, points, runs):
    """Assert that a function, traced in `runs` runs, gives its values at the points."""
    whole, ran = traced(function, len(points[0]))
    assert ran == runs
    found = specialised.evaluate(whole, {"a": np.array(points, float)})["out"]
    for point, values in zip(points, found, strict=True):
        assert values.tolist() == pytest.approx(list(function(*point)), rel=1e-15), point


POINTS = [(x, y) for x in (-2.0, -0.5, 0.0, 0.5, 3.0) for y in (-1.0, 0.0, 0.25, 4.0)]


def test_a_branch_is_traced():
    compare_branches(lambda x, y: (x * y if x < y else x - y, 1.0), POINTS, 2)


def test_branches_may_be_nested():
    def nested(x, y):
        if x < 0.0:
            if y < 0.0:
                return x * y, 1.0
            return (x + y, 2.0) if x + y > 0.0 else (x - y, 3.0)
        return x, 4.0 * y

    compare_branches(nested, POINTS, 4)


def test_branches_may_follow_each_other():
    """Both cases of the first branch reach the second; a repeated condition needs no new run."""

    def twice(x, y):
        a = x if x < y else 2.0 * y
        b = y * a if y < 0.25 else y + a
        c = a if x < y else -a
        return a, b, c

    compare_branches(twice, POINTS, 4)


def test_and_or_not_and_chained_comparisons_are_traced():
    """min, max and a loop of known length are traced too."""

    def words(x, y):
        a = 1.0 if -1.0 < x < 1.0 else 2.0
        b = x if not (x < y and y > 0.0) else y
        c = 0.0
        for k in range(3):
            c = c + k * x
        return a, b, c, max(x, y), min(x, y)

    compare_branches(words, POINTS, traced(words)[1])


def test_a_branch_can_depend_on_a_selected_number():
    def chosen(x, y):
        z = select(x < y, x, y)
        return (z * z if z > 0.0 else -z,)

    compare_branches(chosen, POINTS, 2)


def test_arrays_may_be_written_in_branches():
    """Each run of a trace starts with new arrays."""

    def fill(x, y):
        out = np.zeros(2, object)
        if x < y:
            out[0] = x
        else:
            out[1] = y
        return tuple(out)

    compare_branches(fill, POINTS, 2)


def test_an_endless_loop_is_refused():
    """Each iteration needs another run, and only MAX_RUNS runs are allowed."""
    turns = []

    def endless(x, _):
        while x < 300.0:
            x = x * 1.5 + 1.0
            turns.append(x)
        return (x,)

    with refused(ModelError, "not-traceable", "'springs'"):
        traced(endless)
    assert len(turns) == trace.MAX_RUNS


def test_too_many_operations_are_refused(monkeypatch):
    monkeypatch.setattr(symbols, "MAX_OPERATIONS", 5000)

    def long(x, y):
        for _ in range(5000):
            x = x * y + 1.0
        return (x,)

    with refused(ModelError, "not-traceable", "'springs'"):
        traced(long)


@pytest.mark.parametrize("count", [4, 5, 6])
def test_too_many_branches_are_refused(monkeypatch, count):
    """n independent branches need 2^n runs, of which MAX_RUNS are allowed."""
    assert trace.MAX_RUNS == 32

    def independent(*a):
        return tuple(1.0 if x < 0.5 else x for x in a)

    if count <= 5:
        assert traced(independent, count)[1] == 2**count
        return
    with refused(ModelError, "not-traceable", "'springs'"):
        traced(independent, count)


def test_division_of_a_number_by_zero_is_refused():
    """Python refuses to divide a number by zero, but a symbol over zero gives infinity or NaN."""
    with refused(ModelError, "not-traceable", "'springs'"):
        traced(lambda x, y: (1.0 / 0.0 * x, y))
    whole, _ = traced(lambda x, y: (x / 0.0, y))
    found = specialised.evaluate(whole, {"a": np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])})
    assert found["out"][:2, 0].tolist() == [math.inf, -math.inf]
    assert math.isnan(found["out"][2, 0])


def user_joint(name, offset):
    """Return a Model with a hinge whose function calls `offset` with the angle."""

    def hinge(q, qd, p, E, r, S, S_dot):
        c, s = np.cos(q[0]), np.sin(q[0])
        E[0, 0], E[0, 1], E[1, 0], E[1, 1] = c, s, -s, c
        r[2] = 0.0 * offset(q[0])
        S[2, 0] = 1.0

    with specialised_models.registered():
        rb.register_joint(name)(hinge)
        builder = rb.SystemBuilder("own").body("a", specialised_models.BODY)
        return rb.build(builder.joint("j", name, "base", "a"))


def test_an_untraceable_user_joint_is_refused():
    """Our error names the operation; it is not the message of NumPy or Numba."""
    for k, (offset, word) in enumerate((
        (numba.njit(lambda x: np.arcsin(0.1 * np.sin(x))), "arcsin"),
        (numba.njit(lambda x: x % 2.0), "%"),
    )):  # fmt: skip
        m = user_joint(f"untraceable_{k}", offset)
        with refused(ModelError, "not-traceable", "'own'") as caught:
            rb.specialize(m)
        assert word in str(caught.value)
        d = rb.make_data(m)
        rb.step(m, d)  # the engine can still step the Model
        assert np.isfinite(d.qvel).all()


def test_a_joint_that_calls_compiled_functions_can_be_specialised():
    inner = numba.njit(lambda x: np.exp(0.1 * x))
    m = user_joint("calling", numba.njit(lambda x: inner(x) if x < 100.0 else inner(-x)))
    s = rb.specialize(m)
    d, e = rb.make_data(m), rb.make_data(m)
    d.qpos = e.qpos = 0.4
    s.step(d)
    rb.step(m, e)
    assert d.qpos == pytest.approx(e.qpos, rel=1e-14)


def test_symbols_of_other_traces_are_refused():
    """The number of a symbol refers to an operation of its own trace."""
    x, y = SymbolGraph().enter(("input", "x", 0)), SymbolGraph().enter(("input", "y", 0))
    for operate in (operator.add, operator.mul, operator.sub, operator.truediv, operator.lt):
        with pytest.raises(NotTraceableError):
            operate(x, y)
    with pytest.raises(NotTraceableError):
        x.graph.number(y)
