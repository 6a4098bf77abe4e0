# SPDX-License-Identifier: Apache-2.0
"""Inputs that are not arguments are zero and cause no operation; tiny constants become zero."""

import numpy as np
import pytest
from support.c_code import code_of
from support.refusals import refused
from support.robots import find

import rbdyn_ros as rb
from rbdyn_ros.codegen.table import EXTERNAL, V, length_of
from rbdyn_ros.errors import ModelError
from rbdyn_ros.specialization.languages.c_language import DOUBLE, FLOAT, statements
from rbdyn_ros.specialization.programs.program import program
from rbdyn_ros.specialization.programs.symbols import SymbolGraph


def written(make, real):
    """Return the C statements that compute the symbol `make(x[0])` in the type `real`."""
    graph = SymbolGraph()
    outputs = {"out": [make(graph.enter(("input", "x", 0)))]}
    straight = program(graph, outputs, fused=False)
    return statements(straight, {"x": "x"}, {"out": "out"}, real)


def test_a_function_reads_only_its_arguments():
    m = rb.load_urdf(find("ur5_robot.urdf"))
    functions = ("inverse", "forward", "step")
    for more in (False, True):
        for each in code_of(m, *functions, external_forces=more, gravity_input=more).functions:
            read = {array for array, *_ in each.program.inputs}
            assert read == {argument.array for argument in each.inputs}


def test_robots_without_dofs_are_refused():
    stone = rb.build(rb.SystemBuilder("stone"))
    assert (length_of(V, stone), length_of(EXTERNAL, stone)) == (0, 6)


@pytest.mark.parametrize("value", [1e-39, -1e-39, 1e-45, -1e-300])
def test_tiny_constants_become_zero(value):
    """The fourth power of a rounding error in a robot file is below the smallest float."""
    assert FLOAT.constant(value) == "0.0F"
    assert float(DOUBLE.constant(value).strip("()")) == value
    assert written(lambda x: x * value, FLOAT)[-1] == "out[0] = t0;"
    assert "* 0.0F;" in written(lambda x: x * value, FLOAT)[0]


def test_the_smallest_normal_number_is_kept():
    for real in (DOUBLE, FLOAT):
        least = float(real.info.smallest_normal)
        assert float(real.constant(least).removesuffix("F")) == pytest.approx(least, rel=1e-7)
        assert real.constant(np.nextafter(least, 0.0)) == f"0.0{real.suffix}"


DIVISORS = {
    "itself": lambda tiny, _: tiny,
    "a multiple": lambda tiny, x: tiny * x,
    "its negative": lambda tiny, x: -(tiny * x),
}


@pytest.mark.parametrize("divisor", DIVISORS.values(), ids=DIVISORS)
def test_dividing_by_a_tiny_constant_is_refused(divisor):
    def quotient(x):
        return x / divisor(1e-40, x)

    with refused(ModelError, "no-code"):
        written(quotient, FLOAT)
    assert written(quotient, DOUBLE)


def test_dividing_by_a_sum_with_a_tiny_constant_is_allowed():
    assert written(lambda x: x / (x + 1e-40), FLOAT)
