"""What every test session shares: which tests stay together, and the table of worst errors."""

import os

# before NumPy is there: its threads gain nothing on small matrices and wait for each other
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from support.compare import WORST

#: Tests that watch clocks: of nodes, loops and browsers. One worker has them, and has them last,
#: when the others have little left to do.
ON_TIME_FOLDERS = ("ros", "launch", "runtime", "recording")
ON_TIME_FILES = ("test_cli_interrupt", "test_cli_bench", "test_measuring")
#: Tests that share the runs of the examples, which take long: they come first.
SHARED = ("test_docs_commands", "test_examples")


def _group(path):
    if path.parent.name in ON_TIME_FOLDERS or path.stem in ON_TIME_FILES:
        return "on time"
    if path.stem.endswith("_page"):
        return "on time"
    return "shared" if path.stem in SHARED else str(path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """With pytest-xdist a file stays together: its tests share what they load."""
    groups = {path: _group(path) for path in {item.path for item in items}}
    for item in items:
        item.add_marker(pytest.mark.xdist_group(groups[item.path]))
    order = {"shared": 0, "on time": 2}
    items.sort(key=lambda item: order.get(groups[item.path], 1))


def pytest_terminal_summary(terminalreporter):
    if not WORST or terminalreporter.verbosity < 1:
        return
    terminalreporter.section("worst errors, as part of the largest entry")
    for (kind, field), (share, error, where) in sorted(WORST.items()):
        terminalreporter.write_line(
            f"{kind:24} {field:22} {error:8.1e}  {share:8.1e} of the tolerance  {where}"
        )
