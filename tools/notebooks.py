# SPDX-License-Identifier: Apache-2.0
"""Write the examples as notebooks.

    python tools/notebooks.py

A notebook has the same contents as its script. The script's docstring is the first text, and the
body of main() is unfolded at the end. Docstrings of functions become texts above them, and so do
comments that begin a paragraph of main(). Command-line options become variables in the first cell
of main(). Pictures and films are shown where they are drawn. Outputs are not stored.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
NOTE = "This notebook shows [`{name}.py`](../{name}.py); `tools/notebooks.py` wrote it."
TEMPORARY = "from tempfile import TemporaryDirectory\n"
SETTINGS = "from types import SimpleNamespace\n"
SHOWING = "from IPython.display import Image\n"
FOLDER = "Path(temporary.name)"


def names() -> list[str]:
    """Return the examples with a notebook: the examples that do not use ROS."""
    with_ros = re.compile(
        r"(?m)^(?:(?:import|from) (?:rclpy|rbdyn_ros\.ros)\b|from rbdyn_ros.gym import NodeEnv)"
    )
    scripts = {path.stem: path.read_text(encoding="ascii") for path in EXAMPLES.glob("*.py")}
    return sorted(name for name, text in scripts.items() if not with_ros.search(text))


def notebook(name: str) -> str:
    """Return the notebook of an example as JSON text."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="ascii")
    cells = []
    for k, (kind, source, tags) in enumerate(_cells(name, text)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{k}", "metadata": {}}
        if tags:
            cell["metadata"]["tags"] = tags
        if kind == "code":
            cell.update(execution_count=None, outputs=[])
        cells.append({**cell, "source": source.splitlines(keepends=True)})
    book = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, sort_keys=True) + "\n"


