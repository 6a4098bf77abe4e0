# SPDX-License-Identifier: Apache-2.0
"""Pause the garbage collector while many objects are made that do not become garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected(*, lasting: bool = False) -> Iterator[None]:
    """Let the garbage collector wait for the end of the block, if it runs.

    Args:
        lasting: objects of the block join the oldest generation unsearched.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            if lasting and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
