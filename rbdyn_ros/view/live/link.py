# SPDX-License-Identifier: Apache-2.0
"""The protocol between a view and a simulation in another process: requests and answers on pipes.

The view sends requests and the simulation answers. There are two pipes, so that slow requests
(QUEUED) do not delay quick requests (PROMPT).
"""

import contextlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.sensors.sights import Sight

Numbers = Sequence[float]

#: Names of the requests on each pipe.
PROMPT = frozenset({"instants", "recast", "sights", "push", "pull", "drive", "release"})
QUEUED = frozenset({"pause", "step", "reset", "set_speed"})
#: Reports of the view, which get no answer: its address, a warning, or why it cannot serve.
SERVING, WARNED, FAILED = "serving", "warned", "failed"
#: Largest request [bytes].
MOST_BYTES = 1 << 22


class Simulated(Protocol):
    """Interface of a simulation for a view. Orders return the reason of a refusal, or ""."""

    def instants(self, energy: bool = False) -> list[Instant]:
        """Return the present instants of all robots; `energy`: include their energies."""

    def recast(self, robot: int) -> "Cast | None":
        """Return a robot whose objects have changed; None: it must be requested again later."""

    def sights(self, robot: int) -> list[Sight]:
        """Return the latest readings of a robot's lidars and cameras, and keep them measuring."""

    def pause(self, paused: bool) -> str:
        """Pause the simulation, or continue it if `paused` is false."""

    def step(self, ticks: int) -> str:
        """Run some ticks of a paused simulation."""

    def reset(self) -> str:
        """Return all robots to their initial state, at rest."""

    def set_speed(self, factor: float) -> str:
        """Set the simulated seconds per second."""

    def push(
        self,
        robot: int,
        link: str,
        point: Numbers,
        force: Numbers,
        torque: Numbers,
        duration: float,
    ) -> str:
        """Apply a wrench to a link; it replaces the last wrench from the view.

        Args:
            robot: number of the robot.
            link: name of the link.
            point: (3,) point of application in the frame of the link [m].
            force: (3,) force in world axes [N].
            torque: (3,) torque about the point, in world axes [N m].
            duration: duration in simulated time [s].
        """

    def pull(self, robot: int, link: str, point: Numbers, goal: Numbers, duration: float) -> str:
        """Pull a link by a spring that suits its inertia; this replaces the last pull of the view.

        Args:
            robot: number of the robot.
            link: name of the link.
            point: (3,) point of the link, in the frame of the link [m].
            goal: (3,) goal of this point in the world [m]; or (9,) goal of the link's orientation,
                row by row; empty: end the pull.
            duration: duration in simulated time [s].
        """

    def drive(
        self, robot: int, efforts: Mapping[str, float], positions: Mapping[str, float]
    ) -> str:
        """Command joints by name: efforts [N m, N], and positions [rad, m] that servos hold.

        The commands expire unless the order is repeated.
        """

    def release(self, robot: int) -> str:
        """End the commands of `drive`; without such commands, stop holding the robot."""


@dataclass(frozen=True, slots=True)
class Cast:
    """A robot to show, as the simulation sends it to the process of the view.

    Attributes:
        name: name of the robot if there are several; "" for a single robot.
        description: description of the robot.
        floating_base: as for rb.load.
        strict: as for rb.load.
        text: URDF text, for the robot's appearance; "": the robot has another format.
        path: file of the robot; None: the robot was given as text.
        package_dirs: folders to search for the packages of its meshes.
        imports: Python files of the user that register its joint types and motions.
        timestep: duration of a tick [s].
        joints: joints that accept commands.
        command_timeout: age at which a command expires [s].
        time_mode: realtime, lockstep or fast.
        speed: requested simulated seconds per second.
        refusals: for each order that is never accepted, the reason.
        world: value of Instant.world for this description.
        sees: whether it has lidars, range sensors or cameras.
        start: how the robot is held until its first command; "": it is not held.
        idle: text about the joints without commands; "": no effort acts on them.
    """

    name: str
    description: Description
    floating_base: bool | str = False
    strict: bool = True
    text: str = ""
    path: Path | None = None
    package_dirs: tuple[str | Path, ...] = ()
    imports: tuple[Path, ...] = ()
    timestep: float = 1e-3
    joints: tuple[str, ...] = ()
    command_timeout: float = 0.1
    time_mode: str = "realtime"
    speed: float = 1.0
    refusals: Mapping[str, str] = field(default_factory=dict)
    world: int = 0
    sees: bool = False
    start: str = ""
    idle: str = ""

    @property
    def folder(self) -> Path | None:
        """Folder of the robot file, to which paths of meshes are relative; None without a file."""
        return None if self.path is None else self.path.parent


class Remote:
    """A Simulated at the other end of two pipes, in another process; thread-safe.

    Each method of Simulated is a request of the same name.

    Args:
        prompt: pipe for requests that are answered at once.
        queued: pipe for requests that may have to wait for the loop.

    Raises:
        EOFError, OSError: from every method, if the other process has ended.
    """

    def __init__(self, prompt: Connection, queued: Connection) -> None:
        self._pipes = dict.fromkeys(PROMPT, prompt) | dict.fromkeys(QUEUED, queued)
        self._locks = {id(pipe): threading.Lock() for pipe in (prompt, queued)}

    def __getattr__(self, what: str) -> Callable[..., Any]:
        if what not in PROMPT | QUEUED:
            raise AttributeError(f"there is no request {what}")
        return partial(self._ask, what)

    def _ask(self, what: str, *arguments: Any) -> Any:
        """Send a request with its arguments; return the answer."""
        pipe = self._pipes[what]
        with self._locks[id(pipe)]:
            pipe.send_bytes(json.dumps((what, arguments)).encode())
            return pipe.recv()

    def tell(self, what: str, about: str) -> None:
        """Send a report: SERVING with the address, WARNED with a warning, FAILED with a reason."""
        pipe = self._pipes["instants"]
        with self._locks[id(pipe)]:
            pipe.send_bytes(json.dumps((what, about)).encode())


def serve(
    pipe: Connection, simulated: Simulated, heard: Callable[[str, str], None] | None = None
) -> None:
    """Answer the requests on a pipe until the other end closes it or sends an invalid request.

    The network can reach the process of the view, so its messages are never unpickled.

    Args:
        pipe: one of the two pipes.
        simulated: the simulation.
        heard: called with the reports of the view; None: reports are dropped.
    """
    with contextlib.suppress(EOFError, OSError, ValueError, TypeError, RecursionError):
        while True:
            what, arguments = json.loads(pipe.recv_bytes(MOST_BYTES))
            if what not in (SERVING, WARNED, FAILED):
                pipe.send(answered(simulated, what, arguments))
            elif heard is not None:
                heard(what, arguments)


def answered(simulated: Simulated, what: str, arguments: Sequence[Any]) -> Any:
    """Return the answer to a request; catch every exception.

    After an exception, the answer to an order is a refusal, and the answer to a query is empty.
    """
    if not isinstance(what, str) or what not in PROMPT | QUEUED:
        return f"there is no request '{what}'"
    try:
        return getattr(simulated, what)(*arguments)
    except Exception as error:  # noqa: BLE001 - the message is shown in the view
        nothing: dict[str, Any] = {"instants": [], "recast": None, "sights": []}
        return nothing.get(what, f"{what} failed: {error!r}")
