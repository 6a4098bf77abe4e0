# SPDX-License-Identifier: Apache-2.0
"""The dof that a coordinate belongs to: its own dof, or the leader's for a mimic joint.

Coordinates are entries of qvel_all. A driven coordinate has no dof: its motion is prescribed.
"""

from __future__ import annotations

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

from rbdyn_ros.engine.compiler.jit import inline
from rbdyn_ros.engine.joints.follow import is_driven


@inline
def acts_on(m, j, c):
    """Return the dof of coordinate c of joint j (-1: driven), and the coordinate's ratio to it."""
    if c < m.nv:
        return c, 1.0
    if is_driven(m, c):
        return -1, 0.0
    return m.jnt_dofadr[j], m.jnt_mimic_ratio[j]


def clear(A):
    """Set a contiguous array to zero before coordinates add to it."""
    A[:] = 0.0


@intrinsic
def _fill_with_zeros(context, A):
    def generate(context, builder, signature, values):
        array = make_array(signature.args[0])(context, builder, values[0])
        size = builder.mul(array.nitems, array.itemsize)
        cgutils.memset(builder, array.data, size, 0)
        return context.get_dummy_value()

    return types.void(A), generate


@overload(clear)
def _clear_compiled(A):
    def compiled(A):
        _fill_with_zeros(A)

    return compiled
