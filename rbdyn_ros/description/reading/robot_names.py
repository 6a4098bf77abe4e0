# SPDX-License-Identifier: Apache-2.0
"""Robots by name: bundled robots, and robots of example-robot-data and robot_descriptions.

A name is the name of a URDF file without `.urdf` and without `_robot`, such as `panda` or `ur5`.
If two files have the same name, a robot has the name of its folder without `_description`. A robot
of robot_descriptions has the name of its module without `_description`.
"""

import importlib
import importlib.util
import pkgutil
import sys
from collections import Counter
from pathlib import Path

from rbdyn_ros.errors import Finding, ParameterError, did_you_mean, quote
from rbdyn_ros.share import bundled_robot, bundled_robots

#: Folders of example-robot-data, relative to the installation of wheels or system packages.
_SHARES = ("cmeel.prefix/share", "share", "../../../share")
_DATA = "example-robot-data/robots"
_NAMES = (
    "TwoDofs a1 alex_nub_hands alex_psyonic_hands alex_sake_hands alexander_v1.lowerBodyOnly "
    "allegro_left_hand allegro_right_hand anymal-kinova anymal_b_simple anymal_c_simple b1 "
    "b1-z1 baxter bolt borinot_flying_arm_2 centauro double_pendulum finger_edu "
    "g1_29dof_rev_1_0 go1 go2 hextilt_flying_arm_5 human hyq_no_sensors icub icub_reduced iris "
    "kinova laikago panda pr2 quadruped romeo simple_humanoid so100 so101 solo solo12 "
    "talos_full_v2 talos_left_arm talos_reduced tiago tiago_dual tiago_pro ur10 ur3 ur5 xarm7 "
    "z1"
)
#: Names of the robots of example-robot-data, for the advice to install that package.
EXAMPLE_ROBOTS = tuple(_NAMES.split())
_MODULES, _MODULE_END = "robot_descriptions", "_description"
#: End of the names of modules with MuJoCo models, which have no URDF.
_MUJOCO = "_mj_description"


def robot_by_name(name: str) -> Path:
    """Return the robot file of a name; robot_descriptions may download it.

    Raises:
        ParameterError: there is no robot of this name, or it cannot be downloaded.
    """
    if name in bundled_robots():
        return bundled_robot(name)
    files = _example_robots()
    if name in files:
        return files[name]
    modules = _described_robots()
    if name in modules:
        return _downloaded(name)
    known = [*bundled_robots(), *files, *modules]
    missing = "" if files else "example-robot-data"
    if not files and name in EXAMPLE_ROBOTS:
        message = f"robot {quote(name)} is part of example-robot-data, which is not installed"
    else:
        nearest = did_you_mean(name, known if files else [*known, *EXAMPLE_ROBOTS])
        message = (
            f"there is no file {quote(name)} and no robot of this name{nearest}; known are the "
            "names in example-robot-data and robot_descriptions"
        )
        missing = missing or ("" if modules else "robot_descriptions")
        message += f"; {missing} is not installed" if missing else ""
    message += f": pip install {missing}" if missing else ""
    raise ParameterError(Finding("unknown-robot", message, found=name, allowed=", ".join(known)))


def _example_robots() -> dict[str, Path]:
    """Return the URDF files of example-robot-data by name."""
    folders = (Path(entry, share, _DATA) for entry in sys.path for share in _SHARES)
    folder = next((folder for folder in folders if folder.is_dir()), None)
    if folder is None:
        return {}
    files = sorted(folder.glob("**/*.urdf"))
    count = Counter(path.stem for path in files)
    found = {path.stem: path for path in files if count[path.stem] == 1}
    for path in files:
        if count[path.stem] > 1:
            found.setdefault(path.relative_to(folder).parts[0].removesuffix(_MODULE_END), path)
        elif path.stem.endswith("_robot"):
            found[path.stem.removesuffix("_robot")] = path
    return found


def _described_robots() -> list[str]:
    spec = importlib.util.find_spec(_MODULES)
    if spec is None or spec.submodule_search_locations is None:
        return []
    modules = (module.name for module in pkgutil.iter_modules(spec.submodule_search_locations))
    return [
        name.removesuffix(_MODULE_END)
        for name in modules
        if name.endswith(_MODULE_END) and not name.endswith(_MUJOCO)
    ]


def _downloaded(name: str) -> Path:
    """Return a robot file of robot_descriptions, downloaded if needed, or raise ParameterError."""
    try:
        module = importlib.import_module(f"{_MODULES}.{name}{_MODULE_END}")
    except Exception as error:
        message = f"{_MODULES} cannot download robot '{name}': {error}"
        raise ParameterError(Finding("robot-download", message, found=name)) from error
    path = getattr(module, "URDF_PATH", None) or getattr(module, "XACRO_PATH", None)
    if path is None:
        message = f"robot '{name}' of {_MODULES} has no URDF"
        raise ParameterError(Finding("unknown-robot", message, found=name))
    return Path(path)
