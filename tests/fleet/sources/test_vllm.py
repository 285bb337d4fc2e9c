from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import msgspec
import pytest

from fleet import clock, snapshots
from fleet.keys import derive_key
from fleet.sources.vllm import Job, fetch, probe
from reconcile.inputs import ListedModel, Probe, Probes
from reconcile.view import Target, View
from sim.background import LoopThread
from sim.garbage import Fault, garbage_server
from sim.vllm import VLLM, Listener
from tests.fleet.sources.conftest import SALT, Configure
from tests.litellm_sync.raw import answer, raw_server

HOST, PORT = "127.0.0.1", 8003
BASE = f"http://{HOST}:{PORT}"
KEY = derive_key(SALT, HOST, PORT)
NOW = 1_700_000_000.0
LISTED = (ListedModel(id="qwen3-8b", root="Qwen/Qwen3-8B", parent=None, max_model_len=32768),)
Probing = Callable[..., Probe]


def target(url: str, *, host: str = HOST, port: int = PORT) -> Target:
    return Target(base=f"http://{host}:{port}", host=host, listen_port=port, url=url)


def probed(url: str, before: Probe | None = None, *, now: float = NOW, timeout_s: float = 2, key: str = KEY) -> Probe:
    """The one probe of a server at `url`."""
    (one,) = probe([Job(target(url), key, before)], timeout_s, now)
    return one


@pytest.fixture
def box(background: LoopThread) -> Iterator[Listener]:
    box = Listener(VLLM("qwen3-8b", "Qwen/Qwen3-8B", KEY), HOST)
    background.run(box.open())
    yield box
    background.run(box.close())


def test_it_notes_what_a_serving_box_answers(box: Listener) -> None:
    one = probed(box.url)
    assert (one.base, one.url, one.failure) == (BASE, box.url, "")
    assert (one.health_status, one.models_status, one.listed) == (200, 200, LISTED)
    assert one.wrong_key_status == 401
    assert NOW <= one.at <= (one.wrong_key_at or 0) < NOW + 10
    assert one.last_answered_at == one.at
    assert one.latency_ms is not None
    assert one.latency_ms > 0


def test_it_sends_the_key_of_the_box_with_every_request() -> None:
    good = answer(200, {"data": [{"id": "qwen3-8b"}]})
    with raw_server(answer(200), good, answer(401)) as raw:
        probed(raw.url)
    lines = [request.split("\r\n") for request in raw.requests]
    assert [head[0].split()[1] for head in lines] == ["/health", "/v1/models", "/v1/models"]
    keys = [next(line for line in head if line.startswith("Authorization:")) for head in lines]
    assert keys[:2] == [f"Authorization: Bearer {KEY}"] * 2
    assert keys[2].startswith("Authorization: Bearer sk-vllm-")
    assert KEY not in keys[2]
    assert raw.connections == 1


# --- the wrong key --------------------------------------------------------------------------------------------------


def questions(box: Listener, before: Probe, *, later_s: float) -> tuple[int, Probe]:
    """How many times /v1/models was asked in a probe that many seconds after `before`, and the probe."""
    box.server.requests.clear()
    one = probed(box.url, before, now=before.at + later_s)
    return box.server.requests["/v1/models"], one


def test_it_believes_a_refused_wrong_key_for_ten_minutes(box: Listener) -> None:
    first = probed(box.url)
    asked, second = questions(box, first, later_s=15)
    assert asked == 1
    assert (second.wrong_key_status, second.wrong_key_at) == (401, first.wrong_key_at)
    asked, third = questions(box, second, later_s=590)
    assert (asked, third.wrong_key_status) == (2, 401)
    assert third.wrong_key_at is not None
    assert third.wrong_key_at >= third.at


def test_it_asks_with_a_wrong_key_again_when_the_clock_was_set_back(box: Listener) -> None:
    """By an hour: the last time lies in the future, and would be young for all that hour."""
    before = msgspec.structs.replace(probed(box.url), wrong_key_at=NOW + 3600)
    again = probed(box.url, before)
    assert again.wrong_key_status == 401
    assert NOW <= (again.wrong_key_at or 0) < NOW + 10


