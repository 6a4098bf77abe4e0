# SPDX-License-Identifier: Apache-2.0
"""Draw in another process, because OpenGL holds the GIL for up to a second.

It is a plain Python process, as for the live view, and ends when its pipe closes.
"""

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from types import MappingProxyType

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.shapes import Appearance
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.dynamics.ray_shapes import RayShapes
from rbdyn_ros.errors import Finding, ParameterError, RbdynError, refusal
from rbdyn_ros.machine import wait_or_kill
from rbdyn_ros.model.model import Model
from rbdyn_ros.sensors.camera_specs import CameraSpec, ColorSpec, DepthSpec
from rbdyn_ros.sensors.scanning import Drawn
from rbdyn_ros.view.render.depth import DepthRenderer
from rbdyn_ros.view.render.lens import Pixels
from rbdyn_ros.view.render.renderer import Renderer

#: Program of the process. It does not import from its working directory, but from our sys.path.
CHILD = """
import os, sys
os.nice(int(sys.argv[2]))  # running threads would keep their niceness
from multiprocessing.connection import Connection
pipe = Connection(int(sys.argv[1]))
sys.path[:] = pipe.recv()
from rbdyn_ros.view.render.process import run
run(pipe)
"""

#: Niceness of the process, so that the simulation has priority.
NICE = 10
#: Time in which the process must end [s]; then it is killed.
PATIENCE = 2.0
#: Longest wait for a picture, and for the start [s]; a large picture takes some seconds.
LONGEST = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class _Content:
    """The scene that the process draws."""

    m: Model
    looks: Appearance
    cameras: tuple[ColorSpec, ...]
    shapes: dict[DepthSpec, RayShapes]


class RenderProcess:
    """A Renderer in another process; only one thread can draw, but any thread can close it.

    Args:
        m: the robot.
        looks: appearance of the robot.
        cameras: all cameras; one picture of each is drawn now, because the first picture is slow.
        shapes: the shapes that each depth camera sees.

    Attributes:
        findings: warnings about meshes and textures that cannot be read.

    Raises:
        ParameterError: pictures cannot be drawn on this machine.
    """

    def __init__(
        self,
        m: Model,
        looks: Appearance,
        cameras: Sequence[ColorSpec],
        shapes: Mapping[DepthSpec, RayShapes] = MappingProxyType({}),
    ) -> None:
        self._cameras = tuple(cameras)
        self.findings: tuple[str, ...] = ()
        self._pipe, theirs = Pipe()
        self._lock = threading.Lock()
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-I", "-c", CHILD, str(theirs.fileno()), str(NICE)],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # so that Ctrl-C does not reach the process
        )
        theirs.close()
        try:
            self._pipe.send(list(sys.path))
            answer = self._sent(_Content(m, looks, self._cameras, dict(shapes)))
        except RbdynError as error:
            self.close()
            raise ParameterError(_unstarted()) from error
        except BaseException:
            self.close()
            raise
        self._take(answer)

    def use(self, m: Model, looks: Appearance, shapes: Mapping[DepthSpec, RayShapes]) -> None:
        """Draw another Model from now on, for the same cameras.

        Raises:
            ParameterError: the Model cannot be drawn; the process then ends.
            RbdynError: the process has ended, or does not answer.
        """
        self._take(self._sent(_Content(m, looks, self._cameras, dict(shapes))))

    def draw(self, time: float, qpos: Array, camera: ColorSpec) -> Pixels:
        """Return a picture at a time [s] and a position (nq,); see Renderer.draw.

        Raises:
            RbdynError: the process has ended, or does not answer.
        """
        data = self._asked((time, qpos, camera), LONGEST)
        return np.frombuffer(data, np.uint8).reshape(camera.height, camera.width, 3)

    def draw_depth(self, time: float, qpos: Array, camera: DepthSpec) -> Drawn:
        """Return depths and shapes at a time [s] and a position (nq,); see DepthRenderer.draw.

        Raises:
            RbdynError: the process has ended, or does not answer.
        """
        data = self._asked((time, qpos, camera), LONGEST)
        return np.frombuffer(data, np.float32).reshape(camera.height, camera.width, 2)

    def close(self) -> None:
        """End the process; a thread that waits for a picture gets an error."""
        self._process.terminate()
        wait_or_kill(self._process, PATIENCE)
        with self._lock:  # wait until other threads have noticed the end of the process
            self._pipe.close()

    def _sent(self, content: _Content) -> bytes:
        return self._asked(content, LONGEST * (1 + len(content.cameras) + len(content.shapes)))

    def _take(self, answer: bytes) -> None:
        """Read the answer to a new scene: store its warnings, or raise ParameterError."""
        reason, *findings = json.loads(answer)
        if reason:
            self.close()
            raise ParameterError(Finding("no-renderer", reason, "error", "renderer"))
        self.findings = tuple(findings)

    def _asked(self, question: object, longest: float) -> bytes:
        with self._lock:
            try:
                self._pipe.send(question)
            except OSError as error:
                raise _ended() from error
            return self._answer(longest)

    def _answer(self, longest: float) -> bytes:
        try:
            if self._pipe.poll(longest):
                return self._pipe.recv_bytes()
        except (EOFError, OSError) as error:
            raise _ended() from error
        self._process.kill()  # otherwise a late answer could be taken for the next answer
        raise refusal(
            f"the process that draws the pictures of cameras has not answered for {LONGEST:g} s"
        )


def _unstarted() -> Finding:
    text = (
        "the process that draws pictures ended or did not answer while it started; its "
        "error is in the output above"
    )
    return Finding("no-renderer", text, "error", "renderer")


def _ended() -> RbdynError:
    return refusal("the process that draws the pictures of cameras has ended")


def run(pipe: Connection) -> None:
    """Draw the pictures that the other end of a pipe requests, until the pipe closes."""
    with contextlib.suppress(EOFError, OSError):
        drawing = _Drawing()
        while True:
            question = pipe.recv()
            if not isinstance(question, _Content):
                pipe.send_bytes(drawing.drawn(*question))
                continue
            try:
                findings = drawing.use(question)
            except RbdynError as error:
                pipe.send_bytes(json.dumps([str(error)]).encode())
                return
            pipe.send_bytes(json.dumps(["", *findings]).encode())


class _Drawing:
    """The renderers of the process; each exists only if a camera needs it."""

    def __init__(self) -> None:
        self._close = contextlib.ExitStack()

    def use(self, content: _Content) -> list[str]:
        """Use another scene, draw one picture of each camera, and return warnings."""
        self._close.close()
        m, keep = content.m, self._close.enter_context
        self._m = m
        self._color = keep(Renderer(m, content.looks)) if content.cameras else None
        kept = {id(seen): seen for seen in content.shapes.values()}
        renderers = {key: keep(DepthRenderer(m, seen)) for key, seen in kept.items()}
        self._depth = {camera: renderers[id(seen)] for camera, seen in content.shapes.items()}
        for camera in (*content.cameras, *content.shapes):
            self.drawn(0.0, m.qpos0, camera)
        findings = (*content.looks.findings, *self._color.findings) if self._color else ()
        return [str(finding) for finding in findings]

    def drawn(self, time: float, qpos: Array, camera: CameraSpec) -> bytes:
        if isinstance(camera, DepthSpec):
            return self._depth[camera].draw(time, qpos, camera).tobytes()
        assert self._color is not None
        assert isinstance(camera, ColorSpec)
        instant = replace(Instant.still(self._m, qpos), time=time)
        return self._color.draw(instant, camera).tobytes()
