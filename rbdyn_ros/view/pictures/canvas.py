# SPDX-License-Identifier: Apache-2.0
"""Make matplotlib figures without a display and without the global state of pyplot."""

from typing import TYPE_CHECKING

from rbdyn_ros.errors import Finding, ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# colours of Okabe and Ito, which colour-blind readers can distinguish
BLUE, SKY, VERMILLION, GREEN = "#0072B2", "#56B4E9", "#D55E00", "#009E73"
INK, GREY = "#222222", "#6E6E6E"


def new_figure(width: float, height: float, dpi: float) -> "Figure":
    """Return an empty figure of this size [inch].

    Raises:
        ParameterError: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra("matplotlib") from error
    figure = Figure(figsize=(width, height), dpi=dpi)
    FigureCanvasAgg(figure)
    return figure


def missing_extra(package: str, extra: str = "plot") -> ParameterError:
    """Return the error about a missing package that only pictures need; extra: its pip extra."""
    text = f'pictures need {package}, which is not installed: pip install "rbdyn_ros[{extra}]"'
    return ParameterError(Finding("no-plot-extra", text, "error", "", None, "", package))
