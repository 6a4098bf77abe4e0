# SPDX-License-Identifier: Apache-2.0
"""Compile the generated C code of a robot, and call its functions with NumPy arrays."""

import ctypes

import numpy as np

from rbdyn_ros.codegen.folder import write
from rbdyn_ros.codegen.functions import Wanted, c_functions
from rbdyn_ros.codegen.project import CProject
from rbdyn_ros.codegen.table import length_of
from rbdyn_ros.specialization.languages.c_language import DOUBLE
from support.c_compilers import STRICT, run


def code_of(m, *functions, real=DOUBLE, prefix="robot", **more):
    """Return generated C code of functions of a robot; `more` are further arguments of Wanted."""
    return CProject(m, prefix, real, c_functions(m, Wanted(functions, **more)))


class Library:
    """Generated C code, compiled to a library without a warning.

    Args:
        code: the generated code.
        compiler: name of the compiler.
        folder: folder for the files.
        more: further arguments of the compiler.
    """

    def __init__(self, code, compiler, folder, *more):
        write(code, folder)
        source, library = folder / f"{code.prefix}_dynamics.c", folder / "library.so"
        run(compiler, *STRICT, *more, "-fPIC", "-shared", source, "-lm", "-o", library)
        self.code, self.compiled = code, ctypes.CDLL(str(library))
        self.functions = {function.name: function for function in code.functions}
        self.kind = code.real.info.dtype

    def call(self, name, given, same=()):
        """Return the outputs of a C function by their C names.

        Args:
            name: name of the function.
            given: arrays by name; arrays that are not inputs are ignored.
            same: C names of outputs; output k shares the memory of input k.
        """
        function, m = self.functions[name], self.code.m
        inputs = [np.array(given[a.array], self.kind).ravel() for a in function.inputs]
        outputs = {a.name: np.full(length_of(a, m), np.nan, self.kind) for a in function.outputs}
        for place, output in enumerate(same):
            outputs[output] = inputs[place]
        arrays = [*inputs, *outputs.values()]
        entry = getattr(self.compiled, f"{self.code.prefix}_{name}")
        entry(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        return outputs
