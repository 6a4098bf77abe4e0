# SPDX-License-Identifier: Apache-2.0
"""Note the unread elements and attributes of an SDF, and the reasons."""

from collections.abc import Collection
from xml.etree import ElementTree as ET

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.description.reading.guard import Element
from rbdyn_ros.description.xml_files.unused import Unused

ENGINE = "it is for another physics engine"
_STOPS = "limits of joints are rigid stops"
_WORLD = "the simulator has no such surroundings"
_FRAME_IDS = ("gz_frame_id", "ignition_frame_id", "frame_id", "optical_frame_id", "frameName")
#: The reason that a tag is not used, and its replacement.
WHY = {
    "plugin": "it is a program for Gazebo",
    "sensor": "the simulator has no sensor of this type",
    "topic": "its topics have the name of the sensor",
    **dict.fromkeys(_FRAME_IDS, "readings are in the frame of the sensor"),
    "light": "lights of an SDF or an MJCF are drawn, but not lights of a URDF",
    "scene": "the view has its own sky and surroundings",
    "physics": "timestep and integrator are parameters of the simulator",
    "gui": "it is for the window of Gazebo",
    "state": "the poses of the models count, not the poses of a recorded state",
    "population": "models are not placed at random; give each an <include>",
    "actor": "bodies that follow a script are not simulated",
    **dict.fromkeys(("atmosphere", "magnetic_field", "spherical_coordinates"), _WORLD),
    **dict.fromkeys(("wind", "enable_wind", "audio", "road", "projector"), _WORLD),
    **dict.fromkeys(("audio_sink", "audio_source", "battery", "particle_emitter"), _WORLD),
    **dict.fromkeys(("ode", "bullet", "dart", "simbody", "soft_contact"), ENGINE),
    **dict.fromkeys(("stiffness", "dissipation"), _STOPS),
    "axis": "a joint of this type has no axis",
    "axis2": "a joint of this type has one axis",
    **dict.fromkeys(
        ("kp", "kd"),
        "contacts are rigid; as a spring and a damper, the numbers that tune ODE's solver would "
        "let a robot bounce",
    ),
    "max_contacts": "contacts are not limited in number",
    "allow_auto_disable": "bodies at rest stay active",
    "must_be_base_link": ENGINE,
    "gripper": "an object is held by friction, or by the service ~/attach",
    "laser_retro": "rays of the simulator see no reflectance",
    "mu2": "friction is the same in all directions; <mu> counts",
    "fdir1": "friction is the same in all directions",
    "slip1": "friction has no slip",
    "slip2": "friction has no slip",
    "slip": "friction has no slip",
    "threshold": "an impact of any speed rebounds",
    "velocity_decay": "bodies have no damping of their own; joints have",
    "kinematic": "it is simulated as a dynamic link",
    "gravity": "gravity acts on all links alike",
    "fluid_added_mass": "there is no fluid",
    "namespace": "names of parts begin with the name of their model",
    "provide_feedback": "forces of joints are always known",
    "meta": "it is about the file",
    "transparency": "the opacity of <diffuse> counts",
}
_OTHER = "the simulator does not know it"
#: Without these elements a body does not move as intended.
WARNED = (
    *("state", "population", "actor", "velocity_decay", "kinematic", "gravity"),
    "fluid_added_mass",
)
#: Attributes without a meaning for a simulation.
_PLAIN = ("name", "version", "type", "filename")


def report_unused(
    root: Element, used: Collection[object], silent: Collection[str], audit: Audit
) -> None:
    """Note each kind of element and attribute that was not read, once, with its first line.

    Args:
        root: root element of a document.
        used: ids of the elements that were read, and pairs of id and attribute.
        silent: tags that other readers read.
        audit: receives the notes.
    """
    unused = Unused(WHY, _OTHER, WARNED)
    count_unused(root, used, silent, unused)
    unused.report("", audit)


def count_unused(
    root: Element, used: Collection[object], silent: Collection[str], unused: Unused
) -> None:
    """Count each element and attribute that was not read.

    The arguments are those of report_unused.
    """
    waiting: list[tuple[ET.Element, str]] = [(root, "sdf")]
    while waiting:
        element, where = waiting.pop()
        assert isinstance(element, Element)
        for name in element.attrib:
            known = name in _PLAIN or name.startswith("xmlns") or ":" in name
            if not known and (id(element), name) not in used and element.get(name):
                unused.count(f"<{element.tag} {name}=>", element.line, name)
        waiting += ((child, child.tag) for child in reversed(element) if id(child) in used)
        for child in element:
            assert isinstance(child, Element)
            if id(child) in used:
                continue
            if child.tag not in silent and ":" not in child.tag:
                word = child.get("name", "") if child.tag == "param" else child.tag
                unused.count(f"<{where}> <{_named(child)}>", child.line, word)


def _named(element: Element) -> str:
    """Return the tag of an element, with the attribute that says which one it is."""
    key = "name" if element.tag in ("param", "gpio") else "type"
    kind = element.get(key, "") if element.tag in ("param", "gpio", "sensor") else ""
    return f'{element.tag} {key}="{kind}"' if kind else element.tag
