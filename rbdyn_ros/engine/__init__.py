"""The simulation engine: Numba kernels of (m, d). This folder holds the tick of a tree."""
