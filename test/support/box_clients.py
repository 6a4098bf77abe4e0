# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests of unmodified clients of control boxes; each client has its own process."""

import json
import subprocess
import sys
import time

from support.raw_client import address

#: A scene with a cube on a table, between the fingers of an arm in its usual pose.
CUBE = """\
rbdyn_scene: 1
robot:
  file: {robot}
  start: {{panda_finger_joint1: 0.04, panda_joint2: -0.7853981633974483,
          panda_joint4: -2.356194490192345, panda_joint6: 1.5707963267948966,
          panda_joint7: 0.7853981633974483}}
objects:
  cube: {{box: {{size: [0.04, 0.04, 0.04]}}, mass: 0.05, xyz: [0.307, 0.0, 0.4868]}}
obstacles:
  table: {{box: {{size: [0.1, 0.1, 0.1]}}, xyz: [0.307, 0.0, 0.4168]}}
"""


def result(script, *words, timeout=300):
    """Run a script of a client; return the JSON object in the last line of its output."""
    words = [sys.executable, str(script), address(), *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def standing(arm):
    """Wait until simulated time has stopped for 1 s of wall time; return the last state."""
    tick, since = -1, time.monotonic()
    while time.monotonic() - since < 1.0:
        state = arm.loop.readout.latest()
        if state.tick != tick:
            tick, since = state.tick, time.monotonic()
        time.sleep(1e-3)
    return state
