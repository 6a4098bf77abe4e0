# SPDX-License-Identifier: Apache-2.0
"""Rows of constraint equations: wrenches on bodies, their rates and accelerations."""

from __future__ import annotations

import numpy as np

from rbdyn_ros.engine.algebra.spatial import add3, cross3, dot6, load3, load6, sub3
from rbdyn_ros.engine.compiler.jit import inline, kernel
from rbdyn_ros.engine.joints.follow import is_driven
from rbdyn_ros.model.tree.constraints import ROLL_ROWS


@inline
def length_rows(m):
    """Return the number of the first length equation; equations of loop joints come before it."""
    return gear_rows(m) - m.nlength


@inline
def gear_rows(m):
    """Return the number of the first gear equation."""
    return roll_rows(m) - m.ngear


@inline
def roll_rows(m):
    """Return the number of the first equation of rolling bodies; each body has three."""
    return m.nefc - ROLL_ROWS * m.nroll


@kernel
def clear(m, d):
    """Set efc_pos, efc_vel, efc_aref and efc_wrench to zero."""
    for r in range(m.nefc):
        d.efc_pos[r] = d.efc_vel[r] = d.efc_aref[r] = 0.0
    for w in range(m.nwrench):
        for n in range(6):
            d.efc_wrench[w, n] = 0.0


@inline
def attach(m, d, r, w, body, x, n, f):
    """Add wrench w to equation r: the moment n and force f on a body, at the world point x.

    The power of the wrench is added to efc_vel. Its product with the acceleration of the body at
    qacc = 0 is subtracted from efc_aref.
    """
    arm = sub3(x, load3(d.subtree_com, m.body_rootid[body]))
    t = add3(n, cross3(arm, f))
    W = (t[0], t[1], t[2], f[0], f[1], f[2])
    for c in range(3):
        d.efc_wrench[w, c] += t[c]
        d.efc_wrench[w, 3 + c] += f[c]
    d.efc_vel[r] += dot6(W, load6(d.cvel, body))
    d.efc_aref[r] -= dot6(W, load6(d.cacc_bias, body))


@kernel
def add_to_row(m, d, r, body, W):
    """Add the wrench W on a body to row r of efc_J; keep the row's largest term in row_terms."""
    n2, f2 = _square(W, 0), _square(W, 3)
    while body > 0:
        j = body - 1
        first = m.jnt_dofadr_all[j]
        for k in range(first, first + m.jnt_dofnum[j]):
            if is_driven(m, k):
                continue
            S = load6(d.cdof_all, k)
            ratio = 1.0 if k < m.nv else m.jnt_mimic_ratio[j]
            place = k if k < m.nv else m.jnt_dofadr[j]
            d.efc_J[r, place] += ratio * dot6(S, W)
            terms = abs(ratio) * np.sqrt(_square(S, 0) * n2 + _square(S, 3) * f2)
            d.row_terms[r] = max(d.row_terms[r], terms)
        body = m.body_parentid[body]


@inline
def _square(s, i):
    return s[i] * s[i] + s[i + 1] * s[i + 1] + s[i + 2] * s[i + 2]
