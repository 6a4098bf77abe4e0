# SPDX-License-Identifier: Apache-2.0
"""Cameras, as declared in a sensor file or in Python."""

import math
from dataclasses import dataclass

import numpy as np

from rbdyn_ros.arrays import Array
from rbdyn_ros.checks.numbers import count, finite
from rbdyn_ros.errors import Finding, counted, exactly
from rbdyn_ros.sensors.ray_specs import RaySpec, checked, one_of

#: Encodings of a depth image: metres, or whole millimetres.
DEPTH = ("32FC1", "16UC1")

#: Methods to compute depths. The renderer, which draws a picture, is ten times as fast as rays.
METHODS = ("auto", "rays", "renderer")

#: Formats of compressed colour pictures.
COMPRESSIONS = ("jpeg", "png")

#: Allowed numbers of OpenCV's coefficients: none, plumb_bob without or with k3, rational.
COEFFICIENTS = (0, 4, 5, 8)

#: Largest number of pixels of a picture.
MAX_PIXELS = 8_000_000
#: Largest depth that 16 bits hold, in whole millimetres [m].
LARGEST_MILLIMETRES = 65.535

#: Largest error of a pixel after its distortion is inverted and applied again [pixels].
INVERTED = 1e-6

#: Largest coordinate of a pixel in the plane z = 1; reached by a view of 179.9 degrees.
SIDEWAYS = 1e3

#: Smallest field of view [rad]; a telescope has 1e-4 rad.
NARROWEST = 1e-6

#: Step of finite differences in the plane z = 1.
SMALL = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraSpec(RaySpec):
    """A pinhole camera with OpenCV's distortion; its link is an optical frame (REP 103).

    z points forward, x right and y down. Pixel centres have whole coordinates, as in OpenCV.

    Attributes:
        width: columns of the picture.
        height: rows of the picture.
        field_of_view: horizontal angle of the picture without distortion [rad], below pi.
        intrinsics: fx, fy, cx, cy [pixels], instead of `field_of_view`; None: `field_of_view`
            determines them.
        distortion: OpenCV's k1, k2, p1, p2, or these and k3, or all up to k6; empty: no
            distortion.
    """

    width: int
    height: int
    field_of_view: float = 1.0
    intrinsics: tuple[float, float, float, float] | None = None
    distortion: tuple[float, ...] = ()

    def findings(self) -> list[Finding]:
        """Return all faults of the camera."""
        found = RaySpec.findings(self) + checked(
            lambda: count("width", self.width, 1, MAX_PIXELS),
            lambda: count("height", self.height, 1, MAX_PIXELS),
            lambda: finite(
                "field_of_view", self.field_of_view, low=NARROWEST, high=math.pi - 3e-3
            ),
        )
        if not found and self.width * self.height > MAX_PIXELS:
            text = f"the picture has {self.width} x {self.height} pixels; allowed are at most "
            found.append(Finding("bad-argument", f"{text}{MAX_PIXELS}", "error", "width"))
        if self.intrinsics is not None:
            found += self._intrinsic_findings(self.intrinsics)
        if not found and not self._is_narrow():
            text = "a corner of the picture is nearly 90 degrees from the optical axis; allowed "
            text += "are intrinsics of a pinhole camera with a field of view below 180 degrees"
            found.append(Finding("bad-argument", text, "error", "intrinsics"))
        if len(self.distortion) not in COEFFICIENTS:
            found_numbers = counted(len(self.distortion), "number")
            text = f"distortion has {found_numbers}; allowed are 0, 4, 5 or 8"
            found.append(Finding("bad-argument", text, "error", "distortion"))
        found += checked(lambda: finite("distortion", self.distortion, (None,)))
        if not found and self.distortion and not self._is_invertible():
            text = (
                "the distortion folds the picture: some pixels have no direction, or several; "
                "allowed are coefficients that are valid in the whole picture"
            )
            found.append(Finding("bad-argument", text, "error", "distortion"))
        return found

    def _is_narrow(self) -> bool:
        fx, fy, cx, cy = self.matrix
        with np.errstate(all="ignore"):
            x, y = (
                np.divide((0 - cx, self.width - 1 - cx), fx),
                np.divide((0 - cy, self.height - 1 - cy), fy),
            )
            return bool(max(np.abs(x).max(), np.abs(y).max()) < SIDEWAYS)

    @staticmethod
    def _intrinsic_findings(intrinsics: tuple[float, float, float, float]) -> list[Finding]:
        return checked(
            lambda: finite("intrinsics", intrinsics, (4,)),
            lambda: finite(
                "intrinsics", intrinsics[:2], (2,), above=0.0, allowed="focal lengths above 0"
            ),
        )[:1]

    def _is_invertible(self) -> bool:
        fx, fy, _, _ = self.matrix
        plane = self.plane()
        missed = np.abs(distorted(plane, self.distortion) - self._normalised()).max()
        a, b = _slopes(plane, self.distortion)
        unfolded = a[..., 0] * b[..., 1] > a[..., 1] * b[..., 0]
        return bool(missed * max(fx, fy) < INVERTED and unfolded.all())

    @property
    def matrix(self) -> tuple[float, float, float, float]:
        """The intrinsics fx, fy, cx, cy [pixels]."""
        if self.intrinsics is not None:
            return self.intrinsics
        focal = 0.5 * self.width / math.tan(0.5 * self.field_of_view)
        return focal, focal, 0.5 * (self.width - 1), 0.5 * (self.height - 1)

    def _normalised(self) -> Array:
        """Return the pixels' coordinates (u - cx) / fx and (v - cy) / fy, (height, width, 2)."""
        fx, fy, cx, cy = self.matrix
        x, y = (np.arange(self.width) - cx) / fx, (np.arange(self.height) - cy) / fy
        return np.stack(np.broadcast_arrays(x[None, :], y[:, None]), axis=-1)

    def plane(self) -> Array:
        """Return the point (x, y) of each pixel's ray in the plane z = 1, (height, width, 2)."""
        return undistorted(self._normalised(), self.distortion)


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthSpec(CameraSpec):
    """A depth camera: at each pixel it measures z of the visible point, in the optical frame.

    Attributes:
        encoding: one of DEPTH.
        segmentation: whether the camera also publishes which object is at each pixel.
        points: whether the camera also publishes a point cloud.
        method: how the simulator computes the depths, one of METHODS; auto uses the renderer if it
            is available.
    """

    encoding: str = DEPTH[0]
    segmentation: bool = False
    points: bool = False
    method: str = METHODS[0]

    @property
    def is_drawn(self) -> bool:
        """Return whether the renderer computes the depths, if the renderer is available."""
        return self.method != METHODS[1]

    def findings(self) -> list[Finding]:
        """Return all faults of the camera."""
        found = CameraSpec.findings(self)
        found += one_of("encoding", self.encoding, DEPTH)
        found += one_of("method", self.method, METHODS)
        if not found and self.encoding == DEPTH[1] and self.far > LARGEST_MILLIMETRES:
            found_far, most = exactly(self.far), exactly(LARGEST_MILLIMETRES)
            text = f"far is {found_far} m; allowed is at most {most} m for encoding 16UC1"
            found.append(Finding("bad-argument", text, "error", "far"))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ColorSpec(CameraSpec):
    """A colour camera without noise; rb.render draws its pictures.

    Depths have 24 bits: the nearer of two surfaces at a distance z is visible if they are more
    than z^2 / (near 2^24) apart, 0.6 mm at 10 m with near = 0.01 m.

    Attributes:
        compressed: one of COMPRESSIONS: pictures are published in this format too; None: only
            uncompressed pictures.
    """

    compressed: str | None = None

    def findings(self) -> list[Finding]:
        """Return all faults of the camera."""
        found = CameraSpec.findings(self)
        if not found and self.near == 0.0:
            text = "near is 0 m; for a colour camera it must be above 0"
            found.append(Finding("bad-argument", text, "error", "near"))
        if self.compressed is not None:
            found += one_of("compressed", self.compressed, COMPRESSIONS)
        return found


