# SPDX-License-Identifier: Apache-2.0
"""Identify real arms from public recordings, which are not part of this project.

    python -m benchmarks.recordings FOLDER

FOLDER has clones of these repositories; missing repositories are skipped:

    https://github.com/unisa-acg/inverse-dynamics-solver        UR10, Panda
    https://github.com/marcocognetti/FrankaEmikaPandaDynModel   Panda
    https://github.com/shamilmamedov/dynamic_calibration        UR10e, with and without a load
    https://github.com/kjyv/FloBaRoID                           KUKA LWR4 (git lfs pull, or
                                       git checkout 4e2e5a2 -- data/KUKA/HW, before Git LFS)

Each arm is identified from one recording, or its first three quarters, and validated with another
recording, or the last quarter.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.arrays import Array
from rbdyn_ros.control.base.friction import Friction
from rbdyn_ros.description.reading.robot_file import path_of
from rbdyn_ros.identification import Identification, identify, identify_with_payload, validate
from rbdyn_ros.identification.data.motion import Motion
from rbdyn_ros.identification.data.plausible import plausible
from rbdyn_ros.identification.data.recordings import read_recording
from rbdyn_ros.identification.data.samples import Samples, checked_samples
from rbdyn_ros.identification.data.signals import to_motion, without_repeats
from rbdyn_ros.identification.equations.delay import moved_efforts, without_delay
from rbdyn_ros.model.model import Model

UR = [f"{name}_joint" for name in ["shoulder_pan", "shoulder_lift", "elbow"]]
UR += [f"wrist_{k}_joint" for k in (1, 2, 3)]
PANDA = [f"panda_joint{k}" for k in range(1, 8)]
#: Torque per current of the UR10e [N m/A] (Gaz, Magrini, De Luca, 2018), and the load [kg] of the
#: recording, both from the repository.
GAINS = np.array([14.87, 13.26, 11.13, 10.62, 11.03, 11.47])
LOAD = 2.805
#: Terms that the identification tries; None: the held-out data decide.
TERMS: dict[str, None] = dict.fromkeys(("armature", "stribeck", "load", "offset", "tilt"))
#: Part of a recording that is used to identify; the rest is used to validate.
FIRST = 0.75


@dataclass(frozen=True)
class Case:
    """An arm, with functions that read its description and its recordings."""

    name: str
    repository: str
    robot: Callable[[Path], Model]
    fit: Callable[[Path], Samples]
    check: Callable[[Path], Samples] | None = None


def _installed(name: str) -> Callable[[Path], Model]:
    return lambda _: rb.load_urdf(path_of(Path(name)))


def _bag(path: str, names: Sequence[str], there: Sequence[str]) -> Callable[[Path], Samples]:
    def read(folder: Path) -> Samples:
        return replace(read_recording(folder / path, there), names=tuple(names))

    return read


def _texts(folder: Path) -> Samples:
    start = folder / "matlab/data/Exciting_Traj/Trajectory_1/rbt_log"
    kinds = "time", "positions", "velocity", "torques"
    rows = [np.loadtxt(start / f"exciting_traj_{kind}.txt") for kind in kinds]
    qpos, qvel, effort = (row.reshape(-1, 7) for row in rows[1:])
    return checked_samples(str(start), PANDA, rows[0], qpos, qvel, effort)


def _ur10e(path: str) -> Callable[[Path], Samples]:
    def read(folder: Path) -> Samples:
        # a file begins with a row from another time, and ends with half a row
        table = np.loadtxt(folder / "dataset_ur10e" / path, delimiter=",", usecols=range(19))
        jumps = np.flatnonzero(np.abs(np.diff(table[:, 0])) > 1.0)
        table = table[1 + jumps[-1] if len(jumps) else 0 :]
        columns = table[:, 1:7], table[:, 7:13], GAINS * table[:, 13:19]
        return checked_samples(path, UR, table[:, 0], *columns)

    return read


def _kuka(number: int) -> Callable[[Path], Samples]:
    def read(folder: Path) -> Samples:
        with np.load(folder / f"data/KUKA/HW/measurements_{number}.npz") as file:
            rows = [file[kind] for kind in ("times", "positions", "velocities", "torques")]
        names = [f"lwr_{k}_joint" for k in range(7)]
        return checked_samples("KUKA", names, rows[0], *rows[1:])

    return read


def _kuka_robot(folder: Path) -> Model:
    text = (folder / "model/kuka_lwr4.urdf").read_text()
    # the URDF has this element twice
    return rb.load_urdf(text.replace('<origin rpy="0 0 0" xyz="-0.25 0 1"/>', ""))


BAGS = "unisa-acg/inverse-dynamics-solver"
CALIBRATION = "shamilmamedov/dynamic_calibration"
CASES = (
    Case(
        "UR10",
        BAGS,
        _installed("ur10"),
        _bag("ur10_inverse_dynamics_solver/bagfiles/ur10_exciting_trajectory.db3", UR, UR),
    ),
    Case(
        "Panda, Salerno",
        BAGS,
        _installed("panda"),
        _bag(
            "franka_inria_inverse_dynamics_solver/bagfiles/panda_exciting_trajectory.db3",
            PANDA,
            [f"fer_joint{k}" for k in range(1, 8)],
        ),
    ),
    Case("Panda, Rome", "marcocognetti/FrankaEmikaPandaDynModel", _installed("panda"), _texts),
    Case(
        "UR10e",
        CALIBRATION,
        lambda folder: rb.load_urdf(folder / "URe/urdf/ur10e.urdf"),
        _ur10e("identification_data/ur-20_02_10-30sec_12harm.csv"),
        _ur10e("validation_data/ur-20_01_17-ptp_10_points.csv"),
    ),
    Case("KUKA LWR4", "kjyv/FloBaRoID", _kuka_robot, _kuka(1), _kuka(3)),
)


def main(folder: Path) -> None:
    """Print the table of all arms, and the load of the UR10e."""
    for case in CASES:
        place = _clone(folder, case.repository)
        if place is None:
            print(f"{case.name}: skipped, {folder} lacks a clone of {case.repository}")
            continue
        m, begin = case.robot(place), time.process_time()
        samples, note = without_repeats(plausible(m, case.fit(place)))
        if case.check is None:
            samples, other = _split(samples)
        else:
            other, _ = without_repeats(plausible(m, case.check(place)))
        motion, delay, late = without_delay(m, to_motion(samples))
        found = identify(m, motion, **TERMS)
        seconds = time.process_time() - begin
        print(f"\n{case.name}: {len(samples.time)} samples, {seconds:.1f} s of CPU", note, late)
        _print(found, moved_efforts(to_motion(other), delay))
    place = _clone(folder, CALIBRATION)
    if place is not None:
        _print_load(rb.load_urdf(place / "URe/urdf/ur10e.urdf"), place)


def _clone(folder: Path, repository: str) -> Path | None:
    name = repository.partition("/")[2]
    return folder / name if (folder / name).is_dir() else None


def _split(samples: Samples) -> tuple[Samples, Samples]:
    cut = int(FIRST * len(samples.time))

    def part(rows: slice) -> Samples:
        qvel = None if samples.qvel is None else samples.qvel[rows]
        times = samples.time[rows] - samples.time[rows][0]
        return replace(
            samples, time=times, qpos=samples.qpos[rows], qvel=qvel, effort=samples.effort[rows]
        )

    return part(slice(0, cut)), part(slice(cut, None))


def _print(found: Identification, other: Motion) -> None:
    prior = validate(found.prior, Friction.of_model(found.prior), other)
    after = validate(found.m, found.friction, other, found.offset, by_load=found.by_load)
    assert found.black_box is not None
    plain = found.black_box.validate(other)
    print("  kept terms:", ", ".join(t.kind for t in found.terms if t.kept) or "none")
    print("  RMS on held-out data [N m], by joint")
    for name, rows in (("described", prior), ("identified", after), ("black box", plain)):
        print(f"    {name:11}", _row(rows.rms))
    print("    explained  ", " ".join(f"{100.0 * share:7.2f}" for share in after.explained), "%")
    print("  masses [kg]")
    for name, m in (("described", found.prior), ("identified", found.m)):
        mass = m.body_mass[1:]
        print(f"    {name:11}", _row(mass), f" total {mass.sum():.2f}")
    print("    +-         ", _row(found.mass_std))
    print("    prior share", " ".join(f"{100.0 * share:7.0f}" for share in found.prior_share), "%")
    print("  against a patch:", "; ".join(found.grave) or "nothing")


def _row(values: Array) -> str:
    return " ".join(f"{value:7.3g}" for value in values)


def _print_load(m: Model, place: Path) -> None:
    """Print the load of the UR10e from two pairs of recordings, in total and by joint."""
    for motion in ("14harm50sec", "15harm50sec"):
        without, loaded = (
            to_motion(_ur10e(f"identification_data/ur-20_02_19_{name}.csv")(place))
            for name in (motion, f"{motion}Load")
        )
        both = identify_with_payload(m, without, loaded, "tool0")
        found = both.payload
        print(f"\nUR10e, load of {LOAD} kg, {motion}: {found.mass:.3f} +- {found.std[0]:.2g} kg")
        print("  by joint", _row(both.by_joint))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
