# SPDX-License-Identifier: Apache-2.0
"""The loop and a client in C that answers every state through shared memory, in two processes.

Lock-step gives the wall time of a whole tick: state, answer, timestep. Real time gives the age of
a state when the client gets it, and the lateness of the loop: as an ordinary process, then with
SCHED_FIFO if the system allows it, and both again while another process keeps one core busy.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.port import Port
from rbdyn_ros.runtime.realtime import Mode
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.share import bundled_robot

ROOT = Path(__file__).parents[1]
NAME = f"benchmark{os.getpid()}"
STATES = 20_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "client")
        source = ROOT / "test/support/port_client.c"
        include = f"-I{ROOT / 'rbdyn_hardware/include'}"
        command = ["gcc", "-std=c99", "-D_GNU_SOURCE", "-O2", include, source, "-o", program]
        subprocess.run(command, check=True)
        print("| all in us | tick | age of a state: p50 | p99 | worst | loop late by |")
        print("|---|---|---|---|---|---|")
        print(_line("lockstep", "off", program, "lock-step"), flush=True)
        for beside in ("", " next to a busy core"):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if beside else None
            for privileges, name in (("off", "real time"), ("try", "SCHED_FIFO")):
                print(_line("realtime", privileges, program, name + beside), flush=True)
            if busy is not None:
                busy.kill()
                busy.wait()


def _line(mode: str, privileges: Mode, program: Path, name: str) -> str:
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    settings = LoopSettings(time_mode=mode, realtime=privileges, lockstep_timeout=0.0)
    port = Port(NAME, m, dict.fromkeys(m.jnt_names, True), (), settings, 1_000_000)
    loop = Loop(m, settings, port=port)
    loop.start()
    began = time.monotonic()
    words = [program, NAME, f"{STATES}"]
    said = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True).stdout
    took = (time.monotonic() - began) / STATES * 1e6
    timing = loop.readout.timing()
    loop.stop()
    port.close()
    ages = np.array([int(line.split()[1]) for line in said.splitlines()][1:]) / 1e3
    numbers = " | ".join(f"{x:.0f}" for x in (*np.quantile(ages, (0.5, 0.99)), ages.max()))
    late = (timing.p50, timing.p99, timing.worst)
    lateness = " / ".join(f"{x:.0f}" for x in late) if mode == "realtime" else ""
    return f"| {name} | {took:.0f} | {numbers} | {lateness} |"
