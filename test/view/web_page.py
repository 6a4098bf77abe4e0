# SPDX-License-Identifier: Apache-2.0
"""Open pages of views in a real browser: headless Chromium that draws in software."""

import contextlib
import importlib.util
import re
import shutil
import time

import pytest

#: Time limit of a step on a busy machine [s]; PATIENCE_MS is the same limit in milliseconds.
PATIENCE = 300.0
PATIENCE_MS = 1e3 * PATIENCE

ARGS = (
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)
SIZE = {"width": 1100, "height": 700}
#: Script that limits the rate of pictures; each takes 50 ms of CPU time without a GPU.
SIX_PICTURES_A_SECOND = """
const frame = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (draw) => setTimeout(() => frame(draw), 150);
window.cancelAnimationFrame = clearTimeout;
"""


def browser_path():
    """Return the path of an installed Chromium, or None if there is none."""
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return next((path for path in found if path), None)


def require_browser():
    """Skip the test if viser, Playwright or Chromium is missing."""
    for package in ("viser", "playwright"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    if browser_path() is None:
        pytest.skip("no Chromium is installed")


@contextlib.contextmanager
def open_browser():
    """Yield a Playwright browser that runs the installed Chromium, not Playwright's own."""
    require_browser()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path(), args=list(ARGS), timeout=PATIENCE_MS
        )
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def open_page(browser, address, server=None, size=None, scale=1.0, **like):
    """Yield a page of a view. If `server` is given, wait until the page is its client.

    A CSS pixel is `scale` device pixels wide, so a small `scale` makes drawing faster. `like` has
    further properties of the browser, such as of a phone. The list `page.complaints` has the
    page's uncaught JavaScript errors.
    """
    context = browser.new_context(viewport=size or SIZE, device_scale_factor=scale, **like)
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(SIX_PICTURES_A_SECOND)
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    known = set(server.get_clients()) if server is not None else set()
    try:
        page.goto(address, wait_until="domcontentloaded")
        page.wait_for_selector("canvas")
        if server is not None:
            wait_until(lambda: set(server.get_clients()) - known, "the page to connect")
        yield page
    finally:
        context.close()


def wait_until(condition, what, page=None, patience=PATIENCE):
    """Wait until condition() is true, and return its value; an error names the event `what`."""
    end = time.monotonic() + patience
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < end, f"waited {patience:g} s for {what}"
        if page is not None:
            page.wait_for_timeout(50)  # Playwright handles messages of the page
        else:
            time.sleep(0.02)


SCENE = "canvas[data-engine]"


def wait_for_picture(page):
    """Wait until the light of the scene is loaded, without which the scene is nearly white."""
    page.wait_for_function(f"document.querySelector('{SCENE}')?.style.opacity === '1'")


def control(page, label):
    """Return the element of the panel whose label begins with the text `label`."""
    found = page.locator("label[for]").filter(has_text=re.compile(f"^{re.escape(label)}")).first
    found.wait_for(state="attached")
    return page.locator(f'[id="{found.get_attribute("for")}"]')


def slider(page, label):
    """Return the thumb of the slider with a label; arrow keys move a focused thumb."""
    return control(page, label).locator('[role="slider"]')


def press(page, text):
    """Press a button by the keyboard, because a panel that unfolds moves its buttons."""
    button = page.get_by_role("button", name=text, exact=True).first
    button.click(trial=True)  # wait until the button can be pressed
    button.press("Enter")


def unfold(page, *folders):
    """Open folders of the panel, which are closed at first."""
    for folder in folders:
        page.get_by_text(folder, exact=True).first.click()
        page.wait_for_timeout(300)


def colours_of(page):
    """Return the number of different colours in the picture of a page's scene."""
    import io

    import numpy as np
    from PIL import Image

    wait_for_picture(page)
    shot = page.locator(SCENE).screenshot()
    pixels = np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"))
    return len(np.unique(pixels.reshape(-1, 3), axis=0))