@pytest.mark.parametrize(
    "miss",
    [
        {"health_status": 503, "models_status": None},
        {"models_status": 401},
        {"models_status": None, "failure": "timeout"},
        {"failure": "page"},
        {"wrong_key_status": 200},
        {"wrong_key_status": None, "wrong_key_at": None},
        {"listed": (ListedModel(id="another"),)},
    ],
    ids=str,
)
def test_it_asks_again_after_a_miss(box: Listener, miss: dict[str, Any]) -> None:
    good = {"health_status": 200, "models_status": 200, "listed": LISTED, "wrong_key_status": 401, "wrong_key_at": NOW}
    before = Probe(**{"base": BASE, "url": box.url, "at": NOW, **good, **miss})
    asked, one = questions(box, before, later_s=15)
    assert (asked, one.wrong_key_status) == (2, 401)
    assert one.wrong_key_at is not None
    assert one.wrong_key_at >= NOW + 15


def test_it_does_not_ask_a_box_that_answers_badly_anyway(box: Listener) -> None:
    box.server.api_key = "another"
    one = probed(box.url)
    assert (one.models_status, one.wrong_key_status, one.wrong_key_at) == (401, None, None)
    assert box.server.requests["/v1/models"] == 1


def test_it_notes_a_server_that_takes_any_key(box: Listener) -> None:
    box.server.open = True
    assert probed(box.url).wrong_key_status == 200


def test_it_keeps_what_it_believes_while_the_question_gets_no_answer() -> None:
    """A box too busy for the question, when it was only due by age, has not become open."""
    good = answer(200, {"data": [{"id": "qwen3-8b"}]})
    believed = Probe(
        base=BASE, url="", at=NOW, health_status=200, models_status=200,
        listed=(ListedModel(id="qwen3-8b"),), wrong_key_status=401, wrong_key_at=NOW - 700,
    )  # fmt: skip
    with raw_server(answer(200), good, b"not HTTP\r\n") as raw:
        one = probed(raw.url, believed)
        assert (one.wrong_key_status, one.wrong_key_at) == (401, NOW - 700)
    with raw_server(answer(200), good, b"not HTTP\r\n") as raw:
        one = probed(raw.url)
        assert (one.wrong_key_status, one.wrong_key_at) == (None, None)


# --- boxes that do not serve ----------------------------------------------------------------------------------------


def test_it_stops_at_a_health_that_is_not_200(box: Listener) -> None:
    box.server.health_status = 503
    one = probed(box.url)
    assert (one.health_status, one.models_status, one.failure) == (503, None, "")
    assert box.server.requests["/v1/models"] == 0


@pytest.mark.parametrize(
    ("fault", "health", "models", "failure"),
    [
        (Fault.HTML, 200, 200, "page"),
        (Fault.EMPTY, 200, 200, "not_json"),
        (Fault.TRUNCATED, 200, 200, "not_json"),
        (Fault.NULL_LISTS, 200, 200, "not_json"),
        (Fault.NOT_AN_OBJECT, 200, 200, "not_json"),
        (Fault.BINARY, 200, 200, "not_json"),
        (Fault.HUGE, None, None, "too_large"),
        (Fault.SLOW_HEADERS, None, None, "timeout"),
        (Fault.SLOW_BODY, None, None, "too_large"),
        (Fault.REDIRECT, 302, None, "redirect"),
        (Fault.RESET, None, None, "reset"),
        (Fault.HANG_UP, None, None, "reset"),
        (Fault.CUT, None, None, "reset"),
        (Fault.SILENT, None, None, "timeout"),
        (Fault.NOT_HTTP, None, None, "not_json"),
        (Fault.STATUS, 502, None, ""),
    ],
)
def test_it_names_what_a_box_does_instead(fault: Fault, health: int | None, models: int | None, failure: str) -> None:
    began = time.monotonic()
    with garbage_server(fault, status=502 if fault is Fault.STATUS else 200) as url:
        one = probed(url, timeout_s=0.5)
    assert time.monotonic() - began < 5
    assert (one.health_status, one.models_status, one.failure) == (health, models, failure)
    assert (one.listed, one.wrong_key_status, one.last_answered_at) == ((), None, None)


