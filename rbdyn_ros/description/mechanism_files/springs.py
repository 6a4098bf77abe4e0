"""The springs of a mechanism file."""

from __future__ import annotations

from rbdyn_ros.description.mechanism_files.forms import Form
from rbdyn_ros.description.mechanism_files.yaml_text import Table
from rbdyn_ros.description.types import Spring
from rbdyn_ros.errors import quote

ENDS = ("from", "to")
_NUMBERS = ("stiffness", "damping", "length")


def read_springs(section: Table, form: Form) -> list[Spring]:
    """Return the springs that the section tells of."""
    springs = []
    for name, node in section.nodes.items():
        owner = f"spring {quote(name)}"
        table = form.table(node, "spring", owner, (*ENDS, *_NUMBERS), ENDS)
        if table is None:
            continue
        one, other = (form.point(table.nodes[key], f"end {quote(key)}", owner) for key in ENDS)
        said = {
            key: form.number(table.nodes[key], key, owner)
            for key in _NUMBERS
            if key in table.nodes
        }
        known = {key: value for key, value in said.items() if value is not None}
        if one is not None and other is not None:
            line = section.lines[name]
            springs.append(Spring(name, one[0], other[0], one[1], other[1], line=line, **known))
    return springs
