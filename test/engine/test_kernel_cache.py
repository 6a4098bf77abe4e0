# SPDX-License-Identifier: Apache-2.0
"""Kernels reuse machine code on disk, replace damaged files, and work without files."""

import logging
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import pytest
from numba import types

from rbdyn_ros.engine.compiler import cache, jit, views

ROOT = Path(__file__).resolve().parents[2]

DAMAGES = {
    "empty": lambda _: b"",
    "cut": lambda content: content[:-1],
    "hash only": lambda content: content[:32],
    "bit of the hash": lambda content: bytes([content[0] ^ 1]) + content[1:],
    "bit of the content": lambda content: content[:-9] + bytes([content[-9] ^ 64]) + content[-8:],
    "zeros": lambda content: bytes(len(content)),
}


def double(x):
    return 2 * x


def kernel_of(folder):
    """Declare a kernel as a new process does; return its result, and if `folder` had its code."""
    compiled = jit.compile_cached(double, jit.OPTIONS, str(folder))
    return compiled(21), sum(compiled.stats.cache_hits.values()) == 1


def twice_double(x):
    return linked_double(linked_double(x))


def linking_kernel(folder):
    """Declare two kernels as a new process does; return the caller and the called kernel."""
    global linked_double  # noqa: PLW0603 - a kernel finds the kernels it calls by global names
    linked_double = jit.compile_cached(double, jit.OPTIONS, str(folder))
    return jit.compile_cached(twice_double, jit.OPTIONS, str(folder)), linked_double


def callback_of(folder):
    made = jit.callback(double, types.int64(types.int64), str(folder))
    return made.ctypes(21), made.cache_hits == 1


@pytest.fixture(params=[kernel_of, callback_of])
def made(request):
    return request.param


@pytest.fixture
def warnings(monkeypatch, caplog):
    """Return caplog, which gets the cache's warnings as in a new process."""
    monkeypatch.setattr(cache, "_warned", [])
    caplog.set_level(logging.WARNING)
    return caplog


def files(folder):
    """Return the code files below a folder, by their suffixes."""
    return {path.suffix: path for path in folder.rglob("*.nb?")}


def test_two_threads_can_prepare_kernels_in_two_folders(tmp_path):
    """The folder is not a global setting that a thread changes for others."""
    before = numba.config.CACHE_DIR
    folders = [str(tmp_path / name) for name in ("one", "two")]

    def paths(folder):
        return {cache.KernelCache(double, folder).cache_path for _ in range(500)}

    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(paths, folders))
    assert before == numba.config.CACHE_DIR
    for folder, inside in zip(folders, found, strict=True):
        (path,) = inside
        assert Path(path).parent == Path(folder)


WHERE = """
from rbdyn_ros.engine.joints import groups
print(groups.__file__, groups.rotated.stats.cache_path)
"""


def test_copies_of_the_package_share_their_code(tmp_path):
    """Copies are, for example, the files of a workspace and of a clone beside this workspace."""
    shutil.copytree(ROOT / "rbdyn_ros", tmp_path / "rbdyn_ros")
    found = []
    for place in (ROOT, tmp_path):
        done = subprocess.run(
            [sys.executable, "-c", WHERE], cwd=place, capture_output=True, text=True, check=True
        )
        found.append(done.stdout.split())
    (ours, our_code), (other, other_code) = found
    assert ours != other
    assert our_code == other_code


CALL = """
from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.engine.joints.groups import rotated
assert rotated(0.0, 1.0, 2.0) == (1.0, 2.0)
print(jit.CACHE_DIRECTORY, sum(rotated.stats.cache_hits.values()))
"""


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("@inline\ndef rotated(angle, x, y):", "# why\n\n@inline\ndef rotated(angle, x, y):", 1),
        ("def rotated(angle, x, y):", 'def rotated(angle, x, y):\n    """Turn."""', 1),
        ('"""Rotations and poses', '"""Rotations, and poses', 1),
        ("large = x > 1e-8", "large = x > 2e-8", 0),
    ],
    ids=["comment", "docstring", "module docstring", "constant"],
)
def test_only_a_change_of_code_causes_a_new_compilation(before, after, kept, tmp_path):
    shutil.copytree(ROOT / "rbdyn_ros", tmp_path / "rbdyn_ros")
    edited = tmp_path / "rbdyn_ros/engine/joints/groups.py"

    def call():
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", CALL],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        folder, hits = done.stdout.split()
        return folder, int(hits)

    folder, _ = call()
    text = edited.read_text()
    assert text.count(before) == 1
    edited.write_text(text.replace(before, after))
    again, hits = call()
    assert (again == folder, hits) == (bool(kept), kept)


