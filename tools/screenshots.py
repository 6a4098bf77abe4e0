# SPDX-License-Identifier: Apache-2.0
"""Make the pictures of the view in docs/pictures/view with a real browser.

The program needs `make setup` and an installed Chromium. Run it after a change of the view:

    .venv/bin/python tools/screenshots.py            # or with the names of pictures
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import rbdyn_ros as rb
from rbdyn_ros.description.appearance.shapes import read_appearance
from rbdyn_ros.dynamics.instant import Instant
from rbdyn_ros.view.scene.coordinates import qpos_text
from rbdyn_ros.view.scene.scene import GRID
from rbdyn_ros.view.web.show import Show, address_of, open_server

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures" / "view"
ROBOTS = "cmeel.prefix/share/example-robot-data/robots"

WINDOW = {"width": 1200, "height": 720}
#: Timeout of a picture [ms]; it is long because software WebGL is slow.
PATIENCE = 600_000.0
ARGS = (
    *("--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-gpu", "--hide-scrollbars"),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
)
#: Hides viser's warnings about this browser.
HIDE = ".mantine-Notifications-root { display: none !important; }"
#: Hides everything except the scene.
SCENE_ALONE = """() => {
    let inner = document.querySelector("canvas[data-engine]");
    for (; inner !== document.body; inner = inner.parentElement)
        for (const other of inner.parentElement.children)
            if (other !== inner) other.style.visibility = "hidden";
}"""

#: Robots of the wide picture: file, position [m], yaw [rad], joints.
PANDA, UR5 = "panda_description/urdf/panda.urdf", "ur_description/urdf/ur5_robot.urdf"
TALOS, GO2 = "talos_data/robots/talos_full_v2.urdf", "go2_description/urdf/go2.urdf"
STANDING = {
    f"{leg}_{part}_joint": angle
    for leg, out in (("FL", 0.07), ("FR", -0.07), ("RL", 0.07), ("RR", -0.07))
    for part, angle in (("hip", out), ("thigh", 0.8), ("calf", -1.45))
}
REACHING = {
    "panda_joint1": 0.25, "panda_joint2": -0.1, "panda_joint4": -1.75, "panda_joint6": 1.8,
    "panda_joint7": 0.8, "panda_finger_joint1": 0.03,
}  # fmt: skip
WIDE: tuple[tuple[str, tuple[float, float], float, dict[str, float]], ...] = (
    (PANDA, (1.1, -1.95), 0.75, REACHING),
    (
        UR5, (1.1, -1.05), 0.9,
        {"shoulder_lift_joint": -1.75, "elbow_joint": 1.45, "wrist_1_joint": -1.27,
         "wrist_2_joint": -1.57},
    ),
    (
        TALOS, (-0.3, 0.2), -0.1,
        {"head_2_joint": 0.2, "arm_left_1_joint": 0.25, "arm_right_1_joint": -0.3,
         "arm_left_2_joint": 0.3, "arm_right_2_joint": -0.3, "arm_left_4_joint": -1.2,
         "arm_right_4_joint": -0.7, "gripper_left_joint": -0.4, "gripper_right_joint": -0.4,
         "leg_left_3_joint": -0.41, "leg_right_3_joint": -0.41, "leg_left_4_joint": 0.86,
         "leg_right_4_joint": 0.86, "leg_left_5_joint": -0.45, "leg_right_5_joint": -0.45},
    ),
    (GO2, (1.2, 1.5), -0.95, STANDING),
)  # fmt: skip


def robot_file(name: str) -> Path:
    """Return the path of a robot of example-robot-data."""
    for entry in sys.path:
        if (Path(entry) / ROBOTS / name).is_file():
            return Path(entry) / ROBOTS / name
    sys.exit(f"tools/screenshots.py: {name} is missing; `make setup` installs it")


@contextlib.contextmanager
def page_at(
    browser: Browser, address: str, size: dict[str, int] | None = None, scale: int = 1
) -> Iterator[Page]:
    """Open a view and wait until its scene is lit; `scale` is the device pixel ratio."""
    context = browser.new_context(
        viewport=size or WINDOW,  # type: ignore[arg-type]
        device_scale_factor=scale,
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(address)
    page.add_style_tag(content=HIDE)
    page.wait_for_function(
        "[...document.querySelectorAll('canvas')].some((one) => one.style.opacity === '1')"
    )
    settle(page)
    try:
        yield page
    finally:
        context.close()


def settle(page: Page) -> None:
    """Wait until two successive pictures of the scene are nearly equal."""
    before = None
    for _ in range(40):
        page.wait_for_timeout(700)
        now = np.asarray(picture(page).convert("L").resize((200, 120)), np.float64)
        if before is not None and np.abs(now - before).mean() < 0.3:
            return
        before = now


def picture(page: Page) -> Image.Image:
    """Return a picture of the page, without a tooltip."""
    page.mouse.move(300, 5)
    page.wait_for_timeout(300)
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def save(image: Image.Image, name: str) -> None:
    """Write a picture with a palette of 256 colours."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    path = PICTURES / f"{name}.png"
    # keep rare colours: markers and lines of charts have few pixels
    few = image.quantize(256, Image.Quantize.MAXCOVERAGE, 3, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB")


def posed(name: str, joints: dict[str, float], floating_base: bool = False) -> rb.Model:
    """Return a robot with the given start positions of joints."""
    m = rb.load_urdf(robot_file(name), floating_base=floating_base, strict=False)
    qpos0 = m.qpos0.copy()
    for joint, position in joints.items():
        qpos0[m.jnt_qposadr[m.jnt_id(joint)]] = position
    return m.replaced(qpos0=qpos0)


def wide(browser: Browser) -> None:
    """Make a picture of four robots next to each other on one floor, without the panel."""
    server = open_server(0)
    try:
        for k, (name, place, yaw, joints) in enumerate(WIDE):
            m = posed(name, joints, floating_base=True)
            show = Show(server, m, read_appearance(robot_file(name)), str(k))
            show.display.set(GRID, k == 0)  # the floor of the first robot is large enough for all
            qpos = m.qpos0.copy()
            qpos[:3] = *place, -show.scene.lowest
            qpos[3:7] = np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)
            show.put(Instant.still(m, qpos))
        camera = server.initial_camera
        camera.fov, camera.look_at = np.radians(14.8), (0.0, -0.1, 0.72)
        camera.position = (7.8, -0.4, 1.35)
        server.gui.main_panel.float()  # a side panel would shift the scene
        size = {"width": 1400, "height": 480}
        with page_at(browser, address_of(server), size, scale=2) as page:
            page.evaluate(SCENE_ALONE)
            settle(page)
            save(picture(page).resize((1400, 480), Image.Resampling.LANCZOS), "robots")
    finally:
        server.stop()


