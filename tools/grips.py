# SPDX-License-Identifier: Apache-2.0
"""Draw how a gripper closes on a cube: docs/pictures/grips.png.

    PYTHONPATH=. .venv/bin/python tools/grips.py [--out FOLDER]

Two fingers with a cube of 30 mm between them get goals like goals of the action gripper_cmd.
"""

import argparse
from pathlib import Path

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.runtime.loop import Loop, warm
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.runtime.types import GRIP, Command
from rbdyn_ros.view.pictures.canvas import new_figure

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
FINGER = """<joint name="{name}" type="prismatic"><parent link="palm"/><child link="{name}_tip"/>
    <origin xyz="0 {y} 0"/><axis xyz="0 {axis} 0"/>{mimic}
    <limit lower="0" upper="0.04" effort="100" velocity="0.2"/></joint>
  <link name="{name}_tip"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.02 0.02 0.06"/></geometry></collision></link>"""
LEFT = FINGER.format(name="left", y=0.01, axis=1, mimic="")
RIGHT = FINGER.format(name="right", y=-0.01, axis=-1, mimic='<mimic joint="left"/>')
HAND = f"<robot name='hand'><link name='palm'/>{LEFT}{RIGHT}</robot>"
CUBE = rb.Obstacle("cube", rb.Box((0.03, 0.03, 0.03)))
#: Time [s], goal [m] and largest effort [N] of each goal.
GOALS = ((0.1, 0.0, 5.0), (0.6, 0.0, 20.0), (1.1, 0.03, 20.0))


def main() -> None:
    """Run the goals, and draw position and effort over time."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=PICTURES, metavar="FOLDER")
    folder = parser.parse_args().out
    m = rb.load_urdf(HAND, contact=rb.Contact(obstacles=(CUBE,)))
    warm(m)
    loop = Loop(
        m, LoopSettings(realtime="off", time_mode="fast", start_paused=True), np.array([0.03])
    )
    loop.start()
    rows = []
    for tick in range(1600):
        for begun, goal, effort in GOALS:
            if tick == round(1000 * begun):
                numbers = (goal, 0.1, effort, 0.0, 0.0)
                arrays = (np.array([x]) for x in numbers)
                loop.orders.command(Command(np.array([0]), np.array([GRIP]), *arrays))
        loop.time.step(1)
        while (state := loop.readout.next_state(0.0)) is not None:
            rows.append((state.time, state.qpos[0], state.effort[0]))
    loop.stop()
    times, position, effort = np.array(rows).T
    figure = new_figure(8.0, 3.2, 80.0)
    figure.set_layout_engine("constrained")
    upper, lower = figure.subplots(2, sharex=True)
    upper.plot(times, 1e3 * position)
    lower.plot(times, effort)
    upper.set(ylabel="position [mm]")
    lower.set(xlabel="time [s]", ylabel="effort [N]")
    figure.savefig(folder / "grips.png")


if __name__ == "__main__":
    main()
