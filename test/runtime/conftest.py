# SPDX-License-Identifier: Apache-2.0
"""A loop that runs for the length of a test."""

import pytest
from running import wait_until


@pytest.fixture
def start(monkeypatch):
    """Start loops: start(m, position, port, **settings)."""
    from rbdyn_ros.runtime import requests
    from rbdyn_ros.runtime.loop import Loop
    from rbdyn_ros.runtime.settings import LoopSettings

    monkeypatch.setattr(requests, "PATIENCE", 60.0)  # [s], time limit for the case of a hang
    running = []

    def begin(m, position=None, port=None, **settings):
        given = LoopSettings(**{"realtime": "off", **settings})
        loop = Loop(m, given, position, port=port)
        running.append(loop)
        loop.start()
        # the first loop may have to be compiled
        wait_until(lambda: loop.time.paused == loop.settings.start_paused, 300.0)
        return loop

    yield begin
    for loop in running:
        loop.stop()
