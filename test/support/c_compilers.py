# SPDX-License-Identifier: Apache-2.0
"""The C compilers of this machine with strict options, and libraries that they build."""

import ctypes
import shutil
import subprocess

import pytest

STRICT = (
    "-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-Wdouble-promotion",
    "-Wshadow", "-Wmissing-prototypes", "-Wstrict-prototypes",
)  # fmt: skip

COMPILERS = [
    pytest.param(
        name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"there is no {name}")
    )
    for name in ("gcc", "clang")
]

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")


def run(*words):
    """Run a program and return its output; fail with the output on an error or a warning."""
    done = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def compiled(compiler, text, folder, *more):
    """Compile a source without a warning; return the library."""
    source, library = folder / "source.c", folder / "library.so"
    source.write_text(text)
    run(compiler, *STRICT, *more, "-O1", "-fPIC", "-shared", source, "-lm", "-o", library)
    return ctypes.CDLL(str(library))
