"""Signed-in people: a caller, a viewer (staff without permissions), an admin. A configuration on disk. The loop."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from fleet import lease
from sim.background import LoopThread
from sim.litellm import LiteLLM

from .builders import HOST, person
from .loop import Fleet


@pytest.fixture
def caller(client: Client) -> Client:
    client.force_login(person("cora"))
    return client


@pytest.fixture
def viewer(client: Client) -> Client:
    client.force_login(person("vera", staff=True))
    return client


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada"))
    return client


@pytest.fixture
def configured(tmp_path: Path, settings: Settings) -> None:
    """A configuration with one box and one model; nothing listens where LiteLLM should be."""
    model = {
        "model_name": "tiny",
        "litellm_params": {"model": "hosted_vllm/tiny"},
        "model_info": {"self_hosted": True},
        "vllm": {"model": "Example/Tiny-1B"},
    }
    config = {
        "fleet": {"key": "sk-fleet", "vllm_api_salt": "salt", "hosts": {HOST: [["tiny", 8003]]}},
        "litellm": {"base_url": "http://127.0.0.1:1", "master_key": "sk-master", "request_timeout_s": 1},
    }
    (tmp_path / "models.yaml").write_text(yaml.safe_dump({"models": [model]}))
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    settings.LLMAO_CONFIG = tmp_path / "config.yaml"


@pytest.fixture
def litellm() -> Iterator[LiteLLM]:
    with LoopThread("litellm") as background:
        replica = LiteLLM(poll_s=30)
        background.run(replica.start())
        yield replica
        background.run(replica.stop())


@pytest.fixture
def fleet(litellm: LiteLLM, tmp_path: Path, settings: Settings) -> Fleet:
    settings.LLMAO_CONFIG = tmp_path / "config.yaml"
    lease._last_hash.clear()
    made = Fleet(litellm, tmp_path)
    made.configure()
    made.probed()
    made.read()
    return made
