"""A broker that takes connections and never answers: what it may cost whoever has something to send."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from celery import current_app
from kombu.exceptions import OperationalError

from fleet import health, publishing, wake
from fleet.publishing import Breaker, Resting

ROOMY_S = 6.0  # far from both: a second or two as it should be, and the 30 s of a worker's own connection


def took(what: Callable[[], object]) -> float:
    began = time.monotonic()
    what()
    return time.monotonic() - began


def send_news(times: int) -> None:
    for _ in range(times):
        wake.send("fleet.cycle", "news")


def waiting() -> int:
    """How many messages lie in the broker."""
    with current_app.connection_for_read() as connection:
        queue = connection.SimpleQueue(current_app.conf.task_default_queue)
        try:
            return int(queue.qsize())
        finally:
            queue.close()


@pytest.fixture
def breaker(monkeypatch: pytest.MonkeyPatch) -> Breaker:
    fresh = Breaker(rest_s=60)
    monkeypatch.setattr(publishing, "breaker", fresh)
    return fresh


@pytest.fixture
def hung(breaker: Breaker, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The broker of this process: it listens, and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        url = f"redis://:topsecret@127.0.0.1:{server.getsockname()[1]}/0"
        monkeypatch.setattr(current_app.conf, "broker_url", url)
        yield server


def test_it_gives_up_soon_and_then_rests(hung: socket.socket, caplog: pytest.LogCaptureFixture) -> None:
    assert publishing.PATIENCE_S / 2 < took(lambda: send_news(1)) < ROOMY_S
    assert "task_not_sent task=fleet.cycle why=news error=OperationalError" in caplog.text
    assert "topsecret" not in caplog.text
    assert took(lambda: send_news(200)) < ROOMY_S


def test_it_holds_up_no_crowd_of_threads(hung: socket.socket) -> None:
    crowd = [threading.Thread(target=wake.send, args=("fleet.fetch", "a box asked", "boxes")) for _ in range(40)]

    def send_all() -> None:
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()

    assert took(send_all) < ROOMY_S


def test_it_says_within_its_patience_that_the_broker_is_not_well(hung: socket.socket) -> None:
    assert took(health.broker) < ROOMY_S
    assert health.broker() == {"ok": False, "says": "does not answer"}


def test_it_sends_again_once_the_broker_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "breaker", Breaker(rest_s=0.0))
    with pytest.raises(OperationalError), publishing.breaker.trying():
        raise OperationalError
    before = waiting()
    wake.send("fleet.cycle", "news")
    assert waiting() == before + 1


def fail(breaker: Breaker) -> None:
    with pytest.raises(OperationalError), breaker.trying():
        raise OperationalError


def may_try(breaker: Breaker) -> bool:
    try:
        with breaker.trying():
            return True
    except Resting:
        return False


def test_it_rests_after_a_failure_and_not_before(breaker: Breaker) -> None:
    assert may_try(breaker) and may_try(breaker)
    fail(breaker)
    assert not may_try(breaker)


def test_it_lets_one_alone_try_after_the_rest() -> None:
    breaker = Breaker(rest_s=60)
    fail(breaker)
    breaker._until = 0.0  # the rest is over
    with breaker.trying():
        assert not may_try(breaker)
    assert may_try(breaker) and may_try(breaker)
