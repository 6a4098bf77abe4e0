# SPDX-License-Identifier: Apache-2.0
"""docs/explanation/theory.md lists each equation once, and all names on it exist."""

import importlib
import re
from pathlib import Path

import pytest

import rbdyn_ros as rb
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS, NAMES, SIZES
from rbdyn_ros.model.declared.options import Options

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/theory.md").read_text()
IN_MODEL = {field.name for field in MODEL_FIELDS} | SIZES.keys() | NAMES.keys()
IN_DATA = {field.name for field in DATA_FIELDS}

#: For each chapter: the numbers of equations, tables and figures. Our copy of the last text lacks
#: formulas, so only the numbers that the text mentions are here.
NUMBERS = {
    "RBDA chapter 4": [
        *(f"4.{k}" for k in range(1, 14)),
        *(f"table 4.{k}" for k in range(1, 4)),
        *(f"example 4.{k}" for k in range(1, 7)),
    ],
    "RBDA chapter 3": [
        *(f"3.{k}" for k in range(1, 75)), "table 3.1", "example 3.1", "example 3.2",
    ],
    "RBDA chapter 5": [*(f"5.{k}" for k in range(1, 21)), "table 5.1", "table 5.2"],
    "Introduction to Humanoid Robotics": [
        *(f"6.{k}" for k in (
            1, 2, 3, 5, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22, 23, 26, 27, 28, 30, 31, 38, 39,
            40, 43, 44, 45, 46, 47, 49,
        )),
        *(f"figure 6.{k}" for k in (4, 5, 7, 11, 12, 14, 16, 18, 19, 20, 25, 26, 27, 28, 29)),
    ],
}  # fmt: skip

#: Fields that MuJoCo's mj_comPos reads and writes, and functions that it calls.
MUJOCO = [
    "mass_subtree", "subtree_com", "mjMINVAL", "xipos", "ximat", "body_mass", "body_inertia",
    "body_parentid", "body_rootid", "cinert", "mju_inertCom", "jnt_dofadr", "jnt_bodyid",
    "jnt_type", "xanchor", "xaxis", "cdof", "mju_dofCom",
]  # fmt: skip


def section(title):
    """Return the section of the page whose heading contains a title."""
    parts = re.split(r"^## (.*)\n", PAGE, flags=re.MULTILINE)[1:]
    found = [text for head, text in zip(parts[::2], parts[1::2], strict=True) if title in head]
    assert len(found) == 1, f"the page needs one section '{title}'"
    return found[0]


def rows(text):
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.mark.parametrize("chapter", NUMBERS)
def test_every_equation_number_has_one_row(chapter):
    numbered = [row[0] for row in rows(section(chapter)) if len(row) == 4 and row[0] != "number"]
    assert sorted(numbered) == sorted(NUMBERS[chapter])


@pytest.mark.parametrize("chapter", NUMBERS)
def test_every_row_of_a_table_of_equations_names_code(chapter):
    for row in rows(section(chapter)):
        if len(row) == 4 and row[0] != "number":
            assert "`" in row[2] + row[3], f"{row[0]} names no code"
            assert all(re.search(r"`|^-$", cell) for cell in row[2:]), row


def test_every_symbol_of_mj_compos_is_listed():
    first = " ".join(row[0] + row[1] for row in rows(section("mj_comPos")))
    for symbol in MUJOCO:
        assert f"`{symbol}`" in first, f"the table of mj_comPos lacks {symbol}"


def names():
    """Return the words in back quotes that are dotted names of the project, or paths."""
    prose = re.sub(r"^```.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE)
    quoted = set(re.findall(r"`([^`]+)`", prose))
    ours = r"(?:rb|m|d|(?:engine|textbook|model|description|control)(?:\.\w+)*)\.\w[\w.]*"
    return sorted(word for word in quoted if re.fullmatch(ours, word) or "/" in word)


def test_more_than_150_names_are_found_on_the_page():
    assert len(names()) > 150


@pytest.mark.parametrize("name", names())
def test_each_name_of_the_page_exists(name):
    first, _, rest = name.partition(".")
    if "/" in name:
        assert (ROOT / name).exists()
    elif first == "d":
        assert rest in IN_DATA
    elif first == "m" and rest.startswith("opt."):
        assert hasattr(Options(), rest.removeprefix("opt."))
    elif first == "m":
        assert rest in IN_MODEL or hasattr(rb.Model, rest) or rest == "loops"
    elif first == "rb":
        assert reaches(rb, rest.split("."))
    else:
        assert is_code(name)


def reaches(thing, path):
    """Return whether an object has the attributes, one inside the other, in `path`."""
    for name in path:
        if name in getattr(thing, "__dataclass_fields__", {}):
            return True
        thing = getattr(thing, name, None)
        if thing is None:
            return False
    return True


def is_code(name):
    """Return whether a dotted name in rbdyn_ros is a module or an attribute of a module."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        module = ".".join(["rbdyn_ros", *parts[:count]])
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if not module.startswith(error.name):
                raise
            continue
        return reaches(found, parts[count:])
    return False


@pytest.mark.parametrize(
    "wrong", ["rb.inverse_dynamicz", "engine.tree.rne.nothing", "engine.no.rne", "control.no.law"]
)
def test_a_wrong_name_is_detected(wrong):
    assert not (reaches(rb, wrong.split(".")[1:]) if wrong.startswith("rb.") else is_code(wrong))
