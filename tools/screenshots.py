"""Makes the pictures of the view in docs/pictures/view with a real browser.

Needs what `make setup` installs and a Chromium of the system. Run it after a change of the view:

    .venv/bin/python tools/screenshots.py            # or the names of some pictures
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
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import rbdyn_ros as rb

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures" / "view"
ROBOTS = "cmeel.prefix/share/example-robot-data/robots"

WINDOW = {"width": 1200, "height": 720}
#: Software WebGL takes its time: what a picture may wait for [ms].
PATIENCE = 60_000.0
ARGS = (
    *("--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-gpu", "--hide-scrollbars"),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
)
#: What viser says about this browser, which is none of a user's business.
HIDE = ".mantine-Notifications-root { display: none !important; }"

#: Robots of the wide picture: where their files lie, how they stand, what of the width they get.
WIDE: tuple[tuple[str, dict[str, float], int], ...] = (
    (
        "panda_description/urdf/panda.urdf",
        {"panda_joint2": -0.5, "panda_joint4": -2.2, "panda_joint6": 1.9, "panda_joint7": 0.8},
        330,
    ),
    (
        "ur_description/urdf/ur5_robot.urdf",
        {"shoulder_lift_joint": -1.2, "elbow_joint": 1.5, "wrist_1_joint": -1.8,
         "wrist_2_joint": -1.57},
        380,
    ),
    (
        "talos_data/robots/talos_full_v2.urdf",
        {"arm_left_2_joint": 0.35, "arm_right_2_joint": -0.35, "arm_left_4_joint": -1.0,
         "arm_right_4_joint": -1.0, "leg_left_3_joint": -0.45, "leg_right_3_joint": -0.45,
         "leg_left_4_joint": 0.9, "leg_right_4_joint": 0.9, "leg_left_5_joint": -0.45,
         "leg_right_5_joint": -0.45},
        330,
    ),
    (
        "go2_description/urdf/go2.urdf",
        {f"{leg}_{part}_joint": angle for leg in ("FL", "FR", "RL", "RR")
         for part, angle in (("thigh", 0.8), ("calf", -1.5))},
        440,
    ),
)  # fmt: skip


def robot_file(name: str) -> Path:
    """Return the path of a robot of example-robot-data."""
    for entry in sys.path:
        if (Path(entry) / ROBOTS / name).is_file():
            return Path(entry) / ROBOTS / name
    sys.exit(f"tools/screenshots.py: {name} is missing; `make setup` installs it")


@contextlib.contextmanager
def page_at(browser: Browser, address: str, size: dict[str, int] | None = None) -> Iterator[Page]:
    """Open a view and wait until its scene is lit."""
    context = browser.new_context(viewport=size or WINDOW)  # type: ignore[arg-type]
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
    """Wait until two pictures of the scene in a row are nearly the same, meshes and all."""
    before = None
    for _ in range(40):
        page.wait_for_timeout(700)
        now = np.asarray(picture(page).convert("L").resize((200, 120)), np.float64)
        if before is not None and np.abs(now - before).mean() < 0.3:
            return
        before = now


def picture(page: Page) -> Image.Image:
    """Return what a page shows."""
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def save(image: Image.Image, name: str) -> None:
    """Write a picture, small."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    path = PICTURES / f"{name}.png"
    image.quantize(224, dither=Image.Dither.FLOYDSTEINBERG).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB")


def posed(path: Path, joints: dict[str, float]) -> tuple[rb.Model, rb.Data]:
    """Return a robot that begins with some joints elsewhere, on a floor below it there."""
    m = rb.load_urdf(path, strict=False)
    qpos0 = m.qpos0.copy()
    for name, angle in joints.items():
        qpos0[m.jnt_qposadr[m.jnt_names.index(name)]] = angle
    m = m.replaced(qpos0=qpos0)
    return m, rb.make_data(m)


