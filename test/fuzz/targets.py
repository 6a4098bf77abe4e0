# SPDX-License-Identifier: Apache-2.0
"""The targets of the fuzzer; each has seeds and a function that takes changed bytes.

A target may refuse bytes by an RbdynError; every other error is a failure. Kernels run uncompiled
(NUMBA_DISABLE_JIT=1), so NumPy checks every index, and int(nan) is an error. The targets "bounds"
and "laws" run compiled kernels with NUMBA_BOUNDSCHECK=1, which compute in 64 bits. A stage that is
called by address only prints its error, and the worker turns the error into a failure. Python and
compiled code count a negative index from the end of an array, so arrays of the target "data"
refuse negative indices (Strict).
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import io
import itertools
import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import yaml

import rbdyn_ros as rb
from fuzz import boxes, laws, ur_box
from rbdyn_ros.actuators import ActuatorSpec
from rbdyn_ros.actuators.reader import read_actuators_text
from rbdyn_ros.control.arm.arm import Arm
from rbdyn_ros.control.base.limits import Limits
from rbdyn_ros.control.controller import Controller
from rbdyn_ros.control.states.gate import SafetyGate
from rbdyn_ros.description import robot_files
from rbdyn_ros.description.appearance.check import check_appearance
from rbdyn_ros.description.appearance.shapes import read_appearance
from rbdyn_ros.description.mechanism_files import mechanism
from rbdyn_ros.description.meshes.files import MeshFiles, UnusableMeshError
from rbdyn_ros.description.meshes.meshes import Meshes, read_parts
from rbdyn_ros.description.meshes.textures import FORMATS, Materials, read_texture
from rbdyn_ros.description.mjcf_files import mjcf
from rbdyn_ros.description.reading import guard, xacro_files, xacro_process
from rbdyn_ros.description.scene_files.scene import read_scene
from rbdyn_ros.description.source import opened
from rbdyn_ros.description.urdf_files import urdf
from rbdyn_ros.errors import RbdynError
from rbdyn_ros.model.declared.data_fields import DATA_FIELDS
from rbdyn_ros.policies.reader import read_policy
from rbdyn_ros.recording.reader import read_run
from rbdyn_ros.ros.arm import parameters as arm_parameters
from rbdyn_ros.ros.arm.safety_parameters import TIGHTENING
from rbdyn_ros.ros.common.settings import parameters
from rbdyn_ros.ros.simulator import parameters as simulator_parameters
from rbdyn_ros.sensors.reader import read_sensors_text, sensors_of
from rbdyn_ros.trials.files.reader import load as load_trial

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parent / "seeds"
SEVEN = REPOSITORY / "config/robots/seven_dof_arm.urdf"
CRANK_SLIDER = REPOSITORY / "examples/crank_slider.yaml"
#: Largest number of bodies of a robot that a target simulates.
FEW_BODIES = 40
xacro_files.LONGEST = 1  # [s]
SRDF = b"""<?xml version="1.0"?>
<robot name="pendulum">
  <disable_default_collisions link="base_link"/>
  <enable_collisions link1="base_link" link2="rod"/>
  <disable_collisions link1="base_link" link2="rod" reason="Never"/>
