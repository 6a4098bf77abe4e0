# SPDX-License-Identifier: Apache-2.0
"""Render the films of README.md and of the tutorials into docs/pictures/view.

The program needs `make setup`, and EGL like colour cameras:

    .venv/bin/python tools/films.py                  # or with the names of films
"""

from __future__ import annotations

import re
import runpy
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import rbdyn_ros as rb
from rbdyn_ros.arrays import Array
from rbdyn_ros.description.appearance.shapes import Appearance, read_appearance
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.ros.simulator.robot.start import held_at
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.view.live.pull import HandSpring
from rbdyn_ros.view.pictures.film import write_film
from rbdyn_ros.view.render.lens import Pixels
from rbdyn_ros.view.render.renderer import Renderer

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures" / "view"
ROBOTS = "cmeel.prefix/share/example-robot-data/robots"
TUTORIALS = ROOT / "docs" / "tutorials"

FPS = 12.5
SIZE = (480, 360)
#: Ticks between two reads of a loop that waits for its reader.
STRIDE = 20

#: Corners of a cursor, from its tip [pixels].
CURSOR = ((0, 0), (0, 17), (4, 13), (7, 20), (10, 19), (7, 12), (12, 12))


@dataclass(frozen=True, slots=True)
class Shot:
    """A film: its robots, its camera and its motion.

    Attributes:
        m: the robot and its world.
        looks: appearance of the robot.
        instants: instants of the frames.
        direction: from the robot to the camera.
        cursors: points (3,) of the world at which the mouse cursor is drawn; empty: no cursor.
    """

    m: rb.Model
    looks: Appearance
    instants: list[Instant]
    direction: tuple[float, float, float]
    cursors: list[Array] = field(default_factory=list)


def robots() -> Path:
    """Return the folder of example-robot-data."""
    for entry in sys.path:
        if (Path(entry) / ROBOTS).is_dir():
            return Path(entry) / ROBOTS
    sys.exit("tools/films.py: example-robot-data is missing; `make setup` installs it")


def saved_in(page: str, title: str) -> str:
    """Return the text of a file that a tutorial lets its reader save."""
    text = (TUTORIALS / page).read_text("utf-8")
    (found,) = re.findall(rf'title="{re.escape(title)}"\n(.*?)```', text, re.DOTALL)
    return str(found)


def swing() -> Shot:
    """Return a film: the robot of the first tutorial swings; then 2 N m drive its elbow."""
    text = saved_in("first_five_minutes.md", "my_robot.urdf")
    m, instants = rb.load_urdf(text), list[Instant]()
    d = rb.make_data(m)
    d.qpos[0] = 1.0
    for k in range(round(4.0 * FPS)):
        d.qfrc_applied[1] = 2.0 * (k > 2.5 * FPS)
        rb.step(m, d, round(1.0 / (FPS * m.opt.timestep)))
        instants.append(Instant.of(m, d))
    return Shot(m, read_appearance(text), instants, (0.3, -1.0, 0.25))


