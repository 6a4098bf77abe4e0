# SPDX-License-Identifier: Apache-2.0
"""The vector sine and cosine have errors below one ulp, and the same bits for every width and CPU.

An ulp is the distance from a double of the result's size to the next double. Rounding the true
value costs up to 0.5 ulp; sincos promises 0.8 ulp for |x| <= LARGEST.
"""

import ctypes
import math
from decimal import Decimal, localcontext
from functools import cache

import numpy as np
import pytest
from llvmlite import binding as llvm

from rbdyn_ros.specialization.languages.sincos import LARGEST, declarations, sincos_text

ULP = 0.8
WIDTHS = (1, 2, 4, 8)
WIDE = np.longdouble
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")

needs_wide = pytest.mark.skipif(
    np.finfo(WIDE).nmant <= np.finfo(float).nmant + 8,
    reason="NumPy's longdouble is no wider than a double here",
)

#: LLVM code that calls @sincos for n vectors at %x and writes to %sin and %cos.
DRIVER = """
define void @drive({V}{p} %x, {V}{p} %sin, {V}{p} %cos, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %here = getelementptr {V}, {V}{p} %x, i64 %i
  %there = getelementptr {V}, {V}{p} %sin, i64 %i
  %yonder = getelementptr {V}, {V}{p} %cos, i64 %i
  %angles = load {V}, {V}{p} %here, align 8
  %pair = call {{ {V}, {V} }} @sincos({V} %angles)
  %s = extractvalue {{ {V}, {V} }} %pair, 0
  %c = extractvalue {{ {V}, {V} }} %pair, 1
  store {V} %s, {V}{p} %there, align 8
  store {V} %c, {V}{p} %yonder, align 8
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


@cache
def _has_typed_pointers():
    """Return whether this LLVM has typed pointers."""
    try:
        llvm.parse_assembly("declare void @f(double*)")
    except RuntimeError:
        return False
    return True


def _text(width):
    vector = "double" if width == 1 else f"<{width} x double>"
    driver = DRIVER.format(V=vector, p="*")
    if not _has_typed_pointers():
        driver = driver.replace(f"{vector}*", "ptr")
    return "\n".join([*declarations(width), sincos_text(width), driver])


def _machine(host):
    cpu, features = "", ""
    if host:
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=3, jit=True)


@cache
def _compiled(width, host):
    """Return the driver's function, and two objects that keep its code alive.

    Args:
        width: number of lanes.
        host: whether to compile for this CPU, or else for the oldest CPU of its kind, on x86
            without FMA and AVX.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(_text(width))
    module.verify()
    compiler = llvm.create_lljit_compiler(_machine(host))
    library = llvm.JITLibraryBuilder().add_ir(str(module)).add_current_process()
    tracker = library.export_symbol("drive").link(compiler, "sincos")
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)
    return kind(tracker["drive"]), tracker, compiler


def sincos(x, width=8, host=True):
    """Return sin and cos of the angles x, computed in vectors of `width` lanes."""
    x = np.asarray(x, dtype=float)
    padded = np.zeros(-(-x.size // width) * width)
    padded[: x.size] = x
    sin, cos = np.empty_like(padded), np.empty_like(padded)
    drive = _compiled(width, host)[0]
    drive(padded.ctypes.data, sin.ctypes.data, cos.ctypes.data, padded.size // width)
    return sin[: x.size], cos[: x.size]


def bits(pair):
    return np.array(pair).view(np.uint64)


def neighbours(x):
    return np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)])


def turns(part, shift=0.0):
    """Return all (n + shift) pi / part up to LARGEST as doubles, and the doubles next to them."""
    part = WIDE(str(PI / part)) if np.finfo(WIDE).nmant > 60 else float(PI / part)
    last = int((LARGEST - 10) / part)
    return neighbours(((np.arange(-last, last + 1) + WIDE(shift)) * part).astype(float))


def angles(name):
    rng = np.random.default_rng(9)
    if name == "small":
        return rng.uniform(-1.6, 1.6, 200_000)
    if name == "all":
        return rng.uniform(-LARGEST, LARGEST, 200_000)
    if name == "any size":
        size = np.exp(rng.uniform(np.log(1e-300), np.log(LARGEST), 100_000))
        return size * rng.choice([-1.0, 1.0], size.size)
    if name == "sizes of joints":
        size = np.exp(rng.uniform(np.log(1e-9), np.log(LARGEST), 200_000))
        return size * rng.choice([-1.0, 1.0], size.size)
    if name == "next to LARGEST":
        near = LARGEST - rng.uniform(0, 1e-3, 1000)
        return np.concatenate([near, -near, [LARGEST, -LARGEST]])
    return turns(2) if name == "quarter turns" else turns(2, 0.5)


SETS = (
    "small",
    "all",
    "any size",
    "sizes of joints",
    "next to LARGEST",
    "quarter turns",  # sin or cos is almost zero here, so all digits of pi/2 count
    "eighth turns",  # here the remainder of the division by pi/2 is largest
)


def ulps(value, true):
    return np.abs(value.astype(WIDE) - true) / np.spacing(np.abs(true.astype(float)))


