# SPDX-License-Identifier: Apache-2.0
"""Show a robot in a view: its scene, its folder "Display", and facts about a clicked body."""

import contextlib
import html
import itertools
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.shapes import Appearance
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.errors import counted
from rbdyn_ros.model.model import Model
from rbdyn_ros.report.describe import joint_type
from rbdyn_ros.view.scene.scene import Scene
from rbdyn_ros.view.web.display import Display
from rbdyn_ros.view.web.nodes import Dragged, Nodes
from rbdyn_ros.view.web.server import address_of, open_server

if TYPE_CHECKING:
    import viser

__all__ = ["Show", "address_of", "open_server"]

#: Half the angle of the field of view [rad], and the direction from the robot to the camera.
HALF_ANGLE = np.radians(22.5)
FROM = np.array([1.0, -0.9, 0.55])
#: Distance of the camera as a share of the distance at which the whole workspace is visible.
MARGIN = 0.8


class Show:
    """A robot in the scene of a server, with a folder of its own in the panel.

    Args:
        server: server from open_server.
        m: the robot.
        looks: appearance of the robot.
        name: unique name of its part of the scene; "": the name of the robot.
        dragged: called when a body is dragged, as for Nodes; None: bodies cannot be dragged.

    Attributes:
        scene: the scene of the robot.
        picked: name of the clicked body; "": no body is selected.

    Raises:
        ModelError: the appearance is another robot's.
    """

    def __init__(
        self,
        server: "viser.ViserServer",
        m: Model,
        looks: Appearance,
        name: str = "",
        dragged: Dragged | None = None,
    ) -> None:
        self.server, self.m, self.name = server, m, name or m.name or "robot"
        self.scene = Scene(m, looks)
        self.picked = ""
        self._calls: list[Callable[[str], None]] = []
        self.nodes = Nodes(server, self.scene, f"/{_path(self.name)}", self._click, dragged)
        with server.atomic():
            self._title = server.gui.add_html(title(m, self.name))
            self._facts = server.gui.add_html("", visible=False)
            self.display = Display(server, self.nodes)
            frame_camera(server, [self])
        server.on_client_connect(partial(fit_page, server))
        self.put(Instant.still(m, m.qpos0))

    def put(self, instant: Instant) -> None:
        """Show the robot as it is at an instant.

        Raises:
            ModelError: qpos of the instant is not (nq,) finite numbers.
        """
        self.nodes.put(instant)

    def pose(self, body: str) -> tuple[Array, Array]:
        """Return position (3,) [m] and orientation (3, 3) of a shown body, on the page."""
        return self.nodes.pose(self.m.body_names.index(body))

    def move(self, m: Model, looks: Appearance) -> None:
        """Show the robot with other objects; keep layers, camera and nodes of unchanged parts.

        Args:
            m: the Model with these objects.
            looks: appearance of the robot.
        """
        if self.picked and self.picked not in m.body_names:
            self._click(self.picked)
        self.m, self.scene = m, Scene(m, looks)
        self.nodes.move(self.scene)
        self.display.move()
        self._title.content = title(m, self.name)

    def on_click(self, call: Callable[[str], None]) -> None:
        """Register a function of the name of a clicked body; the name is "" on deselection.

        A thread of the server calls the function.
        """
        self._calls.append(call)

    def remove(self) -> None:
        """Remove the robot from the scene and the panel."""
        self.display.remove()
        for handle in (self._title, self._facts):
            handle.remove()
        self.nodes.remove()

    def _click(self, name: str) -> None:
        body, again = self.m.body_names.index(name), name == self.picked
        self.picked = "" if again else name
        self.nodes.label(None if again else body)
        with self.server.atomic():
            self._facts.visible = not again
            self._facts.content = "" if again else body_facts(self.m, body)
        for call in self._calls:
            call(self.picked)


