"""Collects what a reader and a check have to say, so that all of it is shown together."""

from __future__ import annotations

from collections.abc import Collection

from rbdyn_ros.errors import DescriptionError, Finding, Severity, did_you_mean

# Comparing names is slow; past this many comparisons a document gets no more hints.
HINT_BUDGET = 20_000


def quote(text: str, longest: int = 60) -> str:
    """Quote ``text`` for a message: printable, cut after ``longest`` characters."""
    shown = text if len(text) <= longest else text[:longest] + "..."
    return "'" + "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in shown) + "'"


def told(value: object, longest: int = 80) -> str:
    """Return how a message shows what is no text: cut after ``longest`` characters."""
    try:
        shown = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        shown = "a number of very many digits"
    return shown if len(shown) <= longest else f"{shown[:longest]}..."


def listing(names: Collection[str], most: int = 8) -> str:
    """Quote and join names; a long list is cut and its length told."""
    shown = ", ".join(quote(name) for name in list(names)[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"


def robot_element(name: str) -> str:
    """Return how findings call a robot."""
    return f"robot {quote(name)}" if name.strip() else "robot without a name"


class Audit:
    """The findings about one document.

    Attributes:
        strict: whether what could be repaired is refused instead.
        partial: whether elements were left out because of an error, so that what refers to
            them is not reported once more.
    """

    def __init__(self, *, strict: bool = True) -> None:
        self.strict = strict
        self.partial = False
        self.findings: list[Finding] = []
        self._hints_left = HINT_BUDGET

    def add(
        self,
        severity: Severity,
        code: str,
        element: str,
        line: int | None,
        message: str,
        *,
        found: str = "",
        allowed: str = "",
    ) -> None:
        """Record one finding; the element's name is put in front of the message."""
        sentence = f"{element}: {message}" if element else message
        self.findings.append(Finding(code, sentence, severity, element, line, found, allowed))

    def error(
        self,
        code: str,
        element: str,
        line: int | None,
        message: str,
        *,
        found: str = "",
        allowed: str = "",
    ) -> None:
        """Record why the document is refused."""
        self.add("error", code, element, line, message, found=found, allowed=allowed)

    def repair(
        self,
        code: str,
        element: str,
        line: int | None,
        message: str,
        repaired: str,
        *,
        found: str = "",
        allowed: str = "",
    ) -> None:
        """Record an error if strict, else a warning that tells how it was repaired."""
        if self.strict:
            self.add("error", code, element, line, message, found=found, allowed=allowed)
        else:
            told = f"{message}; {repaired}"
            self.add("warning", code, element, line, told, found=found, allowed=allowed)

    def hint(self, name: str, known: Collection[str]) -> str:
        """Return `` (did you mean 'x'?)`` for the nearest known name, or an empty string."""
        self._hints_left -= len(known)
        return did_you_mean(name, known) if self._hints_left >= 0 else ""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The errors, in the order of the text."""
        return tuple(finding for finding in self.sorted() if finding.severity == "error")

    def sorted(self) -> tuple[Finding, ...]:
        """All findings in the order of the text; those without a line come last."""
        return tuple(sorted(self.findings, key=lambda f: (f.line is None, f.line or 0)))

    def raise_errors(self, source: str) -> None:
        """Raise one DescriptionError that holds every error, if there is any."""
        if self.errors:
            raise DescriptionError(self.errors, source)
