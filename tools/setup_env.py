# SPDX-License-Identifier: Apache-2.0
"""Make ``.venv``: Python packages from PyPI and the message packages that PyPI lacks.

Other versions of ROS 2 than Kilted have environments of their own, such as ``.venv-jazzy``.

``make setup`` runs this program; ``make sim`` runs it for the needs of a simulation. It uses only
the standard library. A second run with the same inputs does nothing; after a change only the steps
that depend on it run again.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, NamedTuple, NoReturn, Sequence

Info = Dict[str, Any]  # the output of PROBE

ROOT = Path(__file__).resolve().parent.parent

# The extra in setup.py of each ROS 2 with wheels on PyPI.
ROS = {"kilted": "ros", "jazzy": "ros-jazzy"}
DEFAULT_ROS = "kilted"

OLDEST, NEWEST = (3, 10), (3, 14)
SUPPORTED = "Python 3.10 to 3.14"
CANDIDATES = ("python3", "python3.13", "python3.12", "python3.11", "python3.10", "python3.14")

# Line that Python runs at its start. With RMW_IMPLEMENTATION of another vendor every program that
# imports rclpy would fail; rbdyn_ros.ros drops the variable with a warning.
START = 'import os; os.environ.get("RMW_IMPLEMENTATION") and __import__("rbdyn_ros.ros")\n'

# Messages of pip when it cannot reach a package index.
UNREACHABLE = ("NewConnectionError", "ConnectTimeoutError", "NameResolutionError", "ProxyError")

# Variables of a sourced ROS 2, which would put its rclpy and libraries first on the paths.
# The last variable stops the ROS wheels from setting their library path in a child process.
ROS_VARIABLES = (
    "AMENT_PREFIX_PATH",
    "CMAKE_PREFIX_PATH",
    "COLCON_PREFIX_PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "RMW_IMPLEMENTATION",
    "_ROS_WHEELS_BOOTSTRAP_COMPLETE",
)

#: Extras of setup.py that all commands, nodes and tutorials need, and extras for all tests.
EXTRAS = "plot,view,camera,record,control,identify"
TESTS = "test,docs"

# Compiles the kernels of a simulator.
WARM = """
import numpy as np
from rbdyn_ros.dynamics.stages import kinematics, make_data
from rbdyn_ros.engine.tree.kinematics import poses
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.loading.load import load_urdf
from rbdyn_ros.ros.common.lifecycle.stop import Stop
from rbdyn_ros.ros.common.queries import dynamics_query, ik_query
from rbdyn_ros.runtime import loop
from rbdyn_ros.runtime.kernels.stream import stream
from rbdyn_ros.runtime.mutex import Mutex
m = load_urdf(bundled_robot("seven_dof_arm"))
for part in (loop, dynamics_query, ik_query):
    part.warm(m)
kinematics(m, make_data(m))
poses(m, make_data(m))
with Mutex():
    stream(np.zeros((0, 2), np.int64), 0, 0, np.zeros(2, np.int64))
