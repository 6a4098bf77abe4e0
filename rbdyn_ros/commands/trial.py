# SPDX-License-Identifier: Apache-2.0
"""The command `rbdyn trial`: test a controller in many seeded runs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rbdyn_ros.commands.line import common
from rbdyn_ros.commands.line.parser import Commands
from rbdyn_ros.errors import ParameterError, RbdynError, counted

if TYPE_CHECKING:
    from rbdyn_ros.trials.running import Results
    from rbdyn_ros.trials.simulation.runs import Run
    from rbdyn_ros.trials.trial import Trial

RECORDED_FILE = common.FileOf((".mcap",))

EPILOG = """\
Examples:
  rbdyn trial trial.yaml
  rbdyn trial trial.yaml --runs 10000 --workers 8 --out results
  rbdyn trial trial.yaml --seed 17 --view

The folder of results has report.html, junit.xml, verdict.json, runs.jsonl and, if pyarrow is
installed, runs.parquet; failures/ has the recordings of the worst failed runs. An interrupted
trial continues from this folder. Trial files name Python files, which run with all your rights.
Exit status: 0 if the trial passed (or the run of --seed), 1 if it failed, is undecided or refused,
2 if the command line or an output file is refused, 130 after Ctrl-C."""


def add_trial(commands: Commands) -> None:
    command = commands.add_parser(
        "trial", help="test a controller in many seeded runs", epilog=EPILOG
    )
    command.add_argument("trial", type=common.FileOf((".yaml", ".yml")), help="a trial .yaml file")
    common.add_options(
        command,
        ("--out", common.folder_path, "DIR",
            "folder of the results (default: the name of the file and '_results')"),
        ("--runs", int, "N", "number of runs, instead of the number in the file"),
        ("--workers", int, "N", "number of processes (default: one per core)"),
        ("--ray", str, "ADDRESS",
            "simulate on a Ray cluster: auto, HOST:PORT of 'ray start', or ray://HOST:PORT"),
    )  # fmt: skip
    common.flag(command, "--fresh", "delete earlier results instead of continuing them")
    common.add_options(
        command,
        ("--seed", int, "SEED", "repeat only the run of this seed, and print it"),
        ("--record", RECORDED_FILE, "RUN.mcap", "record the run of --seed"),
    )
    common.flag(command, "--view", "record the run of --seed and show it in the browser")
    common.flag(command, "--json", "print JSON")
    command.set_defaults(run=_trial)


def _trial(options: argparse.Namespace) -> int:
    from rbdyn_ros.trials.files.reader import load, with_runs

    if options.seed is None and (options.record is not None or options.view):
        return common.report_error(
            "trial", "--record and --view show one run; give its --seed", common.USAGE
        )
    if options.seed is not None and (options.workers or options.ray or options.fresh):
        text = "--workers, --ray and --fresh are for all runs; --seed makes one run"
        return common.report_error("trial", text, common.USAGE)
    try:
        trial = load(options.trial)
        if options.runs is not None:
            trial = with_runs(trial, options.runs)
        if options.seed is not None:
            return _repeat(trial, options)
        return _whole(trial, options)
    except ParameterError as error:
        files = ("unwritable-file", "other-results", "bad-argument", "no-ray-extra")
        return common.report_error(
            "trial", error, common.USAGE if error.code in files else common.REFUSED
        )
    except RbdynError as error:
        return common.report_error("trial", error, common.REFUSED)


def _whole(trial: Trial, options: argparse.Namespace) -> int:
    from rbdyn_ros.trials.output.recordings import record_failures
    from rbdyn_ros.trials.output.reports import verdict_dict, write_reports
    from rbdyn_ros.trials.results.results_file import earlier_runs
    from rbdyn_ros.trials.running import RETRIED, RUNS_NAME, run

    out = folder(options)
    known = {} if options.fresh else earlier_runs(out / RUNS_NAME, trial)
    done = [known[k] for k in trial.seeds if k in known and known[k].status not in RETRIED]
    with _bar(trial, done) as shown:
        results = run(
            trial,
            out,
            workers=options.workers,
            ray=options.ray,
            fresh=options.fresh,
            progress=shown,
        )
    files = write_reports(results, out)
    if options.json:
        print(json.dumps(verdict_dict(results), indent=2, allow_nan=False), flush=True)
    else:
        print(verdict_text(results), *files, sep="\n", flush=True)
    if results.interrupted:
        print("rbdyn trial: interrupted; the same command continues it", file=sys.stderr)
        return common.INTERRUPTED
    recorded = record_failures(results, out)
    if recorded and not options.json:
        print(*recorded, sep="\n")
    return common.DONE if results.passed else common.REFUSED


def _repeat(trial: Trial, options: argparse.Namespace) -> int:
    """Repeat the run of --seed and compare it with its stored result; return the exit status."""
    from rbdyn_ros.trials.output.recordings import record
    from rbdyn_ros.trials.results.verdict import reasons
    from rbdyn_ros.trials.running import repeat

    file: Path | None = options.record
    if file is None and options.view:
        folder(options).mkdir(parents=True, exist_ok=True)
        file = folder(options) / f"seed_{options.seed}.mcap"
    run = repeat(trial, options.seed) if file is None else record(trial, options.seed, file)
    why = reasons(trial, run)
    _print_run(trial, run, why, options)
    if options.view:
        replay = options.root.parse_args(["replay", str(file)])
        return int(replay.run(replay))  # the page exists only as long as this process
    return common.REFUSED if why else common.DONE


def _print_run(trial: Trial, run: Run, why: Sequence[str], options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps(run.as_dict() | {"failures": why}, indent=2, allow_nan=False), flush=True)
        return
    print(f"seed {run.seed}: {'failed' if why else 'passed'}, {run.status}")
    for reason in why:
        print(f"  {reason}")
    for title, values in (("sampled", run.values), ("measures", run.measures)):
        print(f"{title}:")
        for name, value in values.items():
            print(f"  {name:<32}{'not finite' if value is None else f'{value:.9g}'}")
    print(
        f"state at the end: {run.state or 'unknown'}{_compared(trial, run, options)}", flush=True
    )


def _compared(trial: Trial, run: Run, options: argparse.Namespace) -> str:
    from rbdyn_ros.trials.results.results_file import earlier_runs
    from rbdyn_ros.trials.running import RUNS_NAME

    try:
        known = earlier_runs(folder(options) / RUNS_NAME, trial)
    except ParameterError:
        return ""  # the stored results belong to another trial
    if run.seed not in known or not run.state:
        return ""
    same = known[run.seed].state == run.state
    return f", {'as' if same else 'NOT as'} in {folder(options)}"


def folder(options: argparse.Namespace) -> Path:
    """Return the folder of results, by default named after the trial file."""
    given: Path | None = options.out
    return given if given is not None else Path(f"{options.trial.stem}_results")


def verdict_text(results: Results) -> str:
    """Return the verdict with a line for each limit and each reason why runs ended early."""
    trial, verdict = results.trial, results.verdict
    lines = [f"{trial.name}: {verdict}"]
    for name, limit in trial.limits.items():
        spread = verdict.measures.get(name)
        if spread is None:
            continue
        worst = "not finite" if spread.worst is None else f"{spread.worst:.4g}"
        lines.append(f"  {name:<16}{limit!s:<28}{spread.broken} outside, worst {worst} "
                     f"(seed {spread.seed})")  # fmt: skip
    firsts = {run.status: run for run in reversed(results.runs) if run.why}
    for status, first in firsts.items():
        count = verdict.statuses[status]
        runs = f"{counted(count, 'run')}: {status}"
        lines.append(f"  {runs}, first seed {first.seed}: {first.why}")
    return "\n".join(lines)


@contextmanager
def _bar(trial: Trial, done: Sequence[Run]) -> Iterator[Callable[[Sequence[Run]], None]]:
    """Show a progress bar that starts at the completed runs; yield the function to update it."""
    from rbdyn_ros.report import progress
    from rbdyn_ros.trials.results.verdict import reasons

    failed = 0
    with progress.bar(trial.runs, desc=trial.name[:40], unit="run") as bar:

        def shown(runs: Sequence[Run]) -> None:
            nonlocal failed
            failed += sum(bool(reasons(trial, run)) for run in runs)
            bar.set_postfix_str(f"{failed} failed", refresh=False)
            bar.update(len(runs))

        shown(done)
        yield shown
