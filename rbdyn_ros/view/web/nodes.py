# SPDX-License-Identifier: Apache-2.0
"""The viser scene nodes of one robot: for each body a frame with its shapes; lines and arrows.

An instant moves the frames of the bodies. Shapes fixed to a body are sent only once.
"""

import itertools
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.model.model import Model
from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.view.scene.parts import MASS, Part
from rbdyn_ros.view.scene.scene import (
    COLLISIONS,
    FORCES,
    FRAMES,
    GRID,
    JOINTS,
    LIGHTS,
    LINES,
    MASSES,
    SURFACES,
    VISUALS,
    BodyPlacement,
    Scene,
)
from rbdyn_ros.view.scene.wrench_lines import CONTACT, COUPLE, HEAD, PUSH, SHAFT, TOUCH, Rgb
from rbdyn_ros.view.web.lamps import add_lamp
from rbdyn_ros.view.web.textured import textured_mesh

if TYPE_CHECKING:
    import viser

Dragged = Callable[[str, Any], Coroutine[Any, Any, None]]

AXIS: Rgb = (86, 180, 233)
LIMIT: Rgb = (0, 114, 178)
HAND: Rgb = (213, 94, 0)

#: A colour of the floor that contrasts with light and dark robots.
FLOOR: Rgb = (176, 188, 202)
CELL: Rgb = (160, 172, 187)
SECTION: Rgb = (128, 142, 160)
FLOOR_OPACITY, SHADOW = 0.75, 0.3

#: Sizes relative to the size of the robot: thickness of lines, lengths of axes and of the triad.
LINE, AXES, TRIAD = 0.004, 0.06, 0.2
#: Frames of a body that are closer than this, relative to the robot's size, share a label.
NEAR = 0.05

#: Layer with the name of the clicked body.
LABEL = "label"

#: Largest number of frames with labels; more would not be legible.
MOST_LABELS = 300


def frame_labels(m: Model, near: float) -> list[tuple[int, Array, str]]:
    """Return the labels of frames: for each a body, a position (3,) in the body, and a text.

    Frames of one body that are closer than `near` [m] share a label, because their labels would
    cover each other.
    """
    found = list[tuple[int, Array, list[str]]]()
    frames = zip(m.frame_names, m.frame_bodyid.tolist(), m.frame_pos, strict=True)
    for name, body, pos in itertools.islice(frames, MOST_LABELS):
        beside = (
            names for other, at, names in found
            if other == body and np.linalg.norm(at - pos) < near
        )  # fmt: skip
        names = next(beside, None)
        if names is None:
            found.append((body, pos, [name]))
        else:
            names.append(name)
    return [
        (body, pos, ", ".join(names[:3]) + ", ..." * (len(names) > 3))
        for body, pos, names in found
    ]


#: All Nodes of each server; they share the lights of the page.
_OF_SERVER: "weakref.WeakKeyDictionary[Any, weakref.WeakSet[Nodes]]" = weakref.WeakKeyDictionary()


