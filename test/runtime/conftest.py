# SPDX-License-Identifier: Apache-2.0
"""A fixture that starts loops and stops them at the end of a test."""

import pytest
from running import wait_until


@pytest.fixture
def start(monkeypatch):
    """Yield start(m, position, port, **settings), which returns a running loop."""
    from rbdyn_ros.runtime import requests
    from rbdyn_ros.runtime.loop import Loop
    from rbdyn_ros.runtime.settings import LoopSettings

    monkeypatch.setattr(requests, "PATIENCE", 60.0)  # [s]; a loop that hangs then fails the test
    running = []

    def begin(m, position=None, port=None, **settings):
        given = LoopSettings(**{"realtime": "off", **settings})
        loop = Loop(m, given, position, port=port)
        running.append(loop)
        loop.start()
        # the first loop may have to compile
        wait_until(lambda: loop.time.paused == loop.settings.start_paused, 300.0)
        return loop

    yield begin
    for loop in running:
        loop.stop()
