# SPDX-License-Identifier: Apache-2.0
"""The smooth law of dry friction and limits, for comparisons with engines that have only this law.

Specialised code, rollouts, generated C, derivatives, MuJoCo's limit springs and closed forms of
viscous friction do not have the exact law.
"""

import numpy as np


def smoothly(m):
    """Give a Model the smooth law, and return it."""
    m.opt.exact_stops = False
    return m


def with_soft_limits(m):
    """Return a Model with limits of 20 ms.

    Forces of stiffer limits would hide the other terms and magnify the rounding of positions.
    """
    return m.replaced(jnt_solref=np.tile([0.02, 1.0], (m.njnt, 1)))
