# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn info` lists the parts of this machine; a missing part is not an error."""

import importlib.metadata
import json
import os
import platform
import re
from pathlib import Path

import numpy as np
import pytest
from support.commands import run

import rbdyn_ros as rb
from rbdyn_ros import machine
from rbdyn_ros.commands import inventory
from rbdyn_ros.commands.info import info_text
from rbdyn_ros.engine.compiler import jit
from rbdyn_ros.runtime import compiled
from rbdyn_ros.share import bundled_robot, bundled_robots


@pytest.fixture(scope="module")
def found():
    return json.loads(run("info", "--json").stdout)


def test_versions_match_this_process(found):
    assert found["version"] == rb.__version__
    assert found["python"]["version"] == platform.python_version()
    assert found["libraries"]["numpy"] == np.__version__
    assert re.fullmatch(r"\d+(\.\d+)+", found["libraries"]["LLVM"])
    assert found["robots"] == list(bundled_robots())
    assert found["cores"] == len(os.sched_getaffinity(0))


def test_the_cache_holds_the_kernels():
    m = rb.load_urdf(bundled_robot("pendulum"))
    rb.step(m, rb.make_data(m))
    found = {"cache": inventory.cache()}
    assert found["cache"]["path"] == jit.CACHE_DIRECTORY
    assert found["cache"]["compiled"]["engine"] is True
    assert found["cache"]["bytes"] > 0


def test_the_kernels_that_identify_cached_parts_exist():
    for prefix in inventory._KERNELS.values():
        stem, _, name = prefix.rstrip("-").partition(".")
        texts = [file.read_text() for file in Path(rb.__file__).parent.rglob(f"{stem}.py")]
        assert any(f"\ndef {name}(" in text for text in texts), prefix


def test_the_cache_of_another_version_is_listed(tmp_path, monkeypatch):
    ours, now = tmp_path / "ours", tmp_path / "ours" / "runtime-now"
    for folder, name in (
        (ours, "constants.survey-1.py311.nbi"),
        (ours / "runtime-old", "cycle.run-1.py311.nbi"),
        (now, "runtime.other-1.py311.nbi"),
        (tmp_path / "other", "obstacles._by_address-1.py311.nbi"),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(bytes(100))
    monkeypatch.setattr(jit, "CACHE_DIRECTORY", str(ours))
    monkeypatch.setattr(compiled, "CACHE_DIRECTORY", str(now))
    cache = inventory.cache()
    assert (cache["bytes"], cache["other_versions_bytes"]) == (300, 100)
    assert [what for what, there in cache["compiled"].items() if there] == ["engine"]
    (now / "cycle.run-1.py311.nbi").touch()
    assert inventory.cache()["compiled"]["loop"] is True


def test_testing_permissions_does_not_change_the_scheduler_of_this_process(found):
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
    assert found["permissions"].keys() == {"SCHED_FIFO", "locked memory", "timer slack"}
    text = info_text(found)
    expected = "SCHED_FIFO: yes" if not found["permissions"]["SCHED_FIFO"] else "SCHED_FIFO: no ("
    assert expected in text


def test_the_text_has_a_row_for_each_part(found):
    text = info_text(found)
    rows = [line.split("  ")[0] for line in text.splitlines()]
    for row in ("rbdyn_ros", "Python", "cache", "compiled", "ROS 2", "messages", "real time"):
        assert row in rows
    assert "None" not in text


def test_extras_come_from_the_requirements_of_the_package(monkeypatch):
    lines = [
        'matplotlib>=3.6; extra == "plot"',
        'mkdocstrings[python]>=0.2; extra == "docs"',
        'mujoco>=4; python_version >= "3.11" and extra == "test"',
        "no_such-thing>=1.0 ; extra == 'plot'",
        "numpy>=1.24",
    ]
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: lines)
    versions = {"matplotlib": "3.9", "mkdocstrings": None, "mujoco": "4.1", "no_such-thing": None}
    monkeypatch.setattr(inventory, "_version", versions.get)
    assert inventory.extras() == {
        "plot": {"matplotlib": "3.9", "no_such-thing": None},
        "docs": {"mkdocstrings": None},
        "test": {"mujoco": "4.1"},
    }


def bare(monkeypatch):
    """Hide all optional parts of this machine: libraries, devices, compilers."""

    def missing(_):
        raise importlib.metadata.PackageNotFoundError

    for name in ("version", "requires"):
        monkeypatch.setattr(importlib.metadata, name, missing)
    monkeypatch.setattr(inventory, "_is_there", lambda _: False)
    monkeypatch.setattr(inventory, "_ASK_ROS", "import no_such_module")
    monkeypatch.setattr(inventory, "_ASK_SYSTEM", "import os; os._exit(3)")
    monkeypatch.setattr(jit, "CACHE_DIRECTORY", "")
    monkeypatch.setattr("rbdyn_ros.share.ROBOTS", Path("no", "such", "folder"))


def test_a_missing_part_is_not_an_error(monkeypatch):
    bare(monkeypatch)
    told = run("info")
    assert (told.returncode, told.stderr) == (0, "")
    for line in (
        r"cache +not used: no folder for it can be made",
        r"ROS 2 +not found: ModuleNotFoundError: No module named 'no_such_module'",
        r"real time +unknown: exit status 3",
        r"messages +missing: sensor_msgs, ",
        r"robots +none",
    ):
        assert re.search(line, told.stdout), line


def test_an_unresponsive_process_is_reported(monkeypatch):
    monkeypatch.setattr(inventory, "_PATIENCE", 0.2)
    process = inventory._start("import time; time.sleep(60.0)")
    assert inventory._answer(process) == {"error": "no answer within 0.2 s"}
    assert process.poll() is not None


def test_the_processor_has_a_name_also_without_proc_cpuinfo(monkeypatch):
    assert machine.processor()
    monkeypatch.setattr(machine, "Path", lambda _: Path("/no/such/file"))
    assert machine.processor()
