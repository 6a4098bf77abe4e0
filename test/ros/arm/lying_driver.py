# SPDX-License-Identifier: Apache-2.0
"""A driver that sends false states of a simulated arm, as a row of support.lies describes."""

import threading
import time as clock

import numpy as np
from arm_pair import Relay
from commander import executor
from geometry_msgs.msg import InertiaStamped, Vector3Stamped
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from support.lies import stalls

#: The driver's clock is ahead by this time in the row constant_offset [ns].
OFFSET = 3_000_000_000
#: Offset of the positions that a second publisher sends in the row second_states [rad].
ELSEWHERE = 0.2
ROWS = ("position", "velocity", "effort")
#: For each row about payloads: the topic on which the driver sends the payload.
LOADED = {"payload": "arm_controller/payload", "unknown_payload": "simulator/payload"}


class LyingDriver(Relay):
    """A relay that sends false states.

    Args:
        peer, source, to: as in Relay.
        paced: whether false states are delayed so that their stamps advance no faster than the
            wall clock. The controller brakes an arm without states by the wall clock, but
            simulated time in lock-step may pass faster.
    """

    def __init__(self, peer, source="joint_states", to="relayed_states", paced=False):
        self._to, self._others, self._paced = to, [], paced
        self._lock = threading.Lock()
        self._when = self._lie = self._change = self._second = self._loads = None
        self.onset = None
        super().__init__(peer, source, to, executor)

    def tell_the_truth(self):
        """Send true states again."""
        with self._lock:
            self._when = self._lie = self._second = self.onset = None
            self._change = None
            for end in self._others:
                end()
            self._others.clear()

    def prepare(self, lie, peer):
        """Do the slow preparations for a lie. The lie constant_offset begins at once."""
        if lie.name in LOADED:  # a message sent before discovery is lost
            publisher = peer.publisher(InertiaStamped, LOADED[lie.name])
            with self._lock:
                self._loads = publisher
                self._others.append(lambda: _close(peer.node, publisher))
        if lie.name == "constant_offset":
            with self._lock:
                self._change = lambda state, _t: [state | {"stamp": state["stamp"] + OFFSET}]

    def lie_when(self, lie, condition):
        """Begin a lie at the first true state for which a condition holds."""
        with self._lock:
            self._lie, self._when = lie, condition

    def _pass_on(self, message):
        with self._lock:
            stamp = message.header.stamp
            state = {name: np.array(getattr(message, name)) for name in ROWS}
            state |= {
                "names": list(message.name),
                "stamp": stamp.sec * 10**9 + stamp.nanosec,
            }
            if self._when is not None and self._when(state):
                self._begin(state)
            time = 0.0 if self.onset is None else 1e-9 * (state["stamp"] - self.onset["stamp"])
            if self._paced and self.onset is not None:
                clock.sleep(max(0.0, self._begun + time - clock.monotonic()))
            for told in self._change(state, time) if self._change else [state]:
                self._publisher.publish(as_message(told))
            if self._second is not None:
                false = state | {"position": state["position"] + ELSEWHERE}
                self._second.publish(as_message(false))

    def _begin(self, state):
        lie, self._when, self.onset = self._lie, None, state
        self._begun = clock.monotonic()
        if lie.liar is not None:
            self._change = lie.start()
        special = getattr(self, f"_{lie.name}", None)
        if special is not None:
            special()

    # these rows need more than changed states

    def _driver_restart(self):
        """Publish with another publisher after a second of silence."""
        self.node.destroy_publisher(self._publisher)
        self._publisher = self.node.create_publisher(JointState, self._to, 10)
        self._change = stalls(1.0)()

    def _second_states(self):
        self._second = self._other(JointState, self._to)

    def _second_efforts(self):
        self._other(Float64MultiArray, "effort_commands")

    def _twin(self):
        """Publish on the controller's topic `efforts`, as a controller of the same name would."""
        self._other(JointState, "arm_controller/efforts")

    def _payload(self):
        self._load(1.0)

    def _unknown_payload(self):
        self._load(1.8)
        self._others.insert(0, lambda: self._load(0.0))

    def _load(self, mass):
        message = InertiaStamped()
        message.header.frame_id = "tool0"
        message.inertia.m = mass
        message.inertia.com.z = 0.05
        self._loads.publish(message)

    def _other(self, kind, topic):
        publisher = self.node.create_publisher(kind, topic, 10)
        self._others.append(lambda: self.node.destroy_publisher(publisher))
        return publisher

    def tilt(self, peer, x):
        """Tilt the simulated gravity, so that its x component is `x` [m/s^2]."""
        message = Vector3Stamped()
        message.vector.x, message.vector.z = x, -np.sqrt(9.81**2 - x**2)
        peer.send(Vector3Stamped, "simulator/gravity", message)


def _close(node, publisher):
    """Destroy a publisher after all its messages have arrived."""
    assert publisher.wait_for_all_acked(Duration(seconds=120))
    node.destroy_publisher(publisher)


def as_message(state):
    """Return a state, given as a dictionary, as a message sensor_msgs/JointState."""
    message = JointState(name=state["names"])
    sec, nanosec = divmod(max(int(state["stamp"]), 0), 10**9)
    message.header.stamp.sec, message.header.stamp.nanosec = sec, nanosec
    for name in ROWS:
        setattr(message, name, np.asarray(state[name], float).tolist())
    return message
