"""What a view asks of a simulation in another process, and how: requests and answers on a pipe.

The view pulls: nothing is sent that was not asked for. There are two pipes, since what may take
its time (QUEUED) must not hold up what may not (PROMPT).
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from rbdyn_ros.description.types import Description
from rbdyn_ros.dynamics.instant import Instant

Numbers = Sequence[float]

#: Requests by the pipe they come on.
PROMPT = frozenset({"instants", "push", "drive", "release"})
QUEUED = frozenset({"pause", "step", "reset", "set_speed"})
#: What the view says of itself; nobody answers: where it serves, what it cannot show, or why it
#: cannot serve.
SERVING, WARNED, FAILED = "serving", "warned", "failed"
#: Of a request [bytes].
MOST_BYTES = 1 << 22


class Simulated(Protocol):
    """A simulation as a view needs it. Every order returns why it is refused, or nothing."""

    def instants(self, energy: bool = False) -> list[Instant]:
        """Return all robots as they are now, with their energies if they are wanted."""

    def pause(self, paused: bool) -> str:
        """Let time stand, or go on."""

    def step(self, ticks: int) -> str:
        """Make ticks while time stands."""

    def reset(self) -> str:
        """Put all robots where they began, at rest."""

    def set_speed(self, factor: float) -> str:
        """Let so many simulated seconds pass in one."""

    def push(
        self,
        robot: int,
        link: str,
        point: Numbers,
        force: Numbers,
        torque: Numbers,
        duration: float,
    ) -> str:
        """Let a wrench act on a link, in the place of the last one from here.

        Args:
            robot: its number.
            link: its name.
            point: (3,) where the force acts, in the frame of the link [m].
            force: (3,) in world axes [N].
            torque: (3,) about the point, in world axes [N m].
            duration: how long it acts [simulated s].
        """

    def drive(self, robot: int, efforts: Mapping[str, float]) -> str:
        """Let efforts act on the named joints [N m or N]; they fade unless this is repeated."""

    def release(self, robot: int) -> str:
        """Take back the efforts that were given last."""


@dataclass(frozen=True, slots=True)
class Cast:
    """A robot that the view is to show, as it travels to another process.

    Attributes:
        name: among several; empty if it is the only one.
        description: as its reader made it.
        floating_base: as for rb.load.
        strict: likewise.
        text: URDF, for its looks; empty if it is of another kind of file.
        path: of the file it came from, which may not be text; None if it came as text.
        imports: files of the user that register its joint types and motions.
        timestep: from one tick to the next [s].
        joints: that take efforts.
        command_timeout: age at which an effort is given up [s].
        time_mode: realtime, lockstep or fast.
        speed: simulated seconds in one, as asked for.
        refusals: why some order is never taken, a sentence by its name.
    """

    name: str
    description: Description
    floating_base: bool | str = False
    strict: bool = True
    text: str = ""
    path: Path | None = None
    imports: tuple[Path, ...] = ()
    timestep: float = 1e-3
    joints: tuple[str, ...] = ()
    command_timeout: float = 0.1
    time_mode: str = "realtime"
    speed: float = 1.0
    refusals: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path | None:
        """Folder of the file it came from; names of meshes may be relative to it."""
        return None if self.path is None else self.path.parent


class Remote:
    """A Simulated in another process, at the other end of two pipes; for any thread.

    Args:
        prompt: for requests that are answered at once.
        queued: for those that may wait for the loop.

    Raises:
        EOFError, OSError: by every method, if the other process has gone.
    """

    def __init__(self, prompt: Connection, queued: Connection) -> None:
        self._pipes = dict.fromkeys(PROMPT, prompt) | dict.fromkeys(QUEUED, queued)
        self._locks = {id(pipe): threading.Lock() for pipe in (prompt, queued)}

    def _ask(self, what: str, *arguments: Any) -> Any:
        pipe = self._pipes[what]
        with self._locks[id(pipe)]:
            pipe.send_bytes(json.dumps((what, arguments)).encode())
            return pipe.recv()

    def tell(self, what: str, about: str) -> None:
        """Say something of the view itself: SERVING and where, WARNED of what, FAILED and why."""
        pipe = self._pipes["instants"]
        with self._locks[id(pipe)]:
            pipe.send_bytes(json.dumps((what, about)).encode())

    def instants(self, energy: bool = False) -> list[Instant]:
        found: list[Instant] = self._ask("instants", energy)
        return found

    def pause(self, paused: bool) -> str:
        return str(self._ask("pause", paused))

    def step(self, ticks: int) -> str:
        return str(self._ask("step", ticks))

    def reset(self) -> str:
        return str(self._ask("reset"))

    def set_speed(self, factor: float) -> str:
        return str(self._ask("set_speed", factor))

    def push(
        self,
        robot: int,
        link: str,
        point: Numbers,
        force: Numbers,
        torque: Numbers,
        duration: float,
    ) -> str:
        return str(self._ask("push", robot, link, point, force, torque, duration))

    def drive(self, robot: int, efforts: Mapping[str, float]) -> str:
        return str(self._ask("drive", robot, dict(efforts)))

    def release(self, robot: int) -> str:
        return str(self._ask("release", robot))


def serve(
    pipe: Connection, simulated: Simulated, heard: Callable[[str, str], None] | None = None
) -> None:
    """Answer the requests on a pipe until the other end has gone, or says what is none.

    The view hears the network, so nothing that it says is unpickled.

    Args:
        pipe: one of the two.
        simulated: is asked.
        heard: told what the view says of itself.
    """
    with contextlib.suppress(EOFError, OSError, ValueError, TypeError, RecursionError):
        while True:
            what, arguments = json.loads(pipe.recv_bytes(MOST_BYTES))
            if what not in (SERVING, WARNED, FAILED):
                pipe.send(answered(simulated, what, arguments))
            elif heard is not None:
                heard(what, arguments)


def answered(simulated: Simulated, what: str, arguments: Sequence[Any]) -> Any:
    """Return the answer to a request; one that goes wrong must end neither process."""
    if not isinstance(what, str) or what not in PROMPT | QUEUED:
        return f"there is no request '{what}'"
    try:
        return getattr(simulated, what)(*arguments)
    except Exception as error:  # noqa: BLE001 - the sentence is shown to who asked
        return [] if what == "instants" else f"{what} failed: {error!r}"
