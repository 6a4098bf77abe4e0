# SPDX-License-Identifier: Apache-2.0
"""Run the stages as plain Python on numbers or symbols; this needs NUMBA_DISABLE_JIT=1.

    python -m support.plain_python numbers|symbols MODEL_AND_DATA.pickle RESULT.pickle

The result maps the name of a stage to the buffer of the stage's Data, or to the text of an error.
"""

import math
import pickle
import sys
import types
from pathlib import Path

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.dynamics import stages
from rbdyn_ros.engine.compiler.jit import DISABLED
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.model_fields import DATA_STAGES

SMOOTH = (
    "kinematics", "com_pos", "com_vel", "passive", "bias_force", "rne", "crb", "aba", "inverse",
)  # fmt: skip
OTHERS = ("factor_m", "energy", "forward", "forward_dynamics", "step")


class Symbol:
    """A value whose operations return Symbols, and which cannot be converted to a number."""

    count = 0

    def __init__(self, value):
        self.hidden = value
        Symbol.count += 1

    def __bool__(self):
        raise TypeError("a branch depends on data")

    def __float__(self):
        raise TypeError("a symbol has no number")

    __index__ = __int__ = __float__

    def __neg__(self):
        return Symbol(-self.hidden)

    def select(self, yes, no):
        return Symbol(hidden(yes) if self.hidden else hidden(no))

    def sin(self):
        return Symbol(math.sin(self.hidden))

    def cos(self):
        return Symbol(math.cos(self.hidden))

    def sqrt(self):
        return Symbol(math.sqrt(self.hidden))


def hidden(x):
    return x.hidden if isinstance(x, Symbol) else x


def _operation(name):
    def apply(self, other):
        return Symbol(getattr(np.float64(self.hidden), name)(hidden(other)))

    return apply


for _name in ("add", "sub", "mul", "truediv"):
    setattr(Symbol, f"__{_name}__", _operation(f"__{_name}__"))
    setattr(Symbol, f"__r{_name}__", _operation(f"__r{_name}__"))
for _name in ("lt", "gt", "le", "ge", "eq", "ne"):
    setattr(Symbol, f"__{_name}__", _operation(f"__{_name}__"))


def run(m, d, name):
    if name == "step":
        rb.step(m, d, 3)
    elif name in ("crb", "factor_m"):
        getattr(stages, name)(m, d)
    else:
        getattr(rb, name)(m, d)


def on_symbols(m, d, name):
    """Run a stage on a copy of d with Symbols instead of numbers; return the copy's buffer."""
    s = types.SimpleNamespace(model=m, **{name: getattr(d, name) for name in DATA_STAGES})
    for field in DATA_FIELDS:
        if field.inside:
            setattr(s, field.name, getattr(s, field.inside)[: len(getattr(d, field.name))])
            continue
        array = np.array(getattr(d, field.name), object)
        setattr(s, field.name, array if field.dims else Symbol(float(array)))
        for index in np.ndindex(array.shape) if field.dims else ():
            array[index] = Symbol(array[index])
    run(m, s, name)
    for field in DATA_FIELDS:
        if field.dims:
            getattr(d, field.name)[...] = np.vectorize(hidden, otypes=[float])(
                getattr(s, field.name)
            )


def main(kind, source, result):
    assert DISABLED, "NUMBA_DISABLE_JIT is not set"
    results = {}
    for name in SMOOTH + (OTHERS if kind == "numbers" else ()):
        m, d = pickle.loads(Path(source).read_bytes())
        rb.forward(m, d)  # compute the results of earlier stages that a stage needs
        rb.factor_m(m, d)
        before = Symbol.count
        try:
            (run if kind == "numbers" else on_symbols)(m, d, name)
            results[name] = d.buffer
        except TypeError as error:
            results[name] = str(error)
        if kind == "symbols":
            assert Symbol.count > before
    Path(result).write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
