# SPDX-License-Identifier: Apache-2.0
"""`python parse_once.py GENERATOR ARGUMENTS`: run a generator of rosidl, with files parsed once.

All generators of a package read the same files, and parsing takes half of their time.
"""

import pickle
import runpy
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rosidl_parser import parser
from rosidl_parser.definition import IdlFile, IdlLocator


def parse_once(parse: Callable[..., IdlFile]) -> Callable[..., IdlFile]:
    """Return a function that stores what `parse` returns beside the parsed file."""

    def parse_stored(locator: IdlLocator) -> IdlFile:
        path = locator.get_absolute_path()
        stored = path.with_suffix(".parsed")
        if not stored.exists():
            # generators run at the same time, and none may read half a file
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                pickle.dump(parse(locator).content, file)
            Path(file.name).replace(stored)
        return IdlFile(locator, pickle.loads(stored.read_bytes()))  # noqa: S301 - of this build

    return parse_stored


if __name__ == "__main__":
    parser.parse_idl_file = parse_once(parser.parse_idl_file)
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).parent)  # as if Python ran the generator itself
    runpy.run_path(sys.argv[0], run_name="__main__")
