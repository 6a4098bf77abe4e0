# SPDX-License-Identifier: Apache-2.0
"""Build the message packages into this environment with the rosidl generators of the wheels."""

import fcntl
import importlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from rbdyn_ros import __version__
from rbdyn_ros.errors import Finding, RbdynError
from rbdyn_ros.machine import cores
from rbdyn_ros.ros import rclpy_is_a_wheel
from rbdyn_ros.ros.messages import sources

PREFIX = Path(sys.prefix)
#: Folder of sources, build trees and logs; removed after a successful build.
BUILD = PREFIX / "rbdyn_messages"
#: File with the versions and field lists of the built packages; a build writes it last.
STAMP = PREFIX / "share" / sources.OWN / "built_for"

#: Include folders in the wheels' CMake exports, from the machine on which the wheels were built.
PYTHON_INCLUDE = re.compile(r'[^;"]*/include/python3\.\d+(?=[;"])')
NUMPY_INCLUDE = re.compile(r'[^;"]*/numpy/(?:_core|core)/include(?=[;"])')


def provide() -> None:
    """Build the packages if ROS 2 is from PyPI and they do not exist yet.

    If they cannot be built, print why: a node runs without them and offers less.
    """
    if not rclpy_is_a_wheel() or is_built():
        return
    try:
        with no_other_build() as lock:
            if not is_built():
                build(lock)
    except (RbdynError, OSError) as error:
        _say(str(error))


def is_built() -> bool:
    """Return whether the packages were built for the present field lists and ROS 2."""
    try:
        return STAMP.read_text(encoding="ascii") == _versions()
    except (RbdynError, OSError):
        return False


@contextmanager
def no_other_build() -> Iterator[int]:
    """Wait until no other process builds into this environment; yield the locked file."""
    lock = os.open(PREFIX, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("waiting for another process that builds the message packages")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


def build(lock: int) -> None:
    """Build all packages into this environment.

    Args:
        lock: the file from `no_other_build`. The compilers inherit it, so if this process is
            killed, another process waits until the compilers have ended.

    Raises:
        RbdynError: a tool is missing, or a package cannot be built.
    """
    _check_tools()
    STAMP.unlink(missing_ok=True)
    shutil.rmtree(BUILD, ignore_errors=True)
    folders = sources.package_folders(BUILD / "src")
    names = ", ".join(sources.package_names())
    _say(
        f"building the message packages that ROS 2 from PyPI lacks ({names}) with the C++ "
        "compiler, once and in about a minute"
    )
    _use_local_includes()
    with ThreadPoolExecutor(cores()) as pool:
        for _ in pool.map(lambda folder: _build_package(folder, lock), folders):
            pass
    STAMP.write_text(_versions(), encoding="ascii")
    shutil.rmtree(BUILD, ignore_errors=True)
    importlib.invalidate_caches()


def _versions() -> str:
    """Return the versions and the field lists that the packages are built for."""
    rclpy = importlib.metadata.version("ros-rclpy")
    return f"rbdyn_ros {__version__}, rclpy {rclpy}, fields {sources.fields_hash()}\n"


def _check_tools() -> None:
    """Raise RbdynError if a tool that the build needs is missing."""
    version = "python{}.{}".format(*sys.version_info)
    headers = Path(sysconfig.get_paths()["include"], "Python.h").is_file()
    own = sources.own_folder()
    generators = (PREFIX / "share" / "rosidl_default_generators").is_dir()
    if not (generators and _finds("cmake") and _finds("ninja")):
        raise _not_built("the ROS 2 generators are missing", 'pip install "rbdyn_ros[sim]"')
    if not any(map(_finds, (os.environ.get("CXX"), "c++", "g++", "clang++"))):
        raise _not_built("there is no C++ compiler", "sudo apt install g++")
    if not headers:
        reason = f"the C headers of {version} are missing"
        raise _not_built(reason, f"sudo apt install {version}-dev")
    if not (own / "CMakeLists.txt").is_file():
        raise _not_built(
            f"'{own}' is missing", "copy it beside this package, or install rbdyn_ros"
        )
    if not os.access(PREFIX, os.W_OK):
        owner = "let its owner run `python -m rbdyn_ros.ros.messages`"
        raise _not_built(f"'{PREFIX}' cannot be written", owner)


def _finds(command: str | None) -> bool:
    return bool(command) and shutil.which(str(command), path=_search_path()) is not None


def _search_path() -> str:
    return f"{PREFIX / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def _not_built(reason: str, cure: str) -> RbdynError:
    message = f"{', '.join(sources.package_names())} are not built, because {reason}: {cure}"
    return RbdynError(Finding("messages-not-built", message))


def _use_local_includes() -> None:
    """Point the wheels' exported targets at this machine's Python and NumPy headers."""
    import numpy as np

    for path in PREFIX.glob("share/*/cmake/*_pyExport.cmake"):
        old = path.read_text(encoding="utf-8")
        new = PYTHON_INCLUDE.sub(lambda _: sysconfig.get_paths()["include"], old)
        new = NUMPY_INCLUDE.sub(lambda _: np.get_include(), new)
        if new != old:
            path.write_text(new, encoding="utf-8")


def _build_package(source: Path, lock: int) -> None:
    """Build and install the package in the folder `source`; raise RbdynError if that fails."""
    tree, log = BUILD / source.name, BUILD / f"{source.name}.log"
    configure = ["cmake", "-G", "Ninja", "-S", str(source), "-B", str(tree)]
    configure += [f"-DCMAKE_INSTALL_PREFIX={PREFIX}", f"-DPython3_EXECUTABLE={sys.executable}"]
    configure += ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"]
    # -O3 takes a third longer to compile, and does not make copying fields faster
    configure += [f"-DCMAKE_{language}_FLAGS_RELEASE=-O1 -DNDEBUG" for language in ("C", "CXX")]
    configure += [f"-DCMAKE_PROJECT_INCLUDE={sources.LISTS / 'python_only.cmake'}"]
    _run(configure, log, lock)
    _run(["cmake", "--build", str(tree)], log, lock)
    _remove(source.name)
    _run(["cmake", "--install", str(tree)], log, lock)
    _run([sys.executable, "-I", "-c", f"import {source.name}"], log, lock)


def _remove(name: str) -> None:
    """Remove an older build of a package.

    A node may be using its libraries, so their files must be replaced and not overwritten.
    """
    for path in (PREFIX / "lib").glob(f"lib{name}__*"):
        path.unlink()
    for folder in (PREFIX / "include", PREFIX / "share", Path(sysconfig.get_path("platlib"))):
        shutil.rmtree(folder / name, ignore_errors=True)


def _run(command: list[str], log: Path, lock: int) -> None:
    """Run a command and append its output to a log file; raise RbdynError if it fails."""
    env = dict(os.environ, PATH=_search_path())
    env["AMENT_PREFIX_PATH"] = env["CMAKE_PREFIX_PATH"] = str(PREFIX)
    with log.open("ab") as file:
        done = subprocess.run(  # noqa: S603 - our own commands
            command,
            cwd=BUILD,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
            pass_fds=(lock,),
        )
    if done.returncode:
        message = f"{log.stem} cannot be built; the output of its tools is in {log}"
        raise RbdynError(Finding("messages-build", message))


def _say(text: str) -> None:
    print(f"rbdyn: {text}", file=sys.stderr, flush=True)
