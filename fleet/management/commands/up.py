"""`manage.py up`: everything that llmao needs on one machine, in one command, until Ctrl-C."""

import contextlib
import fcntl
import os
import select
import shlex
import socket
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection, connections

from fleet import config, foreign, valkey
from fleet.config import ConfigErrors
from fleet.supervisor import Program, Supervisor, Watchdog

LOCK_PATIENCE_S = 12.0
BROKER_PATIENCE_S = 15.0
SAY_PATIENCE_S = 0.5
MOST_TASKS = 100
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def say(sentence: str) -> None:
    """One line to the terminal, or to nobody: neither a terminal that is gone nor one that takes nothing (Ctrl-S, a
    full pipe) may keep us from ending what we started."""
    stdout = sys.stdout.fileno()
    with contextlib.suppress(OSError):
        if select.select([], [stdout], [], SAY_PATIENCE_S)[1]:
            os.write(stdout, f"{sentence}\n".encode())


class Command(BaseCommand):
    """Refuses in words before anything is started; what it has started it also ends."""

    help = "Starts the web server, the worker, beat and (without REDIS_URL) a Valkey server; Ctrl-C ends them all."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="web port (8000); 0 takes a free one")
        parser.add_argument("--bind", default="127.0.0.1", help="web address (127.0.0.1)")
        parser.add_argument("--concurrency", type=int, default=4, help="tasks that may run at once (4)")

    def handle(self, *_: Any, port: int, bind: str, concurrency: int, **__: Any) -> None:
        if not 1 <= concurrency <= MOST_TASKS:
            raise CommandError(f"--concurrency {concurrency}: write a number from 1 to {MOST_TASKS}.")
        configured()
        lock = lock_folder(settings.LLMAO_VAR)
        listening = listen(bind, port)
        binary = broker_binary()
        migrate()
        supervisor = Supervisor(say, Watchdog(lock), settings.BASE_DIR, environment())
        try:
            if binary:
                start_broker(supervisor, binary)
            for program in programs(listening, concurrency):
                supervisor.start(program)
            welcome(listening)
            supervisor.run()
            say("Stopping.")
        finally:
            supervisor.stop()
        say("Stopped.")


def configured() -> None:
    """CommandError, with every mistake, when there is no valid configuration. Django's checks let a new clone migrate
    without one; to run without one is to do nothing."""
    try:
        config.current()
    except ConfigErrors as errors:
        raise CommandError(errors.message) from None


def lock_folder(var: Path) -> int:
    """An open file whose lock means "an `up` runs on this folder". CommandError when another one does."""
    lock = _open_lock(var / "up.lock")
    deadline = time.monotonic() + LOCK_PATIENCE_S
    while not _try_lock(lock):
        holder = os.pread(lock, 20, 0).decode(errors="replace").strip()
        # A holder that is gone was killed: its watchdog keeps the lock for the seconds that it needs to clear up.
        if _lives(holder) or time.monotonic() > deadline:
            raise CommandError(
                f"llmao already runs on {var} (process {holder}). Stop that one first, or give this one a folder of"
                f" its own: LLMAO_VAR=/another/folder."
            )
        time.sleep(0.2)
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    return lock


