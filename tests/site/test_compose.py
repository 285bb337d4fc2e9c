"""docker-compose.yml and the Dockerfile, as far as they can be tried without Docker: every command is a real one."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
import yaml

from fleet import valkey
from llmao_site.environment import valkey_socket
from tests.site.running import ROOT, command, configured, environment, get, until

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ["migrate", "web", "worker", "beat"]


def started(service: str, **replaced: str) -> list[str]:
    """The service's command line for this machine's Python, with some words of it replaced."""
    words = [replaced.get(word, word) for word in SERVICES[service]["command"]]
    assert words[0] == "python"
    return [sys.executable, *words[1:]]


def test_it_has_the_five_parts_of_production() -> None:
    assert {"web", "worker", "beat", "postgres", "redis"} <= set(SERVICES)


@pytest.mark.parametrize("service", sorted(set(SERVICES) - {"migrate"}))
def test_it_looks_after_the_health_of(service: str) -> None:
    check = SERVICES[service]["healthcheck"]
    assert check["test"][0] in ("CMD", "CMD-SHELL")
    assert {"interval", "timeout", "retries"} <= check.keys()


def test_it_holds_no_secret() -> None:
    for name, service in SERVICES.items():
        for variable, value in service.get("environment", {}).items():
            if re.search("SECRET|PASSWORD|KEY", variable):
                assert re.fullmatch(r"\$\{\w+:\?write \w+ into \.env\}", value), (name, variable)
    assert "llmao:${POSTGRES_PASSWORD:?" in SERVICES["web"]["environment"]["DATABASE_URL"]


def test_it_gives_web_worker_and_beat_one_environment() -> None:
    assert SERVICES["web"]["environment"] == SERVICES["worker"]["environment"] == SERVICES["beat"]["environment"]


@pytest.mark.parametrize("service", ["worker", "beat"])
def test_it_names_parts_that_exist_in_the_health_check_of(service: str) -> None:
    from fleet.health import PARTS

    check = SERVICES[service]["healthcheck"]["test"]
    assert check[:4] == ["CMD", "python", "manage.py", "ready"]
    assert set(check[4:]) <= set(PARTS)


def test_it_copies_into_the_image_all_that_runs_and_no_more() -> None:
    copied = set(re.findall(r"^COPY (\S+) ", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    assert copied == {"requirements.lock", "manage.py", "llmao_site", "fleet", "litellm_sync", "reconcile", "templates"}
    assert all((ROOT / name).exists() for name in copied)
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert kept == copied


def test_it_does_not_run_as_root() -> None:
    assert "\nUSER llmao\n" in (ROOT / "Dockerfile").read_text()


@pytest.fixture
def production(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What web, worker and beat share; the database and the broker are this test's own."""
    configured(tmp_path)
    binary = valkey.server_binary()
    assert binary
    with subprocess.Popen(valkey.argv(binary, valkey_socket(tmp_path))) as broker:
        until(lambda: valkey.answers(valkey_socket(tmp_path)), "the broker answers")
        yield environment(tmp_path)
        broker.terminate()


@contextmanager
def running(argv: list[str], env: dict[str, str], log: IO[bytes]) -> Iterator[None]:
    """A program in a group of its own, ended as a whole."""
    with subprocess.Popen(argv, cwd=ROOT, env=env, stdout=log, stderr=log, start_new_session=True) as process:
        try:
            yield
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_it_becomes_ready_with_the_commands_written_there(production: dict[str, str], tmp_path: Path) -> None:
    subprocess.run(started("migrate"), cwd=ROOT, env=production, check=True, timeout=60)
    with ExitStack() as parts:
        log = parts.enter_context((tmp_path / "log").open("wb"))
        for service in ("web", "worker", "beat"):
            argv = started(service, **{"0.0.0.0:8000": "127.0.0.1:0", "4": "1"})
            parts.enter_context(running(argv, production, log))

        def address() -> str:
            found = re.search(r"Listening at: (http://\S+)", (tmp_path / "log").read_text())
            return found[1] if found else "http://127.0.0.1:1"

        until(lambda: get(address() + "/readyz")[0] == 200, "ready")
        ready = subprocess.run(command("ready"), cwd=ROOT, env=production, capture_output=True, text=True, timeout=60)
        assert ready.returncode == 0, ready.stdout + ready.stderr


def test_it_says_which_part_is_not_ready(tmp_path: Path) -> None:
    env = environment(configured(tmp_path))
    subprocess.run(command("migrate", "--verbosity", "0"), cwd=ROOT, env=env, check=True, timeout=60)
    run = subprocess.run(
        command("ready", "beat", "database"), cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 1
    assert run.stdout.splitlines() == ["database: answers", "beat: beat has sent nothing yet"]


def test_it_says_which_parts_there_are(tmp_path: Path) -> None:
    run = subprocess.run(
        command("ready", "bea"),
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 1
    assert "There is no part 'bea': write database, broker, worker, beat, last_pass, sources." in run.stderr
