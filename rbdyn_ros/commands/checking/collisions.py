# SPDX-License-Identifier: Apache-2.0
"""`rbdyn check --collisions`: sample random poses for self-collision, and write an SRDF."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.commands.line.common import FileOf, add_options, flag
from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.loading.output import output_path, unwritable, write_whole

if TYPE_CHECKING:
    from rbdyn_ros.description.parts.geometries import Contact
    from rbdyn_ros.description.parts.types import Description
    from rbdyn_ros.model.model import Model
    from rbdyn_ros.report.self_collision import CollisionSamples

SRDF_SUFFIX = ".srdf"


def add_collisions(command: argparse.ArgumentParser) -> None:
    """Add the options that sample poses for self-collision to `rbdyn check`."""
    text = "list the pairs of links that overlap always, sometimes or never in random poses"
    flag(command, "--collisions", text)
    add_options(
        command,
        ("--samples", int, "N", "number of random poses (default: 10000)"),
        ("--seed", int, "N", "seed of the random poses (default: 0)"),
        ("--write-srdf", FileOf((SRDF_SUFFIX,)), "FILE",
            ("write an SRDF that disables links that a joint connects, and pairs that overlap "
            "always, never or at the start; an existing file is kept")),
    )  # fmt: skip
    flag(command, "--overwrite", "let --write-srdf replace an existing file")


def is_sampling(options: argparse.Namespace) -> bool:
    """Return whether the options ask for random poses."""
    return options.collisions or options.write_srdf is not None


def check_file(file: Path) -> None:
    """Raise ParameterError for a saved Model or a scene, whose poses cannot be sampled."""
    from rbdyn_ros.description.scene_files.scene import is_scene
    from rbdyn_ros.loading.storage import SUFFIX

    if file.suffix == SUFFIX or is_scene(file):
        what = "a saved Model has no links" if file.suffix == SUFFIX else "this is a scene"
        text = f"--collisions and --write-srdf need the file of a robot; {what}"
        raise ParameterError(Finding("not-sampled", text, "error", "collisions"))


def check_options(options: argparse.Namespace) -> None:
    """Raise ParameterError if the options do not fit together or the SRDF exists already."""
    from rbdyn_ros.description.robot_files import MECHANISM_SUFFIXES

    for name in ("samples", "seed"):
        if getattr(options, name) is not None and not is_sampling(options):
            text = f"--{name} needs --collisions or --write-srdf"
            raise ParameterError(Finding("unused-option", text, "error", name))
    if options.write_srdf is None:
        if options.overwrite:
            text = "--overwrite needs --write-srdf"
            raise ParameterError(Finding("unused-option", text, "error", "overwrite"))
        return
    if len(options.files) > 1:
        text = "--write-srdf describes one robot; give one file"
        raise ParameterError(Finding("several-files", text, "error", "write-srdf"))
    if options.files[0].suffix.lower() in MECHANISM_SUFFIXES:
        text = (
            "--write-srdf needs a URDF, because only a URDF is read with an SRDF. Name pairs of a "
            "mechanism that may overlap in exclude of a scene file, or in rb.Contact(exclude=...)"
        )
        raise ParameterError(Finding("not-sampled", text, "error", "write-srdf"))
    target = output_path(options.write_srdf, "an SRDF", (SRDF_SUFFIX,))
    if target.is_dir():
        raise unwritable(target, ValueError("it is a folder"))
    if target.exists() and not options.overwrite:
        text = f"the file {quote(str(target), 200)} exists; --overwrite replaces it"
        raise ParameterError(Finding("file-exists", text, "error", "write-srdf"))


def wanted_contact(options: argparse.Namespace) -> "bool | Contact":
    """Return the argument `contact` for reading the robot; sampling needs only geometries."""
    from rbdyn_ros.description.parts.geometries import Contact

    geometries = Contact(obstacles=(), self_collision=False) if is_sampling(options) else False
    return options.contact or geometries


def sampled(
    m: "Model", description: "Description", options: argparse.Namespace
) -> "CollisionSamples | None":
    """Return how often the links overlap, and write the SRDF; None: no option asks for this.

    Raises:
        RbdynError: the robot has no pairs to sample, or the file cannot be written.
    """
    if not is_sampling(options):
        return None
    from rbdyn_ros.loading.self_collision import SAMPLES, sample_collisions
    from rbdyn_ros.report.self_collision import srdf_text

    samples = SAMPLES if options.samples is None else options.samples
    found = sample_collisions(m, description, samples, options.seed or 0)
    target: Path | None = options.write_srdf
    if target is not None:
        write_whole(target, srdf_text(description.name, found).encode())
    return found
