"""Read names of links and joints, words and rates in the sensors of a file."""

from __future__ import annotations

from collections.abc import Collection

from rbdyn_ros.description.mechanism_files.forms import Form
from rbdyn_ros.description.mechanism_files.yaml_text import Node, YamlTable
from rbdyn_ros.description.parts.types import Description, Joint
from rbdyn_ros.errors import quote
from rbdyn_ros.model.model import Model

MAX_RATE = 1e6  # [Hz]


class PartForm:
    """Reads values that are about the parts of a robot.

    Args:
        form: reads nodes.
        m: the robot.
        description: of the robot.
    """

    def __init__(self, form: Form, m: Model, description: Description) -> None:
        self.form, self.m = form, m
        self.joints = {joint.name: joint for joint in description.joints}

    def known_link(self, node: Node, what: str, owner: str) -> str | None:
        """Return the name of a link of the robot."""
        name = self.form.name(node, what, owner)
        return name if name is None else self.known(name, self.m.frame_names, "link", owner, node)

    def link(self, table: YamlTable, owner: str, key: str = "link") -> str | None:
        """Return the name of a link of the robot."""
        return self.known_link(table.nodes[key], key, owner) if key in table.nodes else None

    def joint(self, table: YamlTable, owner: str) -> Joint | None:
        """Return a joint of the robot, fixed or moving."""
        if "joint" not in table.nodes:
            return None
        node = table.nodes["joint"]
        name = self.form.name(node, "joint", owner)
        if name is None or self.known(name, self.joints, "joint", owner, node) is None:
            return None
        return self.joints[name]

    def known(
        self, name: str, names: Collection[str], what: str, owner: str, node: Node
    ) -> str | None:
        """Return a name of a part of the robot."""
        if name in names:
            return name
        hint = self.form.audit.hint(name, names)
        message = f"the robot has no {what} {quote(name)}{hint}"
        self.error(f"unknown-{what}", owner, node.line, message, name, "")
        return None

    def choice(
        self, table: YamlTable, key: str, owner: str, allowed: Collection[str], default: str | None
    ) -> str | None:
        """Return one of the allowed words, or the default for a missing key."""
        if key not in table.nodes and default is not None:
            return default
        words = ", ".join(allowed)
        if key not in table.nodes:
            message = f"it has no key {quote(key)}; allowed is one of {words}"
            self.error("missing-key", owner, table.line, message, "", words)
            return None
        word = self.form.name(table.nodes[key], key, owner)
        if word is None or word in allowed:
            return word
        hint = self.form.audit.hint(word, allowed)
        message = f"the {key} is {quote(word)}{hint}; allowed is one of {words}"
        self.error("bad-value", owner, table.nodes[key].line, message, word, words)
        return None

    def rate(self, table: YamlTable, owner: str) -> float | None:
        """Return a rate [Hz]; None: every tick."""
        if "rate" not in table.nodes:
            return None
        value = self.form.number(table.nodes["rate"], "rate", owner)
        if value is not None and not 0.0 < value <= MAX_RATE:
            allowed = f"above 0, at most {MAX_RATE:.0f} Hz"
            self.form.wrong(table.nodes["rate"], "rate", owner, allowed)
        return value

    def error(
        self, code: str, owner: str, line: int, message: str, found: str, allowed: str
    ) -> None:
        """Add an error."""
        self.form.audit.error(code, owner, line, message, found=found, allowed=allowed)