Stop()
"""

# Run by a candidate interpreter: prints its version and its missing parts.
PROBE = """
import importlib.util as u, json, os, sys, sysconfig
print(json.dumps({
    "version": list(sys.version_info[:2]),
    "executable": getattr(sys, "_base_executable", sys.executable),
    "base": sys.base_prefix,
    "venv": bool(u.find_spec("venv") and u.find_spec("ensurepip")),
    "headers": os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")),
}))
"""


#: Set by Ctrl-C, which also ends the commands.
INTERRUPTED = threading.Event()
CLEAR = "\r\033[K"  # the current line of a terminal


class Environment(NamedTuple):
    """A virtual environment for one distribution of ROS 2."""

    ros: str
    tests: str = TESTS  # extras that the last step installs

    @property
    def folder(self) -> Path:
        """The folder of the environment: .venv for the default distribution."""
        return ROOT / (".venv" if self.ros == DEFAULT_ROS else f".venv-{self.ros}")

    @property
    def python(self) -> Path:
        """The Python interpreter of the environment."""
        return self.folder / "bin" / "python"

    @property
    def stamp(self) -> Path:
        """The file with the steps that are done."""
        return self.folder / "setup.json"

    @property
    def log(self) -> Path:
        """The file with the output of all steps."""
        return self.folder / "setup.log"


def say(text: str) -> None:
    """Print one line immediately, in place of the latest line of a command."""
    # a single call, because steps run in parallel
    sys.stdout.write(f"{CLEAR * sys.stdout.isatty()}{text}\n")
    sys.stdout.flush()


def fail(text: str) -> NoReturn:
    """Stop with a message and exit status 1."""
    sys.exit(f"make setup: {text}")


def clean_environment() -> dict[str, str]:
    """Return the environment for child processes, without a sourced ROS 2."""
    env = {key: value for key, value in os.environ.items() if key not in ROS_VARIABLES}
    if "AMENT_PREFIX_PATH" in os.environ:
        env.pop("LD_LIBRARY_PATH", None)
    env["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    return env


def probe(python: str) -> Info | None:
    """Return the output of PROBE for an interpreter, or None if it does not run."""
    try:
        command = [python, "-c", PROBE]
        out = subprocess.run(command, env=clean_environment(), capture_output=True, check=True)
        return dict(json.loads(out.stdout))
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None


def is_supported(info: Info) -> bool:
    """Return whether this project is tested with an interpreter's version."""
    return OLDEST <= tuple(info["version"][:2]) <= NEWEST


def choose_ros(asked: str, tests: str = TESTS) -> Environment:
    """Return the environment of a distribution; stop if PyPI has no wheels of it."""
    if asked not in ROS:
        fail(
            f"ROS is '{asked}'; PyPI has the ROS 2 distributions {' and '.join(ROS)} "
            f"({', '.join(f'ROS={name}' for name in ROS)}).\n"
            "  For another distribution from Humble on, install, source and use a workspace\n"
            "  (README.md, 'ROS 2')."
        )
    return Environment(asked, tests)


def choose_python(asked: str | None, recorded: str | None) -> Info:
    """Return the requested interpreter, or else the recorded or the first suitable one."""
    found = []
    for name in (asked,) if asked else (recorded, *CANDIDATES):
        info = probe(name) if name else None
        if info is None:
            continue
        if is_supported(info):
            return info
        found.append("{} is Python {}.{}".format(name, *info["version"]))
    if asked and not found:
        fail(f"'{asked}' is not a Python interpreter that runs. Use PYTHON=/path/to/python3.12.")
    seen = "; ".join(found) or "no python3 on the PATH"
    fail(
        f"{SUPPORTED} is needed, but {seen}.\n"
        "  Install one:   sudo apt install python3 python3-venv python3-dev\n"
        "  or name one:   make setup PYTHON=/path/to/python3.12"
    )


