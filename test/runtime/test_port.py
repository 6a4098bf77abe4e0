# SPDX-License-Identifier: Apache-2.0
"""A loop and a client process in C exchange states and commands through shared memory."""

import mmap
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from running import bundled_arm, rail, wait_until
from support import port_clients
from support.c_compilers import needs_gcc, run
from support.port_clients import states_of
from support.refusals import refused

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.errors import RbdynError

if jit.DISABLED:
    pytest.skip("the loop needs compiled code", allow_module_level=True)

from rbdyn_ros.runtime import port_layout
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.port import FOLDER, Port
from rbdyn_ros.runtime.settings import LoopSettings

NAME = f"test{os.getpid()}"
LOCKED = {"time_mode": "lockstep", "lockstep_timeout": 0.0}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return port_clients.build(tmp_path_factory.mktemp("client"))


@pytest.fixture
def client(program):
    """Yield client(count, flaw), which starts a client and returns its process."""
    processes = []

    def start(*words):
        command = [program, NAME, *map(str, words)]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def serve():
    """Yield serve(m, joints, **settings), which returns a loop and the Port of the loop."""
    made = []

    def begin(m, joints=None, **settings):
        given = LoopSettings(**{"realtime": "off", "start_paused": True, **settings})
        port = Port(NAME, m, joints or dict.fromkeys(m.jnt_names, True), (), given, 1_000_000)
        made.append((Loop(m, given, port=port), port))
        made[-1][0].start()
        return made[-1]

    yield begin
    for loop, port in made:
        loop.stop()
        port.close()


@needs_gcc
def test_lockstep_through_shared_memory_equals_step_to_the_last_bit(serve, client):
    m = bundled_arm()
    loop, _ = serve(m, locked=True, **LOCKED)
    process = client(300)
    process.stdout.readline()  # the client has got tick 0
    loop.time.pause(False)
    ticks, states = states_of(process)
    answered = [tick for tick in ticks if tick > 0]
    assert answered == list(range(1, len(answered) + 1))
    m.opt.timestep, d = 1e-3, rb.make_data(m)
    for state in states[-len(answered) :]:
        d.qfrc_applied = -2.0 * d.qpos - 0.5 * d.qvel + 0.25 * np.arange(7)
        rb.step(m, d)
        np.testing.assert_array_equal(state[:14], [*d.qpos, *d.qvel])


@needs_gcc
def test_commands_of_a_client_expire_after_its_end(serve, client):
    loop, port = serve(bundled_arm(), time_mode="realtime", command_timeout=0.05)
    loop.time.pause(False)
    assert client(50, "die").wait(300.0) == 0
    wait_until(lambda: loop.readout.latest().stale == 7)
    assert 0 < port.accepted <= 50  # a command may replace another
    assert port.client == 0
    ticks, _ = states_of(client(5))  # another client can connect
    assert ticks[0] >= 50


@needs_gcc
@pytest.mark.parametrize("flaw", ["nan", "mode", "joint"])
def test_a_command_with_one_bad_joint_is_refused_for_all_joints(serve, client, flaw):
    m = bundled_arm()
    joints = dict.fromkeys(m.jnt_names, True) | {m.jnt_names[3]: False}
    loop, port = serve(m, joints, time_mode="realtime", command_timeout=1e6)
    process = client(2, flaw)
    wait_until(lambda: port.refused == 1)
    assert loop.readout.command_age() == float("inf")
    assert f"joint '{m.jnt_names[3 if flaw == 'joint' else 1]}'" in port.why_refused()
    loop.time.pause(False)
    assert process.wait(300.0) == 0
    wait_until(lambda: loop.readout.latest().effort[1] != 0.0, 60.0)
    assert port.refused == 1


@needs_gcc
@pytest.mark.parametrize(("timeout", "late"), [(0.01, 3), (1e3, 0)])
def test_answers_to_old_states_are_refused_in_real_time(serve, client, timeout, late):
    """The client waits 50 ms before each answer to a state."""
    loop, port = serve(bundled_arm(), time_mode="realtime", answer_timeout=timeout)
    loop.time.pause(False)
    assert client(4, "slow").wait(300.0) == 0
    wait_until(lambda: port.late >= late)
    assert port.late == port.refused
    assert (loop.readout.command_age() == float("inf")) == (late > 0)
    assert not late or "answer_timeout is 0.01 s" in port.why_refused()


@needs_gcc
def test_a_client_is_notified_when_the_server_ends(serve, client):
    loop, port = serve(rail())
    process = client(2)  # time is paused
    process.stdout.readline()
    loop.stop()
    port.close()
    assert process.communicate(timeout=300)[0] == "ended\n"
    assert not port.path.exists()


#: Names of the header's words that are sizes or offsets.
SIZES = (
    *("joints", "values", "names_at", "kinds_at", "states_at", "state_stride", "state_depth"),
    *("commands_at", "command_stride", "command_depth"),
    *("values_at", "value_stride", "value_depth"),
)


