# SPDX-License-Identifier: Apache-2.0
"""Print the test files that a change affects: python tools/affected.py [BASE].

A test file is affected if the file itself, or a file that it needs, differs from the merge base
with BASE or is not committed. A Python file needs

- the modules that it imports, and the modules of the names that it uses from `rb`;
- the modules that its strings name, for tests that start processes;
- the other files of the repository that its strings name, such as a page, a robot or a launch
  file, and for a test all files of a folder that a string names, such as docs;
- the other files of its own folder and of the folders below, in the package;
- for a test, each conftest.py above it, and the nodes that the tests of its folder start.

Docstrings are not read as strings. The code of pages and examples is not followed because
test/docs runs it. A file that imports a module of a package does not need the other modules that
the __init__.py of the package imports.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Folders that a string can name as a whole.
FOLDERS = ("config", "docs", "examples", "launch", "rbdyn_hardware", "rbdyn_interfaces")
#: The nodes that the tests of a folder start.
SIMULATOR, ARM = "rbdyn_ros.ros.simulator.node", "rbdyn_ros.ros.arm.node"
NODES = {
    "test/ros/simulator/": {SIMULATOR},
    "test/ros/arm/": {SIMULATOR, ARM},
    "test/launch/": {SIMULATOR, ARM},
}
#: Folders that are on sys.path, besides the root.
PATHS = ("test", "tools")
_WORD = re.compile(r"[\w./-]+")
_MODULE = re.compile(r"\brbdyn_ros(?:\.\w+)+")


def main(base: str = "main") -> None:
    """Print the test files that the changes since the merge base with `base` affect."""
    print("\n".join(sorted(reached(changed(base)))))


def changed(base: str) -> set[str]:
    """Return the files that differ from the merge base with a commit, or are not committed."""
    start = _git("merge-base", base, "HEAD").strip()
    listed = _git("diff", "--name-only", start), _git("ls-files", "--others", "--exclude-standard")
    return {name for names in listed for name in names.splitlines()}


def reached(names: set[str]) -> set[str]:
    """Return the test files that need at least one of the named files."""
    tests = {name for name in python_files() if Path(name).name.startswith("test_")}
    return {test for test in tests if needed(test) & names}


def needed(name: str) -> set[str]:
    """Return a file and all files that it needs, directly or through other files."""
    found, waiting = {name}, [name]
    while waiting:
        for other in needs(waiting.pop()) - found:
            found.add(other)
            waiting.append(other)
    return found


@cache
def needs(name: str) -> frozenset[str]:
    """Return the files that a Python file needs directly."""
    if not name.endswith(".py") or name.endswith("conftest.py") or name.startswith("examples/"):
        return frozenset()
    nodes = list(ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))))
    texts = list(_texts(nodes))
    named = {module for text in texts for module in _MODULE.findall(text)}
    for folder, started in NODES.items():
        named |= started if name.startswith(folder) else set()
    found = {file for x in (*_imported(nodes), *_public(nodes), *named) for file in _files_of(x)}
    words = {word.rpartition("/")[2] for text in texts for word in _WORD.findall(text)}
    found |= {file for word in words for file in files_by_name().get(word, ())}
    folders = tuple(f"{text}/" for text in texts if text in FOLDERS and name.startswith("test/"))
    found |= {file for file in (tracked() if folders else ()) if file.startswith(folders)}
    found |= {f"{folder}/conftest.py" for folder in Path(name).parents} & set(python_files())
    if name.startswith("rbdyn_ros/") and name.count("/") > 1:
        own = f"{Path(name).parent}/"
        found |= {x for x in other_files() if x.startswith(own)}
    return frozenset(found)


def _imported(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the imported modules, and each imported name as if it were a module."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _public(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the modules of the public names that a file uses from `rb`."""
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id="rb"), attr=name) if name in public_names():
                yield f"{public_names()[name]}.{name}"


def _texts(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the strings of a file, but not its docstrings."""
    statements = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and node not in statements:
            yield text


def _files_of(module: str) -> Iterator[str]:
    """Yield the file of the longest prefix of a dotted name that is a module, if there is one."""
    while module:
        file = modules().get(module)
        if file is not None:
            yield file
            return
        module = module.rpartition(".")[0]


@cache
def public_names() -> dict[str, str]:
    """Return the module of each name of `rb`."""
    stub = ast.parse((ROOT / "rbdyn_ros/__init__.pyi").read_text(encoding="ascii"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


@cache
def tracked() -> list[str]:
    names = _git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    return [name for name in names if (ROOT / name).is_file()]


@cache
def python_files() -> list[str]:
    return [name for name in tracked() if name.endswith(".py")]


@cache
def other_files() -> list[str]:
    return [name for name in tracked() if not name.endswith(".py")]


@cache
def modules() -> dict[str, str]:
    """Return the file of each module, by its dotted names."""
    found = {}
    for name in python_files():
        path = Path(name).with_suffix("")
        parts = path.parts[:-1] if path.name == "__init__" else path.parts
        found[".".join(parts)] = name
        if parts[:1] and parts[0] in PATHS:
            found[".".join(parts[1:])] = name
        if parts[:1] == ("test",) and "__init__" not in path.name:
            found.setdefault(path.name, name)  # pytest puts the folder of a test on sys.path
    return found


@cache
def files_by_name() -> dict[str, list[str]]:
    """Return the files outside the Python package by name; robots also without suffix."""
    found: dict[str, list[str]] = {}
    for name in tracked():
        path = Path(name)
        if path.suffix == ".py" and path.parts[0] in ("rbdyn_ros", "test"):
            continue
        for key in {path.name, path.stem if "robots" in path.parts else path.name}:
            found.setdefault(key, []).append(name)
    return found


def _git(*words: str) -> str:
    return subprocess.run(
        ("git", *words), cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
