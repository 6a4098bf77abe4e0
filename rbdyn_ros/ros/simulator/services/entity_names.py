"""The names of entities in requests."""

from __future__ import annotations

from rbdyn_ros.errors import did_you_mean, quote
from rbdyn_ros.ros.simulator.robot.named_entities import NamedEntities
from rbdyn_ros.ros.simulator.world.result import ResultError

#: Result of every service.
NOT_FOUND = 2


def check_entity(entities: NamedEntities, name: str) -> None:
    """Raise ResultError if there is no entity of this name."""
    known = entities.names()
    if name not in known:
        hint = did_you_mean(name, known)
        listed = ", ".join(f"'{one}'" for one in known) or "none"
        text = f"there is no entity {quote(name)}{hint}; the entities are {listed}"
        raise ResultError(NOT_FOUND, text)