</robot>
"""


class Target(NamedTuple):
    """A target of the fuzzer.

    Attributes:
        seeds: function that returns the bytes of valid inputs.
        run: function that takes changed bytes.
    """

    seeds: Callable[[], list[bytes]]
    run: Callable[[bytes], None]


def files(*names: str) -> Callable[[], list[bytes]]:
    """Return a function that reads files of this repository."""
    return lambda: [(REPOSITORY / name).read_bytes() for name in names]


def good(kind: str) -> Callable[[], list[bytes]]:
    """Return a function that reads the valid files of a target in seeds/good."""
    return lambda: [path.read_bytes() for path in sorted(FOLDER.glob(f"good/{kind}.*"))]


@functools.cache
def folder() -> Path:
    """Return a new folder for files that a reader opens by name."""
    return Path(tempfile.mkdtemp(prefix="rbdyn_fuzz_"))


def written(data: bytes, name: str) -> Path:
    path = folder() / name
    path.write_bytes(data)
    return path


def move(described: Any, strict: bool) -> None:
    """Make the Model and the sensors of a small robot, and take a step."""
    if len(described.links) > FEW_BODIES:
        return
    m = rb.build(described, strict=strict)
    sensors_of(m, described)
    rb.step(m, rb.make_data(m))


def fuzz_urdf(data: bytes) -> None:
    with contextlib.suppress(RbdynError):
        move(urdf.read_text(data, contact=True), strict=True)
    move(urdf.read_text(data, strict=False, contact=True), strict=False)


def fuzz_mjcf(data: bytes) -> None:
    written(b"<mujocoinclude><geom size='0.1'/></mujocoinclude>", "part.xml")
    path = written(data, "robot.xml")
    read_appearance(path)
    with contextlib.suppress(RbdynError):
        move(mjcf.read(path, contact=True), strict=True)
    move(mjcf.read(path, strict=False, contact=True), strict=False)


def fuzz_srdf(data: bytes) -> None:
    urdf.read_text(pendulum(), contact=True, srdf=data)


def fuzz_appearance(data: bytes) -> None:
    path = written(data, "robot.urdf")
    read_appearance(path)
    check_appearance(data, str(path), folder=path.parent)


def fuzz_xacro(data: bytes) -> None:
    """Expand xacro in this process, which saves time, unless a power in it could take forever."""
    path, arguments = written(data, "robot.xacro"), {"length": "2"}
    guard.parse(data, str(path), "robot", urdf.WANTED)
    if b"**" in data:
        robot_files.read(path, xacro_args=arguments)
    else:
        urdf.read_text(xacro_process.expanded(path, (), arguments)[0])


def fuzz_sdf(data: bytes) -> None:
    path = written(data, "robot.sdf")
    read_appearance(path)
    for strict in (True, False):
        with contextlib.suppress(RbdynError):
            move(opened(path, strict=strict, contact=True).description, strict)


def fuzz_mechanism(data: bytes) -> None:
    move(mechanism.read_text(data), strict=True)


def fuzz_scene(data: bytes) -> None:
    written((REPOSITORY / "config/scenes/gripper.urdf").read_bytes(), "gripper.urdf")
    path = written(data, "scene.yaml")
    described = read_scene(path)[0]
    read_appearance(path)
    move(described, strict=True)


def fuzz_mesh(kind: str, data: bytes) -> None:
    try:
        Meshes(MeshFiles(folder())).points(written(data, f"m.{kind}").name, (1.0, 1.0, 1.0))
    except Exception as error:
        if type(error).__name__ != "UnusableMeshError":  # readers make a finding of this error
            raise


def fuzz_image(data: bytes) -> None:
    try:
        read_texture(written(data, "texture.png"))
    except UnusableMeshError:  # readers make a finding of this error
        return


def fuzz_materials(data: bytes) -> None:
    """Read a material file, and the surfaces of a mesh that names it."""
    written(data, "m.mtl")
    mesh = b"mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nusemtl m\nf 1/1 2/1 3/1\n"
    read_parts(written(mesh, "named.obj"), Materials(folder() / "named.obj"))


def images() -> list[bytes]:
    """Return the bytes of a small image in each format."""
    Image = importlib.import_module("PIL.Image")
    picture = Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3))
    files = [io.BytesIO() for _ in FORMATS]
    for file, kind in zip(files, FORMATS, strict=True):
        picture.save(file, kind)
    return [file.getvalue() for file in files]


def fuzz_table(data: bytes) -> None:
    """Read the bytes as rows of a DH table, four floats each, in both conventions."""
    numbers = np.frombuffer(data[: len(data) // 32 * 32]).reshape(-1, 4).tolist()
    rows = [rb.dh.DHRow(*row) for row in numbers[:FEW_BODIES]]
    rb.dh.distal(rows)
    rb.dh.proximal(rows)


@functools.cache
def saved() -> tuple[dict[str, Any], bytes]:
    """Return the arrays of a saved Model by name, and the bytes of all arrays."""
    file = folder() / "good.npz"
    crank = ActuatorSpec("main_bearing", stiffness=1e3)
    rb.save(rb.with_actuators(rb.load(CRANK_SLIDER), [crank]), file)
    with np.load(file) as archive:
        arrays = dict(archive)
    return arrays, b"".join(array.tobytes() for array in arrays.values())


def fuzz_model(data: bytes) -> None:
    """Cut bytes into the arrays of a saved Model, load the Model and take a step."""
    arrays, changed, at = saved()[0], {}, 0
    for name, old in arrays.items():
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
    """Return the bytes of a short recording."""
    m = rb.load_urdf(pendulum())
    d, path = rb.make_data(m), folder() / "good.mcap"
    with rb.Recorder(m, path, urdf=pendulum(), overwrite=True) as recorder:
        for _ in range(5):
            rb.step(m, d)
            recorder.write(d)
    return [path.read_bytes()]


def fuzz_recording(data: bytes) -> None:
    read_run(written(data, "changed.mcap"))


def fuzz_policy(data: bytes) -> None:
    """Read the bytes as a policy file, or as an exported policy."""
    path = folder() / "policy.yaml"
    path.write_bytes(data)
    read_policy(path, joints=("first", "second"))


def fuzz_sensors(data: bytes) -> None:
    m, described = _armed(SEVEN.read_text())
    written(b"0, 0\n0.1, -0.2\n", "angles.csv")
    read_sensors_text(data, m, described, folder=folder())


#: Number of steps during which the state of a robot with actuators must stay finite.
MOVED = 20


def fuzz_actuators(data: bytes) -> None:
    """Read actuators of a pendulum, and move the pendulum by commands of both signs."""
    m, _ = _armed(pendulum())
    m = rb.with_actuators(m, read_actuators_text(data, m))
    d = rb.make_data(m)
    for k in range(MOVED):
        d.qfrc_applied[:] = (-1.0) ** k
        rb.step(m, d)
        if not (np.isfinite(d.qpos).all() and np.isfinite(d.qvel).all()):
            raise FloatingPointError(f"the state is not finite after {k + 1} steps")


def fuzz_trial(data: bytes) -> None:
    """Read a trial of a pendulum, and draw the values of its first runs."""
    written(pendulum().encode(), "pendulum.urdf")
    written((FOLDER / "good/actuators.yaml").read_bytes(), "actuators.yaml")
    written(b"def control(t, q, v):\n    return 0 * q\n", "policy.py")
    load_trial(written(data, "trial.yaml"))


@functools.cache
def _armed(text: str) -> tuple[rb.Model, Any]:
    return rb.load_urdf(text), urdf.read_text(text)


STAGES = (
    *(rb.kinematics, rb.com_pos, rb.com_vel, rb.passive, rb.bias_force, rb.rne, rb.aba),
    *(rb.energy, rb.fwd_position, rb.fwd_velocity, rb.fwd_acceleration, rb.forward),
    *(rb.make_constraint, rb.joint_forces, rb.forward_dynamics, rb.inverse, rb.crb, rb.factor_m),
    *(rb.mass_matrix, rb.step, rb.com, rb.centroidal_momentum, rb.forward_derivatives),
)


class Strict(np.ndarray):
    """An array that also refuses negative indices."""

    def __getitem__(self, key: Any) -> Any:
        _refuse_negative(key)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _refuse_negative(key)
        super().__setitem__(key, value)


def _refuse_negative(key: Any) -> None:
    for k in key if isinstance(key, tuple) else (key,):
        if isinstance(k, int | np.integer) and k < 0:
            raise IndexError(f"the index {key} is negative")


def make_strict(fields: Any) -> None:
    """Replace the arrays of a Model or Data, and of its loop joints, by Strict arrays."""
    for name, array in list(vars(fields).items()):
        if isinstance(array, np.ndarray) and name != "buffer":
            vars(fields)[name] = array.view(Strict)
    if vars(fields).get("loops") is not None:
        make_strict(fields.loops)


def two_hinges() -> rb.SystemBuilder:
    return (
        rb.SystemBuilder("driven")
        .body("a", rb.shapes.sphere(0.1, mass=1.0, at=rb.pose((0.5, 0.0, 0.0))))
        .body("b", rb.shapes.sphere(0.1, mass=1.0, at=rb.pose((0.5, 0.0, 0.0))))
        .joint("j", "revolute", "base", "a", axis=(0.0, 1.0, 0.0), damping=0.1, friction=0.1)
        .joint("k", "revolute", "a", "b", axis=(0.0, 1.0, 0.0), xyz=(1.0, 0.0, 0.0))
    )


@functools.cache
def strict_datas() -> list[Any]:
    """Return Datas with Strict arrays: for a pendulum, and for each Model of `several`."""
    models = [rb.load_urdf(pendulum()), *several()]
    for m in models:
        make_strict(m)
    return [driven(m) for m in models]


def several() -> list[rb.Model]:
    """Return Models of a closed loop, a tree with contact, and bodies that touch each other."""
    return [rb.load(CRANK_SLIDER), rb.build(touching()), rb.build(stack())]


def driven(m: rb.Model) -> Any:
    """Return a new Data of a Model, in which a joint "j" is driven."""
    d = started(m)
    if "j" in m.jnt_names:
        rb.set_drive(m, d, "j", "velocity", 1.0)
    return d


@functools.cache
def checked_datas() -> list[Any]:
    """Return Datas of a driven tree and of each Model of `several`, with compiled stages."""
    datas = [driven(m) for m in (rb.build(two_hinges()), *several())]
    for d, stage in itertools.product(datas, STAGES):
        with contextlib.suppress(RbdynError):
            stage(d.model, d.copy())
    return datas


def stack() -> rb.SystemBuilder:
    """Return two free boxes, one on the other, on a floor."""
    system = rb.SystemBuilder("stack", base="world").floor()
    for k, name in enumerate(("low", "high")):
        system.body(name, rb.shapes.box((0.2, 0.2, 0.2), mass=1.0))
        system.joint(f"free_{name}", "floating", "world", name, xyz=(0.0, 0.0, 0.099 + 0.198 * k))
        system.geometry(f"hull_{name}", name, rb.Box((0.2, 0.2, 0.2)))
    return system


def touching() -> rb.SystemBuilder:
    return two_hinges().geometry("g", "b", rb.Sphere(0.1)).floor(-0.05)


def started(m: rb.Model) -> Any:
    d = rb.make_data(m)
    rb.forward(m, d)
    return d


#: Hostile floats and integers, as integers of 64 bits.
HOSTILE = (
    *struct.unpack("<4q", struct.pack("<4d", np.nan, np.inf, -1e300, 1e-310)),
    *(-1, 7, 2**31, 2**62, -(2**63)),
)
#: Names of all fields of Data.
NAMES = tuple(field.name for field in DATA_FIELDS)
#: Fields of the state, which `fuzz_rows` can leave out when it writes hostile numbers.
STATE = {"qpos", "qvel", "qacc", "qpos_all", "qvel_all", "qacc_all"}
STATE |= {"time", "drive_mode", "drive_target"}


def rows(datas: Callable[[], list[Any]]) -> Callable[[], list[bytes]]:
    """Return a function that makes seeds for `fuzz_rows`, with and without a single field."""

    def seeds() -> list[bytes]:
        choices = list(itertools.product(range(len(datas())), range(len(HOSTILE))))
        whole = itertools.product(choices, range(len(STAGES)), (0, 1))
        single = itertools.product(choices, range(len(NAMES)))
        return [
            *(bytes([robot, stage, k, n]) for (robot, n), stage, k in whole),
            *(bytes([robot, k % len(STAGES), 2 + k, n]) for (robot, n), k in single),
        ]

    return seeds


def fuzz_rows(datas: Callable[[], list[Any]], data: bytes) -> None:
    """Write hostile numbers into a Data, and run a stage.

    Four bytes choose the robot, the stage, the fields and the number. The choices of fields are
    all, all but the state, and each single field. Each further ten bytes choose an entry and
    its bits.
    """
    robot, stage, which, n = data[:4].ljust(4, b"\0")
    d = datas()[robot % len(datas())].copy()
    choices = [
        NAMES,
        tuple(name for name in NAMES if name not in STATE),
        *((name,) for name in NAMES),
    ]
    for name in choices[which % len(choices)]:
        begin = d.model.data_offsets[name]
        size = np.size(vars(d).get(name, vars(d).get(f"_{name}")))
        d.buffer.view(np.int64)[begin : begin + size] = HOSTILE[n % len(HOSTILE)]
    for place, bits in struct.iter_unpack("<Hq", data[4 : 4 + (len(data) - 4) // 10 * 10]):
        d.buffer.view(np.int64)[place % len(d.buffer)] = bits
    if datas is strict_datas:
        make_strict(d)
    STAGES[stage % len(STAGES)](d.model, d)


#: Values with which fuzz_state replaces a field of a saved state.
FORGED = (
    *(None, 7, True, "", "nan", b"", [], [[1.0], [2.0, 3.0]], {}, np.nan, object()),
    *(np.zeros(0), np.zeros(3), np.zeros((2, 2)), np.zeros(2, object), np.array("x"), range(3)),
)
FIELDS = ("robot", "layout", "row", "driven")


def states() -> list[bytes]:
    """Return seeds for `fuzz_state`, with hostile numbers in the row or one false field."""
    forged = itertools.product(range(len(strict_datas())), range(len(FIELDS)), range(len(FORGED)))
    hostile = itertools.product(range(len(strict_datas())), range(len(HOSTILE)))
    return [
        *(bytes([robot, len(FIELDS), n]) for robot, n in hostile),
        *(bytes([robot, field, k]) for robot, field, k in forged),
    ]


def fuzz_state(data: bytes) -> None:
    """Load a changed saved state, as another process may send it, and take a step.

    Three bytes choose the robot, the field and the field's new value. The number after the last
    field writes hostile numbers to the whole row. Each further ten bytes choose an entry of the
    row and its bits.
    """
    robot, field, k = data[:3].ljust(3, b"\0")
    d = strict_datas()[robot % len(strict_datas())]
    m, saved = d.model, rb.save_state(d.model, d)
    row = saved.row.copy()
    if field % (len(FIELDS) + 1) == len(FIELDS):
        row.view(np.int64)[:] = HOSTILE[k % len(HOSTILE)]
    for place, bits in struct.iter_unpack("<Hq", data[3 : 3 + (len(data) - 3) // 10 * 10]):
        row.view(np.int64)[place % len(row)] = bits
    changes = {"row": row, "driven": bool(k % 2)}
    if field % (len(FIELDS) + 1) < len(FIELDS):
        changes[FIELDS[field % (len(FIELDS) + 1)]] = FORGED[k % len(FORGED)]
    other = d.copy()
    make_strict(other)
    rb.load_state(m, other, dataclasses.replace(saved, **changes))
    rb.step(m, other)


def fuzz_parameters(data: bytes) -> None:
    """Check parameters of a file as both nodes check them, and make the settings of an arm.

    ROS 2 itself reads the file, so nodes get no value that YAML refuses or that no ROS type has.
    """
    try:
        given = dict(named(yaml.safe_load(data)))
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError):
        return
    parameters.live(given, simulator_parameters.PARAMETERS)
    table = arm_parameters.PARAMETERS
    values = {row.name: row.checked(row.default) for row in table} | parameters.live(given, table)
    chosen, m = SimpleNamespace(**values), _armed(SEVEN.read_text())[0]
    settings, gate = arm_parameters.settings(chosen), arm_parameters.gate_settings(chosen, False)
    limits = dataclasses.replace(
        Limits.of(m, chosen.joints),
        acceleration=chosen.acceleration_limit,
        latency=chosen.latency_limit,
        contact=chosen.contact_effort,
    ).tightened(*(values[name] for name in TIGHTENING))
    arm = Arm(m, chosen.gravity, chosen.mounting_rpy, arm_parameters.friction_of(chosen, m))
    Controller(arm, SafetyGate(m, limits, gate), settings)


def named(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the full name and the value of each parameter in a file."""
    if isinstance(value, dict):
        for key, inner in value.items():
            known = key == "ros__parameters" or (not name and str(key).startswith("/"))
            yield from named(inner, name if known else f"{name}.{key}".lstrip("."))
    elif isinstance(value, bool | int | float | str | list):
        yield name, value


