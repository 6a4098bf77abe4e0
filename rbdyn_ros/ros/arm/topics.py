# SPDX-License-Identifier: Apache-2.0
"""The topics of the control loop: the controller answers each state with commands at once."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from sensor_msgs.msg import JointState

from rbdyn_ros.control.controller import Controller
from rbdyn_ros.nanoseconds import NANOSECONDS, nanoseconds, steady_ns
from rbdyn_ros.ros.arm.arm_time import ArmTime
from rbdyn_ros.ros.arm.claim import ArmClaim
from rbdyn_ros.ros.arm.command_topics import TOPICS, CommandTopics
from rbdyn_ros.ros.arm.diagnosis import AnswerTimes
from rbdyn_ros.ros.arm.presets import ArmPreset
from rbdyn_ros.ros.arm.trajectories import PositionTrajectoryController
from rbdyn_ros.ros.common.graph.endpoints import with_sender
from rbdyn_ros.ros.common.graph.hidden_node import hidden_node
from rbdyn_ros.ros.common.graph.qos import of_states, reliable
from rbdyn_ros.ros.common.lifecycle.process import make_executor
from rbdyn_ros.ros.common.reports.answer import MessageLog
from rbdyn_ros.runtime.realtime import Grant, Mode, obtain

#: Interval of the check whether states still arrive [s].
WATCH = 0.01
#: Priority of the thread under SCHED_FIFO, below the loop of a simulator on the same machine.
PRIORITY = 70


def explicit_topics(node: Node, preset: ArmPreset) -> dict[str, str]:
    """Return the topics of a preset that the node's remappings rename, with their full names."""
    found = {name: node.resolve_topic_name(name) for name in preset.topics}
    plain = {name: node.resolve_topic_name(name, only_expand=True) for name in preset.topics}
    return {name: topic for name, topic in found.items() if topic != plain[name]}


