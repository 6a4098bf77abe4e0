# SPDX-License-Identifier: Apache-2.0
"""Collect errors in the appearance of a robot as warnings, which never make a load fail."""

from dataclasses import replace

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.meshes.meshes import LEFT_OUT
from rbdyn_ros.errors import Finding

#: Maximum number of warnings.
MOST_FINDINGS = 50
#: Strings from the robot, such as names of meshes, are cut to this length [characters].
LONGEST_NAME = 200


class CountingAudit(Audit):
    """An Audit that counts its errors.

    Attributes:
        error_count: number of errors.
    """

    def __init__(self, *, strict: bool = True) -> None:
        super().__init__(strict=strict)
        self.error_count = 0

    def take(self, finding: Finding) -> None:
        self.error_count += finding.severity == "error"
        super().take(finding)

    def all(self) -> tuple[Finding, ...]:
        """Return the findings that are reported, in the order of their lines."""
        return self.sorted()


class OnlyWarnings(CountingAudit):
    """An Audit that converts errors to warnings and keeps the first MOST_FINDINGS."""

    def __init__(self) -> None:
        super().__init__(strict=False)
        self._more = 0

    def take(self, finding: Finding) -> None:
        message = finding.message
        if finding.severity == "error":
            self.error_count += 1
            message = f"{message}; {LEFT_OUT}"
        if len(self.findings) == MOST_FINDINGS:
            self._more += 1
            return
        found = finding.found[:LONGEST_NAME]
        super().take(replace(finding, severity="warning", message=message, found=found))

    def all(self) -> tuple[Finding, ...]:
        if not self._more:
            return self.sorted()
        text = f"{self._more} more warnings about the appearance of the robot are not shown"
        return (*self.sorted(), Finding("more-warnings", text, "warning"))
