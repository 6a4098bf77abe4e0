"""The folder of `rbdyn codegen`: what is replaced in it, what never, which folders cannot be."""

import shutil

import pytest
from support.commands import run

from rbdyn_ros.codegen.names import FileNames
from rbdyn_ros.loading.assets import bundled_robot

ARM = bundled_robot("seven_dof_arm")
PENDULUM = bundled_robot("pendulum")
NAMES = tuple(FileNames("seven_dof_arm"))


def test_what_it_wrote_is_replaced_and_nothing_else(tmp_path):
    out = tmp_path / "out"
    assert run("codegen", ARM, "-o", out).returncode == 0
    (out / "mine.c").write_text("int mine;\n")
    before = (out / NAMES[1]).read_bytes()
    assert run("codegen", ARM, "-o", out, "--functions", "bias").returncode == 0
    assert (out / NAMES[1]).read_bytes() != before
    assert (out / "mine.c").read_text() == "int mine;\n"


@pytest.mark.parametrize("name", NAMES)
def test_foreign_and_changed_files_stay(name, tmp_path):
    kept = {}
    foreign, changed = tmp_path / "foreign", tmp_path / "changed"
    foreign.mkdir()
    (foreign / name).write_text("precious\n")
    run("codegen", ARM, "-o", changed)
    with (changed / name).open("a") as file:
        file.write("\n")
    for folder, sentence in (
        (foreign, "there is a file of this name that rbdyn codegen has not written"),
        (changed, "it was changed after rbdyn codegen wrote it; move it away"),
    ):
        kept = {path: path.read_bytes() for path in folder.iterdir()}
        told = run("codegen", ARM, "-o", folder, "--functions", "bias")
        assert told.returncode == 2
        assert told.stderr == f"rbdyn codegen: '{folder / name}' is not written: {sentence}\n"
        assert {path: path.read_bytes() for path in folder.iterdir()} == kept


def test_a_folder_is_for_one_prefix(tmp_path):
    assert run("codegen", ARM, "-o", tmp_path).returncode == 0
    told = run("codegen", PENDULUM, "-o", tmp_path)
    assert told.returncode == 2
    sentence = "the folder has code for seven_dof_arm; a folder is for one prefix"
    assert told.stderr == f"rbdyn codegen: '{tmp_path / NAMES[3]}' is not written: {sentence}\n"
    assert {path.name for path in tmp_path.iterdir()} == set(NAMES)


def test_folders_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    for folder, sentence in (
        (tmp_path / "no" / "such", "there is no such folder above it"),
        (tmp_path / "file", "it is a file"),
        (tmp_path / "link", "it is a link to nothing"),
    ):
        told = run("codegen", ARM, "-o", folder)
        assert told.returncode == 2
        assert told.stderr == f"rbdyn codegen: '{folder}' is not written: {sentence}\n"
    assert (tmp_path / "file").read_text() == ""
    for folder in ("/proc/new", tmp_path / ("x" * 300)):
        told = run("codegen", ARM, "-o", folder)
        assert told.returncode == 2
        assert told.stderr.startswith(f"rbdyn codegen: the folder '{str(folder)[:100]}")
        assert "' cannot be written: " in told.stderr


def test_a_link_to_elsewhere_is_not_followed(tmp_path):
    """Through a symbolic link nothing is written, be there a file at its end or none."""
    out, target = tmp_path / "out", tmp_path / "target"
    out.mkdir()
    (out / NAMES[1]).symlink_to(target)
    for _ in range(2):
        told = run("codegen", ARM, "-o", out)
        assert told.returncode == 2
        assert str(out / NAMES[1]) in told.stderr
        target.write_text("precious\n")
    assert target.read_text() == "precious\n"
    shutil.rmtree(out)
