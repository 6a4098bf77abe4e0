# SPDX-License-Identifier: Apache-2.0
"""The notebooks equal the output of tools/notebooks.py, and run without a display."""

import ast
import importlib.util
from pathlib import Path

import pytest
from support import robots

from rbdyn_ros.dynamics.compiling import TEXT as COMPILING

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
jupyter_client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "examples" / "notebooks"
#: Code that runs after a notebook's own parameters, to save time: no films (test_examples.py makes
#: a film), one of six scenes (test_docs_commands.py runs all scenes), and no long chains.
SHORTER = {
    "contact_scenes": "given.scene = ['arch']",
    "cost_of_dynamics": "given.links = 32",
    "falling_humanoid": "given.film = False",
    "spinning_top": "given.film = False",
}


def tool():
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "tools" / "notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WRITER = tool()
NAMES = WRITER.names()


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_up_to_date(name):
    kept = (NOTEBOOKS / f"{name}.ipynb").read_text(encoding="ascii")
    assert kept == WRITER.notebook(name), "run python tools/notebooks.py"


def test_every_notebook_has_its_script():
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == NAMES


def test_only_scripts_with_ros_have_no_notebook():
    scripts = {path.stem: path.read_text() for path in (ROOT / "examples").glob("*.py")}
    without = scripts.keys() - set(NAMES)
    assert {"lockstep_controller", "push_joint", "record_motion"} <= without
    for name, text in scripts.items():
        assert (name in without) == ("rclpy" in text)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_all_code_of_its_script(name):
    """Every statement of the script is in a cell, except those of the command line and main()."""
    book = nbformat.reads((NOTEBOOKS / f"{name}.ipynb").read_text(), as_version=4)
    nbformat.validate(book)
    code = "\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
    there = {ast.dump(node) for node in ast.walk(ast.parse(code))}
    script = ast.parse((ROOT / "examples" / f"{name}.py").read_text())
    missing = [node for node in statements(script) if ast.dump(node) not in there]
    assert not [ast.unparse(node) for node in missing]


def statements(script):
    """Yield the statements of a script that its notebook must have, inside functions, too."""
    for node in script.body[1:-1]:
        parts = node.body if isinstance(node, ast.FunctionDef | ast.ClassDef) else [node]
        for part in parts:
            if not is_left_out(part):
                yield from part.body if isinstance(part, ast.If) else [part]


def is_left_out(node):
    text = ast.unparse(node)
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_docstring or "argparse" in text or "parser." in text or "__file__" in text


RUN = [
    pytest.param(name, marks=robots.needs_robots if name == "falling_humanoid" else ())
    for name in NAMES
]


@pytest.fixture(scope="module")
def kernel():
    """Yield one kernel for all notebooks, because imports take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        manager = jupyter_client.KernelManager(kernel_name="python3")
        manager.start_kernel(cwd=str(NOTEBOOKS))
        yield manager
        manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("name", RUN)
def test_a_notebook_runs(name, kernel):
    """A notebook needs no names of other notebooks, and its outputs include the picture."""
    book = nbformat.reads((NOTEBOOKS / f"{name}.ipynb").read_text(), as_version=4)
    for cell in book.cells:
        if "parameters" in cell.metadata.get("tags", ()):
            cell.source += "\n" + SHORTER.get(name, "")
    book.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
    client = nbclient.NotebookClient(book, km=kernel, timeout=120)
    client.execute()
    outputs = [output for cell in book.cells for output in cell.get("outputs", ())]
    draws = "def draw(" in (ROOT / "examples" / f"{name}.py").read_text()
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == draws
    assert any(output.get("name") == "stdout" for output in outputs)
    told = [output["text"] for output in outputs if output.get("name") == "stderr"]
    # the notice about compilation appears if the cache is empty
    assert not [text for text in told if text.strip() != COMPILING]
