# SPDX-License-Identifier: Apache-2.0
"""fmpy validates and simulates FMUs of robots; they agree with generated C and with rb.step."""

import platform
import shutil
import zipfile

import numpy as np
import pytest
from support.c_code import Library, code_of
from support.c_compilers import needs_gcc
from support.robots import find

pytest.importorskip("fmpy", reason="fmpy is not installed")

import fmpy
from fmpy.fmi2 import FMU2Slave
from fmpy.fmi3 import FMU3Slave
from fmpy.validation import validate_fmu

import rbdyn_ros as rb
from rbdyn_ros.cli import main
from rbdyn_ros.codegen.fmu import package
from rbdyn_ros.codegen.fmu.description import variables
from rbdyn_ros.codegen.fmu.package import write_fmu
from rbdyn_ros.share import bundled_robot

pytestmark = needs_gcc

VERSIONS = ("2.0", "3.0")
ROBOTS = {
    "arm": lambda: rb.load_urdf(bundled_robot("seven_dof_arm")),
    "panda": lambda: rb.load_urdf(find("panda.urdf")),  # one finger is a mimic joint
    "anymal": lambda: rb.load_urdf(find("anymal.urdf"), floating_base=True),
}
STEPS = 200


def robot(name):
    m = ROBOTS[name]()
    m.opt.exact_stops = False  # generated code has springs as joint limits, and smooth friction
    return m


class Slave:
    """An FMU that fmpy runs in this process."""

    def __init__(self, path, version, folder):
        self.description = fmpy.read_model_description(path)
        unpacked = fmpy.extract(path, unzipdir=folder)
        kind = {"2.0": FMU2Slave, "3.0": FMU3Slave}[version]
        identity = self.description.coSimulation.modelIdentifier
        self.version, self.fmu = (
            version,
            kind(
                guid=self.description.guid,
                unzipDirectory=str(unpacked),
                modelIdentifier=identity,
                instanceName="robot",
            ),
        )
        self.fmu.instantiate()
        self.references = {v.name: v.valueReference for v in self.description.modelVariables}

    def of(self, begin):
        return [r for name, r in self.references.items() if name.startswith(begin)]

    def set(self, begin, values):
        numbers = [float(x) for x in values]
        (self.fmu.setReal if self.version == "2.0" else self.fmu.setFloat64)(
            self.of(begin), numbers
        )

    def get(self, begin):
        ask = self.fmu.getReal if self.version == "2.0" else self.fmu.getFloat64
        return np.array(ask(self.of(begin)))

    def begin(self, qpos, qvel):
        if self.version == "2.0":
            self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.set("start.q.", qpos)
        self.set("start.v.", qvel)
        self.fmu.exitInitializationMode()

    def end(self):
        self.fmu.terminate()
        self.fmu.freeInstance()


@pytest.fixture(scope="module")
def slaves(tmp_path_factory):
    """Yield a function of a Model and a version of FMI that returns a Slave."""
    made = []

    def make(m, version):
        folder = tmp_path_factory.mktemp("fmu")
        path = folder / "robot.fmu"
        assert write_fmu(code_of(m, "step"), version, path)
        assert validate_fmu(path) == []
        made.append(Slave(path, version, folder / "unpacked"))
        return made[-1]

    yield make
    for slave in made:
        slave.end()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ROBOTS)
def test_an_fmu_has_the_bits_of_the_c_code_and_the_motion_of_the_engine(
    slaves, tmp_path, name, version
):
    m = robot(name)
    slave = slaves(m, version)
    code = Library(code_of(m, "step"), "gcc", tmp_path / "c", "-O2", "-ffp-contract=off")
    d = rb.make_data(m)
    random = np.random.default_rng(3)
    d.qvel = 0.1 * random.standard_normal(m.nv)
    slave.begin(d.qpos, d.qvel)
    state = {"qpos": d.qpos.copy(), "qvel": d.qvel.copy()}
    for k in range(STEPS):
        tau = 0.5 * random.standard_normal(m.nv)
        slave.set("tau.", tau)
        slave.fmu.doStep(k * m.opt.timestep, m.opt.timestep)
        found = code.call("step", state | {"qfrc_applied": tau})
        state = {"qpos": found["q_next"], "qvel": found["v_next"]}
        d.qfrc_applied = tau
        rb.step(m, d)
        assert slave.get("q.").tobytes() == state["qpos"].tobytes()
        assert slave.get("v.").tobytes() == state["qvel"].tobytes()
    # rounding errors grow with time; a wrong sign or order would cause errors above 1e-3
    assert np.abs(state["qpos"] - d.qpos).max() < 1e-9
    assert np.abs(state["qvel"] - d.qvel).max() < 1e-7


