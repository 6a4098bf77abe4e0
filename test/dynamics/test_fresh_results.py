# SPDX-License-Identifier: Apache-2.0
"""Every public function returns new arrays, so a later call does not change earlier results."""

import inspect

import numpy as np
from support.compare import arrays_in, assert_apart

import rbdyn_ros as rb
from rbdyn_ros.sensors.ray_specs import Fan, LidarSpec

BAR = rb.shapes.box((0.1, 0.1, 0.4), mass=0.5)
REST = (0.1, 0.2, -0.1, 0.2, 0.3, 0.4)

#: For each function: the arguments besides Model and Data. Functions that are not listed, such as
#: `frame_pose`, get the name of a frame.
MORE = {
    "cast_rays": (np.zeros((2, 3)), np.eye(3)[:2]),
    "differential_ik": ([rb.FrameTask("f", velocity=(0.0,) * 6)], 0.01),
    "distance": ("box", "floor"),
    "ik": ("f", (0.1, 0.2, 0.3)),
    "jcalc": ("a", [0.1]),
    "qpos_dot": (np.array(REST), np.array(REST)),
    "random_qpos": (np.random.default_rng(1),),
    "reflected_mass": ("f", (1.0, 0.0, 0.0)),
    "scan": (LidarSpec("eye", "a", rate=10.0, near=0.0, far=9.0, horizontal=Fan(-1.0, 1.0, 3)),),
}
#: Names in the annotations of results that have arrays; `Array` is an array of float64.
WITH_ARRAYS = (
    "Array", "float64", "RayHits", "Scan", "IkResult", "Distance", "ContactPoint", "JointModel",
    "SavedState",
)  # fmt: skip
#: Functions that are called with the Model without contact.
WITHOUT_CONTACT = {"inverse_derivatives", "forward_derivatives", "linearise"}


def arm(touching):
    """Return a chain of three slides and three hinges; if `touching`, its end is in the floor."""
    system, above = rb.SystemBuilder("arm"), "base"
    for k, name in enumerate("abcdef"):
        system.body(name, BAR)
        kind, axis = ("prismatic", "revolute")[k // 3], tuple(np.eye(3)[k % 3])
        system.joint(
            name, kind, above, name, axis=axis, limit=rb.Limit(-1.0, 1.0), xyz=(0.1, 0, 0)
        )
        above = name
    if touching:
        system.geometry("box", "f", rb.Box((0.1, 0.1, 0.4))).floor()
    return rb.build(system)


def returning_arrays():
    """Return, for each public function of m whose result has arrays, whether it also takes d."""
    found = {}
    for name in rb.__all__:
        function = getattr(rb, name)
        if inspect.isfunction(function):
            signature = inspect.signature(function)
            first = list(signature.parameters)[:2]
            returned = str(signature.return_annotation)
            if first[:1] == ["m"] and any(kind in returned for kind in WITH_ARRAYS):
                found[name] = first == ["m", "d"]
    return found


def called(name, m, d, with_data):
    function = getattr(rb, name)
    more = MORE.get(name)
    if more is None:
        names = {"frame", "body"} & inspect.signature(function).parameters.keys()
        more = ("f",) if names else ()
    return function(m, d, *more) if with_data else function(m, *more)


def test_no_result_shares_memory_with_another_result_or_with_the_data():
    """Results of two calls of each function are compared with each other and with the Data."""
    pairs = [(m, rb.make_data(m)) for m in (arm(True), arm(False))]
    names = returning_arrays()
    assert len(names) > 35
    results, kept = {}, {}
    for shift in (0.0, 0.05):
        for m, d in pairs:
            d.qpos[:] = np.array(REST) + shift
            d.qvel[:] = 1.0 + shift
            rb.step(m, d)
        for name, with_data in names.items():
            found = called(name, *pairs[name in WITHOUT_CONTACT], with_data)
            results.setdefault(name, []).append(found)
            kept.setdefault(name, [x.copy() for x in arrays_in(found)])
    memory = [x for m, d in pairs for x in (d.buffer, m.qpos0, m.body_mass, m.body_ipos)]
    for name, (first, _) in results.items():
        for array, before in zip(arrays_in(first), kept[name], strict=True):
            assert np.array_equal(array, before, equal_nan=True), name
    assert {name for name in names if not kept[name]} <= {"start_overlaps"}
    assert_apart([each for both in results.values() for each in both], *memory)
