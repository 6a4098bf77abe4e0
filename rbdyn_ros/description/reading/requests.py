# SPDX-License-Identifier: Apache-2.0
"""Limits of requests from other processes: they cannot run xacro or learn the content of files.

A service that reads files for other processes does so inside `for_others`. Readers record the
files that they open, so that error messages of the service can leave out their content.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_OPENED: ContextVar[list[Path] | None] = ContextVar("opened", default=None)


@contextmanager
def for_others() -> Iterator[list[Path]]:
    """Yield a list of the files that are read for another process while the block runs."""
    opened: list[Path] = []
    token = _OPENED.set(opened)
    try:
        yield opened
    finally:
        _OPENED.reset(token)


def is_for_others() -> bool:
    """Return whether files are read for another process."""
    return _OPENED.get() is not None


def note_opened(path: Path) -> None:
    """Record a file that a reader opens."""
    opened = _OPENED.get()
    if opened is not None:
        opened.append(path)