@pytest.mark.parametrize("version", VERSIONS)
def test_fmpy_validates_and_simulates_an_fmu_from_the_command(tmp_path, capsys, version):
    path = tmp_path / "arm.fmu"
    with pytest.raises(SystemExit) as ended:
        main(["codegen", str(bundled_robot("seven_dof_arm")), "--fmi", version, "-o", str(path)])
    assert ended.value.code == 0
    assert f"FMI {version}, 7 torques in, 14 states out" in capsys.readouterr().out
    assert validate_fmu(path) == []
    joint = fmpy.read_model_description(path).modelVariables[1].name
    inputs = np.array([(0.0, 2.0), (0.1, 2.0)], [("time", float), (joint, float)])
    rows = fmpy.simulate_fmu(
        path, stop_time=0.1, step_size=0.001, output_interval=0.001, input=inputs
    )
    m = rb.load_urdf(bundled_robot("seven_dof_arm"))
    m.opt.exact_stops = False
    d = rb.make_data(m)
    d.qfrc_applied[0] = 2.0
    rb.step(m, d, 100)
    names = [name for name in rows.dtype.names if name.startswith("q.")]
    assert np.abs([rows[name][-1] for name in names] - d.qpos).max() < 1e-9


@pytest.mark.parametrize("version", VERSIONS)
def test_a_step_that_is_not_a_whole_number_of_timesteps_is_refused(slaves, version):
    slave = slaves(robot("arm"), version)
    m = robot("arm")
    slave.begin(m.qpos0, np.zeros(m.nv))
    before = slave.get("q.")
    with pytest.raises(Exception, match="DoStep"):
        slave.fmu.doStep(0.0, 1.5 * m.opt.timestep)
    for step in (np.inf, np.nan, 1e14, -m.opt.timestep, 1.0001e7 * m.opt.timestep):
        with pytest.raises(Exception, match="DoStep"):
            slave.fmu.doStep(0.0, float(step))
    with pytest.raises(Exception, match="Set"):
        slave.set("tau.", [np.nan] * m.nv)
    assert slave.get("q.").tobytes() == before.tobytes()
    slave.fmu.doStep(0.0, 3 * m.opt.timestep)
    assert slave.get("q.").tobytes() != before.tobytes()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_restored_simulation_continues_with_the_same_bits(slaves, version):
    m = robot("arm")
    slave = slaves(m, version)
    slave.begin(m.qpos0, np.full(m.nv, 0.3))
    get, put = (
        (slave.fmu.getFMUstate, slave.fmu.setFMUstate)
        if version == "2.0"
        else (slave.fmu.getFMUState, slave.fmu.setFMUState)
    )
    slave.fmu.doStep(0.0, 0.01)
    saved = get()
    slave.fmu.doStep(0.01, 0.01)
    first = slave.get("q.")
    put(saved)
    slave.fmu.doStep(0.01, 0.01)
    assert slave.get("q.").tobytes() == first.tobytes()


def test_the_guid_of_an_fmu_depends_on_its_code_and_version(monkeypatch, tmp_path):
    monkeypatch.setattr(package, "build", lambda *_: b"")

    def identity(m, version="3.0"):
        write_fmu(code_of(m, "step"), version, tmp_path / "arm.fmu")
        found = fmpy.read_model_description(tmp_path / "arm.fmu").guid
        name = next(n for n in zipfile.ZipFile(tmp_path / "arm.fmu").namelist() if "_fmu.c" in n)
        assert found in zipfile.ZipFile(tmp_path / "arm.fmu").read(name).decode()
        return found

    m, floating, undamped = robot("arm"), robot("arm"), robot("arm")
    floating.opt.gravity, undamped.opt.passive = (0.0, 0.0, 0.0), False
    every = [identity(m), identity(m, "2.0"), identity(floating), identity(undamped)]
    assert len(set(every)) == 4
    assert identity(robot("arm")) == every[0]


def test_the_coordinates_of_a_joint_are_numbered_from_1_if_there_are_several():
    names = [variable.name for variable in variables(robot("anymal"))]
    assert [name for name in names if name.startswith("q.root_joint")] == [
        f"q.root_joint[{k}]" for k in range(1, 8)
    ]
    assert "v.root_joint[6]" in names
    assert "q.LF_HAA" in names


def test_an_fmu_of_version_2_has_no_library_for_linux_on_arm(monkeypatch, tmp_path):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(package.sys, "platform", "linux")
    assert not write_fmu(code_of(robot("arm"), "step"), "2.0", tmp_path / "arm.fmu")
    names = zipfile.ZipFile(tmp_path / "arm.fmu").namelist()
    assert not any(name.startswith("binaries") for name in names)
    assert package.folder_of("3.0") == "binaries/aarch64-linux"


BAD = [
    (["--fmi", "3.0", "-o", "arm.c"], "an FMU is written to a .fmu file"),
    (["--fmi", "3.0", "-o", "arm.fmu", "--float"], "--float has no effect with --fmi"),
    (["--fmi", "2.0", "-o", "arm.fmu", "--functions", "step"], "--functions has no effect"),
]


@pytest.mark.parametrize(("words", "said"), BAD, ids=[row[1] for row in BAD])
def test_options_that_do_not_apply_to_an_fmu_are_refused(
    words, said, capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["codegen", str(bundled_robot("seven_dof_arm")), *words])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_fmu_made_without_a_compiler_contains_only_sources(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert not write_fmu(code_of(robot("arm"), "step"), "3.0", tmp_path / "arm.fmu")
    names = zipfile.ZipFile(tmp_path / "arm.fmu").namelist()
    assert "sources/robot_dynamics.c" in names
    assert not any(name.startswith("binaries") for name in names)
