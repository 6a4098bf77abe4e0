"""How the kernels of control are compiled: as the engine's, in a cache of their own below its."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from rbdyn_ros.engine import jit

P = ParamSpec("P")
R = TypeVar("R")

CACHE_DIRECTORY = jit.cache_below("control", Path(__file__).parent.glob("*.py"))


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function; like every kernel it allocates nothing and releases the GIL."""
    return jit.compile_cached(function, jit.OPTIONS, CACHE_DIRECTORY)
