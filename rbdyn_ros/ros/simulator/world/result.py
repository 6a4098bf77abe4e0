"""Results of simulation_interfaces: an error becomes a result code and a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rbdyn_ros.description.reading.xacro_files import NOT_FOR_OTHERS
from rbdyn_ros.errors import Finding, RbdynError


class ResultError(RbdynError):
    """A refusal with a result code of simulation_interfaces."""

    def __init__(self, result: int, text: str) -> None:
        super().__init__(Finding("request", text))
        self.result = result


def first_finding(error: RbdynError) -> str:
    """Return the first finding of an error with its line, and how many more there are."""
    first, more = error.findings[0], len(error.findings) - 1
    line = f"line {first.line}: " if first.line is not None else ""
    others = f" (and {more} more)" if more else ""
    return f"{line}{first.message}{others}"


def of_files(error: RbdynError, logger: Any) -> str:
    """Return the first finding of an error about files that a request names; log all of it.

    The words of the finding may quote what is in the files, which the caller may not read.
    """
    first = error.findings[0]
    if first.code == "xacro-request":
        return NOT_FOR_OTHERS
    line = f"line {first.line}: " if first.line is not None else ""
    where = f"{error.source}: " if error.source else ""
    text = f"a request was refused: {where}{first_finding(error)}"
    logger.warning(text)
    return f"{line}a file is refused with the code {first.code}; the simulator logged why"


def fill_result(result: Any, act: Callable[[], None]) -> bool:
    """Do an action and fill in its result; return whether it succeeded.

    Args:
        result: simulation_interfaces/Result.
        act: raises RbdynError to refuse; the result is RESULT_OPERATION_FAILED unless it is a
            ResultError.
    """
    try:
        act()
    except RbdynError as error:
        result.result = getattr(error, "result", result.RESULT_OPERATION_FAILED)
        result.error_message = str(error)
        return False
    result.result, result.error_message = result.RESULT_OK, ""
    return True
