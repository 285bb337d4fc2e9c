"""Signed-in people: a caller, a viewer (staff without permissions), an admin. A configuration on disk."""

from pathlib import Path

import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from .builders import HOST, person


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