def distorted(plane: Array, distortion: tuple[float, ...]) -> Array:
    """Return the distorted positions (..., 2) of points of the plane z = 1.

    Source: OpenCV, camera calibration and 3D reconstruction, the pinhole model.
    """
    k1, k2, p1, p2, k3, k4, k5, k6 = (*distortion, *[0.0] * (8 - len(distortion)))
    x, y = plane[..., 0], plane[..., 1]
    r2 = x * x + y * y
    radial = (1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))) / (1.0 + r2 * (k4 + r2 * (k5 + r2 * k6)))
    return np.stack(
        [
            x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x),
            y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y,
        ],
        axis=-1,
    )


def undistorted(shown: Array, distortion: tuple[float, ...], rounds: int = 30) -> Array:
    """Return the points of the plane z = 1 with given distorted positions, by Newton's method.

    After `rounds` iterations a point may still be wrong or not finite; compare its `distorted`
    with the given position.
    """
    if not any(distortion):
        return shown
    plane = shown.copy()
    with np.errstate(all="ignore"):
        for _ in range(rounds):
            e = shown - distorted(plane, distortion)
            a, b = _slopes(plane, distortion)
            det = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
            x = (b[..., 1] * e[..., 0] - b[..., 0] * e[..., 1]) / det
            y = (a[..., 0] * e[..., 1] - a[..., 1] * e[..., 0]) / det
            plane += np.stack([x, y], axis=-1)
            if not max(np.abs(x).max(), np.abs(y).max()) > 1e-13:
                break
    return np.asarray(plane)


def _slopes(plane: Array, distortion: tuple[float, ...]) -> tuple[Array, Array]:
    """Return the derivatives of `distorted` by x and by y, by finite differences."""
    x, y = np.array((SMALL, 0.0)), np.array((0.0, SMALL))
    return (
        (distorted(plane + x, distortion) - distorted(plane - x, distortion)) / (2.0 * SMALL),
        (distorted(plane + y, distortion) - distorted(plane - y, distortion)) / (2.0 * SMALL),
    )
