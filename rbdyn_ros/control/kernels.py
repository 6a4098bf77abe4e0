"""Compilation of the kernels of control, cached in a folder of their own below the engine's."""

from __future__ import annotations

from pathlib import Path

from rbdyn_ros.engine import jit

_FOLDER = Path(__file__).parent
CACHE_DIRECTORY = jit.cache_below(
    "control", [*_FOLDER.glob("*.py"), _FOLDER.parent / "dynamics" / "laws.py"]
)

kernel = jit.kernels_in(CACHE_DIRECTORY)
