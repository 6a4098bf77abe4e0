# SPDX-License-Identifier: Apache-2.0
"""The keys of a sensors file. Units are SI."""

import math

from rbdyn_ros.description.yaml_files.dialect import Dialect
from rbdyn_ros.description.yaml_files.kinds import (
    Either,
    Flag,
    Kind,
    List,
    Name,
    Number,
    NumberList,
    OneOf,
    Whole,
)
from rbdyn_ros.description.yaml_files.tables import ByName, ByType, Key, Table, table
from rbdyn_ros.sensors.camera_specs import COMPRESSIONS, DEPTH, MAX_PIXELS, METHODS, NARROWEST
from rbdyn_ros.sensors.ray_specs import (
    LONGEST,
    MAX_RAYS,
    QUARTER,
    RADIATION,
    SEEN,
    TURN,
    Fan,
    RangeNoise,
)
from rbdyn_ros.sensors.specs import MEASURED, SIDES, NoiseSpec, Vec3

LINK = Key("link", Name("the name of a link"), "link whose frame the sensor has", needed=True)
RATE = Number(above=0.0, high=1e6, unit="Hz")
SIZE = Number(low=0.0)


def _type(word: str) -> Key:
    return Key("type", OneOf((word,)), "type of the sensor", needed=True)


def _noise(*quantities: str) -> Key:
    """Return the key `noise`, whose table has the errors of each quantity."""
    rows = tuple(Key(name, _errors(name), f"errors of {name}") for name in quantities)
    return Key("noise", Table("noise", rows, make=dict), "default: none")


def _errors(quantity: str) -> Table:
    """Return the table of a quantity's errors; an orientation has no key `resolution`."""

    def kind(one: Number) -> Kind:
        return one if quantity == "effort" else Either(scalar=one, items=NumberList(3, one))

    rows = [
        Key("stddev", kind(SIZE), "standard deviation of white noise"),
        Key("bias", kind(Number()), "constant offset"),
        Key("bias_walk", kind(SIZE), "deviation of the bias after a second [unit/sqrt(s)]"),
    ]
    if quantity != "orientation":
        rows.append(Key("resolution", kind(SIZE), "the smallest step; 0: not rounded"))
    return Table(f"noise of {quantity}", tuple(rows), make=_noise_spec)


def _noise_spec(**given: float | Vec3) -> NoiseSpec:
    threes = {key: (x, x, x) if isinstance(x, float) else x for key, x in given.items()}
    return NoiseSpec(**threes)


def _fan(name: str, limit: float, doc: str) -> Key:
    angle = Number(low=-limit, high=limit, unit="rad")
    rows = (
        Key("from", angle, "angle of the first ray", needed=True, field="first"),
        Key("to", angle, "angle of the last ray", needed=True, field="last"),
        Key("rays", Whole(1, MAX_RAYS), "number of rays, one at each end", needed=True),
    )
    return Key(name, Table(name, rows, make=Fan), doc)


