"""Beat's timetable: what it sends, when, and that it follows the config without a restart."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from celery import Celery
from celery.worker.request import Request

from fleet import tasks, timing
from llmao_site.timetable import Timetable


@pytest.fixture
def intervals(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The intervals as the config gives them; a test edits them."""
    now = {"vast": 0.2, "vllm": 15.0, "tick": 30.0}
    monkeypatch.setattr(timing, "intervals", lambda: dict(now))
    return now


@pytest.fixture
def app() -> Iterator[Celery]:
    """An app with a broker of its own, in memory."""
    app = Celery("timetable-test", broker="memory://", set_as_current=False)
    app.conf.task_default_queue = uuid4().hex  # the memory broker is one for the whole process
    yield app
    app.close()


def sent(app: Celery) -> list[dict[str, Any]]:
    """Takes every message out of the broker."""
    messages = []
    with app.connection_for_read() as connection:
        queue = connection.SimpleQueue(app.conf.task_default_queue)
        while queue.qsize():
            message = queue.get(block=False)
            body: Any = message.payload  # [args, kwargs, …]
            messages.append({"task": (message.headers or {})["task"], "args": body[0]})
            message.ack()
        queue.close()
    return messages


def run(timetable: Timetable, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(max(min(timetable.tick(), 0.05), 0.001))


def test_it_sends_one_fetch_a_source_and_the_tick(app: Celery, intervals: dict[str, float]) -> None:
    run(Timetable(app), 1.5)
    messages = {(each["task"], *each["args"]) for each in sent(app)}
    assert messages == {("fleet.fetch", "vast"), ("fleet.fetch", "vllm"), ("fleet.tick",)}


@pytest.mark.parametrize(("ahead_s", "expired"), [(20, False), (300, False), (700, True)])
def test_it_sends_what_a_worker_still_takes_whose_clock_is_ahead(
    app: Celery, intervals: dict[str, float], ahead_s: float, expired: bool
) -> None:
    options = Timetable(app).schedule["vast"].options or {}
    clock_of_beat = datetime.now(UTC) - timedelta(seconds=ahead_s)
    sent = app.amqp.as_task_v2("an-id", "fleet.fetch", ("vast",), {}, expires=options["expires"], now=clock_of_beat)
    received = SimpleNamespace(headers=sent.headers, body=sent.body, properties={}, delivery_info={}, payload=sent.body)
    assert bool(Request(received, app=app, task=tasks.fetch, decoded=True).maybe_expire()) is expired


def test_it_lets_a_message_die_that_nobody_takes_for_long(app: Celery, intervals: dict[str, float]) -> None:
    lives = {line.options["expires"] for line in Timetable(app).schedule.values() if line.options}
    assert lives == {600.0}


def test_it_keeps_to_fractions_of_a_second(app: Celery, intervals: dict[str, float]) -> None:
    run(Timetable(app), 2.0)
    fetched = [each for each in sent(app) if each["args"] == ["vast"]]
    assert 4 <= len(fetched) <= 11


def test_it_does_not_start_with_what_is_dear(app: Celery, intervals: dict[str, float]) -> None:
    intervals["litellm_health"] = 14400.0
    run(Timetable(app), 0.1)
    assert ["litellm_health"] not in [each["args"] for each in sent(app)]


def test_it_follows_an_edit_of_the_config(app: Celery, intervals: dict[str, float]) -> None:
    timetable = Timetable(app)
    run(timetable, 0.1)
    intervals["vllm"] = 0.3
    del intervals["vast"]
    intervals["deployments"] = 0.3
    sent(app)
    run(timetable, 2.5)
    fetched = [each["args"] for each in sent(app)]
    assert fetched.count(["vllm"]) >= 2
    assert fetched.count(["deployments"]) >= 2
    assert set(timetable.schedule) == {"vllm", "deployments", "tick"}


def test_it_keeps_a_lines_place_when_its_interval_changes(app: Celery, intervals: dict[str, float]) -> None:
    timetable = Timetable(app)
    run(timetable, 0.1)
    before = timetable.schedule["tick"].last_run_at
    intervals["tick"] = 40.0
    timetable.reread()
    assert timetable.schedule["tick"].last_run_at == before
    assert "40.00 seconds" in str(timetable.schedule["tick"].schedule)


def test_it_has_a_line_for_every_interval_of_the_real_config(app: Celery) -> None:
    assert set(Timetable(app).schedule) == set(timing.intervals())
    assert "tick" in timing.intervals()
