"""The page of all fields of Model and Data, from where they are declared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from docs_words import escaped

from rbdyn_ros.model.data import DATA_FIELDS
from rbdyn_ros.model.fields import Field
from rbdyn_ros.model.model_fields import MODEL_FIELDS, NAMES, REPLACEABLE, SIZES
from rbdyn_ros.model.options import INTEGRATORS, OPTION_FIELDS

HEAD = """\
# Fields

Written by `tools/docs.py` from the declarations in `rbdyn_ros/model/`; do not edit.

A Model is static, a Data is the state of one robot and what was computed from it:
[architecture.md](../explanation/architecture.md). Arrays are NumPy arrays of 64-bit numbers,
float or int.
Units are SI, angles in rad; quaternions are wxyz; spatial 6-vectors are `[angular; linear]` in
world axes about the `subtree_com` of their tree, but for `xfrc_applied`, which is force, then
torque. "MuJoCo" says whether MuJoCo has an array of this name; meaning, layout and frame are the
same then, except where it says "other". (Rows of constraints are those of equations only, and
geometries those that touch.)
"""

OPTIONS_TEXT = f"""\
## Options

`m.opt` may be changed at any time; what is assigned is checked. `m.opt.integrator` is the name of
an integrator, one of {", ".join(f"`{name}`" for name in INTEGRATORS)}.
"""

SIZES_TEXT = """\
## Sizes of a Model

Numbers that shapes are made of: `m.nv`, `m.nbody` and so on.
"""

MODEL_TEXT = """\
## Arrays of a Model

All are read-only. Those with * may be others in a copy: `m.replaced(jnt_effort=...)`.
"""

NAMES_TEXT = """\
## Names of a Model

Tuples of texts.
"""

DATA_TEXT = """\
## Arrays of a Data

All may be written. "Written by" names the stage that computes an array; `input` is yours to write.
What comes after `loop_force` is scratch of the engine, listed for who reads its code.
"""

#: MuJoCo has these names for something else.
OTHER = ("npair", "geom_friction")

UNIT = re.compile(r"\s*\[((?:rad|m|kg|N|s|J|W)\b[^\]]*)\]")


def fields_page() -> str:
    """Return the page as Markdown."""
    mujoco = _mujoco_names()
    parts = [
        HEAD,
        OPTIONS_TEXT,
        _table(
            ("name", "shape", "type", "unit", "MuJoCo", "meaning"),
            ([*_cells(field, field.name, mujoco), _meaning(field.doc)] for field in OPTION_FIELDS),
        ),
        SIZES_TEXT,
        _table(
            ("name", "MuJoCo", "meaning"),
            ((f"`{name}`", _in_mujoco(name, mujoco), escaped(doc)) for name, doc in SIZES.items()),
        ),
        MODEL_TEXT,
        _table(
            ("name", "shape", "type", "unit", "MuJoCo", "meaning"),
            (
                [*_cells(field, field.name, mujoco, REPLACEABLE), _meaning(field.doc)]
                for field in MODEL_FIELDS
            ),
        ),
        NAMES_TEXT,
        _table(("name", "names"), ((f"`{name}`", escaped(doc)) for name, doc in NAMES.items())),
        DATA_TEXT,
        _table(
            ("name", "shape", "type", "unit", "MuJoCo", "meaning", "written by"),
            (
                [
                    *_cells(field, field.name, mujoco),
                    _meaning(field.doc) + (f"; part of `{field.inside}`" if field.inside else ""),
                    escaped(field.stage) or "-",
                ]
                for field in DATA_FIELDS
            ),
        ),
    ]
    return "\n".join(parts)


def _cells(
    field: Field, name: str, mujoco: frozenset[str], marked: Iterable[str] = ()
) -> list[str]:
    """Return name, shape, type, unit and whether MuJoCo has it."""
    unit = ", ".join(UNIT.findall(field.doc))
    shape = ", ".join(str(dim) for dim in field.dims)
    if len(field.dims) == 1:
        shape += ","
    mark = " \\*" if name in marked else ""
    return [
        f"`{name}`{mark}",
        f"({shape})" if field.dims else "-",
        field.kind,
        escaped(unit) or "-",
        _in_mujoco(name, mujoco),
    ]


def _meaning(doc: str) -> str:
    """Return the meaning without its unit, which has a column of its own."""
    bare = UNIT.sub("", doc).strip(" ,;")
    return escaped(bare) or "see its name"


def _in_mujoco(name: str, mujoco: frozenset[str]) -> str:
    if name in OTHER:
        return "other"
    return "yes" if name in mujoco else "-"


def _table(head: tuple[str, ...], rows: Iterable[Iterable[Any]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _mujoco_names() -> frozenset[str]:
    """Return the names of fields of MuJoCo's model, data and options."""
    import mujoco

    kinds = (mujoco.MjModel, mujoco.MjData, mujoco.MjOption)
    return frozenset(name for kind in kinds for name in dir(kind) if not name.startswith("_"))