def test_functions_with_the_same_name_have_different_files(tmp_path):
    two, three = (
        jit.compile_cached(each, jit.OPTIONS, str(tmp_path))
        for each in (lambda x: 2 * x, lambda x: 3 * x)
    )
    assert (two(1), three(1)) == (2, 3)
    assert sum(path.suffix == ".nbi" for path in tmp_path.rglob("*")) == 2


def test_cached_files_contain_only_the_names_of_views(monkeypatch):
    """So a process that has not imported a view's module can still read and rewrite the index."""
    written = pickle.dumps([views.MODEL, views.DATA])
    assert len(written) < 300
    assert pickle.loads(written) == [views.MODEL, views.DATA]
    with monkeypatch.context() as patch:
        patch.delitem(views._VIEWS, views.DATA.name)
        model, absent = pickle.loads(written)
        assert (model, absent == views.DATA) == (views.MODEL, False)
        again = pickle.dumps([model, absent])
    assert pickle.loads(again) == [views.MODEL, views.DATA]


def test_kernels_and_callbacks_are_loaded_from_disk(made, tmp_path, warnings):
    assert made(tmp_path) == (42, False)
    assert sorted(files(tmp_path)) == [".nbc", ".nbi"]
    assert made(tmp_path) == (42, True)
    assert warnings.messages == []


def test_a_kernel_gets_its_own_machine_code_only_when_python_calls_it(tmp_path):
    kernel, called = linking_kernel(tmp_path)
    assert kernel(3) == 12
    assert len(called.linked.overloads) == 1
    assert len(called.overloads) == 0
    assert called(3) == 6
    assert len(called.overloads) == 1


@pytest.mark.parametrize("damage", [lambda content: content, DAMAGES["cut"]])
def test_the_code_of_a_called_kernel_is_loaded_from_disk(tmp_path, damage):
    kernel, _ = linking_kernel(tmp_path)
    kernel(3)
    for file in tmp_path.rglob("*.nb?"):
        if jit.LINKED in file.parts:
            file.write_bytes(damage(file.read_bytes()))
        else:
            file.unlink()
    kernel, called = linking_kernel(tmp_path)
    assert not jit.is_cached(kernel, str(tmp_path))
    assert kernel(3) == 12
    assert sum(called.linked.stats.cache_hits.values()) == (damage is not DAMAGES["cut"])


def test_many_threads_load_code_from_disk_and_new_callers_link_it(tmp_path):
    """Machine code on disk has no LLVM code, so callers link code from the folder `linked`."""
    _, called = linking_kernel(tmp_path)
    assert called(3) == 6

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(lambda _: kernel_of(tmp_path), range(200))) == {(42, True)}
    kernel, called = linking_kernel(tmp_path)
    assert called(3) == 6
    assert kernel(3) == 12
    assert sum(called.stats.cache_hits.values()) == 1


def test_linking_cached_machine_code_is_an_error(tmp_path):
    """Cached machine code refers to functions by name, so linked code would call bad addresses."""
    for _ in range(2):
        compiled = jit.compile_cached(double, jit.OPTIONS, str(tmp_path))
        compiled(21)
    (result,) = compiled.overloads.values()
    with pytest.raises(RuntimeError, match="unfit for linking"):
        result.library._get_module_for_linking()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("kind", [".nbi", ".nbc"])
def test_a_kernel_with_a_damaged_file_is_compiled_again(tmp_path, kind, damage):
    made = kernel_of
    made(tmp_path)
    file = files(tmp_path)[kind]
    file.write_bytes(damage(file.read_bytes()))
    assert made(tmp_path) == (42, False)
    assert made(tmp_path) == (42, True)