class Nodes:
    """The scene nodes of one robot.

    Args:
        server: server from open_server.
        scene: the scene of the robot.
        root: name of the parent of all nodes; it begins with a slash.
        clicked: called with the name of a clicked body.
        dragged: coroutine function that is called with the name of a dragged body and viser's
            event, also for drags with Shift; None: bodies cannot be dragged.

    Attributes:
        scene: the scene that is shown.
        origin: (3,) origin of the robot's world on the page [m].
    """

    def __init__(
        self,
        server: "viser.ViserServer",
        scene: Scene,
        root: str,
        clicked: Callable[[str], None],
        dragged: Dragged | None = None,
    ) -> None:
        self._server, self._viser, self.scene = server, server.scene, scene
        self._root, self._clicked, self._dragged = root, clicked, dragged
        self._opacity, self._numbers = 1.0, itertools.count()
        self._lock = threading.RLock()  # callbacks of browsers run in threads
        self._layers: dict[str, list[Any]] = {}
        self._hidden: set[str] = set()
        self._parts: dict[str, list[tuple[Part, Any]]] = {}
        self._arrows: dict[str, Any] = {}
        self._top = self._viser.add_frame(root, show_axes=False)
        self._bodies = [self._frame() for _ in range(scene.m.nbody)]
        self._at: BodyPlacement | None = None
        self.origin = np.zeros(3)
        _OF_SERVER.setdefault(server, weakref.WeakSet()).add(self)

    def stand(self, origin: Array) -> None:
        """Move the origin of the robot's world to a point (3,) of the page [m]."""
        self._top.position = self.origin = origin

    def _frame(self) -> Any:
        """Return a new scene node for the frame of a body."""
        return self._viser.add_frame(f"{self._root}/{next(self._numbers)}", show_axes=False)

    def move(self, scene: Scene) -> None:
        """Show a scene with other objects; bodies that are in both keep their surfaces."""
        with self._lock, self._server.atomic():
            before = self._surfaces()
            frames = dict(zip(self.scene.m.body_names, self._bodies, strict=True))
            self.scene, self._at = scene, None
            self._arrows.clear()
            gone = frames.keys() - set(scene.m.body_names)
            self._bodies = [frames.get(name) or self._frame() for name in scene.m.body_names]
            for layer in [layer for layer in self._layers if layer != LABEL]:
                self._layers[layer] = self._remade(layer, before.get(layer, {}))
                for node in self._layers[layer]:
                    node.visible = layer not in self._hidden
            for name in gone:
                frames[name].remove()
            self._light_page()

    def _surfaces(self) -> dict[str, dict[Any, list[Any]]]:
        """Return the nodes of surfaces by layer and by the key of their part; see _key."""
        found: dict[str, dict[Any, list[Any]]] = {}
        for layer, parts in self._parts.items():
            for part, node in parts:
                key = _key(self.scene, part)
                found.setdefault(layer, {}).setdefault(key, []).append(node)
        return found

    def _remade(self, layer: str, before: dict[Any, list[Any]]) -> list[Any]:
        """Return the nodes of a layer in the present scene, and remove nodes no longer needed.

        `before`: the nodes of the layer in the last scene, by the key of their part.
        """
        if layer not in (VISUALS, COLLISIONS):
            for node in self._layers[layer]:
                node.remove()
            self._parts.pop(layer, None)
            return self._make(layer)
        parts, nodes = self.scene.parts(layer), []
        self._parts[layer] = []
        for part in parts:
            same = before.get(_key(self.scene, part))
            if same:
                nodes.append(same.pop())
                self._parts[layer].append((part, nodes[-1]))
            else:
                nodes.append(self._surface(layer, part))
        for left in before.values():
            for node in left:
                node.remove()
        return nodes

    def put(self, instant: Instant) -> None:
        """Move all nodes to an instant, in one update.

        Raises:
            ModelError: qpos of the instant is not (nq,) finite numbers.
        """
        at = self.scene.place(instant)
        with self._lock, self._server.atomic():
            for node, pos, quat in zip(self._bodies, at.xpos, at.xquat, strict=True):
                node.position, node.wxyz = pos, quat
            self._at = at
            self._follow(at)

    def show(self, layer: str, visible: bool) -> None:
        """Show or hide a layer; its nodes are created when it is shown for the first time."""
        with self._lock, self._server.atomic():
            if visible and layer not in self._layers:
                self._layers[layer] = self._make(layer)
            (self._hidden.discard if visible else self._hidden.add)(layer)
            for node in self._layers.get(layer, ()):
                node.visible = visible
            if layer == LIGHTS:
                self._light_page()
            if visible and self._at is not None:
                self._follow(self._at)

    def set_opacity(self, opacity: float) -> None:
        """Set the opacity of visuals; 1 is opaque."""
        solid, self._opacity = self._opacity == 1.0, opacity
        with self._lock, self._server.atomic():
            for number, (part, node) in enumerate(self._parts.get(VISUALS, ())):
                if part.image is None:
                    node.opacity = _opacity(part, opacity)
                elif not solid or opacity < 1.0:  # a transparent part is drawn without its texture
                    other = self._parts[VISUALS][number] = part, self._node(VISUALS, part)
                    other[1].visible = node.visible
                    self._layers[VISUALS][number] = other[1]
                    node.remove()

    def label(self, body: int | None) -> None:
        """Show the name of a body next to it; None: hide the name."""
        with self._lock, self._server.atomic():
            for node in self._layers.pop(LABEL, ()):
                node.remove()
            if body is not None:
                name = self._name(body, LABEL)
                text = self.scene.m.body_names[body]
                at = self.scene.m.body_ipos[body]
                self._layers[LABEL] = [self._viser.add_label(name, text, position=at)]

    @property
    def centre(self) -> Array:
        """Centre of mass (3,) of the shown robot, on the page [m]."""
        return self.origin if self._at is None else self.origin + self._at.com

    def pose(self, body: int) -> tuple[Array, Array]:
        """Return position (3,) [m] and orientation (3, 3) of a shown body, on the page."""
        frame = self._bodies[body]
        return self.origin + frame.position, quat_to_mat(np.array(frame.wxyz))

    def path(self, body: int) -> str:
        """Return the name of the node of a body, so that other nodes can be added below it."""
        return str(self._bodies[body].name)

    def remove(self) -> None:
        """Remove all nodes from the scene."""
        with self._lock, self._server.atomic():
            self._top.remove()
            self._hidden.add(LIGHTS)
            self._light_page()

    @property
    def shows_lamps(self) -> bool:
        """Whether the lights of the robot's file shine on the page."""
        return LIGHTS not in self._hidden and len(self._layers.get(LIGHTS, ())) > 0

    def _light_page(self) -> None:
        """Switch the page's own lights off if a robot of the server shows lamps, else on."""
        if LIGHTS in self._layers:
            lit = any(nodes.shows_lamps for nodes in list(_OF_SERVER[self._server]))
            self._viser.configure_default_lights(enabled=not lit)

    def _make(self, layer: str) -> list[Any]:
        if layer in SURFACES:
            nodes = [self._surface(layer, part) for part in self.scene.parts(layer)]
            return [*nodes, self._whole_mass()] if layer == MASSES else nodes
        make = {FRAMES: self._frames, JOINTS: self._joints, FORCES: self._forces,
                LINES: self._lines, GRID: self._ground, LIGHTS: self._lights}  # fmt: skip
        return make[layer]()

    def _name(self, body: int, kind: str) -> str:
        return f"{self._bodies[body].name}/{kind} {next(self._numbers)}"

    def _surface(self, layer: str, part: Part) -> Any:
        node = self._node(layer, part)
        self._parts.setdefault(layer, []).append((part, node))
        return node

    def _node(self, layer: str, part: Part) -> Any:
        """Return a new node of a part."""
        name, opacity = self._name(part.body, layer), self._opacity if layer == VISUALS else 1.0
        node: Any
        placed: dict[str, Any] = {"scale": part.scale, "position": part.pos, "wxyz": part.quat}
        if part.image is not None and opacity == 1.0:
            node = self._viser.add_mesh_trimesh(name, textured_mesh(part), **placed)
        else:
            node = self._viser.add_mesh_simple(
                name,
                part.surface.vertices,
                part.surface.faces,
                color=part.color[:3],
                opacity=_opacity(part, opacity),
                side="double",
                **placed,
            )
        if part.body > 0:
            name = self.scene.m.body_names[part.body]
            node.on_click(lambda _: self._clicked(name))
            self._let_drag(node, name)
        return node

    def _let_drag(self, node: Any, name: str) -> None:
        dragged = self._dragged
        if dragged is None:
            return

        async def call(event: Any) -> None:
            await dragged(name, event)

        for modifier in (None, "shift"):
            node.on_drag("left", modifier=modifier)(call)

    def _whole_mass(self) -> Any:
        radius = 0.03 * self.scene.size
        self._arrows["com"] = self._viser.add_icosphere(
            f"{self._root}/com", radius, color=MASS[:3], opacity=0.6
        )
        return self._arrows["com"]

    def _frames(self) -> list[Any]:
        m, size = self.scene.m, self.scene.size
        nodes: list[Any] = []
        for body in np.unique(m.frame_bodyid).tolist():
            here = m.frame_bodyid == body
            nodes.append(
                self._viser.add_batched_axes(
                    self._name(body, FRAMES),
                    m.frame_quat[here],
                    m.frame_pos[here],
                    axes_length=AXES * size,
                    axes_radius=0.04 * AXES * size,
                )
            )
        for body, pos, text in frame_labels(m, NEAR * size):
            name = self._name(body, "name")
            nodes.append(self._viser.add_label(name, text, position=pos, font_screen_scale=0.7))
        return nodes

    def _joints(self) -> list[Any]:
        nodes: list[Any] = []
        for mark in self.scene.marks:
            nodes.append(self._add_arrows(self._name(mark.body, "axis"), mark.arrow[None], AXIS))
            nodes.append(self._add_lines(self._name(mark.body, "hand"), mark.hand[None], HAND))
            if len(mark.limits):
                where = self._name(mark.parent, "limits")
                nodes.append(self._add_lines(where, mark.limits, LIMIT))
        return nodes

    def _forces(self) -> list[Any]:
        nowhere = np.zeros((0, 2, 3))
        for kind, color in (("contacts", CONTACT), ("pushes", PUSH), ("couples", COUPLE)):
            node = self._add_arrows(f"{self._root}/{kind}", nowhere, color)
            self._arrows[kind] = node
        self._arrows["touches"] = self._viser.add_point_cloud(
            f"{self._root}/touches",
            np.zeros((0, 3), np.float32),
            CONTACT,
            point_size=TOUCH * self.scene.size,
            point_shape="circle",
            precision="float32",
        )
        return [self._arrows[kind] for kind in ("contacts", "pushes", "couples", "touches")]

    def _lines(self) -> list[Any]:
        lines = self.scene.lines
        if not len(lines.bodies):
            return []
        colors = np.repeat(np.rint(255 * lines.colors).astype(np.uint8)[:, None], 2, axis=1)
        nowhere = np.zeros((len(colors), 2, 3))
        self._arrows["lines"] = self._add_lines(f"{self._root}/lines", nowhere, colors)
        return [self._arrows["lines"]]

    def _lights(self) -> list[Any]:
        """Add the lights of the robot's file to the page and return them."""
        scene = self.scene
        return [
            add_lamp(self._viser, self._name(lamp.body, LIGHTS), lamp, scene.middle, scene.radius)
            for lamp in scene.lamps
        ]

    def _ground(self) -> list[Any]:
        scene = self.scene
        cell = 10.0 ** np.floor(np.log10(scene.size))
        grid = self._viser.add_grid(
            f"{self._root}/grid",
            infinite_grid=True,
            fade_distance=12.0 * scene.size,
            cell_size=0.1 * cell,
            section_size=cell,
            cell_color=CELL,
            section_color=SECTION,
            cell_thickness=0.6,
            section_thickness=0.9,
            shadow_opacity=SHADOW,
            plane_color=FLOOR,
            plane_opacity=FLOOR_OPACITY,
            position=(0.0, 0.0, scene.floor),
        )
        length = TRIAD * scene.size
        triad = self._viser.add_frame(
            f"{self._root}/triad", axes_length=length, axes_radius=0.03 * length,
            origin_radius=0.06 * length, position=(0.0, 0.0, scene.floor),
        )  # fmt: skip
        return [grid, triad, *(self._surface(GRID, part) for part in scene.obstacles)]

    def _add_lines(self, name: str, points: Array, color: Any) -> Any:
        thickness = LINE * self.scene.size
        return self._viser.add_line_segments(name, points, color, thickness=thickness)

    def _add_arrows(self, name: str, points: Array, color: Rgb) -> Any:
        size = self.scene.size
        return self._viser.add_arrows(
            name, points, color, shaft_radius=SHAFT * size, head_radius=HEAD * size,
            head_length=2.0 * HEAD * size,
        )  # fmt: skip

    def _follow(self, at: BodyPlacement) -> None:
        """Update the shown nodes that depend on the instant."""
        if "com" in self._arrows:
            self._arrows["com"].position = at.com
        for kind in ("lines", "contacts", "pushes", "couples", "touches"):
            node = self._arrows.get(kind)
            if node is not None and node.visible:
                points = getattr(at, kind).astype(np.float32)
                if not np.array_equal(node.points, points):
                    node.points = points


def _key(scene: Scene, part: Part) -> tuple[Any, ...]:
    """Return a key that is equal for equal parts: body, pose, colour, scale, shape and image."""
    numbers = np.concatenate([part.pos, part.quat, part.color, part.scale])
    surface = part.surface
    shape = surface.vertices.tobytes(), surface.faces.tobytes(), id(part.image)
    return scene.m.body_names[part.body], numbers.tobytes(), shape


def _opacity(part: Part, opacity: float) -> float | None:
    seen = opacity * part.color[3]
    return seen if seen < 1.0 else None
