# SPDX-License-Identifier: Apache-2.0
"""The folder "Display" of a robot: which layers are shown."""

import base64
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdyn_ros.errors import RbdynError
from rbdyn_ros.view.pictures.connectivity import draw_connectivity
from rbdyn_ros.view.scene.scene import (
    BOXES,
    COLLISIONS,
    ELLIPSOIDS,
    FORCES,
    FRAMES,
    GRID,
    JOINTS,
    LIGHTS,
    LINES,
    MASSES,
    VISUALS,
    Scene,
)
from rbdyn_ros.view.scene.wrench_lines import WEIGHT_LENGTH, weight_of
from rbdyn_ros.view.web.nodes import Nodes

if TYPE_CHECKING:
    import viser


#: Position in the panel: after all other folders.
LAST = 1e9

_HINTS = {
    VISUALS: "the <visual> elements",
    COLLISIONS: "the collision geometries",
    BOXES: "each body as a homogeneous box with its mass and inertia",
    ELLIPSOIDS: "each body as a homogeneous ellipsoid with its mass and inertia",
    MASSES: "centres of mass of the bodies and of the robot",
    FRAMES: "frames of all links with their names; x red, y green, z blue; an opaque robot "
    "becomes translucent",
    JOINTS: "joint axes, limits and positions; an opaque robot becomes translucent",
    FORCES: "contact forces green, with a ball at each contact point; pushes orange, torques "
    "violet; the robot's weight is half as long as the robot",
    LINES: "springs, rods, bands, loop joints, and the skeleton of bodies without visuals",
    LIGHTS: "the lights of the file instead of the lights of the page",
    GRID: "the ground with the axes of the world, x red, y green, z blue, and the obstacles",
}


#: Layers that are inside the links; while one is shown, visuals are translucent.
INSIDE = (FRAMES, JOINTS)
TRANSLUCENT = 0.4


class Display:
    """Check boxes for the layers of a robot, its opacity, and its connectivity graph.

    Args:
        server: server of the view.
        nodes: scene nodes of the robot.
    """

    def __init__(self, server: "viser.ViserServer", nodes: Nodes) -> None:
        self._nodes, self._gui = nodes, server.gui
        gui = server.gui
        self._folder = gui.add_folder("Display", order=LAST, expand_by_default=False)
        self.boxes: dict[str, Any] = {}
        with self._folder:
            self._scale = gui.add_html("", order=LAST)
        self.move()
        with self._folder:
            if VISUALS in self.boxes:
                self.opacity: Any = gui.add_slider("Opacity", 0.05, 1.0, 0.05, 1.0)
                self.opacity.on_update(lambda _: nodes.set_opacity(self.opacity.value))
            self.graph = gui.add_button("Connectivity graph")
            self.graph.on_click(lambda event: self._show_graph(event.client))

    def move(self) -> None:
        """Add a check box for each layer that is new in the present scene."""
        scene = self._nodes.scene
        on = {*scene.shown, FORCES, LINES, GRID, LIGHTS}
        with self._folder:
            for layer in _present(scene):
                if layer not in self.boxes:
                    box = self._gui.add_checkbox(
                        layer.capitalize(), layer in on, hint=_HINTS[layer]
                    )
                    self.boxes[layer] = box
                    self._apply(layer)
        self._scale.content = force_scale(scene)

    def set(self, layer: str, visible: bool) -> None:
        """Show or hide a layer, as its check box does."""
        self.boxes[layer].value = visible

    def remove(self) -> None:
        """Remove the folder from the panel."""
        self._folder.remove()

    def _apply(self, layer: str) -> None:
        box = self.boxes[layer]
        if box.value:
            self._nodes.show(layer, visible=True)
        box.on_update(lambda _: self._switch(layer, box.value))

    def _switch(self, layer: str, shown: bool) -> None:
        self._nodes.show(layer, visible=shown)
        if layer in INSIDE and VISUALS in self.boxes:
            inside = any(self.boxes[one].value for one in INSIDE if one in self.boxes)
            if (self.opacity.value == 1.0) if inside else (self.opacity.value == TRANSLUCENT):
                self.opacity.value = TRANSLUCENT if inside else 1.0

    def _show_graph(self, client: "viser.ClientHandle | None") -> None:
        """Show the connectivity graph in one browser; None: in all browsers."""
        if client is None:
            return
        try:
            picture = base64.b64encode(graph_svg(self._nodes.scene)).decode()
        except RbdynError as error:
            client.add_notification("No graph", str(error), color="red")
            return
        with client.gui.add_modal("Connectivity graph") as modal:
            client.gui.add_html(
                # embed the SVG as an image, in which scripts do not run
                f'<img alt="connectivity graph" style="width: 100%; max-height: 70vh; '
                f'object-fit: contain" src="data:image/svg+xml;base64,{picture}">'
            )
            client.gui.add_button("Close").on_click(lambda _: modal.close())


def force_scale(scene: Scene) -> str:
    """Return as HTML the force of an arrow, whose length [m] is a power of ten."""
    longest = WEIGHT_LENGTH * scene.size
    length = 10.0 ** np.floor(np.log10(longest))
    force = length / longest * weight_of(scene.m)
    text = f"an arrow of {length:g} m is a force of {force:.3g} N"
    return f'<div style="padding: 0 0.75em; font-size: 0.85em">{text}</div>'


def graph_svg(scene: Scene) -> bytes:
    """Return the connectivity graph of a robot as SVG.

    Raises:
        ParameterError: matplotlib is missing.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.svg"
        draw_connectivity(scene.m, path)
        return path.read_bytes()


def _present(scene: Scene) -> list[str]:
    """Return the layers that are not empty for a robot."""
    m, looks = scene.m, scene.looks
    there = {
        VISUALS: bool(looks.visuals),
        COLLISIONS: bool(looks.collisions),
        BOXES: bool((m.body_mass > 0.0).any()),
        ELLIPSOIDS: bool((m.body_mass > 0.0).any()),
        MASSES: bool((m.body_mass > 0.0).any()),
        FRAMES: m.nframe > 0,
        JOINTS: m.njnt > 0,
        FORCES: True,
        LINES: len(scene.lines.bodies) > 0,
        LIGHTS: len(scene.lamps) > 0,
        GRID: True,
    }
    return [layer for layer, is_there in there.items() if is_there]
