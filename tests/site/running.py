"""A real `manage.py up` in a folder of its own, and a look at every process that belongs to that folder."""

import os
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Self

from llmao_site.environment import valkey_socket

ROOT = Path(__file__).parent.parent.parent
START_S = 60.0


def environment(var: Path, **more: str) -> dict[str, str]:
    """The embedded default on `var`, whatever this test run itself was told."""
    unwanted = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ALLOWED_HOSTS", "DEBUG", "PYTEST_CURRENT_TEST")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {**kept, "LLMAO_VAR": str(var), "LLMAO_CONFIG": str(var / "config.yaml"), **more}


CONFIG = """
fleet: {key: key-of-the-fleet, vllm_api_salt: salt-of-the-fleet, hosts: {}, tick_interval_s: 1}
litellm: {base_url: "http://127.0.0.1:1", master_key: sk-nobody-listens}
"""


def configured(var: Path) -> Path:
    """The folder, with a valid config in it: its own, else that of an empty fleet."""
    var.mkdir(exist_ok=True)
    if (var / "config.yaml").exists():
        return var
    (var / "config.yaml").write_text(CONFIG)
    (var / "models.yaml").write_text("models: []\n")
    return var


def command(*arguments: str) -> list[str]:
    return [sys.executable, "manage.py", *arguments]


def processes(var: Path) -> list[str]:
    """The command lines of all that run on this data folder: each inherited its name, and Valkey, which writes a title
    over that, names its socket."""
    listing = subprocess.run(["ps", "axeww", "-o", "pid=,command="], capture_output=True, text=True, check=True).stdout
    marks = f" LLMAO_VAR={var} ", f" unixsocket:{valkey_socket(var)} "
    return [line.strip() for line in listing.splitlines() if any(mark in f"{line} " for mark in marks)]


def pid_of(var: Path, words: str) -> int:
    """The oldest process of this folder whose command line holds `words`."""
    return min(int(line.split()[0]) for line in processes(var) if words in line)


def until(holds: Callable[[], bool], what: str, timeout_s: float = START_S) -> float:
    """Waits until it holds; returns the seconds that it took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < timeout_s, f"not within {timeout_s} s: {what}"
        time.sleep(0.1)
    return time.monotonic() - began


def get(url: str) -> tuple[int, str]:
    """Status and body of a page; 0 when nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


class Up:
    """`manage.py up` as a child; `with Up(folder) as up` ends in a folder where nothing runs, whatever happened."""

    def __init__(self, var: Path, *arguments: str, stdout: int | IO[Any] = subprocess.PIPE, **options: Any) -> None:
        self.var = configured(var)
        self.said: list[str] = []
        wanted = command("up", "--port", "0", "--concurrency", "1", *arguments)
        env = environment(var, **options.pop("env", {}))
        self.process = subprocess.Popen(
            wanted, cwd=ROOT, env=env, stdout=stdout, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **options
        )
        if self.process.stdout:
            threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True).start()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            self.said.extend(iter(lambda: stream.readline().decode(), ""))

    @property
    def text(self) -> str:
        return "".join(self.said)

    def address(self) -> str:
        """`http://127.0.0.1:<port>`, as it was printed, once the web server answers there."""
        until(lambda: "llmao is at" in self.text or self.process.poll() is not None, "the address was printed")
        found = re.search(r"llmao is at (http://[^/]+)/", self.text)
        assert found, self.text
        until(lambda: get(found[1] + "/healthz")[0] == 200, "/healthz answered 200")
        return found[1]

    def send(self, number: int) -> float:
        """Sends a signal and waits for the end of everything; returns the seconds that it took."""
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(timeout=30)
        until(lambda: not processes(self.var), f"nothing runs on {self.var}: {processes(self.var)}", 20)
        return time.monotonic() - began

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(timeout=30)
        finally:
            for line in processes(self.var):
                os.kill(int(line.split()[0]), 9)
