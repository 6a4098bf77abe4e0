# SPDX-License-Identifier: Apache-2.0
"""Store a Model in a file: its primary arrays bit by bit, names, options and findings.

The file is a zip of .npy files, as numpy.load reads it: a file for each field of PRIMARY, and the
file `header` with JSON in UTF-8. The zip has no code: user-defined functions are stored by name
and looked up at loading. Files are untrusted: nothing is unpickled, no more memory is allocated
than the size of the file justifies, and every index is checked (model/audits/audit_arrays.py).
"""

import dataclasses
import io
import json
import math
import struct
import tokenize
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.reading.guard import refuse
from rbdyn_ros.errors import Finding, ParameterError, RbdynError, did_you_mean, listing, quote
from rbdyn_ros.loading.output import output_path, write_whole
from rbdyn_ros.loading.user_joints import check_user_functions
from rbdyn_ros.model.audits.audit_arrays import audit_arrays
from rbdyn_ros.model.capabilities import check_mass_matrix_fits
from rbdyn_ros.model.declared.model_fields import MODEL_FIELDS, NAMES, PRIMARY
from rbdyn_ros.model.declared.options import Options
from rbdyn_ros.model.model import Model, check_model, unchecked_model

SUFFIX = ".npz"
FORMAT = "rbdyn_ros model"
HEADER = "header"
VERSION = 12
MAX_BYTES = 1 << 30  # largest size of unpacked arrays: enough for a million bodies
MAX_HEADER = 1 << 26  # largest size of unpacked names and findings

_DTYPES = {"int": np.dtype("<i8"), "float": np.dtype("<f8")}
_SEVERITIES = ("error", "warning", "note")
#: The errors of zipfile and numpy for broken archives.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    MemoryError,
    NotImplementedError,
    OSError,
    OverflowError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    tokenize.TokenError,
)


def save(m: Model, path: str | Path) -> None:
    """Write a Model to a .npz file, completely or not at all.

    Args:
        m: the Model; its current options are saved.
        path: path of the file; an old file is replaced.

    Raises:
        ModelError: m is not a Model.
        ParameterError: the suffix is not .npz, or the file cannot be written.
    """
    check_model(m, "save")
    target = output_path(path, "a Model", (SUFFIX,))
    header = np.frombuffer(json.dumps(_header(m)).encode(), np.uint8)
    arrays = {name: getattr(m, name) for name in PRIMARY}

    def write(file: BinaryIO) -> None:
        np.savez_compressed(file, allow_pickle=False, **{HEADER: header, **arrays})

    write_whole(target, write)


def load_model(path: str | Path) -> Model:
    """Read a Model written by `save`; it equals the saved Model, including sha256.

    User-defined joint types and motions must be registered first.

    Raises:
        DescriptionError: the file does not exist, was written by another version or not by
            `save`, or has invalid content; the error lists all faults of the content.
        ModelError: a user-defined function is not registered, or its derivatives are wrong.
    """
    if not isinstance(path, str | Path):
        raise ParameterError(
            Finding("not-a-path", f"expected the path of a saved Model, got {path!r}")
        )
    source = str(path)
    header, arrays = _read(Path(path), source)
    audit = Audit()
    name, names = _text(header.get("name"), "the name", audit), _names(header, audit)
    options, findings = _options(header, audit), _findings(header, audit)
    audit.raise_errors(source)
    audit_arrays(arrays, names, audit)
    audit.raise_errors(source)
    model = unchecked_model(name, arrays, names, options, findings)
    check_mass_matrix_fits(model)
    check_user_functions(model)
    return model


def _header(m: Model) -> dict[str, Any]:
    opt = m.opt
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": m.name,
        "names": m.names,
        "options": {
            "timestep": opt.timestep,
            "gravity": opt.gravity.tolist(),
            "integrator": opt.integrator,
            "passive": opt.passive,
            "exact_stops": opt.exact_stops,
        },
        "findings": [dataclasses.asdict(finding) for finding in m.findings],
    }