@needs_wide
@pytest.mark.parametrize("name", SETS)
def test_errors_are_below_one_ulp(name):
    x = angles(name)
    sin, cos = sincos(x)
    assert ulps(sin, np.sin(x.astype(WIDE))).max() < ULP
    assert ulps(cos, np.cos(x.astype(WIDE))).max() < ULP


def _decimal_sin(x):
    """Return sin x with 45 digits by its series, after x is reduced by half turns."""
    n = int((x / PI).to_integral_value())
    r = x - n * PI
    term = total = r
    k = 1
    while abs(term) > Decimal("1e-45") * abs(total):
        k += 2
        term *= -r * r / (k * (k - 1))
        total += term
    return -total if n % 2 else total


def test_errors_at_the_hardest_angles_are_small():
    """The hardest angles are the 200 doubles up to LARGEST nearest to multiples of pi/2."""
    x = turns(2)
    sin, cos = sincos(x)
    hardest = np.argsort(np.minimum(np.abs(sin), np.abs(cos)) + (x == 0.0))[:200]
    x = np.concatenate([x[hardest], angles("all")[:50], angles("sizes of joints")[:50]])
    sin, cos = sincos(x)
    with localcontext() as context:
        context.prec = 60
        for i, exact in enumerate(map(Decimal, x)):
            for value, true in ((sin, _decimal_sin(exact)), (cos, _decimal_sin(exact + PI / 2))):
                error = abs(Decimal(float(value[i])) - true)
                assert error < Decimal(ULP) * Decimal(math.ulp(float(true))), x[i]


def test_the_hardest_angles_are_close_to_multiples_of_a_quarter_turn():
    """Some angles are within 1e-15 of a multiple, so they need all three parts of pi/2."""
    sin, cos = sincos(turns(2))
    least = np.minimum(np.abs(sin), np.abs(cos))
    assert 0.0 < least[least > 0].min() < 1e-15


def mixture():
    """Return ordinary, large and non-finite angles in random order."""
    rng = np.random.default_rng(3)
    strange = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e22, -1e300, LARGEST, 1e6]
    ordinary = np.concatenate([angles(name)[:2000] for name in SETS])
    return rng.permutation(np.concatenate([ordinary, np.repeat(strange, 40)]))


@pytest.mark.parametrize("host", [True, False], ids=["host", "oldest"])
@pytest.mark.parametrize("width", WIDTHS)
def test_bits_depend_neither_on_width_nor_on_processor(width, host):
    x = mixture()
    one, other = sincos(x, 8), sincos(x, width, host)
    number = np.isfinite(x)  # NaNs may have different bits
    assert np.array_equal(bits(one)[:, number], bits(other)[:, number])
    assert np.isnan(np.array(other)[:, ~number]).all()


def test_result_bits_do_not_depend_on_other_lanes():
    x = mixture()
    x = x[np.isfinite(x)]
    order = np.random.default_rng(4).permutation(x.size)
    assert np.array_equal(bits(sincos(x))[:, order], bits(sincos(x[order])))


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf, 1e6, -1e22, 1e300])
@pytest.mark.parametrize("width", [2, 4, 8])
def test_a_huge_or_nan_value_in_a_lane_does_not_change_other_lanes(width, strange):
    x = np.linspace(-7.0, 9.0, width)
    alone = bits(sincos(x, width))
    for lane in range(width):
        mixed = x.copy()
        mixed[lane] = strange
        others = np.arange(width) != lane
        result = sincos(mixed, width)
        assert np.array_equal(bits(result)[:, others], alone[:, others])
        assert math.isfinite(strange) or np.isnan(np.array(result)[:, lane]).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_lanes_with_huge_values_use_the_c_library(width):
    above = np.nextafter(LARGEST, np.inf)
    rng = np.random.default_rng(5)
    far = np.exp(rng.uniform(np.log(above), np.log(1e308), 500))
    # the polynomials would round some of these results differently
    near = rng.uniform(above, LARGEST + 1e3, 500)
    far = np.concatenate([far, near, [above, 1e6, 1e22, 1e300, np.finfo(float).max]])
    far = np.concatenate([far, -far])
    sin, cos = sincos(far, width)
    assert sin.tolist() == [math.sin(x) for x in far]
    assert cos.tolist() == [math.cos(x) for x in far]


def test_the_sine_is_odd_and_the_cosine_is_even():
    """The results for x and -x agree to the last bit."""
    x = mixture()
    x = x[np.isfinite(x)]
    sin, cos = sincos(x)
    mirrored_sin, mirrored_cos = sincos(-x)
    assert np.array_equal(bits(mirrored_sin), bits(-sin))
    assert np.array_equal(bits(mirrored_cos), bits(cos))


@pytest.mark.parametrize("width", WIDTHS)
def test_angles_close_to_zero_are_exact(width):
    """The sine of a tiny angle is the angle: zeros keep their signs, denormals keep all bits."""
    x = np.array([0.0, 5e-324, 3e-310, 2.3e-308, 1e-200, 1e-160, 1e-20, 1e-9])
    x = np.concatenate([x, -x])
    sin, cos = sincos(x, width)
    assert np.array_equal(bits(sin), bits(x))
    assert (cos == 1.0).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_every_function_is_declared_once(width):
    """LLVM refuses a module that declares a function twice."""
    lines = declarations(width)
    assert len(set(lines)) == len(lines)
    assert "declare" not in sincos_text(width)
