# SPDX-License-Identifier: Apache-2.0
"""Generate docs/reference/yaml_files.md from the tables of keys."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from docs_words import escaped

from rbdyn_ros.commands.schema import dialects
from rbdyn_ros.description.yaml_files.dialect import Dialect
from rbdyn_ros.description.yaml_files.kinds import (
    Either,
    Kind,
    List,
    Number,
    NumberList,
    OrNothing,
    Owned,
)
from rbdyn_ros.description.yaml_files.tables import ByName, ByType, Key, Table, WithKey

HEAD = (
    "# Keys of YAML files\n\n"
    "This page lists all keys of the files that describe a robot, its surroundings and "
    "its tests. Units are SI. Names of other files are relative to the folder of the YAML file. "
    "In the tables a dot leads into the table of a key, `[]` into each item of its list, and "
    "NAME stands for any name.\n\n"
    "A wrong file is refused, with a list of all errors. Each error gives the line, what was "
    "found and what is allowed, and for an unknown key the most similar key.\n\n"
    "With a JSON schema, editors complete keys and mark errors. Save `rbdyn schema scene` as "
    "`scene.schema.json`, and begin the scene file with "
    "`# yaml-language-server: $schema=scene.schema.json`.\n"
)
INTRO = {
    "actuators": "A file of this kind describes motors, gears and drives of joints "
    "([Actuators](../guides/actuators.md)).",
    "mechanism": "A file of this kind describes a robot with features that URDF lacks "
    "([Mechanisms](../guides/mechanisms.md)).",
    "policy": "A file of this kind describes a learned policy "
    "([Policies](../guides/policies.md)).",
    "scene": "A file of this kind describes robots, objects and obstacles "
    "([Scenes](../guides/scenes.md)).",
    "sensors": "A file of this kind lists the sensors of a simulated robot "
    "([Sensors](../guides/sensors.md)).",
    "trial": "A file of this kind describes a test of a controller in many seeded runs "
    "([Trials](../guides/trials.md)).",
}


def files_page() -> str:
    """Return the page of the keys of YAML files as Markdown."""
    return "\n".join([HEAD, *(_section(name, each) for name, each in dialects().items())])


def _section(name: str, dialect: Dialect) -> str:
    """Return the heading and the tables of a kind of file."""
    parts, waiting = [f"## {name.capitalize()}\n\n{INTRO[name]}\n"], [("", dialect.table)]
    seen: dict[str, str] = {}
    while waiting:
        title, table = waiting.pop(0)
        lines = [f"**{title}**\n"] if title else []
        lines += ["| key | value | meaning |", "|---|---|---|"]
        lines += _rows(table, "", title, seen, waiting)
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _rows(
    table: Table, prefix: str, title: str, seen: dict[str, str], waiting: list[tuple[str, Table]]
) -> Iterator[str]:
    """Yield the rows of a table and of the tables in it; tables by name are added to `waiting`."""
    for key in table.keys:
        path = f"{prefix}{key.name}"
        inner = list(_tables(key.kind, path))
        known = [seen[_text(each)] for _, each in inner if _text(each) in seen]
        doc = f"{key.doc}; keys as in {known[0]}" if known else f"{key.doc}{_default(key)}"
        value = f"{_allowed(key.kind)}; needed" if key.needed else _allowed(key.kind)
        cells = (f"`{path}`", escaped(value), escaped(doc))
        yield f"| {' | '.join(cells)} |"
        for where, each in inner:
            if _text(each) in seen:
                continue
            kind = title.partition("`, ")[2]
            seen[_text(each)] = _named(title, where) + (f" of {kind}" if kind else "")
            if ".NAME" in where[len(prefix) :]:
                name = f", {each.name}" if len(inner) > 1 else ""
                waiting.append((f"{_named(title, where)}{name}", each))
            else:
                yield from _rows(each, f"{where}.", title, seen, waiting)


def _text(table: Table) -> str:
    """Return a text that identifies a table: tables with the same keys are shown once."""
    inner = (_text(each) for key in table.keys for _, each in _tables(key.kind, ""))
    rows = (f"{key.name} {_allowed(key.kind)} {key.doc}{_default(key)}" for key in table.keys)
    return "\n".join([*rows, *inner])


def _tables(kind: Kind, path: str) -> Iterator[tuple[str, Table]]:
    """Yield the tables in a kind, each with its path."""
    if isinstance(kind, Table):
        yield path, kind
    elif isinstance(kind, Either):
        for each in kind.kinds:
            yield from _tables(each, path)
    elif isinstance(kind, OrNothing | Owned):
        yield from _tables(kind.kind, path)
    elif isinstance(kind, WithKey):
        yield from _tables(kind.present, path)
        yield from _tables(kind.absent, path)
    elif isinstance(kind, ByType):
        yield from ((path, each) for each in kind.tables.values())
    elif isinstance(kind, ByName):
        yield from _tables(kind.kind, f"{path}.NAME")
    elif isinstance(kind, List):
        yield from _tables(kind.item, f"{path}[]")


def _named(title: str, where: str) -> str:
    return f"`{where}`" if not title else f"{title.partition('`,')[0].rstrip('`')}.{where}`"


def _allowed(kind: Kind) -> str:
    """Return the allowed values of a kind, with the unit."""
    number = kind.each if isinstance(kind, NumberList) else kind
    unit = number.unit if isinstance(number, Number) else ""
    return f"{kind.allowed} [{unit}]" if unit else kind.allowed


def _default(key: Key) -> str:
    """Return the default in YAML, as the end of a phrase."""
    value: Any = key.default
    if isinstance(value, float):
        return f"; default {'.inf' if math.isinf(value) else f'{value:g}'}"
    return f"; default {json.dumps(value)}" if isinstance(value, bool | int | str) else ""
