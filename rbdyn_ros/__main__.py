"""The processes of this package; from their first line on, Ctrl-C ends them silently.

Everything else is imported later, as a KeyboardInterrupt during an import prints a traceback.
"""

import importlib
import os
import signal
import sys


def main() -> None:
    """Run the command `rbdyn`."""
    _end_at_ctrl_c(130)
    from rbdyn_ros.cli import main as run

    run()


def simulator() -> None:
    """Run the node of `ros2 run rbdyn_ros simulator`; Ctrl-C is its usual end."""
    _run_node("rbdyn_ros.ros.simulator.node")


def arm_controller() -> None:
    """Run the node of `ros2 run rbdyn_ros arm_controller`."""
    _run_node("rbdyn_ros.ros.arm.node")


def _run_node(module: str) -> None:
    _end_at_ctrl_c(0)
    try:
        node = importlib.import_module(module)
    except ImportError as error:
        from rbdyn_ros.ros import why_no_ros

        print(f"rbdyn: {why_no_ros(error)}", file=sys.stderr)
        sys.exit(2)
    node.main()


def _end_at_ctrl_c(status: int) -> None:
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # a shell's background process
        signal.signal(signal.SIGINT, lambda *_: os._exit(status))


if __name__ == "__main__":
    main()
