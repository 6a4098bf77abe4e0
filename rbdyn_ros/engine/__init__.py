"""How robots move: Numba kernels of (m, d). Here is the tick of a plain tree."""