def pull() -> Shot:
    """Return a film: the mouse pulls the tool of the bundled arm around, and lets go."""
    path = bundled_robot("seven_dof_arm")
    m, link, point = rb.scene(path), "tool_mount", np.array([0.0, 0.0, 0.05])
    held = held_at(m, m.qpos0).dofs
    settings = LoopSettings(realtime="off", time_mode="fast", start_paused=True, held=held)
    loop = Loop(m, settings, m.qpos0)
    loop.start()
    spring, d, instants, goals = HandSpring(loop), rb.make_data(m), list[Instant](), list[Array]()
    rb.kinematics(m, d)
    position, R = rb.frame_pose(m, d, link)
    ticks = round(1.0 / (FPS * m.opt.timestep))
    try:
        for k in range(55):
            turn = np.pi * np.clip((k - 4) / 20.0, 0.0, 2.0)
            way = np.array([0.18 * np.sin(turn), 0.4 * np.sin(0.5 * turn), 0.25 * np.sin(turn)])
            goal = position + R @ point + way
            if 4 <= k < 46:
                loop.orders.push(spring.pull(link, point, goal, 0.25), "hand")
            for _ in range(ticks // STRIDE):
                loop.time.step(STRIDE)
                while loop.readout.next_state(0.0):
                    pass
            state = loop.readout.latest()
            instants.append(Instant.still(m, state.qpos))
            goals.append(goal)
    finally:
        loop.stop()
    return Shot(m, read_appearance(path), instants, (1.0, -0.9, 0.45), goals)


def pick() -> Shot:
    """Return a film: a Panda puts the cube of the tutorial on the shelf."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "robots").symlink_to(robots())
        file = Path(folder, "pick.yaml")
        file.write_text(saved_in("pick_a_cube.md", "pick.yaml"), encoding="ascii")
        m, looks = rb.load(file), read_appearance(file)
        panda = rb.load_urdf(Path(folder, "robots/panda_description/urdf/panda.urdf"))
    d, instants = rb.make_data(m), list[Instant]()
    ticks = round(1.0 / (FPS * m.opt.timestep))
    for k, (wanted, effort) in enumerate(_picking(panda, d.qpos[:8], m.opt.timestep)):
        rb.forward(m, d)
        inertia = rb.mass_matrix(m, d)[:7, :7]
        ask = 900.0 * (wanted - d.qpos[:7]) - 60.0 * d.qvel[:7]
        d.qfrc_applied[:7] = inertia @ ask + d.qfrc_bias[:7] - d.qfrc_passive[:7]
        d.qfrc_applied[7] = effort
        if k % ticks == 0:
            instants.append(Instant.of(m, d))
        rb.step(m, d)
    return Shot(m, looks, instants, (1.0, 0.75, 0.45))


def _picking(panda: rb.Model, start: Array, timestep: float) -> Iterator[tuple[Array, float]]:
    """Yield, for each step, the positions of the arm and the effort of the fingers [N]."""
    d, down = rb.make_data(panda), np.diag([1.0, -1.0, -1.0])
    q, shelf = start[:7].copy(), np.array([0.4, 0.35, 0.127])
    d.qpos[:] = start
    cube, up = np.array([0.5, 0.0, 0.025]), np.array([0.0, 0.0, 0.15])
    for place, seconds, effort in (
        (cube + up, 0.8, 5.0), (cube, 0.6, 5.0), (cube, 0.3, -20.0), (cube + up, 0.6, -20.0),
        (shelf + up, 1.0, -20.0), (shelf, 0.6, -20.0), (shelf, 0.2, 5.0), (shelf + up, 0.6, 5.0),
    ):  # fmt: skip
        goal = rb.ik(panda, d, "panda_hand_tcp", place, down).check()
        for share in np.linspace(0.0, 1.0, round(seconds / timestep)):
            yield q + share**2 * (3.0 - 2.0 * share) * (goal[:7] - q), effort
        q, d.qpos[:7] = goal[:7].copy(), goal[:7]


def trot() -> Shot:
    """Return a film: a Go2 trots by the learned policy of the example, ahead and in a curve."""
    example = runpy.run_path(str(ROOT / "examples" / "trot.py"))
    m, instants = example["go2"](), list[Instant]()
    policy, command = rb.load_policy(example["POLICY"]), np.array([0.6, 0.0, 0.0])
    for k, d in enumerate(example["trot"](policy, m, command, 3.0)):
        command[2] = 1.0 * (k > 50)
        if k % round(policy.spec.rate / FPS) == 0:
            instants.append(Instant.of(m, d))
    looks = read_appearance(robots() / "go2_description/urdf/go2.urdf")
    return Shot(m, looks, instants, (0.6, -1.0, 0.35))


def pictures_of(shot: Shot) -> Iterator[Pixels]:
    """Yield the rendered pictures of a film."""
    with Renderer(shot.m, shot.looks) as renderer:
        camera, place = renderer.framing(shot.instants, SIZE, np.array(shot.direction))
        for k, instant in enumerate(shot.instants):
            picture = Image.fromarray(renderer.draw(instant, camera, place))
            if shot.cursors:
                x, y, z = (shot.cursors[k] - place[0]) @ place[1]
                fx, fy, cx, cy = camera.matrix
                corners = [(fx * x / z + cx + dx, fy * y / z + cy + dy) for dx, dy in CURSOR]
                ImageDraw.Draw(picture).polygon(corners, fill="white", outline="black", width=1)
            yield np.asarray(picture)


FILMS: dict[str, Callable[[], Shot]] = {"pull": pull, "pick": pick, "swing": swing, "trot": trot}


def main(names: list[str]) -> None:
    """Render the named films, or all of them."""
    unknown = [name for name in names if name not in FILMS]
    if unknown:
        sys.exit(f"tools/films.py: unknown film {', '.join(unknown)}, use {', '.join(FILMS)}")
    for name in names or FILMS:
        path = PICTURES / f"{name}.gif"
        write_film(path, FPS, pictures_of(FILMS[name]()))
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
