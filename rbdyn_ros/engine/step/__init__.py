"""One timestep: the law of its forces, the integrators, and what it warns of."""
