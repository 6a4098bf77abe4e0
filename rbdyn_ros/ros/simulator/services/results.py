# SPDX-License-Identifier: Apache-2.0
"""Offer services of simulation_interfaces, and convert errors to results."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from rclpy.node import Node

from rbdyn_ros.description.reading.xacro_files import NOT_FOR_OTHERS
from rbdyn_ros.errors import Finding, RbdynError, did_you_mean, quote
from rbdyn_ros.ros.common.graph.qos import SERVICES

#: Result codes that every service has.
FEATURE_UNSUPPORTED, NOT_FOUND, OPERATION_FAILED = 0, 2, 4

#: Sentences about a refused file, by the code of the first finding; for other codes the answer has
#: only the code.
OWN_WORDS = {
    "xacro-request": NOT_FOR_OTHERS,
    "is-world": "the SDF describes a world, not a robot; spawn its models one by one",
}

#: Fills in the response of a service; raises RbdynError to refuse the request.
Handler = Callable[[Any, Any], None]


class ResultError(RbdynError):
    """A refusal with a result code of simulation_interfaces."""

    def __init__(self, result: int, text: str) -> None:
        super().__init__(Finding("request", text))
        self.result = result


def check_entity(known: Collection[str], name: str) -> None:
    """Raise ResultError if no entity has this name.

    Args:
        known: the names of all entities.
        name: name in a request.
    """
    if name not in known:
        hint = did_you_mean(name, known)
        listed = ", ".join(f"'{one}'" for one in known) or "none"
        text = f"there is no entity {quote(name)}{hint}; the entities are {listed}"
        raise ResultError(NOT_FOUND, text)


def first_finding(error: RbdynError) -> str:
    """Return the first finding of an error with its line; if there are more, add their number."""
    first, more = error.findings[0], len(error.findings) - 1
    line = f"line {first.line}: " if first.line is not None else ""
    others = f" (and {more} more)" if more else ""
    return f"{line}{OWN_WORDS.get(first.code, first.message)}{others}"


def of_files(error: RbdynError, logger: Any) -> str:
    """Return line and code of an error about a requested file; log its first finding.

    The message of the finding may quote the file, which the client may not be allowed to read. For
    a code in OWN_WORDS, return that sentence and log nothing.
    """
    first = error.findings[0]
    if first.code in OWN_WORDS:
        return OWN_WORDS[first.code]
    line = f"line {first.line}: " if first.line is not None else ""
    where = f"{error.source}: " if error.source else ""
    text = f"a request was refused: {where}{first_finding(error)}"
    logger.warning(text)
    return f"{line}a file is refused with the code {first.code}; the simulator logged why"


def fill_result(result: Any, act: Callable[[], None]) -> bool:
    """Call `act` and fill in the result; return whether it succeeded.

    Args:
        result: simulation_interfaces/Result.
        act: raises RbdynError to refuse. The result is then RESULT_OPERATION_FAILED, or the code
            of a ResultError.
    """
    try:
        act()
    except RbdynError as error:
        result.result = getattr(error, "result", result.RESULT_OPERATION_FAILED)
        result.error_message = str(error)
        return False
    result.result, result.error_message = result.RESULT_OK, ""
    return True


class OfferedServices:
    """Offers services under `~/` of a node, except services whose types are not installed.

    Args:
        node: node that offers them.
        services: for each type, the function that answers and the names of its features.

    Attributes:
        features: names of the features of the offered services.
        missing: names of the services whose types are not installed.
    """

    def __init__(self, node: Node, services: Mapping[str, tuple[Handler, Sequence[str]]]) -> None:
        from simulation_interfaces import srv

        self.features, self.missing = list[str](), list[str]()
        for kind, (handler, features) in services.items():
            name = "".join(f"_{c.lower()}" if c.isupper() else c for c in kind).lstrip("_")
            if not hasattr(srv, kind):
                self.missing.append(name)
                continue
            answer = _answering(handler)
            node.create_service(getattr(srv, kind), f"~/{name}", answer, qos_profile=SERVICES)
            self.features += features


def _answering(handler: Handler) -> Callable[[Any, Any], Any]:
    def on_request(request: Any, response: Any) -> Any:
        fill_result(response.result, lambda: handler(request, response))
        return response

    return on_request
