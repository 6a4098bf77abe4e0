# SPDX-License-Identifier: Apache-2.0
"""All generated files of a folder are written, or none; git may convert their line ends."""

import contextlib
import resource

import pytest
from support.c_code import code_of
from support.refusals import refused

from rbdyn_ros import load_urdf
from rbdyn_ros.codegen.folder import files, write
from rbdyn_ros.errors import ParameterError
from rbdyn_ros.share import bundled_robot

#: The size limit of a file [bytes]: the robot's header is smaller, and its source is larger.
LARGEST = 8192


@pytest.fixture(scope="module")
def m():
    return load_urdf(bundled_robot("seven_dof_arm"))


@contextlib.contextmanager
def nearly_full(m):
    """Within a `with` block, limit the size of files to LARGEST, as a nearly full disk does."""
    # kernels are compiled here, before the limit
    sizes = [len(text) for text in files(code_of(m, "inverse")).values()]
    assert sizes[0] < LARGEST < sizes[1]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, limits[1]))
    try:
        yield
    finally:  # later the limit could stop pytest, whose output may be a file
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.fixture
def old(m, tmp_path):
    """Return a folder with generated code for the gravity term."""
    folder = tmp_path / "old"
    write(code_of(m, "gravity"), folder)
    return folder


def test_old_files_stay_if_one_file_cannot_be_written(m, old):
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    with nearly_full(m), refused(ParameterError, "unwritable-file", "path"):
        write(code_of(m, "inverse"), old)
    assert {path.name: path.read_bytes() for path in old.iterdir()} == before


def test_a_new_folder_that_cannot_be_filled_is_removed(m, tmp_path):
    with nearly_full(m), refused(ParameterError, "unwritable-file", "path"):
        write(code_of(m, "inverse"), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_an_interrupt_leaves_no_new_folder(m, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(code_of(m, "gravity"), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_converted_line_ends_do_not_count_as_a_change(m, old):
    """Git may convert line ends. Other changes do count."""
    for path in old.iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    paths = write(code_of(m, "gravity"), old)
    assert [path.read_bytes() for path in paths] == list(files(code_of(m, "gravity")).values())
    paths[1].write_bytes(paths[1].read_bytes().replace(b"\n", b"\r\n") + b"int x;\r\n")
    with refused(ParameterError, "not-overwritten", "output"):
        write(code_of(m, "gravity"), old)
