"""Read the lidars, range sensors and cameras of a sensor file.

front:
  type: lidar
  link: laser                   # x forward, z up
  rate: 10                      # [Hz]
  near: 0.1                     # [m]
  far: 30.0                     # [m]
  horizontal: {from: -1.57, to: 1.57, rays: 181}  # [rad], anticlockwise about z
  vertical: {from: -0.26, to: 0.26, rays: 16}     # [rad], upwards; default: one row at 0
  sweep: 0.1                    # [s], default 0: all rays at once
  noise: {range: {stddev: 0.01, bias: 0.0, resolution: 0.001}}  # [m]
  dropout: 0.001                # share of rays that are lost, default 0
  latency: 0.02                 # [s], default 0
  sees: collision               # default; or visual
  exclude: [chassis]            # default: `link` alone
odd:
  type: lidar
  angles: pattern.csv           # instead of horizontal and vertical: azimuth, elevation [rad]
  ...
bumper:
  type: range
  field_of_view: 0.4            # [rad], default 0: one ray along x
  radiation: ultrasound         # default infrared
  rays: 32                      # default
  ...
wrist:
  type: depth
  link: camera_optical_frame    # z forward, x right, y down
  width: 640
  height: 480
  field_of_view: 1.2            # [rad], horizontal; or intrinsics: [fx, fy, cx, cy]
  distortion: [0.1, -0.2, 0, 0, 0]  # default: none
  encoding: 32FC1               # default; or 16UC1
  segmentation: true            # default false
  method: auto                  # default; or rays, or renderer
  ...
face:
  type: color                   # the keys of lenses and pictures as above
  compressed: jpeg              # or png; default: none
  ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rbdyn_ros.description.mechanism_files.forms import Form
from rbdyn_ros.description.mechanism_files.yaml_text import Node, YamlTable
from rbdyn_ros.description.reading.files import read_bytes
from rbdyn_ros.errors import DescriptionError, Finding, ParameterError, apart
from rbdyn_ros.nanoseconds import NANOSECONDS
from rbdyn_ros.sensors.camera_specs import ColorSpec, DepthSpec
from rbdyn_ros.sensors.ray_angles import read_angles
from rbdyn_ros.sensors.ray_specs import Fan, LidarSpec, RangeNoise, RangeSpec

RAY_KEYS = (
    "type", "link", "rate", "near", "far", "noise", "dropout", "latency", "sees", "exclude"
)  # fmt: skip
LIDAR_KEYS = (*RAY_KEYS, "horizontal", "vertical", "angles", "sweep")
RANGE_KEYS = (*RAY_KEYS, "field_of_view", "radiation", "rays")
NEEDED = ("link", "rate", "near", "far")
CAMERA_KEYS = (*NEEDED, "type", "latency", "exclude", "width", "height", "field_of_view",
               "intrinsics", "distortion")  # fmt: skip
CAMERA_NEEDED = (*NEEDED, "width", "height")
COLOR_KEYS = (*CAMERA_KEYS, "compressed")
DEPTH_KEYS = (*CAMERA_KEYS, "noise", "dropout", "sees", "encoding", "segmentation", "method")

S = TypeVar("S", LidarSpec, RangeSpec, DepthSpec, ColorSpec)
Readers = dict[str, Callable[[Node, str, str], Any]]

_FAN = ("from", "to", "rays")
_NOISE = ("stddev", "bias", "resolution")


class RayForm:
    """Reads the keys that belong to rays.

    Args:
        form: reads nodes.
        folder: that the names of other files are relative to.
        period_ns: duration of a tick of the loop [ns]; None: unknown.
    """

    def __init__(self, form: Form, folder: Path, period_ns: int | None) -> None:
        self._form, self._folder, self._period_ns = form, folder, period_ns

    def lidar(self, table: YamlTable, owner: str, given: dict[str, Any]) -> LidarSpec | None:
        """Return a lidar; `given` are values that were read already."""
        form = self._form
        form.table(table, "lidar", owner, LIDAR_KEYS, NEEDED)
        if ("angles" in table.nodes) == ("horizontal" in table.nodes):
            text = "it needs either 'horizontal' or 'angles'"
            form.audit.error("missing-key", owner, table.line, text, allowed="horizontal, angles")
            return None
        if "angles" in table.nodes and "vertical" in table.nodes:
            text = "'vertical' is for rows; 'angles' has the elevation of each ray"
            form.audit.error("unknown-key", owner, table.lines["vertical"], text, found="vertical")
            return None
        readers: Readers = {
            "horizontal": self._fan,
            "vertical": self._fan,
            "angles": self._angles,
            "sweep": form.number,
        }
        return self._made(LidarSpec, table, owner, given, readers)

    def range(self, table: YamlTable, owner: str, given: dict[str, Any]) -> RangeSpec | None:
        """Return a range sensor; `given` are values that were read already."""
        form = self._form
        form.table(table, "range sensor", owner, RANGE_KEYS, NEEDED)
        readers: Readers = {
            "field_of_view": form.number,
            "radiation": form.name,
            "rays": form.whole,
        }
        return self._made(RangeSpec, table, owner, given, readers)

    def depth(self, table: YamlTable, owner: str, given: dict[str, Any]) -> DepthSpec | None:
        """Return a depth camera; `given` are values that were read already."""
        form = self._form
        form.table(table, "depth camera", owner, DEPTH_KEYS, CAMERA_NEEDED)
        more: Readers = {
            "encoding": form.name,
            "segmentation": form.flag,
            "method": form.name,
        }
        return self._camera(DepthSpec, table, owner, given, more)

    def color(self, table: YamlTable, owner: str, given: dict[str, Any]) -> ColorSpec | None:
        """Return a colour camera; `given` are values that were read already."""
        form = self._form
        form.table(table, "colour camera", owner, COLOR_KEYS, CAMERA_NEEDED)
        return self._camera(ColorSpec, table, owner, given, {"compressed": form.name})

    def _camera(
        self, kind: type[S], table: YamlTable, owner: str, given: dict[str, Any], more: Readers
    ) -> S | None:
        form = self._form
        if ("field_of_view" in table.nodes) == ("intrinsics" in table.nodes):
            text = "it needs either 'field_of_view' or 'intrinsics'"
            allowed = "field_of_view, intrinsics"
            form.audit.error("missing-key", owner, table.line, text, allowed=allowed)
            return None
        readers: Readers = {
            "width": form.whole,
            "height": form.whole,
            "field_of_view": form.number,
            "intrinsics": lambda node, what, owner: form.numbers(node, what, owner, 4),
            "distortion": form.numbers,
            **more,
        }
        return self._made(kind, table, owner, given, readers, CAMERA_NEEDED)

    def _made(
        self,
        kind: type[S],
        table: YamlTable,
        owner: str,
        given: dict[str, Any],
        readers: Readers,
        needed: Sequence[str] = NEEDED,
    ) -> S | None:
        """Return a sensor of the keys that are there; errors get the lines of their keys."""
        form = self._form
        every: Readers = {"noise": self._noise, "sees": form.name, **readers}
        for key in ("rate", "near", "far", "dropout", "latency"):
            every[key] = form.number
        values = {key: every[key](node, key, owner) for key, node in table.nodes.items()
                  if key in every}  # fmt: skip
        values |= given
        if None in values.values() or not all(key in values for key in needed):
            return None
        try:
            spec = kind(**values)
        except ParameterError as error:
            for finding in error.findings:
                self._refuse(finding, table, owner)
            return None
        self._check_rate(spec.rate, table, owner)
        return spec

    def _refuse(self, finding: Finding, table: YamlTable, owner: str) -> None:
        line = table.lines.get(finding.element, table.line)
        self._form.audit.error(
            "bad-value", owner, line, finding.message, found=finding.found, allowed=finding.allowed
        )

    def _check_rate(self, rate: float, table: YamlTable, owner: str) -> None:
        """Refuse a rate above the loop's."""
        if self._period_ns is None or rate * self._period_ns <= NANOSECONDS * (1.0 + 1e-9):
            return
        highest = NANOSECONDS / self._period_ns
        found, most = apart(rate, highest)
        text = f"the rate is {found} Hz; allowed is at most the rate of the loop, {most} Hz"
        self._form.audit.error(
            "bad-value", owner, table.lines["rate"], text, found=found, allowed=f"at most {most}",
        )  # fmt: skip

    def _fan(self, node: Node, what: str, owner: str) -> Fan | None:
        form = self._form
        table = form.table(node, what, owner, _FAN, _FAN)
        if table is None:
            return None
        first, last = (form.number(table.nodes[k], f"{what} {k}", owner) for k in _FAN[:2])
        rays = form.whole(table.nodes["rays"], f"{what} rays", owner)
        return None if first is None or last is None or rays is None else Fan(first, last, rays)

    def _noise(self, node: Node, what: str, owner: str) -> RangeNoise | None:
        form = self._form
        table = form.table(node, what, owner, ("range",))
        if table is None or not table.nodes:
            return None if table is None else RangeNoise()
        inner = form.table(table.nodes["range"], "noise of range", owner, _NOISE)
        if inner is None:
            return None
        values = {key: form.number(n, f"{key} of range", owner) for key, n in inner.nodes.items()}
        known = {key: value for key, value in values.items() if value is not None}
        return RangeNoise(**known) if len(known) == len(values) else None

    def _angles(self, node: Node, what: str, owner: str) -> tuple[tuple[float, float], ...] | None:
        """Return azimuth and elevation of each ray from a CSV file."""
        name = self._form.name(node, what, owner)
        if name is None:
            return None
        path = self._folder / name
        try:
            text = read_bytes(path, "a .csv file", "the path of a CSV file")
            return read_angles(text, str(path))
        except DescriptionError as error:
            for finding in error.findings:
                self._form.audit.error(
                    finding.code, owner, node.line, finding.message, found=finding.found,
                    allowed=finding.allowed,
                )  # fmt: skip
            return None
