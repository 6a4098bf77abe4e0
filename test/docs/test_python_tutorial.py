# SPDX-License-Identifier: Apache-2.0
"""The Python tutorial prints the values in its comments."""

import ast
import contextlib
import io
import re
from pathlib import Path

import pytest

import rbdyn_ros as rb

pytest.importorskip("matplotlib")
pytest.importorskip("mcap")
pytest.importorskip("viser")

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorials" / "python_tutorial.md"
NUMBER = r"-?\d+(?:\.\d*)?(?:e[-+]\d+)?"


def statements(code):
    """Yield the statements of a code block, each with the comments directly below it."""
    lines = code.splitlines()
    for node in ast.parse(code).body:
        expected = []
        for line in lines[node.end_lineno :]:
            if not line.startswith("# "):
                break
            expected.append(line[2:])
        source = "\n" * (node.lineno - 1) + "\n".join(lines[node.lineno - 1 : node.end_lineno])
        yield source, expected


def same(expected, printed):
    """Return whether two lines have the same words, and the same numbers within 0.2 %."""
    if re.sub(NUMBER, "", expected).split() != re.sub(NUMBER, "", printed).split():
        return False
    pairs = zip(re.findall(NUMBER, expected), re.findall(NUMBER, printed), strict=True)
    return all(float(b) == pytest.approx(float(a), rel=2e-3, abs=2e-3) for a, b in pairs)


def test_blocks_print_the_comments_below_them(monkeypatch):
    monkeypatch.chdir(ROOT)
    found, prints = {}, 0
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        for source, expected in statements(code):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(source, str(PAGE), "exec"), found)
            printed = out.getvalue().splitlines()
            assert len(printed) == len(expected), f"{source.strip()} prints {printed}"
            for line, wanted in zip(printed, expected, strict=True):
                assert same(wanted, line), f"{wanted!r} is not {line!r}"
            prints += len(printed)
    assert prints > 25


def test_fields_and_functions_of_the_tutorial_exist():
    text = PAGE.read_text()
    m = rb.load_urdf(str(ROOT / "config/robots/pendulum.urdf"))
    d = rb.make_data(m)
    for name in set(re.findall(r"\brb\.(\w+)", text)):
        assert hasattr(rb, name), name
    for owner, name in set(re.findall(r"`([md])\.(\w+)", text)):
        assert hasattr(m if owner == "m" else d, name), f"{owner}.{name}"
