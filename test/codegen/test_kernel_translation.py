# SPDX-License-Identifier: Apache-2.0
"""Kernels translated to C++ return what they return in Python; errors name the line."""

from __future__ import annotations

import copy
import ctypes
import math
import pickle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.c_compilers import run
from support.control_package import BUILD, STRICT, needs_gxx

from rbdyn_ros.codegen.kernels.functions import Translation
from rbdyn_ros.codegen.ros2_control import package
from rbdyn_ros.codegen.ros2_control.kernels import structs
from rbdyn_ros.control.base.record import Record
from rbdyn_ros.model.declared.fields import Field

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Ints
    from rbdyn_ros.engine.compiler.jit import Matrix, Vector

PLACES, SCALE = 3, 0.5
VIEWS = Path(package.__file__).parent / "templates/src/views.hpp"
SOURCE = """
#include <cmath>
#include <tuple>
#include "views.hpp"
using namespace kernels;
constexpr Index PLACES = 3;
constexpr double SCALE = 0.5;
constexpr std::size_t DOFS = 3, CONTROLLED = 2;
{struct}
{text}
extern "C" double remember(double * x)
{{
  static Memory memory{{0, 1.0, {{}}, {{}}, {{2, 0}}}};
  return test_kernel_translation::remember(memory, Vector<double>(x, 3));
}}
extern "C" double compute(double * x, double * rows, Index * order, double t)
{{
  Table<2, 3> table(std::array<double, 3>{{rows[0], rows[1], rows[2]}},
                    std::array<double, 3>{{rows[3], rows[4], rows[5]}});
  const double found = test_kernel_translation::everything(
    Vector<double>(x, 3), table, Vector<const Index>(order, 3), t);
  std::copy_n(table.data(), 6, rows);
  return found;
}}
"""


def largest(x: Vector, t: float) -> tuple[int, float]:
    """Return the index (or -1) and the value of the largest number above t."""
    worst, most = -1, t
    for k in range(len(x)):
        if x[k] > most:
            worst, most = k, x[k]
    return worst, most


def spread(rows: Matrix, k: int) -> None:
    first, second = rows[0], rows[1]
    second[k] = first[k] - (second[k] - 1.0) - 2.0
    rows[0, k] *= -(first[k] + SCALE)


def everything(x: Vector, rows: Matrix, order: Ints, t: float) -> float:
    """Use each feature of Python that can be translated."""
    place, most = largest(x, t)
    total = 0.0
    for k in order:
        if rows[0, k] < 0.0 or (t < 0.0 and not rows[1, k] <= t <= 1.0):
            spread(rows, k)
        elif k == place:
            continue
        else:
            total += k / PLACES
    count = 5
    while count > 0:
        count -= 2
        if count == 1 and bool(x[0] > 0.0):
            break
    for i in range(2, -1, -1):
        total = total * SCALE + (most if i == place else -x[i])
    for i in range(1, rows.shape[1]):
        total += max(rows[0, i], x[i], t) - min(abs(x[i]), np.inf) + float(count)
    total -= np.copysign(np.exp(-abs(t)), x[1]) ** 2 + math.sqrt(abs(t)) * np.sign(x[2])
    return total / (1.0 + np.tanh(t) ** 2) - (t - (t - SCALE)) * int(place)


class Memory(Record):
    """A record with a field of each kind."""

    FIELDS = (
        Field("count", (), "a number", "int"),
        Field("total", (), ""),
        Field("row", ("nv",), ""),
        Field("table", (2, "nv"), ""),
        Field("order", ("n",), "", "int"),
    )


def remember(s: Memory, x: Vector) -> float:
    first, row = s.table[0], s.row
    for k in s.order:
        row[k] += x[k] - first[k]
    for k in range(len(s.row)):
        first[k] = s.row[k] * s.total
    s.count = (s.count - 2) % 5
    s.total, first[1] = s.total + SCALE * max(s.count, 1), 0.5 * row[1]
    s.table[1, s.count % 3] -= 1.0
    return s.total + s.row[0] - s.table[0, 2] + s.table[1, 1]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("translation")
    found = Translation([everything, remember], {})
    views = VIEWS.read_text().replace("@{namespace}", "kernels")
    (folder / "views.hpp").write_text(views)
    given = {"struct": structs(found.records), "text": found.text()}
    (folder / "code.cpp").write_text(SOURCE.format(**given))
    run("g++", *BUILD, *STRICT, folder / "code.cpp", "-o", folder / "code.so")
    return ctypes.CDLL(str(folder / "code.so"))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copying_a_record_is_refused(copied):
    with pytest.raises(TypeError, match="a Memory cannot be copied"):
        copied(Memory(nv=3, n=2))


@needs_gxx
def test_records_in_cpp_hold_the_values_of_records_in_python(library):
    memory, rng = Memory(nv=3, n=2), np.random.default_rng(2)
    memory.total, memory.order = 1.0, (2, 0)
    library.remember.restype = ctypes.c_double
    for _ in range(20):
        x = rng.normal(size=3)
        found = library.remember(ctypes.c_void_p(x.ctypes.data))
        assert found == pytest.approx(remember(memory, x), rel=1e-13, abs=1e-13)
    with pytest.raises(AttributeError, match="Memory has no field 'totals'"):
        memory.totals = 1.0


@needs_gxx
def test_kernels_in_cpp_return_the_results_of_kernels_in_python(library):
    compute = library.compute
    compute.restype = ctypes.c_double
    rng = np.random.default_rng(1)
    for _ in range(200):
        x, rows, order = rng.normal(size=3), rng.normal(size=(2, 3)), rng.permutation(3)
        t, other = float(rng.normal()), rows.copy()
        expected = everything(x, rows, order, t)
        found = compute(
            *(ctypes.c_void_p(a.ctypes.data) for a in (x, other, order)), ctypes.c_double(t)
        )
        assert found == pytest.approx(expected, rel=1e-14, abs=1e-14)
        np.testing.assert_allclose(other, rows, rtol=1e-15)


def sliced(x: Vector) -> float:
    y = x[1:]
    return y[0]


def unsure(x: Vector) -> float:
    if x[0] > 0.0:
        y = 1.0
    return y


def swapped(x: Vector) -> None:
    x[0], x[1] = x[1], x[0]


def truthful(x: Vector) -> float:
    return 1.0 if x[0] else 0.0


def narrowed(x: Vector) -> int:
    count = 0
    count = x[0]
    return count


def rebound(s: Memory, x: Vector) -> None:
    s.row = x


def mixed(s: Memory, x: Vector) -> None:
    s.total, x[0] = x[0], s.total


def untyped(x) -> float:
    return x[0]


def unknown(x: Vector) -> float:
    return np.linalg.norm(x)


@pytest.mark.parametrize(
    ("kernel", "line", "part"),
    [
        (sliced, 1, "`1:`"),
        (unsure, 3, "`y`"),
        (swapped, 1, "`x[0]`"),
        (truthful, 1, "`x[0]`"),
        (narrowed, 2, "`count`"),
        (rebound, 1, "`s.row`"),
        (mixed, 1, "`s.total`"),
        (untyped, 0, "`x`"),
        (unknown, 1, "`np.linalg.norm(x)`"),
    ],
)
def test_the_error_about_unsupported_python_names_the_line(kernel, line, part):
    number = kernel.__code__.co_firstlineno + line
    with pytest.raises(NotImplementedError) as refusal:
        Translation([kernel], {})
    for text in (f"test_kernel_translation.py, line {number}", f"`{kernel.__name__}`", part):
        assert text in str(refusal.value)
