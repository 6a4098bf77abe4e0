# SPDX-License-Identifier: Apache-2.0
"""The sensors of an MJCF that exist here, as entries of a sensors file.

An accelerometer and a gyro of one site become one IMU; a force and a torque sensor become one
force/torque sensor. All other sensors stay unread, so that a note names each kind with its reason
in silent.py.
"""

import math
from collections.abc import Collection, Mapping

from rbdyn_ros.description.mjcf_files.bodies import BodyTree, MjcfBody
from rbdyn_ros.description.mjcf_files.document import Item, MjcfDocument
from rbdyn_ros.description.parts.poses import Pose
from rbdyn_ros.description.xml_files.sdf_sensors import USUAL_RATE, SensorEntries
from rbdyn_ros.errors import quote

#: For each MJCF sensor, the kind of the sensor that it becomes a part of.
_KINDS = {
    "accelerometer": "imu",
    "gyro": "imu",
    "framequat": "imu",
    "force": "force_torque",
    "torque": "force_torque",
    "rangefinder": "range",
}
#: A range sensor measures along x, a rangefinder along z of its site.
_ALONG_Z = Pose(quat=(math.sqrt(0.5), 0.0, -math.sqrt(0.5), 0.0))
#: Distance that a rangefinder without cutoff measures [m].
_FAR = 1000.0


def read_sensors(
    document: MjcfDocument, tree: BodyTree, links: Mapping[str, str], taken: Collection[str]
) -> SensorEntries:
    """Return the sensors of all <sensor> elements.

    Args:
        document: the model.
        tree: its bodies.
        links: the link of each site.
        taken: names of all links and joints.
    """
    found: dict[tuple[str, str], list[Item]] = {}
    for element in document.sections("sensor"):
        kind = _KINDS.get(element.tag, "")
        at_site = element.tag != "framequat" or element.get("objtype") in ("site", None)
        site = element.get("site", element.get("objname", ""))
        if kind and at_site and site in tree.sites:
            item = document.item(element, f"sensor {quote(element.get('name', site))}")
            for name in ("site", "objtype", "objname", "name"):
                item.text(name)
            found.setdefault((kind, site), []).append(item)
        elif kind and at_site and not document.audit.partial:
            hint = document.audit.hint(site, tree.sites)
            item = document.item(element, f"sensor {quote(element.get('name', ''))}")
            message = f"there is no site {quote(site)}{hint}"
            item.repair("unknown-site", message, "it is left out", found=site)
    entries = SensorEntries(taken)
    for (kind, site), items in found.items():
        for some in ([item] for item in items) if kind == "range" else (items,):
            _add(entries, kind, links[site], some, tree.sites[site][0], tree)
    return entries


def _add(
    entries: SensorEntries, kind: str, link: str, items: list[Item], body: MjcfBody, tree: BodyTree
) -> None:
    line, tags = items[0].line, {item.element.tag for item in items}
    if kind == "range":
        far = items[0].number("cutoff") or _FAR
        values = {"rate": USUAL_RATE, "near": 0.0, "far": far, "exclude": [body.name]}
        entries.add(items[0].text("name") or link, kind, link, values, line, at=_ALONG_Z)
    elif kind == "force_torque":
        above = next((joint.name for joint in tree.joints if joint.child == body.name), "")
        if above:
            entries.across(link, above, link, {"measured": "parent_to_child"}, line)
        else:
            items[0].warn("not-used", "there is no joint above the world to measure at")
    elif tags != {"framequat"}:
        entries.add(link, kind, link, {"orientation": "framequat" in tags}, line)
    else:
        items[0].document.seen.discard(id(items[0].element))