@contextlib.contextmanager
def command(*words: str | Path, folder: Path | None = None) -> Iterator[str]:
    """Run `rbdyn` until the block ends; yield the address that it prints."""
    rbdyn = Path(sys.executable).parent / "rbdyn"
    env = dict(os.environ, PYTHONUNBUFFERED="1", ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")
    process = subprocess.Popen(
        [rbdyn, *map(str, words)], cwd=folder, env=env, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    said = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            found = re.search(r"http://\S+", line)
            if found:
                yield found[0]
                break
        else:
            sys.exit("".join(said))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


@contextlib.contextmanager
def page_of(
    browser: Browser,
    *words: str | Path,
    folder: Path | None = None,
    width: int = 1200,
    height: int = 720,
) -> Iterator[Page]:
    """Run `rbdyn` and open its page."""
    size = {"width": width, "height": height}
    served = command(words[0], "--port", "0", *words[1:], folder=folder)
    with served as address, page_at(browser, address, size) as page:
        yield page


def tick(page: Page, label: str) -> None:
    """Toggle a check box of the panel."""
    page.get_by_label(label, exact=True).first.click()
    page.wait_for_timeout(300)


def unfold(page: Page, folder: str) -> None:
    """Open a folder of the panel."""
    page.get_by_text(folder, exact=True).first.click()
    page.wait_for_timeout(500)


def fill(page: Page, label: str, text: str, at: int = 1) -> None:
    """Fill a text box of the panel; at: number of the box after the label."""
    box = page.locator("label", has_text=re.compile(f"^{re.escape(label)}$")).first.locator(
        f"xpath=following::input[{at}]"
    )
    box.fill(text)
    box.press("Enter")


def sliders(browser: Browser) -> None:
    """Make a picture of a Panda in `rbdyn view`."""
    with page_of(browser, "view", robot_file(PANDA)) as page:
        fill(page, "qpos", qpos_text(posed(PANDA, REACHING).qpos0))
        settle(page)
        save(picture(page), "sliders")


def layers(browser: Browser) -> None:
    """Make a picture of a quadruped with inertia ellipsoids, joint axes and centre of mass."""
    m = posed(GO2, STANDING, floating_base=True)
    qpos = m.qpos0.copy()
    qpos[2] = -0.1  # the floor is at the feet of straight legs, and bent legs are shorter
    with page_of(browser, "view", robot_file(GO2), "--floating-base") as page:
        fill(page, "qpos", qpos_text(qpos))
        unfold(page, "Joints")
        unfold(page, "Display")
        for label in ("Visuals", "Inertia ellipsoids", "Joint axes and limits", "Centre of mass"):
            tick(page, label)
        settle(page)
        save(picture(page), "layers")


def missing(browser: Browser) -> None:
    """Make a picture of a UR5 with missing meshes."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(robot_file(UR5), Path(folder) / "ur5_robot.urdf")
        with page_of(browser, "view", "ur5_robot.urdf", folder=Path(folder)) as page:
            save(picture(page), "missing_meshes")


def loops(browser: Browser) -> None:
    """Make a picture of a delta robot, which has closed loops and no visuals."""
    with page_of(browser, "view", ROOT / "examples/delta_robot.yaml") as page:
        save(picture(page), "delta_robot")


def live(browser: Browser) -> None:
    """Make a picture of `rbdyn sim`: an arm that holds its position under a push, with charts."""
    start = [f"initial_positions.{joint}:={angle}" for joint, angle in REACHING.items()]
    words = [word for one in ("on_timeout:=hold", *start) for word in ("-p", one)]
    served = page_of(
        browser, "sim", robot_file(PANDA), "--ros-args", *words, width=1440, height=860
    )
    with served as page:
        unfold(page, "Push")
        unfold(page, "Charts")
        tick(page, "Show charts")
        fill(page, "Force x, y, z [N]", "20", 1)
        fill(page, "Force x, y, z [N]", "40", 2)
        fill(page, "Seconds", "30")
        page.wait_for_timeout(4000)
        page.get_by_role("button", name="Push", exact=True).first.click()
        page.wait_for_timeout(1500)
        page.get_by_role("button", name="Pause", exact=True).first.click()
        settle(page)
        save(picture(page), "live")


#: A Panda, a cube and a shelf; a depth camera at the hand and a lidar at the shoulder.
SCENE = """rbdyn_scene: 1
robot:
  file: {file}
  start: {{panda_joint2: -0.3, panda_joint4: -2.2, panda_joint6: 2.0, panda_joint7: 0.785}}
objects:
  cube: {{box: {{size: [0.05, 0.05, 0.05]}}, mass: 0.1, xyz: [0.5, 0, 0.025]}}
obstacles:
  shelf: {{box: {{size: [0.2, 0.2, 0.1]}}, xyz: [0.4, 0.35, 0.05]}}
"""
SENSORS = """rbdyn_sensors: 1
sensors:
  wrist: {type: depth, link: panda_hand, rate: 5, near: 0.02, far: 3, width: 320, height: 240,
    field_of_view: 1.2}
  shoulder: {type: lidar, link: panda_link1, rate: 5, near: 0.1, far: 8,
    exclude: [panda_link0, panda_link1, panda_link2],
    horizontal: {from: -3.14159, to: 3.14159, rays: 360},
    vertical: {from: -0.6, to: 0.0, rays: 16}}
"""


def sensors(browser: Browser) -> None:
    """Make a picture of `rbdyn sim` with the points of a lidar and a depth picture."""
    with tempfile.TemporaryDirectory() as folder:
        scene = SCENE.format(file=os.path.relpath(robot_file(PANDA), folder))
        Path(folder, "scene.yaml").write_text(scene, encoding="ascii")
        Path(folder, "sensors.yaml").write_text(SENSORS, encoding="ascii")
        words = ("--ros-args", "-p", "on_timeout:=hold", "-p", "sensors:=sensors.yaml")
        served = page_of(
            browser, "sim", "--scene", "scene.yaml", *words, folder=Path(folder), height=860
        )
        with served as page:
            page.get_by_text("wrist", exact=True).first.scroll_into_view_if_needed()
            page.mouse.wheel(0, 400)
            page.wait_for_timeout(4000)
            settle(page)
            save(picture(page), "sensors")


def report(browser: Browser) -> None:
    """Make a picture of the report of the trial in docs/guides/trials.md."""
    rbdyn = Path(sys.executable).parent / "rbdyn"
    with tempfile.TemporaryDirectory() as folder:
        words: list[str | Path] = [rbdyn, "trial", "config/trials/seven_dof_arm.yaml"]
        words += ["--runs", "200", "--out", Path(folder, "trial")]
        subprocess.run(words, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        page = browser.new_page(viewport={"width": 1200, "height": 760})
        page.goto(Path(folder, "trial", "report.html").as_uri())
        save(picture(page), "trial_report")
        page.close()


SHOTS: dict[str, Callable[[Browser], None]] = {
    "robots": wide,
    "sliders": sliders,
    "layers": layers,
    "missing_meshes": missing,
    "delta_robot": loops,
    "live": live,
    "sensors": sensors,
    "trial_report": report,
}


def main(names: list[str]) -> None:
    """Make the named pictures, or all of them."""
    unknown = [name for name in names if name not in SHOTS]
    if unknown:
        sys.exit(
            f"tools/screenshots.py: unknown picture {', '.join(unknown)}, use {', '.join(SHOTS)}"
        )
    path = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if path is None:
        sys.exit("tools/screenshots.py: no Chromium is installed")
    with sync_playwright() as playwright:
        browser: Any = playwright.chromium.launch(executable_path=path, args=list(ARGS))
        for name in names or SHOTS:
            SHOTS[name](browser)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
