# SPDX-License-Identifier: Apache-2.0
"""Audit the names of the parts of a description: not empty, and unique."""

from collections.abc import Iterable

from rbdyn_ros.checks.audit import Audit, Named
from rbdyn_ros.errors import quote


def audit_names(kind: str, parts: Iterable[Named], audit: Audit) -> None:
    """Add an error for every empty or repeated name.

    Args:
        kind: kind of the parts, for messages: ``link``.
        parts: all parts of this kind.
        audit: receives the errors.
    """
    first: dict[str, Named] = {}
    for part in parts:
        name, line = part.name, part.line
        if not name.strip() or "\0" in name:
            message = f"the name {quote(name)} is empty or holds a NUL character"
            audit.about(kind, part).error("missing-name", message, found=name)
        elif name in first:
            before = first[name].line
            known = line is not None and before is not None
            lines = f", on lines {before} and {line}" if known else ""
            message = f"more than one {kind} has this name{lines}; names must be unique"
            audit.about(kind, part).error("duplicate-name", message, found=name)
        else:
            first[name] = part
