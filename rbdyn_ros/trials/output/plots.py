# SPDX-License-Identifier: Apache-2.0
"""Plots of a trial, to be put into a page."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

import numpy as np

from rbdyn_ros.trials.running import Results
from rbdyn_ros.trials.simulation.measures import with_unit
from rbdyn_ros.view.pictures.canvas import BLUE, GREY, INK, VERMILLION, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Points of a plot at most.
MOST = 2000
BINS = 40


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
    """Return a measure over a sampled number, failed runs in another colour, as an <img>.

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


def _picture(figure: Figure) -> str:
    """Return an <img> with the plot in it; equal results have equal pictures."""
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
