# SPDX-License-Identifier: Apache-2.0
"""Compiled code publishes states without events, and leaves all other states to Python."""

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
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime.kernels.stream import stream
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.mutex import Mutex
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.runtime.state import Layout
from rbdyn_ros.runtime.stream import StreamPlan, StreamTopic
from rbdyn_ros.runtime.types import Command
from rbdyn_ros.runtime.wakeup import Wakeup

#: A time base [ns] to which a few ticks change both the seconds and the nanoseconds.
BASE = 1_700_000_000_999_500_000
FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p
)


class Streamed:
    """A paused loop whose messages reach Python instead of DDS.

    Attributes:
        messages: (publisher, stamp [ns], numbers) of each message that compiled code published,
            where the numbers are two positions and a time.
        status: return value of the function that takes a message; 0 is success.
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
        """Read the next state and arm the stream, as Python does; return the state."""
        state = self.readout.next_state(10.0)
        assert state is not None
        self.stream.note()
        self.stream.arm(self.plan)
        return state

    def carry(self, seconds=1e-3):
        """Let compiled code publish for `seconds`; return whether it leaves a state to Python."""
        return stream(self.places, self.wakeup.descriptor, int(seconds * 1e9), np.zeros(8, int))

    def stamps(self, publisher=7):
        return [stamp for who, stamp, _ in self.messages if who == publisher]


def arm():
    return rb.load_urdf(rb.share.bundled_robot("seven_dof_arm"))


def states_of(m, ticks):
    """Return the states that Python reads of a loop without a stream, by their tick."""
    with Streamed(m) as plain:
        return {0: plain.readout.latest()} | {s.tick: s for s in walk(plain.loop, ticks)}


def test_compiled_code_publishes_each_state_without_an_event_once_with_its_numbers():
    m = arm()
    states = states_of(m, 20)
    with Streamed(m) as streamed:
        streamed.loop.time.step(20)
        assert not streamed.carry()
        period, found = streamed.loop.period_ns, streamed.messages
        assert streamed.readout.next_state(0.0) is None  # no state is left to read
    assert streamed.stamps() == [BASE + states[k].measured_tick * period for k in range(1, 21)]
    for k, (_, _, numbers) in enumerate([each for each in found if each[0] == 7], 1):
        assert numbers == [*states[k].measured[:2], states[k].time]
    assert streamed.stamps(8) == [BASE + k * period for k in range(2, 21, 2)]
    assert [who for who, _, _ in found] == [7, 7, 8] * 10  # order of topics


def test_compiled_code_leaves_ticks_with_other_publishers_to_python():
    with Streamed(arm(), others=(5, 7)) as streamed:
        streamed.loop.time.step(16)
        ticks = []
        while streamed.carry():
            ticks.append(streamed.python().tick)
        period = streamed.loop.period_ns
    assert ticks == [5, 7, 10, 14, 15]
    plain = [k for k in range(1, 17) if k not in ticks]
    assert [(stamp - BASE) // period for stamp in streamed.stamps()] == plain


def test_a_stream_knows_its_newest_published_state_and_its_newest_kept_state():
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


def test_compiled_code_leaves_a_reset_and_a_clamped_effort_to_python():
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
        assert not streamed.carry()  # Python has published it
        assert len(streamed.stamps()) == 2
        streamed.loop.time.pause(False)
        assert streamed.carry(30.0)
        assert not streamed.python().paused


def test_compiled_code_leaves_a_loaded_state_to_python():
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


def test_compiled_code_leaves_a_state_beyond_the_limit_of_speed_to_python():
    m = arm()
    fall = [np.abs(states_of(m, 4)[k].qvel).max() for k in range(1, 5)]
    assert fall == sorted(fall)
    with Streamed(m, fastest=fall[1]) as streamed:
        streamed.loop.time.step(4)
        assert streamed.carry()
        assert streamed.python().tick == 3


def test_compiled_code_leaves_a_state_to_python_if_dds_refuses_its_message():
    with Streamed(arm()) as streamed:
        streamed.status = 1
        streamed.loop.time.step(2)
        assert streamed.carry()
        assert not streamed.stream.armed
        assert len(streamed.messages) == 1
        assert streamed.readout.next_state(0.0).tick == 1


def test_compiled_code_publishes_nothing_while_another_thread_has_the_lock():
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
            time.sleep(0.05)  # now the next message is from the locked loop
            assert locked.messages == []
            assert thread.is_alive()
        thread.join()
        assert len(locked.stamps()) == 1


def test_compiled_code_leaves_a_new_model_to_python_until_the_stream_is_armed():
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
