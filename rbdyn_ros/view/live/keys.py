# SPDX-License-Identifier: Apache-2.0
"""Keyboard shortcuts of the live view for time and camera, and a help sheet that lists them."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.share import share_dir
from rbdyn_ros.view.web.show import place, spread

if TYPE_CHECKING:
    import viser

GUIDE = share_dir() / "docs" / "guides" / "view.md"
#: Directions from the robot to the camera, by key.
VIEWS = {
    "1": ("From the front", (1.0, 0.0, 0.25)),
    "2": ("From the left", (0.0, 1.0, 0.25)),
    "3": ("From above", (-0.01, 0.0, 1.0)),
    "4": ("As at the start", (1.0, -0.9, 0.55)),
}
HINT = (
    '<div style="padding: 0 0.75em; font-size: 0.85em; opacity: 0.8">'
    "Drag a link to pull it, with Shift to turn it. Key H: help.</div>"
)
LOST = (
    '<div style="padding: 0 0.75em; font-size: 0.85em; font-weight: 600">'
    "The robot has left the picture: key F follows it, R resets.</div>"
)
#: A robot has left the picture if its distance from the target of the camera exceeds this share of
#: the camera's own distance.
FAR = 1.5
#: Names of keys on the sheet that differ from viser's names.
NAMES = {"arrowright": "right arrow", "escape": "Esc"}
#: The camera does not follow smaller motions than this share of its distance.
LEAST_MOTION = 1e-4

MOUSE = (
    ("drag a link", "Pull it; let go to throw it"),
    ("Shift and drag", "Turn it"),
    ("click a link", "Name it, and choose it for <i>Push</i>"),
    ("drag beside the robot", "Turn the camera; with the right button: move it"),
)


class Keys:
    """Hotkeys, a help sheet, and the checkbox *Follow*.

    Args:
        server: server of the view.
        actions: for each key, the label of its action, and a function of viser's event.
    """

    def __init__(
        self, server: "viser.ViserServer", actions: Mapping[str, tuple[str, Callable[[Any], None]]]
    ) -> None:
        self._server, self._centre = server, np.zeros(3)
        self.follow: Any = server.gui.add_checkbox(
            "Follow", initial_value=False, hint="the camera moves with the robot (key F)"
        )
        server.gui.add_html(HINT)
        self._lost: Any = server.gui.add_html(LOST, visible=False)
        self._rows: list[tuple[str, str]] = []
        self._sheets: dict[int, Any] = {}
        for key, (label, act) in actions.items():
            self._add(key, label, act)
        self._add("F", "Follow the robot, or stop following", self._toggle)
        for key, (label, direction) in VIEWS.items():
            self._add(key, label, partial(self._look_from, np.array(direction)))
        self._add("H", "Show or hide this help", self._show_help)
        self._add("escape", "Hide this help", self._hide_help)

    def _add(self, key: str, label: str, act: Callable[[Any], None]) -> None:
        self._rows.append((NAMES.get(key, key), label))
        command = self._server.gui.add_command(label, hotkey=key)  # type: ignore[arg-type]
        command.on_trigger(act)

    def _toggle(self, _: Any) -> None:
        self.follow.value = not self.follow.value

    def put(self, centre: Array) -> None:
        """Move the cameras with the centre (3,) of the robot if *Follow* is on.

        If the robot has left the picture, the camera then centres it again. Without *Follow*, a
        note in the panel says that it has left the picture.
        """
        moved, start = centre - self._centre, self._server.initial_camera
        self._centre = np.array(centre)
        follows = bool(self.follow.value)
        lost = not follows and _is_far(start, centre)
        if self._lost.visible != lost:
            self._lost.visible = lost
        if not follows:
            return
        for client in self._server.get_clients().values():
            camera = client.camera
            away = np.linalg.norm(np.asarray(camera.position) - camera.look_at)
            way = centre - np.asarray(camera.look_at) if _is_far(camera, centre) else moved
            if np.linalg.norm(way) > LEAST_MOTION * away:
                camera.position = np.asarray(camera.position) + way  # viser also moves look_at

    def _look_from(self, way: Array, event: Any) -> None:
        if event.client is None:
            return
        camera, start = event.client.camera, self._server.initial_camera
        away = np.linalg.norm(np.asarray(start.position) - start.look_at) * spread(camera)
        target = np.asarray(camera.look_at if self.follow.value else start.look_at)
        with event.client.atomic():
            place(camera, target + away * way / np.linalg.norm(way), target)

    def _show_help(self, event: Any) -> None:
        """Show the sheet in the browser of the event, or close it there if it is open."""
        if event.client is None:
            return
        number, gui = event.client.client_id, event.client.gui
        if number in self._sheets:
            self._hide_help(event)
            return
        rows = [*self._rows, *MOUSE]
        cells = (f"<tr><td><b>{key}</b>&emsp;</td><td>{text}</td></tr>" for key, text in rows)
        with gui.add_modal("Keys and mouse") as self._sheets[number]:
            gui.add_html(f"<table>{''.join(cells)}</table>")
            if GUIDE.is_file():
                gui.add_button("Guide to this page").on_click(partial(_show_guide, gui))
            gui.add_button("Close").on_click(lambda _: self._hide_help(event))

    def _hide_help(self, event: Any) -> None:
        """Close the sheet in the browser of the event if it is open."""
        client = event.client
        shown = None if client is None else self._sheets.pop(client.client_id, None)
        if shown is not None:
            shown.close()


def _is_far(camera: Any, centre: Array) -> bool:
    """Return whether the centre (3,) of a robot has left the picture of a camera."""
    target = np.asarray(camera.look_at)
    away = np.linalg.norm(np.asarray(camera.position) - target)
    return bool(np.linalg.norm(centre - target) > FAR * away)


def _show_guide(gui: "viser.GuiApi", _: Any) -> None:
    with gui.add_modal("Live view") as modal:
        gui.add_markdown(guide_text())
        gui.add_button("Close").on_click(lambda _: modal.close())


def guide_text() -> str:
    """Return the guide to the live page, without pictures and links to other pages."""
    text = GUIDE.read_text(encoding="utf-8")
    text = re.sub(r"^!\[.*\n|^# .*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