def _read(path: Path, source: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and all arrays, with the element types of their fields."""
    try:
        if not path.is_file():
            kind = "is not a file" if path.exists() else "does not exist"
            refuse("no-such-file", f"the file {quote(source, 200)} {kind}", "", found=source)
        with zipfile.ZipFile(path) as archive:
            return _read_archive(archive, source)
    except PermissionError as error:
        refuse("unreadable-file", f"the file cannot be read: {error.strerror}", source)
    except _DAMAGED as error:
        reason = str(error) or type(error).__name__
        refuse("damaged-file", f"this is not a .npz file, or it is damaged: {reason}", source)


def _read_archive(
    archive: zipfile.ZipFile, source: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    parts = archive.infolist()
    if sum(part.file_size for part in parts) > MAX_BYTES:
        refuse("too-large", f"the file unpacks to more than {MAX_BYTES >> 20} MiB", source)
    names = [part.filename.removesuffix(".npy") for part in parts]
    if HEADER not in names:
        refuse("not-a-model-file", f"this is not a saved Model: it has no {quote(HEADER)}", source)
    first = parts[names.index(HEADER)]
    if first.file_size > MAX_HEADER:
        refuse("too-large", f"its header unpacks to more than {MAX_HEADER >> 20} MiB", source)
    text = _array(archive, first, np.dtype("u1")).tobytes()
    header = _check_version(json.loads(text), source)
    _check_fields(names, source, PRIMARY)
    fields = {field.name: field for field in MODEL_FIELDS}
    arrays = {
        name: _array(archive, part, _DTYPES[fields[name].kind])
        for name, part in zip(names, parts, strict=True)
        if name != HEADER
    }
    return header, arrays


def _array(archive: zipfile.ZipFile, part: zipfile.ZipInfo, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return one array of the archive; raise ValueError unless it is as `save` writes it."""
    if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{quote(part.filename)} has a compression that save does not use")
    file = io.BytesIO(archive.read(part))
    if npy.read_magic(file) != (1, 0):
        raise ValueError(f"{quote(part.filename)} has another version of .npy")
    shape, fortran_order, found = npy.read_array_header_1_0(file)
    if found != dtype or fortran_order:
        raise ValueError(f"{quote(part.filename)} has elements of type {found}, not {dtype}")
    content = file.read()
    if len(content) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{quote(part.filename)} is shorter or longer than its header says")
    return np.frombuffer(content, dtype).reshape(shape)


def _check_version(header: object, source: str) -> dict[str, Any]:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        refuse("not-a-model-file", "this is not a saved Model of rbdyn_ros", source)
    version = header.get("version")
    if type(version) is not int or version != VERSION:
        message = (
            f"the file has version {quote(str(version))} of the format; this release reads "
            f"version {VERSION}. Build and save the Model again"
        )
        refuse("other-version", message, source, found=str(version), allowed=str(VERSION))
    return header


def _check_fields(names: Sequence[str], source: str, needed: Sequence[str]) -> None:
    """Raise DescriptionError unless `names` has every needed field once, and nothing else."""
    audit = Audit()
    known = dict.fromkeys([HEADER, *needed])
    given = Counter(names)
    missing = [name for name in known if name not in given]
    unknown = [name for name in given if name not in known]
    repeated = [name for name, count in given.items() if count > 1]
    if missing:
        audit.error("missing-field", "", None, f"the file lacks {listing(missing)}")
    if unknown:
        hint = did_you_mean(unknown[0], known)
        message = f"the file has {listing(unknown)}, which is not a field of a Model{hint}"
        audit.error("unknown-field", "", None, message)
    if repeated:
        audit.error(
            "duplicate-field", "", None, f"the file has {listing(repeated)} more than once"
        )
    audit.raise_errors(source)


def _text(value: object, what: str, audit: Audit) -> str:
    """Return a string that can be encoded; for any other value add an error and return ""."""
    try:
        if isinstance(value, str):
            value.encode()  # a lone surrogate has no encoding
            return value
    except UnicodeEncodeError:
        value = "a string without an encoding"
    audit.error("bad-header", HEADER, None, f"{what} is {quote(str(value))}, not a string")
    return ""


def _names(header: Mapping[str, Any], audit: Audit) -> dict[str, list[str]]:
    """Return every list in NAMES; add an error for a missing list or a name that is no string."""
    given = header.get("names")
    if not isinstance(given, dict) or set(given) != set(NAMES):
        audit.error("bad-header", HEADER, None, f"'names' must have {', '.join(NAMES)}")
        return {}
    lists = {kind: value if isinstance(value, list) else [None] for kind, value in given.items()}
    return {kind: [_text(x, f"one of {kind}", audit) for x in lists[kind]] for kind in NAMES}


def _options(header: Mapping[str, Any], audit: Audit) -> Options | None:
    given = header.get("options")
    try:
        return Options(**given)  # type: ignore[arg-type]
    except RbdynError as error:
        audit.error("bad-header", HEADER, None, str(error))
    except (TypeError, ValueError, OverflowError):
        message = "'options' must have timestep, gravity, integrator, passive and exact_stops"
        audit.error("bad-header", HEADER, None, message)
    return None


def _findings(header: Mapping[str, Any], audit: Audit) -> list[Finding]:
    given = header.get("findings")
    try:
        findings = [Finding(**entry) for entry in given]  # type: ignore[union-attr]
    except TypeError:
        findings = [Finding("", "", "none")]  # type: ignore[arg-type]
    if not all(map(_is_sound, findings)):
        audit.error("bad-header", HEADER, None, "'findings' is not a list of findings")
    return findings


def _is_sound(finding: Finding) -> bool:
    strings = (finding.code, finding.message, finding.element, finding.found, finding.allowed)
    line = finding.line
    return (
        all(isinstance(text, str) for text in strings)
        and finding.severity in _SEVERITIES
        and (line is None or (isinstance(line, int) and not isinstance(line, bool)))
    )
