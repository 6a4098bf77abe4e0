# SPDX-License-Identifier: Apache-2.0
"""`rbdyn codegen` replaces only its own files in a folder."""

import shutil

import pytest
from support.commands import run

from rbdyn_ros.codegen.names import FileNames
from rbdyn_ros.share import bundled_robot

ARM = bundled_robot("seven_dof_arm")
PENDULUM = bundled_robot("pendulum")
NAMES = tuple(FileNames("seven_dof_arm"))


def test_the_command_replaces_its_own_files_only(tmp_path):
    out = tmp_path / "out"
    assert run("codegen", ARM, "-o", out).returncode == 0
    (out / "mine.c").write_text("int mine;\n")
    before = (out / NAMES[1]).read_bytes()
    assert run("codegen", ARM, "-o", out, "--functions", "bias").returncode == 0
    assert (out / NAMES[1]).read_bytes() != before
    assert (out / "mine.c").read_text() == "int mine;\n"


@pytest.mark.parametrize("name", NAMES)
def test_foreign_and_changed_files_are_not_overwritten(name, tmp_path):
    kept = {}
    foreign, changed = tmp_path / "foreign", tmp_path / "changed"
    foreign.mkdir()
    (foreign / name).write_text("precious\n")
    run("codegen", ARM, "-o", changed)
    with (changed / name).open("a") as file:
        file.write("\n")
    for folder in (foreign, changed):
        kept = {path: path.read_bytes() for path in folder.iterdir()}
        done = run("codegen", ARM, "-o", folder, "--functions", "bias")
        assert done.returncode == 2
        assert f"'{folder / name}'" in done.stderr
        assert {path: path.read_bytes() for path in folder.iterdir()} == kept


def test_a_second_robot_is_not_written_into_the_folder_of_the_first(tmp_path):
    assert run("codegen", ARM, "-o", tmp_path).returncode == 0
    done = run("codegen", PENDULUM, "-o", tmp_path)
    assert done.returncode == 2
    assert f"'{tmp_path / NAMES[3]}'" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == set(NAMES)


def test_folders_that_are_not_writable_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    for folder in (tmp_path / "no" / "such", tmp_path / "file", tmp_path / "link"):
        done = run("codegen", ARM, "-o", folder)
        assert done.returncode == 2
        assert f"'{folder}'" in done.stderr
    assert (tmp_path / "file").read_text() == ""
    for folder in ("/proc/new", tmp_path / ("x" * 300)):
        done = run("codegen", ARM, "-o", folder)
        assert done.returncode == 2
        assert f"'{str(folder)[:100]}" in done.stderr


def test_a_symbolic_link_in_the_folder_is_not_followed(tmp_path):
    """Files are not written through a symbolic link, even a dangling one."""
    out, target = tmp_path / "out", tmp_path / "target"
    out.mkdir()
    (out / NAMES[1]).symlink_to(target)
    for _ in range(2):
        done = run("codegen", ARM, "-o", out)
        assert done.returncode == 2
        assert str(out / NAMES[1]) in done.stderr
        target.write_text("precious\n")
    assert target.read_text() == "precious\n"
    shutil.rmtree(out)
