# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn bench`: time the dynamics of a robot on this machine."""

import argparse
import json
import platform
import statistics
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rbdyn_ros.commands.line import common
from rbdyn_ros.commands.line.parser import Commands
from rbdyn_ros.machine import cores, processor
from rbdyn_ros.share import bundled_robot

if TYPE_CHECKING:
    from rbdyn_ros.measuring.peers import Peer
    from rbdyn_ros.model.model import Model

LONGEST = 3600.0  # largest value of --seconds
EPILOG = """\
Examples:
  rbdyn bench                            a bundled arm
  rbdyn bench robot.urdf --floating-base
  rbdyn bench robot.urdf --seconds 20 --json > bench.json

MuJoCo and Pinocchio are timed too, in turns in the same process, if they are installed and load
the robot. All runs start at rest at the initial position of the robot.
Exit status: 0 if the robot was timed, 1 if it is refused, 2 if compilation is switched off."""


def add_bench(commands: Commands) -> None:
    command = commands.add_parser(
        "bench", help="time the dynamics of a robot against MuJoCo and Pinocchio", epilog=EPILOG
    )
    common.add_robot(command, nargs="?", more="; default: a bundled arm")
    command.add_argument(
        "--seconds",
        type=_seconds,
        default=5.0,
        help="approximate duration of the measurement [s] (default: %(default)s)",
    )
    common.flag(command, "--json", "print JSON")
    command.set_defaults(run=_bench)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.0 < seconds <= LONGEST:
        raise argparse.ArgumentTypeError(f"got '{text[:20]}', expected up to {LONGEST:g} s")
    return seconds


def _bench(options: argparse.Namespace) -> int:
    from rbdyn_ros.engine.compiler.jit import DISABLED
    from rbdyn_ros.measuring.peers import peers
    from rbdyn_ros.measuring.turns import our_jobs

    if DISABLED:
        text = "NUMBA_DISABLE_JIT is set, so nothing is compiled; unset it to time compiled code"
        return common.report_error("bench", text, common.USAGE)
    common.run_imports(options.imports)
    with common.refusing("bench", common.REFUSED):
        m, urdf, refusal = _robot(options)
    others = peers(urdf, options.floating_base, m.opt.timestep, refusal)
    rows = _timed(our_jobs(m), others, options.seconds)
    found = _found(m, others, rows)
    print(json.dumps(found, indent=2, allow_nan=False) if options.json else bench_text(found))
    return common.DONE


def _robot(options: argparse.Namespace) -> "tuple[Model, str, str]":
    """Return the robot, its URDF, and the reason why other engines cannot load it, or ""."""
    m, found = common.loaded_robot(options, options.robot or bundled_robot("seven_dof_arm"))
    if found is None or found.is_scene or not found.text:
        return m, "", "it reads URDF, but this robot has another format"
    floor = "only rbdyn_ros would simulate contact with the floor"
    return m, found.text, floor if options.contact else ""


def _timed(
    ours: dict[str, Any], others: "Iterable[Peer]", seconds: float
) -> dict[str, list[list[float]]]:
    """Return for each function lists with a time [us] per round: ours, then each peer's."""
    from rbdyn_ros.measuring.turns import ROUNDS, in_turns
    from rbdyn_ros.report.progress import bar

    jobs = {
        name: [ours[name], *(peer.jobs[name] for peer in others if name in peer.jobs)]
        for name in ours
    }
    turn = seconds / (ROUNDS * sum(map(len, jobs.values())))
    rows = {}
    with bar(ROUNDS * len(jobs), desc="timing", unit="round") as shown:
        for name, row in jobs.items():
            shown.set_postfix_str(name, refresh=False)
            rows[name] = in_turns(row, turn, after_round=shown.update)
    return rows


def _found(m: "Model", others: "list[Peer]", rows: dict[str, list[list[float]]]) -> dict[str, Any]:
    """Return the result as the dictionary that `--json` prints."""
    from rbdyn_ros.measuring.turns import median_ratio

    times = []
    for name, (ours, *theirs) in rows.items():
        having = [peer for peer in others if name in peer.jobs]
        beside = {
            peer.name: {
                "call": peer.calls[name],
                "us": statistics.median(row),
                "ratio": median_ratio(row, ours),
            }
            for peer, row in zip(having, theirs, strict=True)
        }
        times.append({"name": name, "us": statistics.median(ours), "peers": beside})
    return {
        "robot": m.name,
        "nq": m.nq,
        "nv": m.nv,
        "processor": processor(),
        "cores": cores(),
        "python": platform.python_version(),
        "times": times,
        "peers": [
            {"name": peer.name, "nv": peer.nv, "refusal": peer.refusal or None} for peer in others
        ],
    }


def bench_text(found: dict[str, Any]) -> str:
    """Return the result as a table for the terminal."""
    there = [peer for peer in found["peers"] if not peer["refusal"]]
    names = "".join(f"{peer['name']:>26}" for peer in there)
    machine = f"{found['processor']}, {found['cores']} cores, Python {found['python']}"
    lines = [
        f"robot '{found['robot']}', nq {found['nq']}, nv {found['nv']}; {machine}",
        "",
        f"{'median time of a call or step':<30}{'rbdyn_ros':>12}{names}".rstrip(),
    ]
    for row in found["times"]:
        cells = [_cell(row["peers"].get(peer["name"])) for peer in there]
        lines.append(f"{row['name']:<30}{row['us']:>9.2f} us{''.join(cells)}".rstrip())
    return "\n".join([*lines, "", *_notes(found, there)])


def _cell(one: dict[str, Any] | None) -> str:
    return " " * 26 if one is None else f"{one['us']:>12.2f} us  x{one['ratio']:<6.2f}".rjust(26)


def _notes(found: dict[str, Any], there: list[dict[str, Any]]) -> list[str]:
    notes = [_FAIR] if there else []
    if any(peer["name"].startswith("MuJoCo") for peer in there):
        notes.append(_MUJOCO)
    notes += [
        f"{peer['name']} has nv {peer['nv']}: it moves mimic joints freely."
        for peer in there
        if peer["nv"] != found["nv"]
    ]
    refused = [peer for peer in found["peers"] if peer["refusal"]]
    return notes + [f"{peer['name']} is not timed: {peer['refusal']}." for peer in refused]


_FAIR = """\
x is their time divided by ours (median over rounds in turns): above 1, rbdyn_ros is faster. Every
number includes the call from Python; step(m, d, n) takes many steps in one call."""
_MUJOCO = """\
MuJoCo: fixed links fused, Euler, no contact, no constraints; mj_inverse also computes M."""
