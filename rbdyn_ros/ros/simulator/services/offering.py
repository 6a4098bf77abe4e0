"""Offer services of simulation_interfaces whose types may not be installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rclpy.node import Node

from rbdyn_ros.ros.common.qos import SERVICES
from rbdyn_ros.ros.simulator.world.result import fill_result

#: Fills in the response of a service; raises RbdynError to refuse the request.
Handler = Callable[[Any, Any], None]


def offer(
    node: Node, features: Mapping[str, Sequence[str]], handlers: Mapping[str, Handler]
) -> list[str]:
    """Offer services under `~/` of a node, and return the features of those that are offered.

    Args:
        node: offers them.
        features: names of the features of each type of a service.
        handlers: of each type; one that is not installed is left out.
    """
    from simulation_interfaces import srv

    offered = list[str]()
    for kind, handler in handlers.items():
        if hasattr(srv, kind):
            name, answer = service_name(kind), _answering(handler)
            node.create_service(getattr(srv, kind), f"~/{name}", answer, qos_profile=SERVICES)
            offered += features[kind]
    return offered


def service_name(kind: str) -> str:
    """Return the name of the service of a type: spawn_entity for SpawnEntity."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in kind).lstrip("_")


def _answering(handler: Handler) -> Callable[[Any, Any], Any]:
    def on_request(request: Any, response: Any) -> Any:
        fill_result(response.result, lambda: handler(request, response))
        return response

    return on_request
