"""What somebody does who has just found llmao: clone it, type what the README says."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site.running import ROOT, get, until

pytestmark = pytest.mark.clone
PATIENCE_S = 180.0


def bare_environment(clone: Path) -> dict[str, str]:
    """No variable of ours, and none that would lead to this run's own Python packages."""
    foreign = re.compile("LLMAO|DJANGO|DATABASE_URL|REDIS_URL|SECRET_KEY|VIRTUAL_ENV|PYTHONPATH|PYTEST|MAKE|MFLAGS")
    path = [each for each in os.environ["PATH"].split(":") if ".venv" not in each]
    kept = {name: value for name, value in os.environ.items() if not foreign.match(name)}
    return {**kept, "PATH": ":".join(path), "HOME": os.environ.get("HOME", str(clone))}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first-steps") / "llmao"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True, timeout=60)
    return folder


def left_of(clone: Path) -> list[str]:
    """The processes that run this clone's Python."""
    listing = subprocess.run(["ps", "axww", "-o", "pid=,command="], capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if f"{clone}/.venv/" in line]


class Demo:
    def __init__(self, clone: Path) -> None:
        self.log = clone.parent / "demo.log"
        self.began = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["make", "demo"], cwd=clone, env=bare_environment(clone), stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    def said(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self.log.read_text())

    def ctrl_c(self) -> float:
        """What the terminal does: SIGINT to everybody in the foreground. Returns the seconds to the end of make."""
        began = time.monotonic()
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(timeout=30)
        return time.monotonic() - began


@pytest.fixture(scope="module")
def demo(clone: Path) -> Iterator[Demo]:
    demo = Demo(clone)
    try:
        yield demo
    finally:
        if demo.process.poll() is None:
            os.killpg(demo.process.pid, signal.SIGTERM)
            demo.process.wait(timeout=30)


def test_it_shows_the_demo_within_three_minutes_of_the_clone(demo: Demo) -> None:
    def shown() -> bool:
        assert demo.process.poll() is None, demo.log.read_text()
        return demo.said(r"open\s+http://\S+") is not None

    until(shown, "make demo prints its address", PATIENCE_S)
    assert time.monotonic() - demo.began < PATIENCE_S
    address = demo.said(r"open\s+(http://[^/\s]+)")
    assert address
    assert get(address[1] + "/healthz") == (200, "ok\n")
    assert 'name="password"' in get(address[1] + "/models")[1]
    assert demo.said(r"sign in as \w+ with \S+")


def test_it_ends_the_demo_with_ctrl_c_and_leaves_nothing(demo: Demo, clone: Path) -> None:
    until(lambda: demo.said(r"open\s+http://\S+") is not None, "make demo prints its address", PATIENCE_S)
    assert demo.ctrl_c() < 10
    until(lambda: left_of(clone) == [], f"nothing is left: {left_of(clone)}", 5)


def test_it_says_what_make_run_needs(clone: Path) -> None:
    run = subprocess.run(
        ["make", "run"], cwd=clone, env=bare_environment(clone), capture_output=True, text=True, timeout=180
    )
    assert run.returncode != 0
    assert "There is no config.yaml. Copy config.example.yaml to config.yaml" in run.stderr


def test_it_installs_nothing_twice(clone: Path) -> None:
    make = ["make", "setup"]
    subprocess.run(make, cwd=clone, env=bare_environment(clone), check=True, timeout=180)
    again = subprocess.run(make, cwd=clone, env=bare_environment(clone), capture_output=True, text=True, timeout=30)
    assert again.stdout.strip().endswith("Nothing to be done for 'setup'.")


def test_it_leaves_the_clone_as_it_was(clone: Path) -> None:
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True)
    assert changed.stdout == ""
