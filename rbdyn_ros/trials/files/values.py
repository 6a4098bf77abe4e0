# SPDX-License-Identifier: Apache-2.0
"""Check names, distributions and Python functions of a trial file."""

import math
from collections.abc import Collection, Iterator
from pathlib import Path

from rbdyn_ros.description.yaml_files.kinds import ValuePlace
from rbdyn_ros.description.yaml_files.tables import Given
from rbdyn_ros.errors import apart, exactly, quote
from rbdyn_ros.trials.distributions import Distribution, LogUniform, Normal, Uniform
from rbdyn_ros.trials.files.keys import SAMPLED, distribution_of
from rbdyn_ros.trials.python_code import PythonCode

#: Lowest and highest allowed number.
Bounds = tuple[float, float]
ANY: Bounds = (-math.inf, math.inf)
NOT_NEGATIVE: Bounds = (0.0, math.inf)


def is_known(
    name: str, names: Collection[str], what: str, given: Given, line: int, owner: str = ""
) -> bool:
    """Return whether a name is among the known names; add an error if not."""
    if name in names:
        return True
    shown = ", ".join(list(names)[:20]) or "none"
    hint = given.audit.hint(name, names)
    message = f"there is no {what} {quote(name)}{hint}; allowed are {shown}"
    owner = owner or given.owner
    code = f"unknown-{what.replace(' ', '-')}"
    given.audit.error(code, owner, line, message, found=name, allowed=shown)
    return False


def line_of(given: Given, key: str) -> int:
    """Return the line on which the value of a key begins."""
    return given.node.nodes[key].line


def read_distribution(
    given: Given, key: str, what: str, owner: str, bounds: Bounds = ANY
) -> Distribution | None:
    """Return the distribution of a key, with samples within bounds, or None after an error."""
    if key not in given:
        return None
    found = distribution_of(given[key])
    low, high = found.range
    message, allowed = _unsound(found, what), ""
    if not message and (low < bounds[0] or high > bounds[1]):
        begin = exactly(bounds[0])
        several = not math.isinf(bounds[1])
        allowed = f"from {begin} to {exactly(bounds[1])}" if several else f"{begin} or more"
        shown = f"has samples from {exactly(low)} to {exactly(high)}; allowed are"
        if low == high:
            shown = f"is {exactly(low)}; allowed is"
        message = f"{what} {shown} {allowed}"
        if isinstance(found, Normal):
            message += "; bound a normal distribution by `low` and `high`"
    if not message:
        return found
    line = line_of(given, key)
    given.audit.error("bad-distribution", owner, line, message, allowed=allowed)
    return None


def _unsound(found: Distribution, what: str) -> str:
    """Return a text about the error in the numbers of a distribution, or ""."""
    if not isinstance(found, Uniform | LogUniform | Normal):
        return ""
    begin = f"the {type(found).__name__.lower()} distribution of {what} has"
    if found.low > found.high:
        return "{} low = {} above high = {}".format(begin, *apart(found.low, found.high))
    if isinstance(found, LogUniform) and found.low <= 0.0:
        return f"{begin} low = {found.low:g}; allowed are numbers above 0"
    if not isinstance(found, Normal):
        return ""
    if found.stddev < 0.0:
        return f"{begin} stddev = {found.stddev:g}; allowed are numbers of 0 or more"
    reach, low, high = 8.0 * found.stddev, found.low, found.high
    inside = low <= found.mean <= high if reach == 0.0 else True
    if low > found.mean + reach or high < found.mean - reach or not inside:
        return f"{begin} no samples between low = {low:g} and high = {high:g}"
    return ""


def read_by_part(
    given: Given, key: str, parts: Collection[str], what: str, owner: str, bounds: Bounds = ANY
) -> Iterator[tuple[str, Distribution, int]]:
    """Yield (part, distribution, line) for each entry of a table.

    Args:
        given: the section of the trial.
        key: a key whose values are given by part.
        parts: names of the allowed parts.
        what: "joint" or "body", for messages.
        owner: section of the trial, for messages.
        bounds: smallest and largest allowed sample.
    """
    value = given.get(key)
    if not isinstance(value, Given):
        found = read_distribution(given, key, f"every {what}", owner, bounds)
        if found is not None:
            yield from ((part, found, line_of(given, key)) for part in parts)
        return
    if not value.lines:
        called = f"value of every {what}"
        ValuePlace(given.audit, owner, called).refuse(value.node, SAMPLED.allowed)
    for part, line in value.lines.items():
        if is_known(part, parts, what, value, line):
            found = read_distribution(value, part, f"'{part}'", owner, bounds)
            if found is not None:
                yield part, found, line


def read_code(given: Given, key: str, folder: Path) -> PythonCode | None:
    """Return a function in a Python file, given as FILE:FUNCTION, or None after an error."""
    if key not in given:
        return None
    file, colon, name = given[key].rpartition(":")
    if not (colon and file.strip() and name.isidentifier()):
        given.wrong(key, "a file and a function such as policy.py:control")
        return None
    path = folder / file
    try:
        path = path.resolve()
        return PythonCode(str(path), name, path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"the file {quote(str(path), 200)} of the key '{key}' cannot be read: {reason}"
        given.error("unreadable-file", key, message, found=file)
        return None
