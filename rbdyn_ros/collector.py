# SPDX-License-Identifier: Apache-2.0
"""Pause the garbage collector while many lasting objects are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected(*, lasting: bool = False) -> Iterator[None]:
    """Pause the garbage collector until the end of the block, if it was on.

    Args:
        lasting: whether to put the objects made in the block into the oldest generation, so that
            the collector rarely visits them.
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
