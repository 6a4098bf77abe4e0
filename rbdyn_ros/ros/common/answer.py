"""The edge between the library and ROS: an error becomes `success, message`, or a line of the log.

Code behind a topic, service or action raises RbdynError to refuse. Only here is it caught.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rbdyn_ros.errors import RbdynError
from rbdyn_ros.ros.common.throttle import Throttle


def attempt(act: Callable[[], str | None]) -> tuple[bool, str]:
    """Return whether an action succeeded, and its message or the reason why it is refused.

    Args:
        act: returns the message of its success, or None; raises RbdynError to refuse.
    """
    try:
        return True, act() or ""
    except RbdynError as error:
        return False, str(error)


def answer(response: Any, act: Callable[[], str | None]) -> Any:
    """Fill `success` and `message` of the response to a service; return the response.

    Args:
        response: of the service; `act` may fill its other fields.
        act: as for `attempt`.
    """
    response.success, response.message = attempt(act)
    return response


class MessageLog:
    """Counts messages that were accepted and rejected; logs one rejection per topic and second.

    Args:
        warn: logs a line.

    Attributes:
        accepted: number of commands.
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
        """Count a rejected message and log it, unless another of its topic was just logged."""
        throttle = self._rejected.setdefault(topic, Throttle())
        if throttle.due(time.monotonic()):
            self._warn(f"refused a message on {topic}: {why} (refused so far: {throttle.count})")

    def receiver(self, topic: str, take: Callable[[Any], object]) -> Callable[[Any], None]:
        """Return the callback of a subscription.

        Args:
            topic: name in the log.
            take: is called with each message; raises RbdynError to refuse it.
        """

        def receive(message: Any) -> None:
            try:
                take(message)
            except RbdynError as error:
                self.reject(topic, str(error))

        return receive
