# SPDX-License-Identifier: Apache-2.0
"""The process that expands one xacro file: it reads a request and prints an answer, as JSON."""

import contextlib
import functools
import importlib
import io
import json
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from rbdyn_ros.description.reading.guard import MAX_BYTES, refuse
from rbdyn_ros.description.reading.packages import find_package, not_found
from rbdyn_ros.errors import DescriptionError, did_you_mean, listing, quote

#: Most arguments that an error lists.
SHOWN = 20

_XACRO_FIND = "_eval_find"  # xacro calls it for $(find ...); there is no public hook
#: Message of xacro for a missing argument without a default.
_UNDEFINED = "Undefined substitution argument"
_NEEDED = "; pass it in xacro_args (NAME:=VALUE of the commands)"
_OF_LAUNCH_FILES = "$(find-pkg-share "


class _PackageNotFoundError(Exception):
    """A package was not found; the message is its name."""


class _Arguments(dict[str, str]):
    """Values of arguments; `read` collects the names that the file declares or reads."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.read.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.read.add(name)
        return super().__getitem__(name)


def answer(
    path: str,
    package_dirs: Sequence[str],
    xacro_args: Mapping[str, str],
    longest: int,
    memory: int,
) -> None:
    """Print the text and the warnings of xacro, or the reason why the file is refused."""
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, longest)  # SIGXCPU ends the process at this limit
    _limit(resource.RLIMIT_AS, memory)
    answered: dict[str, Any]
    try:
        text, printed = expanded(Path(path), package_dirs, xacro_args)
        lines = dict.fromkeys(line.strip() for line in printed.splitlines())
        # cut the text, because its reader refuses more than MAX_BYTES
        answered = {"text": text[: MAX_BYTES + 1], "warnings": [line for line in lines if line]}
    except DescriptionError as error:
        answered = {"finding": asdict(error.findings[0])}
    json.dump(answered, sys.stdout)


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    lowered = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with contextlib.suppress(ValueError):  # macOS has no limit of memory
        resource.setrlimit(kind, (lowered, hard))


def expanded(
    path: Path, package_dirs: Sequence[str], xacro_args: Mapping[str, str]
) -> tuple[str, str]:
    """Return the text of the robot, and everything that xacro printed.

    Raises:
        DescriptionError: xacro is not installed or cannot expand the file, or the file has no
            argument of a given name.
    """
    try:
        xacro = importlib.import_module("xacro")
        substitution = importlib.import_module("xacro.substitution_args")
    except ImportError:
        message = "reading a xacro file needs the package xacro: pip install xacro"
        refuse("xacro-missing", message, str(path))
    _find_packages_in(package_dirs, path.parent, substitution)
    printed, arguments = io.StringIO(), _Arguments(xacro_args)
    declared = _collect_declared(xacro)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            document = xacro.process_file(str(path), mappings=arguments)
        text: str = document.toprettyxml(indent="  ")
    except Exception as error:  # noqa: BLE001 - a file's own expressions may raise all
        _refuse(error, xacro, path)
    _check_names(xacro_args, arguments.read | declared, path)
    for name in [name for name in xacro_args if name not in arguments.read]:
        why = "only a part of the file that a condition leaves out declares it"
        print(f"the argument {quote(name)} has no effect: {why}", file=printed)
    return text, printed.getvalue()


def _collect_declared(xacro: ModuleType) -> set[str]:
    """Return the names of <xacro:arg> of all files that xacro reads from now on.

    xacro evaluates no argument in a part that a false condition leaves out.
    """
    names: set[str] = set()
    parse = xacro.parse

    def collecting(*args: Any, **options: Any) -> Any:
        document = parse(*args, **options)
        names.update(
            arg.getAttribute("name") for arg in document.getElementsByTagName("xacro:arg")
        )
        return document

    setattr(xacro, "parse", collecting)  # noqa: B010 - mypy refuses to assign to a module
    return names


def _check_names(given: Mapping[str, str], known: set[str], path: Path) -> None:
    """Refuse arguments that the file does not have: xacro would ignore them silently."""
    for name in given:
        if name not in known:
            has = f"; it has {listing(sorted(known), SHOWN)}" if known else ""
            text = f"the file has no xacro argument {quote(name)}{did_you_mean(name, known)}{has}"
            refuse("xacro-args", text, str(path), found=name, allowed=", ".join(sorted(known)))


def _find_packages_in(package_dirs: Sequence[str], robot: Path, substitution: ModuleType) -> None:
    @functools.cache  # a search may read thousands of folders
    def find(name: str) -> str:
        folder = find_package(name, package_dirs, robot)
        if folder is None:
            raise _PackageNotFoundError(name)
        return str(folder)

    setattr(substitution, _XACRO_FIND, find)
    resolve = substitution.resolve_args

    def resolve_args(text: str, *args: Any, **options: Any) -> Any:
        """Accept $(find-pkg-share x), the syntax of launch files, for $(find x)."""
        return resolve(text and text.replace(_OF_LAUNCH_FILES, "$(find "), *args, **options)

    setattr(substitution, "resolve_args", resolve_args)  # noqa: B010 - as above


def _refuse(error: Exception, xacro: ModuleType, path: Path) -> NoReturn:
    stack = [str(name) for name in getattr(xacro, "filestack", None) or [] if name]
    inside = f" (in {stack[-1]})" if stack and Path(stack[-1]) != path else ""
    missing = _package_not_found(error)
    if missing is not None:
        refuse(
            "package-not-found",
            f"$(find {missing}){inside}: {not_found(missing)}",
            str(path),
            found=missing,
            allowed="a folder in package_dirs or an installed ROS package",
        )
    reason = " ".join(str(error).split()) or type(error).__name__
    line = getattr(error, "lineno", None)
    advice = _NEEDED if reason.startswith(_UNDEFINED) else ""
    refuse(
        "xacro",
        f"xacro cannot expand this file{inside}: {quote(reason, 300)[1:-1]}{advice}",
        str(path),
        line if not inside else None,
        found=reason[:300],
    )


def _package_not_found(error: BaseException | None) -> str | None:
    for _ in range(20):  # the chain of causes may be a loop, so its length is bounded
        if error is None:
            return None
        if isinstance(error, _PackageNotFoundError):
            return str(error)
        error = getattr(error, "exc", None) or error.__cause__ or error.__context__
    return None
