# SPDX-License-Identifier: Apache-2.0
"""Each compiled kernel has a version in plain Python, and is not changed by it."""

import subprocess
import sys
from pathlib import Path
from types import FunctionType

import numba
import numpy as np
import pytest
from support import specialised, specialised_models

import rbdyn_ros as rb
from rbdyn_ros.engine import forward
from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.engine.compiler.jit import COMPILED
from rbdyn_ros.engine.forward import substep
from rbdyn_ros.specialization.functions import FUNCTIONS
from rbdyn_ros.specialization.uncompiled import uncompiled

pytestmark = pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled here")


@numba.njit
def even(n, out):
    out[0] += 1.0
    if n > 0:
        odd(n - 1, out)


@numba.njit
def odd(n, out):
    out[1] += 1.0
    if n > 0:
        even(n - 1, out)


def used_by(function):
    """Yield each name that a function or its inner functions use, with its value."""
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [inner for inner in code.co_consts if hasattr(inner, "co_names")]
        for name in code.co_names:
            if name in function.__globals__:
                yield name, function.__globals__[name]
    for cell in function.__closure__ or ():
        yield "a closure", cell.cell_contents


def reached(function):
    """Return the project's functions that a function calls; assert that none is compiled."""
    seen, left = {}, [(function.__name__, function)]
    while left:
        path, value = left.pop()
        assert not isinstance(value, COMPILED), f"{path} is compiled"
        if not isinstance(value, FunctionType) or id(value) in seen:
            continue
        if (value.__module__ or "").split(".")[0] in ("rbdyn_ros", __name__):
            seen[id(value)] = value
            left += [(f"{path} > {name}", used) for name, used in used_by(value)]
    return list(seen.values())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_uncompiled_kernels_call_no_compiled_function(name):
    with pytest.raises(AssertionError, match=" is compiled"):
        reached(FUNCTIONS[name].kernel)
    assert len(reached(uncompiled(FUNCTIONS[name].kernel))) >= 3


def test_compiled_kernels_stay_compiled():
    """uncompiled() changes neither the kernel nor its module."""
    before = dict(vars(forward))
    function = substep.py_func
    assert isinstance(substep, COMPILED)
    made = uncompiled(substep)
    assert made is uncompiled(substep) is uncompiled(function) is uncompiled(made)
    assert made is not function
    assert made.__globals__ is not function.__globals__
    assert isinstance(function.__globals__["smooth_stages"], COMPILED)
    assert not isinstance(made.__globals__["smooth_stages"], COMPILED)
    assert made.__globals__["smooth_stages"] is uncompiled(function.__globals__["smooth_stages"])
    assert dict(vars(forward)) == before


def test_functions_may_call_each_other():
    made = uncompiled(even)
    assert made.__globals__["odd"].__globals__["even"] is made
    ours, theirs = np.zeros(2), np.zeros(2)
    made(7, ours)
    even(7, theirs)
    assert ours.tolist() == theirs.tolist() == [4.0, 4.0]


def test_functions_that_are_not_kernels_are_returned_unchanged():
    assert uncompiled(np.sin) is np.sin
    assert uncompiled(len) is len
    assert uncompiled(abs) is abs


def test_uncompiled_functions_keep_defaults_and_closures():
    factor = 3.0

    @numba.njit
    def inner(x):
        return factor * x

    def outer(x, y=2.0, *, z=1.0):
        return inner(x) + y + z

    made = uncompiled(outer)
    assert made(1.0) == outer(1.0) == 6.0
    assert made(1.0, 5.0, z=4.0) == 12.0
    assert not any(isinstance(cell.cell_contents, COMPILED) for cell in made.__closure__)
    assert isinstance(outer.__closure__[0].cell_contents, COMPILED)


def test_kernels_in_python_give_the_results_of_compiled_kernels():
    """The kernel is a step of a pendulum."""
    builder = rb.SystemBuilder("pendulum").body("a", specialised_models.BODY)
    m = rb.build(builder.joint("j", "revolute", "base", "a", axis=(0, 1, 0), damping=0.3))
    d = specialised.random_data(m, 1, seed=41)[0]
    ours, theirs = d.copy(), d.copy()
    uncompiled(substep)(m, ours)
    substep(m, theirs)
    assert ours.qvel == pytest.approx(theirs.qvel, rel=1e-13)
    assert ours.qpos == pytest.approx(theirs.qpos, rel=1e-13)


def test_threads_see_only_complete_functions():
    """A thread never gets a function that another thread is still building."""
    code = """
import sys, threading
sys.setswitchinterval(1e-5)
import rbdyn_ros as rb
from rbdyn_ros.specialization.functions import traced
m = rb.load_urdf("config/robots/pendulum.urdf")
failed = []
def trace():
    try:
        traced(m.replaced(), "step")
    except Exception as error:
        failed.append(error)
threads = [threading.Thread(target=trace) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failed, failed
"""
    root = Path(rb.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