class ArmTopics:
    """Answers every state in a thread of its own, so that other callbacks do not delay the answer.

    The topics belong to a helper node, because an executor always serves a whole node.

    Args:
        node: main node; the topics have its namespace and remappings.
        controller: computes the commands.
        output: one of command_topics.OUTPUTS.
        reliability: reliability of the subscription to joint_states.
        realtime: mode of real-time scheduling.
        messages: counts and logs refused wrenches.
        stop: once it is set, no commands are sent.
        preset: preset with the names of the driver's topics, unless they are remapped; or None.
        simulated: whether the states may come from a simulator.
        observers: functions to call after the answer to each state.

    Attributes:
        time: clock for the ages and timeouts of the arm.
        failure: the exception that ended the thread, or None.
        grant: real-time scheduling that the running thread has obtained.
        times: durations from the arrival of a state to the publication of the commands [us].
    """

    def __init__(
        self,
        node: Node,
        controller: Controller,
        output: str,
        reliability: str,
        realtime: Mode,
        messages: MessageLog,
        stop: threading.Event,
        preset: ArmPreset | None = None,
        simulated: bool = False,
        observers: Sequence[Callable[[], None]] = (),
    ) -> None:
        self._observers = tuple(observers)
        self._mode, self._preset = realtime, preset
        self.grant, self._begun = Grant(), threading.Event()
        self.failure: BaseException | None = None
        self.times = AnswerTimes()
        self._controller = controller
        self.time = ArmTime(node, simulated)
        self._node = hidden_node(node, "io")
        self._commands = CommandTopics(controller, output, partial(self._publisher, node), stop)
        states, shown = self._topic(node, "joint_states"), self._commands.shown
        self._claim = ArmClaim(self._node, shown, self._commanding(node), states)
        newest = of_states(reliability)
        self._node.create_subscription(JointState, states, with_sender(self._on_state), newest)
        if isinstance(controller, PositionTrajectoryController) and controller.wrench:
            take = messages.receiver(
                "wrench", lambda message: controller.take_wrench(message, self.time.now())
            )
            wrenches = self._topic(node, "wrench")
            self._node.create_subscription(WrenchStamped, wrenches, take, newest)
        self._executor = make_executor()
        self._executor.add_node(self._node)
        self._stopping = threading.Event()
        self._watched = self._awake = steady_ns()
        # [ns]; a state with a time between these two was measured before a pause
        self._paused = 0, 0
        self._arrival = self.time.now()
        self._stamp = 0  # the stamp of the newest state [ns]
        self.active = False
        self._thread = threading.Thread(target=self._run, name="rbdyn-control")

    def _publisher(self, node: Node, kind: Any, name: str) -> Any:
        return self._node.create_publisher(kind, self._topic(node, name), reliable(10))

    def _topic(self, node: Node, name: str) -> str:
        """Return the full name of a topic: the remapped name, else the preset's, else its own."""
        explicit = self._preset is None or name in explicit_topics(node, self._preset)
        if explicit or self._preset is None or name not in self._preset.topics:
            return node.resolve_topic_name(name)
        return node.resolve_topic_name(self._preset.topics[name].value)

    def _commanding(self, node: Node) -> dict[str, bool]:
        """Return for each topic that commands the arm whether this node publishes on it.

        In a dry run the mapping is empty.
        """
        if self._controller.settings.dry_run:
            return {}
        return {self._topic(node, name): name in self._commands.names for name in TOPICS}

    def check_claim(self) -> None:
        """Tell the controller whether other nodes command the arm. Any thread may call it."""
        self._controller.set_rivals(self._claim.rivals())

    def start(self) -> None:
        """Start answering states."""
        self.active = True
        if not self._thread.is_alive():
            self._thread.start()
            self._begun.wait()

    def stop(self) -> None:
        """Stop answering; return when the thread has ended."""
        self.active = False
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._executor.shutdown()
        self._node.destroy_node()
        self.time.close()

    def _run(self) -> None:
        try:
            self.grant = obtain(self._mode, PRIORITY, bind=False)
            self._begun.set()
            while not self._stopping.is_set():
                self._executor.spin_once(timeout_sec=WATCH)
                self._watch()
        except ExternalShutdownException:
            return
        except BaseException as error:  # noqa: BLE001 - the main thread raises it
            self.failure = error
        finally:
            self._begun.set()

    def _notice_pause(self, now: int) -> None:
        """Let the watchdog act at once after a pause of this process or of the machine.

        `now` is on the steady clock [ns]. The pause does not matter for a simulated arm, whose
        ages count on its own clock.
        """
        pause, self._awake = now - self._awake, now
        if pause > self._timeout and self.active and not self.time.simulated:
            self._controller.on_watch(now)
            newest = self._controller.gate.measured.time
            self._paused = newest, newest + pause

    @property
    def _timeout(self) -> float:
        return self._controller.gate.settings.state_timeout * NANOSECONDS

    def _late(self, steady: int) -> bool:
        """Return whether an answer, begun at a time of the steady clock [ns], would be too late.

        It is too late if no state has come since a pause, or if this thread has paused since then.
        """
        if self.time.simulated:
            return False
        newest, fresh = self._paused  # at a time before `newest`, the stamps have jumped back
        old = newest <= self._controller.gate.measured.time < fresh
        return old or steady_ns() - steady > self._timeout

    def _watch(self) -> None:
        steady = steady_ns()
        self._notice_pause(steady)
        if (steady - self._watched) / NANOSECONDS < WATCH:
            return
        self._watched = steady
        self.time.poll(self._controller.armed)
        if not self._controller.armed:
            self._paused = 0, 0
        now = self.time.now()
        commands = self._controller.on_watch(now) if self.active else None
        if commands is None or self._late(steady):
            return
        # While states arrive, this is one more answer to the newest state, with the same stamp. A
        # driver that refuses old stamps must refuse this answer too: if the arm followed only some
        # commands, the controller would learn wrong efforts. Without states the stamp grows.
        silence = now - self._arrival
        lost = silence > self._timeout
        self._commands.publish(commands, self._stamp + (silence if lost else 0))

    def _on_state(self, message: JointState, sender: bytes | None) -> None:
        if not self.active:
            return
        steady, arrival = steady_ns(), self.time.now()
        self._notice_pause(steady)
        if self._controller.concerns(message.name):
            foreign = self._claim.foreign(sender, steady)
            if foreign is not None:
                self._controller.refuse_state(foreign)
                return
            self._stamp = nanoseconds(message.header.stamp)
            self._arrival = arrival = self.time.arrival(self._stamp)
        elif sender is None:
            self._claim.note_device(message.name)
        commands = self._controller.on_state(
            message.name,
            np.asarray(message.position),
            np.asarray(message.velocity),
            np.asarray(message.effort),
            nanoseconds(message.header.stamp),
            arrival,
        )
        if commands is not None and not self._late(steady):
            self._commands.publish(commands, self._stamp)
            self.times.add((steady_ns() - steady) * 1e-3)
        for observe in self._observers:
            observe()
