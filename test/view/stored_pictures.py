# SPDX-License-Identifier: Apache-2.0
"""Make and store pictures of robots, a mechanism and a scene, in half the size.

After an intended change, check the new pictures and store them:

    .venv/bin/python test/view/stored_pictures.py
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import rbdyn_ros as rb
from rbdyn_ros.sensors import ColorSpec

FOLDER = Path(__file__).parent / "pictures"

SCENE = "config/scenes/gripper.yaml"

DELTA = "examples/delta_robot.yaml"

ANYMAL = "anymal_c_simple_description/urdf/anymal.urdf"

#: For each name the robot's file, the camera's link, the camera's position and its target.
ROBOTS = {
    "panda": ("panda.urdf", "panda_link0", (1.5, -1.3, 0.9), (0.15, 0.0, 0.45)),
    "anymal": (ANYMAL, "base", (1.2, -1.0, 0.6), (0.0, 0.0, -0.1)),  # this robot has textures
    "go2": ("go2.urdf", "base", (0.9, -0.8, 0.3), (0.0, 0.0, -0.15)),
    "tiago": ("tiago.urdf", "base_link", (1.9, -1.6, 1.3), (0.2, 0.0, 0.55)),
    "talos": ("talos_reduced.urdf", "base_link", (1.6, -1.3, 0.5), (0.0, 0.0, -0.1)),
}


def robot_picture(name):
    """Return the picture (480, 640, 3) of a robot."""
    from support.robots import find

    file, link, eye, target = ROBOTS[name]
    path = find(file)
    m = rb.load_urdf(path, strict=False)
    d = rb.make_data(m)
    d.qpos[:] = np.clip(0.3, *m.jnt_range[: m.nq].T)  # both fingers share one dof
    return rb.render(m, d, _camera(link), path, eye=eye, target=target)


def scene_picture():
    """Return the picture (480, 640, 3) of a gripper, its objects and a floor."""
    m = rb.load(SCENE)
    d = rb.make_data(m)
    eye, target = (0.75, -0.65, 0.75), (0.02, 0.0, 0.4)
    return rb.render(m, d, _camera("mount"), SCENE, eye=eye, target=target)


def mechanism_picture():
    """Return the picture (480, 640, 3) of a delta robot, drawn by its inertias and links."""
    m = rb.load(DELTA)
    camera = _camera(m.frame_names[0])
    return rb.render(m, rb.make_data(m), camera, DELTA, eye=(1.0, -0.8, 0.6), target=(0, 0, -0.1))


def _camera(link):
    return ColorSpec("eye", link, rate=1.0, near=0.05, far=20.0, width=640, height=480,
                     field_of_view=1.0)  # fmt: skip


def picture(name):
    """Return the picture (480, 640, 3) of a name."""
    others = {"scene": scene_picture, "delta": mechanism_picture}
    return others[name]() if name in others else robot_picture(name)


def halved(pixels):
    """Return a picture with half the width and half the height."""
    height, width, _ = pixels.shape
    return pixels.reshape(height // 2, 2, width // 2, 2, 3).mean(axis=(1, 3))


def stored(name):
    """Return the stored picture (240, 320, 3) of a name."""
    return np.asarray(Image.open(FOLDER / f"{name}.png").convert("RGB"))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    FOLDER.mkdir(exist_ok=True)
    for name in (*ROBOTS, "scene", "delta"):
        small = np.round(halved(picture(name))).astype(np.uint8)
        Image.fromarray(small).save(FOLDER / f"{name}.png", optimize=True)
