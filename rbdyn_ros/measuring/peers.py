# SPDX-License-Identifier: Apache-2.0
"""Load the same robot in MuJoCo and Pinocchio, if installed, to compare their times with ours."""

import importlib
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rbdyn_ros.measuring.turns import STEPS, TICK, Job, repeated, stepped

_ANCHOR = "anchor_of_the_floating_base"


@dataclass(frozen=True, slots=True)
class Peer:
    """The robot in another engine.

    Attributes:
        name: name and version of the engine.
        jobs: jobs to time, by our name of the function.
        calls: the other engine's name of each function, by our name.
        nv: number of degrees of freedom of its model.
        refusal: the reason why there are no jobs, in one line; "": there are jobs.
    """

    name: str
    jobs: dict[str, Job] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    nv: int = 0
    refusal: str = ""


def peers(urdf: str, floating_base: bool, timestep: float, refusal: str = "") -> list[Peer]:
    """Return the robot in MuJoCo and in Pinocchio.

    Args:
        urdf: text of a URDF that our reader accepts.
        floating_base: whether the root link moves freely.
        timestep: duration of a step [s].
        refusal: a known reason why neither engine can load the robot; "": try to load it.
    """
    return [
        _peer("MuJoCo", "mujoco", lambda: _mujoco(urdf, floating_base, timestep), refusal),
        _peer("Pinocchio", "pinocchio", lambda: _pinocchio(urdf, floating_base), refusal),
    ]


def _peer(
    name: str, module: str, make: Callable[[], tuple[dict[str, Any], int]], refusal: str
) -> Peer:
    try:
        version = importlib.import_module(module).__version__
    except Exception as error:  # noqa: BLE001 - a broken installation counts as missing
        missing = isinstance(error, ModuleNotFoundError)
        return Peer(name, refusal="it is not installed" if missing else _line(error))
    name = f"{name} {version}"
    if refusal:
        return Peer(name, refusal=refusal)
    try:
        made, nv = make()
    except Exception as error:  # noqa: BLE001 - any error means that it refuses the robot
        return Peer(name, refusal=_line(error))
    jobs = {ours: job for ours, (_, job) in made.items()}
    return Peer(name, jobs, {ours: call for ours, (call, _) in made.items()}, nv)


def _line(error: Exception) -> str:
    """Return the message of an error as one line, cut after 160 characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else f"{text[:157]}..."


def mujoco_model(urdf: str, floating_base: bool = False, timestep: float = 0.001) -> Any:
    """Return the fastest MuJoCo model of a URDF: fixed links fused, no contact, no constraints.

    timestep: duration of a step [s].
    """
    import mujoco

    # without this, MuJoCo writes a log to the working directory
    mujoco.set_mju_user_warning(lambda _: None)
    tree = ET.fromstring(urdf)
    for theirs in tree.findall("mujoco"):
        tree.remove(theirs)
    for link in tree.iter("link"):
        for element in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(element)
    if floating_base:
        _free_root(tree)
    extension = ET.SubElement(tree, "mujoco")
    ET.SubElement(extension, "compiler", fusestatic="true", balanceinertia="true")
    model = mujoco.MjModel.from_xml_string(ET.tostring(tree, encoding="unicode"))
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_CONSTRAINT
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model.opt.timestep = timestep
    return model


def _free_root(tree: ET.Element) -> None:
    """Add a floating joint above the root link, which MuJoCo would fix to the world."""
    children = {child.get("link") for child in tree.iterfind("joint/child")}
    names = [str(link.get("name")) for link in tree.findall("link")]
    root = next(name for name in names if name not in children)
    ET.SubElement(tree, "link", name=_ANCHOR)
    joint = ET.SubElement(tree, "joint", name="root_joint", type="floating")
    ET.SubElement(joint, "parent", link=_ANCHOR)
    ET.SubElement(joint, "child", link=root)


def _mujoco(urdf: str, floating_base: bool, timestep: float) -> tuple[dict[str, Any], int]:
    import mujoco as mj

    m = mujoco_model(urdf, floating_base, timestep)
    d = mj.MjData(m)

    def reset() -> None:
        mj.mj_resetData(m, d)

    return {
        STEPS: ("mj_step(m, d, n)", stepped(lambda n: mj.mj_step(m, d, n), reset)),
        TICK: ("mj_step(m, d)", repeated(lambda: mj.mj_step(m, d), reset)),
        "forward": ("mj_forward", repeated(lambda: mj.mj_forward(m, d), reset)),
        "inverse": ("mj_inverse", repeated(lambda: mj.mj_inverse(m, d), reset)),
        "kinematics": ("mj_kinematics", repeated(lambda: mj.mj_kinematics(m, d), reset)),
    }, int(m.nv)


def _pinocchio(urdf: str, floating_base: bool) -> tuple[dict[str, Any], int]:
    import pinocchio as pin

    root = [pin.JointModelFreeFlyer()] if floating_base else []
    m = pin.buildModelFromXML(urdf, *root)
    d = m.createData()
    q, v, tau = pin.neutral(m), np.zeros(m.nv), np.zeros(m.nv)
    return {
        "forward_dynamics": ("aba", repeated(lambda: pin.aba(m, d, q, v, tau))),
        "inverse": ("rnea", repeated(lambda: pin.rnea(m, d, q, v, tau))),
        "mass_matrix": ("crba", repeated(lambda: pin.crba(m, d, q))),
        "kinematics": ("forwardKinematics", repeated(lambda: pin.forwardKinematics(m, d, q))),
    }, int(m.nv)