def missing_prerequisites(info: Info) -> list[tuple[str, str]]:
    """Return pairs of a missing part and the Debian package that provides it."""
    name = "python{}.{}".format(*info["version"])
    missing = []
    if not info["venv"]:
        missing.append((f"the venv module of {info['executable']}", f"{name}-venv"))
    if not info["headers"]:
        missing.append((f"the C headers of {info['executable']} (Python.h)", f"{name}-dev"))
    if not any(map(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang"))):
        missing.append(("a C compiler (cc, gcc or clang)", "build-essential"))
    if not any(map(shutil.which, (os.environ.get("CXX", "c++"), "g++", "clang++"))):
        missing.append(("a C++ compiler (c++, g++ or clang++)", "build-essential"))
    return missing


def check_prerequisites(info: Info) -> None:
    """Exit with an error on a wrong platform, or without a compiler or another system package."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        fail(
            "the ROS 2 wheels on PyPI are for Linux on x86-64; this machine is "
            f"{platform.system()} on {platform.machine()}. Build the package in a ROS 2 workspace "
            "instead (README.md, 'ROS 2')."
        )
    missing = missing_prerequisites(info)
    if missing:
        lines = "".join(f"  missing: {what}\n" for what, _ in missing)
        packages = " ".join(dict.fromkeys(package for _, package in missing))
        fail(f"this machine lacks\n{lines}  cure:    sudo apt install {packages}")


def digest(*parts: str | Path) -> str:
    """Return a hash over texts and the contents of files."""
    state = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part.encode()
        state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()


def wanted_stamps(info: Info, ros: str = DEFAULT_ROS, tests: str = TESTS) -> dict[str, str]:
    """Return, for each step in order, a hash of everything that the step depends on."""
    python = json.dumps([str(ROOT), info["version"], info["base"], ros])
    environment = digest(python)
    packages = digest(environment, EXTRAS, ROOT / "setup.py")
    files = sorted((ROOT / "rbdyn_ros" / "ros" / "messages").glob("*.*"))
    files += sorted(path for path in (ROOT / "rbdyn_interfaces").rglob("*") if path.is_file())
    names = " ".join(str(path.relative_to(ROOT)) for path in files)
    interfaces = digest(packages, names, *files)
    return {
        "environment": environment,
        "packages": packages,
        "engine": packages,  # after a change of the sources the first start compiles
        "ros": packages,
        "interfaces": interfaces,
        "tests": digest(packages, tests),
    }


def read_stamps(env: Environment) -> dict[str, str]:
    """Return the stamps of the steps that are done."""
    try:
        stamps = json.loads(env.stamp.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return {}
    return stamps if isinstance(stamps, dict) and env.python.exists() else {}


def run_logged(env: Environment, *command: str | Path) -> None:
    """Run a command and log its output; a terminal shows its latest line. Stop if it fails."""
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns - 5
    lines = []
    with env.log.open("a", encoding="utf-8") as log:
        log.write("$ {}\n".format(" ".join(map(str, command))))
        child = subprocess.Popen(
            command,
            cwd=ROOT,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        for line in child.stdout or ():
            log.write(line)
            lines.append(line.rstrip())
            if terminal and line.strip():
                print(f"{CLEAR}    {line.strip()[:width]}", end="", flush=True)
        status = child.wait()
    if terminal:
        print(CLEAR, end="", flush=True)
    if status and INTERRUPTED.is_set():
        raise KeyboardInterrupt
    if status:
        tail = "\n".join(lines[-30:])
        say(tail)
        if any(word in tail for word in UNREACHABLE):
            fail(
                "the package index of pip cannot be reached. Check the network, or name a proxy\n"
                f"  (https_proxy) or a mirror (PIP_INDEX_URL). The whole output is in {env.log}"
            )
        fail(f"the step failed with exit status {status}. The whole output is in {env.log}")


def make_environment(env: Environment, info: Info) -> None:
    """Create a virtual environment with a new pip; the resolver of an old pip may never end."""
    if env.folder.exists():
        shutil.rmtree(env.folder)
    env.folder.mkdir()
    run_logged(env, info["executable"], "-m", "venv", env.folder)
    run_logged(env, env.python, "-m", "pip", "install", "--upgrade", "pip")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Create and lock a file, after waiting for other runs of this program that hold the lock."""
    lock = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDONLY | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def install(env: Environment, extras: str = "") -> None:
    """Install this checkout, editable, with some extras; pip writes into the checkout too."""
    # Python compiles the modules when it imports them
    options = ("--progress-bar", "off", "--no-compile")
    checkout = f"{ROOT}[{extras}]" if extras else ROOT
    with locked(ROOT):
        run_logged(env, env.python, "-m", "pip", "install", *options, "-e", checkout)


def install_packages(env: Environment, _info: Info) -> None:
    """Install the packages that the engine needs."""
    install(env)


def install_ros(env: Environment, _info: Info) -> None:
    """Install ROS 2, and the other packages that commands and nodes need."""
    install(env, f"{ROS[env.ros]},{EXTRAS}")
    for folder in env.folder.glob("lib/python3*/site-packages"):
        # otherwise programs in the folder above the clone would import the clone itself
        lines = os.fsencode(f"{ROOT}\n{START}")
        (folder / "rbdyn_ros_middleware.pth").write_bytes(lines)


def install_tests(env: Environment, _info: Info) -> None:
    """Install engines and robots for comparisons, and the tools of developers."""
    install(env, env.tests)


def build_interfaces(env: Environment, _info: Info) -> None:
    """Generate and build the message packages that PyPI lacks."""
    run_logged(env, env.python, "-m", "rbdyn_ros.ros.messages")


def compile_engine(env: Environment, _info: Info) -> None:
    """Compile the kernels of a simulation into the user's cache, once for all environments."""
    with locked(ROOT / "rbdyn_ros"):
        run_logged(env, env.python, "-c", WARM)


STEPS = {
    "environment": ("creating {folder} with Python {0}.{1}", make_environment),
    "packages": ("installing the packages of the engine from PyPI", install_packages),
    "ros": ("installing ROS 2 {ros} and the rest from PyPI (some minutes)", install_ros),
    "engine": ("compiling the engine (about a minute)", compile_engine),
    "interfaces": ("building message packages that PyPI lacks (about a minute)", build_interfaces),
    "tests": ("installing engines and robots for tests and benchmarks", install_tests),
}
FOR_USERS = ("environment", "packages", "ros", "engine", "interfaces")
#: The step after which each step begins; steps that can begin run at the same time.
AFTER = {
    "packages": "environment",
    "ros": "packages",
    "engine": "packages",
    "interfaces": "ros",
    "tests": "ros",
}


def set_up(env: Environment, asked: str | None, steps: Sequence[str]) -> None:
    """Run the steps of an environment whose inputs have changed; asked: the interpreter."""
    stamps = read_stamps(env)
    info = choose_python(asked, stamps.get("python"))
    wanted = wanted_stamps(info, *env)
    todo = [step for step in steps if stamps.get(step) != wanted[step]]
    if not todo:
        return
    check_prerequisites(info)
    name = env.folder.name
    if "AMENT_PREFIX_PATH" in os.environ:
        distro = os.environ.get("ROS_DISTRO", "ROS 2")
        say(f"Note: {distro} is sourced here and is left alone; {name} has its own ROS 2.")
        say("      To build against yours, use a workspace (README.md, 'ROS 2').")

    noting = threading.Lock()

    def run(step: str, before: Future[None] | None) -> None:
        if before is not None:
            before.result()
        title, action = STEPS[step]
        number = f"[{todo.index(step) + 1}/{len(todo)}]"
        say(f"{number} {title.format(*info['version'], folder=name, ros=env.ros)}")
        start = time.monotonic()
        action(env, info)
        say(f"{number} done in {time.monotonic() - start:.0f} s")
        with noting:
            stamps.update({"python": info["executable"], step: wanted[step]})
            env.stamp.write_text(json.dumps(stamps, indent=1) + "\n", encoding="ascii")

    if "environment" in todo:
        stamps.clear()
    started: Dict[str, Future[None]] = {}
    with ThreadPoolExecutor(len(todo)) as pool:
        for step in todo:
            started[step] = pool.submit(run, step, started.get(AFTER.get(step, "")))
        try:
            for done in as_completed(started.values()):
                done.result()
        except KeyboardInterrupt:
            INTERRUPTED.set()
            raise
    say(f"Ready: {env.python} has what is needed; nothing needs to be sourced.")


def main() -> None:
    """Read the command line and set up; a lock admits one process at a time to an environment."""
    parser = argparse.ArgumentParser(description="Make .venv with everything rbdyn_ros needs.")
    parser.add_argument("--python", help="interpreter; default: .venv's, otherwise python3")
    parser.add_argument(
        "--ros", default=DEFAULT_ROS, help=f"distribution of ROS 2: {', '.join(ROS)}"
    )
    parser.add_argument(
        "--users", action="store_true", help="without the packages for tests and developers"
    )
    parser.add_argument(
        "--tests", default=TESTS, help="extras of setup.py for the tests; default: %(default)s"
    )
    options = parser.parse_args()
    env = choose_ros(options.ros, options.tests)
    with locked(ROOT / f".venv-{env.ros}.lock"):
        set_up(env, options.python, FOR_USERS if options.users else tuple(STEPS))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nmake setup: interrupted; run it again to continue.")
