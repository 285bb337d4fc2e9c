"""What the environment says about infrastructure, read in words: every refusal names the variable and what to type.

No value is repeated in a refusal that may carry a password.
"""

import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

# sun_path holds 104 bytes on macOS and 108 on Linux, with its closing zero.
SOCKET_PATH_MAX = 100
LOOPBACK = ["127.0.0.1", "localhost", "[::1]"]
BROKERS = ("redis://", "rediss://", "redis+socket://", "memory://")
REDIS_URL = "REDIS_URL: write redis://host:6379/0, or rediss://… for TLS."
SQLITE_OPTIONS = {
    # A write transaction takes its lock at the start: two passes wait for each other instead of failing half-way.
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
}


def boolean(env: Mapping[str, str], name: str, default: bool) -> bool:
    """The truth of a variable; absent or empty means `default`."""
    text = env.get(name, "").strip().lower()
    if text in ("1", "true", "yes", "on"):
        return True
    if text in ("0", "false", "no", "off"):
        return False
    if text:
        raise ImproperlyConfigured(f"{name} is {env[name]!r}: write 1 or 0.")
    return default


def var_folder(env: Mapping[str, str], default: Path) -> Path:
    """LLMAO_VAR as an absolute folder, made for its owner alone when it does not exist: it holds keys."""
    folder = Path(env.get("LLMAO_VAR") or default).expanduser().absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"LLMAO_VAR: cannot make the folder {folder} ({error.strerror}). Name one that you may write to."
        ) from error
    return folder


def database(env: Mapping[str, str], var: Path) -> dict[str, Any]:
    """Django's description of the database: DATABASE_URL, else SQLite in the data folder."""
    url = env.get("DATABASE_URL") or f"sqlite:///{var / 'llmao.sqlite3'}"
    if not url.startswith(("postgres://", "postgresql://", "sqlite://")):
        raise ImproperlyConfigured("DATABASE_URL: write postgresql://user:password@host:5432/name.")
    try:
        described: dict[str, Any] = dict(dj_database_url.parse(url, conn_max_age=60, conn_health_checks=True))
    except ValueError as error:
        raise ImproperlyConfigured(
            "DATABASE_URL cannot be read: write postgresql://user:password@host:5432/name,"
            " with special characters of the password as %XX."
        ) from error
    if url.startswith("sqlite://") and ":memory:" in str(described["NAME"]):
        raise ImproperlyConfigured(
            "DATABASE_URL: a database in memory is another one in each process. Write sqlite:////path/of/a/file, or"
            " leave DATABASE_URL away."
        )
    if url.startswith("sqlite://"):
        described["OPTIONS"] = {**SQLITE_OPTIONS, **described.get("OPTIONS", {})}
        described["TEST"] = {"NAME": var / "test.sqlite3"}  # a file, so that tests meet the real locks
    return described


def valkey_socket(var: Path) -> Path:
    """Where the embedded Valkey listens: in the data folder, or in a short private one when that path is too long."""
    socket = var / "valkey.sock"
    if len(os.fsencode(socket)) <= SOCKET_PATH_MAX:
        return socket
    name = hashlib.sha256(os.fsencode(var)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"llmao-{os.getuid()}-{name}" / "valkey.sock"


def broker_url(env: Mapping[str, str], var: Path) -> str:
    """REDIS_URL, else the embedded Valkey's socket."""
    url = env.get("REDIS_URL") or f"redis+socket://{valkey_socket(var)}"
    if not url.startswith(BROKERS):
        raise ImproperlyConfigured(REDIS_URL)
    if url.startswith(("redis://", "rediss://")) and not _is_address(url):
        raise ImproperlyConfigured(f"{REDIS_URL} Special characters of a password are written as %XX.")
    return url


def _is_address(url: str) -> bool:
    """Whether host, port and the number of the database can be read, as Celery will have to."""
    try:
        parts = urlsplit(url)
        _port = parts.port
    except ValueError:
        return False
    number = parts.path.strip("/")
    return bool(parts.hostname) and (not number or number.isdecimal())


def queue(secret: str, database_name: str) -> str:
    """The name of the one queue: llmao's own on a Redis that others use, and each llmao's own beside another.

    Web, worker and beat have to agree on it. The address of the database may be spelled differently where each runs;
    the secret key and the database's name are the same everywhere.
    """
    mark = hmac.new(secret.encode(), f"queue of {database_name}".encode(), hashlib.sha256).hexdigest()
    return f"llmao-{mark[:16]}"


def secret_key(env: Mapping[str, str], var: Path) -> str:
    """SECRET_KEY; with the embedded database one is made once and kept in the data folder, for its owner alone."""
    if key := env.get("SECRET_KEY", "").strip():
        return key
    if env.get("DATABASE_URL"):
        raise ImproperlyConfigured(
            "SECRET_KEY is not set. With DATABASE_URL every process needs the same one: make it once with"
            " `python -c 'import secrets; print(secrets.token_urlsafe(50))'` and give it to web, worker and beat."
        )
    try:
        return _kept_key(var / "secret_key")
    except OSError as error:
        raise ImproperlyConfigured(
            f"LLMAO_VAR: cannot keep a key in {var} ({error.strerror}). Name a folder that you may write to."
        ) from error


def _kept_key(path: Path) -> str:
    if not path.exists():
        _keep_key(path)
    if key := path.read_text(encoding="ascii").strip():
        return key
    raise ImproperlyConfigured(f"{path} is empty. Remove it: another key is made, and everybody signs in again.")


def _keep_key(path: Path) -> None:
    # Written aside and linked into place: of two processes that start together one wins, and none reads half a key.
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix="secret_key.")
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(50))
    try:
        os.link(aside, path)
    except FileExistsError:
        pass
    finally:
        Path(aside).unlink()


def allowed_hosts(env: Mapping[str, str]) -> list[str]:
    """ALLOWED_HOSTS, separated by commas. This machine's own names always count: health checks use them."""
    named = [host.strip() for host in env.get("ALLOWED_HOSTS", "").split(",") if host.strip()]
    for host in named:
        if "/" in host:
            raise ImproperlyConfigured(
                f"ALLOWED_HOSTS: {host!r} is an address; write the name alone, as in llmao.example.org."
            )
    return [*named, *LOOPBACK]
