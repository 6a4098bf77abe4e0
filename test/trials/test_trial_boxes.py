# SPDX-License-Identifier: Apache-2.0
"""A trial's controller can be a program in another process that connects to a control box."""

import contextlib
import importlib.util
import os
import shutil
import socket
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.refusals import refused
from support.robots import find

import rbdyn_ros.trials.processes.box_run as br
from rbdyn_ros import read_run, trials
from rbdyn_ros.errors import DescriptionError, ParameterError, RbdynError
from rbdyn_ros.trials.processes import user_process
from rbdyn_ros.trials.processes.user_process import UserProcess
from rbdyn_ros.trials.processes.watched_run import WatchedRun
from rbdyn_ros.trials.trial import UserProgram, with_address

PROGRAM = Path(__file__).with_name("box_program.py")
TRIAL = """\
rbdyn_trial: 1
robot: {robot}
runs: 2
duration: 0.5
controller: {controller}
process: {{time: {time}}}
payload: {{link: panda_link7, mass: {{uniform: {{low: 0, high: 0.5}}}}}}
faults: {{command_drop: {{uniform: {{low: 0.02, high: 0.05}}}}}}
measures: {{swing: {{python: "swing.py:swing"}}}}
"""
MEASURES = """\
def swing(history):
    return abs(history.qpos[:, 3] - history.qpos[0, 3]).max()
"""
needs_client = pytest.mark.skipif(
    importlib.util.find_spec("pylibfranka") is None,
    reason='pylibfranka is not installed (pip install "rbdyn_ros[box-test]")',
)


def command(*words, box="franka"):
    return f"{{command: [{', '.join(words)}], box: {box}}}"


def of_box(folder, *words, controller="", robot="panda.urdf", time=300):
    """Return a trial whose controller is a program (`words`) at a control box."""
    (folder / "swing.py").write_text(MEASURES)
    shutil.copy(PROGRAM, folder)
    path = folder / "trial.yaml"
    own = command("python3", *words)
    path.write_text(TRIAL.format(robot=find(robot), controller=controller or own, time=time))
    return trials.load(path)


def is_running(word):
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process may have ended
            if word.encode() in file.read_bytes().split(b"\0"):
                return True
    return False


@needs_client
def test_two_trials_of_a_program_give_the_same_bits(tmp_path):
    found = of_box(tmp_path, "box_program.py", "127.0.0.1")
    there = trials.run(found, workers=2)
    assert [run.why for run in there.runs] == ["", ""]
    for run in there.runs:
        # the arm lags: its spring of 200 N m/rad has a time constant like that of the swing
        assert 0.03 < run.measures["swing"] < 0.1
    assert len({run.state for run in there.runs}) == 2
    recorded = tmp_path / "run.mcap"
    assert trials.record(found, 1, recorded) == there.runs[1]
    states = read_run(recorded)
    assert abs(states.qpos[:, 3] - states.qpos[1, 3]).max() == there.runs[1].measures["swing"]
    assert len(states.qpos) == 501  # time went on after the end of the program


@needs_client
@pytest.mark.parametrize(
    ("fault", "time", "status", "why"),
    [
        ("ends", 300, "crashed", "the program ended with status 1: I give up"),
        ("ends late", 300, "crashed", "the program ended with status 1: I give up"),
        ("waits", 15, "timeout", "after 15 s the "),
    ],
)
def test_the_result_of_a_run_says_what_its_program_did(tmp_path, fault, time, status, why):
    word = f"{600 + os.getpid()}.25"  # this number of seconds identifies the process
    words = f'"{fault}"', f'"{word}"'
    found = of_box(tmp_path, "box_program.py", "127.0.0.1", *words, time=time)
    (run,) = trials.run(trials.with_runs(found, 1), workers=1).runs
    assert run.status == status
    assert run.why.startswith(why)
    assert not is_running(word)  # the program's child has ended, too


