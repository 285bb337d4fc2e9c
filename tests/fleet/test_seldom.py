"""What the log says of boxes that are refused with every poll."""

import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from fleet import seldom
from tests.fleet.config.files import with_fleet, write

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def afresh() -> Iterator[None]:
    seldom.forget()
    yield
    seldom.forget()


@pytest.fixture
def config(tmp_path: Path, settings: Any) -> None:
    settings.LLMAO_CONFIG = write(tmp_path, with_fleet("hosts: {}"))


def ask(key: str = "fleet-key", host: str = "198.51.100.7", path: str = "/vllm/config") -> int:
    answer = Client().get(path, headers={"Authorization": f"Bearer {key}", "X-LLMAO-Host": host})
    return answer.status_code


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [f"{each.name} {each.getMessage()}" for each in caplog.records if each.levelno >= logging.WARNING]


def test_it_logs_a_refused_box_once_and_not_in_djangos_words(config: None, caplog: pytest.LogCaptureFixture) -> None:
    assert [ask(), ask(), ask("wrong"), ask("wrong"), ask(host="box"), ask(host="198.51.100.8")] == [
        404, 404, 401, 401, 400, 404,
    ]  # fmt: skip
    assert lines(caplog) == [
        "fleet.boxes box_refused host=198.51.100.7 peer=127.0.0.1 status=404",
        "fleet.boxes box_refused host=unknown peer=127.0.0.1 status=401",
        "fleet.boxes box_refused host=unknown peer=127.0.0.1 status=400",
        "fleet.boxes box_refused host=198.51.100.8 peer=127.0.0.1 status=404",
    ]


def test_it_leaves_djangos_words_about_everything_else(config: None, caplog: pytest.LogCaptureFixture) -> None:
    assert ask(path="/vllm/confug") == 404
    assert lines(caplog) == ["django.request Not Found: /vllm/confug"]


def test_it_says_so_again_after_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(seldom, "time", SimpleNamespace(monotonic=lambda: now))
    assert seldom.due("404", "a") and not seldom.due("404", "a") and seldom.due("404", "b")
    now += 3599
    assert not seldom.due("404", "a")
    now += 1
    assert seldom.due("404", "a") and not seldom.due("404", "a")


def test_it_remembers_a_thousand_hosts_at_most() -> None:
    for number in range(1001):
        assert seldom.due(str(number))
    assert not seldom.due("1000") and not seldom.due("1") and seldom.due("0")
