# SPDX-License-Identifier: Apache-2.0
"""570 real tosses of a cube: the distance of a simulated cube from the recorded cube.

The tosses come from ContactNets (Pfrommer, Halm, Posa, 2020; DAIRLab/contact-nets on GitHub, which
has its own licence). `python -m benchmarks.tosses FOLDER` reads the folder data/tosses_processed
of a clone. Each toss is simulated from its first state. The errors are defined as in Acosta, Yang,
Posa, Validating robotics simulators on real-world impacts, RA-L 2022: the distance in percent of
the cube's width and the angle in degrees, each as a mean over a toss, then over all tosses. These
authors fitted the parameters of each simulator to the tosses, and ours are fitted too.
"""

from __future__ import annotations

import argparse
import pickle
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.arrays import Array

HALF, MASS, SAMPLES = 0.0524, 0.37, 148.0  # half an edge [m], mass [kg], rate of samples [Hz]
STEPS = 7  # steps from sample to sample

SURFACES = {
    "rigid": rb.Surface(friction=0.18),
    "rigid, restitution 0.06": rb.Surface(friction=0.18, restitution=0.06),
    "spring of 10 kN/m": rb.Surface(friction=0.18, stiffness=1e4, damping=60.0),
    "spring of 2.5 kN/m": rb.Surface(friction=0.18, stiffness=2500.0, damping=30.0),
}


def main(folder: str) -> None:
    """Simulate all tosses of a folder with each surface, and print the errors."""
    files = sorted(Path(folder).glob("*.pt"), key=lambda file: int(file.stem))
    tosses = [_read(file) for file in files]
    print(f"{len(tosses)} tosses\n\n| surface | position, % | rotation, deg |\n|---|---|---|")
    for name, surface in SURFACES.items():
        position, angle = np.mean([_errors(toss, surface) for toss in tosses], axis=0)
        print(f"| {name} | {position:.1f} | {angle:.1f} |", flush=True)


def _errors(toss: Array, surface: rb.Surface) -> tuple[float, float]:
    """Return the mean errors of position [%] and angle [deg] in a toss."""
    cube = rb.Object("cube", rb.Box((2 * HALF,) * 3), mass=MASS, surface=surface)
    m = rb.scene(objects=[cube])
    m.opt.timestep = 1.0 / SAMPLES / STEPS
    d = rb.make_data(m)
    places, turns = HALF * toss[:, :3], toss[:, 3:7]
    turns = turns / np.linalg.norm(turns, axis=1)[:, None]
    d.qpos[:3], d.qpos[3:], d.qvel[:3], d.qvel[3:] = (
        places[0], turns[0], HALF * toss[0, 7:10], toss[0, 10:13],
    )  # fmt: skip
    states = [d.qpos.copy()]
    for _ in toss[1:]:
        rb.step(m, d, STEPS)
        states.append(d.qpos.copy())
    ours = np.array(states)
    away = np.linalg.norm(ours[:, :3] - places, axis=1) / (2 * HALF)
    cosines = np.minimum(abs((ours[:, 3:] * turns).sum(axis=1)), 1.0)
    return 100.0 * float(away.mean()), float(np.degrees(2.0 * np.arccos(cosines)).mean())


class _Tensors(pickle.Unpickler):
    """Reads a PyTorch file from before version 1.6 without PyTorch; other classes are refused."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        if name == "_rebuild_tensor_v2":
            return lambda *parts: parts
        if module == "torch" and name in ("DoubleStorage", "FloatStorage"):
            return name
        raise pickle.UnpicklingError(f"{module}.{name} is not a tensor")

    def persistent_load(self, pid: Any) -> Any:
        return pid


def _read(file: Path) -> Array:
    """Return rows of position, quaternion, velocity and turn rate; lengths are in half widths."""
    with file.open("rb") as stream:
        for _ in range(3):  # skip a magic number, the version, and the sizes of numbers
            _Tensors(stream).load()
        (_, kind, *_rest), offset, size, stride, *_ = _Tensors(stream).load()
        _Tensors(stream).load()  # skip the names of its only storage
        numbers = _numbers(stream, kind)
    step = numbers.strides[0]
    strides = [step * each for each in stride]
    return np.lib.stride_tricks.as_strided(numbers[offset:], size, strides)[0].astype(float)


def _numbers(stream: BinaryIO, kind: str) -> Array:
    count = int.from_bytes(stream.read(8), "little")
    return np.frombuffer(stream.read(), "<f8" if kind == "DoubleStorage" else "<f4", count)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="570 real tosses of a cube.")
    parser.add_argument("folder", help="data/tosses_processed of a clone of contact-nets")
    main(parser.parse_args().folder)
