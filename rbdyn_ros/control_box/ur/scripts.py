# SPDX-License-Identifier: Apache-2.0
"""Programs that clients upload, cut from a stream and read as far as the box supports them.

The box does not interpret URScript. It recognises two kinds of programs by their structure: a
control script that reads commands from input registers (the script of ur_rtde), and a sequence of
known calls with numbers. Anything else is refused by name.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.control_box.sockets import Session

#: Largest program [bytes].
LARGEST_PROGRAM = 2**20
#: Most calls of a program, and most calls without a motion that are executed in a cycle.
MOST_CALLS, CALLS_PER_CYCLE = 10_000, 20
_OPENS = re.compile(r"\s*(def|sec|thread|while|if|for)\b.*:\s*$")
_DEFINES = re.compile(r"\s*(?:def|sec)\s+(\w+)\s*\(\s*\)\s*:\s*$")
_CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*$", re.DOTALL)
_NAMED = re.compile(r"\s*(\w+)\s*=(?!=)\s*(.*)$", re.DOTALL)


def _bare(line: str) -> str:
    """Return a line without its comment."""
    return line.split("#", 1)[0].rstrip()


class ProgramCutter:
    """Cuts a stream of bytes into programs, each from `def` to its `end`, or a single line."""

    def __init__(self) -> None:
        self._pending = b""
        self._lines: list[str] = []
        self._size = self._depth = 0

    def take(self, data: bytes) -> list[str]:
        """Return the complete programs so far.

        Raises:
            ValueError: a program is larger than LARGEST_PROGRAM.
        """
        *lines, self._pending = (self._pending + data).split(b"\n")
        found = []
        for line in lines:
            text = line.decode(errors="replace")
            self._size += len(line) + 1
            if text.strip():
                self._count(_bare(text))
                self._lines.append(text)
            if self._depth <= 0:
                found += ["\n".join(self._lines)] if self._lines else []
                self._lines, self._size, self._depth = [], 0, 0
        if len(self._pending) + self._size > LARGEST_PROGRAM:
            raise ValueError(f"a program has more than {LARGEST_PROGRAM} bytes")
        return found

    def _count(self, line: str) -> None:
        if _OPENS.match(line):
            self._depth += 1
        elif line.strip() == "end":
            self._depth -= 1


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a program.

    Attributes:
        name: name of the function.
        values: arguments without names: numbers, texts or arrays (n,).
        named: the other arguments, by name.
        is_pose: whether the first argument is a pose.
    """

    name: str
    values: tuple[Any, ...]
    named: dict[str, Any]
    is_pose: bool

    def number(self, name: str, at: int, default: float) -> float:
        """Return a numeric argument by its name, else by its position, else the default.

        Raises:
            ValueError: the argument is not a finite number.
        """
        found = self.named.get(name, self.values[at] if at < len(self.values) else default)
        if not isinstance(found, float | bool) or not np.isfinite(found):
            raise ValueError(f"{name} of {self.name} is not a number")
        return float(found)

    def six(self, name: str, at: int = 0) -> Array:
        """Return an argument of six finite numbers by its name, else by its position.

        Raises:
            ValueError: the argument has another form.
        """
        found = self.named.get(name, self.values[at] if at < len(self.values) else None)
        if not isinstance(found, np.ndarray) or found.shape != (6,):
            raise ValueError(f"{name} of {self.name} is not a list of six numbers")
        if not np.isfinite(found).all():
            raise ValueError(f"{name} of {self.name} has a number that is not finite")
        return found


def read_call(line: str) -> Call:
    """Return the call in a line.

    Raises:
        ValueError: the line is not a call.
    """
    match = _CALL.match(_bare(line))
    if match is None:
        raise ValueError(f"{line.strip()!r} is not a call")
    values: list[Any] = []
    named: dict[str, Any] = {}
    pieces = _split(match[2])
    for piece in pieces:
        given = _NAMED.match(piece)
        if given:
            named[given[1]] = _value(given[2])
        else:
            values.append(_value(piece))
    first = pieces[0].strip() if pieces else ""
    return Call(match[1], tuple(values), named, re.match(r"(\w+\s*=\s*)?p\[", first) is not None)


def read_calls(lines: list[str]) -> list[Call]:
    """Return the calls in lines with one call each.

    Raises:
        ValueError: a line is not a call, or there are more than MOST_CALLS lines.
    """
    if len(lines) > MOST_CALLS:
        raise ValueError(f"it has {len(lines)} lines; allowed are {MOST_CALLS} at most")
    return [read_call(line) for line in lines]


def _split(text: str) -> list[str]:
    """Return arguments, split at the commas outside of brackets and quotes."""
    found, depth, quoted, start = [], 0, False, 0
    for k, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif letter in "[(":
            depth += 1
        elif letter in "])":
            depth -= 1
        elif letter == "," and depth == 0:
            found.append(text[start:k])
            start = k + 1
    return [*found, text[start:]] if text.strip() else []


def _value(text: str) -> Any:
    text = text.strip()
    if text in ("True", "False"):
        return text == "True"
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    if text.startswith(("[", "p[")) and text.endswith("]"):
        return np.array([float(one) for one in text[text.index("[") + 1 : -1].split(",")])
    return float(text)


def body_of(program: str) -> tuple[str, list[str]]:
    """Return the name of a program and its lines; a single line is a program without a name."""
    lines = [line for line in program.splitlines() if _bare(line).strip()]
    match = _DEFINES.match(_bare(lines[0])) if lines else None
    if match is None:
        return "", lines
    return match[1], lines[1:-1]


def function_in(lines: list[str], name: str) -> list[str] | None:
    """Return the lines of a function without arguments inside a program, or None."""
    begins = re.compile(rf"\s*def\s+{name}\s*\(\s*\)\s*:\s*$")
    found: list[str] | None = None
    for line in lines:
        if found is None:
            found = [] if begins.match(_bare(line)) else None
        elif _bare(line).strip() == "end":
            return found
        else:
            found.append(line)
    return None


class ScriptSession(Session):
    """The conversation with a client that uploads programs.

    Args:
        start: function that is called with a program.
        hello: first bytes for the client.
    """

    def __init__(self, start: Callable[[str], None], hello: bytes = b"") -> None:
        super().__init__(hello)
        self._start, self._cutter = start, ProgramCutter()

    def request(self, data: bytes) -> None:
        """Process bytes of the client.

        Raises:
            ValueError: a program is too large.
        """
        for program in self._cutter.take(data):
            self._start(program)
