# SPDX-License-Identifier: Apache-2.0
"""The errors of this package: each has what was found, where it was, and what is allowed."""

import difflib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]

#: Largest number of characters of a name from outside in a message.
LONGEST_NAME = 100
#: Largest number of characters of any other value from outside in a message.
LONGEST_VALUE = 80


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem that a reader or a check found.

    Attributes:
        code: short kebab-case identifier, stable between releases.
        message: one sentence for a person: what was found, where, what is allowed.
        severity: ``error`` (refused), ``warning`` (accepted, but check it) or ``note``.
        element: the element with the problem, for example ``joint 'elbow'``; may be empty.
        line: line of the source text; None: there is no text.
        found: the text or value that is refused; may be empty.
        allowed: what would be accepted; may be empty.
    """

    code: str
    message: str
    severity: Severity = "error"
    element: str = ""
    line: int | None = None
    found: str = ""
    allowed: str = ""

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line is not None else ""
        return f"{where}{self.message}"


class RbdynError(Exception):
    """Base class of all errors that this package raises on purpose.

    An error has one or more findings. The fields of the first finding are its attributes.
    """

    def __init__(self, findings: Finding | Iterable[Finding], source: str = "") -> None:
        self.findings = (findings,) if isinstance(findings, Finding) else tuple(findings)
        self.source = source
        super().__init__(self._text())

    def __reduce__(self) -> "tuple[type[RbdynError], tuple[tuple[Finding, ...], str]]":
        # pickle all fields and not only the text
        return type(self), (self.findings, self.source)

    @property
    def code(self) -> str:
        return self.findings[0].code

    @property
    def element(self) -> str:
        return self.findings[0].element

    @property
    def line(self) -> int | None:
        return self.findings[0].line

    @property
    def found(self) -> str:
        return self.findings[0].found

    @property
    def allowed(self) -> str:
        return self.findings[0].allowed

    def _text(self) -> str:
        prefix = f"{self.source}: " if self.source else ""
        if len(self.findings) == 1:
            return f"{prefix}{self.findings[0]}"
        lines = (f"  {finding}" for finding in self.findings)
        return "\n".join([f"{prefix}{len(self.findings)} errors", *lines])


class DescriptionError(RbdynError):
    """The description of a robot is refused, because of its text, values or topology."""


class ModelError(RbdynError):
    """A Model or a Data does not support a call."""


class ParameterError(RbdynError):
    """An option, argument or ROS parameter has a value that is not allowed."""


def not_allowed(
    name: str, value: object, allowed: str, element: str = "", code: str = "bad-argument"
) -> ParameterError:
    """Return the error about an argument whose value is not allowed."""
    found = shown(value)
    message = f"{name} is {found}; allowed is {allowed}"
    return ParameterError(Finding(code, message, "error", element, None, found, allowed))


def bad_argument(element: str, message: str) -> ParameterError:
    """Return the error about an argument, with this message."""
    return ParameterError(Finding("bad-argument", message, "error", element))


def refusal(message: str, code: str = "request", element: str = "") -> RbdynError:
    """Return the error about a request or a ROS message that is refused."""
    return RbdynError(Finding(code, message, "error", element))


def quote(text: str, longest: int = LONGEST_NAME) -> str:
    """Quote a text from outside for one line of a message or a log.

    Unprintable characters are escaped as in Python. A text with more than `longest` characters is
    cut and ends with "...".
    """
    cut = text if len(text) <= longest else f"{text[:longest]}..."
    if not cut.isprintable():
        cut = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut)
    return f"'{cut}'"


def shown(value: object) -> str:
    """Return a value as Python writes it, cut to LONGEST_VALUE characters."""
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python prints
        text = "a number of very many digits"
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def exactly(number: float) -> str:
    """Return a number as text with six significant digits, or all digits if six are not exact."""
    texts = (f"{number:.{digits}g}" for digits in range(6, 18))
    return next((text for text in texts if float(text) == number), "nan")


def apart(*numbers: float, digits: int = 6) -> tuple[str, ...]:
    """Return numbers as text with `digits` digits, or more if unequal numbers would look equal.

    Messages use it to print a number and the limit that the number exceeds.
    """
    unequal = len({float(number) for number in numbers})
    for count in range(digits, 18):
        texts = tuple(f"{number:.{count}g}" for number in numbers)
        if len(set(texts)) >= unequal:
            break
    return texts


def listing(names: Collection[str], most: int = 8) -> str:
    """Quote and join names; of a long list, show only the first `most` names and the number."""
    text = ", ".join(quote(name) for name in list(names)[:most])
    return text if len(names) <= most else f"{text}, ... ({len(names)} in all)"


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with a noun, such as `2 joints`; many: the plural if it is irregular."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` with the most similar known name, or "".

    Upper and lower case count as equal.
    """
    # a similar name has a similar length; this limit keeps the search fast for hostile input
    longest = min(2 * len(name) + 2, 200)
    candidates = [other for other in known if len(name) <= 2 * len(other) + 2 and other]
    candidates = [other for other in candidates if len(other) <= longest and other != name]
    # of names that are equal except for upper and lower case, keep the first
    same = {other.lower(): other for other in reversed(candidates)}
    nearest = difflib.get_close_matches(name.lower(), same, n=1, cutoff=0.6)
    return f" (did you mean '{same[nearest[0]]}'?)" if nearest else ""
