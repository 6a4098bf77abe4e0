# SPDX-License-Identifier: Apache-2.0
"""Expand xacro files.

xacro evaluates Python. So it runs on files that a user names, but never on text. It runs in a
process of its own with limited time and memory, because an expression such as ${9**9**9} has no
end.
"""

import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.reading.guard import refuse
from rbdyn_ros.description.reading.packages import folders
from rbdyn_ros.description.reading.requests import is_for_others
from rbdyn_ros.errors import DescriptionError, Finding, ParameterError, not_allowed, quote

#: The limits of a file; large robots need a second and 100 MiB.
LONGEST = 30  # CPU time [s]
MEMORY = 4 << 30  # memory [bytes]
#: A process that takes longer probably waits, for example for a pipe that the file includes [s].
PATIENCE = 300.0

#: A comment is replaced by its line breaks, so that later lines keep their numbers.
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_USES = re.compile(rb"<xacro:|\$[{(]")

#: The reason that a service reads no xacro file.
NOT_FOR_OTHERS = (
    "a xacro file can run Python and read files, so no service expands one; expand it by the "
    "command xacro and name the URDF"
)

#: The process imports the modules of this process, and nothing from the working directory.
_COMMAND = """
import json, sys
request = json.load(sys.stdin)
sys.path[:] = request.pop("modules")
from rbdyn_ros.description.reading import xacro_process
xacro_process.answer(**request)
"""


def xacro_arguments(words: Iterable[str]) -> dict[str, str]:
    """Return the values by name of words `name:=value`, as for the command xacro.

    Raises:
        ParameterError: a word has another form, or a name occurs twice.
    """
    values: dict[str, str] = {}
    for word in words:
        name, parts, value = word.partition(":=")
        twice = name in values
        if not parts or not name.strip() or twice:
            reason = f"names {quote(name)} a second time" if twice else "has no name and value"
            text = f"xacro argument {quote(word, 200)} {reason}; write name:=value, each name once"
            raise ParameterError(Finding("xacro-args", text, "error", name, None, word))
        values[name] = value
    return values


def refuse_xacro(data: bytes, path: Path) -> None:
    """Raise DescriptionError if a file that is no .xacro file declares xacro and uses it.

    xacro can run code, so a user who names a URDF must ask for it.
    """
    text = _COMMENT.sub(lambda comment: b"\n" * comment[0].count(b"\n"), data)
    found = _USES.search(text) if b"xmlns:xacro" in text else None
    if found is not None:
        name = shlex.quote(path.name)
        message = (
            "this is xacro in a file that does not end in .xacro, so it is not expanded: xacro "
            f"can run code. Run 'cp {name} {name}.xacro' and load the copy, which also takes "
            f"arguments name:=value; or run 'xacro {name} > expanded.urdf'"
        )
        line = text[: found.start()].count(b"\n") + 1
        refuse("raw-xacro", message, str(path), line, found=found[0].decode(), allowed="URDF")


def texts_of(xacro_args: Mapping[str, object] | None) -> dict[str, str]:
    """Return the values of xacro arguments as text.

    xacro and launch files write booleans as true and false; True becomes "true", 0.5 "0.5".

    Raises:
        ParameterError: xacro_args is not a mapping, or a value is not a text, path, bool or finite
            number.
    """
    given = {} if xacro_args is None else xacro_args
    if not isinstance(given, Mapping):
        raise not_allowed("xacro_args", given, "a mapping of names to values", "xacro_args")
    return {name: _text(name, value) for name, value in given.items()}


def _text(name: object, value: object) -> str:
    if not isinstance(name, str):
        allowed = "a string"
        raise not_allowed("the name of a xacro argument", name, allowed, "xacro_args")
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    plain = value
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        # convert a number of NumPy without importing NumPy
        plain = getattr(value, "item", lambda: value)()
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if not isinstance(plain, int | float) or not math.isfinite(plain):
        allowed = "a string, a path, a bool or a finite number"
        raise not_allowed(f"the xacro argument {quote(name)}", value, allowed, name)
    return str(plain)


def check_no_arguments(xacro_args: Mapping[str, object] | None, path: Path) -> None:
    """Raise DescriptionError if there are xacro arguments for a file that is not a xacro file."""
    if names := list(texts_of(xacro_args)):
        text = (
            f"this is not a .xacro file, so it takes no xacro arguments; found "
            f"{', '.join(map(quote, names))}"
        )
        refuse("xacro-args", text, str(path), found=", ".join(names), allowed="none")


def expand(
    path: Path,
    audit: Audit,
    package_dirs: Sequence[str | Path] = (),
    xacro_args: Mapping[str, object] | None = None,
) -> str:
    """Expand a xacro file to URDF text, the same lines as the command ``xacro`` prints.

    Args:
        path: the file.
        audit: receives the warnings of xacro.
        package_dirs: folders to search for packages of ``$(find ...)``, before ROS.
        xacro_args: values for ``$(arg ...)``; None: no values.

    Raises:
        DescriptionError: another process asked for the file; xacro is not installed, cannot
            expand the file, or needs more than LONGEST seconds or MEMORY; or the file has no
            argument of a given name.
    """
    if is_for_others():
        refuse("xacro-request", NOT_FOR_OTHERS, str(path), found=str(path), allowed="a URDF")
    request = {
        "modules": sys.path,
        "path": str(path),
        "package_dirs": list(map(str, folders(package_dirs))),
        "xacro_args": texts_of(xacro_args),
        "longest": LONGEST,
        "memory": MEMORY,
    }
    answer = _answer(json.dumps(request, default=str), path)
    if "finding" in answer:
        raise DescriptionError(Finding(**answer["finding"]), str(path))
    for line in answer["warnings"]:
        audit.add("warning", "xacro", "", None, f"xacro: {line}")
    text: str = answer["text"]
    return text


def _answer(request: str, path: Path) -> dict[str, Any]:
    """Return the answer of the process that expands the file."""
    command = [sys.executable, "-I", "-c", _COMMAND]
    try:
        done = subprocess.run(  # noqa: S603 - this Python, without a shell
            command, input=request, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        _refuse_slow(path, f"does not end within {PATIENCE:g} s")
    if done.returncode == -signal.SIGXCPU:
        _refuse_slow(path, f"needs more than {LONGEST:g} s for this file")
    if done.returncode != 0 or not done.stdout:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        text = f"xacro crashed on this file, with status {done.returncode}: {quote(last, 300)}"
        refuse("xacro", text, str(path), found=last[:300])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _refuse_slow(path: Path, what: str) -> NoReturn:
    text = (
        f"xacro {what}; look for powers, long ranges, and macros or properties that multiply; or "
        "expand it by the command xacro and load the URDF"
    )
    refuse("xacro-too-slow", text, str(path), allowed=f"files that take less than {LONGEST:g} s")