@needs_gcc
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to other users")
def test_shared_memory_of_another_user_is_refused(serve, client):
    """Another user could create the file before the server, and send false states."""
    _, port = serve(rail())
    os.chown(port.path, 12345, -1)
    try:
        assert "belongs to user 12345" in client(1).communicate()[0]
        with refused(RbdynError, "request") as caught:
            Port(NAME, rail(), {"x": True}, (), LoopSettings(), 1)
        assert "belongs to user 12345" in str(caught.value)
        assert port.path.exists()
    finally:
        os.chown(port.path, os.geteuid(), -1)


@needs_gcc
def test_unusable_files_of_a_port_are_refused(serve, client):
    said = [client(1).communicate()[0]]
    path = FOLDER / f"rbdyn.{NAME}"
    path.write_bytes(bytes(100))
    said.append(client(1).communicate()[0])
    path.write_bytes(bytes(1000))
    said.append(client(1).communicate()[0])
    _, port = serve(rail())  # the server replaces the file
    first = client(3)
    first.stdout.readline()
    said.append(client(1).communicate()[0])
    first.kill()
    first.wait()
    hostile = [("version", 99), ("size", 1), ("joints", -1)]
    hostile += [(word, most) for word in SIZES for most in ((1 << 63) - 1, 1 << 60)]
    hostile += [("names_at", (1 << 63) - 8), ("kinds_at", -8), ("commands_at", 0)]
    for word, number in hostile:
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            words = np.frombuffer(memory, np.int64)
            at = port_layout.HEAD_AT[word]
            before, words[at] = words[at], number
            said.append(client(1).communicate()[0])
            words[at] = before
            del words
    expected = ("does not exist", *["is not a memory of rbdyn_ros"] * 2, "is used by process")
    expected += ("has version 99", *["is damaged"] * (len(hostile) - 1))
    assert len(said) == len(expected)
    for sentence, words in zip(said, expected, strict=True):
        assert words in sentence
    assert client(1).wait(300.0) == 0
    assert port.accepted >= 1


EXTREME = (-1, 0, 1, 7, 1 << 31, 1 << 32, (1 << 62) + 5, (1 << 63) - 1, -(1 << 63))


@pytest.mark.parametrize("time_mode", ["realtime", "lockstep"])
def test_a_client_may_write_any_numbers(serve, time_mode):
    """The loop continues, and its counts of accepted and refused commands stay valid."""
    loop, port = serve(
        bundled_arm(),
        locked=True,
        time_mode=time_mode,
        lockstep_timeout=0.001,
        command_timeout=0.1,
    )
    loop.time.pause(False)
    rng, head = np.random.default_rng(1), range(port_layout.HEAD_WORDS)
    with port.path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        words = np.frombuffer(memory, np.int64)
        before, refused_before = loop.readout.latest().tick, -1
        for at in [*head, *rng.integers(0, len(words), 200)]:
            words[at] = EXTREME[rng.integers(len(EXTREME))]
            words[port_layout.HEAD_AT["command_version"]] += rng.integers(-5, 5)
            assert port.refused >= max(refused_before, 0)
            assert 0 <= port.accepted < 1 << 32
            assert port.late <= port.refused < 1 << 32
            assert port.client >= -(1 << 63)
            refused_before = port.refused
            if refused_before:
                assert port.why_refused()
            port.write_values(0, np.zeros(0))
        del words
    wait_until(lambda: loop.readout.latest().tick > before + 100)
    state = loop.readout.latest()
    assert state.fault == -1
    assert np.isfinite(state.qpos).all()


def test_a_second_server_and_invalid_names_of_a_port_are_refused(serve):
    m = rail()
    _, port = serve(m)
    settings = LoopSettings()
    bad = [(NAME, ()), ("a/b", ()), ("", ()), ("x" * 101, ()), ("fine", ("v" * 128,))]
    for name, values in bad:
        with refused(RbdynError, "request"):
            Port(name, m, {"x": True}, values, settings, 1)
    assert port.path.exists()
    assert not (FOLDER / "rbdyn.fine").exists()


@needs_gcc
def test_a_server_replaces_the_memory_of_a_server_that_has_died(serve, client, tmp_path):
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from running import rail\n"
        "from rbdyn_ros.runtime.port import Port\n"
        "from rbdyn_ros.runtime.settings import LoopSettings\n"
        "Port(sys.argv[2], rail(), {'x': True}, (), LoopSettings(), 1)\n"
        "os._exit(0)\n"
    )
    run(sys.executable, "-c", code, Path(__file__).parent, NAME)
    assert "is left over from process" in client(1).communicate()[0]
    serve(rail())
    assert client(1).wait(300.0) == 0


def test_the_c_header_equals_the_layout_of_the_memory():
    assert (port_clients.INCLUDE / "rbdyn_hardware/layout.h").read_text() == port_layout.c_header()
