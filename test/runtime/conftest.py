"""A loop that runs for the length of a test."""

import pytest
from running import wait_until


@pytest.fixture
def start(monkeypatch):
    """Start loops: start(m, position, **settings)."""
    from rbdyn_ros.runtime import runtime as module
    from rbdyn_ros.runtime.runtime import Runtime, Settings

    # [s]; a machine that stalls is no loop that does not answer
    monkeypatch.setattr(module, "PATIENCE", 30.0)
    running = []

    def begin(m, position=None, **settings):
        runtime = Runtime(m, Settings(**{"realtime": "off", **settings}), position)
        running.append(runtime)
        runtime.start()
        # the first one may have to be compiled
        wait_until(lambda: runtime.paused == runtime.settings.start_paused, 300.0)
        return runtime

    yield begin
    for runtime in running:
        runtime.stop()
