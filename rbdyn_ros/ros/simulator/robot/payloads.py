# SPDX-License-Identifier: Apache-2.0
"""Change the payloads and the gravity of a simulated robot while it moves."""

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from rbdyn_ros.checks.names import chosen
from rbdyn_ros.dynamics.payload import with_payload
from rbdyn_ros.model.model import Model
from rbdyn_ros.ros.common.parsing import magnitudes
from rbdyn_ros.ros.simulator.topics.record import NodeRecorder
from rbdyn_ros.ros.simulator.topics.sensors import SensorTopics
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.sensors.scene import Payload

#: Payloads by link, and gravity.
SavedPayloads = tuple[dict[str, Payload], tuple[float, ...]]


class Payloads:
    """Changes payloads and gravity. Any thread may use it.

    Every change starts from the loaded Model. A reset of the loop keeps payloads and gravity;
    `restore` resets them.

    Args:
        loop: simulates the robot.
        sensors: the sensors of the robot, or None.
        recorder: records its Models, or None.

    Attributes:
        m: the Model with the present payloads and gravity.
        lock: held while the payloads or gravity change.
    """

    def __init__(
        self, loop: Loop, sensors: SensorTopics | None, recorder: NodeRecorder | None = None
    ) -> None:
        self._loop, self._sensors, self._recorder = loop, sensors, recorder
        self._payloads: dict[str, Payload] = {}
        self._gravity = self._loaded_gravity = tuple(loop.m.opt.gravity)
        self.lock = threading.Lock()
        self.m = loop.m

    def set_payload(
        self, link: str, mass: float, com: Sequence[float], inertia: Sequence[float]
    ) -> None:
        """Attach a payload to a link, in place of its last payload.

        Args:
            link: name of the link.
            mass: mass of the payload [kg]; 0: only remove the last payload.
            com: (3,) centre of mass in the link's frame [m].
            inertia: (6,) Ixx Iyy Izz Ixy Ixz Iyz about the com, in the link's axes [kg m^2].

        Raises:
            RbdynError: the link or the payload is refused, or the loop does not answer.
        """
        chosen([link], self.m.frame_names, "link", **magnitudes.REQUEST)
        magnitudes.check_magnitude("the payload", [mass, *com, *inertia], magnitudes.LARGEST_STATE)
        payload = link, mass, tuple(com), tuple(inertia)
        with self.lock:
            others = {name: p for name, p in self._payloads.items() if name != link}
            self._exchange({**others, link: payload}, self._gravity)

    def set_gravity(self, gravity: Sequence[float]) -> None:
        """Change gravity (3,), in world axes [m/s^2].

        Raises:
            RbdynError: gravity is refused, or the loop does not answer.
        """
        magnitudes.check_magnitude("gravity", gravity, magnitudes.LARGEST_GRAVITY)
        with self.lock:
            self._exchange(self._payloads, tuple(gravity))

    def restore(self) -> None:
        """Remove all payloads, and return to the gravity of the loaded robot.

        Raises:
            RbdynError: the loop does not answer.
        """
        with self.lock:
            if self._payloads or self._gravity != self._loaded_gravity:
                self._exchange({}, self._loaded_gravity)

    def saved(self) -> SavedPayloads:
        """Return the present payloads and gravity, for `load`."""
        with self.lock:
            return dict(self._payloads), self._gravity

    def load(self, saved: SavedPayloads) -> None:
        """Set the payloads and gravity that `saved` returned.

        Raises:
            RbdynError: the loop does not answer.
        """
        with self.lock:
            if saved != (self._payloads, self._gravity):
                self._exchange(*saved)

    def changes(self) -> bytes:
        """Return the payloads, and gravity if it has changed, as bytes; empty: as loaded."""
        with self.lock:
            payloads, gravity = sorted(self._payloads.items()), self._gravity
        parts = [
            link.encode() + b"\0" + _bytes(mass) + _bytes(com) + _bytes(inertia)
            for link, (_, mass, com, inertia) in payloads
        ]
        if gravity != self._loaded_gravity:
            parts.append(_bytes(gravity))
        return b"".join(parts)

    def fitted(self, base: Model) -> tuple[Model, dict[str, Payload]]:
        """Return a Model with the present gravity and payloads, and the payloads by link.

        Payloads of links that the Model lacks are left out. The caller holds `lock`, and keeps it
        until `use` if the loop continues with the new Model.

        Args:
            base: a Model without payloads.
        """
        known = set(base.frame_names)
        kept = {link: payload for link, payload in self._payloads.items() if link in known}
        return _loaded(base, kept, self._gravity), kept

    def use(self, m: Model, payloads: dict[str, Payload]) -> None:
        """Use the result of `fitted` from now on; drop the payloads of other links."""
        self.m, self._payloads = m, payloads

    def _exchange(self, payloads: dict[str, Payload], gravity: tuple[float, ...]) -> None:
        m = _loaded(self._loop.m, payloads, gravity)
        self._loop.plant.exchange(m)
        kept = {link: payload for link, payload in payloads.items() if payload[1] > 0.0}
        self._payloads, self._gravity, self.m = kept, gravity, m
        if self._sensors is not None:
            self._sensors.use(m, tuple(kept.values()))
        if self._recorder is not None:
            self._recorder.use(self._loop.plant.m)


def _loaded(base: Model, payloads: dict[str, Payload], gravity: tuple[float, ...]) -> Model:
    """Return a copy of the Model with payloads and gravity."""
    m = base.replaced()
    # sort the payloads, because the order of the sums changes the last bits
    for _, payload in sorted(payloads.items()):
        m = with_payload(m, *payload)
    m.opt.gravity = gravity
    return m


def _bytes(numbers: ArrayLike) -> bytes:
    return (np.asarray(numbers, np.float64) + 0.0).tobytes()  # adding 0 turns -0 into 0
