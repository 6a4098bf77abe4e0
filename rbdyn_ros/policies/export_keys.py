# SPDX-License-Identifier: Apache-2.0
"""The keys of exported policies that are read; other keys are ignored."""

from dataclasses import dataclass
from typing import Any

from rbdyn_ros.description.yaml_files import kinds
from rbdyn_ros.description.yaml_files.tables import ByName, Key, Table
from rbdyn_ros.description.yaml_files.text import YamlTable
from rbdyn_ros.policies.keys import LONGEST

NUMBER, NUMBERS, TIME = kinds.Number(), kinds.NumberList(), kinds.Number(above=0.0, high=100.0)
#: A pair of numbers; an empty value gives an empty tuple.
RANGE = kinds.OrNothing(kinds.NumberList(2), ())


@dataclass(frozen=True)
class SomeKeys(Table):
    """A table that ignores unknown keys."""

    def read_table(self, node: YamlTable, at: kinds.ValuePlace) -> Any:
        nodes = {name: below for name, below in node.nodes.items() if name in self.rows}
        lines = {name: node.lines[name] for name in nodes}
        return super().read_table(YamlTable(node.line, nodes, lines), at)


def _rows(*needed: Key, more: tuple[Key, ...] = ()) -> tuple[Key, ...]:
    return (*(Key(key.name, key.kind, key.doc, needed=True) for key in needed), *more)


PARAMS = SomeKeys("params", (Key("period", TIME, "of the gait"),))
OBSERVATION = SomeKeys(
    "observation",
    (
        Key("scale", kinds.OrNothing(NUMBERS, ()), "factors"),
        Key("clip", RANGE, "limits"),
        Key("history_length", kinds.Whole(1, LONGEST), "of values", field="history"),
        Key("params", PARAMS, "of the term"),
    ),
)
ACTION = SomeKeys(
    "JointPositionAction",
    _rows(
        Key("scale", NUMBERS, "factors"),
        Key("offset", NUMBERS, "position targets at an action of 0"),
        more=(
            Key("clip", kinds.OrNothing(NUMBERS, ()), "limits"),
            Key("joint_ids", kinds.OrNothing(NUMBERS, ()), "joints"),
        ),
    ),
)
RANGES = SomeKeys(
    "ranges",
    tuple(Key(name, RANGE, "of a velocity") for name in ("lin_vel_x", "lin_vel_y", "ang_vel_z")),
)
VELOCITY = SomeKeys("base_velocity", (Key("ranges", RANGES, "of commands"),))
ISAAC_LAB = SomeKeys(
    "export",
    _rows(
        Key(
            "joint_ids_map", kinds.List(kinds.Whole(0, 10_000), "place", 1), "order of the joints"
        ),
        Key("step_dt", TIME, "between actions"),
        Key("stiffness", NUMBERS, "of the joints"),
        Key("damping", NUMBERS, "of the joints"),
        Key("default_joint_pos", NUMBERS, "of the joints"),
        Key("actions",
            Table("table of actions", _rows(Key("JointPositionAction", ACTION, "of the joints"))),
            "of the network"),
        Key("observations", ByName(OBSERVATION, "observation"), "of the network"),
        more=(
            Key("commands", SomeKeys("commands", (Key("base_velocity", VELOCITY, "ranges"),)), ""),
        ),
    ),
)  # fmt: skip
LEGGED_GYM = SomeKeys(
    "configuration",
    _rows(
        Key("policy_path", kinds.Name("a file"), "of the policy"),
        Key("simulation_dt", TIME, "timestep"),
        Key("control_decimation", kinds.Whole(1, 10_000), "timesteps between actions"),
        Key("kps", NUMBERS, "stiffness"),
        Key("kds", NUMBERS, "damping"),
        Key("default_angles", NUMBERS, "of the joints"),
        Key("ang_vel_scale", NUMBER, "of base_ang_vel"),
        Key("dof_pos_scale", NUMBER, "of joint_pos_rel"),
        Key("dof_vel_scale", NUMBER, "of joint_vel_rel"),
        Key("action_scale", NUMBER, "of actions"),
        Key("cmd_scale", kinds.NumberList(3), "of commands"),
        Key("num_obs", kinds.Whole(1, 1_000_000), "numbers of an observation"),
        more=(Key("lin_vel_scale", NUMBER, "of base_lin_vel", default=2.0),),
    ),
)
