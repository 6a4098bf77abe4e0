# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn excite`: make an excitation motion for identifying an arm."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rbdyn_ros.commands.line import common
from rbdyn_ros.commands.line.parser import Commands
from rbdyn_ros.commands.line.recorded import add_reading_options, recorded

if TYPE_CHECKING:
    from rbdyn_ros.arrays import Array
    from rbdyn_ros.control.motion.paths import Path as Motion
    from rbdyn_ros.identification.excitation.excite import Excitation
    from rbdyn_ros.identification.excitation.sweeps import Sweeps
    from rbdyn_ros.model.model import Model

#: Smallest distance of links from each other and from obstacles, with --contact or --scene [m].
CLEARANCE = 0.01
#: Gravity from --mounting and from the scene may differ by this rounding error [m/s^2].
SAME_GRAVITY = 0.01


def add_excite(commands: Commands) -> None:
    command = commands.add_parser(
        "excite",
        help="make a motion for identifying the dynamics or actuators of an arm",
        epilog="Examples:\n"
        "  rbdyn excite arm.urdf -o motion.csv --reach 0.8 --centre 0 -1 1 0 1 0\n"
        "  rbdyn excite arm.urdf -o next.csv --after recording.mcap\n"
        "  rbdyn excite arm.urdf -o clear.csv --scene cell.yaml\n"
        "  rbdyn excite arm.urdf -o sweeps.csv --sweeps 10 --reach 0.8\n\n"
        "Collisions are checked only with --contact or --scene: watch the motion in the\n"
        "simulator first.\n"
        "Exit status: 0 if the motion was written, 1 if the robot or a value is refused,\n"
        "2 if the command line or the output file is refused.",
    )
    common.add_robot(command)
    common.add_mounting(command)
    common.add_options(
        command,
        ("-o --output", common.FileOf((".csv",)), "FILE.csv",
            "file for the motion", {"required": True}),
        ("--joints", str, "NAME", "moving joints (default: all)", {"nargs": "+"}),
    )  # fmt: skip
    for flag, sign, default, text in (
        ("--velocity-share", "FRACTION", 0.5, "fraction of the velocity limits to use"),
        ("--effort-share", "FRACTION", 0.7, "fraction of the effort limits to use"),
        ("--rate", "HZ", 50.0, "points per second in the file"),
        ("--slowest", "FRACTION", 0.01, "slowest speed, as a fraction of the fastest"),
    ):
        command.add_argument(
            flag, type=float, metavar=sign, default=default, help=f"{text} (default: %(default)s)"
        )
    common.add_options(
        command,
        ("--duration", float, "S", "duration of the motion [s] (default: 20; sweeps: 100)"),
        ("--harmonics", int, "N", "the highest frequency is N / duration (default: 10)"),
        ("--seed", int, "N", "seed of the search; equal seeds give equal motions (default: 0)"),
        ("--after", common.RECORDING_FILE, "RECORDING",
            ("an earlier recording; the motion determines the parameters that this recording "
            "left uncertain")),
        ("--scene", common.FileOf((".yaml", ".yml", ".sdf", ".world")), "SCENE",
            ("scene file with the fixed obstacles around the arm; links and obstacles stay "
            f"{1e3 * CLEARANCE:g} mm apart")),
    )  # fmt: skip
    add_reading_options(command)
    command.set_defaults(
        topic="joint_states", effort_topic=None, motor_topic=None, cutoff=None, current=False
    )
    common.add_options(
        command,
        ("--sweeps", int, "N",
            "make sweeps up and down at this many constant speeds, for identifying actuators"),
        ("--acceleration-limits", float, "NUMBER",
            "acceleration limits, one number or one per joint [rad/s^2] (default: the robot's)",
            {"nargs": "+"}),
        ("--position-inset", float, "NUMBER",
            "least distance from the position limits [rad] (default: 0.05)", {"nargs": "+"}),
        ("--reach", float, "NUMBER",
            "largest distance from the centre [rad] (default: 1.5)",
            {"nargs": "+", "default": [1.5]}),
        ("--centre", float, "NUMBER",
            "start and end position of every joint (default: middle of the limits)",
            {"nargs": "+"}),
    )  # fmt: skip
    command.set_defaults(run=_excite)


