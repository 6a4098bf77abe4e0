# SPDX-License-Identifier: Apache-2.0
"""An OpenGL context without a display: moderngl through EGL."""

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdyn_ros.errors import Finding, ParameterError

if TYPE_CHECKING:
    from typing_extensions import Self

INSTALL = 'pip install "rbdyn_ros[camera]"'


class OffScreen:
    """Base of classes with their own OpenGL context; only the thread that made them may draw.

    Close it, or use it in a `with` block: it holds 20 MB of memory or more.

    Raises:
        ParameterError: nothing can be drawn on this machine; the message says what is missing.
    """

    def __init__(self) -> None:
        self._context = make_context()
        self._gl = importlib.import_module("moderngl")

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the memory of the pictures; nothing can be drawn afterwards."""
        self._context.release()


def make_context() -> Any:
    """Return an OpenGL context for the calling thread; no other thread may use it.

    Raises:
        ParameterError: moderngl is not installed, or this machine has no EGL.
    """
    try:
        moderngl = importlib.import_module("moderngl")
    except ImportError as error:
        raise _missing(f"moderngl is not installed: {INSTALL}") from error
    try:
        return moderngl.create_context(standalone=True, backend="egl", require=330)
    except Exception as error:
        raise _missing(
            f"EGL gives no OpenGL 3.3 ({error}); on Debian and Ubuntu: "
            "apt install libegl1 libgl1-mesa-dri, which needs neither a display nor a GPU"
        ) from error


def square(context: Any, program: Any, name: str) -> Any:
    """Return two triangles (a strip) that cover the whole picture.

    `name` is the input of the program for the corners.
    """
    corners = np.array([-1, -1, 1, -1, -1, 1, 1, 1], np.float32)
    return context.vertex_array(program, [(context.buffer(corners.tobytes()), "2f", name)])


def check_size(context: Any, width: int, height: int) -> None:
    """Raise ParameterError if a picture is larger than this machine can draw."""
    info = context.info
    largest = min(
        info["GL_MAX_RENDERBUFFER_SIZE"],
        info["GL_MAX_TEXTURE_SIZE"],
        *info["GL_MAX_VIEWPORT_DIMS"],
    )
    if max(width, height) > largest:
        text = (
            f"the picture has {width} x {height} pixels; this machine's OpenGL draws at most "
            f"{largest} in a row or column"
        )
        raise ParameterError(Finding("bad-argument", text, "error", "width"))


def _missing(reason: str) -> ParameterError:
    text = f"pictures cannot be drawn: {reason}"
    return ParameterError(Finding("no-renderer", text, "error", "renderer"))