@pytest.mark.parametrize(
    ("code", "time", "status", "why"),
    [
        ("pass", 60, "crashed", "the program ended with status 0; it never connected"),
        ("raise OSError('no arm')", 60, "crashed",
         "the program ended with status 1: OSError: no arm; it never connected"),
        ("import time; time.sleep(600)", 3, "timeout", "after 3 s the program has not connected"),
    ],
    ids=["ends", "raises", "hangs"],
)  # fmt: skip
def test_the_result_names_a_program_that_never_connects(tmp_path, code, time, status, why):
    controller = command("python3", "-c", f'"{code}"', "127.0.0.1")
    found = of_box(tmp_path, controller=controller, time=time)
    (run,) = trials.run(trials.with_runs(found, 1), workers=1).runs
    assert run.status == status
    assert run.why.startswith(why)


SENDER = """\
import socket, sys
with socket.create_connection((sys.argv[1], 30002)) as box:
    box.sendall(b"movej([0.1,-1.5708,-1.5708,-1.5708,1.5708,0.0], a=1.4, v=1.0)\\n")
"""


def of_ur(folder, code, duration=1.5, time=300):
    """Return a trial whose controller, a program `code`, sends a script to a UR box."""
    (folder / "sender.py").write_text(code)
    path = folder / "trial.yaml"
    path.write_text(
        f"rbdyn_trial: 1\nrobot: {find('ur5_robot.urdf')}\nruns: 2\nduration: {duration}\n"
        f"controller: {command('python3', 'sender.py', '127.0.0.1', box='ur')}\n"
        f"process: {{time: {time}}}\n"
        "start: {position: {shoulder_pan_joint: {uniform: {low: -0.01, high: 0.01}}}}\n"
        'measures: {turn: {python: "turn.py:turn"}}\n'
    )
    (folder / "turn.py").write_text("def turn(history):\n    return history.qpos[-1, 0]\n")
    return trials.load(path)


def test_a_script_moves_the_arm_after_its_sender_has_ended(tmp_path):
    found = trials.run(of_ur(tmp_path, SENDER), workers=2)  # two boxes run at a time
    assert [run.why for run in found.runs] == [""] * 2
    for run in found.runs:
        assert run.measures["turn"] == pytest.approx(0.1, abs=0.02)


def test_a_run_fails_if_its_sender_fails_after_sending_the_script(tmp_path):
    # the sender fails long after it has left the box, when the simulation has ended
    code = SENDER + "import time; time.sleep(3); sys.exit('no result')\n"
    (run,) = trials.run(trials.with_runs(of_ur(tmp_path, code), 1), workers=1).runs
    assert run.status == "crashed"
    assert run.why == "the program ended with status 1: no result"


def test_a_busy_port_selects_the_next_address_until_none_is_left(tmp_path):
    found = of_ur(tmp_path, SENDER)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind((br._address(0), 30004))
        other.listen()
        simulation, address = br._simulation(found, found.m, 0, found.m.qpos0, print)
        simulation.close()
        assert address == br._address(1)
        with socket.socket() as second:
            second.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            second.bind((address, 30004))
            second.listen()
            with refused(RbdynError, "port-taken"):
                br._simulation(found, found.m, 0, found.m.qpos0, print)


def test_repeated_states_and_states_after_the_run_are_not_measured(tmp_path):
    found = of_box(tmp_path, controller=command("a", "127.0.0.1"))
    watched, m = WatchedRun(found, 0), found.m
    zero = np.zeros(m.nv)

    def take(tick):
        state = SimpleNamespace(
            tick=tick, fault=-1, qpos=m.qpos0, qvel=zero, effort=zero, act=np.zeros(0)
        )
        return watched.take(state)

    assert [take(tick) for tick in (0, 1, 1, found.nstep, found.nstep + 1)] == [
        True, True, False, True, False,
    ]  # fmt: skip


