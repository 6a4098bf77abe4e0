# SPDX-License-Identifier: Apache-2.0
"""Imports lead only to lower layers (docs/explanation/architecture.md), without cycles."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

grimp = pytest.importorskip("grimp")


def circles(graph):
    """Return the cycles of imports, which are strongly connected components (Tarjan, 1972)."""
    index, low, stack, found = {}, {}, [], []

    def visit(module):
        index[module] = low[module] = len(index)
        stack.append(module)
        for imported in graph.find_modules_directly_imported_by(module):
            if imported not in index:
                visit(imported)
                low[module] = min(low[module], low[imported])
            elif imported in stack:
                low[module] = min(low[module], index[imported])
        if low[module] == index[module]:
            cut = stack.index(module)
            if len(stack) - cut > 1:
                found.append(sorted(stack[cut:]))
            del stack[cut:]

    for module in sorted(graph.modules):
        if module not in index:
            visit(module)
    return found


def test_no_module_imports_itself_through_other_modules():
    """An import only for type checkers also counts as an import."""
    graph = grimp.build_graph("rbdyn_ros", cache_dir=None)
    assert len(graph.modules) > 300
    assert circles(graph) == []


def test_circles_finds_circular_imports():
    graph = grimp.ImportGraph()
    for importer, imported in (("a", "b"), ("b", "c"), ("c", "b")):
        graph.add_import(importer=importer, imported=imported)
    assert circles(graph) == [["b", "c"]]


def test_folders_import_from_lower_layers_only():
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_two_classes_of_the_package_have_different_names():
    """The textbook may repeat names, because it repeats the mechanics (CONTRIBUTING, Names)."""
    places = {}
    for path in sorted((ROOT / "rbdyn_ros").rglob("*.py")):
        if "textbook" not in path.parts:
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
