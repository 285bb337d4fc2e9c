"""The pieces of `manage.py up`, each by itself: the server it finds, the folder it trusts, what it starts again."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from fleet import valkey, watchdog
from fleet.management.commands import up
from tests.site.running import ROOT, environment


def test_it_finds_the_server_of_the_wheel() -> None:
    binary = valkey.server_binary()
    assert binary
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    assert "erver v=" in said


@pytest.mark.parametrize("name", ["valkey-server", "redis-server"])
def test_it_takes_a_server_on_path_where_the_wheel_has_none(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_text("#!/bin/sh\n")
    (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert valkey.server_binary() == str(tmp_path / name)


def test_it_says_what_to_install_where_there_is_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    settings.EMBEDDED_BROKER = True
    with pytest.raises(CommandError, match="Install one .*redis-server.* or set REDIS_URL=redis://"):
        up.broker_binary()


def test_it_starts_no_server_beside_one_that_is_named(settings: Any) -> None:
    settings.EMBEDDED_BROKER = False
    assert up.broker_binary() is None


def test_it_does_not_run_without_a_configuration(tmp_path: Path, settings: Any) -> None:
    settings.LLMAO_CONFIG = tmp_path / "config.yaml"
    with pytest.raises(CommandError, match="there is no configuration at .*copy config.example.yaml there"):
        up.configured()


FOREIGN = {
    "CELERY_BROKER_URL": "redis://127.0.0.1:1/14",
    "CELERY_BROKER_WRITE_URL": "redis://127.0.0.1:1/14",
    "CELERYD_CONCURRENCY": "9",
    "CELERY_WORKER_QUEUES": "theirs",
    "BROKER_URL": "redis://127.0.0.1:1/14",
    "GUNICORN_CMD_ARGS": "--bind 127.0.0.1:1 --workers 3",
    "WEB_CONCURRENCY": "0",
    "FORKED_BY_MULTIPROCESSING": "1",
    "KOMBU_LOG_DEBUG": "1",
}


def test_it_passes_on_its_own_environment_without_that_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**FOREIGN, "A_SECRET_OF_CONFIG_YAML": "s"}.items():
        monkeypatch.setenv(name, value)
    passed_on = up.environment()
    assert not FOREIGN.keys() & passed_on.keys()
    assert passed_on["A_SECRET_OF_CONFIG_YAML"] == "s" and "PATH" in passed_on


def test_it_takes_no_broker_but_that_of_its_settings_in_any_process(tmp_path: Path) -> None:
    asks = (
        "from llmao_site.celery import app;"
        "print(app.conf.broker_url, app.conf.broker_write_url, app.conf.broker_read_url, app.conf.result_backend)"
    )
    theirs = {**FOREIGN, "CELERY_BROKER_READ_URL": "redis://h/1", "CELERY_RESULT_BACKEND": "redis://h/2"}
    env = environment(tmp_path, **theirs)
    run = subprocess.run([sys.executable, "-c", asks], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert run.stdout.split() == [f"redis+socket://{tmp_path}/valkey.sock"] * 3 + ["None"]


def test_it_makes_the_sockets_folder_for_its_owner_alone(tmp_path: Path) -> None:
    socket = tmp_path / "llmao-1-abc" / "valkey.sock"
    valkey.private_folder(socket)
    assert socket.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("trap", ["writable", "link"])
def test_it_refuses_a_sockets_folder_that_somebody_else_may_have_laid_out(trap: str, tmp_path: Path) -> None:
    folder = tmp_path / "llmao-1-abc"
    if trap == "link":
        folder.symlink_to(tmp_path)
    else:
        folder.mkdir()
        folder.chmod(0o777)
    with pytest.raises(PermissionError, match="is not a folder that only you may write to. Remove it"):
        valkey.private_folder(folder / "valkey.sock")


def test_it_knows_which_groups_are_left() -> None:
    assert watchdog.groups_left_behind(["+10\n", "+11\n", "-10\n", "+12\n", "\n", "+\n", "+1x\n"]) == {11, 12}


def test_it_kills_a_group_that_will_not_end() -> None:
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", stubborn], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout
        process.stdout.readline()
        watchdog.end({process.pid}, patience_s=0.3)
        assert process.wait(timeout=5) == -9


def test_it_takes_a_group_that_is_gone_for_ended() -> None:
    process = subprocess.Popen(["true"], start_new_session=True)
    process.wait(timeout=5)
    assert watchdog.send(process.pid, 0) is False
    watchdog.end({process.pid}, patience_s=0.3)


KEEPS_ENDING = """
import os, signal, sys
from pathlib import Path
from fleet.supervisor import Program, Supervisor, Watchdog

said = []
supervisor = Supervisor(said.append, Watchdog(os.open("/dev/null", os.O_RDONLY)), Path("/"), dict(os.environ))
supervisor.start(Program("ephemera", ["false"]))
while len(said) < 3:
    supervisor.look()
    supervisor.wait(0.1)
supervisor.stop()
print("\\n".join(said))
"""


def test_it_starts_again_what_ends_and_waits_longer_each_time(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", KEEPS_ENDING],
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert run.stdout.splitlines() == [
        f"ephemera ended (exit status 1); starting it again in {seconds} s" for seconds in (1, 2, 4)
    ]


@pytest.mark.parametrize(("https", "secure"), [("1", "True"), ("0", "False"), ("", "False")])
def test_it_gives_cookies_to_https_alone_behind_an_https_proxy(https: str, secure: str, tmp_path: Path) -> None:
    asks = (
        "from django.conf import settings as s;"
        "print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_PROXY_SSL_HEADER is not None)"
    )
    env = environment(tmp_path, LLMAO_HTTPS=https, DJANGO_SETTINGS_MODULE="llmao_site.settings")
    run = subprocess.run([sys.executable, "-c", asks], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert run.stdout.split() == [secure] * 3


def test_it_listens_on_ipv6_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with up.listen("::1", 0) as listening:
        assert listening.getsockname()[0] == "::1"


def test_it_waits_for_a_lock_only_while_its_holder_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up, "LOCK_PATIENCE_S", 0.5)
    held = up.lock_folder(tmp_path)
    with pytest.raises(CommandError, match=f"llmao already runs on {tmp_path} .process {os.getpid()}."):
        up.lock_folder(tmp_path)
    os.close(held)
    os.close(up.lock_folder(tmp_path))