def test_it_takes_numbers_as_text() -> None:
    with garbage_server(Fault.NUMBERS_AS_TEXT) as url:
        one = probed(url)
    assert (one.failure, one.listed) == ("", LISTED)


def test_it_notes_a_refused_connection_and_when_it_last_answered() -> None:
    before = Probe(base=BASE, url="http://127.0.0.1:1", at=NOW, last_answered_at=NOW - 20)
    one = probed("http://127.0.0.1:1", before)
    assert (one.failure, one.health_status, one.last_answered_at) == ("refused", None, NOW - 20)


@pytest.mark.parametrize(
    ("second", "models", "failure"),
    [
        (answer(302, headers="Location: /\r\n"), 302, "redirect"),
        (answer(200, b"<html>", kind="application/json"), 200, "page"),
        (answer(200, b"{}", kind="text/html"), 200, "page"),
        (answer(401, {"error": "Unauthorized"}), 401, ""),
        (answer(503, b"busy"), 503, ""),
        (answer(200, b"x" * 5_000_000), None, "too_large"),
        (b"not HTTP\r\n", None, "not_json"),
    ],
    ids=["redirect", "page", "page-by-type", "unauthorized", "busy", "huge", "not-http"],
)
def test_it_notes_a_health_that_is_well_and_models_that_are_not(second: bytes, models: int, failure: str) -> None:
    with raw_server(answer(200), second) as raw:
        one = probed(raw.url)
    assert (one.health_status, one.models_status, one.failure) == (200, models, failure)
    assert (one.listed, one.wrong_key_status) == ((), None)


@pytest.mark.parametrize(
    ("data", "listed"),
    [
        ([], ()),
        ([{}], ()),
        ([{"id": None}, {"id": " "}, {"id": []}], ()),
        ([{"id": " a ", "root": None, "max_model_len": "40960"}], (ListedModel(id="a", max_model_len=40960),)),
        (
            [{"id": "lora", "root": "/x", "parent": "a", "max_model_len": None}],
            (ListedModel(id="lora", root="/x", parent="a"),),
        ),
        ([{"id": "a", "parent": 5, "root": 7, "max_model_len": {}}], (ListedModel(id="a", parent="5", root="7"),)),
    ],
)
def test_it_reads_the_models_however_they_are_written(data: list[Any], listed: tuple[ListedModel, ...]) -> None:
    with raw_server(answer(200), answer(200, {"data": data}), answer(401)) as raw:
        one = probed(raw.url)
    assert (one.failure, one.listed) == ("", listed)


def test_it_keeps_a_snapshot_small_whatever_a_box_lists() -> None:
    with raw_server(answer(200), answer(200, {"data": [{"id": "x" * 3000}] * 1000}), answer(401)) as raw:
        one = probed(raw.url)
    assert len(one.listed) == 50
    assert len(one.listed[0].id) == 200


# --- many at once ---------------------------------------------------------------------------------------------------


def test_it_waits_for_five_hundred_silent_boxes_as_long_as_for_one() -> None:
    with garbage_server(Fault.SILENT) as url:
        began = time.monotonic()
        probes = probe([Job(target(url, port=port), KEY, None) for port in range(1, 501)], 1.5, NOW)
        took_s = time.monotonic() - began
    assert [one.failure for one in probes] == ["timeout"] * 500
    assert took_s < 10, "one after the other, or in groups of a hundred, it would be more"


