# SPDX-License-Identifier: Apache-2.0
"""Collect the findings of readers and checks, so that a user sees all of them at once."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Protocol

from rbdyn_ros.errors import DescriptionError, Finding, Severity, did_you_mean, quote

#: Largest number of name comparisons for hints in one document, because they are slow.
HINT_BUDGET = 20_000


def robot_element(name: str) -> str:
    """Return the element for findings about a whole robot with this name."""
    return f"robot {quote(name)}" if name.strip() else "robot without a name"


def plain(finding: Finding) -> str:
    """Return the message of a finding without the element at its beginning."""
    return finding.message.removeprefix(f"{finding.element}: ")


class Audit:
    """The findings about one document.

    Attributes:
        strict: whether faults that could be repaired count as errors.
        partial: whether elements were left out because of errors, so that unknown references are
            not reported.
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
        """Record a finding; put the name of the element in front of the message."""
        self.take(Finding(code, message, severity, element, line, found, allowed))

    def take(self, finding: Finding) -> None:
        """Record a finding; put the name of the element in front of the message."""
        if finding.element:
            finding = replace(finding, message=f"{finding.element}: {finding.message}")
        self.findings.append(finding)

    def error(self, code: str, element: str, line: int | None, message: str, **of: str) -> None:
        """Record an error, which refuses the document; `of`: found and allowed, as for `add`."""
        self.add("error", code, element, line, message, **of)

    def repair(
        self, code: str, element: str, line: int | None, message: str, repaired: str, **of: str
    ) -> None:
        """Record an error if strict, else a warning with the text `repaired`; `of`: see error."""
        if self.strict:
            self.add("error", code, element, line, message, **of)
        else:
            self.add("warning", code, element, line, f"{message}; {repaired}", **of)

    def about(self, kind: str, part: "Named") -> "Subject":
        """Return a named part of a kind as the subject of findings, such as ``joint 'elbow'``."""
        return Subject(self, f"{kind} {quote(part.name)}", part.line)

    def hint(self, name: str, known: Collection[str]) -> str:
        """Return `` (did you mean 'x'?)`` with the most similar known name, or ""."""
        self._hints_left -= len(known)
        return did_you_mean(name, known) if self._hints_left >= 0 else ""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """All errors, in the order of their lines."""
        return tuple(finding for finding in self.sorted() if finding.severity == "error")

    def sorted(self) -> tuple[Finding, ...]:
        """All findings, in the order of their lines; findings without a line are last."""
        return tuple(sorted(self.findings, key=lambda f: (f.line is None, f.line or 0)))

    def raise_errors(self, source: str) -> None:
        """Raise a DescriptionError with all errors, if there are any; source: name of the file."""
        if self.errors:
            raise DescriptionError(self.errors, source)


class Named(Protocol):
    """Interface of a part of a document: its name, and the line of its element."""

    @property
    def name(self) -> str: ...
    @property
    def line(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Subject:
    """An element of a document, for the findings about it.

    Attributes:
        audit: audit that gets the findings.
        owner: the element as messages name it.
        line: line of the element; None: unknown.
    """

    audit: Audit
    owner: str
    line: int | None = None

    def error(self, code: str, message: str, **of: str) -> None:
        """Record an error; `of` as for Audit.error."""
        self.audit.error(code, self.owner, self.line, message, **of)

    def repair(self, code: str, message: str, repaired: str, **of: str) -> None:
        """Record an error if strict, else a warning with the text `repaired`."""
        self.audit.repair(code, self.owner, self.line, message, repaired, **of)

    def warn(self, code: str, message: str, **of: str) -> None:
        """Record a warning."""
        self.audit.add("warning", code, self.owner, self.line, message, **of)

    def note(self, code: str, message: str, **of: str) -> None:
        """Record a note."""
        self.audit.add("note", code, self.owner, self.line, message, **of)


class Lenient(Audit):
    """The audit of parts that are not essential: their errors become warnings.

    Args:
        whole: audit of the whole document.
        consequence: what happens to a part with an error, as words for the warning.
    """

    def __init__(self, whole: Audit, consequence: str = "") -> None:
        super().__init__(strict=whole.strict)
        self._whole, self._consequence = whole, consequence

    def take(self, finding: Finding) -> None:
        """Add a finding to the audit of the whole document; an error becomes a warning."""
        if finding.severity == "error":
            text = "; ".join(filter(None, (finding.message, self._consequence)))
            finding = replace(finding, severity="warning", message=text)
        self._whole.take(finding)
