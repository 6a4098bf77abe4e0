# SPDX-License-Identifier: Apache-2.0
"""The package imports its public names at their first use."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rbdyn_ros as rb

STUB = Path(rb.__file__).with_suffix(".pyi")

#: Names of modules of which each takes longer to load than the rest of `import rbdyn_ros`.
SLOW = ("numpy", "numba", "llvmlite", "scipy", "viser", "matplotlib", "mcap", "yaml", "lxml")


def listed():
    nodes = ast.parse(STUB.read_text()).body
    return {alias.name: node.module for node in nodes if isinstance(node, ast.ImportFrom)
            for alias in node.names}  # fmt: skip


def loaded_by(program):
    """Return the words that a program prints, and then the modules of SLOW that it loads."""
    code = f"import sys\n{program}\nprint(*[name for name in {SLOW!r} if name in sys.modules])"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_importing_the_package_loads_no_slow_module():
    assert loaded_by("import rbdyn_ros") == []
    assert loaded_by("import rbdyn_ros as rb; dir(rb); rb.errors = rb.RbdynError") == []
    assert loaded_by("from rbdyn_ros.commands.line.parser import Parser") == []


def test_using_a_public_name_loads_only_the_modules_that_it_needs():
    loaded = loaded_by("import rbdyn_ros as rb; rb.load_urdf")
    assert "numba" in loaded
    assert not {"viser", "matplotlib", "mcap"} & set(loaded)


def test_load_urdf_make_data_and_step_load_only_the_modules_that_they_need():
    program = (
        "import rbdyn_ros as rb\n"
        "rb.load_urdf, rb.make_data, rb.step\n"
        "print(*[name for name in sys.modules if name.startswith('rbdyn_ros.')])"
    )
    loaded = loaded_by(program)
    for part in ("rollouts", "specialization", "view", "recording", "dynamics.toolbox"):
        assert not [name for name in loaded if name.startswith(f"rbdyn_ros.{part}")]
    for part in ("yaml_files", "scene_files", "scenes", "mechanism_files", "build.builder"):
        assert not [name for name in loaded if name.startswith(f"rbdyn_ros.description.{part}")]
    assert "rbdyn_ros.loading.load" in loaded


def test_using_the_public_name_of_a_submodule_loads_no_slow_module():
    assert loaded_by("import rbdyn_ros as rb; print(rb.dh.__name__)")[0].endswith("build.dh")


def test_every_listed_name_exists_and_comes_from_its_module():
    assert len(listed()) > 90
    for name, module in listed().items():
        found = getattr(rb, name)
        if name == "view":  # `view` is a package that can be called
            assert found is sys.modules["rbdyn_ros.view"]
            assert callable(found)
            continue
        assert found is getattr(sys.modules[module], name)
    assert set(listed()) <= set(dir(rb))
    assert set(rb.__all__) == set(listed())


def test_an_unknown_public_name_raises_an_attribute_error():
    with pytest.raises(AttributeError, match="'rbdyn_ros' has no attribute 'stepp'"):
        _ = rb.stepp


def test_the_package_stores_a_public_name_after_its_first_use():
    _ = rb.step
    assert vars(rb)["step"] is rb.step
