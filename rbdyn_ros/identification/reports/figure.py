# SPDX-License-Identifier: Apache-2.0
"""Plot measured efforts, efforts predicted by the prior and by the result, and residuals."""

from pathlib import Path

from rbdyn_ros.errors import Finding, ParameterError
from rbdyn_ros.identification.equations.residuals import Residuals
from rbdyn_ros.loading.output import output_path, write_whole
from rbdyn_ros.view.pictures.canvas import BLUE, GREY, INK, VERMILLION, new_figure

SUFFIXES = (".svg", ".png", ".pdf")

WIDTH, ROW = 10.0, 1.7  # sizes [inch]
DPI = 110.0


def draw_efforts(
    before: Residuals, after: Residuals, path: str | Path, black_box: Residuals | None = None
) -> None:
    """Draw the efforts of a motion to a .svg, .png or .pdf file, one row per joint.

    Args:
        before: residuals of the prior.
        after: residuals of the identified Model in the same motion.
        path: file to write.
        black_box: residuals of least squares without physical constraints; None: they are not
            drawn.

    Raises:
        ParameterError: the motions differ, the suffix is unknown, the file cannot be written,
            or matplotlib is not installed.
    """
    target = output_path(path, "a picture", SUFFIXES)
    if before.names != after.names or before.measured.shape != after.measured.shape:
        text = "the residuals belong to different motions; pass residuals of one motion"
        raise ParameterError(Finding("bad-residuals", text))
    n = len(after.names)
    figure = new_figure(WIDTH, ROW * n + 0.8, DPI)
    axes = figure.subplots(n, 2, sharex=True, squeeze=False)
    for i, name in enumerate(after.names):
        left, right = axes[i]
        left.plot(after.time, after.measured[:, i], color=GREY, lw=1.6, label="measured")
        left.plot(before.time, before.predicted[:, i], color=VERMILLION, lw=0.9, label="prior")
        left.plot(after.time, after.predicted[:, i], color=BLUE, lw=0.9, label="identified")
        left.set_ylabel(name, fontsize=8, color=INK)
        if black_box is not None:
            rows = black_box.predicted[:, i]
            left.plot(black_box.time, rows, color=INK, lw=0.7, ls=":", label="black box")
        for residuals, colour in ((before, VERMILLION), (after, BLUE)):
            rest = residuals.measured[:, i] - residuals.predicted[:, i]
            right.plot(residuals.time, rest, color=colour, lw=0.8)
        for one in (left, right):
            one.tick_params(labelsize=7)
            one.grid(visible=True, lw=0.3)
    axes[0, 0].set_title("effort [N m or N]", fontsize=9)
    axes[0, 1].set_title("measured - predicted", fontsize=9)
    axes[0, 0].legend(fontsize=7, ncols=4, loc="upper right")
    for one in axes[-1]:
        one.set_xlabel("time [s]", fontsize=8)
    figure.tight_layout()
    kind = target.suffix.lower()[1:]
    write_whole(target, lambda file: figure.savefig(file, format=kind))
