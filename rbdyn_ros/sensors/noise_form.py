"""Read the noise of IMUs, force/torque and contact sensors."""

from __future__ import annotations

from collections.abc import Collection

from rbdyn_ros.description.mechanism_files.forms import Form
from rbdyn_ros.description.yaml_files.text import Items, Node, YamlTable
from rbdyn_ros.sensors.specs import NoiseSpec, Vec3

NOISE = ("stddev", "bias", "bias_walk", "resolution")


class NoiseForm:
    """Reads noise; `form` reads its nodes."""

    def __init__(self, form: Form) -> None:
        self.form = form

    def noise(
        self, table: YamlTable, owner: str, quantities: Collection[str]
    ) -> dict[str, NoiseSpec]:
        """Return the noise of each quantity."""
        if "noise" not in table.nodes:
            return {}
        noise = self.form.table(table.nodes["noise"], "noise", owner, quantities)
        return {} if noise is None else {q: self._one(noise, q, owner) for q in noise.nodes}

    def _one(self, noise: YamlTable, quantity: str, owner: str) -> NoiseSpec:
        """Return the noise of one quantity."""
        allowed = [key for key in NOISE if key != "resolution" or quantity != "orientation"]
        what = f"noise of {quantity}"
        table = self.form.table(noise.nodes[quantity], what, owner, allowed)
        values: dict[str, Vec3] = {}
        for key, node in (table.nodes if table is not None else {}).items():
            vector = self._three(node, f"{key} of {quantity}", owner, negative=key == "bias")
            if vector is not None:
                values[key] = vector
        return NoiseSpec(**values)

    def _three(self, node: Node, what: str, owner: str, negative: bool) -> Vec3 | None:
        """Return three numbers, given as a list or as one number for all axes."""
        if isinstance(node, Items):
            vector = self.form.vector(node, what, owner)
        else:
            value = self.form.number(node, what, owner)
            vector = None if value is None else (value, value, value)
        if vector is not None and min(vector) < 0.0 and not negative:
            self.form.wrong(node, what, owner, "0 or more")
        return vector
