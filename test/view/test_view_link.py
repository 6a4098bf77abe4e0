# SPDX-License-Identifier: Apache-2.0
"""A view in another process starts, sends requests, gets answers, and ends."""

import importlib.util
import math
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from loop_stand_in import ViewedLoop
from support.refusals import refused
from web_page import wait_until

import rbdyn_ros as rb
from rbdyn_ros.dynamics.payload import with_payload
from rbdyn_ros.runtime.loop import Loop
from rbdyn_ros.runtime.settings import LoopSettings
from rbdyn_ros.share import bundled_robot
from rbdyn_ros.view.live import spawned
from rbdyn_ros.view.live.link import FAILED, SERVING, WARNED, Cast, Remote, answered, serve
from rbdyn_ros.view.live.loading import MOST_WARNINGS, warning_of
from rbdyn_ros.view.live.process import start_view
from rbdyn_ros.view.live.watched import Pace, Watched

needs_viser = pytest.mark.skipif(
    importlib.util.find_spec("viser") is None, reason="viser is not installed"
)


@pytest.fixture
def path():
    return bundled_robot("pendulum")


class Echo:
    """A service that returns its arguments; `pause` waits until `let_go` is set."""

    def __init__(self):
        self.let_go = threading.Event()

    def push(self, *arguments):
        return repr(arguments)

    def pause(self, paused):
        assert self.let_go.wait(30.0)
        return f"pause {paused}"

    def step(self, ticks):
        raise ValueError(ticks)

    def instants(self, _energy=False):
        raise RuntimeError

    def secret(self):
        raise AssertionError


@pytest.fixture
def far():
    """Yield a Remote to an Echo behind two pipes, the Echo, and the received messages."""
    echo, heard = Echo(), []
    (prompt, theirs), (queued, theirs_too) = Pipe(), Pipe()
    threads = [
        threading.Thread(target=serve, args=(theirs, echo, lambda *said: heard.append(said))),
        threading.Thread(target=serve, args=(theirs_too, echo)),
    ]
    for thread in threads:
        thread.start()
    yield Remote(prompt, queued), echo, heard
    echo.let_go.set()
    prompt.close()
    queued.close()
    for thread in threads:
        thread.join(30.0)
        assert not thread.is_alive()


def test_a_slow_request_does_not_block_other_requests(far):
    remote, echo, heard = far
    answers = []
    pausing = threading.Thread(target=lambda: answers.append(remote.pause(True)))
    pausing.start()
    for k in range(50):  # these requests get answers while `pause` waits
        assert remote.push(k, "hand", [1, 2, 3], [0, 0, 4], [0, 0, 0], 0.5) == (
            f"({k}, 'hand', [1, 2, 3], [0, 0, 4], [0, 0, 0], 0.5)"
        )
    assert not answers
    echo.let_go.set()
    pausing.join(30.0)
    assert answers == ["pause True"]
    remote.tell(SERVING, "http://there")
    remote.tell(WARNED, "a mesh is missing")
    remote.tell(FAILED, "it broke")
    assert remote.push(1, "", (), (), (), 0.0)  # afterwards the messages have arrived
    assert heard == [
        (SERVING, "http://there"),
        (WARNED, "a mesh is missing"),
        (FAILED, "it broke"),
    ]


@pytest.mark.parametrize(
    "said", [b"", b"nonsense", b"[1]", b"[[], {}]", b"[" * 100_000, pickle.dumps(("reset", ()))]
)
def test_an_invalid_request_ends_the_service_without_a_call(said):
    """The view is open to the network, so no data of the view is unpickled."""
    asked = []
    here, there = Pipe()
    there.send_bytes(said)
    there.close()
    serve(here, SimpleNamespace(reset=lambda: asked.append("reset")))
    assert not asked


def test_a_failed_request_returns_a_message(far):
    remote, echo, _ = far
    assert remote.step(3) == "step failed: ValueError(3)"
    assert remote.instants() == []
    assert answered(echo, "secret", ()) == "there is no request 'secret'"
    assert answered(echo, "__class__", ()) == "there is no request '__class__'"
    assert "failed: TypeError" in answered(echo, "push", ({},) * 0 or None)


def test_the_pace_is_the_speed_of_the_last_second_without_pauses_and_resets():
    pace = Pace()
    assert math.isnan(pace.at(10.0, 0.0, False))
    for k in range(1, 40):
        factor = pace.at(10.0 + 0.1 * k, 0.05 * k, False)
    assert factor == pytest.approx(0.5)
    for k in range(40, 52):  # simulated time runs four times as fast for over a second
        factor = pace.at(10.0 + 0.1 * k, 1.95 + 0.2 * (k - 39), False)
    assert factor == pytest.approx(2.0)
    assert math.isnan(pace.at(16.0, 4.4, True))
    assert math.isnan(pace.at(90.0, 4.4, False))  # a pause does not count
    assert pace.at(91.0, 5.4, False) == pytest.approx(1.0)
    assert math.isnan(pace.at(92.0, 0.0, False))  # time has been reset
    assert pace.at(93.0, 3.0, False) == pytest.approx(3.0)


