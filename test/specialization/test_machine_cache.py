# SPDX-License-Identifier: Apache-2.0
"""Machine code is cached on disk, and compiled again if anything that determines it changes."""

import errno
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import specialised_models

import rbdyn_ros as rb
from rbdyn_ros.engine.compiler import cache
from rbdyn_ros.engine.compiler.processor import processor
from rbdyn_ros.specialization import machine
from rbdyn_ros.specialization.lanes import compile_lanes
from rbdyn_ros.specialization.programs.program import program
from rbdyn_ros.specialization.programs.symbols import SymbolGraph

REPOSITORY = Path(__file__).resolve().parents[2]


class Compiler:
    """A compiler that counts its compilations."""

    def __init__(self, compiled):
        self.compiled, self.count = compiled, 0

    def __call__(self, text):
        self.count += 1
        return self.compiled(text)


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """Set an empty cache in tmp_path; return the Compiler that is used."""
    counting = Compiler(machine._compiled)
    monkeypatch.setattr(machine, "_compiled", counting)
    monkeypatch.setattr(machine, "_directory", lambda: tmp_path)
    forget(monkeypatch)
    return counting


def forget(monkeypatch):
    """Forget all loaded code, as in a new process."""
    monkeypatch.setattr(machine, "_loaded", {})


def pendulum(length=0.5):
    builder = rb.SystemBuilder("pendulum").body("a", specialised_models.BODY)
    builder.joint("j", "revolute", "base", "a", axis=(0, 1, 0), xyz=(length, 0, 0), damping=0.1)
    return rb.build(builder)


def swing(m, s=None):
    """Return the bytes of a Data after five steps by `s`, or by newly specialised code."""
    s = s or rb.specialize(m)
    d = rb.make_data(m)
    d.qpos = 0.4
    s.step(d, 5)
    return d.buffer.tobytes()


def files(folder):
    return sorted(folder.iterdir())


def test_code_is_compiled_once_for_this_process_and_the_next(compiler, tmp_path, monkeypatch):
    m = pendulum()
    before = swing(m)
    assert compiler.count == 1
    (file,) = files(tmp_path)
    assert swing(m) == swing(pendulum()) == before
    assert compiler.count == 1
    forget(monkeypatch)
    assert swing(pendulum()) == before
    assert compiler.count == 1
    assert files(tmp_path) == [file]


def test_cached_code_needs_no_trace(compiler, tmp_path, monkeypatch):
    """A trace takes a tenth of the time of compiling."""
    swing(pendulum())
    forget(monkeypatch)
    m = pendulum()
    s = rb.specialize(m, functions=())
    monkeypatch.setattr(type(s), "program", lambda *_: pytest.fail("traced"))
    swing(m, s)
    assert compiler.count == 1


def test_another_model_option_or_processor_has_its_own_code(compiler, tmp_path, monkeypatch):
    """A file's key contains all that determines the code, so an earlier value finds its file."""
    m = pendulum()
    s = rb.specialize(m)
    expected = 1
    for change in (
        lambda: setattr(m.opt, "timestep", 0.002),
        lambda: setattr(m.opt, "integrator", "rk4"),
        lambda: setattr(m.opt, "passive", False),
    ):
        change()
        swing(m, s)
        expected += 1
        assert compiler.count == len(files(tmp_path)) == expected
    m.opt.timestep, m.opt.integrator, m.opt.passive = 0.001, "implicit_damping", True
    m.opt.gravity = (0.0, 1.0, 2.0)
    swing(m, s)
    assert compiler.count == expected
    rb.specialize(pendulum(0.6))
    rb.specialize(m.replaced(dof_damping=np.array([0.2])))
    rb.specialize(m, symbolic=("timestep",))
    rb.specialize(m, symbolic=("dof_damping",))
    rb.specialize(m, functions=("inverse",))
    expected += 5
    assert compiler.count == len(files(tmp_path)) == expected
    other = replace(processor(), name="another")
    monkeypatch.setattr(machine, "processor", lambda: other)
    rb.specialize(m)
    assert compiler.count == len(files(tmp_path)) == expected + 1


def test_each_frame_has_its_own_code(compiler):
    m = pendulum()
    d = rb.make_data(m)
    d.qpos = 0.4
    s = rb.specialize(m, functions=())
    poses = [s.frame_pose(d, frame)[0] for frame in range(m.nframe)]
    for frame, position in enumerate(poses):
        assert position == pytest.approx(rb.frame_pose(m, d, frame)[0], abs=1e-15)
    assert compiler.count == m.nframe == 2


