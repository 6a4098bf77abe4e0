# SPDX-License-Identifier: Apache-2.0
"""The actuators of an MJCF: a gain times the control, and a bias that is affine in the motion."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rbdyn_ros.description.mjcf_files.document import Item
from rbdyn_ros.description.parts.poses import Vec3
from rbdyn_ros.errors import listing, quote

#: All actuators of MJCF; the actuators after "velocity" are not read.
ACTUATORS = (
    *("general", "motor", "position", "velocity", "damper", "intvelocity", "orientation", "pid"),
    *("cylinder", "muscle", "adhesion", "dcmotor", "plugin"),
)
READ = ACTUATORS[:4]
#: Attributes of the limits and the transmission, which all actuators share.
_SHARED = (
    *("gear", "ctrlrange", "ctrllimited", "forcerange", "forcelimited", "armature", "damping"),
    *("delay", "nsample", "interp", "joint", "jointinparent", "tendon", "actlimited"),
)
ELSEWHERE = ("site", "refsite", "body", "slidersite", "cranksite")


@dataclass(frozen=True, slots=True)
class Drives:
    """An actuator of MJCF, as attributes of <general>.

    Attributes:
        shared: attributes that all actuators have.
        gain: factor of the control.
        bias: force at rest, per length and per velocity.
        affine: whether the bias counts.
        ratio: damping ratio, which gives the force per velocity; 0: no damping ratio.
        inherit: part of the range of the joint that is the range of the control; 0: no part.
        other: attributes that are not read: dynamics, gains and biases of other types.
    """

    shared: Mapping[str, str] = field(default_factory=dict)
    gain: float = 1.0
    bias: Vec3 = (0.0, 0.0, 0.0)
    affine: bool = False
    ratio: float = 0.0
    inherit: float = 0.0
    other: Mapping[str, str] = field(default_factory=dict)

    def changed(self, item: Item) -> "Drives":
        """Return the attributes of an actuator that has these as defaults."""
        shared = {name: item.text(name) for name in _SHARED if item.given(name)}
        merged = replace(self, shared={**self.shared, **shared})
        tag = item.element.tag
        if tag == "general":
            return _of_general(merged, item)
        if tag == "motor":
            return replace(merged, gain=1.0, affine=False, ratio=0.0, other={})
        if tag == "position":
            return _of_position(merged, item)
        if tag == "velocity":
            speed = item.number("kv", self.gain)
            bias = (0.0, 0.0, -speed)
            return replace(merged, gain=speed, bias=bias, affine=True, ratio=0.0, other={})
        return replace(merged, other={"type": tag})

    def reason(self) -> str:
        """Return the reason why the actuator is not read, or "" if it is."""
        if "type" in self.other:
            return f"a <{self.other['type']}> is not read; only {listing(READ)} are"
        for name, value in self.other.items():
            return f"{name} is {quote(value)}, which is not read; use a <motor> or <position>"
        return ""


def _of_general(before: Drives, item: Item) -> Drives:
    gains = item.numbers("gainprm", 1, 10) or [before.gain]
    force, per_length, per_speed, *_ = item.filled("biasprm", before.bias, 10)
    bias = (force, per_length, per_speed)
    other = {**before.other}
    for name, known in (("dyntype", "none"), ("gaintype", "fixed"), ("biastype", "affine")):
        if item.given(name):
            other.pop(name, None)
            if name == "dyntype":
                other.pop("timeconst", None)
            if item.text(name) not in (known, "none"):
                other[name] = item.text(name)
    affine = item.text("biastype", "affine" if before.affine else "none") == "affine"
    inherit = item.number("inheritrange", before.inherit)
    item.numbers("dynprm", 1, 10)  # this only checks the numbers of the dynamics
    return replace(before, gain=gains[0], bias=bias, affine=affine, inherit=inherit, other=other)


def _of_position(before: Drives, item: Item) -> Drives:
    stiffness = item.number("kp", before.gain)
    damping, ratio = -before.bias[2], before.ratio
    if item.given("kv"):
        damping, ratio = item.number("kv"), 0.0
    if item.given("dampratio"):
        damping, ratio = 0.0, item.number("dampratio")
    if item.given("kv") and item.given("dampratio"):
        item.error("bad-value", "it has both kv and dampratio; give one")
    lag = {name: text for name, text in before.other.items() if name == "timeconst"}
    if item.given("timeconst"):
        lag = {"timeconst": item.text("timeconst")} if item.number("timeconst") > 0.0 else {}
    bias = (before.bias[0], -stiffness, -damping)
    inherit = item.number("inheritrange", before.inherit)
    return replace(
        before, gain=stiffness, bias=bias, affine=True, ratio=ratio, inherit=inherit, other=lag
    )
