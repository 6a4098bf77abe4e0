# SPDX-License-Identifier: Apache-2.0
"""States that compiled code publishes, their bytes, and states that Python publishes."""

import ctypes
import struct
import threading
import time

import numpy as np
import pytest
from running import WALKING, walk

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit

if jit.DISABLED:
    pytest.skip("the loop is compiled only", allow_module_level=True)

from rbdyn_ros.runtime.kernels.stream import stream
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.mutex import Mutex
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.runtime.state import Layout
from rbdyn_ros.runtime.stream import StreamPlan, StreamTopic
from rbdyn_ros.runtime.types import Command
from rbdyn_ros.runtime.wakeup import Wakeup

#: A time base whose seconds and nanoseconds both matter [ns].
BASE = 1_700_000_000_999_500_000
FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p
)


class Streamed:
    """A paused loop with replaced DDS; messages have a stamp, two positions and a time.

    Attributes:
        messages: (publisher, stamp [ns], numbers) of each message that compiled code published.
        status: return value of the C function.
    """

    def __init__(self, m, others=(), every=1, fastest=np.inf):
        self.messages, self.status = [], 0
        self.wakeup, self.mutex = Wakeup(), Mutex()
        self.loop = Loop(m, LoopSettings(realtime="off", **WALKING), wakeup=self.wakeup)
        self.readout, self.stream = self.loop.readout, self.loop.readout.stream
        self.stream.time_base = BASE
        self.function = FUNCTION(self._take)
        start = Layout(m).start
        picks = np.array([start["measured"], start["measured"] + 1, start["time"]])
        self.topics = [self.topic(7, True, every, picks), self.topic(8, False, 2 * every, picks)]
        self.plan = StreamPlan(self.topics, others, fastest)
        self.places = np.array([[self.stream.place, self.mutex.address]])

    def topic(self, publisher, of_measurement, every, picks):
        content, message = bytearray(4 + 8 + 3 * 8), np.zeros(8, np.int64)
        message[:3] = np.frombuffer(content, np.uint8).ctypes.data, len(content), len(content)
        address = ctypes.cast(self.function, ctypes.c_void_p).value
        stamps, places = np.array([4]), 12 + 8 * np.arange(3)
        return StreamTopic(
            *(address, publisher, message, content, of_measurement, every),
            *(stamps, places, picks),
        )

    def _take(self, publisher, message, _):
        raw = ctypes.string_at(message[0], message[1])
        sec, nanosec, *numbers = struct.unpack("<iI3d", raw[4:])
        self.messages.append((publisher, sec * 1_000_000_000 + nanosec, numbers))
        return self.status

    def __enter__(self):
        self.loop.start()
        self.python()
        return self

    def __exit__(self, *_):
        self.loop.stop()
        self.wakeup.close()

    def python(self):
        """Publish the next state as Python does, and arm the stream; return the state."""
        state = self.readout.next_state(10.0)
        assert state is not None
        self.stream.note()
        self.stream.arm(self.plan)
        return state

    def carry(self, seconds=1e-3):
        """Let compiled code publish; return whether a state is left for Python."""
        return stream(self.places, self.wakeup.descriptor, int(seconds * 1e9), np.zeros(8, int))

    def stamps(self, publisher=7):
        return [stamp for who, stamp, _ in self.messages if who == publisher]


def arm():
    return rb.load_urdf(rb.share.bundled_robot("seven_dof_arm"))


def states_of(m, ticks):
    """Return, by tick, the same states as Python reads them."""
    with Streamed(m) as plain:
        return {0: plain.readout.latest()} | {s.tick: s for s in walk(plain.loop, ticks)}


def test_each_plain_state_is_published_once_with_its_own_numbers():
    m = arm()
    states = states_of(m, 20)
    with Streamed(m) as streamed:
        streamed.loop.time.step(20)
        assert not streamed.carry()
        period, found = streamed.loop.period_ns, streamed.messages
        assert streamed.readout.next_state(0.0) is None  # the state is also read
    assert streamed.stamps() == [BASE + states[k].measured_tick * period for k in range(1, 21)]
    for k, (_, _, numbers) in enumerate([each for each in found if each[0] == 7], 1):
        assert numbers == [*states[k].measured[:2], states[k].time]
    assert streamed.stamps(8) == [BASE + k * period for k in range(2, 21, 2)]
    assert [who for who, _, _ in found] == [7, 7, 8] * 10  # in the order of the table