def _open_lock(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CommandError(
            f"Cannot write {path}: {error.strerror}. Remove what is in the way, or name a folder that you may write to:"
            f" LLMAO_VAR=/another/folder."
        ) from error


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lives(pid: str) -> bool:
    if not pid.isdecimal():
        return True  # it has the lock and has not written its number yet
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def listen(bind: str, port: int) -> socket.socket:
    """The web server's socket. Opened here, so that "taken" is said at once, and a web server that is started again
    finds its port free."""
    try:
        family = socket.AF_INET6 if ":" in bind else socket.AF_INET
        return socket.create_server((bind, port), family=family, backlog=256)
    except OverflowError:
        raise CommandError(f"--port {port}: write a number from 0 to 65535.") from None
    except OSError as error:
        raise CommandError(
            f"Cannot listen on {bind} port {port}: {error.strerror or error}. Stop what uses it, or choose another:"
            f" manage.py up --port {port + 1 if port < 65535 else 8000}."
        ) from error


def broker_binary() -> str | None:
    """The Valkey to start, or None when REDIS_URL names one that runs."""
    if not settings.EMBEDDED_BROKER:
        return None
    binary = valkey.server_binary()
    if binary is None:
        raise CommandError(valkey.NO_SERVER)
    return binary


def migrate() -> None:
    """The tables as they have to be. CommandError when the database is away, or is none."""
    try:
        call_command("migrate", interactive=False, verbosity=0)
    except DatabaseError as error:
        raise CommandError(_refusal(str(error).strip(), connection.settings_dict["NAME"])) from error
    finally:
        connections.close_all()


def _refusal(reason: str, name: str) -> str:
    if connection.vendor != "sqlite":
        return f"The database does not answer: {reason}"
    return (
        f"The database {name} cannot be used: {reason}. Look whether it is a file that you may write to; a damaged one"
        f" has to be replaced by its backup, or moved away: llmao then starts with an empty one."
    )


def environment() -> dict[str, str]:
    """What the programs inherit, with the paths made absolute, and nothing that another Celery app left here."""
    paths = {"LLMAO_VAR": str(settings.LLMAO_VAR), "LLMAO_CONFIG": str(settings.LLMAO_CONFIG)}
    inherited = {name: value for name, value in os.environ.items() if not foreign.is_foreign(name)}
    return {**inherited, **paths, "PYTHONUNBUFFERED": "1"}


def start_broker(supervisor: Supervisor, binary: str) -> None:
    """Starts Valkey and waits until it answers."""
    path: Path = settings.VALKEY_SOCKET
    try:
        valkey.private_folder(path)
    except OSError as error:
        raise CommandError(str(error)) from error
    supervisor.start(Program("valkey", valkey.argv(binary, path), last=True))
    deadline = time.monotonic() + BROKER_PATIENCE_S
    while not valkey.answers(path) and not supervisor.signals:
        if time.monotonic() > deadline:
            raise CommandError(f"{binary} was started and does not answer. What it says: {path.parent / valkey.LOG}.")
        supervisor.look()
        supervisor.wait(0.1)


def programs(listening: socket.socket, concurrency: int) -> list[Program]:
    """The web server, the worker and beat."""
    web = [
        "-m", "gunicorn", settings.WSGI_APPLICATION.replace(".application", ":application"), "--bind",
        f"fd://{listening.fileno()}", "--worker-class", "gthread", "--threads", "8", "--graceful-timeout", "4",
        "--no-control-socket",
    ]  # fmt: skip
    worker = [
        "worker", "--pool", "prefork", "--concurrency", str(concurrency), "--without-gossip", "--without-mingle",
        "--without-heartbeat",
    ]  # fmt: skip
    celery = [sys.executable, "-m", "celery", "--quiet", "--app", "llmao_site"]
    return [
        Program("web", [sys.executable, *web], fds=(listening.fileno(),)),
        Program("worker", [*celery, *worker]),
        Program("beat", [*celery, "beat", "--scheduler", "llmao_site.timetable:Timetable", "--pidfile", ""]),
    ]


def welcome(listening: socket.socket) -> None:
    """Where it is, and what is missing before anybody can use it."""
    host, port = listening.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    say(f"llmao is at http://{name}:{port}/ (data in {settings.LLMAO_VAR}); Ctrl-C stops it.")
    if name not in LOOPBACK and set(settings.ALLOWED_HOSTS) <= {*LOOPBACK}:
        say(
            "It answers only to this machine's own names. Set ALLOWED_HOSTS=name,address to what people and boxes type."
        )
    if not get_user_model().objects.filter(is_superuser=True).exists():
        say(f"There is no admin yet. In another terminal: {on_this_data()}{sys.executable} manage.py createsuperuser")
    connections.close_all()


def on_this_data() -> str:
    """What a shell needs in front of a command to reach this llmao and not the one beside it: "" where nothing was set.
    DATABASE_URL is left out, since it may hold a password."""
    paths = {"LLMAO_VAR": settings.LLMAO_VAR, "LLMAO_CONFIG": settings.LLMAO_CONFIG}
    return "".join(f"{name}={shlex.quote(str(path))} " for name, path in paths.items() if os.environ.get(name))
