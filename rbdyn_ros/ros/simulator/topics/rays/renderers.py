# SPDX-License-Identifier: Apache-2.0
"""Manage the process that draws the pictures of a robot's cameras."""

import contextlib
from collections.abc import Callable, Sequence

from rbdyn_ros.description.appearance.shapes import Appearance
from rbdyn_ros.errors import ParameterError, RbdynError, refusal
from rbdyn_ros.model.model import Model
from rbdyn_ros.sensors.camera_specs import METHODS, ColorSpec, DepthSpec
from rbdyn_ros.sensors.specs import Spec
from rbdyn_ros.sensors.suite import Suite
from rbdyn_ros.view.render.process import RenderProcess

#: A function that returns the appearance of a Model.
AppearanceOf = Callable[[Model], Appearance]


class Renderers:
    """Runs a process that draws, and gives it the new Model when the Model changes.

    Args:
        looks: returns the appearance of a Model.
        specs: all sensors; the process draws for the colour and depth cameras among them.
    """

    def __init__(self, looks: AppearanceOf, specs: Sequence[Spec]) -> None:
        self._looks = looks
        self._drawn: Model | None = None
        self._process: RenderProcess | None = None
        self._stopped = False
        self._cameras = [spec for spec in specs if isinstance(spec, ColorSpec)]
        cameras = [(k, spec) for k, spec in enumerate(specs) if isinstance(spec, DepthSpec)]
        self._depth = {spec: k for k, spec in cameras if spec.is_drawn}

    def start(self, suite: Suite) -> str:
        """Start the process if there are cameras; return "", or a note that cameras cast rays.

        Raises:
            ParameterError: pictures cannot be drawn on this machine, but a camera needs them.
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

    @property
    def findings(self) -> tuple[str, ...]:
        """Warnings about meshes and textures that the process cannot read."""
        return () if self._process is None else self._process.findings

    def draws(self, spec: DepthSpec) -> bool:
        """Return whether the process draws the pictures of a depth camera."""
        return spec in self._depth

    def of(self, suite: Suite) -> RenderProcess:
        """Return the process, which draws the Model of `suite`. Only one thread may call it.

        Raises:
            RbdynError: `stop` was called.
        """
        self._check()
        if self._process is None or suite.m is not self._drawn:
            self._process, self._drawn = self._made(suite), suite.m
        return self._process

    def _made(self, suite: Suite) -> RenderProcess:
        m = suite.m
        looks = self._looks(m) if self._cameras else Appearance()
        shapes = {spec: suite.shapes(k) for spec, k in self._depth.items()}
        if self._process is not None:
            # if the process has ended, a new process is started
            with contextlib.suppress(RbdynError):
                self._process.use(m, looks, shapes)
                return self._process
            self.close()
            self._check()
        return RenderProcess(m, looks, self._cameras, shapes)

    def _check(self) -> None:
        if self._stopped:
            raise refusal("the simulator ends, so no more pictures are drawn")

    def stop(self) -> None:
        """Kill the process, so that a thread that waits for a picture continues.

        Any thread may call it.
        """
        self._stopped = True
        process = self._process
        if process is not None:
            process.close()

    def close(self) -> None:
        """End the process; no thread may wait for a picture."""
        process, self._process = self._process, None
        if process is not None:
            process.close()
