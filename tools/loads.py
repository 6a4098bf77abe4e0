# SPDX-License-Identifier: Apache-2.0
"""Draw the effect of a load in each command mode of the simulator: docs/pictures/loads.png.

    PYTHONPATH=. .venv/bin/python tools/loads.py [--out FOLDER]

The bundled arm rests, and its hand is pushed down with 20 N for half a second.
"""

import argparse
from pathlib import Path

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.arrays import Array
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.runtime.types import IMPEDANCE, POSITION, VELOCITY, Command, Wrench
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.view.pictures.canvas import new_figure

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
START = np.array([0.0, 0.6, 0.0, 0.9, 0.0, 0.5, 0.0])
# force [N]; time before the push, and times with and after the push [ms]
FORCE, FIRST, TICKS = 20.0, 200, 500
#: For each name: mode of the command (None: no command), on_timeout, stiffness and damping.
LAWS = {
    "on_timeout: gravity": (None, "gravity", 0.0, 0.0),
    "impedance, 300 N m/rad": (IMPEDANCE, "zero", 300.0, 30.0),
    "on_timeout: hold": (None, "hold", 0.0, 0.0),
    "velocity 0": (VELOCITY, "zero", 0.0, 0.0),
    "position": (POSITION, "zero", 0.0, 0.0),
}


def run(mode: int | None, policy: str, stiffness: float, damping: float) -> Array:
    """Return the largest deviation of a joint after each millisecond [rad].

    A force pushes the hand down from FIRST to FIRST + TICKS [ms].

    Args:
        mode: mode of the command that holds the start; None: no command.
        policy: on_timeout of the loop.
        stiffness: stiffness of every joint in the command [N m/rad].
        damping: damping of every joint in the command [N m s/rad].
    """
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    settings = LoopSettings(
        command_timeout=1e6,
        on_timeout=policy,
        realtime="off",
        time_mode="fast",
        start_paused=True,
    )
    loop = Loop(m, settings, START)
    loop.start()
    if mode is not None:
        d = rb.make_data(m)
        d.qpos = START
        carried = rb.gravity_term(m, d) if mode == IMPEDANCE else np.zeros(m.nv)
        gains = np.full(m.nv, stiffness), np.full(m.nv, damping)
        still = np.zeros(m.nv)
        modes = np.full(m.nv, mode)
        loop.orders.command(Command(np.arange(m.nv), modes, START, still, carried, *gains))
    rows: list[Array] = []
    zero = np.zeros(3)
    for part, ticks in enumerate((FIRST, TICKS, TICKS)):
        if part == 1:
            down = np.array([0.0, 0.0, -FORCE])
            hand = m.nbody - 1
            loop.orders.push(Wrench(hand, zero, down, zero, False, TICKS / 1000.0))
        for _ in range(ticks // 20):
            loop.time.step(20)
            while (state := loop.readout.next_state(0.0)) is not None:
                rows.append(state.qpos)
    loop.stop()
    largest: Array = np.abs(np.array(rows) - START).max(axis=1)
    return largest


def main() -> None:
    """Run every law, print the largest deviations, and draw them over time."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=PICTURES, metavar="FOLDER")
    folder = parser.parse_args().out
    figure = new_figure(9.0, 3.6, 80.0)
    figure.set_layout_engine("constrained")
    axes = figure.subplots()
    axes.axvspan(FIRST / 1000.0, (FIRST + TICKS) / 1000.0, alpha=0.12, label="20 N at the hand")
    for style, (name, law) in zip(("-", "-", "-", "-", "--"), LAWS.items(), strict=True):
        largest = run(*law)
        end = largest[FIRST + TICKS - 1]
        print(
            f"{name:24} {1e3 * largest.max():10.3f} mrad, at the end of the push {1e3 * end:.4f}"
        )
        axes.plot(
            np.arange(len(largest)) / 1000.0, 1e3 * np.maximum(largest, 1e-6), style, label=name
        )
    axes.set(xlabel="time [s]", ylabel="largest deviation of a joint [mrad]", yscale="log")
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(folder / "loads.png")


if __name__ == "__main__":
    main()
