# SPDX-License-Identifier: Apache-2.0
"""HTML with which a notebook shows a Model, a Data, a film or a view."""

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.errors import Finding, RbdynError
from rbdyn_ros.model.data import Data
from rbdyn_ros.model.model import Model
from rbdyn_ros.report.describe import joint_type

#: Size of a picture [pixels].
WIDTH, HEIGHT = 480, 320
#: Largest number of joints in a table; further joints are only counted.
MOST_JOINTS = 40


@dataclass(frozen=True, slots=True)
class Inline:
    """HTML that a notebook shows.

    Attributes:
        content: HTML.
    """

    content: str

    def _repr_html_(self) -> str:
        return self.content


@dataclass(frozen=True, slots=True)
class Film:
    """A film file; a notebook plays it.

    Attributes:
        path: path of the file.
        findings: warnings about visuals that were left out or replaced.
    """

    path: Path
    findings: tuple[Finding, ...]

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.path.read_bytes()).decode()
        if self.path.suffix.lower() == ".gif":
            return f'<img alt="film" src="data:image/gif;base64,{data}">'
        source = f"data:video/mp4;base64,{data}"
        return f'<video controls autoplay loop muted src="{source}"></video>'


def html_of_model(m: Model) -> str:
    """Return a picture of a robot at qpos0 and a table of its joints, as HTML."""
    rows = [
        (m.jnt_names[j], joint_type(m, j), m.body_names[j + 1], _range(m, j), _number(limit))
        for j, limit in enumerate(m.jnt_effort[:MOST_JOINTS].tolist())
    ]
    head = ("joint", "type", "body", "range [rad, m]", "effort [N m, N]")
    return _picture(m, Instant.still(m, m.qpos0)) + _table(m, repr(m), head, rows)


def html_of_data(d: Data) -> str:
    """Return a picture of a robot in its present state and a table of its joints, as HTML."""
    m = d.model
    rows = []
    for j in range(min(m.njnt, MOST_JOINTS)):
        q, v = int(m.jnt_qposadr[j]), int(m.jnt_dofadr[j])
        positions, speeds = d.qpos[q : q + m.jnt_kind(j).nq], d.qvel[v : v + m.jnt_dofnum[j]]
        rows.append((m.jnt_names[j], _numbers(positions), _numbers(speeds)))
    return _picture(m, Instant.of(m, d)) + _table(m, repr(d), ("joint", "qpos", "qvel"), rows)


def _picture(m: Model, instant: Instant) -> str:
    """Return a picture of a robot at an instant as HTML, or "" if it cannot be drawn."""
    try:
        from PIL import Image

        from rbdyn_ros.view.render.renderer import Renderer
        from rbdyn_ros.view.scene.plain import plain_looks
        from rbdyn_ros.view.web.show import FROM

        with Renderer(m, plain_looks(m)) as renderer:
            camera, place = renderer.framing([instant], (WIDTH, HEIGHT), FROM)
            pixels = renderer.draw(instant, camera, place, marks=True)
    except (ImportError, RbdynError):  # this machine has no renderer, or the state diverged
        return ""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    data = base64.b64encode(file.getvalue()).decode()
    return f'<img alt="{html.escape(m.name)}" src="data:image/png;base64,{data}">'


def _table(m: Model, title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table as HTML; all texts are escaped, because names come from files."""
    cells = [[f"<th>{word}</th>" for word in head]]
    cells += [[f"<td>{html.escape(word)}</td>" for word in row] for row in rows]
    lines = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    more = f"<p>and {m.njnt - MOST_JOINTS} more joints</p>" if m.njnt > MOST_JOINTS else ""
    return f"<p>{html.escape(title)}</p><table>{lines}</table>{more}"


def _range(m: Model, j: int) -> str:
    low, high = m.jnt_range[j]
    return f"{_number(low)} to {_number(high)}" if m.jnt_dofnum[j] == 1 else ""


def _number(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) else "unlimited"


def _numbers(values: np.ndarray) -> str:
    return " ".join(f"{value:.4g}" for value in values)
