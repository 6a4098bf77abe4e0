"""What is fuzzed: for each target its seeds, and what is done with changed bytes.

Bytes may be refused with an RbdynError; everything else is a failure. Kernels run uncompiled
(NUMBA_DISABLE_JIT=1): NumPy then checks every index.
"""

from __future__ import annotations

import contextlib
import functools
import io
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import read_appearance
from rbdyn_ros.description.mechanism_files import mechanism
from rbdyn_ros.description.meshes.files import MeshFiles
from rbdyn_ros.description.meshes.meshes import Meshes
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.model.model_fields import PRIMARY
from rbdyn_ros.recording.reader import read_run
from rbdyn_ros.sensors.reader import read_sensors_text

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parent / "seeds"
#: Changed robots with more bodies are read, but not moved.
FEW_BODIES = 40


class Target(NamedTuple):
    """What is fuzzed.

    Attributes:
        seeds: returns good files.
        run: takes changed bytes.
    """

    seeds: Callable[[], list[bytes]]
    run: Callable[[bytes], None]


def files(*names: str) -> Callable[[], list[bytes]]:
    """Return the reader of files of this repository."""
    return lambda: [(REPOSITORY / name).read_bytes() for name in names]


def good(kind: str) -> Callable[[], list[bytes]]:
    """Return the reader of the good files of a target, in seeds/good."""
    return lambda: [path.read_bytes() for path in sorted(FOLDER.glob(f"good/{kind}.*"))]


@functools.cache
def folder() -> Path:
    """Return a folder for files that a reader opens by name."""
    return Path(tempfile.mkdtemp(prefix="rbdyn_fuzz_"))


def written(data: bytes, name: str) -> Path:
    path = folder() / name
    path.write_bytes(data)
    return path


def move(described: Any, strict: bool) -> None:
    """Make a Model of a small robot, and take a step."""
    if len(described.links) > FEW_BODIES:
        return
    m = rb.build(described, strict=strict)
    rb.step(m, rb.make_data(m))


def fuzz_urdf(data: bytes) -> None:
    with contextlib.suppress(RbdynError):
        move(urdf.read_text(data, contact=True), strict=True)
    move(urdf.read_text(data, strict=False, contact=True), strict=False)


def fuzz_appearance(data: bytes) -> None:
    read_appearance(written(data, "robot.urdf"))


def fuzz_xacro(data: bytes) -> None:
    if b"**" in data:  # xacro evaluates Python, where a power of large numbers takes for ever
        return
    urdf.read(written(data, "robot.xacro"), xacro_args={"length": "2"})


def fuzz_mechanism(data: bytes) -> None:
    move(mechanism.read_text(data), strict=True)


def fuzz_mesh(kind: str, data: bytes) -> None:
    try:
        Meshes(MeshFiles(folder())).points(written(data, f"m.{kind}").name, (1.0, 1.0, 1.0))
    except Exception as error:
        if type(error).__name__ != "UnusableMeshError":  # readers turn it into a finding
            raise


