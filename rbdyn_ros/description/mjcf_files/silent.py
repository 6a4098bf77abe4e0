# SPDX-License-Identifier: Apache-2.0
"""The parts of MJCF that are not read, with the reasons. Parts of the appearance get no note."""

#: Words without meaning for dynamics. A key is the tag of an element; or a tag and a blank, for
#: attributes of the element; or "", for attributes of all elements.
SILENT: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("visual", "statistic", "size", "camera", "light", "texture", "skin", "custom"),
        frozenset[str](),
    ),
    "": frozenset(("name", "class", "group", "user", "rgba", "material", "model")),
    "material ": frozenset(
        (
            *("emission", "metallic", "reflectance", "roughness", "shininess", "specular"),
            *("texrepeat", "texture", "texuniform"),
        )
    ),
    "compiler ": frozenset(
        (
            *("texturedir", "usethread", "discardvisual", "fusestatic", "conflict"),
            *("savecanonical", "savecompiled", "saveinertial", "passthrough"),
            "convexhull",
        )
    ),
    "mesh ": frozenset(("smoothnormal", "texcoord", "normal", "content_type", "maxhullvert")),
    # friction counts only for a geom that touches, mass only for a geom that gives an inertia
    "geom ": frozenset(
        (
            *("fluidshape", "fluidcoef", "castshadow", "type", "size", "fromto"),
            *("friction", "condim", "density", "mass", "shellinertia", "fitscale"),
        )
    ),
    "site ": frozenset(("size", "type", "mesh")),
}

_OF_JOINTS = (
    *("jointpos", "jointvel", "jointactuatorfrc", "actuatorpos", "actuatorvel", "actuatorfrc"),
    *("ballquat", "ballangvel", "jointlimitpos", "jointlimitvel", "jointlimitfrc"),
    *("tendonpos", "tendonvel", "tendonactuatorfrc"),
)
_OF_FRAMES = (
    *("framepos", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel"),
    *("framelinacc", "frameangacc", "framequat", "velocimeter", "subtreecom"),
    *("subtreelinvel", "subtreeangmom", "distance", "normal", "fromto", "clock"),
    *("e_potential", "e_kinetic"),
)
_SOLVER = "contacts, limits and couplings are rigid here"
#: The reason that a word is not used.
REASONS = {
    **dict.fromkeys(("solref", "solimp", "solmix", "solreflimit", "solimplimit"), _SOLVER),
    **dict.fromkeys(("solreffriction", "solimpfriction", "margin", "gap", "priority"), _SOLVER),
    **dict.fromkeys(_OF_JOINTS, "joint states have it"),
    **dict.fromkeys(_OF_FRAMES, "functions of (m, d) compute it at any time"),
    "touch": "a contact sensor of a sensors file has the wrench on a body",
    "noise": "readings have no noise; a sensors file gives them one",
    "cutoff": "readings are not clamped",
    "ctrl": "a keyframe has positions only",
    "act": "a keyframe has positions only",
    "qvel": "a keyframe has positions only",
    "time": "a keyframe has positions only",
    "mpos": "a keyframe has positions only",
    "mquat": "a keyframe has positions only",
    "extension": "plugins are code of another program",
    "plugin": "plugins are code of another program",
    "sleep": "bodies do not sleep here",
    "gravcomp": "no force carries the weight of a body; a controller compensates it",
    "actuatorgravcomp": "no force carries the weight of a body; a controller compensates it",
    "deformable": "bodies are rigid here",
    "torquescale": _SOLVER,
    "surfacevel": "belts are obstacles of a scene file",
    "stiffness": "a free joint has no spring",
    "lengthrange": "only muscles need it",
}
#: A robot without these parts does not move as intended.
WARNED = ("gravcomp", "deformable", "surfacevel", "stiffness")
