# SPDX-License-Identifier: Apache-2.0
"""Convert errors of the library to responses of services and lines in the log.

Code behind a topic, service or action raises RbdynError to refuse. Only this module catches it.
"""

import time
from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node

from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.common.graph.qos import SERVICES, reliable
from rbdyn_ros.ros.common.reports.throttle import Throttle


def attempt(act: Callable[[], str | None]) -> tuple[bool, str]:
    """Call `act`; return whether it succeeded, and its message or the reason for its refusal.

    Args:
        act: returns a message about its success, or None; raises RbdynError to refuse.
    """
    try:
        return True, act() or ""
    except RbdynError as error:
        return False, str(error)


def serve(node: Node, kind: Any, name: str, act: Callable[[Any, Any], str | None]) -> None:
    """Offer a service whose response has `success` and `message`.

    Args:
        node: node that offers it.
        kind: type of the service.
        name: name of the service.
        act: called with the request and the response, whose other fields it may fill; returns a
            message about its success, or None; raises RbdynError to refuse.
    """
    node.create_service(kind, name, answered(act), qos_profile=SERVICES)


def answered(act: Callable[[Any, Any], str | None]) -> Callable[[Any, Any], Any]:
    """Return the callback of a service whose response has `success` and `message`, see `serve`."""

    def on_request(request: Any, response: Any) -> Any:
        response.success, response.message = attempt(lambda: act(request, response))
        return response

    return on_request


def parameters_result(act: Callable[[], None]) -> SetParametersResult:
    """Call `act`, which raises RbdynError to refuse a change of parameters; return the result."""
    done, why = attempt(act)
    return SetParametersResult(successful=done, reason=why)


class MessageLog:
    """Counts accepted and rejected messages; logs at most one rejection per topic and second.

    Args:
        warn: logs a line.

    Attributes:
        accepted: number of accepted messages on all topics.
    """

    def __init__(self, warn: Callable[[str], object]) -> None:
        self._warn = warn
        self.accepted = 0
        self._rejected: dict[str, Throttle] = {}

    @property
    def rejected(self) -> int:
        """Number of rejected messages on all topics."""
        return sum(throttle.count for throttle in self._rejected.values())

    def reject(self, topic: str, why: str) -> None:
        """Count a rejected message; log it unless its topic had a log line just before."""
        throttle = self._rejected.setdefault(topic, Throttle())
        if throttle.due(time.monotonic()):
            self._warn(f"refused a message on {topic}: {why} (refused so far: {throttle.count})")

    def subscribe(
        self,
        node: Node,
        kind: Any,
        topic: str,
        take: Callable[[Any], object],
        depth: int = 10,
        **more: Any,
    ) -> None:
        """Subscribe to a topic with a queue of `depth` messages.

        `take` is as for `receiver`; `more` are arguments of `node.create_subscription`.
        """
        receive = self.receiver(topic, take)
        node.create_subscription(kind, topic, receive, reliable(depth), **more)

    def receiver(self, topic: str, take: Callable[[Any], object]) -> Callable[[Any], None]:
        """Return the callback of a subscription.

        Args:
            topic: name of the topic for the log.
            take: is called with each message; raises RbdynError to refuse it.
        """

        def receive(message: Any) -> None:
            self.passed(topic, take, message)

        return receive

    def passed(self, topic: str, take: Callable[[Any], object], message: Any) -> bool:
        """Call `take` with a message; return whether it was accepted. See `receiver`."""
        try:
            take(message)
        except RbdynError as error:
            self.reject(topic, str(error))
            return False
        self.accepted += 1
        return True
