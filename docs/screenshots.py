"""`make screenshots`: pictures of the demo for the README, taken when an unknown box waits for somebody's approval.

Starts the demo, signs in as its admin, and ends it again. Needs Chromium; LLMAO_CHROMIUM names one not on PATH.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

DOCS = Path(__file__).resolve().parent
STORY_S = 180  # the demo shows the unknown box within two minutes; a busy machine may be slower
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
TALLEST = 1700  # pixels of the wide picture: the strip, the models and the first deployments


def main() -> None:
    found = os.environ.get("LLMAO_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with demo() as (url, name, password), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        pages = {
            "models.png": signed_in(browser, url, name, password, viewport=WIDE, color_scheme="light"),
            "models-dark.png": signed_in(browser, url, name, password, viewport=WIDE, color_scheme="dark"),
            "models-phone.png": signed_in(browser, url, name, password, viewport=PHONE, color_scheme="light"),
        }
        for file, page in pages.items():
            take(page, DOCS / file)
            print(f"docs/{file}")
        browser.close()


@contextmanager
def demo() -> Iterator[tuple[str, str, str]]:
    """A running demo: the address of its page, and the name and password of its admin."""
    started = subprocess.Popen([sys.executable, "-m", "sim.demo"], cwd=DOCS.parent, stdout=subprocess.PIPE, text=True)
    try:
        yield said(started)
    finally:
        started.send_signal(signal.SIGINT)
        started.communicate(timeout=30)


def said(started: subprocess.Popen[str]) -> tuple[str, str, str]:
    """What the demo prints: `open http://…/models`, then `sign in as NAME with PASSWORD`."""
    url = ""
    for line in started.stdout or ():
        if found := re.search(r"open\s+(http://\S+)", line):
            url = found[1]
        if url and (found := re.search(r"sign in as (\S+) with (\S+)", line)):
            return url, found[1], found[2]
    raise SystemExit("The demo ended before it said where it is: run `make demo` to see why.")


def signed_in(browser: Browser, url: str, name: str, password: str, **look: object) -> Page:
    page = browser.new_context(device_scale_factor=2, **look).new_page()  # type: ignore[arg-type]
    page.goto(url)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.locator(".approve").first.wait_for(timeout=STORY_S * 1000)
    return page


def take(page: Page, path: Path) -> None:
    height = min(TALLEST, page.evaluate("document.documentElement.scrollHeight"))
    size = page.viewport_size or WIDE
    page.screenshot(path=path, full_page=True, clip={"x": 0, "y": 0, "width": size["width"], "height": height})


if __name__ == "__main__":
    main()
