# SPDX-License-Identifier: Apache-2.0
"""rb.view: open a page that shows the Data of a Python program."""

import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.checks.numbers import count
from rbdyn_ros.description.appearance.shapes import Appearance, read_appearance
from rbdyn_ros.dynamics.entry import check_pair
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model, check_model
from rbdyn_ros.view.notebook import Inline
from rbdyn_ros.view.web.server import ADDRESS, PORT, address_of, open_server
from rbdyn_ros.view.web.show import Show

if TYPE_CHECKING:
    from typing_extensions import Self


#: Period at which the page shows a new state of the Data [s].
FRAME = 1.0 / 30.0
#: Pages that may show a view in a frame: notebooks on this machine.
NOTEBOOKS = "http://127.0.0.1:* http://localhost:*"


class View:
    """A robot in the browser, which the program moves. `rb.view` makes it.

    Attributes:
        address: address for a browser on this machine, such as http://127.0.0.1:8080.
        findings: warnings about the appearance of the robot.
    """

    def __init__(
        self, m: Model, d: Data | None, looks: Appearance, port: int, address: str
    ) -> None:
        self._server = open_server(port, address, m.name, NOTEBOOKS)
        try:
            self._show = Show(self._server, m, looks)
        except BaseException:
            self._server.stop()
            raise
        self.address = address_of(self._server)
        self.findings = (*looks.findings, *self._show.scene.findings)
        self._closing = threading.Event()
        self._follower: threading.Thread | None = None
        if d is not None:
            self.show(d)
            self._follower = threading.Thread(target=self._follow, args=(d,), daemon=True)
            self._follower.start()

    def _follow(self, d: Data) -> None:
        """Show a Data whenever its qpos has changed and is finite, until the view is closed."""
        last = b""
        while not self._closing.wait(FRAME):
            now = d.qpos.tobytes()
            if now != last and np.isfinite(np.frombuffer(now)).all():
                last = now
                self._show.put(Instant.of(self._show.m, d))

    def show(self, d: Data) -> None:
        """Show the state of a Data, with the contact forces of its last step.

        Raises:
            ModelError: d was not made for the Model of the view, its positions are not finite,
                or the view is closed.
        """
        if self._closing.is_set():
            raise ModelError(Finding("view-closed", "the view is closed; open a new view"))
        self._show.put(Instant.of(self._show.m, d))

    def show_inline(self, height: int = 480) -> Inline:
        """Return HTML with which a notebook on this machine shows the page below the cell.

        Args:
            height: height of the page [pixels].
        """
        size = f'width="100%" height="{count("height", height, 100, 10_000)}"'
        return Inline(f'<iframe src="{self.address}" {size} style="border: 0"></iframe>')

    def close(self) -> None:
        """Close the view in all browsers; it may be closed already."""
        if not self._closing.is_set():
            self._closing.set()
            if self._follower is not None:
                self._follower.join()
            self._server.stop()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closing.is_set() else f"at {self.address}"
        return f"<View of '{self._show.m.name}', {state}>"


def view(
    m: Model,
    d: Data | None = None,
    looks: Appearance | str | bytes | Path | None = None,
    *,
    port: int = PORT,
    address: str = ADDRESS,
    package_dirs: Sequence[str | Path] = (),
) -> View:
    """Show a robot in the browser, live while the program moves it.

        with rb.view(m, d, "robot.urdf") as view:
            print(view.address)
            while True:
                rb.step(m, d, 20)

    In a notebook, `view.show_inline()` as the last line of a cell shows the page there.

    Args:
        m: the robot.
        d: its Data, which is shown about 30 times a second; None: only `View.show` shows a Data.
        looks: source of the <visual> elements: the file or URDF text of the robot; None: boxes
            with the mass and inertia of each body.
        port: TCP port; if it is in use, the next free port is used. 0: any free port.
        address: network address at which to serve; by default only this machine can connect.
        package_dirs: as for load_urdf.

    Raises:
        ModelError: m is not a Model, d was not made for it, or `looks` is another robot.
        DescriptionError: the file in `looks` is refused.
        ParameterError: the port or address is refused, or viser is not installed.
    """
    check_model(m, "view")
    if d is not None:
        check_pair(m, d, "view")
    if looks is None:
        looks = Appearance()
    elif not isinstance(looks, Appearance):
        looks = read_appearance(looks, package_dirs=package_dirs)
    return View(m, d, looks, port, address)
