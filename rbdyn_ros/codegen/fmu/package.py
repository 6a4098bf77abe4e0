# SPDX-License-Identifier: Apache-2.0
"""Write an FMU: description, sources, and a library if this machine has a C compiler."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import BinaryIO

from rbdyn_ros.codegen.fmu.description import description, token
from rbdyn_ros.codegen.header import header
from rbdyn_ros.codegen.project import CProject
from rbdyn_ros.codegen.source import source
from rbdyn_ros.errors import Finding, ParameterError, quote
from rbdyn_ros.loading.output import write_whole

TEMPLATES = Path(__file__).resolve().parent / "templates"
#: The time stamp of all files in an archive; it is fixed, so that equal robots give equal bytes.
WHEN = (1980, 1, 1, 0, 0, 0)
#: Options of the compiler. Contraction is off, because it would round less often than the engine.
FLAGS = ("-std=c99", "-O2", "-fPIC", "-shared", "-ffp-contract=off", "-fvisibility=hidden")


def sources(project: CProject, version: str) -> tuple[dict[str, str], str]:
    """Return the C files of an FMU by name, and the FMU's identity, which the files check.

    Raises:
        ModelError: a constant is not finite.
    """
    start = [*project.m.qpos0.tolist(), *([0.0] * project.m.nv)]
    values = {
        "HEADER": project.files.header,
        "MACRO": project.macro,
        "PREFIX": project.prefix,
        "START": ", ".join(map(repr, start)),
    }
    text = (TEMPLATES / "robot.c").read_text(encoding="ascii")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    text += (TEMPLATES / f"fmi{version[0]}.c").read_text(encoding="ascii")
    own = f"{project.prefix}_fmu.c"
    texts = {
        project.files.header: header(project),
        project.files.source: source(project),
        own: text,
    }
    identity = token(texts, version)
    return texts | {own: text.replace("@TOKEN@", identity)}, identity


def folder_of(version: str) -> str:
    """Return the folder for this machine's library in an FMU; "" if no standard folder exists."""
    system = {"linux": "linux", "darwin": "darwin", "win32": "windows"}.get(sys.platform, "")
    machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    if version == "3.0":
        return f"binaries/{machine}-{system}"
    if machine != "x86_64" and system != "darwin":
        return ""
    return f"binaries/{system.replace('windows', 'win')}64"


def build(project: CProject, texts: dict[str, str]) -> bytes:
    """Return the bytes of an FMU's library; empty if this machine has no C compiler.

    Raises:
        ParameterError: the compiler reports an error.
    """
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CC") or "cc", "gcc"))), None)
    if compiler is None:
        return b""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="ascii")
        files = [file for file in texts if file.endswith(".c")]
        command = [compiler, *FLAGS, *files, "-lm", "-o", "robot.so"]
        done = subprocess.run(  # noqa: S603 - our own command
            command, cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            text = f"{quote(compiler)} cannot build the FMU of {project.prefix}: {done.stderr}"
            raise ParameterError(Finding("fmu-build", text))
        return (folder / "robot.so").read_bytes()


def write_fmu(project: CProject, version: str, path: Path) -> bool:
    """Write an FMU; return whether it has a library for this machine.

    Raises:
        ModelError: a constant is not finite.
        ParameterError: the compiler reports an error, or the file cannot be written.
    """
    texts, identity = sources(project, version)
    folder = folder_of(version)
    library = build(project, texts) if folder else b""
    suffix = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
    parts: dict[str, bytes] = {
        "modelDescription.xml": description(project, version, identity).encode()
    }
    if library:
        parts[f"{folder}/{project.prefix}{suffix}"] = library
    parts |= {f"sources/{name}": text.encode() for name, text in texts.items()}
    if version == "3.0":
        parts["sources/buildDescription.xml"] = _build_description(project, texts).encode()

    def write(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in parts.items():
                archive.writestr(zipfile.ZipInfo(name, WHEN), content, zipfile.ZIP_DEFLATED)

    write_whole(path, write)
    return bool(library)


def _build_description(project: CProject, texts: dict[str, str]) -> str:
    files = [f'      <SourceFile name="{name}"/>' for name in texts if name.endswith(".c")]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<fmiBuildDescription fmiVersion="3.0">',
            f'  <BuildConfiguration modelIdentifier="{project.prefix}">',
            '    <SourceFileSet language="C99">',
            *files,
            "    </SourceFileSet>",
            "  </BuildConfiguration>",
            "</fmiBuildDescription>",
            "",
        ]
    )