def stand_side_by_side(shows: Sequence[Show]) -> None:
    """Show robots of different worlds in a row along y, out of each other's reach.

    The first robot stays at the origin. All other robots are whole cells of its grid away.
    """
    cell = 10.0 ** np.floor(np.log10(max(show.scene.size for show in shows)))
    y = 0.0
    for before, show in itertools.pairwise(shows):
        left, right = before.scene, show.scene
        apart = left.middle[1] + left.radius - right.middle[1] + right.radius
        y += cell * np.ceil(apart / cell)
        show.nodes.stand(np.array([0.0, y, 0.0]))


def frame_camera(server: "viser.ViserServer", shows: Sequence[Show]) -> None:
    """Set the initial camera, which shows all robots from the front, slightly from above."""
    balls = [(show.nodes.origin + show.scene.middle, show.scene.radius) for show in shows]
    low = np.min([middle - radius for middle, radius in balls], axis=0)
    high = np.max([middle + radius for middle, radius in balls], axis=0)
    middle = 0.5 * (low + high)
    radius = max(float(np.linalg.norm(one - middle)) + reach for one, reach in balls)
    distance = MARGIN * max(radius, 1e-3) / np.sin(HALF_ANGLE)
    camera = server.initial_camera
    camera.fov = 2.0 * HALF_ANGLE
    camera.near, camera.far = 0.005 * distance, 200.0 * distance
    camera.look_at = middle
    camera.position = middle + distance * FROM / np.linalg.norm(FROM)


def fit_page(server: "viser.ViserServer", client: "viser.ClientHandle") -> None:
    """Move the camera of a browser with an upright page back, once the camera's pose is known.

    Before a page reports its camera it may still be loading, and would lose the message.
    """

    def fit(camera: Any) -> None:
        start, target = (np.asarray(at) for at in (first.position, first.look_at))
        if (back := spread(camera)) > 1.0 and np.allclose(camera.position, start, atol=1e-6):
            place(camera, target + back * (start - target), target)

    first = server.initial_camera
    client.camera.on_update(fit)
    with contextlib.suppress(AssertionError):  # the page has not reported its camera
        fit(client.camera)


def place(camera: Any, position: Array, target: Array) -> None:
    """Move a camera to a position (3,) and point it at a target (3,)."""
    camera.position = position
    camera.look_at = target  # set the target last, because it moves with the position


def spread(camera: Any) -> float:
    """Return the factor by which the camera must be farther away; 1 unless the page is upright."""
    width, height = int(camera.image_width), int(camera.image_height)
    return max(1.0, height / max(width, 1))


def title(m: Model, name: str) -> str:
    """Return the heading of a robot in the panel as HTML; name: "" for a single robot."""
    count = m.nbody - 1
    facts = f"{counted(count, 'body', 'bodies')}, {m.nv} dof, "
    facts += f"{m.body_mass.sum():.4g} kg"
    if m.nloop:
        facts += f", {counted(m.nloop, 'loop joint')}"
    return _box(f"<b>{html.escape(name)}</b><br>{facts}")


def body_facts(m: Model, body: int) -> str:
    """Return facts about a body as HTML; names are escaped, because they come from files."""
    j = body - 1
    rows = [
        ("body", m.body_names[body]),
        ("mass", f"{m.body_mass[body]:.4g} kg"),
        ("of its subtree", f"{m.body_subtreemass[body]:.4g} kg"),
        ("joint", f"{m.jnt_names[j]} ({joint_type(m, j)})"),
        ("on", m.body_names[m.body_parentid[body]]),
    ]
    cells = (f"<tr><td>{what}&nbsp;</td><td>{html.escape(said)}</td></tr>" for what, said in rows)
    return _box(f"<table>{''.join(cells)}</table>")


def _box(content: str) -> str:
    style = "padding: 0 0.75em; font-size: 0.85em; line-height: 1.5; overflow-wrap: anywhere"
    return f'<div style="{style}">{content}</div>'


def _path(name: str) -> str:
    """Return a name without characters that the path of a scene node cannot have."""
    return re.sub(r"[^\w.-]", "_", name)
