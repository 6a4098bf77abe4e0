# SPDX-License-Identifier: Apache-2.0
"""Pause the garbage collector while many objects are made that stay in use."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected(*, lasting: bool = False) -> Iterator[None]:
    """Pause the garbage collector until the end of the block, if it was on.

    Args:
        lasting: whether objects made in the block go to the oldest generation without a search.
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
