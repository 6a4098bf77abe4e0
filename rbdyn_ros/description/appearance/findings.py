"""Collects what is wrong with the looks of a robot, for which no robot is refused."""

from __future__ import annotations

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.meshes.meshes import LEFT_OUT
from rbdyn_ros.errors import Finding, Severity

#: Warnings that are told one by one.
MOST_FINDINGS = 50
#: What is kept of a text that the robot gives, such as the name of a mesh [characters].
LONGEST_NAME = 200


class OnlyWarnings(Audit):
    """Takes every error as a warning that something is left out, and tells the first ones.

    Attributes:
        errors_told: how many errors there were.
    """

    def __init__(self) -> None:
        super().__init__(strict=False)
        self.errors_told = 0
        self._more = 0

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
        if severity == "error":
            self.errors_told += 1
            message = f"{message}; {LEFT_OUT}"
        if len(self.findings) == MOST_FINDINGS:
            self._more += 1
            return
        found = found[:LONGEST_NAME]
        super().add("warning", code, element, line, message, found=found, allowed=allowed)

    def all(self) -> tuple[Finding, ...]:
        """Return the warnings in the order of the text."""
        if not self._more:
            return self.sorted()
        text = f"there are {self._more} more warnings of what the robot looks like"
        return (*self.sorted(), Finding("more-warnings", text, "warning"))