BODY_RATE = Key("rate", RATE, "readings per second; default: every tick")
IMU = table(
    "imu",
    _type("imu"),
    LINK,
    BODY_RATE,
    Key("orientation", Flag(), "the sensor also measures its orientation", default=True),
    _noise("angular_velocity", "linear_acceleration", "orientation"),
)
FORCE_TORQUE = table(
    "force_torque sensor",
    _type("force_torque"),
    Key("joint", Name("the name of a joint"), "the measured joint, fixed or moving", needed=True),
    Key("frame", Name("the name of a link"), "axes of the wrench; default: the child link"),
    Key("measured", OneOf(MEASURED), "the reported wrench", default=MEASURED[0]),
    Key("pushes", OneOf(SIDES), "side that external forces push (fixed joints)", default=SIDES[0]),
    BODY_RATE,
    _noise("force", "torque"),
)
CONTACT = table(
    "contact sensor",
    _type("contact"),
    LINK,
    Key(
        "threshold",
        Number(low=0.0, unit="N"),
        "force above which contact is reported",
        default=1.0,
    ),
    BODY_RATE,
    _noise("force", "torque"),
)
MAGNETOMETER = table(
    "magnetometer",
    _type("magnetometer"),
    LINK,
    Key("earth_field", NumberList(3), "magnetic field in world axes [T]; default: SDFormat's"),
    BODY_RATE,
    _noise("magnetic_field"),
)
GPS = table(
    "GPS",
    _type("gps"),
    LINK,
    Key("latitude", Number(-90.0, 90.0), "latitude of the world's origin [degree]", needed=True),
    Key(
        "longitude", Number(-180.0, 180.0), "longitude of the world's origin [degree]", needed=True
    ),
    Key("altitude", Number(-1e4, 1e7, unit="m"), "height of the origin above WGS 84; default 0"),
    BODY_RATE,
    _noise("position"),
)
POSE = table(
    "pose sensor",
    _type("pose"),
    LINK,
    Key(
        "reference",
        Name("the name of a link"),
        "link in whose frame the pose is; default: the world",
    ),
    BODY_RATE,
    _noise("position", "orientation"),
)
JOINT_TORQUE = table(
    "joint torque sensor",
    _type("joint_torque"),
    Key("joint", Name("the name of a joint"), "the measured joint, with one axis", needed=True),
    BODY_RATE,
    _noise("effort"),
)
ERRORS = (
    Key("stddev", Number(low=0.0, unit="m"), "standard deviation of white noise"),
    Key("bias", Number(unit="m"), "constant offset"),
    Key("resolution", Number(low=0.0, unit="m"), "the smallest step; 0: not rounded"),
)
RAYS = (
    LINK,
    Key("rate", RATE, "readings per second, at most one per tick of the loop", needed=True),
    Key("near", Number(low=0.0, unit="m"), "smallest distance", needed=True),
    Key("far", Number(above=0.0, high=1e9, unit="m"), "largest distance", needed=True),
    Key("latency", Number(low=0.0, high=LONGEST, unit="s"),
        "simulated time between a measurement and its message; default 0"),
    Key("exclude", List(Name("the name of a link"), "link"),
        "links that rays pass through; default: `link`"),
)  # fmt: skip
DISTANCES = (
    Key(
        "noise",
        table(
            "noise",
            Key(
                "range",
                Table("noise of range", ERRORS, make=RangeNoise),
                "errors of each distance",
            ),
            make=lambda range=RangeNoise(): range,  # noqa: A006, B008 - the name of the key
        ),
        "default: none",
    ),
    Key("dropout", Number(low=0.0, high=1.0), "share of lost readings; default 0"),
    Key("sees", OneOf(SEEN), "shapes that rays meet", default=SEEN[0]),
)
LIDAR = table(
    "lidar",
    _type("lidar"),
    *RAYS,
    *DISTANCES,
    _fan("horizontal", TURN, "azimuths of the columns, anticlockwise about z"),
    _fan("vertical", QUARTER, "elevations of the rows, upwards; default: one row at 0"),
    Key("angles", Name("a CSV file"), "CSV file with azimuth, elevation of each ray [rad]"),
    Key(
        "sweep", Number(low=0.0, high=LONGEST, unit="s"), "time to measure all columns; default 0"
    ),
    one=("horizontal", "angles"),
    code="missing-key",
)
RANGE = table(
    "range sensor",
    _type("range"),
    *RAYS,
    *DISTANCES,
    Key("field_of_view", Number(low=0.0, high=math.pi - 1e-3, unit="rad"),
        "full angle of the cone; default 0: one ray"),
    Key("radiation", OneOf(RADIATION), "kind of the sensor", default=RADIATION[0]),
    Key("rays", Whole(1, MAX_RAYS), "number of rays in the cone", default=32),
)  # fmt: skip
CAMERA = (
    *RAYS,
    Key("width", Whole(1, MAX_PIXELS), "columns of the picture", needed=True),
    Key("height", Whole(1, MAX_PIXELS), "rows of the picture", needed=True),
    Key("field_of_view", Number(low=NARROWEST, high=math.pi - 3e-3, unit="rad"),
        "horizontal angle of view without distortion"),
    Key("intrinsics", NumberList(4, (Number(above=0.0), Number(above=0.0), Number(), Number())),
        "fx, fy, cx, cy [pixels], instead of `field_of_view`"),
    Key("distortion", NumberList(), "k1 k2 p1 p2 [k3 [k4 k5 k6]] of OpenCV; default: none"),
)  # fmt: skip
VIEW = ("field_of_view", "intrinsics")
DEPTH_CAMERA = table(
    "depth camera",
    _type("depth"),
    *CAMERA,
    *DISTANCES,
    Key("encoding", OneOf(DEPTH), "metres, or whole millimetres", default=DEPTH[0]),
    Key("segmentation", Flag(), "the object at each pixel is published too", default=False),
    Key("points", Flag(), "the points are published as a PointCloud2", default=False),
    Key("method", OneOf(METHODS), "how depths are computed: drawn or by rays", default=METHODS[0]),
    one=VIEW,
    code="missing-key",
)
COLOR_CAMERA = table(
    "colour camera",
    _type("color"),
    *CAMERA,
    Key("compressed", OneOf(COMPRESSIONS), "format of compressed pictures; default: none"),
    one=VIEW,
    code="missing-key",
)
SENSOR = ByType(
    "type",
    {
        "imu": IMU,
        "force_torque": FORCE_TORQUE,
        "contact": CONTACT,
        "magnetometer": MAGNETOMETER,
        "gps": GPS,
        "pose": POSE,
        "joint_torque": JOINT_TORQUE,
        "lidar": LIDAR,
        "range": RANGE,
        "depth": DEPTH_CAMERA,
        "color": COLOR_CAMERA,
    },
)
SENSORS = Key(
    "sensors",
    ByName(SENSOR, "sensor", "sensor"),
    "the sensors by name, which is part of their topics",
    needed=True,
)
DIALECT = Dialect(
    "rbdyn_sensors", "a sensors file", "not-a-sensors-file", table("sensors file", SENSORS)
)
