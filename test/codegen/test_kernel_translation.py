# SPDX-License-Identifier: Apache-2.0
"""Kernels in C++ compute what they compute in Python; other Python is refused with its line."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.c_compilers import run
from support.control_package import BUILD, STRICT, needs_gxx

from rbdyn_ros.codegen.kernels.functions import Translation
from rbdyn_ros.codegen.ros2_control import package

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
{text}
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
    """Return the place and the value of the largest number above t, or -1."""
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
    """Use each part of Python that is translated."""
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


@needs_gxx
def test_kernels_in_cpp_compute_what_they_compute_in_python(tmp_path):
    text = Translation([everything], {}).text()
    views = VIEWS.read_text().replace("@{namespace}", "kernels")
    (tmp_path / "views.hpp").write_text(views)
    (tmp_path / "code.cpp").write_text(SOURCE.format(text=text))
    run("g++", *BUILD, *STRICT, tmp_path / "code.cpp", "-o", tmp_path / "code.so")
    compute = ctypes.CDLL(str(tmp_path / "code.so")).compute
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
        (untyped, 0, "`x`"),
        (unknown, 1, "`np.linalg.norm(x)`"),
    ],
)
def test_other_python_is_refused_with_its_line(kernel, line, part):
    number = kernel.__code__.co_firstlineno + line
    with pytest.raises(NotImplementedError) as refusal:
        Translation([kernel], {})
    for text in (f"test_kernel_translation.py, line {number}", f"`{kernel.__name__}`", part):
        assert text in str(refusal.value)
