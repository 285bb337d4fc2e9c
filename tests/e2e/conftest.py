"""LiteLLM for the stories: the stand-in, and (marker real_litellm) the unmodified proxy."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from sim.held import HeldWorld, running_world
from sim.litellm import MASTER_KEY
from sim.world import Rules
from tests.e2e.plane import LiteLLM
from tests.litellm_real.proxy import litellm_venv, running_proxy


@pytest.fixture
def world() -> Iterator[HeldWorld]:
    with running_world(Rules(load_s=0.5, ask_s=0.3, litellm_poll_s=0.5)) as world:
        yield world


@pytest.fixture(params=["stand-in", pytest.param("real", marks=pytest.mark.real_litellm)])
def litellm(request: pytest.FixtureRequest, world: HeldWorld, tmp_path: Path) -> Iterator[LiteLLM]:
    if request.param == "stand-in":
        yield LiteLLM(world.litellm_urls[0], MASTER_KEY)
        return
    with running_proxy(litellm_venv(), tmp_path / "litellm.db") as proxy:
        yield LiteLLM(proxy.base_url, proxy.master_key)


@pytest.fixture
def services() -> Iterator[dict[str, str]]:
    """A PostgreSQL database of its own, and Redis. LLMAO_TEST_POSTGRES and LLMAO_TEST_REDIS say where they run."""
    server = os.environ.get("LLMAO_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres")
    name = f"llmao_e2e_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield {
                "DATABASE_URL": f"{server.rpartition('/')[0]}/{name}",
                "REDIS_URL": os.environ.get("LLMAO_TEST_REDIS", "redis://127.0.0.1:6379/9"),
                "SECRET_KEY": secrets.token_hex(32),
            }
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