def _excite(options: argparse.Namespace) -> int:
    common.run_imports(options.imports)
    if options.sweeps is not None and (options.harmonics, options.seed) != (None, None):
        return common.report_error(
            "excite", "--sweeps cannot be combined with --harmonics, --seed", common.USAGE
        )
    if options.sweeps is not None and (options.after, options.scene) != (None, None):
        return common.report_error(
            "excite", "--sweeps cannot be combined with --after, --scene", common.USAGE
        )
    if options.scene is not None and options.floating_base:
        return common.report_error(
            "excite",
            "--scene is for an arm with a fixed base; leave --floating-base out",
            common.USAGE,
        )
    with common.refusing("excite", common.USAGE):
        common.check_writable(options.output, "a motion", (".csv",))
    with common.refusing("excite", common.REFUSED):
        text, write = _series(options) if options.sweeps is None else _sweeps(options)
    with common.refusing("excite", common.USAGE):
        write(options.output)
    print(text)
    return common.DONE


def _series(options: argparse.Namespace) -> tuple[str, Callable[[Path], None]]:
    """Make a motion of Fourier series; return its report, and a function that writes its file."""
    from rbdyn_ros.identification.excitation.excite import check_informative, check_rate, excite
    from rbdyn_ros.identification.excitation.search import ITERATIONS
    from rbdyn_ros.report.progress import rounds

    duration = 20.0 if options.duration is None else options.duration
    harmonics = 10 if options.harmonics is None else options.harmonics
    check_rate(options.rate, duration, harmonics)
    check = _check_of(options)
    m, _ = common.mounted_robot(options)
    after = None if options.after is None else recorded(m, options, options.after, 0.0)[1]
    # the progress bar has a step for the random motions, and one for each iteration
    with rounds("searching for a motion", ITERATIONS + 1) as tell:
        motion = excite(
            m,
            options.joints,
            duration=duration,
            harmonics=harmonics,
            seed=0 if options.seed is None else options.seed,
            after=after,
            check=check,
            progress=tell,
            **_limits(options),
        )
    check_informative(motion)
    both = "" if after is None else f", together with {options.after}"
    more = [f"condition number {motion.condition:.4g}{both}"]
    text = _text(motion, motion.centre, more, options.output, checked=check is not None)
    return text, lambda path: motion.write(path, options.rate)


def _check_of(options: argparse.Namespace) -> "Callable[[Motion, Array], None] | None":
    """Return a function that checks a motion for collisions; None without --contact or --scene.

    Afterwards `options.contact` is false, because contact is not needed any more.
    """
    from rbdyn_ros.control.collisions.self_collision import SelfCollision
    from rbdyn_ros.identification.excitation.excite import dofs_of_joints

    if options.scene is not None:
        m = _in_scene(options)
    elif options.contact:
        m, _ = common.loaded_robot(options, options.robot)
    else:
        return None
    options.contact = False
    dofs = dofs_of_joints(m, options.joints)
    collision = SelfCollision(m, dofs, CLEARANCE, links=True, world=True)

    def check(path: "Motion", centre: "Array") -> None:
        collision.check([path], centre, "the motion")

    return check