TARGETS = {
    "urdf": Target(
        lambda: (
            files("config/robots/pendulum.urdf", "config/robots/seven_dof_arm.urdf")()
            + good("urdf")()
        ),
        fuzz_urdf,
    ),
    "mjcf": Target(good("mjcf"), fuzz_mjcf),
    "srdf": Target(lambda: [SRDF], fuzz_srdf),
    "appearance": Target(files("config/robots/seven_dof_arm.urdf"), fuzz_appearance),
    "xacro": Target(good("xacro"), fuzz_xacro),
    "sdf": Target(good("sdf"), fuzz_sdf),
    "mechanism": Target(
        lambda: files("examples/crank_slider.yaml")() + good("mechanism")(), fuzz_mechanism
    ),
    "scene": Target(files("config/scenes/gripper.yaml"), fuzz_scene),
    "stl": Target(good("stl"), functools.partial(fuzz_mesh, "stl")),
    "obj": Target(good("obj"), functools.partial(fuzz_mesh, "obj")),
    "dae": Target(good("dae"), functools.partial(fuzz_mesh, "dae")),
    "image": Target(images, fuzz_image),
    "materials": Target(lambda: [b"newmtl m\nKd 0.1 0.2 0.3\nmap_Kd a.png\n"], fuzz_materials),
    "table": Target(lambda: [np.linspace(0.0, 1.0, 12).tobytes()], fuzz_table),
    "model": Target(lambda: [saved()[1]], fuzz_model),
    "recording": Target(record, fuzz_recording),
    "policy": Target(good("policy"), fuzz_policy),
    "sensors": Target(lambda: files("config/sensors.yaml")() + good("sensors")(), fuzz_sensors),
    "actuators": Target(good("actuators"), fuzz_actuators),
    "trial": Target(good("trial"), fuzz_trial),
    "state": Target(states, fuzz_state),
    "parameters": Target(
        files("config/arm_controller.yaml", "config/simulator.yaml"), fuzz_parameters
    ),
    "box": Target(boxes.seeds, boxes.fuzz_box),
    "ur_box": Target(ur_box.seeds, ur_box.fuzz_ur_box),
    "ur_reverse": Target(ur_box.calls_back, ur_box.fuzz_ur_box),
    "data": Target(rows(strict_datas), functools.partial(fuzz_rows, strict_datas)),
    "bounds": Target(rows(checked_datas), functools.partial(fuzz_rows, checked_datas)),
    "laws": Target(laws.seeds, laws.fuzz_laws),
}
