# SPDX-License-Identifier: Apache-2.0
"""The report of a trial: one HTML file without scripts and without external links."""

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.errors import ParameterError
from rbdyn_ros.trials.results.verdict import FAILED, PASSED, Spread
from rbdyn_ros.trials.running import Results
from rbdyn_ros.trials.simulation.measures import MEASURES, with_unit
from rbdyn_ros.view.pictures.canvas import BLUE, GREY, INK, VERMILLION, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Largest number of points of a plot.
MOST = 2000
BINS = 40
#: Largest number of failed runs in the table, and of scatter plots.
MOST_RUNS, MOST_PLOTS = 20, 12

_COLOURS = {PASSED: "#1a7f37", FAILED: "#b3261e"}
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em;
       color: #222 }
table { border-collapse: collapse; margin: 1em 0 } td, th { border-bottom: 1px solid #ddd;
       padding: 0.25em 0.8em; text-align: right } td:first-child, th:first-child, .words
       { text-align: left } img { max-width: 100%; height: auto }
.verdict { font-size: 1.3em; padding: 0.5em 0.8em; color: #fff; border-radius: 4px }
"""


def page(results: Results) -> str:
    """Return the report as HTML."""
    trial, verdict = results.trial, results.verdict
    colour = _COLOURS.get(verdict.decision, "#8a6d00")
    parts = [
        f"<h1>{escape(trial.name)}</h1>",
        f'<p class="verdict" style="background: {colour}">{escape(str(verdict))}</p>',
        _facts(results),
        "<h2>Measures</h2>",
        _measures(results),
        "<h2>Worst runs</h2>",
        _worst(results),
        "<h2>Plots</h2>",
        _plots(results),
    ]
    head = f"<meta charset='utf-8'><title>{escape(trial.name)}</title><style>{_STYLE}</style>"
    return f"<!doctype html>\n<html lang='en'><head>{head}</head><body>\n" + "\n".join(
        [*parts, "</body></html>\n"]
    )


def _facts(results: Results) -> str:
    trial, verdict = results.trial, results.verdict
    rule = trial.rule
    wanted = "every run passes" if rule.pass_rate is None else (
        f"with {100 * rule.confidence:g} % confidence at least {100 * rule.pass_rate:g} % of all "
        "runs pass"
    )  # fmt: skip
    statuses = ", ".join(f"{count} {name}" for name, count in sorted(verdict.statuses.items()))
    counted = (
        f"{verdict.runs} of {verdict.wanted} runs of {trial.duration:g} s of '{trial.m.name}', "
        f"seeds from {trial.first_seed}: {statuses or 'none'}."
    )
    stops = "stop joints exactly" if trial.m.opt.exact_stops else "follow the smooth law"
    facts = [
        f"The trial passes if {wanted}.",
        counted,
        f"Dry friction and limits of joints {stops} (exact_stops).",
        f"Repeat one run: rbdyn trial {trial.path} --seed SEED. The digest is {trial.digest}.",
    ]
    if verdict.partial:
        facts.insert(0, "These results are partial. Run the trial again to add the other runs.")
    return "".join(f"<p>{escape(fact)}</p>" for fact in facts)


def _measures(results: Results) -> str:
    head = ("measure", "limit", "outside", "mean", "interval of the mean", "median", "95 %",
            "worst", "seed")  # fmt: skip
    rows = [_measure(results, *each) for each in results.verdict.measures.items()]
    meanings = "".join(
        f"<li>{escape(name)}: {escape(MEASURES[name])}</li>"
        for name in results.verdict.measures
        if name in MEASURES
    )
    return f"{_table(head, rows)}<details><summary>Meaning</summary><ul>{meanings}</ul></details>"


def _measure(results: Results, name: str, spread: Spread) -> Sequence[str]:
    limit = results.trial.limits.get(name)
    interval = "" if spread.low is None else f"{_number(spread.low)} to {_number(spread.high)}"
    return (
        with_unit(name), str(limit or ""), str(spread.broken) if limit else "",
        _number(spread.mean), interval, _number(spread.median), _number(spread.p95),
        _number(spread.worst), str(spread.seed),
    )  # fmt: skip


def _worst(results: Results) -> str:
    failures = list(results.verdict.failures.items())
    if not failures:
        return "<p>No run has failed.</p>"
    runs = {run.seed: run for run in results.runs}
    rows = []
    for seed, reasons in failures[:MOST_RUNS]:
        values = ", ".join(f"{name} {value:.4g}" for name, value in runs[seed].values.items())
        rows.append((str(seed), "; ".join(reasons), values))
    more = len(failures) - len(rows)
    rest = f"<p>{more} more runs have failed.</p>" if more > 0 else ""
    return _table(("seed", "reasons", "sampled numbers"), rows, words=True) + rest


def _plots(results: Results) -> str:
    """Return the plots of measures with limits: histograms, and scatter plots over samples."""
    limited = list(results.trial.limits) or list(results.verdict.measures)[:1]
    try:
        drawn = [histogram(results, name) for name in limited]
        for measure in limited:
            for sampled in influences(results, measure)[:2]:
                if len(drawn) < len(limited) + MOST_PLOTS:
                    drawn.append(scatter(results, sampled, measure))
    except ParameterError as error:
        return f"<p>{escape(str(error))}</p>"
    return "\n".join(drawn)


def influences(results: Results, measure: str) -> list[str]:
    """Return the names of sampled numbers, sorted by their rank correlation with a measure.

    The strongest correlation comes first. Numbers that are equal in all runs are left out.
    """
    from scipy.stats import spearmanr

    runs = [run for run in results.runs if run.measures.get(measure) is not None]
    found: dict[str, float] = {}
    for varied in results.trial.varied:
        x = [run.values[varied.name] for run in runs]
        y = [run.measures[measure] for run in runs]
        if len(set(x)) > 1 and len(set(y)) > 1:
            found[varied.name] = abs(float(spearmanr(x, y).statistic))
    return sorted(found, key=lambda name: -np.nan_to_num(found[name]))


def _table(head: Iterable[str], rows: Iterable[Sequence[str]], words: bool = False) -> str:
    kind = ' class="words"' if words else ""
    lines = ["<tr>" + "".join(f"<th{kind}>{escape(cell)}</th>" for cell in head) + "</tr>"]
    lines += [
        "<tr>" + "".join(f"<td{kind}>{escape(x)}</td>" for x in row) + "</tr>" for row in rows
    ]
    return "<table>" + "\n".join(lines) + "</table>"


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.4g}"


def histogram(results: Results, measure: str) -> str:
    """Return the histogram of a measure with its limits, as an <img>.

    Raises:
        ParameterError: matplotlib is not installed.
    """
    found = (run.measures.get(measure) for run in results.runs)
    values = np.array([x for x in found if x is not None])
    figure = new_figure(4.6, 2.2, 100.0)
    axes = figure.subplots()
    if values.size:
        axes.hist(values, bins=BINS, color=BLUE)
    limit = results.trial.limits.get(measure)
    for x in (limit.low, limit.high) if limit is not None else ():
        if np.isfinite(x):
            axes.axvline(x, color=VERMILLION, lw=1.5)
    axes.set_xlabel(with_unit(measure), fontsize=8, color=INK)
    axes.set_ylabel("runs", fontsize=8, color=INK)
    return _picture(figure)


def scatter(results: Results, sampled: str, measure: str) -> str:
    """Plot a measure over a sampled number, with failed runs in red; return the <img>.

    Raises:
        ParameterError: matplotlib is not installed.
    """
    failures = results.verdict.failures
    runs = [run for run in results.runs if run.measures.get(measure) is not None]
    runs = runs[:: len(runs) // MOST + 1]
    points = np.array([(run.values[sampled], run.measures[measure]) for run in runs])
    colours = [VERMILLION if run.seed in failures else GREY for run in runs]
    figure = new_figure(4.6, 2.2, 100.0)
    axes = figure.subplots()
    if points.size:
        axes.scatter(points[:, 0], points[:, 1], s=4, c=colours)
    axes.set_xlabel(sampled, fontsize=8, color=INK)
    axes.set_ylabel(with_unit(measure), fontsize=8, color=INK)
    return _picture(figure)


def _picture(figure: "Figure") -> str:
    """Return an <img> that contains a plot; equal results give equal bytes."""
    from matplotlib import rc_context

    for axes in figure.axes:
        axes.tick_params(labelsize=7)
        axes.grid(visible=True, lw=0.3)
    figure.tight_layout()
    file = io.BytesIO()
    with rc_context({"svg.hashsalt": "rbdyn_trial"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f'<img alt="" src="data:image/svg+xml;base64,{data}">'
