"""A configuration in a folder of its own, and a loop for the simulated outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fleet.sources import once
from sim.background import LoopThread
from tests.fleet.config.files import write

SALT, MASTER_KEY = "test-vllm-salt", "sk-made-up-master-key"
Configure = Callable[..., None]


@pytest.fixture
def configure(tmp_path: Path, settings: Any) -> Configure:
    """Write the configuration: keywords are of the section `fleet`, but for `litellm`, which is the proxy's URL."""

    def written(*, litellm: str = "http://127.0.0.1:1", timeout_s: float = 5, **fleet: Any) -> None:
        proxy = {"base_url": litellm, "master_key": MASTER_KEY, "request_timeout_s": timeout_s}
        whole = {"fleet": {"vllm_api_salt": SALT, **fleet}, "litellm": proxy}
        settings.LLMAO_CONFIG = write(tmp_path, yaml.safe_dump(whole))

    return written


@pytest.fixture(scope="session")
def background() -> Iterator[LoopThread]:
    with LoopThread("sources") as background:
        yield background


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test sees its own first time."""
    monkeypatch.setattr(once, "_said", set())