def test_the_recording_opens_when_the_program_has_started(tmp_path):
    found = of_box(tmp_path, controller=command("python3", "-c", "1", "127.0.0.1"))
    order = []

    @contextlib.contextmanager
    def watching():
        order.append(threading.active_count())
        yield lambda _: None

    before = threading.active_count()
    assert br.run_boxed(found, 0, watching=watching).status == "crashed"
    assert order == [before]


def test_only_the_end_of_a_long_output_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(user_process, "OUTPUT", 1000)
    code = "print(9999 * 'x' + chr(10) + 'the end', flush=True); input()"
    program = UserProgram(("python3", "-c", code), box="franka")
    with UserProcess(program, tmp_path, 2048) as user:
        while user.status is None:
            time.sleep(0.01)
        user.trim()
        assert (tmp_path / "program.txt").stat().st_size == 1000
        assert "EOFError" in user.ended()


def test_the_message_about_a_signal_without_a_name_has_its_number(tmp_path):
    code = "import os; os.kill(os.getpid(), 40)"
    with UserProcess(UserProgram(("python3", "-c", code), box="ur"), tmp_path, 2048) as user:
        while user.status is None:
            time.sleep(0.01)
        assert user.ended() == "the program was ended by signal 40"


@pytest.mark.parametrize(
    ("controller", "code"),
    [
        ("{command: [a, 127.0.0.1]}", "missing-key"),
        ("{law: pd, stiffness: 1, damping: 1, box: franka}", "unknown-key"),
        (command("a", "127.0.0.1", box="frank"), "bad-box"),
        (command("a", "127.0.0.1", box="ur"), "bad-box"),
        (command("a", "127.0.0.1", box="franka@127.0.0.2"), "bad-command"),
        (command("a"), "bad-command"),
        (command("a", "127.0.0.10"), "bad-command"),
        (command("a", "127.0.0.1", box="franka@."), "bad-box"),
        (command("a", "999.1", box="franka@999.1"), "bad-box"),
        ('{command: [a, 127.0.0.1], box: ""}', "bad-value"),
        ("{command: [a, 127.0.0.1], box: franka, rate: 500}", "bad-rate"),
    ],
)
def test_an_invalid_box_is_refused_with_its_line(tmp_path, controller, code):
    with refused(DescriptionError, code):
        of_box(tmp_path, controller=controller)


def test_a_missing_program_is_refused_before_the_first_run(tmp_path):
    found = of_box(tmp_path, controller=command("nowhere", "127.0.0.1"))
    with refused(ParameterError, "no-program"):
        trials.run(found, workers=1)


def test_the_digest_covers_the_address_of_the_box_even_if_it_is_the_default(tmp_path):
    digests = [
        of_box(tmp_path, controller=command("a", "127.0.0.1", "127.0.0.2", box=box)).digest
        for box in ("franka", "franka@127.0.0.1", "franka@127.0.0.2")
    ]
    assert digests[0] == digests[1] != digests[2]


def test_a_scene_with_another_arm_is_refused(tmp_path):
    robot = find("panda.urdf")
    (tmp_path / "cell.yaml").write_text(
        f"rbdyn_scene: 1\nrobots:\n  left: {{file: {robot}}}\n"
        f"  right: {{file: {robot}, xyz: [1, 0, 0]}}\n"
    )
    (tmp_path / "two.yaml").write_text(
        "rbdyn_trial: 1\nrobot: cell.yaml\nduration: 0.5\n"
        "controller: {command: [a, 127.0.0.1], box: left/franka}\n"
    )
    with refused(DescriptionError, "bad-box", line=4):
        trials.load(tmp_path / "two.yaml")


def test_only_whole_addresses_in_a_command_are_replaced():
    words = ("127.0.0.10", "--at=127.0.0.1:1337", "1127.0.0.1", "127.0.0.1")
    assert with_address(words, "127.0.0.1", "127.9.9.9") == (
        "127.0.0.10", "--at=127.9.9.9:1337", "1127.0.0.1", "127.9.9.9",
    )  # fmt: skip
