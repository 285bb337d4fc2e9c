"""The real LiteLLM proxy as a context manager.

    with running_proxy(litellm_venv(), tmp_path / "litellm.db") as proxy:
        ...  # proxy.base_url, proxy.master_key

Several may share one db file: they are then replicas, which learn of each other's writes only by LiteLLM's own poll
(`proxy_config_reload_interval_seconds` in proxy_config.yaml, 2 s here, 30 s where it is not set).
A start takes 7 s on a quiet machine, and the process holds 400 MB: share one per session where the test allows.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sim.child import end_with_parent

HERE = Path(__file__).resolve().parent
MASTER_KEY = "sk-test-master-key-0123456789"
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Proxy:
    base_url: str  #: "http://127.0.0.1:PORT"
    master_key: str  #: the admin's
    process: subprocess.Popen[bytes]
    log: Path  #: what the proxy printed


def litellm_venv() -> Path:
    """The environment that has `requirements-litellm.txt`: $LLMAO_LITELLM_VENV, else `.venv-litellm` in the root."""
    chosen = os.environ.get("LLMAO_LITELLM_VENV")
    return Path(chosen) if chosen else HERE.parent.parent / ".venv-litellm"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _environment(db: Path, config: Path) -> dict[str, str]:
    """What the proxy needs and nothing of ours: a DATABASE_URL of a developer's shell must not reach it."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME", str(db.parent)),
        "PYTHONPATH": str(HERE / "standin"),
        "PRISMA_STANDIN_DB": str(db),
        "CONFIG_FILE_PATH": str(config),
        "DATABASE_URL": "postgresql://standin:standin@127.0.0.1:1/standin",
        "STORE_MODEL_IN_DB": "True",
        "LITELLM_SALT_KEY": "sk-salt-0123456789",
        "LITELLM_MODE": "PRODUCTION",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
        "LITELLM_LOCAL_AUTOROUTER_PRESETS": "True",
        "LITELLM_LOCAL_BLOG_POSTS": "True",
        "LITELLM_LOCAL_POLICY_TEMPLATES": "True",
    }


def _start(venv: Path, port: int, env: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    python = venv / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(
            f"no LiteLLM environment at {venv}: python3.11 -m venv {venv} && "
            f"{venv}/bin/pip install -r requirements-litellm.txt, or set LLMAO_LITELLM_VENV"
        )
    command = [str(python), "-m", "uvicorn", "litellm.proxy.proxy_server:app", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--log-level", "warning"]
    with log.open("wb") as out:  # a test run that is killed cannot clean up: the kernel then ends the proxy
        return subprocess.Popen(command, env=env, stdout=out, stderr=out, preexec_fn=end_with_parent())  # noqa: PLW1509  # one C call, before exec


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health/readiness", timeout=5) as answer:
            return b'"connected"' in answer.read()
    except (urllib.error.URLError, OSError):
        return False


def _wait_until_ready(proxy: Proxy) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not _is_ready(proxy.base_url):
        ended = proxy.process.poll()
        if ended is not None or time.monotonic() > deadline:
            tail = proxy.log.read_text(errors="replace")[-3000:]
            raise RuntimeError(f"LiteLLM did not become ready (exit code {ended}); it printed:\n{tail}")
        time.sleep(0.2)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_TIMEOUT_S)
        return
    process.kill()
    process.wait()


@contextmanager
def running_proxy(venv: Path, db: Path, *, port: int | None = None, config: Path | None = None) -> Iterator[Proxy]:
    """The proxy of `venv`, its tables in `db`, on 127.0.0.1; ready when the block begins, gone when it ends.

    `config` is LiteLLM's own YAML and must keep MASTER_KEY (default: proxy_config.yaml here). Raises
    FileNotFoundError when `venv` holds no Python, RuntimeError with the end of its log when it does not start.
    """
    port = port or free_port()
    log = db.with_name(f"{db.name}.{port}.log")
    process = _start(venv, port, _environment(db, config or HERE / "proxy_config.yaml"), log)
    proxy = Proxy(f"http://127.0.0.1:{port}", MASTER_KEY, process, log)
    try:
        _wait_until_ready(proxy)
        yield proxy
    finally:
        _stop(process)
