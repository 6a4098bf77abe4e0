# SPDX-License-Identifier: Apache-2.0
"""The dashboard, whose lines of text switch the power and start and stop programs.

Source: Universal Robots, Dashboard server e-Series.
"""

from collections.abc import Callable

from rbdyn_ros.control_box.sockets import Session
from rbdyn_ros.control_box.ur.modes import VERSION, RobotMode, RuntimeState, SafetyMode
from rbdyn_ros.control_box.ur.robot import UrRobot
from rbdyn_ros.errors import quote

DASHBOARD_PORT = 29999
#: Longest line [bytes].
LONGEST = 4096
SERIAL = "20240000000"
_GREETING = "Connected: Universal Robots Dashboard Server"
_NUMBERS = ".".join(map(str, VERSION))
#: The answer to `unlock protective stop` that comes too early.
LOCKED = (
    "Cannot unlock protective stop until 5s after occurrence. Always inspect cause of protective "
    "stop before unlocking"
)


class DashboardSession(Session):
    """The conversation with a client.

    Args:
        robot: the robot that the client commands.

    Attributes:
        quits: whether the client sent quit, so that its connection ends after the answer.
    """

    def __init__(self, robot: UrRobot) -> None:
        super().__init__(f"{_GREETING}\n".encode())
        self._robot = robot
        self._pending, self._loaded = b"", ""
        self._words: dict[str, Callable[[str], str]] = {
            "load installation": lambda name: f"Loading installation: {name}",
            "load": self._load,
            "play": self._play,
            "stop": self._stop,
            "pause": self._pause,
            "quit": self._quit,
            "shutdown": self._shut_down,
            "running": lambda _: f"Program running: {self._state == 'PLAYING'}".lower()
            .replace("program", "Program"),
            "robotmode": lambda _: f"Robotmode: {robot.mode.name}",
            "get loaded program": self._tell_loaded,
            "popup": self._pop_up,
            "close popup": lambda _: "closing popup",
            "close safety popup": lambda _: "closing safety popup",
            "addToLog": self._add_to_log,
            "isProgramSaved": lambda _: f"True {self._program}",
            "programState": lambda _: f"{self._state} {self._program}",
            "PolyscopeVersion": lambda _: f"URSoftware {_NUMBERS} (Jan 01 2026)",
            "version": lambda _: _NUMBERS,
            "setUserRole": lambda role: f"Setting user role: {role}",
            "getUserRole": lambda _: "NONE",
            "power on": lambda _: self._power("Powering on", RobotMode.IDLE),
            "power off": lambda _: self._power("Powering off", RobotMode.POWER_OFF),
            "brake release": lambda _: self._release(),
            "unlock protective stop": self._unlock,
            "restart safety": self._restart_safety,
            "safetymode": lambda _: f"Safetymode: {robot.safety.name}",
            "safetystatus": lambda _: f"Safetystatus: {robot.safety.name}",
            "get serial number": lambda _: SERIAL,
            "get robot model": lambda _: robot.arm.model,
            "is in remote control": lambda _: "true",
            "get operational mode": lambda _: "NONE",
            "set operational mode": lambda mode: f"Operational mode {quote(mode)} is set",
            "clear operational mode": lambda _: "operational mode is no longer controlled by "
            "Dashboard Server",
        }  # fmt: skip

    def request(self, data: bytes) -> None:
        """Process bytes of the client.

        Raises:
            ValueError: the bytes are not lines of text.
        """
        self._pending += data
        *lines, self._pending = self._pending.split(b"\n")
        if len(self._pending) > LONGEST:
            raise ValueError(f"a line has more than {LONGEST} bytes")
        for line in lines:
            if self.quits:
                break
            self.push(f"{self.answer(line.decode(errors='replace').strip())}\n".encode())

    def answer(self, line: str) -> str:
        """Execute a line; return the answer."""
        for word, serve in self._words.items():
            if line == word or line.startswith(f"{word} "):
                return serve(line[len(word) :].strip())
        return f'could not understand: "{line}"'

    @property
    def _state(self) -> str:
        return self._robot.runtime.name

    @property
    def _program(self) -> str:
        program = self._robot.program
        return program.name if program is not None else self._loaded or "<unnamed>"

    def _load(self, name: str) -> str:
        if not name.endswith((".urp", ".urpx")):
            return f"File not found: {name}"
        self._loaded = name
        return f"Loading program: {name}"

    def _tell_loaded(self, _: str) -> str:
        return f"Loaded program: {self._loaded}" if self._loaded else "No program loaded"

    def _play(self, _: str) -> str:
        if self._robot.runtime == RuntimeState.PAUSED:
            self._robot.paused = False
            return "Starting program"
        ready = self._robot.mode == RobotMode.RUNNING and self._robot.safety == SafetyMode.NORMAL
        if not (ready and self._loaded and self._robot.program is None):
            return "Failed to execute: play"
        self._robot.note(
            f"program {quote(self._loaded)} is a file of the controller; this box takes it for "
            "External Control, and asks a client for its program"
        )
        self._robot.plays = True
        return "Starting program"

    def _stop(self, _: str) -> str:
        if self._robot.program is None:
            return "Failed to execute: stop"
        self._robot.stop_program()
        return "Stopped"

    def _pause(self, _: str) -> str:
        if self._robot.runtime != RuntimeState.PLAYING:
            return "Failed to execute: pause"
        self._robot.paused = True
        return "Pausing program"

    def _quit(self, _: str) -> str:
        self.quits = True
        return "Disconnected"

    def _shut_down(self, _: str) -> str:
        self._robot.power(RobotMode.POWER_OFF)
        return "Shutting down"

    def _power(self, answer: str, mode: RobotMode) -> str:
        if not (mode == RobotMode.IDLE and self._robot.mode == RobotMode.RUNNING):
            self._robot.power(mode)
        return answer

    def _release(self) -> str:
        # as the vendor's box does, this also switches the power on
        if self._robot.mode == RobotMode.POWER_OFF:
            self._robot.power(RobotMode.IDLE)
        self._robot.power(RobotMode.RUNNING)
        return "Brake releasing"

    def _unlock(self, _: str) -> str:
        return "Protective stop releasing" if self._robot.unlock() else LOCKED

    def _restart_safety(self, _: str) -> str:
        if self._robot.safety in (SafetyMode.VIOLATION, SafetyMode.FAULT):
            self._robot.safety = SafetyMode.NORMAL
        return "Restarting safety"

    def _pop_up(self, text: str) -> str:
        self._robot.note(f"popup: {quote(text)}")
        return "showing popup"

    def _add_to_log(self, text: str) -> str:
        self._robot.note(f"log of the controller: {quote(text)}")
        return "Added log message"
