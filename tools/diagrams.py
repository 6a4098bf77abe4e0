# SPDX-License-Identifier: Apache-2.0
"""Draw the diagrams at the beginning of guides into docs/pictures/steps.

Run `.venv/bin/python tools/diagrams.py`, optionally with the names of guides.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from stills import figure

OURS, OTHERS, BAD = "#d7e8f5", "#f2f2f2", "#f7dcd3"
Place = tuple[float, float]


@dataclass(frozen=True)
class Diagram:
    """Boxes with arrows between them.

    Attributes:
        size: size of the picture [inch]; positions are in the same unit.
        boxes: position of the centre, text and colour of each box, by its name.
        arrows: first box, second box and text; a text that begins with "<" means both directions.
        note: text below the boxes.
    """

    size: Place
    boxes: dict[str, tuple[Place, str, str]]
    arrows: tuple[tuple[str, str, str], ...]
    note: str = ""

    def draw(self, name: str) -> None:
        """Draw the diagram and write the picture `name`."""
        axes = plt.figure(figsize=self.size).add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, self.size[0]), ylim=(0, self.size[1]))
        axes.axis("off")
        shown = {}
        for key, (at, text, color) in self.boxes.items():
            look = {"boxstyle": "round,pad=0.5", "facecolor": color, "edgecolor": "0.45"}
            shown[key] = axes.text(*at, text, ha="center", va="center", fontsize=9, bbox=look)
        axes.figure.canvas.draw()
        for start, end, text in self.arrows:
            both = text.startswith("<")
            axes.annotate(
                "", self.boxes[end][0], self.boxes[start][0],
                arrowprops={
                    "arrowstyle": "<|-|>" if both else "-|>", "color": "0.3",
                    "patchA": shown[start].get_bbox_patch(),
                    "patchB": shown[end].get_bbox_patch(), "shrinkA": 2, "shrinkB": 2,
                },
            )  # fmt: skip
            x, y = np.mean([self.boxes[start][0], self.boxes[end][0]], axis=0)
            label = text.removeprefix("<")
            plate: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            axes.text(x, y, label, ha="center", va="center", fontsize=8, bbox=plate)
        axes.text(self.size[0] / 2, 0.16, self.note, ha="center", fontsize=8, color="0.3")
        figure(name)


DIAGRAMS = {
    "beside_the_simulator": Diagram(
        (7.6, 2.9),
        {
            "sim": (
                (1.3, 1.5),
                "rbdyn sim\ninstead of the driver and\nrobot_state_publisher",
                OURS,
            ),
            "rviz": ((6.4, 2.5), "RViz", OTHERS),
            "moveit": ((6.4, 1.85), "MoveIt, arm_controller", OTHERS),
            "ros2": ((6.4, 1.15), "ros2_control", OTHERS),
            "nav": ((6.4, 0.5), "Nav2, SLAM", OTHERS),
        },
        (
            ("sim", "rviz", "/tf, robot_description"),
            ("sim", "moveit", "<joint_states, joint_commands"),
            ("sim", "ros2", "<joint_states, joint_commands"),
            ("sim", "nav", "/tf, odom, scan"),
        ),
        "all of them with use_sim_time, on the /clock of the simulator",
    ),
    "hil": Diagram(
        (7.6, 1.7),
        {
            "sim": ((1.2, 0.8), "rbdyn sim\ntick k", OURS),
            "faults": ((3.85, 1.3), "delay, jitter, loss,\nnoise of hardware", BAD),
            "own": ((6.5, 0.8), "your controller", OTHERS),
        },
        (("sim", "own", "<joint_states        joint_commands"),),
        "lock-step: time stands until the controller has answered tick k",
    ),
    "ros2_control": Diagram(
        (7.6, 2.2),
        {
            "manager": ((1.2, 1.25), "controller_manager\nwith your controllers", OTHERS),
            "topic": ((3.9, 1.75), "JointStateTopicSystem", OTHERS),
            "memory": ((3.9, 0.75), "SimulatedSystem", OURS),
            "sim": ((6.6, 1.25), "rbdyn sim", OURS),
        },
        (
            ("manager", "topic", "<"),
            ("manager", "memory", "<"),
            ("topic", "sim", "<topics"),
            ("memory", "sim", "<shared memory"),
        ),
        "by topics between machines, or by shared memory with one tick per cycle",
    ),
    "codegen": Diagram(
        (7.6, 1.3),
        {
            "urdf": ((0.9, 0.75), "arm.urdf", OTHERS),
            "codegen": ((3.0, 0.75), "rbdyn codegen", OURS),
            "files": ((5.0, 0.75), "arm_dynamics.h, .c\ntest_arm.c", OURS),
            "own": ((6.9, 0.75), "your loop\nor firmware", OTHERS),
        },
        (("urdf", "codegen", ""), ("codegen", "files", ""), ("files", "own", "")),
        "C99 without loops and tables; the test compares it with the engine",
    ),
    "identification": Diagram(
        (7.6, 1.3),
        {
            "excite": ((0.95, 0.75), "rbdyn excite\nmotion.csv", OURS),
            "arm": ((3.0, 0.75), "the arm moves,\nyou record", OTHERS),
            "identify": ((5.0, 0.75), "rbdyn identify", OURS),
            "urdf": ((6.8, 0.75), "identified.urdf", OTHERS),
        },
        (("excite", "arm", ""), ("arm", "identify", ""), ("identify", "urdf", "")),
        "a second recording says how well the numbers predict the efforts",
    ),
    "security": Diagram(
        (7.6, 2.1),
        {
            "others": ((1.1, 1.2), "another machine\nof the subnet", BAD),
            "graph": ((3.7, 1.2), "ROS graph\ndiscovery: this machine,\nSROS2 enclaves", OTHERS),
            "sim": ((6.5, 1.65), "rbdyn sim", OURS),
            "arm": ((6.5, 0.75), "arm_controller", OURS),
        },
        (("others", "graph", "not found"), ("graph", "sim", ""), ("graph", "arm", "")),
        "who is in the graph can command; the nodes check what they are sent",
    ),
    "layouts": Diagram(
        (7.6, 1.9),
        {
            "robot": ((1.0, 1.05), "arm.urdf\nsensors.yaml", OTHERS),
            "layout": ((3.0, 1.05), "rbdyn layout", OURS),
            "rviz": ((6.3, 1.6), "RViz", OTHERS),
            "foxglove": ((6.3, 1.05), "Foxglove, Lichtblick", OTHERS),
            "plots": ((6.3, 0.5), "PlotJuggler", OTHERS),
        },
        (
            ("robot", "layout", ""),
            ("layout", "rviz", "arm.rviz"),
            ("layout", "foxglove", "arm.json"),
            ("layout", "plots", "arm.xml"),
        ),
    ),
    "unitree": Diagram(
        (7.6, 1.5),
        {
            "policy": ((1.2, 0.85), "policy_node\nor your controller", OTHERS),
            "sim": ((6.3, 1.2), "rbdyn sim\n-p unitree:=go2", OURS),
            "real": ((6.3, 0.5), "the robot", OTHERS),
        },
        (("policy", "sim", "<lowcmd, lowstate"), ("policy", "real", "<lowcmd, lowstate")),
    ),
    "arm_faults": Diagram(
        (7.6, 2.4),
        {
            "dry": ((0.7, 1.35), "not armed", OTHERS),
            "armed": ((2.3, 1.35), "armed", OURS),
            "brake": ((6.2, 2.0), "brake: motion decays, then\nthe arm is held", BAD),
            "blind": ((6.2, 0.75), "blind: the arm ends without\nits states", BAD),
        },
        (
            ("dry", "armed", "~/arm"),
            ("armed", "brake", "the states are right"),
            ("armed", "blind", "they are not"),
        ),
        "a fault stays until ~/clear_fault",
    ),
}


def main(names: list[str]) -> None:
    """Draw the diagrams of the named guides, or of all guides."""
    unknown = [name for name in names if name not in DIAGRAMS]
    if unknown:
        known = ", ".join(DIAGRAMS)
        sys.exit(f"tools/diagrams.py: unknown guide {', '.join(unknown)}, use {known}")
    for name in names or DIAGRAMS:
        DIAGRAMS[name].draw(name)


if __name__ == "__main__":
    main(sys.argv[1:])