def test_commands_due_in_python_are_left_to_python_in_order():
    with Streamed(arm(), others=(5, 7)) as streamed:
        streamed.loop.time.step(16)
        ticks = []
        while streamed.carry():
            ticks.append(streamed.python().tick)
        period = streamed.loop.period_ns
    assert ticks == [5, 7, 10, 14, 15]
    plain = [k for k in range(1, 17) if k not in ticks]
    assert [(stamp - BASE) // period for stamp in streamed.stamps()] == plain


def test_the_newest_published_state_and_the_newest_kept_state_are_known():
    with Streamed(arm(), every=3) as streamed:
        stream = streamed.stream
        assert (stream.last, stream.kept, stream.kept_tick) == ((0, 0), None, -1)
        streamed.loop.time.step(8)
        assert not streamed.carry()
        assert stream.last == (0, 8)
        assert stream.newest == (0, BASE + 8 * streamed.loop.period_ns)
        assert (stream.state.tick, stream.kept.tick, stream.kept_tick) == (8, 6, 6)
        assert stream.kept.measured[:2].tolist() == streamed.messages[-2][2][:2]
        stream.keep(False)
        assert (stream.kept, stream.kept_tick) == (None, -1)


def test_a_reset_and_a_clamped_effort_are_left_to_python():
    m = arm()
    with Streamed(m) as streamed:
        streamed.loop.plant.reset(time=True)
        assert streamed.carry(30.0)
        assert streamed.python().epoch == 1
        streamed.loop.orders.command(Command.of_efforts([0], [1e6]))
        streamed.loop.time.step(3)
        assert streamed.carry()
        assert streamed.messages == []
        assert streamed.python().saturated == 0
        assert not streamed.carry()  # the state is no longer new
        assert len(streamed.stamps()) == 2
        streamed.loop.time.pause(False)
        assert streamed.carry(30.0)
        assert not streamed.python().paused


def test_a_loaded_state_of_a_later_tick_is_left_to_python():
    with Streamed(arm()) as streamed:
        streamed.loop.time.step(5)
        assert not streamed.carry()
        saved = streamed.loop.save_state()
        streamed.loop.plant.reset(time=True)
        assert streamed.carry(30.0)
        streamed.python()
        streamed.loop.load_state(saved)
        assert streamed.carry(30.0)
        state = streamed.python()
    assert (state.epoch, state.tick) == (2, 5)


def test_a_state_faster_than_the_limit_is_left_to_python():
    m = arm()
    fall = [np.abs(states_of(m, 4)[k].qvel).max() for k in range(1, 5)]
    assert fall == sorted(fall)
    with Streamed(m, fastest=fall[1]) as streamed:
        streamed.loop.time.step(4)
        assert streamed.carry()
        assert streamed.python().tick == 3


def test_a_message_that_is_refused_is_left_to_python():
    with Streamed(arm()) as streamed:
        streamed.status = 1
        streamed.loop.time.step(2)
        assert streamed.carry()
        assert not streamed.stream.armed
        assert len(streamed.messages) == 1
        assert streamed.readout.next_state(0.0).tick == 1


def test_nothing_is_published_while_another_thread_has_the_lock():
    m = arm()
    with Streamed(m) as free, Streamed(m) as locked:
        free.places = np.concatenate([free.places, locked.places])
        thread = threading.Thread(target=free.carry)
        with locked.mutex, locked.mutex:
            for one in (free, locked):
                one.loop.time.step(1)
            thread.start()
            while not free.messages:
                time.sleep(1e-3)
            time.sleep(0.05)  # the next message belongs to the other robot
            assert locked.messages == []
            assert thread.is_alive()
        thread.join()
        assert len(locked.stamps()) == 1


def test_another_model_is_left_to_python_until_it_is_armed_again():
    m = arm()
    with Streamed(m) as streamed:
        streamed.loop.time.step(2)
        assert not streamed.carry()
        streamed.loop.move(m, m, m.qpos0, lambda _: None)
        assert streamed.stream.last is None
        streamed.loop.time.step(2)
        assert streamed.carry()
        assert streamed.python().tick == 2
        assert not streamed.carry()
        assert streamed.stream.last == (0, 4)