def test_an_instant_has_the_contact_points_of_a_loop_and_their_forces():
    box = rb.Object("box", rb.Box((0.2, 0.2, 0.2)), mass=2.0, pose=rb.pose((0.0, 0.0, 0.3)))
    m = rb.scene(objects=[box])
    loop = Loop(m, LoopSettings(realtime="off", start_paused=True))
    watched = Watched(loop)
    loop.start()
    try:
        assert watched.instant().points.shape == (0, 6)  # the box is in the air
        loop.time.request_steps(2000)
        loop.time.wait_for_steps()
        instant = watched.instant()
    finally:
        loop.stop()
    corners = np.array([[x, y, 0.0] for x in (-0.1, 0.1) for y in (-0.1, 0.1)])
    order = np.lexsort(instant.points[:, 1::-1].round(3).T)
    assert np.allclose(instant.points[order, :3], corners, atol=1e-3)
    assert np.allclose(instant.points[:, 3:].sum(axis=0), [0.0, 0.0, 2.0 * 9.81], atol=1e-3)
    assert np.allclose(instant.points[:, 3:].sum(axis=0), instant.contact[1, :3], atol=1e-9)


def test_energies_of_an_instant_belong_to_the_exchanged_model(path):
    """The reference is the robot of the file with a point mass at its tip and another gravity."""
    m = rb.load_urdf(path)
    loop = Loop(m, LoopSettings(realtime="off", start_paused=True), np.full(m.nq, 0.3))
    watched = Watched(loop)
    before = watched.instant(energy=True)
    assert (before.tick, before.energy, before.qpos.tolist()) == (-1, None, [0.3] * m.nq)
    assert before.paused
    assert not loop.running
    loop.start()
    try:
        heavy = with_payload(m, m.body_names[-1], 1.5, (0.0, 0.0, -0.2), (0.0,) * 6)
        heavy.opt.gravity = (0.0, 0.0, -3.7)
        loop.plant.exchange(heavy)
        velocity = np.linspace(1.0, 2.0, m.nv)
        everywhere = np.ones(m.nq, bool), np.ones(m.nv, bool)
        loop.plant.set_state(np.full(m.nq, 0.3), velocity, *everywhere)
        instant = watched.instant(energy=True)
        assert watched.instant().energy is None
    finally:
        loop.stop()
    assert instant.paused
    assert math.isnan(instant.factor)
    d = rb.make_data(m)
    d.qpos, d.qvel = instant.qpos, instant.qvel
    rb.forward(m, d)
    place, R = rb.frame_pose(m, d, m.body_names[-1])
    turn, speed = rb.frame_velocity(m, d, m.body_names[-1]).reshape(2, 3)
    arm = R @ (0.0, 0.0, -0.2)
    potential = 3.7 * float(m.body_mass @ d.xipos[:, 2] + 1.5 * (place + arm)[2])
    kinetic = 0.5 * velocity @ rb.mass_matrix(m, d) @ velocity
    kinetic += 0.5 * 1.5 * np.sum((speed + np.cross(turn, arm)) ** 2)
    assert instant.energy == pytest.approx((potential, kinetic), rel=1e-12, abs=1e-12)


# the other process


def gone(pid):
    """Return whether a process has ended; its parent need not have waited for it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rsplit(")", 1)[1].split()[0] == "Z"


def children(pid):
    """Return the ids of all descendants of a process."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == pid:
            found += [int(stat.parent.name), *children(int(stat.parent.name))]
    return found


@pytest.fixture
def shown(path):
    """Yield a loop with a pendulum, and a function that starts a view and returns its messages."""
    views = []

    def start(loop, **options):
        said = []
        view = start_view(
            [loop.cast], loop, say=lambda *words: said.append(words), **{"port": 0, **options}
        )
        views.append(view)
        return view, said

    with ViewedLoop(path) as loop:
        yield loop, start
        for view in views:
            view.close()


@needs_viser
def test_a_view_has_low_priority_and_leaves_no_process(shown):
    loop, start = shown
    view, said = start(loop)
    assert view.wait(60.0), said
    assert said == [("info", f"view: {view.address}")]
    assert view.address.startswith("http://127.0.0.1:")
    assert os.getpriority(os.PRIO_PROCESS, view.pid) == os.getpriority(os.PRIO_PROCESS, 0) + 10
    assert os.sched_getscheduler(view.pid) == os.SCHED_OTHER
    assert os.getsid(view.pid) == view.pid  # Ctrl-C does not end the view
    assert view.pid in children(os.getpid())
    os.kill(view.pid, signal.SIGSTOP)  # the view now hangs
    view.close()
    view.close()
    assert gone(view.pid)
    assert not [t for t in threading.enumerate() if t.name.startswith("rbdyn-view")]
    assert len(said) == 1