def _in_scene(options: argparse.Namespace) -> "Model":
    """Return the robot with the obstacles of --scene, and set --mounting as in the scene."""
    from rbdyn_ros.description.parts.poses import rpy_from_quat
    from rbdyn_ros.description.scene_files.arm_scene import read_arm_scene, refused_scene
    from rbdyn_ros.loading.load import complete, is_saved

    scene = read_arm_scene(str(options.scene), options.package_dir)
    if is_saved(options.robot):
        raise refused_scene(scene.path, "--scene needs the robot's own file, not a saved Model")
    plain = common.opened_robot(options, options.robot, contact=False)
    if plain.is_scene:
        raise refused_scene(
            scene.path, "the robot file is a scene file; give the robot's own file"
        )
    contact = scene.beside(plain.description.obstacles)
    found = common.opened_robot(options, options.robot, contact=contact).description
    scene.check_geometries(found)
    scene.check_names(found)
    _mount(options, scene.path, list(rpy_from_quat(scene.base.quat)))
    described = scene.around(found, contact)
    return complete(described, options.floating_base, not options.repair)


def _mount(options: argparse.Namespace, path: str, placed: list[float]) -> None:
    """Set --mounting as in the scene; raise ParameterError if it is given and differs."""
    import numpy as np

    from rbdyn_ros.description.scene_files.arm_scene import refused_scene

    given = None if options.mounting is None else common.standing(options)
    options.mounting = placed
    if given is not None and np.abs(given - common.standing(options)).max() > SAME_GRAVITY:
        angles = " ".join(f"{round(angle, 4) + 0.0:g}" for angle in placed)
        text = f"its robot is mounted with {angles}, but --mounting differs; leave out --mounting"
        raise refused_scene(path, text)


def _sweeps(options: argparse.Namespace) -> tuple[str, Callable[[Path], None]]:
    """Make a motion of sweeps; return its report, and a function that writes its file."""
    from rbdyn_ros.identification.excitation.sweeps import sweeps

    m, _ = common.mounted_robot(options)
    motion = sweeps(
        m,
        options.joints,
        speeds=options.sweeps,
        slowest=options.slowest,
        duration=100.0 if options.duration is None else options.duration,
        rate=options.rate,
        **_limits(options),
    )
    slow = " ".join(f"{x:.4g}" for x in motion.speeds[-1])
    more = [f"{len(motion.speeds)} speeds, the slowest {slow} per second"]
    return _text(motion, motion.qpos[0], more, options.output), motion.write


def _limits(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments with limits that both kinds of motions share."""
    return {
        "velocity_share": options.velocity_share,
        "acceleration_limits": _one_or_many(options.acceleration_limits),
        "position_inset": _one_or_many(options.position_inset),
        "centre": options.centre,
        "reach": _one_or_many(options.reach),
        "effort_share": options.effort_share,
    }


def _text(
    motion: "Excitation | Sweeps",
    start: "Array",
    more: list[str],
    path: Path,
    *,
    checked: bool = False,
) -> str:
    rows = [f"{'joint':<24} {'from':>9} {'to':>9} {'speed':>9} {'accel.':>9} {'of effort':>9}"]
    for name, (low, high, fast, hard) in zip(motion.names, motion.peaks.T, strict=True):
        share = motion.effort_share[name]
        numbers = f"{low:9.3f} {high:9.3f} {fast:9.3f} {hard:9.3f} {share:9.1%}"
        rows.append(f"{name[:24]:<24} {numbers}")
    low, high = (" ".join(f"{x:.3f}" for x in corner) for corner in motion.box)
    held = ", ".join(f"{name} at {place:.4g}" for name, place in motion.held.items())
    place = " ".join(f"{x:.4g}" for x in start)
    apart = f"links and obstacles stay {1e3 * CLEARANCE:g} mm apart"
    safe = apart if checked else "collisions are not checked"
    return "\n".join(
        [
            *rows,
            *more,
            f"starts and ends at rest at {place}",
            *([f"held: {held}"] if held else []),
            f"origins of links stay in a box from {low} to {high} m in the base link;",
            f"{safe}: watch the motion in the simulator first",
            f"written to {path}: {motion.duration:g} s",
        ]
    )


def _one_or_many(values: list[float] | None) -> Any:
    """Return the single number of a list, which is for all joints; else the list, or None."""
    return values[0] if values is not None and len(values) == 1 else values
