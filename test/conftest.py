# SPDX-License-Identifier: Apache-2.0
"""Settings of all test sessions: environment, order of tests, options and summary."""

import gc
import os
from functools import cache
from pathlib import Path

# NumPy reads this at its import; for small matrices its threads would only wait for each other
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A process that is killed, or stalls on a busy machine, can block the shared memory of Fast DDS
# for other processes, so nodes of tests use UDP. Fresh processes use shared memory, as users do.
os.environ.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
# Numba would otherwise colour each line that it compiles, even without an error
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")

import pytest
from hypothesis import settings
from support import messages, nightly, processes
from support.bounds import pytest_configure  # noqa: F401  a hook
from support.compare import WORST
from support.refusals import SEEN

import rbdyn_ros
from rbdyn_ros.dynamics.compiling import NOTICE

# an example of Hypothesis can take long on a busy machine
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

NOTICE.is_due = False  # no notice about an empty cache on stderr
# all collected tests stay in memory, where the garbage collector would search them for seconds
gc.disable()

# import all public names now, because their first use could be in a test with patched modules
for _name in rbdyn_ros.__all__:
    getattr(rbdyn_ros, _name)

#: Folders of tests of loops and nodes, which depend on clocks. One worker runs these tests. They
#: start first because they take longest; tests of the loop compile kernels for other tests.
ON_TIME = ("runtime", "ros/simulator")
#: Folders of tests of arms and launch files. With the files of MOVING they are the group "arms" of
#: another worker, because a single worker for this group and ON_TIME would end last.
ARMS = ("ros/arm", "launch", "control_box")
MOVING = ("test_mobile_base_node", "test_gripper_node", "test_lockstep_node")
#: Folders of tests that compile little. Other workers begin with them, while the loop compiles.
PLAIN = ("description", "checks")
#: Files of the folders in PLAIN whose tests need the kernels of contact, which may still compile.
IN_CONTACT = (
    "test_bounds",
    "test_builder",
    "test_collisions",
    "test_decomposition",
    "test_geometry_check",
    "test_kinds",
    "test_mjcf",
    "test_scene_files",
    "test_sdf_refused",
    "test_sdf_worlds",
    "test_triangle_meshes",
)
#: Files of tests with a browser, which takes all cores, so these tests run one at a time.
BROWSER = ("test_live_page", "test_replay_page", "test_view_page", "test_view_node")
#: Files of tests that share runs of the examples, which take long.
SHARED = ("test_docs_commands", "test_examples")
#: Groups of tests that mostly wait; the longest group is first. Workers begin these groups at
#: intervals between files that compute, so that a worker waits while other workers compute.
WAITS = (
    "arms",
    "shared",
    "browser",
    "test_stops_by_signal",
    "test_documented_motion",
    "test_graph_tools",
    "test_gym_nodes",
    "test_trial_boxes",
    "test_trial_nodes",
    "test_trial_processes",
    "test_policy_node",
    "test_pick_node",
)
#: Share of the files that compute which begins before the last group of WAITS.
BEGUN = 0.85
#: Files that compute longest, so none of them may begin last.
LONGEST = ("test_contact_lanes", "test_lanes_of_pairs", "test_traced_robots")
#: Fixtures that start nodes or a browser, so tests with one of them mostly wait.
WAITING = {"simulate", "control", "policy_node", "peer", "browser"}


@cache
def _group(path):
    if path.stem in BROWSER:
        return "browser"
    if path.stem in MOVING or _is_below(path, ARMS):
        return "arms"
    if _is_below(path, ON_TIME):
        return "on time"
    return "shared" if path.stem in SHARED else path.stem


@cache
def _is_below(path, folders):
    tests = Path(__file__).parent
    return any(path.is_relative_to(tests / folder) for folder in folders)


def _turns(paths):
    """Return the place of each group of tests in the order in which workers begin them."""
    computes = sorted(paths, key=_kind)
    computes = list(dict.fromkeys(_group(path) for path in computes))
    computes = [group for group in computes if group not in {"on time", *WAITS}]
    places = {group: k for k, group in enumerate(computes)} | {"on time": -1.0}
    first = sum(_is_plain(path) for path in paths) / 2  # by then the loop is compiled
    last = max(BEGUN * len(computes), first)
    gap = (last - first) / (len(WAITS) - 1)
    return places | {group: first + k * gap - 0.5 for k, group in enumerate(WAITS)}


