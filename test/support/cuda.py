# SPDX-License-Identifier: Apache-2.0
"""GPU code compiled for this machine's processor: kernels as functions of NumPy arrays."""

import ctypes
import functools
import shutil
import subprocess

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.rollouts.cuda import kernels_of
from rbdyn_ros.rollouts.params import model_array, open_places
from rbdyn_ros.specialization.languages.c_language import DOUBLE, FLOAT
from rbdyn_ros.specialization.languages.cuda_code import LONGEST_FUNCTION, source
from support.robots import find

ROBOTS = {
    "UR5": ("ur5_robot.urdf", False),
    "Panda": ("panda.urdf", False),
    "Go2": ("go2.urdf", True),
}
REALS = {np.float64: DOUBLE, np.float32: FLOAT}

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")


@functools.cache
def load(name):
    """Return a Model of ROBOTS."""
    file, floating = ROBOTS[name]
    return rb.load_urdf(find(file), floating_base=floating, strict=False)


def gpu():
    """Return CuPy, or skip the test."""
    cupy = pytest.importorskip("cupy")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"there is no GPU: {error}")
    return cupy


def compiled_by_nvcc(text, folder, processor):
    """Return the report of nvcc on the code: registers, spills and local memory."""
    code = folder / "code.cu"
    code.write_text(text)
    words = [
        "nvcc", f"-arch={processor}", "-std=c++17", "-fmad=false", "-Xptxas=-v", "-cubin", "-o",
        folder / "code.cubin", code,
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def compiled_for_host(kernels, real, folder):
    """Return kernels as a library of this processor."""
    code, library = folder / "code.cpp", folder / "code.so"
    code.write_text(source(kernels, real))
    words = [
        "g++", "-std=c++17", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror",
        "-Wno-unused-parameter", "-Wno-unused-function", "-Wno-unused-variable",
        "-shared", "-fPIC", "-o", library, code,
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[:4000]
    return ctypes.CDLL(str(library))


def call(library, name, *given):
    """Call a kernel with integers, arrays, and None for null pointers."""
    getattr(library, name)(*map(_argument, given))


class HostBatch:
    """A batch of robots with GPU code that runs on the processor; arrays have shape (..., nsim).

    Args:
        m: the Model.
        nsim: number of robots.
        folder: folder for the files.
        bound: fields of Data that have arrays, besides the state and qfrc_applied.
        expanded: fields of the Model of which each robot has its own.
        number: type of the numbers.
        longest: operations of the longest program that is compiled as one function.
    """

    def __init__(
        self, m, nsim, folder, bound=(), expanded=(), number=np.float64, longest=LONGEST_FUNCTION
    ):
        own = {name: open_places(m, name).tolist() for name in expanded}
        self.kernels = kernels_of(m, own, ("qfrc_applied", *bound), np.dtype(number), longest)
        self.nsim, self.arrays = nsim, {}
        d_shapes = {"time": (), "qpos": (m.nq,), "qvel": (m.nv,), "qfrc_applied": (m.nv,)}
        for name in bound:
            d_shapes[name] = bound[name]
        for name, shape in d_shapes.items():
            self.arrays[name] = np.zeros((*shape, nsim), number)
        for name in expanded:
            given = np.asarray(model_array(m, name), number)
            self.arrays[name] = np.repeat(given[..., None], nsim, axis=-1)
        self.nbad, self.diverged = np.zeros(nsim, np.int64), np.ones(nsim, np.bool_)
        self._library = compiled_for_host(self.kernels, REALS[number], folder)

    def step(self, nstep=1, ids=None):
        """Advance robots."""
        count = self.nsim if ids is None else len(ids)
        numbers = None if ids is None else np.array(ids, np.int64)
        for kernel in self.kernels:
            integers = (count, numbers, self.nsim, nstep, self.nbad, self.diverged)
            given = (*integers, *(self.arrays[name] for name in kernel.arrays))
            call(self._library, kernel.name, *given)


def _argument(x):
    if x is None:
        return None
    return ctypes.c_longlong(x) if isinstance(x, int) else ctypes.c_void_p(x.ctypes.data)
