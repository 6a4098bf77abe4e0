# SPDX-License-Identifier: Apache-2.0
"""A C client controls a node through shared memory in lock-step, and reads sensors."""

import mmap
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("rbdyn_interfaces.msg", reason="rbdyn_interfaces is not built")

from support import port_clients
from support.c_compilers import needs_gcc

import rbdyn_ros as rb
from rbdyn_interfaces.msg import Statistics
from rbdyn_ros.runtime import port_layout

NAME = f"node{os.getpid()}"
SENSORS = "rbdyn_sensors: 1\nsensors:\n  wrist: {type: force_torque, joint: lift}\n"
GIVEN = {
    "time_mode": "lockstep",
    "lockstep_timeout": "5.0",
    "start_paused": "true",
    "shared_memory": NAME,
    "stats_rate": "20.0",
}


@needs_gcc
def test_a_client_over_shared_memory_controls_the_simulated_robot(
    simulate, peer, two_joints, tmp_path
):
    program = port_clients.build(tmp_path)
    sensors = tmp_path / "sensors.yaml"
    sensors.write_text(SENSORS)
    words = [w for name, value in GIVEN.items() for w in ("-p", f"{name}:={value}")]
    words = ["--ros-args", *words, "-p", f"sensors:={sensors}"]
    simulator = simulate(two_joints, *words)
    stats = peer.collect(Statistics, "simulator/stats")

    def client(*arguments):
        command = [program, NAME, *map(str, arguments)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    first = client(501)
    assert first.stdout.readline().startswith("0 ")
    peer.pause(False)
    ticks, states = port_clients.states_of(first)
    m = rb.load_urdf(two_joints)
    m.opt.timestep, d = 1e-3, rb.make_data(m)
    d.qpos = [1.25, 0.0]
    for tick, state in zip(ticks, states, strict=True):
        assert state[6] == tick
        assert np.isfinite(state[7:]).all()
        if tick == 0:
            continue  # tick 0 is the start, before any step
        d.qfrc_applied = -2.0 * d.qpos - 0.5 * d.qvel + 0.25 * np.arange(2)
        rb.step(m, d)
        np.testing.assert_array_equal(state[:4], [*d.qpos, *d.qvel])

    peer.until(lambda: "commands stopped: a process" in simulator.text())
    assert f"through shared memory '{NAME}'" in simulator.text()
    assert client(2, "nan").wait(300.0) == 0
    peer.until(lambda: stats[-1].rejected == 1)
    assert f"refused a message on shared memory '{NAME}'" in simulator.text()

    # whatever a client writes into the memory, statistics continue with plausible counts
    with Path(f"/dev/shm/rbdyn.{NAME}").open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        head = np.frombuffer(memory, np.int64)
        for word, number in (("refused", -1), ("refused_reason", 77), ("refused", 1 << 62)):
            head[port_layout.HEAD_AT[word]] = number
        for number in (-1, (1 << 63) - 1, -(1 << 63), 1 << 40):
            head[port_layout.HEAD_AT["command_version"]] = number
            count = len(stats)
            peer.until(lambda count=count: len(stats) > count + 1)
        del head
    assert stats[-1].accepted < 2000
    assert stats[-1].rejected < 20
    assert "Traceback" not in simulator.text()

    second = simulate(two_joints, *words, "-r", "__ns:=/other", wait=False)
    second.wait_for("another simulator serves the shared memory")
    assert second.process.wait(120.0) != 0
    assert "Traceback" not in second.text()

    last = client(1000_000)
    last.stdout.readline()
    simulator.end_well()
    assert last.communicate()[0].splitlines()[-1] == "ended"
    assert not os.path.exists(f"/dev/shm/rbdyn.{NAME}")  # noqa: PTH110
