# SPDX-License-Identifier: Apache-2.0
"""Compile port_client.c, a client of the shared memory, and read its output."""

from pathlib import Path

from support.c_compilers import STRICT, run

INCLUDE = Path(__file__).parents[2] / "rbdyn_hardware/include"


def build(folder):
    """Compile the program into a folder; return its path."""
    program, source = folder / "client", Path(__file__).with_name("port_client.c")
    words = ("-D_GNU_SOURCE", "-O1", "-ffp-contract=off", f"-I{INCLUDE}")
    run("gcc", *STRICT, *words, source, "-o", program)
    return program


def states_of(process):
    """Return the ticks that a client has printed, and the numbers of each state."""
    rows = [line.split() for line in process.communicate(timeout=300)[0].splitlines()]
    return [int(row[0]) for row in rows], [[*map(float.fromhex, row[2:])] for row in rows]