def fuzz_table(data: bytes) -> None:
    """Four floats a row, then the same rows in the other convention."""
    numbers = np.frombuffer(data[: len(data) // 32 * 32]).reshape(-1, 4).tolist()
    rows = [rb.dh.DHRow(*row) for row in numbers[:FEW_BODIES]]
    rb.dh.distal(rows)
    rb.dh.proximal(rows)


@functools.cache
def looped() -> rb.Model:
    return rb.load(REPOSITORY / "examples/crank_slider.yaml")


@functools.cache
def saved() -> tuple[dict[str, Any], bytes]:
    """Return the arrays of a saved Model, and all of them as one row of bytes."""
    file = folder() / "good.npz"
    rb.save(looped(), file)
    with np.load(file) as archive:
        arrays = dict(archive)
    return arrays, b"".join(arrays[name].tobytes() for name in ("header", *PRIMARY))


def fuzz_model(data: bytes) -> None:
    """Cut the row of bytes into arrays again; the rest of it extends the last."""
    arrays, changed, at = saved()[0], {}, 0
    for name in ("header", *PRIMARY):
        old = arrays[name]
        part = data[at : at + old.nbytes].ljust(old.nbytes, b"\0")
        changed[name] = np.frombuffer(part, old.dtype).reshape(old.shape)
        at += old.nbytes
    stream = io.BytesIO()
    np.savez(stream, **changed)
    m = rb.load(written(stream.getvalue(), "changed.npz"))
    rb.step(m, rb.make_data(m))


@functools.cache
def pendulum() -> str:
    return (REPOSITORY / "config/robots/pendulum.urdf").read_text()


def record() -> list[bytes]:
    """Return a short recording."""
    m = rb.load_urdf(pendulum())
    d, path = rb.make_data(m), folder() / "good.mcap"
    with rb.Recorder(m, path, urdf=pendulum(), overwrite=True) as recorder:
        for _ in range(5):
            rb.step(m, d)
            recorder.write(d)
    return [path.read_bytes()]


def fuzz_recording(data: bytes) -> None:
    read_run(written(data, "changed.mcap"))


def fuzz_sensors(data: bytes) -> None:
    text = (REPOSITORY / "config/robots/seven_dof_arm.urdf").read_text()
    m, described = _armed(text)
    read_sensors_text(data, m, described)


@functools.cache
def _armed(text: str) -> tuple[rb.Model, Any]:
    return rb.load_urdf(text), urdf.read_text(text)


STAGES = (
    *(rb.kinematics, rb.com_pos, rb.com_vel, rb.passive, rb.bias_force, rb.rne, rb.aba),
    *(rb.energy, rb.fwd_position, rb.fwd_velocity, rb.fwd_acceleration, rb.forward),
    *(rb.make_constraint, rb.joint_forces, rb.forward_dynamics, rb.inverse, rb.crb, rb.factor_m),
    *(rb.mass_matrix, rb.step, rb.com, rb.centroidal_momentum, rb.forward_derivatives),
)


@functools.cache
def robots() -> list[rb.Model]:
    """Return a plain tree, a closed loop, and a tree with contact and a driven joint."""
    driven = rb.build(
        rb.SystemBuilder("driven")
        .body("a", rb.shapes.sphere(0.1, mass=1.0, at=rb.pose((0.5, 0.0, 0.0))))
        .body("b", rb.shapes.sphere(0.1, mass=1.0, at=rb.pose((0.5, 0.0, 0.0))))
        .joint("j", "revolute", "base", "a", axis=(0.0, 1.0, 0.0), damping=0.1, friction=0.1)
        .joint("k", "revolute", "a", "b", axis=(0.0, 1.0, 0.0), xyz=(1.0, 0.0, 0.0))
        .geometry("g", "b", rb.Sphere(0.1))
        .floor(-0.5)
    )
    return [rb.load_urdf(pendulum()), looped(), driven]


@functools.cache
def datas() -> list[Any]:
    made = []
    for m in robots():
        d = rb.make_data(m)
        rb.forward(m, d)
        made.append(d)
    rb.set_drive(robots()[2], made[2], "j", "velocity", 1.0)
    return made


def fuzz_data(data: bytes) -> None:
    """Two bytes choose robot and stage; then ten bytes each choose an entry and its bits."""
    robot, stage = data[:2].ljust(2, b"\0")
    m, d = robots()[robot % len(robots())], datas()[robot % len(robots())].copy()
    for place, bits in struct.iter_unpack("<Hd", data[2 : 2 + (len(data) - 2) // 10 * 10]):
        d.buffer[place % len(d.buffer)] = bits
    STAGES[stage % len(STAGES)](m, d)


TARGETS = {
    "urdf": Target(
        files("config/robots/pendulum.urdf", "config/robots/seven_dof_arm.urdf"), fuzz_urdf
    ),
    "appearance": Target(files("config/robots/seven_dof_arm.urdf"), fuzz_appearance),
    "xacro": Target(good("xacro"), fuzz_xacro),
    "mechanism": Target(
        lambda: files("examples/crank_slider.yaml")() + good("mechanism")(), fuzz_mechanism
    ),
    "stl": Target(good("stl"), functools.partial(fuzz_mesh, "stl")),
    "obj": Target(good("obj"), functools.partial(fuzz_mesh, "obj")),
    "dae": Target(good("dae"), functools.partial(fuzz_mesh, "dae")),
    "table": Target(lambda: [np.linspace(0.0, 1.0, 12).tobytes()], fuzz_table),
    "model": Target(lambda: [saved()[1]], fuzz_model),
    "recording": Target(record, fuzz_recording),
    "sensors": Target(files("config/sensors.yaml"), fuzz_sensors),
    "data": Target(
        lambda: [bytes([k, s, *[255] * 30]) for k in range(3) for s in range(len(STAGES))],
        fuzz_data,
    ),
}
