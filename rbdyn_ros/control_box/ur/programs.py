# SPDX-License-Identifier: Apache-2.0
"""Start uploaded programs that are recognised; refuse other programs, naming their first line."""

from rbdyn_ros.control_box.ur.control_script import ControlScript
from rbdyn_ros.control_box.ur.dashboard import LOCKED, DashboardSession
from rbdyn_ros.control_box.ur.external_control import ExternalControl
from rbdyn_ros.control_box.ur.robot import UrRobot
from rbdyn_ros.control_box.ur.statements import StatementRow
from rbdyn_ros.errors import quote

#: Programs of one line, and the command of the dashboard that each of them means.
WORDS = {
    "power on": "power on",
    "power off": "power off",
    "set robotmode run": "brake release",
    "set unlock protective stop": "unlock protective stop",
    "stop program": "stop",
}


def start_program(robot: UrRobot, text: str) -> None:
    """Start a program that a client uploaded, or execute a line of WORDS; log a refusal."""
    if word := WORDS.get(text.strip()):
        if word == "stop" and robot.program is None:
            return
        answer = DashboardSession(robot).answer(word)
        if answer == LOCKED or answer.startswith("Failed"):
            robot.say(f"{quote(text.strip())} is refused: {answer}")
        return
    try:
        program = ControlScript.read(text) or ExternalControl.read(text) or StatementRow.read(text)
    except ValueError as error:
        first = next((line.strip() for line in text.splitlines() if line.strip()), "")
        robot.say(f"the program that begins with {quote(first)} is not supported: {error}")
        return
    robot.start(program)
