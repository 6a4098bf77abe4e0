"""What of a robot may be exchanged while it moves: its payloads and gravity."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

from rbdyn_ros.dynamics.payload import with_payload
from rbdyn_ros.errors import RbdynError, did_you_mean, quote
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.unfit import LARGEST_GRAVITY, LARGEST_STATE, unfit
from rbdyn_ros.runtime.runtime import SILENT, Runtime
from rbdyn_ros.sensors.scene import Payload


class Measures(Protocol):
    """What has to know of it too."""

    def use(self, plant: Model, payloads: Sequence[Payload]) -> None:
        """Measure on this robot from now on."""


class Plant:
    """The robot that moves, made anew for each change from the one that was loaded.

    Args:
        runtime: simulates it.
        sensors: measure on it.

    Attributes:
        m: the Model that moves.
    """

    def __init__(self, runtime: Runtime, sensors: Measures | None) -> None:
        self._runtime, self._sensors = runtime, sensors
        self._payloads: dict[str, Payload] = {}
        self._gravity = tuple(runtime.m.opt.gravity)
        self._lock = threading.Lock()
        self.m = runtime.m

    def set_payload(
        self, link: str, mass: float, com: Sequence[float], inertia: Sequence[float]
    ) -> str:
        """Fix a rigid body to a link, in the place of the one there; mass 0 takes that away.

        Args:
            link: its name.
            mass: [kg].
            com: (3,) centre of mass in the link's frame [m].
            inertia: (6,) Ixx Iyy Izz Ixy Ixz Iyz about it, in the link's axes [kg m^2].

        Returns:
            Why it is refused, or nothing.
        """
        if link not in self.m.frame_numbers:
            hint = did_you_mean(link, self.m.frame_names)
            return f"there is no frame {quote(link)}{hint}"
        refusal = unfit("the payload", [mass, *com, *inertia], LARGEST_STATE)
        if refusal:
            return refusal
        others = {name: p for name, p in self._payloads.items() if name != link}
        payload = link, mass, tuple(com), tuple(inertia)
        return self._exchange({**others, link: payload}, self._gravity)

    def set_gravity(self, gravity: Sequence[float]) -> str:
        """Change gravity (3,), in the world [m/s^2]; return why it is refused, or nothing."""
        why = unfit("gravity", gravity, LARGEST_GRAVITY)
        return why or self._exchange(self._payloads, tuple(gravity))

    def _exchange(self, payloads: dict[str, Payload], gravity: tuple[float, ...]) -> str:
        with self._lock:
            try:
                m = self._runtime.m.replaced()
                for payload in payloads.values():
                    m = with_payload(m, *payload)
                m.opt.gravity = gravity
            except RbdynError as error:
                return str(error)
            if not self._runtime.set_plant(m):
                return SILENT
            kept = {link: payload for link, payload in payloads.items() if payload[1] > 0.0}
            self._payloads, self._gravity, self.m = kept, gravity, m
            if self._sensors is not None:
                self._sensors.use(m, tuple(kept.values()))
            return ""
