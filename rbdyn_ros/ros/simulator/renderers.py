"""The process that draws for the cameras of a robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rbdyn_ros.description.appearance.shapes import Appearance
from rbdyn_ros.errors import ParameterError, refusal
from rbdyn_ros.model.model import Model
from rbdyn_ros.sensors.camera_specs import METHODS, ColorSpec, DepthSpec
from rbdyn_ros.sensors.specs import Spec
from rbdyn_ros.sensors.suite import Suite
from rbdyn_ros.view.render.process import RenderProcess

#: Returns the appearance of a Model.
AppearanceOf = Callable[[Model], Appearance]


class Renderers:
    """Keeps a process that draws, and starts another one when the Model changes.

    Args:
        looks: returns the appearance of a Model.
        specs: sensors, of which it draws for the colour cameras and for depth cameras.
    """

    def __init__(self, looks: AppearanceOf, specs: Sequence[Spec]) -> None:
        self._looks, self._kept = looks, dict[Model, RenderProcess]()
        self._stopped = False
        self._cameras = [spec for spec in specs if isinstance(spec, ColorSpec)]
        cameras = [(k, spec) for k, spec in enumerate(specs) if isinstance(spec, DepthSpec)]
        self._depth = {spec: k for k, spec in cameras if spec.is_drawn}

    def start(self, suite: Suite) -> str:
        """Start the process now if it has cameras; return a note if rays take its place, or "".

        Raises:
            ParameterError: no picture can be drawn on this machine, and a camera needs it.
        """
        if not self._cameras and not self._depth:
            return ""
        try:
            self.of(suite)
        except ParameterError as error:
            if self._cameras or any(spec.method == METHODS[2] for spec in self._depth):
                raise
            self._depth.clear()
            return f"depth cameras cast rays, which takes longer than drawing: {error}"
        return ""

    def draws(self, spec: DepthSpec) -> bool:
        """Return whether the process draws the pictures of a depth camera."""
        return spec in self._depth

    def of(self, suite: Suite) -> RenderProcess:
        """Return what draws the Model of the sensors; for one thread.

        Raises:
            RbdynError: `stop` was called.
        """
        if self._stopped:
            raise refusal("the simulator ends, so no more pictures are drawn")
        m = suite.m
        if m not in self._kept:
            self.close()
            looks = self._looks(m) if self._cameras else Appearance()
            shapes = {spec: suite.shapes(k) for spec, k in self._depth.items()}
            self._kept[m] = RenderProcess(m, looks, self._cameras, shapes)
        return self._kept[m]

    def stop(self) -> None:
        """End the process, so that a thread that waits for a picture goes on; for any thread."""
        self._stopped = True
        for process in list(self._kept.values()):
            process.close()

    def close(self) -> None:
        """End the process."""
        while self._kept:
            self._kept.popitem()[1].close()
