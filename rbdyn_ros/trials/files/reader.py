# SPDX-License-Identifier: Apache-2.0
"""Read a trial from a YAML file, whose keys are in keys.py."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rbdyn_ros.actuators import ActuatorsDocument, with_actuators
from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.checks.numbers import count
from rbdyn_ros.control_box.boxes import BoxName, behind_boxes
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.description.scene_files.scene import is_scene
from rbdyn_ros.description.yaml_files.kinds import is_sound
from rbdyn_ros.description.yaml_files.robots import robot_file_of
from rbdyn_ros.description.yaml_files.tables import Given, section
from rbdyn_ros.errors import RbdynError, exactly, quote
from rbdyn_ros.loading.load import load as load_model
from rbdyn_ros.model.model import Model
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.trials.files.actuated import VariedActuators
from rbdyn_ros.trials.files.controllers import read_controller
from rbdyn_ros.trials.files.judgement import read_limits, read_measures, read_reference
from rbdyn_ros.trials.files.keys import BAND, DIALECT, MAX_RUNS, MAX_STEPS
from rbdyn_ros.trials.files.sampled import SampledReader
from rbdyn_ros.trials.files.values import line_of
from rbdyn_ros.trials.references import reference_table
from rbdyn_ros.trials.trial import Joints, Trial, TrialRobot, UserProgram, Varied


def load(path: str | Path) -> Trial:
    """Read a trial file. The Python files that it names are read, but not run.

    Args:
        path: the path of the file.

    Raises:
        DescriptionError: the document has errors (all are listed, with lines), or the robot cannot
            be loaded.
    """
    path = Path(path)
    data = read_bytes(path, "a .yaml file", "the path of a trial file")
    audit = Audit()
    top = DIALECT.read(DIALECT.parse(data, str(path), audit), audit)
    trial = _trial(top, path)
    audit.raise_errors(str(path))
    assert trial is not None
    return trial


def with_runs(trial: Trial, runs: int) -> Trial:
    """Return the same trial with another number of runs.

    Raises:
        ParameterError: the number is not allowed.
    """
    return replace(trial, runs=count("runs", runs, 1, MAX_RUNS))


def _trial(top: Given, path: Path) -> Trial | None:
    """Return the trial of a document, or None after an error."""
    loaded = _robot(top, path.parent)
    if loaded is None or "duration" not in top:
        return None
    m, robot, urdf = loaded
    actuators = _actuators(top, m, path.parent)
    duration, step = top["duration"], float(m.opt.timestep)
    nstep = round(min(duration / step, 2.0 * MAX_STEPS))
    if not 1 <= nstep <= MAX_STEPS:
        allowed = f"from {exactly(step)} to {exactly(MAX_STEPS * step)}"
        top.wrong("duration", f"a time {allowed} s")
        return None
    of_actuators = None if actuators is None else VariedActuators(m, actuators)
    varied, link = SampledReader(m, duration, of_actuators).varied(top)
    measures = section(top, "measures")
    functions = read_measures(measures, path.parent)
    motion = read_reference(section(top, "reference"), Joints.of(m).names)
    controller = read_controller(top.get("controller"), m, path.parent)
    limits = read_limits(section(top, "limits"), m, functions)
    program = None if controller is None else controller.program
    m.opt.exact_stops = top.get("exact_stops", m.ncontact > 0 or program is not None)
    if controller is not None and program is not None:
        _check_program(top, program, robot, varied)
        if program.box and not top.audit.errors:
            m = _with_box(top, m, robot, program.box, controller.every)
    if top.audit.errors or controller is None:
        return None
    numbers = {key: top[key] for key in ("runs", "first_seed", "recordings") if key in top}
    if BAND in measures:
        numbers["settling_band"] = measures[BAND]
    return Trial(
        top.get("name", path.stem),
        str(path),
        m,
        nstep,
        controller,
        reference_table(m, nstep, motion),
        varied,
        link,
        functions=functions,
        limits=limits,
        rule=top["verdict"],
        allowance=top["process"],
        urdf=urdf,
        robot_file=robot,
        actuators=actuators,
        **numbers,
    )


def _actuators(top: Given, m: Model, folder: Path) -> ActuatorsDocument | None:
    """Return the actuators of the robot; None if there are none, or after an error."""
    vary = section(top, "vary")
    if "actuators" not in top.lines and "actuators" in vary.lines:
        message = (
            "numbers of actuators can vary only if the key 'actuators' names an actuators file"
        )
        vary.error("no-actuators", "actuators", message)
    name = top.get("actuators")
    if name is None:
        return None
    try:
        found = ActuatorsDocument.load(folder / name)
        with_actuators(m, found.specs(m))
    except RbdynError as error:
        line = line_of(top, "actuators")
        top.audit.error("bad-actuators", "actuators", line, str(error), found=name)
        return None
    return found


def _check_program(
    top: Given, program: UserProgram, robot: TrialRobot, varied: Sequence[Varied]
) -> None:
    """Add errors about features that the simulator of a program lacks."""
    if robot.path.endswith(".npz"):
        message = f"a {program.noun} needs a robot file: its simulator loads no saved Model"
        top.audit.error("bad-robot", "robot", top.lines["robot"], message)
    if any(each.section == "faults" and each.key == "effort_scale" for each in varied):
        message = f"the simulator of a {program.noun} has no effort_scale"
        top.audit.error("bad-fault", "faults", top.lines["faults"], message)


def _with_box(top: Given, m: Model, robot: TrialRobot, box: str, every: int) -> Model:
    """Return the Model of the robot behind a control box, or the given Model after an error."""
    controller, name = top["controller"], BoxName.parsed(box)
    try:
        driven = name.arm(m, robot.description).driven
        found = behind_boxes(m, robot.description, [box])
    except RbdynError as error:
        controller.error("bad-box", "box", str(error))
        return m
    joints = Joints.of(m)
    robots = [joint.rpartition("/")[0] for joint in joints.names]
    own = {of for of, dof in zip(robots, joints.dofadr, strict=True) if dof in driven}
    others = [joint for joint, of in zip(joints.names, robots, strict=True) if of not in own]
    if others:
        message = (
            f"no box moves joint {quote(others[0])}, and its robot would fall; a trial has one "
            "box, so its scene must have one robot with motors"
        )
        controller.error("bad-box", "box", message)
    try:
        name.kind.check_tick(round(every * float(m.opt.timestep) * NANOSECONDS))
    except RbdynError as error:
        if "rate" in controller.lines:
            controller.error("bad-rate", "rate", str(error))
        else:
            key = "timestep" if "timestep" in top.lines else "controller"
            top.error("bad-timestep", key, str(error))
    return found


def _robot(top: Given, folder: Path) -> tuple[Model, TrialRobot, str] | None:
    """Return the Model with the trial's timestep, the robot's file and URDF, or None on error."""
    given = top.get("robot")
    if given is None or not is_sound(given):
        return None
    floating_base, contact = top.get("floating_base", False), top.get("contact", False)
    file, strict = robot_file_of(given, folder), not top.get("repair", False)
    try:
        dirs = [Path(name).resolve() for name in file.package_dirs]
        file = replace(file, path=file.located().resolve(), package_dirs=dirs)
        m = load_model(file, floating_base=floating_base, strict=strict, contact=contact)
    except RbdynError as error:
        line = line_of(top, "robot")
        found = given if isinstance(given, str) else given["file"]
        top.audit.error("bad-robot", "robot", line, str(error), found=found)
        return None
    m.opt.timestep = top.get("timestep", m.opt.timestep)
    path = Path(file.path)
    urdf = path.read_text("utf-8", errors="replace") if path.suffix == ".urdf" else ""
    robot = TrialRobot(file, is_scene(path), floating_base, contact, strict)
    return m, robot, urdf
