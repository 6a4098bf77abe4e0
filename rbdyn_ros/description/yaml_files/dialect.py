# SPDX-License-Identifier: Apache-2.0
"""A dialect: one kind of YAML file, its version and its table."""

from dataclasses import dataclass, replace
from typing import Any

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.reading.guard import refuse
from rbdyn_ros.description.yaml_files.kinds import Kind, Schema, ValuePlace
from rbdyn_ros.description.yaml_files.tables import Given, Key, Table
from rbdyn_ros.description.yaml_files.text import Node, YamlTable, parse


@dataclass(frozen=True)
class _Version(Kind):
    """The version of a format, which `parse` has checked."""

    allowed = "1"

    def value(self, node: Node) -> int:  # noqa: ARG002
        return 1

    def schema(self) -> Schema:
        return {"const": 1}


class Dialect:
    """One kind of YAML file.

    Args:
        key: key at the top that names the format; its value is the version, 1.
        what: name of the kind of file, with its article.
        code: code of the error about another file.
        table: the rows of all keys but the version.
        apart: whether another version has the error code bad-version instead of `code`.
    """

    def __init__(
        self, key: str, what: str, code: str, table: Table, *, apart: bool = False
    ) -> None:
        self.key, self.what, self._code, self._apart = key, what, code, apart
        version = Key(key, _Version(), "version of the format", needed=True)
        self.table = replace(table, keys=(version, *table.keys))

    def parse(self, text: str | bytes, source: str, audit: Audit) -> YamlTable:
        """Return the nodes of a file of this kind; arguments and errors as for text.parse."""
        top = parse(text, source, audit, self.what)
        version, allowed = top.nodes.get(self.key), f"{self.key}: 1"
        if getattr(version, "text", None) != "1":
            code, line = self._code, top.lines.get(self.key, top.line)
            message = f"this is not {self.what}: it does not have '{allowed}' at the top"
            if version is not None and self._apart:
                code, kind = "bad-version", self.what.partition(" ")[2]
                message = f"the version of the {kind} is unknown; allowed is '{allowed}'"
            refuse(code, message, source, line, allowed=allowed)
        return top

    def read(self, top: YamlTable, audit: Audit) -> Given:
        """Return the values of a document, without values that have errors."""
        given = self.table.read_table(top, ValuePlace(audit))
        assert isinstance(given, Given)
        return given

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema for editors."""
        head = {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": self.what.partition(" ")[2],
        }
        return head | self.table.schema()
