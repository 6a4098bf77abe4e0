# SPDX-License-Identifier: Apache-2.0
"""Check whether this machine can draw pictures."""

import importlib.util

import pytest

import rbdyn_ros as rb
from rbdyn_ros.view.render import context


def can_draw():
    """Return whether moderngl can create a context."""
    if importlib.util.find_spec("moderngl") is None:
        return False
    try:
        context.make_context().release()
    except rb.ParameterError:
        return False
    return True


needs_renderer = pytest.mark.skipif(not can_draw(), reason="moderngl or EGL is not installed")
