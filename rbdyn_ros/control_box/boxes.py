# SPDX-License-Identifier: Apache-2.0
"""Boxes of a simulation, made from their names and run in threads, with or without ROS."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.names import chosen, one_of
from rbdyn_ros.checks.numbers import as_number, count, finite
from rbdyn_ros.control_box.arm import BoxedJoints, with_rotors
from rbdyn_ros.control_box.box import ControlBox, WireFaults, without_channel
from rbdyn_ros.control_box.sockets import check_address
from rbdyn_ros.description.parts.types import Description
from rbdyn_ros.description.source import opened
from rbdyn_ros.errors import quote, refusal, shown
from rbdyn_ros.loading.load import load
from rbdyn_ros.model.declared.model_fields import PRIMARY
from rbdyn_ros.model.model import Model, with_arrays
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.realtime import MODES, Mode
from rbdyn_ros.runtime.settings import FAST, FLOATS, LOCKSTEP, MODES_OF_TIME, LoopSettings
from rbdyn_ros.runtime.types import Faults

if TYPE_CHECKING:
    from typing_extensions import Self

_NAMED = re.compile(r"(?:(?P<prefix>.+)/)?(?P<kind>[a-z]+)(?:@(?P<address>[0-9.]+))?")


@dataclass(frozen=True, slots=True)
class BoxKind:
    """A kind of control box.

    Attributes:
        name: name in files, such as franka in `box: franka`.
        arm: function that finds the arm in a Model, given the description and a prefix.
        box: function that makes the box for a loop and an arm.
        joints: endings of the names of the arm's joints.
        ready: a usual pose of the arm [rad].
        check_tick: function that raises RbdynError unless the box can work at this period of a
            loop [ns].
    """

    name: str
    arm: Callable[[Model, Description, str], Any]
    box: Callable[..., ControlBox]
    joints: re.Pattern[str]
    ready: tuple[float, ...]
    check_tick: Callable[[int], None]


def _franka() -> BoxKind:
    from rbdyn_ros.control_box.franka import arm
    from rbdyn_ros.control_box.franka.box import FrankaBox, check_tick

    return BoxKind("franka", arm.FrankaArm, FrankaBox, arm.ARM_JOINT, arm.READY, check_tick)


def _ur() -> BoxKind:
    from rbdyn_ros.control_box.ur import arm
    from rbdyn_ros.control_box.ur.box import UrBox, check_tick

    return BoxKind("ur", arm.UrArm, UrBox, arm.ARM_JOINT, arm.READY, check_tick)


#: The kinds of boxes; a simulator without a box does not import their modules.
KINDS = {"franka": _franka, "ur": _ur}


@dataclass(frozen=True, slots=True)
class BoxName:
    """A box, its arm, and the address at which it listens.

    Attributes:
        prefix: prefix of the names of the arm's joints; empty: the Model has only one arm.
        kind: kind of the box.
        address: an IPv4 address.
    """

    prefix: str
    kind: BoxKind
    address: str

    @staticmethod
    def parsed(text: str) -> "BoxName":
        """Return the box of a name [ROBOT/]KIND[@ADDRESS].

        Raises:
            RbdynError: the text has another form.
        """
        found = _NAMED.fullmatch(text)
        if found is None or found["kind"] not in KINDS:
            kinds = " or ".join(KINDS)
            raise refusal(
                f"{quote(text)} is not a control box; expected {kinds}, or with an address "
                "franka@127.0.0.2, or with the robot of a scene left/franka@127.0.0.2"
            )
        prefix = f"{found['prefix']}/" if found["prefix"] else ""
        return BoxName(prefix, KINDS[found["kind"]](), found["address"] or "127.0.0.1")

    def at(self, address: str) -> str:
        """Return the name of the same box at another address."""
        return f"{self.prefix}{self.kind.name}@{address}"

    def arm(self, m: Model, description: Description) -> BoxedJoints:
        """Return the arm of the box in a Model.

        Raises:
            RbdynError: the Model has no such arm.
        """
        found: BoxedJoints = self.kind.arm(m, description, self.prefix)
        return found


def equipped(m: Model, boxes: Sequence[str]) -> Model:
    """Return the Model for a simulation with boxes, where all arm joints have rotor inertia."""
    for text in boxes:
        name = BoxName.parsed(text)
        m = with_rotors(m, name.prefix, name.kind.joints)
    return m


def ready(m: Model, description: Description, boxes: Sequence[str]) -> Array:
    """Return m.qpos0 (nq,) with the arms of boxes in a usual pose.

    Raises:
        RbdynError: a name or an arm is refused.
    """
    qpos: Array = m.qpos0.copy()
    for text in boxes:
        box = BoxName.parsed(text)
        qpos[box.arm(m, description).qposadr] = box.kind.ready
    return qpos


def behind_boxes(m: Model, description: Description, boxes: Sequence[str]) -> Model:
    """Return the Model for a simulation with boxes, which starts in a usual pose of the arms.

    Raises:
        RbdynError: a name or an arm is refused.
    """
    m = equipped(m, boxes)
    kept = {name: getattr(m, name) for name in PRIMARY}
    return with_arrays(m, kept | {"qpos0": ready(m, description, boxes)})


def boxed(
    settings: LoopSettings, m: Model, description: Description, boxes: Sequence[str]
) -> LoopSettings:
    """Return the settings of a loop that boxes pace.

    In lock-step each tick waits for the boxes. In real time their joints are held until the boxes
    give their first torques.

    Args:
        settings: settings of the loop; each tick also waits for commands to their `lockstep_dofs`.
        m: Model made with `equipped`.
        description: description of its robots.
        boxes: see BoxName.

    Raises:
        RbdynError: a name or an arm is refused.
    """
    own = [BoxName.parsed(text).arm(m, description).driven for text in boxes]
    others = [] if settings.lockstep_dofs is None else [settings.lockstep_dofs]
    locked = settings.time_mode == MODES_OF_TIME[LOCKSTEP]
    held = np.zeros(m.nv, np.int64) if settings.held is None else settings.held.copy()
    if not locked:
        held[np.concatenate(own)] = FLOATS
    return replace(
        settings,
        lockstep_dofs=np.unique(np.concatenate([*own, *others])),
        lockstep_timeout=0.0,
        locked=locked,
        hand_over_every=1,
        held=held,
    )


def _parsed(names: Sequence[str]) -> list[BoxName]:
    """Return the boxes of names; raise RbdynError if two of them name the same arm."""
    found = [BoxName.parsed(text) for text in names]
    prefixes = [name.prefix for name in found]
    for prefix in prefixes:
        if prefixes.count(prefix) > 1:
            arm = f"robot {quote(prefix.removesuffix('/'))}" if prefix else "the arm"
            raise refusal(f"{arm} has several control boxes; expected one")
    return found


class Boxes:
    """All boxes of a loop.

    Args:
        names: see BoxName.
        loop: loop with a Model made with `equipped` and settings made with `boxed`.
        description: description of its robots.
        patience: in lock-step, how long a cycle waits for a client [s].
        log, warn: called with messages, in any thread.
        anywhere: whether addresses outside the loopback range are allowed.

    Attributes:
        by_prefix: the boxes by the prefix of their arm's joints, see BoxName.

    Raises:
        RbdynError: a name, an arm, an address or a port is refused.
    """

    def __init__(
        self,
        names: Sequence[str],
        loop: Loop,
        description: Description,
        patience: float,
        log: Callable[[str], object],
        warn: Callable[[str], object],
        anywhere: bool = False,
    ) -> None:
        self._loop = loop
        self.by_prefix: dict[str, ControlBox] = {}
        try:
            for number, name in enumerate(_parsed(names)):
                if warning := check_address(name.address, anywhere):
                    warn(warning)
                arm, peers = name.arm(loop.m, description), self.by_prefix.values()
                box = name.kind.box(loop, arm, name.address, log, patience, peers, number)
                self.by_prefix[name.prefix] = box
        except Exception:
            self.close()
            raise

    @property
    def all(self) -> tuple[ControlBox, ...]:
        """The boxes, in the order of their names."""
        return tuple(self.by_prefix.values())

    def start(self) -> None:
        """Start the threads of the boxes."""
        for box in self.all:
            box.start()

    def take_faults(self, faults: Faults, double: float) -> Faults:
        """Apply the faults of the channel to the wires; return the other faults, for the loop.

        `double` is the probability that a packet comes twice.
        """
        for box in self.all:
            box.wire = WireFaults.of(faults, double, self._loop.period_ns)
        return without_channel(faults) if self.all else faults

    def check(self) -> None:
        """Raise the error that ended the thread of a box."""
        for box in self.all:
            if box.failure is not None:
                raise box.failure

    def close(self) -> None:
        """End the boxes."""
        for box in self.all:
            box.close()


class BoxedLoop:
    """A simulation behind control boxes, without ROS; the sockets are open from the start.

    Args:
        m: Model made with `equipped`.
        description: description of its robots.
        boxes: see BoxName.
        settings: settings of the loop without boxes.
        start: (nq,) position at the start.
        patience: in lock-step, how long a cycle waits for the client's command [s]; may be inf.
        log: called with messages, in the thread of a box.

    Attributes:
        loop: the simulation.
        boxes: the open boxes of the simulation.

    Raises:
        RbdynError: the robot has no such arm, or a box is refused.
    """

    def __init__(
        self,
        m: Model,
        description: Description,
        boxes: Sequence[str],
        settings: LoopSettings,
        start: Array,
        patience: float,
        log: Callable[[str], object],
    ) -> None:
        self.loop, self._log = Loop(m, boxed(settings, m, description, boxes), start), log
        self.loop.compile()
        try:
            self.boxes = Boxes(boxes, self.loop, description, patience, log, log)
        except Exception:
            self.loop.stop()
            raise

    def __enter__(self) -> "Self":
        self.boxes.start()
        try:
            self.loop.start()
        except Exception:
            self.close()
            raise
        if advice := self.loop.grant.advice:
            self._log(advice)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the boxes and the simulation; raise the error that ended a box earlier."""
        self.boxes.close()
        self.loop.stop()
        self.boxes.check()


