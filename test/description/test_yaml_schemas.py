# SPDX-License-Identifier: Apache-2.0
"""The JSON schemas of YAML files accept the same documents as the readers' tables of keys.

A schema does not describe how values are spelt (1_0 is a string here), nor other files.
"""

import functools
import importlib.util
import json
from pathlib import Path

import jsonschema
import pytest
from support import trials
from support.commands import run
from support.refusals import refused

from rbdyn_ros.checks.audit import Audit
from rbdyn_ros.commands.schema import KINDS, dialects
from rbdyn_ros.description.yaml_files import kinds
from rbdyn_ros.description.yaml_files.kinds import Number, NumberList, Whole, is_nothing
from rbdyn_ros.description.yaml_files.tables import Key, Table
from rbdyn_ros.description.yaml_files.text import Items, Scalar, parse
from rbdyn_ros.errors import DescriptionError, RbdynError

TEST = Path(__file__).resolve().parents[1]
ROOT = TEST.parent
#: Valid files of each kind.
GOOD = {
    "actuators": ["config/actuators.yaml", "test/fuzz/seeds/good/actuators*.yaml"],
    "mechanism": [
        "examples/crank_slider.yaml",
        "examples/delta_robot.yaml",
        "test/fuzz/seeds/good/mechanism.yaml",
    ],
    "policy": ["examples/trot.yaml", "test/fuzz/seeds/good/policy.yaml"],
    "scene": ["config/scenes/gripper.yaml", "config/scenes/so101.yaml", "config/worlds/*.yaml"],
    "sensors": [
        "config/*sensors.yaml",
        "config/scenes/*_sensors.yaml",
        "test/fuzz/seeds/good/sensors*.yaml",
    ],
    "trial": ["config/trials/*.yaml", "test/fuzz/seeds/good/trial*.yaml"],
}


