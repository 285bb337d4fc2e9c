"""`manage.py up`, started for real: what it says, what it starts, and that nothing is left of it."""

import contextlib
import fcntl
import os
import pty
import signal
import socket
import subprocess
import sys
import termios
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleet.management.commands.up import on_this_data
from tests.site.running import ROOT, Up, command, configured, environment, get, pid_of, processes, until


def refused(var: Path, *arguments: str, **env: str) -> str:
    """What `up` says when it does not start."""
    run = subprocess.run(
        command("up", *arguments),
        cwd=ROOT,
        env=environment(configured(var), **env),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert "Traceback" not in run.stderr
    return run.stderr


# What a shell may hold in which somebody works on another Celery app: nobody listens there.
OF_OTHERS = {
    "CELERY_BROKER_URL": "redis://127.0.0.1:1/14",
    "BROKER_URL": "redis://127.0.0.1:1/14",
    "GUNICORN_CMD_ARGS": "--bind 127.0.0.1:1",
    "WEB_CONCURRENCY": "0",
}


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with Up(tmp_path_factory.mktemp("up"), env=OF_OTHERS) as running:
        running.address()
        yield running


def test_it_answers_healthz_and_sends_people_to_the_sign_in(up: Up) -> None:
    assert get(up.address() + "/healthz") == (200, "ok\n")
    status, page = get(up.address() + "/")
    assert status == 200
    assert 'name="password"' in page


def test_it_becomes_ready_when_every_part_works(up: Up) -> None:
    until(lambda: get(up.address() + "/readyz")[0] == 200, "/readyz answered 200: " + get(up.address() + "/readyz")[1])


def test_it_says_how_to_make_the_first_admin(up: Up) -> None:
    """A command that somebody can copy, and that reaches this data folder."""
    paths = f"LLMAO_VAR={up.var} LLMAO_CONFIG={up.var / 'config.yaml'}"
    assert f"In another terminal: {paths} {sys.executable} manage.py createsuperuser" in up.text


def test_it_names_only_what_was_set(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.delenv("LLMAO_CONFIG")
    settings.LLMAO_VAR = Path("/a folder")
    assert on_this_data() == "LLMAO_VAR='/a folder' "
    monkeypatch.delenv("LLMAO_VAR")
    assert on_this_data() == ""


def test_it_refuses_a_second_one_on_the_same_folder(up: Up) -> None:
    said = refused(up.var, "--port", "0")
    assert f"llmao already runs on {up.var} (process {up.process.pid})" in said
    assert "LLMAO_VAR=/another/folder" in said
    assert get(up.address() + "/healthz")[0] == 200


def test_it_runs_beside_another_on_another_folder(up: Up, tmp_path: Path) -> None:
    with Up(tmp_path) as other:
        assert other.address() != up.address()
        assert (tmp_path / "valkey.sock").is_socket()
        assert other.send(signal.SIGTERM) < 10
    assert (up.var / "valkey.sock").is_socket()
    assert get(up.address() + "/healthz")[0] == 200


def test_it_keeps_what_it_holds_from_other_users(up: Up) -> None:
    assert (up.var / "secret_key").stat().st_mode & 0o777 == 0o600
    assert (up.var / "valkey.sock").stat().st_mode & 0o077 == 0


def test_it_starts_a_killed_web_server_again_on_the_same_port(up: Up) -> None:
    address, killed = up.address(), pid_of(up.var, "gunicorn")
    os.kill(killed, signal.SIGKILL)
    until(lambda: "web ended (signal 9); starting it again in" in up.text, "the end was said")
    until(
        lambda: get(address + "/healthz")[0] == 200 and pid_of(up.var, "gunicorn") != killed, "the web server is back"
    )


def test_it_starts_a_killed_worker_again_and_leaves_no_child_of_the_old_one(up: Up) -> None:
    old = [int(line.split()[0]) for line in processes(up.var) if " worker --pool" in line]
    os.kill(min(old), signal.SIGKILL)
    until(lambda: "worker ended (signal 9)" in up.text, "the end was said")

    def renewed() -> bool:
        new = [int(line.split()[0]) for line in processes(up.var) if " worker --pool" in line]
        return len(new) >= 2 and not set(old) & set(new)

    until(renewed, "another worker with another child")


def test_it_starts_a_killed_watchdog_again(up: Up) -> None:
    killed = pid_of(up.var, "watchdog.py")
    os.kill(killed, signal.SIGKILL)
    until(
        lambda: any("watchdog.py" in line and not line.startswith(f"{killed} ") for line in processes(up.var)), "back"
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_ends_everything_within_ten_seconds_on(number: int, tmp_path: Path) -> None:
    with Up(tmp_path) as running:
        running.address()
        until(lambda: len(processes(tmp_path)) >= 8, "everything runs")
        assert running.send(number) < 10
        assert running.process.returncode == 0
        until(lambda: "Stopped." in running.text, "the end was said", 5)


def test_it_leaves_nothing_when_it_is_killed_and_can_start_again_at_once(tmp_path: Path) -> None:
    with Up(tmp_path) as killed:
        killed.address()
        killed.process.kill()
        killed.process.wait(timeout=10)
        with Up(tmp_path) as next_one:  # waits for the watchdog of the killed one
            next_one.address()
            assert next_one.send(signal.SIGTERM) < 10
    assert processes(tmp_path) == []


def test_it_leaves_nothing_when_it_is_killed_together_with_its_watchdog(tmp_path: Path) -> None:
    with Up(tmp_path) as killed:
        killed.address()
        os.kill(pid_of(tmp_path, "watchdog.py"), signal.SIGKILL)
        assert killed.send(signal.SIGKILL) < 20


def test_it_ends_with_its_terminal(tmp_path: Path) -> None:
    terminal, own_end = pty.openpty()

    def take_terminal() -> None:
        fcntl.ioctl(own_end, termios.TIOCSCTTY, 0)

    with Up(tmp_path, stdout=own_end, start_new_session=True, preexec_fn=take_terminal) as running:
        os.close(own_end)
        until(lambda: len(processes(tmp_path)) >= 8, "everything runs")
        os.close(terminal)
        running.process.wait(timeout=10)
        until(lambda: not processes(tmp_path), "nothing is left", 10)


def test_it_goes_on_without_anybody_reading_what_it_says(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with Up(tmp_path, stdout=writing) as running:
        os.close(writing)
        os.read(reading, 10)
        os.close(reading)
        until(lambda: any("gunicorn" in line for line in processes(tmp_path)), "the web server runs")
        os.kill(pid_of(tmp_path, "gunicorn"), signal.SIGKILL)  # makes it say something
        until(lambda: any(" beat " in line for line in processes(tmp_path)), "it still runs")
        assert running.send(signal.SIGTERM) < 10
        assert running.process.returncode == 0


def test_it_ends_though_what_it_says_is_stuck(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)
    os.set_blocking(writing, True)
    with Up(tmp_path, stdout=writing) as running:
        until(lambda: any("gunicorn" in line for line in processes(tmp_path)), "the web server runs")
        assert running.send(signal.SIGTERM) < 15
    os.close(reading)
    os.close(writing)


def test_it_outlives_a_hangup_under_nohup(tmp_path: Path) -> None:
    with Up(tmp_path, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as running:
        address = running.address()
        running.process.send_signal(signal.SIGHUP)
        running.process.send_signal(signal.SIGHUP)
        assert get(address + "/healthz")[0] == 200
        assert "Stopping" not in running.text


def test_it_runs_in_a_folder_whose_path_is_too_long_for_a_socket(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100)
    with Up(deep) as running:
        running.address()
        assert not (deep / "valkey.sock").exists()
        assert running.send(signal.SIGTERM) < 10


def test_it_says_that_a_port_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused(tmp_path, "--port", str(port))
    assert f"Cannot listen on 127.0.0.1 port {port}: Address already in use" in said
    assert f"manage.py up --port {port + 1}" in said


def test_it_says_what_a_port_may_be(tmp_path: Path) -> None:
    assert "write a number from 0 to 65535" in refused(tmp_path, "--port", "70000")


@pytest.mark.parametrize("tasks", ["0", "-3", "101"])
def test_it_says_how_many_tasks_may_run_at_once(tasks: str, tmp_path: Path) -> None:
    said = refused(tmp_path, "--port", "0", "--concurrency", tasks)
    assert f"--concurrency {tasks}: write a number from 1 to 100" in said


def test_it_says_that_the_database_is_none(tmp_path: Path) -> None:
    (tmp_path / "llmao.sqlite3").write_bytes(b"garbage" * 1000)
    said = refused(tmp_path, "--port", "0")
    assert f"The database {tmp_path}/llmao.sqlite3 cannot be used: file is not a database" in said
    assert "its backup" in said


def test_it_says_what_is_in_the_way_of_its_lock(tmp_path: Path) -> None:
    (tmp_path / "up.lock").mkdir()
    said = refused(tmp_path, "--port", "0")
    assert f"Cannot write {tmp_path}/up.lock: Is a directory. Remove what is in the way" in said


def test_it_says_that_the_database_does_not_answer_without_its_password(tmp_path: Path) -> None:
    url = "postgresql://llmao:topsecret@127.0.0.1:1/llmao"
    said = refused(tmp_path, "--port", "0", DATABASE_URL=url, SECRET_KEY="x" * 50)
    assert "The database does not answer" in said
    assert "topsecret" not in said


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("DATABASE_URL", "postgresql://a:b@127.0.0.1/x", "SECRET_KEY is not set"),
        ("REDIS_URL", "http://127.0.0.1", "REDIS_URL: write redis://host:6379/0"),
        ("REDIS_URL", "redis://u:p@ss@h:x/0", "REDIS_URL: write redis://host:6379/0"),
        ("LLMAO_VAR", "/proc", "LLMAO_VAR: cannot keep a key in /proc"),
        ("DEBUG", "perhaps", "DEBUG is 'perhaps': write 1 or 0"),
    ],
)
def test_it_refuses_a_wrong_environment_in_words(tmp_path: Path, name: str, value: str, sentence: str) -> None:
    assert sentence in refused(tmp_path, **{name: value})


def test_it_stays_alive_and_says_so_while_the_broker_is_stuck(tmp_path: Path) -> None:
    with Up(tmp_path) as running:
        address = running.address()
        until(lambda: get(address + "/readyz")[0] == 200, "ready")
        broker = pid_of(tmp_path, "valkey-server")
        os.kill(broker, signal.SIGSTOP)
        try:
            boxes = [threading.Thread(target=ask_as_a_box, args=(address, f"203.0.113.{n}")) for n in range(12)]
            for box in boxes:
                box.start()
            assert until(lambda: get(address + "/healthz")[0] == 200, "alive", 10) < 8
            assert until(lambda: '"broker": {"ok": false' in get(address + "/readyz")[1], "not ready", 15) < 12
            for box in boxes:
                box.join()
        finally:
            os.kill(broker, signal.SIGCONT)
        until(lambda: get(address + "/readyz")[0] == 200, "ready again")


def ask_as_a_box(address: str, host: str) -> None:
    """What a new box sends first; the config of these tests has this key and not that host."""
    headers = {"Authorization": "Bearer key-of-the-fleet", "X-LLMAO-Host": host}
    with contextlib.suppress(urllib.error.HTTPError):
        urllib.request.urlopen(urllib.request.Request(address + "/vllm/config", headers=headers), timeout=40).close()