class BoxedArm(BoxedLoop):
    """A simulated arm behind its control box, without ROS.

        with rb.BoxedArm("panda") as arm:
            subprocess.run(["./my_controller", "127.0.0.1"], check=True)
            print(arm.loop.readout.latest().qpos)

    A client in Python needs a process of its own: libfranka holds the GIL while it waits.

    Args:
        source: a robot or a scene, as for `rb.load`.
        boxes: names of its boxes, such as ur, franka@127.0.0.2 or left/franka; None: the boxes of
            the scene file, or franka.
        time_mode: `lockstep`, in which time waits for the client, or `realtime`.
        start: positions at the start by joint [rad or m]; None: the arm's usual pose.
        patience: in lock-step, how long a cycle waits for the client's command [s]; may be inf.
        seed: seed of all random numbers.
        log: called with messages, in the thread of a box.
        contact: see `rb.load`.
        realtime: in mode realtime, the privileges that the threads of simulation and boxes request
            from the system: `try` and `enforce` SCHED_FIFO and locked memory, so that they are on
            time on a busy machine; or `off`.

    Attributes:
        loop: the simulation.
        boxes: the open boxes of the simulation.

    Raises:
        RbdynError: the robot has no such arm, or a box is refused.
    """

    def __init__(
        self,
        source: str | Path,
        boxes: Sequence[str] | None = None,
        *,
        time_mode: str = "lockstep",
        start: Mapping[str, float] | None = None,
        patience: float = 1.0,
        seed: int = 0,
        log: Callable[[str], object] = print,
        contact: bool = False,
        realtime: Mode = "try",
    ) -> None:
        one_of("time_mode", time_mode, MODES_OF_TIME[:FAST])
        one_of("realtime", realtime, MODES)
        count("seed", seed, high=2**63 - 1)
        if not as_number(patience) > 0.0:
            raise refusal(f"patience is {shown(patience)}; allowed is a number above 0 [s]")
        if boxes is not None and (isinstance(boxes, str) or not boxes):
            raise refusal(f"boxes is {shown(boxes)}; allowed is a list like ['franka']")
        how: dict[str, Any] = {"contact": contact}
        given = opened(source, **how)
        description, boxes = given.description, boxes or given.boxes or ("franka",)
        m = equipped(load(source, **how), boxes)
        qpos = ready(m, description, boxes) if start is None else m.qpos0.copy()
        own = m.jnt_dofnum == 1
        chosen([*(start or {})], np.array(m.jnt_names)[own].tolist(), "joint", prefix="start: ")
        for name, position in (start or {}).items():
            at = m.jnt_qposadr[m.jnt_names.index(name)]
            qpos[at] = finite(f"start: {name}", position)
        settings = LoopSettings(
            time_mode=time_mode, realtime="off" if time_mode == "lockstep" else realtime, seed=seed
        )
        super().__init__(m, description, boxes, settings, qpos, patience, log)
