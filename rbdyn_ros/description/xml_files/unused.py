# SPDX-License-Identifier: Apache-2.0
"""Note each kind of unread element and attribute of a robot file once, and the reason."""

from collections import Counter
from collections.abc import Collection, Mapping

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.errors import Severity

#: Largest number of kinds in a report, as a file may have a million.
MOST_KINDS = 60
#: Longest kind in a note [characters].
LONGEST_KIND = 100


class Unused:
    """Counts the unread words, by kind.

    Args:
        reasons: reasons by the name of an element or attribute.
        other: the reason of all other names.
        warned: names whose kinds are warnings.
    """

    def __init__(self, reasons: Mapping[str, str], other: str, warned: Collection[str]) -> None:
        self._reasons, self._other, self._warned = reasons, other, warned
        self._counts: Counter[str] = Counter()
        self._first: dict[str, tuple[int, str]] = {}

    def count(self, what: str, line: int, word: str) -> None:
        """Count an element or attribute.

        Args:
            what: kind of the element or attribute, for the message.
            line: line of the word.
            word: name of the element or attribute; the reasons are given by name.
        """
        what = what[:LONGEST_KIND]
        self._counts[what] += 1
        self._first.setdefault(what, (line, word))

    def report(self, owner: str, audit: Audit) -> None:
        """Add a finding for each kind."""
        for number, (what, count) in enumerate(self._counts.items()):
            line, word = self._first[what]
            if number == MOST_KINDS:
                rest = len(self._counts) - MOST_KINDS
                audit.add("note", "not-used", owner, line, f"{rest} more kinds are not used")
                return
            often = f", {count} in all" if count > 1 else ""
            message = f"{what} is not used{often}: {self._reasons.get(word, self._other)}"
            severity: Severity = "warning" if word in self._warned else "note"
            audit.add(severity, "not-used", owner, line, message, found=what)