def test_it_does_not_let_one_box_blind_it_to_the_others(
    box: Listener, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Target(base="http://127.0.0.1:9", host=HOST, listen_port=9, url=None)  # type: ignore[arg-type]  # the fault
    probes = probe([Job(broken, KEY, None), Job(target(box.url), KEY, None)], 2, NOW)
    assert [one.base for one in probes] == [BASE]
    assert "vllm_probe_faulty name=127.0.0.1:9" in caplog.text


# --- the source -----------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_it_probes_the_targets_of_the_view_with_their_own_keys(box: Listener, configure: Configure) -> None:
    configure(allow_private_hosts=True)
    began = clock.now()
    (one,) = fetch(View(targets=(target(box.url),))).probes
    assert (one.base, one.models_status, one.wrong_key_status) == (BASE, 200, 401)
    assert began - 0.01 <= one.at <= clock.now() + 0.01
    assert KEY not in repr(one)


@pytest.mark.django_db
def test_it_carries_the_wrong_key_over_from_the_last_snapshot(box: Listener, configure: Configure) -> None:
    configure(allow_private_hosts=True)
    view = View(targets=(target(box.url),))
    first = fetch(view)
    snapshots.publish("vllm", first, clock.now())
    box.server.requests.clear()
    (second,) = fetch(view).probes
    assert box.server.requests["/v1/models"] == 1
    assert second.wrong_key_at == first.probes[0].wrong_key_at


@pytest.mark.django_db
def test_it_asks_the_wrong_key_at_a_new_url(box: Listener, configure: Configure) -> None:
    configure(allow_private_hosts=True)
    elsewhere = Probe(
        base=BASE, url="http://127.0.0.1:2", at=clock.now(), health_status=200, models_status=200, listed=LISTED,
        wrong_key_status=401, wrong_key_at=clock.now(), last_answered_at=clock.now(),
    )  # fmt: skip
    snapshots.publish("vllm", Probes(probes=(elsewhere,)), clock.now())
    (one,) = fetch(View(targets=(target(box.url),))).probes
    assert box.server.requests["/v1/models"] == 2
    assert one.last_answered_at == one.at


@pytest.mark.django_db
def test_it_reads_nothing_where_there_is_nothing_to_read(configure: Configure) -> None:
    configure()
    assert fetch(View()) == Probes()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("169.254.169.254", "is a cloud's metadata service"),
        ("169.254.1.1", "is a link-local address"),
        ("0.0.0.0", "is an unspecified address"),
        ("224.0.0.1", "is a multicast address"),
        ("fe80::1", "is a link-local address"),
        ("10.0.0.1", "is private, and fleet.allow_private_hosts is not true"),
        ("127.0.0.1", "is private, and fleet.allow_private_hosts is not true"),
        ("::1", "is private, and fleet.allow_private_hosts is not true"),
    ],
)
def test_it_dials_no_address_that_must_not_be_dialled(
    host: str, words: str, configure: Configure, caplog: pytest.LogCaptureFixture
) -> None:
    configure()
    url = f"http://[{host}]:1" if ":" in host else f"http://{host}:1"
    view = View(targets=(target(url, host=host),))
    with caplog.at_level(logging.WARNING):
        assert fetch(view) == fetch(view) == Probes()
    assert caplog.text.count(words) == 1, "said once, not at every clock"


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["169.254.169.254", "0.0.0.0", "224.0.0.1"])
def test_it_dials_a_forbidden_address_not_even_where_private_ones_are_allowed(host: str, configure: Configure) -> None:
    configure(allow_private_hosts=True)
    assert fetch(View(targets=(target(f"http://{host}:1", host=host),))) == Probes()


@pytest.mark.django_db
def test_it_dials_a_private_host_that_config_names(box: Listener, configure: Configure) -> None:
    configure(hosts={HOST: [["qwen3-8b", PORT]]}, allow_private_hosts=True)
    assert [one.models_status for one in fetch(View(targets=(target(box.url),))).probes] == [200]


@pytest.mark.django_db
@pytest.mark.parametrize("url", ["http://127.0.0.2:1", "http://localhost:1", "http://:1", "nonsense"])
def test_it_sends_a_key_to_no_host_but_its_own(
    url: str, configure: Configure, caplog: pytest.LogCaptureFixture
) -> None:
    configure(allow_private_hosts=True)
    assert fetch(View(targets=(target(url),))) == Probes()
    assert "vllm_not_dialled name=127.0.0.1:8003" in caplog.text


def test_it_closes_every_connection(background: LoopThread) -> None:
    with ExitStack() as stack:
        raws = [stack.enter_context(raw_server(answer(200))) for _ in range(3)]
        probe([Job(target(raw.url, port=place), KEY, None) for place, raw in enumerate(raws, 1)], 2, NOW)
        assert [raw.connections for raw in raws] == [1, 1, 1]
