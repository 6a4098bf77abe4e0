# SPDX-License-Identifier: Apache-2.0
"""The layout of the memory that a loop shares with another process, defined once.

All numbers have eight bytes: integers, or floating-point numbers. `c_header` writes the constants
for the other side. The memory begins with the words of HEAD. The names of joints and sensor values
follow, of NAME bytes each with a zero at the end; then the kinds of the joints; then the slots of
states, commands and sensor values.

A state has the words of STATE, then positions, velocities and efforts of all joints. A command
has the words of COMMAND, then for all joints the modes, positions, velocities, efforts,
stiffnesses and dampings.
"""

from collections.abc import Iterator

#: Bytes "RBDYNSHM", and the version of this layout; every change of this file makes a new version.
MAGIC, VERSION = int.from_bytes(b"RBDYNSHM", "little"), 2
#: Bytes of a name, with the terminating zero.
NAME = 128
#: Numbers with a larger magnitude are refused.
LARGEST = 1e9

HEAD = {
    "magic": "MAGIC, written last",
    "version": "VERSION",
    "size": "size of the memory [bytes]",
    "joints": "number of joints",
    "values": "number of sensor values",
    "period": "length of a tick [ns]",
    "time_mode": "0 real time, 1 lock-step, 2 as fast as possible",
    "timeout": "age at which a command expires [ns]",
    "server": "process that made the memory",
    "client": "process that uses it; 0: none",
    "closed": "1: the server has ended",
    "refused": "number of refused commands",
    "refused_joint": "joint of the last refused command, or -1",
    "refused_reason": "reason of this refusal: 1 mode, 2 joint without commands, 3 number, 4 age",
    "names_at": "offset of the names of joints, then of sensor values [bytes]",
    "kinds_at": "offset of the joints' kinds: 1 accepts commands, 0 state only",
    "states_at": "offset of the slots of states",
    "state_stride": "length of a slot [numbers]",
    "state_depth": "number of slots",
    "commands_at": "offset of the slots of commands",
    "command_stride": "length of a slot [numbers]",
    "command_depth": "number of slots",
    "values_at": "offset of the slots of sensor values",
    "value_stride": "length of a slot [numbers]: the tick, then the values",
    "value_depth": "number of slots",
    "state_version": "number of the newest state; it is in slot version % depth",
    "command_version": "number of the newest command",
    "value_version": "number of the newest sensor values",
}
STATE = {
    "tick": "tick of the measurement",
    "epoch": "number of resets of time and of loaded states",
    "paused": "1: time is paused",
    "fault": "joint of the Model that diverged, or -1",
    "stale": "number of dofs without a command in force",
    "wall": "time of writing, CLOCK_MONOTONIC [ns]",
    "time": "simulated time [s], a floating-point number",
}
COMMAND = {
    "tick": "tick of the state that the command answers; counts in lock-step",
    "wall": "time of writing, CLOCK_MONOTONIC [ns]",
}
#: Modes of a joint in a command; -1: no command. See runtime/types.py for the other modes.
MODES = {"none": -1, "effort": 0, "position": 1, "velocity": 2, "impedance": 3}

HEAD_WORDS = 64  # the versions have cache lines of their own
STATE_WORDS, COMMAND_WORDS = len(STATE), len(COMMAND)
STATE_DEPTH, COMMAND_DEPTH = 8, 4

#: Index of each word of HEAD; each version has a cache line of its own.
HEAD_AT = {name: k for k, name in enumerate(HEAD)} | {
    "state_version": 40,
    "command_version": 48,
    "value_version": 56,
}
(STATE_TICK, STATE_EPOCH, STATE_PAUSED, STATE_FAULT, STATE_STALE, STATE_WALL, STATE_TIME) = range(
    STATE_WORDS
)
COMMAND_TICK, COMMAND_WALL = range(COMMAND_WORDS)
REFUSED, REFUSED_JOINT, REFUSED_REASON = (
    HEAD_AT[name] for name in ("refused", "refused_joint", "refused_reason")
)
BAD_MODE, BAD_JOINT, BAD_NUMBER, LATE = 1, 2, 3, 4
REASONS = 5

#: Number of words at the beginning of the loop's table, which the other process cannot write:
#: addresses, lengths, counters, the largest age of a state that a command may answer (wall time
#: [ns]; 0: unlimited), and the reason of the last refusal (REASONS * joint + reason). For each
#: joint its entry in qvel_all and the dof of its commands, or -1, follow.
TABLE = 19
(
    T_JOINTS,
    T_STATE_VERSION,
    T_STATE_SLOTS,
    T_STATE_STRIDE,
    T_STATE_DEPTH,
    T_COMMAND_VERSION,
    T_COMMAND_SLOTS,
    T_COMMAND_STRIDE,
    T_COMMAND_DEPTH,
    T_RECORD,
    T_SHOWN,
    T_CLIENT,
    T_WRITTEN,
    T_SEEN,
    T_ANSWER,
    T_ACCEPTED,
    T_LATE,
    T_REFUSED,
    T_WHY,
) = range(TABLE)


def c_header() -> str:
    """Return the text of the C and C++ header with these constants."""
    return "".join(f"{line}\n" for line in _c_lines())


def _c_lines() -> Iterator[str]:
    yield "// SPDX-License-Identifier: Apache-2.0"
    yield "/* The layout of the memory that a simulator of rbdyn_ros shares with another process."
    yield " * Written by `python -m rbdyn_ros.runtime.port_layout`, whose docstring describes it;"
    yield " * do not edit. */"
    yield "#ifndef RBDYN_HARDWARE__LAYOUT_H_"
    yield "#define RBDYN_HARDWARE__LAYOUT_H_"
    yield ""
    yield f"#define RBDYN_MAGIC {MAGIC:#x}LL"
    numbers = {"version": VERSION, "name": NAME, "head_words": HEAD_WORDS}
    numbers |= {"state_words": STATE_WORDS, "command_words": COMMAND_WORDS}
    yield from (f"#define RBDYN_{name.upper()} {number}" for name, number in numbers.items())
    yield ""
    yield from _enum("HEAD", HEAD_AT, HEAD)
    yield from _enum("STATE", dict(zip(STATE, range(STATE_WORDS), strict=True)), STATE)
    yield from _enum("COMMAND", dict(zip(COMMAND, range(COMMAND_WORDS), strict=True)), COMMAND)
    yield from _enum("MODE", MODES, {})
    yield "#endif  /* RBDYN_HARDWARE__LAYOUT_H_ */"


def _enum(group: str, numbers: dict[str, int], docs: dict[str, str]) -> Iterator[str]:
    yield "enum {"
    for name, number in numbers.items():
        comment = f"  /* {docs[name]} */" if name in docs else ""
        yield f"  RBDYN_{group}_{name.upper()} = {number},{comment}"
    yield "};"
    yield ""


if __name__ == "__main__":
    print(c_header(), end="")
