# SPDX-License-Identifier: Apache-2.0
"""Import the nodes, then fork for each request of `support.processes`.

`python zygote.py FD` serves requests from the socket FD until the socket's other end is closed. A
fork is a child of the requesting process, and runs like `python -c CODE ARGUMENTS`.
"""

import atexit
import contextlib
import gc
import json
import os
import signal
import socket
import sys
import threading
import types
from pathlib import Path

#: Largest request [bytes]: larger than any environment.
LONGEST = 1 << 20
#: Message packages that nodes open after their start.
MESSAGES = ("rcl_interfaces", "lifecycle_msgs", "type_description_interfaces", "std_msgs")
MESSAGES += ("std_srvs", "sensor_msgs", "geometry_msgs", "trajectory_msgs", "diagnostic_msgs")
MESSAGES += ("visualization_msgs", "nav_msgs", "rosgraph_msgs", "tf2_msgs", "control_msgs")
MESSAGES += ("rbdyn_interfaces", "simulation_interfaces")


def main():
    """Serve requests until the socket closes; in a forked process, return the code to run."""
    sys.path[0] = ""  # python -c sets the same value
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # each forked child unblocks it
    prepare()
    from rbdyn_ros.trials.processes.ending import Tracer

    tracer = Tracer()
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        while True:
            data, files, _, _ = socket.recv_fds(asked, LONGEST, 2)
            if not data:
                sys.exit()
            if pid := fork(tracer):
                asked.send(str(pid).encode())
                for file in files:
                    os.close(file)
            else:
                break
    return become(json.loads(data), files)


def prepare():
    """Import the modules of the nodes, and load their common kernels."""
    import inspect

    import rbdyn_ros as rb
    import rbdyn_ros.cli
    import rbdyn_ros.ros.arm.node
    import rbdyn_ros.ros.simulator.node
    from rbdyn_ros.control.arm.arm import Arm
    from rbdyn_ros.control.arm.settings import ControlSettings
    from rbdyn_ros.control.base.limits import Limits
    from rbdyn_ros.control.controller import MODES, Controller
    from rbdyn_ros.control.states.gate import SafetyGate
    from rbdyn_ros.ros.arm.services import warm as warm_answers
    from rbdyn_ros.ros.common.queries.dynamics_query import warm as warm_queries
    from rbdyn_ros.runtime.loop import warm as warm_loop
    from rbdyn_ros.share import bundled_robot

    m = rb.load_urdf(Path(bundled_robot("seven_dof_arm")))
    warm_loop(m)
    warm_queries(m)
    arm = Arm(m)
    warm_answers(arm)
    for mode in MODES[1:]:
        Controller(arm, SafetyGate(m, Limits.of(m)), ControlSettings()).rehearse(mode)
    open_messages()
    inspect.getmodule(sys._getframe())  # import now what the first log message needs
    gc.collect()
    gc.freeze()


def open_messages():
    """Import the installed message packages, and load their libraries."""
    import importlib

    from rclpy.type_support import check_for_type_support

    for part in (f"{package}.{kind}" for package in MESSAGES for kind in ("msg", "srv", "action")):
        with contextlib.suppress(ImportError):
            for kind in vars(importlib.import_module(part)).values():
                if hasattr(kind, "__import_type_support__"):
                    check_for_type_support(kind)


def fork(tracer):
    """Fork a process that is no child of the server; return its id, or 0 in the new process."""
    sent, told = os.pipe()
    tracer.call("before_fork")
    middle = os.fork()
    if middle == 0:
        if pid := os.fork():
            os.write(told, str(pid).encode())
            os._exit(0)
        tracer.call("after_fork_child")
    else:
        os.waitpid(middle, 0)
        tracer.call("after_fork_parent")
        pid = int(os.read(sent, 20))
    os.close(sent)
    os.close(told)
    return pid


def become(request, files):
    """Apply a request's output, environment, folder and arguments; return its code."""
    for number, file in enumerate(files, 1):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = ["-c", *request["arguments"]]
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    return request["code"]


def run(code):
    """Run code as `python -c` does, but free no object at the end.

    To free objects would copy memory that the forks share, which takes longer than their start.
    """
    sys.modules["__main__"] = types.ModuleType("__main__")
    status, interrupted = 0, False
    try:
        exec(compile(code, "<string>", "exec"), sys.modules["__main__"].__dict__)
    except SystemExit as end:
        status = status_of(end.code)
    except BaseException as error:  # noqa: BLE001 - as Python itself does at its end
        sys.excepthook(*sys.exc_info())
        status, interrupted = 1, isinstance(error, KeyboardInterrupt)
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status)


def status_of(code):
    """Return the exit status that Python derives from the argument of `sys.exit`."""
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    print(code, file=sys.stderr)
    return 1


if __name__ == "__main__":
    run(main())
