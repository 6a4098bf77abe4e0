# SPDX-License-Identifier: Apache-2.0
"""The folder in the panel of a live view with which a user pushes a link."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rbdyn_ros.model.connected import connected_mass
from rbdyn_ros.model.model import Model
from rbdyn_ros.view.live.clock import tell
from rbdyn_ros.view.scene.wrench_lines import USUAL_GRAVITY

if TYPE_CHECKING:
    import viser

ORIGIN = (0.0, 0.0, 0.0)

Push = Callable[[str, Any, Any, Any, float], str]


class Pushes:
    """A folder to choose a link and a force, with a button that pushes the link.

    Args:
        server: server of the view.
        m: the robot.
        push: applies a wrench to a link: name, point, force, torque, duration.
    """

    def __init__(self, server: "viser.ViserServer", m: Model, push: Push) -> None:
        self._push, self._m, self._usual = push, m, 0.0
        self._links = _links(m)
        if not self._links:
            return
        gui = server.gui
        with gui.add_folder("Push", expand_by_default=False):
            self._link: Any = gui.add_dropdown(
                "Link",
                self._links,
                initial_value=m.body_names[-1],
                hint="or click it in the scene",
            )
            self._force: Any = gui.add_vector3(
                "Force x, y, z [N]", initial_value=ORIGIN, hint="along the axes of the world"
            )
            self._duration = gui.add_number(
                "Seconds", initial_value=0.1, min=1e-3, max=3600.0, step=1e-3
            )
            button = gui.add_button("Push", hint="at the origin of the link")
        self._link.on_update(lambda _: self._suggest())
        button.on_click(lambda event: tell(server, event, self._push_once()))
        self._suggest()

    def move(self, m: Model) -> None:
        """Use a Model with other objects from now on."""
        if not self._links:
            return
        chosen = self._chosen
        self._m, self._links = m, _links(m)
        self._link.options = self._links
        self._link.value = chosen if chosen in self._links else self._links[0]

    def choose(self, body: str) -> None:
        """Choose the link of a clicked body; "": the click hit no body, so change nothing."""
        if self._links and body in self._m.body_names[1:]:
            self._link.value = body

    def _suggest(self) -> None:
        """Suggest a force that suits the chosen link, unless the user has set a force."""
        if tuple(self._force.value) in (ORIGIN, (self._usual, 0.0, 0.0)):
            self._usual = usual_push(self._m, self._chosen)
            self._force.value = (self._usual, 0.0, 0.0)

    def _push_once(self) -> str:
        return self._push(
            self._chosen, ORIGIN, self._force.value, ORIGIN, float(self._duration.value)
        )

    @property
    def _chosen(self) -> str:
        """The chosen link; the first link if the text box has no name of a link."""
        chosen = str(self._link.value)
        return chosen if chosen in self._links else self._links[0]


def _links(m: Model) -> tuple[str, ...]:
    """Return the names of the links that can move."""
    frames = zip(m.frame_names, m.frame_bodyid, strict=True)
    return tuple(name for name, body in frames if body > 0)


def usual_push(m: Model, link: str) -> float:
    """Return a force that moves a link [N], rounded to two digits.

    The force is half the weight of the bodies joined to the link. For free bodies, which may lie
    on a floor with friction, it is twice their weight.
    """
    body = int(m.frame_bodyid[m.frame_id(link)])
    free = m.jnt_dofnum[m.body_rootid[body] - 1] == 6
    weight = USUAL_GRAVITY * connected_mass(m, body)
    return float(f"{(2.0 if free else 0.5) * weight:.2g}")
