# SPDX-License-Identifier: Apache-2.0
"""A hash of Python sources that changes with their code, not with comments and docstrings."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from pathlib import Path

from rbdyn_ros.engine.compiler import cache


def sources_hash(sources: Iterable[Path], folder: Path) -> bytes:
    """Return the hash of the syntax trees of some files.

    Parsing the engine takes 0.7 s, so the result is stored in `folder` under the hash of the
    files' texts.
    """
    texts = [source.read_bytes() for source in sorted(sources)]
    known = folder / hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]
    found = cache.read(known)
    if found is None:
        found = hashlib.sha256("\n".join(map(_syntax, texts)).encode()).digest()
        cache.write(known, found)
    return found


def _syntax(text: bytes) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() if _documented(node):
                del node.body[0]
    return ast.dump(tree)


def _documented(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> bool:
    return ast.get_docstring(node, clean=False) is not None
