# SPDX-License-Identifier: Apache-2.0
"""With NUMBA_BOUNDSCHECK=1 every index error in compiled code makes a test fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

OUTSIDE = """
from numba import types
from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.engine.compiler.stack import stack_floats

def entry_of(k):
    return stack_floats(3, 1)[k, 0]

def test_outside():
    jit.callback(entry_of, types.float64(types.int64), "").ctypes({index})
"""


@pytest.mark.parametrize(("index", "failed"), [(2, 0), (3, 1), (-1, 1)])
def test_an_index_error_in_code_called_by_address_is_reported(tmp_path, index, failed):
    file = tmp_path / "test_outside.py"
    file.write_text(OUTSIDE.format(index=index))
    options = ("-q", "-p", "support.bounds", "-p", "no:cacheprovider", "--rootdir", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(file)],
        cwd=TESTS.parent,
        env={**os.environ, "NUMBA_BOUNDSCHECK": "1", "PYTHONPATH": f"{TESTS.parent}:{TESTS}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == failed, done.stdout
    assert failed == 0 or "IndexError" in done.stdout