def _kind(path):
    """Return a sort key of a file: plain files come first, and then the longest files."""
    return not _is_plain(path), path.stem not in LONGEST


def _is_plain(path):
    return _is_below(path, PLAIN) and path.stem not in IN_CONTACT


def pytest_itemcollected(item):
    """Put the tests of a file into one group of pytest-xdist, because they share loaded robots.

    pytest-xdist reads the groups before any of our hooks that get all tests.
    """
    item.add_marker(pytest.mark.xdist_group(_group(item.path)))


def pytest_collection_modifyitems(config, items):
    # with --lf only failed cases of a test are collected, and would count as all cases of the test
    if not config.getoption("lf"):
        nightly.mark(items, Path(__file__).parent)
    if not config.getoption("--nightly"):
        _leave_out(config, items, lambda item: item.get_closest_marker("nightly"))
    if config.getoption("--quick"):
        _leave_out(config, items, _takes_long)
    turns = _turns(list(dict.fromkeys(item.path for item in items)))
    loop = ON_TIME[:1]
    items.sort(key=lambda item: (turns[_group(item.path)], not _is_below(item.path, loop)))


def _leave_out(config, items, is_left_out):
    """Remove the tests for which the function `is_left_out` returns a true value."""
    left_out = [item for item in items if is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not is_left_out(item)]


def _takes_long(item):
    """Return whether a test starts a node or a browser, or runs a page or an example."""
    waiting = WAITING | {"shared"} if _is_below(item.path, ("ros",)) else WAITING
    return _group(item.path) == "shared" or not waiting.isdisjoint(item.fixturenames)


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)  # otherwise the collector takes a few percent of the time
    gc.enable()
    processes.collected()


def pytest_terminal_summary(terminalreporter):
    _report_messages(terminalreporter)
    if not WORST or terminalreporter.verbosity < 1:
        return
    terminalreporter.section("worst errors as a share of the largest entry")
    for (kind, field), (share, error, where) in sorted(WORST.items()):
        terminalreporter.write_line(
            f"{kind:24} {field:22} {error:8.1e}  {share:8.1e} of the tolerance  {where}"
        )


def _report_messages(terminalreporter):
    """Print the number of messages that test/messages.txt lacks, and the first of them."""
    new = messages.missing(SEEN)
    if new:
        code, message = new[0]
        text = f"test/messages.txt lacks {len(new)} of the messages (see make messages), first"
        terminalreporter.write_line(f"{text} {code}: {message}")


def pytest_addoption(parser):
    parser.addoption("--write-messages", action="store_true", help="write test/messages.txt")
    parser.addoption("--lies", help="lies to test in all scenes: names joined by commas, or all")
    parser.addoption("--uses", help="'all' tests the ordinary uses of an arm in all modes")
    parser.addoption(
        "--poses",
        type=int,
        default=200,
        help="number of poses of each pair of shapes to compare with coal",
    )
    parser.addoption(
        "--stops",
        type=int,
        default=8,
        help="number of nodes to stop by signals",
    )
    parser.addoption(
        "--quick", action="store_true", help="run no tests with nodes, browsers, pages, examples"
    )
    parser.addoption(
        "--nightly", action="store_true", help="also run tests with the marker nightly"
    )


def pytest_sessionfinish(session, exitstatus):
    """Send the error messages of a worker to the first process, which writes all messages."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["refusals"] = SEEN.refusals()
    elif SEEN and config.getoption("--write-messages"):
        messages.update(SEEN, whole=exitstatus == 0 and not _selects(config))


def _selects(config):
    """Return whether the command line selects only a part of the tests."""
    paths = config.args_source is config.ArgsSource.ARGS
    options = ("keyword", "markexpr", "lf", "deselect", "ignore", "ignore_glob")
    return paths or any(getattr(config.option, name, None) for name in options)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    for code, message in getattr(node, "workeroutput", {}).get("refusals", ()):
        SEEN.add(code, message)
