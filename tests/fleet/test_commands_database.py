"""The commands beside a wrong config.yaml, before the first migration, and without a database."""

import json
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.site.running import ROOT, command, configured, environment

BAD = "fleet: {vllm_api_salt: salt, hosts: 3}\nlitellm: {base_url: 'http://127.0.0.1:1', master_key: k}\n"
MISTAKE = "config.yaml:1: fleet.hosts"
DIGEST = "0123456789ab"


def manage(var: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    told = environment(var, **env)
    ended = subprocess.run(command(*arguments), cwd=ROOT, env=told, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configured folder without a database."""
    return configured(tmp_path_factory.mktemp("empty") / "var")


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one pass, whose configuration has been spoilt since."""
    var = configured(tmp_path_factory.mktemp("wrong") / "var")
    assert manage(var, "migrate", "--verbosity", "0").returncode == 0
    assert manage(var, "fetch", "intended").returncode == 0
    assert manage(var, "reconcile").returncode == 0
    (var / "config.yaml").write_text(BAD)
    return var


@pytest.mark.parametrize(
    "line",
    ["plan", "view", "explain x", "fetch --all", "reconcile", f"approve {DIGEST}", "ready"],
)
def test_it_says_to_migrate_first(empty: Path, line: str) -> None:
    ended = manage(empty, *line.split())
    assert ended.returncode == 1 and ended.stdout == ""
    assert ended.stderr.splitlines()[-1] == (
        "CommandError: The database is not prepared for this version of llmao: run `manage.py migrate`"
        " (or `manage.py up`) first."
    )


def test_it_says_so_too_when_a_later_version_brought_tables(tmp_path: Path) -> None:
    var = configured(tmp_path / "var")
    assert manage(var, "migrate", "--verbosity", "0").returncode == 0
    with sqlite3.connect(next(var.glob("*.sqlite3"))) as database:
        database.execute("DROP TABLE fleet_pass")
        database.execute("DELETE FROM django_migrations WHERE app = 'fleet'")
    assert "run `manage.py migrate`" in manage(var, "plan").stderr


def test_it_says_that_the_database_does_not_answer(empty: Path) -> None:
    url = "postgresql://llmao:topsecret@127.0.0.1:1/llmao"
    said = manage(empty, "plan", DATABASE_URL=url, SECRET_KEY="x" * 50).stderr
    assert "CommandError: The database does not answer: " in said and "topsecret" not in said


@pytest.mark.parametrize("line", ["plan", "view"])
def test_it_shows_the_last_pass_and_the_mistakes(wrong: Path, line: str) -> None:
    ended = manage(wrong, *line.split())
    assert ended.returncode == 0 and ended.stdout.startswith("Pass ")
    assert MISTAKE in ended.stderr


def test_it_keeps_the_mistakes_out_of_the_json(wrong: Path) -> None:
    ended = manage(wrong, "plan", "--json")
    assert json.loads(ended.stdout)["mode"] == "act" and MISTAKE in ended.stderr


def test_it_explains_beside_the_mistakes(wrong: Path) -> None:
    ended = manage(wrong, "explain", "x")
    assert MISTAKE in ended.stderr and "No deployment is called 'x'" in ended.stderr


def test_it_fetches_decides_and_approves_beside_a_wrong_configuration(wrong: Path) -> None:
    fetched = manage(wrong, "fetch", "intended")
    assert (
        fetched.returncode == 1 and fetched.stdout.startswith("intended        failed: ") and MISTAKE in fetched.stdout
    )
    assert manage(wrong, "fetch", "boxes").returncode == 0
    assert manage(wrong, "reconcile").returncode == 0
    assert f"No action {DIGEST} is in the newest plan" in manage(wrong, "approve", DIGEST).stderr
