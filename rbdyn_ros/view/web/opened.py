# SPDX-License-Identifier: Apache-2.0
"""rb.open_view: a view that a Python program opens and moves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from rbdyn_ros.description.appearance.shapes import Appearance, read_appearance
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.errors import Finding, ModelError
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model, check_model
from rbdyn_ros.view.web.server import ADDRESS, PORT, address_of, open_server
from rbdyn_ros.view.web.show import Show

if TYPE_CHECKING:
    from typing_extensions import Self


class View:
    """A robot in the browser, moved by the program; created by open_view.

    Attributes:
        address: for a browser on this machine, for example http://127.0.0.1:8080.
        findings: warnings about the appearance of the robot.
    """

    def __init__(self, m: Model, looks: Appearance, port: int, address: str) -> None:
        self._server = open_server(port, address, m.name)
        try:
            self._show = Show(self._server, m, looks)
        except BaseException:
            self._server.stop()
            raise
        self.address = address_of(self._server)
        self.findings = (*looks.findings, *self._show.scene.findings)
        self._closed = False

    def show(self, d: Data) -> None:
        """Show the state of a Data, with the contact forces of its last step.

        Raises:
            ModelError: d was not made for the Model of the view, its positions are not finite,
                or the view is closed.
        """
        if self._closed:
            raise ModelError(Finding("view-closed", "the view is closed; open a new one"))
        self._show.put(Instant.of(self._show.m, d))

    def close(self) -> None:
        """Close the view in all browsers; does nothing if it is closed."""
        if not self._closed:
            self._closed = True
            self._server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"at {self.address}"
        return f"<View of '{self._show.m.name}', {state}>"


def open_view(
    m: Model,
    looks: Appearance | str | bytes | Path | None = None,
    *,
    port: int = PORT,
    address: str = ADDRESS,
    package_dirs: Sequence[str | Path] = (),
) -> View:
    """Show a robot in the browser; move it with `show`.

        with rb.open_view(m, "robot.urdf") as view:
            print(view.address)
            while True:
                rb.step(m, d, 20)
                view.show(d)

    Args:
        m: the robot.
        looks: source of the <visual> elements: the file or URDF text of the robot; None: boxes
            with the mass and inertia of each body.
        port: TCP port; the next free one if it is in use, any free one for 0.
        address: network address to serve on; by default only this machine can connect.
        package_dirs: as for load_urdf.

    Raises:
        ModelError: m is not a Model, or `looks` is another robot.
        DescriptionError: the file in `looks` is refused.
        ParameterError: the port or address is refused, or viser is not installed.
    """
    check_model(m, "open_view")
    if looks is None:
        looks = Appearance()
    elif not isinstance(looks, Appearance):
        looks = read_appearance(looks, package_dirs=package_dirs)
    return View(m, looks, port, address)