def test_another_function_of_a_user_joint_has_its_own_code(compiler, tmp_path):
    """A joint is registered again with another function, and the Model's hash stays equal."""
    with specialised_models.registered():

        def lever(factor):
            def crank(q, qd, p, E, r, S, S_dot):
                r[0] = factor * q[0]
                S[3, 0] = factor

            return crank

        results = []
        for factor in (1.0, 2.0):
            rb.register_joint("cached_slide", coordinates=("m",))(lever(factor))
            builder = rb.SystemBuilder("own").body("a", specialised_models.BODY)
            m = rb.build(builder.joint("j", "cached_slide", "base", "a"))
            d = rb.make_data(m)
            d.qpos = 0.3
            s = rb.specialize(m, functions=("kinematics",))
            s.kinematics(d)
            results.append(d.xpos[1, 0])
        assert results == pytest.approx([0.3, 0.6])
        assert compiler.count == len(files(tmp_path)) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda content: content[:20],
        lambda content: content[:32],
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: content[:-40] + bytes([content[-40] ^ 1]) + content[-39:],
        lambda content: bytes([content[0] ^ 128]) + content[1:],
        lambda content: b"\xff" * len(content),
    ],
    ids=["empty", "short", "hash", "cut", "longer", "bit", "hash-bit", "other"],
)
def test_a_damaged_file_is_compiled_again(compiler, tmp_path, monkeypatch, damage):
    m = pendulum()
    before = swing(m)
    (file,) = files(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    forget(monkeypatch)
    assert swing(pendulum()) == before
    assert compiler.count == 2
    assert files(tmp_path) == [file]
    assert file.read_bytes() == whole


def test_a_folder_in_place_of_the_cache_file_is_ignored(compiler, tmp_path, monkeypatch):
    before = swing(pendulum())
    (file,) = files(tmp_path)
    file.unlink()
    file.mkdir()
    forget(monkeypatch)
    assert swing(pendulum()) == before
    assert compiler.count == 2


@pytest.mark.parametrize(("where", "made"), [("missing", 1), ("none", 2), ("file", 2)])
def test_code_is_compiled_without_a_cache_folder(
    compiler, tmp_path, monkeypatch, caplog, where, made
):
    """A missing folder is made; if that fails, the code is kept for this process only."""
    monkeypatch.setattr(cache, "_warned", [])
    folder = {"missing": tmp_path / "no" / "folder", "none": None, "file": tmp_path / "file"}[
        where
    ]
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(machine, "_directory", lambda: folder)
    before = swing(pendulum())
    assert swing(pendulum()) == before
    assert compiler.count == 1
    forget(monkeypatch)
    assert swing(pendulum()) == before
    assert compiler.count == made
    assert len(caplog.messages) == (where == "file")


def test_code_works_on_a_full_disk(compiler, tmp_path, monkeypatch):
    """No partial file remains; when there is space again, the code is stored."""
    replace = Path.replace

    def full(file, target):
        if tmp_path in file.parents:
            raise OSError(errno.ENOSPC, "No space left on device")
        return replace(file, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        before = swing(pendulum())
    assert compiler.count == 1
    assert files(tmp_path) == []
    forget(monkeypatch)
    assert swing(pendulum()) == before
    assert compiler.count == 2
    assert [file.suffix for file in files(tmp_path)] == [".o"]


def test_a_full_cache_loses_the_least_recently_used_code(compiler, tmp_path, monkeypatch):
    """Loading a file counts as use."""
    models = [pendulum(length) for length in (0.5, 0.6, 0.7)]
    kept = []
    for age, m in enumerate(models[:2]):
        swing(m)
        (new,) = set(files(tmp_path)) - set(kept)
        kept.append(new)
        os.utime(new, ns=(age, age))
    forget(monkeypatch)
    swing(models[0])  # now the second code is the least recently used
    assert compiler.count == 2
    monkeypatch.setattr(machine, "MOST_ON_DISK", int(2.5 * kept[0].stat().st_size))
    swing(models[2])
    left = set(files(tmp_path))
    assert kept[0] in left
    assert kept[1] not in left
    assert len(left) == 2


def test_only_this_user_can_read_the_cache():
    """The cache is in the engine's cache folder, which only this user can open."""
    own = machine._directory()
    if own is None:
        pytest.skip("there is no folder for machine code here")
    folder = own.parent
    assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0
    assert folder.stat().st_uid == os.getuid()


def test_another_program_or_width_of_lanes_has_its_own_code(compiler, tmp_path):
    """The key of a file contains the names, the width and the exact constants."""

    def lanes(name="f", constant=2.0, width=2, out="y"):
        graph = SymbolGraph()
        x = graph.enter(("input", "x", 0))
        return compile_lanes({name: program(graph, {out: np.array([2.0 * x, constant])})}, width)

    lanes()
    assert lanes().code is lanes().code
    assert compiler.count == 1
    others = [lanes(name="g"), lanes(constant=3.0), lanes(width=4), lanes(out="z")]
    assert compiler.count == 5 == len(files(tmp_path))
    assert len({other.address(next(iter(other.code.addresses))) for other in others}) == 4
    assert lanes(constant=2.0 + 4.5e-16).code is not lanes().code
    assert lanes(constant=-0.0).code is not lanes(constant=0.0).code


SCRIPT = """
import sys
sys.path[:0] = [{repository!r}, {tests!r}]
from pathlib import Path
import rbdyn_ros as rb
from rbdyn_ros.specialization import machine
from support import specialised_models
machine._directory = lambda: Path({folder!r})
compiled, count = machine._compiled, []
machine._compiled = lambda text: count.append(1) or compiled(text)
m = specialised_models.springs()
d = rb.make_data(m)
d.qpos[1] = 0.4
rb.specialize(m).step(d, 5)
print(len(count), d.qpos.tobytes().hex())
"""


def test_another_process_uses_the_cached_code(tmp_path):
    """The second process finds the code of the first, and has the same result."""
    tests = str(REPOSITORY / "test")
    text = SCRIPT.format(repository=str(REPOSITORY), tests=tests, folder=str(tmp_path))
    said = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.split())
    assert [count for count, _ in said] == ["1", "0"]
    assert said[0][1] == said[1][1]
