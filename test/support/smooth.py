"""The smooth law of dry friction and limits, for comparisons with what has no other law.

Specialised code, rollouts, generated C, derivatives, MuJoCo's springs of limits and closed forms
of viscous friction know no exact stops.
"""


def smoothly(m):
    """Give a Model the smooth law, and return it."""
    m.opt.exact_stops = False
    return m
