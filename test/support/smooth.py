# SPDX-License-Identifier: Apache-2.0
"""Models with the smooth law of friction and limits, to compare with code without the exact law.

Specialised code, rollouts, generated C, derivatives, MuJoCo's limit springs and closed forms of
viscous friction do not have the exact law.
"""

import numpy as np


def smoothly(m):
    """Set the smooth law of friction and limits in a Model; return the Model."""
    m.opt.exact_stops = False
    return m


def with_soft_limits(m):
    """Return a Model whose limits have a time constant of 20 ms.

    Forces of stiffer limits would hide the other terms and magnify the rounding of positions.
    """
    return m.replaced(jnt_solref=np.tile([0.02, 1.0], (m.njnt, 1)))