def wide(browser: Browser) -> None:
    """Four robots beside each other."""
    height = 400
    parts = []
    for name, joints, width in WIDE:
        path = robot_file(name)
        m, d = posed(path, joints)
        with rb.open_view(m, path, port=0) as view:
            view.show(d)
            # the panel covers a part of the window; what is left has this size
            window = {"width": 2 * width + 380, "height": 2 * height}
            with page_at(browser, view.address, window) as page:
                scene = picture(page).crop((0, 0, 2 * width, 2 * height))
        parts.append(scene.resize((width, height), Image.Resampling.LANCZOS))
    whole = Image.new("RGB", (sum(part.width for part in parts), height), "white")
    x = 0
    for part in parts:
        whole.paste(part, (x, 0))
        x += part.width
    save(whole, "robots")


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
    browser: Browser, *words: str | Path, folder: Path | None = None, height: int = 720
) -> Iterator[Page]:
    """Run `rbdyn` and open its page."""
    size = {"width": WINDOW["width"], "height": height}
    served = command(*words, "--port", "0", folder=folder)
    with served as address, page_at(browser, address, size) as page:
        yield page


def tick(page: Page, label: str) -> None:
    """Press a check box of the panel."""
    page.get_by_label(label, exact=True).first.click()
    page.wait_for_timeout(300)


def unfold(page: Page, folder: str) -> None:
    """Open a folder of the panel."""
    page.get_by_text(folder, exact=True).first.click()
    page.wait_for_timeout(500)


def sliders(browser: Browser) -> None:
    """`rbdyn view` of a Panda at a random place of its joints."""
    with page_of(browser, "view", robot_file(WIDE[0][0])) as page:
        page.get_by_role("button", name="Random", exact=True).first.click()
        settle(page)
        save(picture(page), "sliders")


def layers(browser: Browser) -> None:
    """The same with what dynamics sees: ellipsoids of inertia, axes of joints, centre of mass."""
    path = robot_file(WIDE[3][0])
    with page_of(browser, "view", path, "--floating-base") as page:
        unfold(page, "Joints")
        unfold(page, "Display")
        for label in ("Visuals", "Inertia ellipsoids", "Joint axes and limits", "Centre of mass"):
            tick(page, label)
        settle(page)
        save(picture(page), "layers")


def missing(browser: Browser) -> None:
    """A UR5 whose meshes are not there."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(robot_file(WIDE[1][0]), Path(folder) / "ur5_robot.urdf")
        with page_of(browser, "view", "ur5_robot.urdf", folder=Path(folder)) as page:
            save(picture(page), "missing_meshes")


def loops(browser: Browser) -> None:
    """A delta robot: no looks, closed loops."""
    with page_of(browser, "view", ROOT / "examples/delta_robot.yaml") as page:
        save(picture(page), "delta_robot")


def live(browser: Browser) -> None:
    """`rbdyn sim`: a robot on its floor, with charts, pushed."""
    path = robot_file(WIDE[3][0])
    words = ("sim", path, "--floating-base", "--contact")
    with page_of(browser, *words, height=860) as page:
        unfold(page, "Torques")
        unfold(page, "Charts")
        tick(page, "Show charts")
        page.wait_for_timeout(4000)
        page.get_by_role("button", name="Push", exact=True).first.click()
        page.wait_for_timeout(2500)
        save(picture(page), "live")


def replay(browser: Browser) -> None:
    """`rbdyn replay` of an arm that falls."""
    with tempfile.TemporaryDirectory() as folder:
        path = robot_file(WIDE[1][0])
        m, d = posed(path, {"shoulder_lift_joint": -1.2, "elbow_joint": 1.0})
        m.opt.timestep = 0.002
        run = Path(folder) / "run.mcap"
        with rb.Recorder(m, run, urdf=path.read_text()) as recorder:
            for _ in range(1500):
                recorder.write(d)
                rb.step(m, d)
        with page_of(browser, "replay", run, "--robot", path) as page:
            time.sleep(2.0)
            save(picture(page), "replay")


SHOTS: dict[str, Callable[[Browser], None]] = {
    "robots": wide,
    "sliders": sliders,
    "layers": layers,
    "missing_meshes": missing,
    "delta_robot": loops,
    "live": live,
    "replay": replay,
}


def main(names: list[str]) -> None:
    """Make the pictures of these names, or all."""
    unknown = [name for name in names if name not in SHOTS]
    if unknown:
        sys.exit(
            f"tools/screenshots.py: there is no {', '.join(unknown)}; there are {', '.join(SHOTS)}"
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
