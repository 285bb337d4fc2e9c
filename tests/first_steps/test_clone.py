"""What somebody does who has just found llmao: clone it, type what the README says."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site.running import ROOT, configured, get, until

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


class Started:
    """A command of make in a session of its own, as a terminal would run it."""

    def __init__(self, clone: Path, *command: str) -> None:
        self.log = clone.parent / f"{command[1]}.log"
        self.began = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=clone, env=bare_environment(clone), stdout=log, stderr=log,
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

    def end(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(timeout=30)


@pytest.fixture(scope="module")
def demo(clone: Path) -> Iterator[Started]:
    demo = Started(clone, "make", "demo")
    try:
        yield demo
    finally:
        demo.end()


def test_it_shows_the_demo_within_three_minutes_of_the_clone(demo: Started) -> None:
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


def test_it_asks_the_demo(demo: Started, clone: Path) -> None:
    until(lambda: demo.said(r"0:\d\d  open\s+http://\S+") is not None, "make demo prints its address", PATIENCE_S)
    until(lambda: "127.1.0.11:8003/qwen3-8b" in from_readme(clone, OF_THE_DEMO).stdout, "the demo's servers are shown")


def test_it_ends_the_demo_with_ctrl_c_and_leaves_nothing(demo: Started, clone: Path) -> None:
    until(lambda: demo.said(r"open\s+http://\S+") is not None, "make demo prints its address", PATIENCE_S)
    assert demo.ctrl_c() < 10
    until(lambda: left_of(clone) == [], f"nothing is left: {left_of(clone)}", 5)


def test_it_says_what_make_run_needs(clone: Path) -> None:
    run = subprocess.run(
        ["make", "run"], cwd=clone, env=bare_environment(clone), capture_output=True, text=True, timeout=180
    )
    assert run.returncode != 0
    assert "There is no config.yaml. Copy config.example.yaml to config.yaml" in run.stderr


OF_THE_DEMO = "LLMAO_VAR=var/demo LLMAO_CONFIG=var/demo/config.yaml .venv/bin/python manage.py view"
ADMIN = {
    "DJANGO_SUPERUSER_USERNAME": "admin",
    "DJANGO_SUPERUSER_PASSWORD": "a long one, made up",
    "DJANGO_SUPERUSER_EMAIL": "admin@example.org",
}


def from_readme(clone: Path, line: str, *more: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Types one line of the README."""
    assert re.search(rf"^ *{re.escape(line)}( |$)", (clone / "README.md").read_text(), re.MULTILINE)
    return subprocess.run(
        ["sh", "-c", f'{line} "$@"', "sh", *more],
        cwd=clone,
        env={**bare_environment(clone), **env},
        capture_output=True,
        text=True,
        timeout=120,
    )


def exports_of_readme(clone: Path) -> dict[str, str]:
    """What a shell has that read the README's lines from llmao.env."""
    lines = re.findall(r"^ *(export \w+=.*)$", (clone / "README.md").read_text(), re.MULTILINE)
    (clone / "llmao.env").write_text("\n".join(lines))
    read = ["sh", "-c", ". ./llmao.env; env"]
    ended = subprocess.run(read, cwd=clone, env={}, capture_output=True, text=True, timeout=30, check=True)
    told = dict(line.split("=", 1) for line in ended.stdout.splitlines())
    return {name: value for name, value in told.items() if any(f"export {name}=" in line for line in lines)}


def test_it_takes_the_example_configuration_as_it_is(clone: Path) -> None:
    assert from_readme(clone, "cp config.example.yaml config.yaml").returncode == 0
    assert from_readme(clone, "cp models.example.yaml models.yaml").returncode == 0
    check = from_readme(clone, ".venv/bin/python manage.py check")
    assert "the environment has no variable OPENAI_API_KEY" in check.stderr
    check = from_readme(clone, ".venv/bin/python manage.py check", **exports_of_readme(clone))
    assert (check.returncode, check.stderr) == (0, "")
    # What follows here starts things, and the example's addresses are nobody's to be asked.
    (clone / "config.yaml").unlink()
    configured(clone)


def test_it_makes_the_first_admin(clone: Path) -> None:
    assert from_readme(clone, ".venv/bin/python manage.py migrate").returncode == 0
    made = from_readme(clone, ".venv/bin/python manage.py createsuperuser", "--noinput", **ADMIN)
    assert made.returncode == 0, made.stderr


def test_it_starts_in_earnest_and_ends_with_ctrl_c(clone: Path) -> None:
    run = Started(clone, "make", "run", "PORT=0")
    try:
        until(lambda: run.said(r"llmao is at (http://[^/]+)/") is not None, f"started: {run.log.read_text()}")
        address = run.said(r"llmao is at (http://[^/]+)/")
        assert address
        assert "There is no admin yet" not in run.log.read_text()
        until(lambda: get(address[1] + "/readyz")[0] in (200, 503), "answers")
        assert run.ctrl_c() < 10
        until(lambda: left_of(clone) == [], f"nothing is left: {left_of(clone)}", 5)
    finally:
        run.end()


def test_it_answers_at_the_command_line(clone: Path) -> None:
    read = from_readme(clone, ".venv/bin/python manage.py fetch --all")
    assert "127.0.0.1:1" in read.stdout + read.stderr  # nobody listens where LiteLLM should be, and it says so
    assert from_readme(clone, ".venv/bin/python manage.py reconcile").returncode == 0
    plan = from_readme(clone, ".venv/bin/python manage.py plan")
    assert plan.returncode == 0, plan.stderr
    view = from_readme(clone, ".venv/bin/python manage.py view")
    assert view.returncode == 0, view.stderr


def test_it_installs_nothing_twice(clone: Path) -> None:
    make = ["make", "setup"]
    subprocess.run(make, cwd=clone, env=bare_environment(clone), check=True, timeout=180)
    again = subprocess.run(make, cwd=clone, env=bare_environment(clone), capture_output=True, text=True, timeout=30)
    assert again.stdout.strip().endswith("Nothing to be done for 'setup'.")


def test_it_leaves_the_clone_as_it_was(clone: Path) -> None:
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True)
    assert changed.stdout == ""
