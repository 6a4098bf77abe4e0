# SPDX-License-Identifier: Apache-2.0
"""A layout of PlotJuggler for one robot and its sensors.

The file has the elements that PlotJuggler 3 saves. PlotJuggler's parser of ROS messages names the
series `/joint_states/JOINT/position`; for other messages TOPIC/PATH with the path of the number.
"""

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rbdyn_ros.ros.layouts.topics import JOINTS, ODOMETRY, PLOTTED, ShownTopic

#: Name in PlotJuggler of the plugin that subscribes to topics, and its settings.
STREAMER = "ROS2 Topic Subscriber"
SETTINGS = {
    "use_header_stamp": "true",
    "discard_large_arrays": "true",
    "max_array_size": "100",
    "boolean_strings_to_number": "true",
    "remove_suffix_from_strings": "true",
}
#: Plotted quantities of the joints, and of a moving base.
QUANTITIES = ("position", "velocity", "effort")
MOTION = {"position": "pose/pose/position", "speed": "twist/twist/linear"}
#: Colours of the series of a plot; after the last colour they repeat.
COLOURS = ("#1f6fb4", "#d9541a", "#2f9e44", "#9c36b5", "#e0a100", "#0c8599", "#7a4a2b", "#868e96")
WINDOW = {"name": "Main Window", "parent": "main_window"}
#: Time span of the received data that PlotJuggler keeps [s].
BUFFER = "60"


def plotjuggler_layout(topics: Sequence[ShownTopic], joints: Sequence[str]) -> str:
    """Return a layout of PlotJuggler: a tab for the joints, and a tab for the sensors.

    Args:
        topics: topics of the robot.
        joints: names of the joints in the order of joint_states.
    """
    tabs: dict[str, dict[str, list[str]]] = {"joints": {}, "sensors": {}}
    heard = []
    for topic in topics:
        plots = _plots(topic, joints)
        tabs["joints" if topic.type == JOINTS else "sensors"] |= plots
        heard += [topic.name] if plots else []
    root = Element("root")
    window = SubElement(root, "tabbed_widget", WINDOW)
    for name, plots in tabs.items():
        if plots:
            _add_tab(window, name, plots)
    SubElement(window, "currentTabIndex", index="0")
    SubElement(root, "use_relative_time_offset", enabled="1")
    SubElement(root, "streaming_buffer_size", value=BUFFER)
    plugin = SubElement(SubElement(root, "Plugins"), "plugin", ID=STREAMER)
    for name, value in SETTINGS.items():
        SubElement(plugin, name, value=value)
    SubElement(plugin, "selected_topics", value=";".join(heard))
    SubElement(root, "previouslyLoaded_Streamer", name=STREAMER)
    indent(root)
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{tostring(root, encoding='unicode')}\n"


def _plots(topic: ShownTopic, joints: Sequence[str]) -> dict[str, list[str]]:
    """Return the names of the series in each plot of a topic, by the title of the plot."""
    if topic.type == JOINTS:
        return {kind: [f"{topic.name}/{joint}/{kind}" for joint in joints] for kind in QUANTITIES}
    if topic.type == ODOMETRY:
        return {
            f"{topic.title} {title}": [f"{topic.name}/{path}/{axis}" for axis in "xyz"]
            for title, path in MOTION.items()
        }
    paths = PLOTTED.get(topic.type, {})
    series = [f"{topic.name}/{path.replace('.', '/')}" for path in paths]
    return {topic.title: series} if series else {}


def _add_tab(window: Element, name: str, plots: Mapping[str, Sequence[str]]) -> None:
    """Add a tab with plots below each other, all of the same height; `plots` has their series."""
    tab = SubElement(window, "Tab", tab_name=name, containers="1")
    sizes = ";".join([f"{1.0 / len(plots):.6f}"] * len(plots))
    places = SubElement(
        SubElement(tab, "Container"),
        "DockSplitter",
        orientation="-",
        count=str(len(plots)),
        sizes=sizes,
    )
    for title, series in plots.items():
        plot = SubElement(
            SubElement(places, "DockArea", name=title),
            "plot",
            mode="TimeSeries",
            style="Lines",
            line_width="1.0",
            flip_x="false",
            flip_y="false",
        )
        SubElement(plot, "limitY")
        for k, one in enumerate(series):
            SubElement(plot, "curve", name=one, color=COLOURS[k % len(COLOURS)])