def test_processes_that_start_together_compile_a_function_once(made, tmp_path):
    """A file can be locked only once, even in one process, so threads act as processes here."""
    with ThreadPoolExecutor(1) as pool:
        with cache.alone(str(tmp_path), "test_kernel_cache.double"):
            waiting = pool.submit(made, tmp_path)
            with pytest.raises(TimeoutError):
                waiting.result(1.0)
        assert waiting.result(60.0) == (42, False)
    assert made(tmp_path) == (42, True)


def test_a_stuck_compilation_does_not_block_other_processes(made, tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "PATIENCE", 0.1)
    with cache.alone(str(tmp_path), "test_kernel_cache.double"):
        assert made(tmp_path) == (42, False)


def test_a_damaged_callback_is_compiled_again(tmp_path):
    callback_of(tmp_path)
    for file in files(tmp_path).values():
        file.write_bytes(b"")
    assert callback_of(tmp_path) == (42, False)
    assert callback_of(tmp_path) == (42, True)


def test_code_of_another_overload_is_not_loaded(tmp_path):
    """Two processes that compile different overloads may have written the same file."""
    compiled = jit.compile_cached(double, jit.OPTIONS, str(tmp_path))
    compiled(1.5)
    of_floats = files(tmp_path)[".nbc"].read_bytes()
    shutil.rmtree(tmp_path)
    kernel_of(tmp_path)
    files(tmp_path)[".nbc"].write_bytes(of_floats)
    assert kernel_of(tmp_path) == (42, False)


def test_a_deleted_cache_folder_is_made_again(made, tmp_path, warnings):
    folder = tmp_path / "cache"
    made(folder)
    shutil.rmtree(folder)
    assert made(folder) == (42, False)
    assert made(folder) == (42, True)
    assert warnings.messages == []


def test_a_cache_folder_that_cannot_be_written_causes_one_warning(made, tmp_path, warnings):
    """The folder is below a file, where not even root can write."""
    folder = tmp_path / "file"
    folder.touch()
    for _ in range(2):
        assert made(folder) == (42, False)
    assert len(warnings.messages) == 1
    assert str(folder) in warnings.messages[0]
    assert "XDG_CACHE_HOME" in warnings.messages[0]


def test_kernels_work_without_a_cache_folder(monkeypatch, warnings):
    monkeypatch.setattr(jit, "_private_directory", lambda _: False)
    assert jit._cache_directory() == ""
    monkeypatch.setattr(jit, "CACHE_DIRECTORY", "")
    assert jit.cache_below("control", []) == ""
    assert kernel_of("") == callback_of("") == (42, False)
    assert not jit.is_cached(jit.compile_cached(double, jit.OPTIONS, ""), "")
    assert len(warnings.messages) == 1


WARM = """
import sys
import rbdyn_ros as rb
m = rb.load("config/robots/seven_dof_arm.urdf")
m.opt.exact_stops = True
rb.step(m, rb.make_data(m))  # this step includes the stage in which joints stop
print("scipy.linalg" in sys.modules)
"""


def test_loading_cached_code_does_not_import_the_compiler():
    """Numba imports scipy.linalg before compiling, but loading cached code must not import it."""
    command = [sys.executable, "-c", WARM]
    for _ in range(2):  # the first process may still compile
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


FULL = """
import resource, sys
sys.path[:0] = [{root!r}, {tests!r}]
from test_kernel_cache import callback_of, kernel_of
from pathlib import Path
folder = Path({folder!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
print(kernel_of(folder), callback_of(folder), [path.name for path in folder.rglob("*.nb?")])
"""


def test_a_full_disk_causes_one_warning(tmp_path):
    """The kernel still works, and the incomplete file is removed."""
    tests = str(Path(__file__).parent)
    code = FULL.format(root=str(ROOT), tests=tests, folder=str(tmp_path / "cache"))
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True,
        env=environment,
    )  # fmt: skip
    assert done.stdout == "(42, False) (42, False) []\n"
    (line,) = done.stderr.splitlines()
    assert str(tmp_path / "cache") in line
    assert "free space" in line
