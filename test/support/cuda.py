# SPDX-License-Identifier: Apache-2.0
"""Compile GPU code for this machine's processor, and call its kernels with NumPy arrays."""

import ctypes
import functools
import shutil
import subprocess
import tempfile
import types
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import rbdyn_ros as rb
from rbdyn_ros.rollouts import cuda
from rbdyn_ros.rollouts.gpu import Launch
from support.robots import find

ROBOTS = {
    "UR5": ("ur5_robot.urdf", False),
    "Panda": ("panda.urdf", False),
    "Go2": ("go2.urdf", True),
}

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")


@functools.cache
def load(name):
    """Return the Model of a robot of ROBOTS by its name."""
    file, floating = ROBOTS[name]
    return rb.load_urdf(find(file), floating_base=floating, strict=False)


def cupy_or_skip():
    """Return CuPy, or skip the test."""
    cupy = pytest.importorskip("cupy")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"there is no GPU: {error}")
    return cupy


@pytest.fixture(params=["processor", "GPU"])
def gpu(request, monkeypatch):
    """Return CuPy, or run device="cuda" on the processor and return functions as in CuPy.

    The processor runs the same driver and the same kernels, which g++ compiles.
    """
    if request.param == "GPU":
        return cupy_or_skip()
    if shutil.which("g++") is None:
        pytest.skip("there is no g++")
    monkeypatch.setattr(cuda, "Gpu", HostGpu)
    return HostGpu().arrays


def assert_same(gpu, b, g, names=("time", "qpos", "qvel", "nbad", "diverged")):
    """Check that arrays of Batch b on a CPU equal arrays of Batch g on a GPU."""
    for name in names:
        found = gpu.asnumpy(getattr(g, name))
        assert found.shape == getattr(b, name).shape
        assert np.array_equal(found, getattr(b, name), equal_nan=True), name


def compiled_by_nvcc(text, folder, processor):
    """Return nvcc's report on compiled code: its registers, spills and local memory."""
    code = folder / "code.cu"
    code.write_text(text)
    words = [
        "nvcc", f"-arch={processor}", "-std=c++17", "-fmad=false", "-Xptxas=-v", "-cubin", "-o",
        folder / "code.cubin", code,
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


class Apart(np.ndarray):
    """An array that refuses operations with arrays of NumPy, as CuPy's arrays do."""

    def __getitem__(self, at):
        _check_apart(at)
        return super().__getitem__(at)

    def __setitem__(self, at, value):
        _check_apart(at, value)
        super().__setitem__(at, value)

    def __array_ufunc__(self, function, method, *given, **more):
        _check_apart(*given)
        known = [np.asarray(x) if isinstance(x, Apart) else x for x in given]
        out = {"out": tuple(np.asarray(x) for x in more["out"])} if "out" in more else {}
        return np.asarray(getattr(function, method)(*known, **{**more, **out})).view(Apart)


def _check_apart(*given):
    for x in given:
        if type(x) is np.ndarray and x.ndim > 0:
            raise TypeError("an array of NumPy is mixed with an array of a GPU")
        if type(x) is tuple:
            _check_apart(*x)


def _asarray(x):
    """Return a copy of x as an Apart; refuse Python objects, as CuPy does."""
    if np.array(x).dtype == object:
        raise ValueError("an array of a GPU cannot hold Python objects")
    return np.array(x).view(Apart)


class HostGpu:
    """A gpu.Gpu that uses the memory and the processor of this machine.

    g++ compiles the kernels, and equal code uses the same library again.
    """

    _libraries: ClassVar = {}

    def __init__(self):
        self.arrays = types.SimpleNamespace(
            asarray=_asarray, ndarray=Apart,
            asnumpy=np.array, zeros=lambda *shape: np.zeros(*shape).view(Apart),
            flatnonzero=lambda x: np.flatnonzero(np.asarray(x)).view(Apart),
        )  # fmt: skip

    def zeros(self, what, shape, number):  # noqa: ARG002 - the memory is large enough
        return self.arrays.zeros(shape, number)

    def on_host(self, values):
        return np.array(values)

    def compiled(self, text, names):
        if text not in self._libraries:
            self._libraries[text] = compiled_for_host(text)
        library = self._libraries[text]
        return [Launch(functools.partial(_call, library, name), 255, 0) for name in names]

    def __str__(self):
        return "this processor"


def compiled_for_host(text):
    """Return the functions of a file of kernels as a library of this processor."""
    with tempfile.TemporaryDirectory() as folder:
        code, library = Path(folder, "code.cpp"), Path(folder, "code.so")
        code.write_text(text)
        words = [
            "g++", "-std=c++17", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror",
            "-Wno-unused-parameter", "-Wno-unused-function", "-Wno-unused-variable",
            "-shared", "-fPIC", "-o", library, code,
        ]  # fmt: skip
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr[:4000]
        return ctypes.CDLL(str(library))


def _call(library, name, *given):
    """Call a kernel; its arguments are integers, arrays, and None for null pointers."""
    getattr(library, name)(*map(_argument, given))


def _argument(x):
    if x is None:
        return None
    return ctypes.c_void_p(x.ctypes.data) if isinstance(x, np.ndarray) else ctypes.c_longlong(x)
