# SPDX-License-Identifier: Apache-2.0
"""Start the processes of this package so that signals always end them without a traceback.

Everything else is imported later, because a KeyboardInterrupt during an import would print a
traceback.
"""

import importlib
import os
import signal
import sys

#: Answer of a node to --help; {0} is the name of the node, {1} is a parameter of the node.
HELP = """usage: ros2 run rbdyn_ros {0} --ros-args -p {1} [-p NAME:=VALUE ...]

docs/reference/{0}.md has all parameters. While the node runs, `ros2 param list /{0}` lists
them, and `ros2 param describe /{0} NAME` explains one."""

ROBOT = "urdf:=/path/robot.urdf"


def main() -> None:
    """Run the command `rbdyn`."""
    _end_at(130, signal.SIGINT)
    from rbdyn_ros.cli import main as run

    run()


def simulator() -> None:
    """Run the node of `ros2 run rbdyn_ros simulator`."""
    _run_node("simulator", "rbdyn_ros.ros.simulator.node", ROBOT)


def arm_controller() -> None:
    """Run the node of `ros2 run rbdyn_ros arm_controller`."""
    _run_node("arm_controller", "rbdyn_ros.ros.arm.node", ROBOT)


def policy_node() -> None:
    """Run the node of `ros2 run rbdyn_ros policy_node`."""
    _run_node("policy_node", "rbdyn_ros.ros.policy.node", "policy:=/path/walk.yaml")


def _run_node(name: str, module: str, example: str) -> None:
    _end_at(0, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    if not {"-h", "--help"}.isdisjoint(sys.argv[1:]):
        print(HELP.format(name, example))
        return
    try:
        node = importlib.import_module(module)
    except ImportError as error:
        from rbdyn_ros.ros import why_no_ros

        print(f"rbdyn: {why_no_ros(error)}", file=sys.stderr)
        sys.exit(2)
    node.main()


def _end_at(status: int, *numbers: signal.Signals) -> None:
    """Let signals end this process with `status`, unless `&` or nohup made it ignore them."""
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: os._exit(status))


if __name__ == "__main__":
    main()
