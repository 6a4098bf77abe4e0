"""Read the ROS node of a trial's controller."""

from __future__ import annotations

from rbdyn_ros.description.yaml_files.text import Node, YamlTable
from rbdyn_ros.model.model import Model
from rbdyn_ros.trials.files.forms import TrialForm
from rbdyn_ros.trials.trial import Joints, UserNode, hash_of_files

KEYS = ("command", "package", "executable", "arguments", "joints")


class NodeReader:
    """Reads the key `node` of a controller.

    Args:
        form: reads nodes of the document.
        m: the robot.
    """

    def __init__(self, form: TrialForm, m: Model) -> None:
        self._form, self._m = form, m

    def node(self, given: Node) -> UserNode | None:
        """Return the ROS node; None after an error."""
        form, owner = self._form, "node"
        table = form.table(given, "node", owner, KEYS)
        if table is None:
            return None
        words, package = self._words(table)
        joints = self._joints(table)
        if words is None or package is None or joints is None:
            return None
        folder = str(form.folder.resolve())
        return UserNode(words, package, folder, joints, hash_of_files(folder, words))

    def _words(self, table: YamlTable) -> tuple[tuple[str, ...] | None, str | None]:
        """Return the words of the command line, and the package of the executable or ""."""
        form, owner, nodes = self._form, "node", table.nodes
        of_package = [key for key in ("package", "executable", "arguments") if key in nodes]
        if ("command" in nodes) == bool(of_package) or of_package == ["arguments"]:
            message = "it needs either a command, or a package with an executable"
            form.audit.error("bad-node", owner, table.line, message)
            return None, None
        if "command" in nodes:
            words = form.items(nodes["command"], "command", "word", owner, form.name)
            if words == ():
                form.wrong(nodes["command"], "command", owner, "a list of one word or more")
                return None, None
            return words, ""
        for key in ("package", "executable"):
            if key not in nodes:
                form.audit.error("missing-key", owner, table.line, f"it has no key '{key}'")
                return None, None
        first = form.name(nodes["executable"], "executable", owner)
        more: tuple[str, ...] | None = ()
        if "arguments" in nodes:
            more = form.items(nodes["arguments"], "arguments", "argument", owner, form.name)
        words = None if first is None or more is None else (first, *more)
        return words, form.name(nodes["package"], "package", owner)

    def _joints(self, table: YamlTable) -> tuple[str, ...] | None:
        """Return the joints that each tick waits for."""
        form, node = self._form, table.nodes.get("joints")
        if node is None:
            return ()
        found = form.items(node, "joints", "joint", "node", form.name)
        known = Joints.of(self._m).names
        for name in found or ():
            if form.known(name, known, "joint", "node", node.line) is None:
                return None
        return found
