"""Read numbers with bounds, distributions and Python functions from the nodes of a trial file."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.mechanism_files.forms import Form
from rbdyn_ros.description.mechanism_files.yaml_text import Node, Scalar, YamlTable
from rbdyn_ros.description.parts.bounds import audit_range
from rbdyn_ros.errors import apart, exactly, quote
from rbdyn_ros.trials.distributions import (
    Choice,
    Constant,
    Distribution,
    LogUniform,
    Normal,
    Uniform,
)
from rbdyn_ros.trials.python_code import PythonCode

#: The most timesteps of a run, and from one command to the next.
MAX_STEPS = 10_000_000
#: Lowest and highest allowed number.
Bounds = tuple[float, float]
ANY: Bounds = (-math.inf, math.inf)
NOT_NEGATIVE: Bounds = (0.0, math.inf)

#: Keys of each distribution, and those that it needs.
KEYS = {
    "uniform": (("low", "high"), ("low", "high")),
    "loguniform": (("low", "high"), ("low", "high")),
    "normal": (("mean", "stddev", "low", "high"), ("mean", "stddev")),
}
DISTRIBUTIONS = (*KEYS, "choice")


class TrialForm(Form):
    """Reads the nodes of a trial file; a method returns None after an error.

    Args:
        audit: receives the errors.
        folder: from which the files are found that the document names.
    """

    def __init__(self, audit: Audit, folder: Path) -> None:
        super().__init__(audit)
        self.folder = folder

    def number(self, node: Node, what: str, owner: str, *, infinite: bool = False) -> float | None:
        """Return a number, finite unless `infinite`, whose powers and products are finite."""
        value = super().number(node, what, owner, infinite=infinite)
        if value is None or math.isinf(value) or self._is_sized((value,), node, what, owner):
            return value
        return None

    def numbers(
        self, node: Node, what: str, owner: str, count: int | None = None
    ) -> tuple[float, ...] | None:
        """Return a list of finite numbers, as `number` does."""
        values = super().numbers(node, what, owner, count)
        return values if self._is_sized(values or (), node, what, owner) else None

    def _is_sized(self, values: Sequence[float], node: Node, what: str, owner: str) -> bool:
        return audit_range(what, values, "trial", owner, node.line, self.audit)

    def within(
        self, node: Node, what: str, owner: str, low: float, high: float = math.inf,
        *, above: bool = False,
    ) -> float | None:  # fmt: skip
        """Return a number from low (or above it) to high."""
        value = self.number(node, what, owner)
        if value is None:
            return None
        if value < low or value > high or (above and value == low):
            begin = f"above {exactly(low)}" if above else f"{exactly(low)} or more"
            allowed = begin if math.isinf(high) else f"{begin}, at most {exactly(high)}"
            self.wrong(node, what, owner, allowed)
            return None
        return value

    def whole_within(self, node: Node, what: str, owner: str, low: int, high: int) -> int | None:
        """Return a whole number from low to high."""
        value = self.whole(node, what, owner)
        if value is not None and not low <= value <= high:
            self.wrong(node, what, owner, f"from {low} to {high}")
            return None
        return value

    def known(
        self, name: str, names: Collection[str], what: str, owner: str, line: int
    ) -> str | None:
        """Return a name that is one of the known ones."""
        if name in names:
            return name
        hint = self.audit.hint(name, names)
        shown = ", ".join(list(names)[:20]) or "none"
        message = f"there is no {what} {quote(name)}{hint}; allowed are {shown}"
        self.audit.error(f"unknown-{what}", owner, line, message, found=name, allowed=shown)
        return None

    def distribution(
        self, node: Node, what: str, owner: str, bounds: Bounds = ANY
    ) -> Distribution | None:
        """Return a number, or a table of one distribution, whose samples are within bounds."""
        found = self._unbounded(node, what, owner)
        if found is None:
            return None
        low, high = found.range
        if low < bounds[0] or high > bounds[1]:
            begin = exactly(bounds[0])
            end = "" if math.isinf(bounds[1]) else f" to {exactly(bounds[1])}"
            allowed = f"from {begin}{end}" if end else f"{begin} or more"
            shown = (
                f"is {exactly(low)}; allowed is"
                if low == high
                else (f"has samples from {exactly(low)} to {exactly(high)}; allowed are")
            )
            message = f"{what} {shown} {allowed}"
            if isinstance(found, Normal):
                message += "; a normal distribution takes `low` and `high`"
            self.audit.error("bad-distribution", owner, node.line, message, allowed=allowed)
            return None
        return found

    def by_part(
        self, node: Node, parts: Collection[str], what: str, owner: str, bounds: Bounds = ANY
    ) -> Iterator[tuple[str, Distribution, int]]:
        """Yield distributions with the part and the line of each.

        Args:
            node: a table by joint or body, or one distribution for each of them.
            parts: their names.
            what: joint or body, for messages.
            owner: for messages.
            bounds: of the samples.
        """
        if not isinstance(node, YamlTable) or set(node.nodes) <= set(DISTRIBUTIONS):
            found = self.distribution(node, f"every {what}", owner, bounds)
            if found is not None:
                yield from ((part, found, node.line) for part in parts)
            return
        for part, below in node.nodes.items():
            if self.known(part, parts, what, owner, node.lines[part]) is None:
                continue
            found = self.distribution(below, f"'{part}'", owner, bounds)
            if found is not None:
                yield part, found, node.lines[part]

    def code(self, node: Node, what: str, owner: str) -> PythonCode | None:
        """Return a function in a Python file, given as FILE:FUNCTION."""
        text = self.name(node, what, owner)
        if text is None:
            return None
        file, colon, name = text.rpartition(":")
        if not (colon and file.strip() and name.isidentifier()):
            self.wrong(node, what, owner, "a file and a function such as policy.py:control")
            return None
        path = self.folder / file
        try:
            path = path.resolve()
            return PythonCode(str(path), name, path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            message = f"the file {quote(str(path), 200)} of the {what} cannot be read: {reason}"
            self.audit.error("unreadable-file", owner, node.line, message, found=file)
            return None

    def _unbounded(self, node: Node, what: str, owner: str) -> Distribution | None:
        if isinstance(node, Scalar):
            value = self.number(node, f"value of {what}", owner)
            return None if value is None else Constant(value)
        allowed = f"a number or a table of one of {', '.join(DISTRIBUTIONS)}"
        if not isinstance(node, YamlTable) or len(node.nodes) != 1:
            self.wrong(node, f"value of {what}", owner, allowed)
            return None
        ((kind, given),) = node.nodes.items()
        called = f"distribution of {what}"
        if self.table(node, called, owner, DISTRIBUTIONS) is None:
            return None
        if kind == "choice":
            values = self.numbers(given, f"choice of {what}", owner)
            if values == ():
                message = f"the choice of {what} is empty; give a list of numbers"
                self.audit.error("bad-value", owner, given.line, message, found="empty")
            return Choice(values) if values else None
        return self._of_keys(kind, given, what, owner)

    def _of_keys(self, kind: str, node: Node, what: str, owner: str) -> Distribution | None:
        allowed, needed = KEYS[kind]
        table = self.table(node, f"{kind} distribution of {what}", owner, allowed, needed)
        if table is None:
            return None
        given = {key: self.number(x, f"{key} of {what}", owner) for key, x in table.nodes.items()}
        values = {key: value for key, value in given.items() if value is not None}
        if len(values) < len(given):
            return None
        wrong = _unsound(kind, values)
        if wrong:
            message = f"the {kind} distribution of {what} has {wrong}"
            self.audit.error("bad-distribution", owner, node.line, message)
            return None
        return _MADE[kind](**values)


_MADE: Mapping[str, Callable[..., Distribution]] = {
    "uniform": Uniform,
    "loguniform": LogUniform,
    "normal": Normal,
}


def _unsound(kind: str, values: Mapping[str, float]) -> str:
    """Return what is wrong with the numbers of a distribution, or ""."""
    low, high = values.get("low", -math.inf), values.get("high", math.inf)
    if low > high:
        return "low = {} above high = {}".format(*apart(low, high))
    if kind == "loguniform" and low <= 0.0:
        return f"low = {low:g}; allowed are numbers above 0"
    if values.get("stddev", 0.0) < 0.0:
        return f"stddev = {values['stddev']:g}; allowed are numbers of 0 or more"
    if kind != "normal":
        return ""
    mean, reach = values["mean"], 8.0 * values["stddev"]
    if low > mean + reach or high < mean - reach or (reach == 0.0 and not low <= mean <= high):
        return f"no samples between low = {low:g} and high = {high:g}"
    return ""
