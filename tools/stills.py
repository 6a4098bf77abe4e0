# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of the steps of the tutorials into docs/pictures/steps.

The code of a tutorial runs block by block, so a picture shows what the reader of the tutorial
gets. The program needs `make setup`, and EGL like colour cameras:

    .venv/bin/python tools/stills.py                  # or with the names of tutorials
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from films import TUTORIALS, pick, saved_in
from PIL import Image

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import Appearance, read_appearance
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.view.render.renderer import Renderer

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures" / "steps"
#: Width of a picture, and height of a strip [pixels].
WIDTH, HEIGHT = 760, 240
QUALITY = 70
SIDE, FRONT = (0.1, -1.0, 0.15), (1.0, -0.9, 0.45)

State = dict[str, Any]


def save(name: str, picture: Image.Image) -> None:
    """Write a picture into the folder of the pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    path = PICTURES / f"{name}.webp"
    picture.convert("RGB").save(path, quality=QUALITY, method=6)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB")


def strip(
    name: str,
    m: rb.Model,
    poses: Sequence[Any],
    looks: Appearance | None = None,
    direction: tuple[float, float, float] = FRONT,
) -> None:
    """Write a row of pictures of a robot at positions (nq,) or instants, seen from `direction`."""
    instants = [one if isinstance(one, Instant) else Instant.still(m, one) for one in poses]
    size = (round(WIDTH / max(len(poses), 2)), HEIGHT)
    row = Image.new("RGB", (size[0] * len(poses), HEIGHT))
    with Renderer(m, looks or Appearance()) as renderer:
        camera, place = renderer.framing(instants, size, np.array(direction))
        for k, instant in enumerate(instants):
            row.paste(Image.fromarray(renderer.draw(instant, camera, place)), (k * size[0], 0))
    save(name, row)


def figure(name: str) -> None:
    """Write the figure that Matplotlib has open."""
    file = io.BytesIO()
    plt.savefig(file, dpi=100, bbox_inches="tight")
    plt.close()
    save(name, Image.open(file))


def blocks(page: str) -> Iterator[tuple[str, State]]:
    """Run the Python blocks of a tutorial; after each, yield its heading and the variables."""
    state: State = {"__name__": "tutorial"}
    text = (TUTORIALS / page).read_text("utf-8")
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading = section.splitlines()[0]
        for code in re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(code, page, "exec"), state)  # noqa: S102 - our own page
            yield heading, dict(state)


def python_tutorial() -> None:
    """Draw a picture of each section, from the state after its last block or after each block."""
    arm = read_appearance(bundled_robot("seven_dof_arm"))
    held = dict[str, list[State]]()
    for heading, after in blocks("python_tutorial.md"):
        held.setdefault(heading, []).append(after)
        draw = DRAWN.get((heading, len(held[heading])))
        if draw is not None:
            draw(after, arm)


def _motion(m: rb.Model, d: rb.Data, count: int, steps: int) -> list[Instant]:
    """Return count instants of a free motion with a number of steps between; this advances d."""
    found = [Instant.of(m, d)]
    for _ in range(count - 1):
        rb.step(m, d, steps)
        found.append(Instant.of(m, d))
    return found


def _model(s: State, arm: Appearance) -> None:
    strip("model", s["m"], [s["m"].qpos0], arm)


def _keyframe(s: State, arm: Appearance) -> None:
    strip("keyframe", s["posed"], [s["posed"].qpos0, s["moving"].qpos.copy()], arm, SIDE)


def _ik(s: State, arm: Appearance) -> None:
    strip("kinematics", s["m"], [s["start"], s["found"].qpos, s["near"]], arm, SIDE)


def _dynamics(s: State, _: Appearance) -> None:
    M = s["M"]
    axes = plt.figure(figsize=(4.2, 3.4)).add_subplot()
    plt.colorbar(axes.imshow(np.log10(np.abs(M) + 1e-6), cmap="viridis"), label="log10 |M|")
    axes.set_xticks(range(len(M)))
    axes.set_title("mass matrix of the arm")
    figure("dynamics")


def _simulation(s: State, arm: Appearance) -> None:
    m, d = s["m"], rb.make_data(s["m"])
    d.qpos[1] = 0.5
    strip("simulation", m, _motion(m, d, 4, 200), arm, SIDE)


def _gravity(s: State, arm: Appearance) -> None:
    strip("gravity", s["m"], [s["start"], s["d"].qpos.copy()], arm)


def _table(s: State, _: Appearance) -> None:
    m, d = s["m"], rb.make_data(s["m"])
    strip("floor", m, _motion(m, d, 4, 140), None, (1.0, -0.9, 0.3))


def _poles(s: State, _: Appearance) -> None:
    m, d, K = s["m"], rb.make_data(s["m"]), s["K"]
    d.qpos, found = (0.0, 0.08, -0.05), list[Instant]()
    for k in range(160):
        if k % 40 == 0:
            found.append(Instant.of(m, d))
        d.qfrc_applied[0] = -(K @ np.concatenate([d.qpos, d.qvel])).item()
        rb.step(m, d, 10)
    strip("lqr", m, found, None, SIDE)


def _crank(s: State, _: Appearance) -> None:
    m = s["m"]
    angles = [rb.assemble(m, [a, -a, 0.0], fixed=["main_bearing"]) for a in (0.5, 1.0, 1.5)]
    strip("mechanism", m, angles, None, (0.1, -1.0, 0.5))


def _many(s: State, arm: Appearance) -> None:
    bent = s["r"].qpos[::3, 0]
    strip("many", s["m"], list(bent), arm)


def _shown(s: State, _: Appearance) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rb.draw_connectivity(s["m"], Path(folder, "graph.png"))
        graph = Image.open(Path(folder, "graph.png")).convert("RGB")
    graph.thumbnail((WIDTH, 2 * HEIGHT))
    save("graph", graph)


#: Functions that draw a picture, by heading and number of the block after which they draw.
DRAWN: dict[tuple[str, int], Callable[[State, Appearance], None]] = {
    ("Model and data", 1): _model,
    ("Keyframes", 1): _keyframe,
    ("Kinematics", 3): _ik,
    ("Dynamics", 1): _dynamics,
    ("Simulation", 1): _simulation,
    ("Gravity compensation", 1): _gravity,
    ("A floating base on a floor", 1): _table,
    ("Linearisation and LQR", 1): _poles,
    ("A mechanism with a closed loop", 1): _crank,
    ("Many robots at once", 1): _many,
    ("Save, record, show", 1): _shown,
}


def first_five_minutes() -> None:
    """Draw the robot that the reader saves, and the plot of its run."""
    text = saved_in("first_five_minutes.md", "my_robot.urdf")
    m, looks = rb.load_urdf(text), read_appearance(text)
    strip("own_robot", m, [m.qpos0, [0.6, -1.2]], looks, (0.3, -1.0, 0.25))
    d = rb.make_data(m)
    d.qpos[0] = 1.0
    with tempfile.TemporaryDirectory() as folder:
        run, plot = Path(folder, "run.mcap"), Path(folder, "run.png")
        with rb.Recorder(m, run) as recorder:
            for k in range(4000):
                d.qfrc_applied[1] = 2.0 * (k > 2500)
                rb.step(m, d)
                recorder.write(d)
        words = [sys.executable, "-m", "rbdyn_ros", "plot", str(run), "-o", str(plot)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        picture = Image.open(plot).convert("RGB")
    picture.thumbnail((WIDTH, 3 * HEIGHT))
    save("plot", picture)


def pick_a_cube() -> None:
    """Draw the scene, and the cube along its path."""
    shot = pick()
    strip("scene", shot.m, [shot.instants[0]], shot.looks, shot.direction)
    chosen = np.linspace(10, len(shot.instants) - 1, 4).round().astype(int)
    strip("picking", shot.m, [shot.instants[k] for k in chosen], shot.looks, shot.direction)


def actuators() -> None:
    """Draw a step of the command of a joint, and the torque that its actuator gives."""
    m = rb.with_actuators(rb.load_urdf(bundled_robot("seven_dof_arm")), "config/actuators.yaml")
    d, dof = rb.make_data(m), m.jnt_names.index("shoulder_pitch")
    d.qfrc_applied[dof] = 30.0
    forces = list[float]()
    for _ in range(150):
        rb.step(m, d)
        forces.append(float(d.actuator_force[0]))
    axes = plt.figure(figsize=(6.0, 2.6)).add_subplot()
    axes.axhline(30.0, color="0.6", label="command")
    axes.plot(1e3 * m.opt.timestep * np.arange(1, 151), forces, label="with its actuator")
    axes.set(xlabel="time [ms]", ylabel="torque of the shoulder [N m]")
    axes.legend()
    figure("actuators")


PAGES: dict[str, Callable[[], None]] = {
    page.__name__: page for page in (first_five_minutes, pick_a_cube, python_tutorial, actuators)
}


def main(names: list[str]) -> None:
    """Draw the pictures of the named tutorials, or of all tutorials."""
    unknown = [name for name in names if name not in PAGES]
    if unknown:
        sys.exit(f"tools/stills.py: unknown page {', '.join(unknown)}, use {', '.join(PAGES)}")
    os.chdir(ROOT)
    for name in names or PAGES:
        PAGES[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