def _cells(name: str, text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield kind, source and tags of every cell."""
    module, lines = ast.parse(text), text.splitlines()
    yield "markdown", _opening(name, ast.get_docstring(module) or ""), []
    head: list[str] = []
    for node, source in _pieces(module.body[1:], module.body[0].end_lineno or 0, lines):
        if isinstance(node, ast.FunctionDef) and node.name == "main":
            yield "markdown", "## The run", []
            yield from _unfolded(node, lines)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            if head:
                yield "code", _imports("\n".join(head).strip(), text), []
                head = []
            words = ast.get_docstring(node)
            if words:
                yield "markdown", f"### {node.name}\n\n{_prose(words)}", []
            yield "code", _without_docstring(node, source.strip("\n")), []
        elif not isinstance(node, ast.If):  # skip the call of main
            head.append(source)


def _pieces(
    nodes: Sequence[ast.stmt], start: int, lines: list[str]
) -> Iterator[tuple[ast.stmt, str]]:
    """Yield statements and their source, including the comments and blank lines above them."""
    for node in nodes:
        end = node.end_lineno or 0
        yield node, "\n".join(lines[start:end])
        start = end


def _opening(name: str, docstring: str) -> str:
    """Return the first text: title, purpose and source of the notebook."""
    title, _, rest = docstring.partition("\n\n")
    rest = re.sub(r"(?m)^    python examples/.*\n+", "", rest)
    return f"# {title.rstrip('.')}\n\n{rest.strip()}\n\n{NOTE.format(name=name)}"


def _prose(docstring: str) -> str:
    """Return a docstring as Markdown, with its arguments as a list."""
    text, _, arguments = docstring.partition("\nArgs:\n")
    listed = re.sub(r"(?m)^    (\w+): ", r"- `\1`: ", arguments)
    return f"{text}\n{listed}".strip()


def _without_docstring(node: ast.FunctionDef | ast.ClassDef, source: str) -> str:
    if not ast.get_docstring(node):
        return source
    lines, words = source.splitlines(), node.body[0]
    above = len(lines) - (node.end_lineno or 0)  # comments and decorators start before the node
    kept = lines[: above + words.lineno - 1], lines[above + (words.end_lineno or 0) :]
    return "\n".join([*kept[0], *kept[1]]).replace(":\n\n", ":\n", 1)


def _imports(head: str, text: str) -> str:
    """Return the first code cell: without the command line, with imports for pictures."""
    head = re.sub(r'Path\(__file__\)\.with_name\("(.*?)"\)', r'Path("../\1")', head)
    if "import argparse\n" not in head:
        return head
    head = head.replace("import argparse\n", "")
    if "pathlib" not in text:  # the example writes no files
        standard, blank, others = head.lstrip("\n").partition("\n\n")
        return f"{standard}\n{SETTINGS}{blank[1:]}{others}"
    more = TEMPORARY if "parse_args().out" in text else TEMPORARY + SETTINGS
    head = head.replace("from pathlib import Path\n", f"from pathlib import Path\n{more}")
    if not re.search(r"\b(draw|animate)\(", text.partition("def main")[2]):
        return head
    return head.replace("import numpy as np\n", f"import numpy as np\n{SHOWING}")


def _unfolded(main: ast.FunctionDef, lines: list[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the cells of main(): a cell for its options, and a cell for every paragraph."""
    options: list[tuple[str, str, str]] = []
    paragraph: list[str] = []
    for node, source in _pieces(main.body, main.lineno, lines):
        code = textwrap.dedent(source).strip("\n")
        if _is_call(node, "ArgumentParser"):
            continue
        if _is_call(node, "add_argument"):
            options.append(_option(node))
        elif "parser.parse_args()" in code:
            writes = any("pathlib" in line for line in lines)
            yield "code", _settings(code, options, writes), ["parameters"]
        else:
            if source.startswith("\n") and paragraph:
                yield from _paragraph(paragraph)
                paragraph = []
            paragraph += [code, *_shown(node, "\n".join(lines))]
    yield from _paragraph(paragraph)


def _paragraph(pieces: list[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the comment that begins a paragraph as a text, then its code."""
    lines = "\n".join(pieces).splitlines()
    count = next(k for k, line in enumerate(lines) if not line.startswith("#"))
    if count:
        yield "markdown", "\n".join(line.removeprefix("# ") for line in lines[:count]), []
    yield "code", "\n".join(lines[count:]), []


def _is_call(node: ast.stmt, name: str) -> bool:
    value = getattr(node, "value", None)
    return isinstance(value, ast.Call) and getattr(value.func, "attr", "") == name


def _option(node: ast.stmt) -> tuple[str, str, str]:
    """Return name, value and help of an option; the value is the default, or True for a flag."""
    assert isinstance(node, ast.Expr)
    assert isinstance(node.value, ast.Call)
    given = {word.arg: word.value for word in node.value.keywords}
    name = ast.literal_eval(node.value.args[0]).removeprefix("--")
    value = FOLDER if name == "out" else "True" if "action" in given else ""
    value = "[]" if "nargs" in given else value
    default = ast.unparse(given["default"]).replace("'", '"') if "default" in given else ""
    return name, value or default, ast.literal_eval(given["help"])


def _settings(code: str, options: list[tuple[str, str, str]], writes: bool) -> str:
    """Return the cell that replaces the command line. writes: whether it needs a folder."""
    variable = code.partition(" = ")[0]
    temporary = "temporary = TemporaryDirectory()  # removed with the kernel\n" if writes else ""
    if code.endswith(".out"):
        return f"{temporary}{variable} = {FOLDER}"
    rows = "".join(f"    {name}={value},  # {text}\n" for name, value, text in options)
    return f"{temporary}{variable} = SimpleNamespace(\n{rows})"


def _shown(node: ast.stmt, text: str) -> list[str]:
    """Return the lines that display the picture of a statement of the script."""
    lines = []
    for call in (part for part in ast.walk(node) if isinstance(part, ast.Call)):
        if getattr(call.func, "id", "") == "draw":
            lines.append(f"display(Image({ast.get_source_segment(text, call.args[0])}))")
        elif getattr(call.func, "attr", "") == "animate":
            lines.append(f"    display(Image({ast.get_source_segment(text, call.args[2])}))")
    return lines


def main() -> None:
    for name in names():
        path = EXAMPLES / "notebooks" / f"{name}.ipynb"
        path.write_text(notebook(name), encoding="ascii")
        print(path.relative_to(EXAMPLES.parent))


if __name__ == "__main__":
    main()