@functools.cache
def module(path):
    """Import a test module by its path; the tests need its table of bad input."""
    spec = importlib.util.spec_from_file_location(f"table_{Path(path).stem}", TEST / path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def parameters(test):
    """Return the values of the last pytest.mark.parametrize of a test."""
    return test.pytestmark[0].args[1]


def bad_actuators():
    for keys in module("actuators/test_actuator_files.py").BAD:
        table = keys if keys.startswith("{") else f"{{{keys}}}"
        yield f"rbdyn_actuators: 1\nactuators:\n  j: {table}"


def bad_mechanisms():
    files = module("description/test_mechanism.py")
    yield from (text for text, _ in files.DOCUMENTS.values())
    yield from (text for (text, _), _ in files.VALUES.values())
    shapes = module("description/test_mechanism_geometries.py")
    for text, _ in parameters(shapes.test_mistakes_in_geometries_are_refused):
        yield f"{shapes.START}geometries:\n  g: {text}\n"
    for text, _ in parameters(shapes.test_mistakes_in_floor_and_obstacles_are_refused):
        yield f"{shapes.START}{text}\n"
    bounds = module("description/test_bounds.py")
    for rest, _ in bounds.MECHANISMS.values():
        yield (bounds.HEAD + rest).replace("N", "1e300")


def bad_policies():
    files = module("policies/test_policy_files.py")
    yield from (files.written(**changes) for changes, _ in files.BAD)


def bad_scenes():
    for text in module("description/test_scene_files.py").ERRORS:
        yield f"rbdyn_scene: 1\n{text}\n"


def bad_sensors():
    bodies, rays = module("sensors/test_sensor_files.py"), module("sensors/test_ray_files.py")
    for line, _ in parameters(bodies.test_invalid_sensors_are_refused):
        yield bodies.one(line)
    for kind, key, value, _ in parameters(rays.test_the_error_of_a_bad_value_names_its_line):
        yield rays.one(kind, **{key: value})[0]
    cameras = module("sensors/test_depth_cameras.py")
    changes = parameters(cameras.test_the_error_of_a_bad_value_in_a_file_names_its_line)
    yield from (cameras.FILE.replace(old, new) for old, new, _, _ in changes)
    yield cameras.COLOR


def bad_trials():
    joint = trials.joint()
    for key, value, _ in module("trials/test_trial_files.py").BAD:
        yield trials.text(**{key: value and value.replace("JOINT", joint)})
    for vary in module("trials/test_trial_actuators.py").BAD:
        yield trials.text(vary=f"{{actuators: {vary}}}")


BAD = {
    "actuators": bad_actuators,
    "mechanism": bad_mechanisms,
    "policy": bad_policies,
    "scene": bad_scenes,
    "sensors": bad_sensors,
    "trial": bad_trials,
}


def plain(node):
    """Return a node as the plain value that an editor's YAML parser would return."""
    if isinstance(node, Items):
        return [plain(item) for item in node.nodes]
    if not isinstance(node, Scalar):
        return {key: plain(below) for key, below in node.nodes.items()}
    if node.quoted:
        return node.text
    if is_nothing(node):
        return None
    number = kinds.number_in(node)
    if number is not None:
        return int(number) if node.text.isdigit() else number
    return node.text == "true" if node.text in ("true", "false") else node.text


def verdicts(dialect, text):
    """Return whether table and schema refuse a document (two bools), or None if it is no YAML."""
    try:
        top = dialect.parse(text, "file.yaml", Audit())
    except RbdynError:
        return None
    audit = Audit()
    dialect.read(top, audit)
    validator = jsonschema.Draft7Validator(dialect.schema())
    return bool(audit.errors), not validator.is_valid(plain(top))


@pytest.mark.parametrize("kind", KINDS)
def test_schema_and_table_refuse_the_same_bad_input(kind):
    dialect, seen = dialects()[kind], []
    for text in BAD[kind]():
        found = verdicts(dialect, text)
        if found is not None:
            assert found[0] == found[1], (
                f"only the {'table' if found[0] else 'schema'} refuses {text}"
            )
            seen.append(found[0])
    assert sum(seen) >= 14  # other mistakes show only with the robot or further files
    assert len(seen) >= 28


@pytest.mark.parametrize("kind", KINDS)
def test_schema_and_table_accept_the_same_good_files(kind):
    files = [path for pattern in GOOD[kind] for path in ROOT.glob(pattern)]
    assert files
    for path in files:
        assert verdicts(dialects()[kind], path.read_text()) == (False, False), path


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_prints_a_valid_schema(kind):
    done = run("schema", kind)
    assert done.returncode == 0
    schema = json.loads(done.stdout)
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema == dialects()[kind].schema()


ROWS = Table(
    "pump",
    (
        Key("rate", Number(above=0.0, high=9.0), "a rate", needed=True, field="speed"),
        Key("count", Whole(1, 5), "a count", default=2),
        Key("ends", NumberList(2, (Number(low=0.0), Number())), "two ends"),
        Key("left", Number(), "one of two"),
        Key("right", Number(), "one of two"),
    ),
    one=("left", "right"),
    code="bad-side",
)


def read(text):
    audit = Audit()
    given = ROWS.read(
        parse(text, "pump.yaml", audit, "a pump"), kinds.ValuePlace(audit, "pump 'p'")
    )
    audit.raise_errors("pump.yaml")
    return given


def test_a_row_of_the_table_defines_the_field_and_the_default_of_a_key():
    given = read("rate: 2\nleft: -1\nends: [0, -3]")
    assert dict(given) == {"speed": 2.0, "left": -1.0, "ends": (0.0, -3.0), "count": 2}
    assert given.lines == {"rate": 1, "left": 2, "ends": 3}


@pytest.mark.parametrize(
    ("text", "codes", "lines"),
    [
        ("left: 1\nrate: fast", "bad-value", [2]),
        ("left: 1\nrate: 10", "bad-value", [2]),
        ("left: 1\nrate: 0", "bad-value", [2]),
        ("left: 1\nrate: 1\nrate: 2", "duplicate-key", [3]),
        ("left: 1\nrate: 1\nends: [1]", "bad-value", [3]),
        ("left: 1\nrate: 1\nends: [-1, 1]", "bad-value", [3]),
        ("left: 1\nrate: 1\ncount: 6", "bad-value", [3]),
        ("left: 1\nright: 1\nrate: 1", "bad-side", [1]),
        ("rate: 1", "bad-side", [1]),
        ("left: 1", "missing-key", [1]),
        ("left: 1\nrat: 1\ncount: x", ["missing-key", "unknown-key", "bad-value"], [1, 2, 3]),
    ],
)
def test_the_error_of_a_table_has_code_element_and_line(text, codes, lines):
    with refused(DescriptionError, codes) as caught:
        read(text)
    assert [finding.line for finding in caught.value.findings] == lines
    owners = {finding.element for finding in caught.value.findings} - {""}
    assert owners <= {"pump 'p'"}


def test_the_error_about_an_unknown_key_suggests_the_nearest_key():
    with refused(DescriptionError, "unknown-key", "pump 'p'", line=3, found="conut") as caught:
        read("left: 1\nrate: 1\nconut: 1")
    assert "(did you mean 'count'?)" in str(caught.value)