@needs_viser
def test_a_killed_view_is_reported_once_and_the_simulation_continues(shown):
    loop, start = shown
    view, said = start(loop)
    assert view.wait(60.0), said
    os.kill(view.pid, signal.SIGKILL)
    wait_until(lambda: len(said) > 1, "the report")
    ((severity, message),) = said[1:]
    assert severity == "warning"
    assert "(Killed)" in message
    assert not view.address
    tick = loop.loop.time.tick
    wait_until(lambda: loop.loop.time.tick > tick + 10, "time to resume")


@needs_viser
@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"address": "203.0.113.7"}, "203.0.113.7"),
        ({"address": "example"}, "'example'"),
        ({"port": 99999}, "99999"),
    ],
)
def test_a_view_that_cannot_serve_reports_the_reason(shown, options, found):
    loop, start = shown
    view, said = start(loop, **options)
    assert not view.wait(60.0)
    wait_until(lambda: not view.alive, "the end of the view")
    assert len(said) == 1
    assert said[0][0] == "warning"
    assert found in said[0][1]


MESH = '<visual><geometry><mesh filename="{}"/></geometry></visual>'


@needs_viser
def test_unusable_meshes_cause_one_warning(shown, tmp_path):
    """Two of the files are missing, and the third file contains no mesh."""
    loop, start = shown
    (tmp_path / "empty.stl").write_bytes(b"no mesh")
    names = ["gone.stl", "lost.stl", "empty.stl"]
    shapes = "".join(map(MESH.format, names))
    text = loop.cast.text.replace("</link>", f"{shapes}</link>", 1)
    loop.cast = replace(loop.cast, text=text, path=tmp_path / "pendulum.urdf")
    view, said = start(loop)
    assert view.wait(60.0), said
    wait_until(lambda: len(said) > 1, "the warning")
    (_, (severity, warning)) = said
    assert severity == "warning"
    assert warning.startswith("appearance of 'pendulum':\n  ")
    for name in names:
        assert name in warning
    view.close()
    assert len(said) == 2


@needs_viser
def test_an_unreadable_appearance_causes_one_warning(shown):
    loop, start = shown
    # no such file exists when the view reads the appearance
    loop.cast = replace(loop.cast, text="", path=Path("gone.yaml"))
    view, said = start(loop)
    assert view.wait(60.0), said
    wait_until(lambda: len(said) > 1, "the warning")
    ((_, warning),) = said[1:]
    assert "gone.yaml" in warning


def test_a_warning_lists_the_first_findings_and_counts_the_others():
    def odd(count):
        return [rb.Finding("x", f"{k} is odd", "warning") for k in range(count)]

    assert not warning_of({"left": [], "right": []})
    assert warning_of({"left": [], "right": odd(1)}) == "appearance of 'right':\n  0 is odd"
    many = warning_of({"alone\n": odd(MOST_WARNINGS + 3), "left": odd(1)}).splitlines()
    assert many[0] == r"appearance of 'alone\n':"
    assert many[MOST_WARNINGS:] == [
        f"  {MOST_WARNINGS - 1} is odd",
        "  and 3 more",
        "appearance of 'left':",
        "  0 is odd",
    ]


@needs_viser
def test_a_view_reports_an_error_in_a_file_of_the_user(shown, tmp_path):
    loop, start = shown
    broken = tmp_path / "types.py"
    broken.write_text("raise LookupError('no such cam')")
    loop.cast = Cast("", loop.cast.description, imports=(broken,))
    view, said = start(loop)
    assert not view.wait(60.0)
    ((severity, message),) = said
    assert severity == "warning"
    assert message.endswith("LookupError('no such cam')")


def test_a_view_without_viser_is_refused(monkeypatch):
    monkeypatch.setattr(spawned.importlib.util, "find_spec", lambda _: None)
    with refused(rb.ParameterError, spawned.MISSING):
        start_view([], Echo())


@needs_viser
@pytest.mark.parametrize("serving", [True, False])
def test_a_view_ends_when_its_parent_is_killed(tmp_path, path, serving):
    script = tmp_path / "parent.py"  # no __main__ guard, so a view may not import it
    script.write_text(
        textwrap.dedent(f"""
        import sys, time
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from loop_stand_in import ViewedLoop
        from rbdyn_ros.view.live.process import start_view
        loop = ViewedLoop({str(path)!r})
        view = start_view([loop.cast], loop, port=0)
        {"view.wait(60.0)" if serving else ""}
        print(view.pid, flush=True)
        time.sleep(60.0)
        """)
    )
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    try:
        pid = int(parent.stdout.readline())
        assert not gone(pid)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    began = time.monotonic()
    wait_until(lambda: gone(pid), "the view to end")
    assert time.monotonic() - began < 30.0
