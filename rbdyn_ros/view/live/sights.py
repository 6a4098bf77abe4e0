# SPDX-License-Identifier: Apache-2.0
"""Show pictures of cameras in the folder "Sensors" of a live view, lidar points in its scene."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rbdyn_ros.model.tree.rotation import quat_to_mat
from rbdyn_ros.sensors.sights import Sight
from rbdyn_ros.view.web.show import Show

if TYPE_CHECKING:
    import viser

#: Time between two requests for the readings of sensors [s].
PERIOD = 0.2
#: Colour of the points of lidars, and size of a point relative to the robot.
POINTS, SIZE = (213, 94, 0), 0.006


class Sights:
    """The pictures and points of a robot's lidars and cameras.

    Args:
        server: server of the view.
        show: the robot.
        seen: returns the latest readings of the sensors.
    """

    def __init__(
        self, server: "viser.ViserServer", show: Show, seen: Callable[[], Sequence[Sight]]
    ) -> None:
        self._server, self._show, self._seen = server, show, seen
        self._folder = server.gui.add_folder("Sensors")
        with self._folder:
            self._shown = server.gui.add_checkbox("Show", initial_value=True)
        self._shown.on_update(lambda _: self._clear())
        self._pictures: dict[str, Any] = {}
        self._clouds: dict[str, Any] = {}
        self._next = 0.0

    def look(self) -> None:
        """Show the newest pictures and points, if PERIOD has passed and they are not hidden."""
        if not self._shown.value or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + PERIOD
        for sight in self._seen():
            if sight.link not in self._show.m.frame_names:
                continue  # the object with the sensor has just been added or removed
            if sight.picture is not None:
                self._put_picture(sight.name, sight.picture)
            if sight.points is not None:
                self._put_points(sight)

    def _put_picture(self, name: str, picture: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
        if name in self._pictures:
            self._pictures[name].image = picture
        else:
            with self._folder:
                self._pictures[name] = self._server.gui.add_image(
                    picture, label=name, format="jpeg"
                )

    def _put_points(self, sight: Sight) -> None:
        m = self._show.m
        frame = m.frame_id(sight.link)
        body, R = int(m.frame_bodyid[frame]), quat_to_mat(m.frame_quat[frame])
        # a new node replaces the node of the same name
        self._clouds[sight.name] = self._server.scene.add_point_cloud(
            f"{self._show.nodes.path(body)}/sensor {sight.name}",
            (sight.points @ R.T + m.frame_pos[frame]).astype(np.float32),
            POINTS,
            point_size=SIZE * self._show.scene.size,
            point_shape="circle",
            precision="float32",
        )

    def _clear(self) -> None:
        """Remove all pictures and points."""
        for handles in (self._pictures, self._clouds):
            while handles:
                handles.popitem()[1].remove()
