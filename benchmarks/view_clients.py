# SPDX-License-Identifier: Apache-2.0
"""Clients of benchmarks.view, each in its own process: one client only reads, the others draw."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator

CHROMIUM = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--use-angle=swiftshader"),
    "--enable-unsafe-swiftshader",
)
CONNECTED = "connected"
#: First message of a browser: its camera.
CAMERA = {
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    **dict.fromkeys(("position", "look_at", "up_direction"), (0.0, 0.0, 1.0)),
    "fov": 0.8,
    "near": 0.01,
    "far": 100.0,
    "image_height": 700,
    "image_width": 1100,
}


@contextlib.contextmanager
def client(kind: str, address: str) -> Iterator[None]:
    """Run a view client in its own process.

    Args:
        kind: `read` draws nothing, `browse` is a Chromium at idle priority, `crowd` is a Chromium
            at normal priority.
        address: address of the view.
    """
    command = [sys.executable, "-m", "benchmarks.view_clients", kind, address]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if process.stdout.readline().strip() != CONNECTED:
            raise RuntimeError("the client did not connect to the view")
        yield
    finally:
        process.stdin.close()  # the end of its input ends the client
        process.stdout.close()
        process.wait(30.0)


def stand_back() -> None:
    """Run this process and its children only when processors are otherwise idle."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def read(address: str) -> None:
    """Receive the messages of a browser until standard input ends."""
    import msgspec
    import viser
    from websockets.sync.client import connect
    from websockets.typing import Subprotocol

    version = Subprotocol(f"viser-v{viser.__version__}")
    with connect(
        address.replace("http", "ws", 1), subprotocols=[version], max_size=None, compression=None
    ) as pipe:
        pipe.send(msgspec.msgpack.encode({"type": "ViewerCameraMessage", **CAMERA}))
        pipe.recv()
        print(CONNECTED, flush=True)
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
        for _ in pipe:
            pass


def browse(address: str) -> None:
    """Show the page in Chromium until standard input ends."""
    from playwright.sync_api import sync_playwright

    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    path = next((path for path in found if path), None)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM))
        page = launched.new_page(viewport={"width": 1100, "height": 700})
        page.set_default_timeout(120_000)
        page.goto(address, wait_until="domcontentloaded")
        page.get_by_text("running").first.wait_for()
        print(CONNECTED, flush=True)
        sys.stdin.read()
        launched.close()


if __name__ == "__main__":
    _, given_kind, given_address = sys.argv
    if given_kind != "crowd":
        stand_back()
    (read if given_kind == "read" else browse)(given_address)
