# SPDX-License-Identifier: Apache-2.0
"""Draw a co-simulation of the bundled arm as an FMU: docs/pictures/fmu.png.

    PYTHONPATH=. .venv/bin/python tools/fmu.py [--out FOLDER]

fmpy simulates the FMU with a torque on two joints; rb.step simulates the same.
"""

import argparse
import tempfile
from pathlib import Path

import fmpy
import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.codegen.fmu.package import write_fmu
from rbdyn_ros.codegen.functions import Wanted, c_functions
from rbdyn_ros.codegen.project import CProject
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.specialization.languages.c_language import DOUBLE
from rbdyn_ros.view.pictures.canvas import new_figure

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
SECONDS = 1.0


def main() -> None:
    """Simulate by FMU and by rb.step, print the largest difference, and draw the angles."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=PICTURES, metavar="FOLDER")
    folder = parser.parse_args().out
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    m.opt.exact_stops = False
    project = CProject(m, "arm", DOUBLE, c_functions(m, Wanted(("step",))))
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "arm.fmu")
        write_fmu(project, "3.0", path)
        names = [v.name for v in fmpy.read_model_description(path).modelVariables]
        first = names[1]
        given = np.array([(0.0, 2.0), (SECONDS, 2.0)], [("time", float), (first, float)])
        rows = fmpy.simulate_fmu(
            path, stop_time=SECONDS, step_size=0.001, output_interval=0.001, input=given
        )
    d = rb.make_data(m)
    d.qfrc_applied[0] = 2.0
    own = [d.qpos.copy()]
    for _ in range(len(rows) - 1):
        rb.step(m, d)
        own.append(d.qpos.copy())
    angles = np.array([rows[name] for name in names if name.startswith("q.")]).T
    print(f"largest distance from rb.step: {np.abs(angles - np.array(own)).max():.2g} rad")
    figure = new_figure(8.0, 3.0, 80.0)
    figure.set_layout_engine("constrained")
    axes = figure.subplots()
    axes.plot(rows["time"], angles)
    axes.set(xlabel="time [s]", ylabel="angles of the joints [rad]")
    figure.savefig(folder / "fmu.png")


if __name__ == "__main__":
    main()
