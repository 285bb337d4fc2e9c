"""Whatever a source is sent: its last good reading stays, a sentence says what is wrong, and it takes no longer than
its timeout allows."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from fleet import clock, fetching, passes, snapshots
from fleet.models import SourceState
from fleet.sources import SOURCES, litellm_health, runpod, vast
from reconcile.inputs import (
    Deployment,
    Deployments,
    Instance,
    ListedModel,
    Listing,
    Opinion,
    Opinions,
    Probe,
    Probes,
)
from reconcile.view import Plan, Target, View
from sim.garbage import LISTING, Fault, garbage_server
from tests.fleet.sources.conftest import MASTER_KEY, Configure

pytestmark = pytest.mark.django_db
VAST_KEY, RUNPOD_KEY = "vast-made-up-key", "rpa_made_up_key_0123"
TIMEOUT_S = 1.0
SLOW = "did not answer within 1 s"
BOUND_S = 8.0  # of a fetch; slow drips and silence would last for ever
ROWS = {"data": [{"model_name": "a", "litellm_params": {}, "model_info": {"id": "llmao-1"}}]}
WORDS = {
    Fault.HTML: "a page (HTML)",
    Fault.EMPTY: "an empty body",
    Fault.TRUNCATED: "not JSON, or not all of it",
    Fault.CUT: "closed the connection before it had answered",
    Fault.NULL_LISTS: "JSON of another shape",
    Fault.NOT_AN_OBJECT: "JSON of another shape",
    Fault.BINARY: "not JSON, or not all of it",
    Fault.SLOW_HEADERS: SLOW,
    Fault.REDIRECT: "write the address that it redirects to into",
    Fault.RESET: "closed the connection before it had answered",
    Fault.HANG_UP: "closed the connection before it had answered",
    Fault.SILENT: SLOW,
    Fault.NOT_HTTP: "does not answer in HTTP",
    Fault.STATUS: "answers 503",
}
TOO_LARGE = {Fault.HUGE: "answers with more than 4 MB", Fault.SLOW_BODY: "answers with more than 4 MB"}
DRIPS = {Fault.SLOW_BODY: SLOW}  # where 10 MB would be let in
READ_WELL = (Fault.NUMBERS_AS_TEXT,)


def garbled(fault: Fault, good: Any, read: Callable[[str], bool]) -> bool:
    """What `read`, given the server's URL, made of the fault; in bounded time."""
    began = time.monotonic()
    with garbage_server(fault, good=good, status=503 if fault is Fault.STATUS else 200) as url:
        well = read(url)
    assert time.monotonic() - began < BOUND_S
    return well


def kept(name: str, body: Any, words: str) -> None:
    """The source still has `body`, and says what is wrong."""
    state = SourceState.objects.get(name=name)
    assert snapshots.latest(name, SOURCES[name].body) == body
    assert state.failed_at is not None
    assert words in state.error
    assert "\n" not in state.error
    assert MASTER_KEY not in state.error
    assert VAST_KEY not in state.error
    assert RUNPOD_KEY not in state.error


# --- vast -----------------------------------------------------------------------------------------------------------

BEFORE = Listing(instances=(Instance(id="1", host="203.0.113.9", running=True, status="running"),))


def read_vast(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], bool]:
    def read(url: str) -> bool:
        configure(vast={"api_key": VAST_KEY, "base_url": url, "page_wait_s": 0})
        return fetching.fetch("vast", waking=False)

    monkeypatch.setattr(vast, "REQUEST_TIMEOUT_S", TIMEOUT_S)
    snapshots.publish("vast", BEFORE, clock.now() - 60)
    return read


@pytest.mark.parametrize(("fault", "words"), [*WORDS.items(), *TOO_LARGE.items()])
def test_it_keeps_the_last_listing(
    fault: Fault, words: str, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not garbled(fault, LISTING, read_vast(configure, monkeypatch))
    kept("vast", BEFORE, words)


@pytest.mark.parametrize("fault", READ_WELL)
def test_it_reads_a_listing_of_text(fault: Fault, configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    assert garbled(fault, LISTING, read_vast(configure, monkeypatch))
    listing = snapshots.latest("vast", Listing)
    assert listing is not None
    assert [(each.id, each.host, each.ports, each.price_usd_h) for each in listing.instances] == [
        ("31415926", "203.0.113.17", {8000: 41234}, 0.7133)
    ]


# --- runpod ---------------------------------------------------------------------------------------------------------


def read_runpod(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], bool]:
    def read(url: str) -> bool:
        configure(runpod={"api_key": RUNPOD_KEY, "base_url": url})
        return fetching.fetch("runpod", waking=False)

    monkeypatch.setattr(runpod, "REQUEST_TIMEOUT_S", TIMEOUT_S)
    snapshots.publish("runpod", BEFORE, clock.now() - 60)
    return read


@pytest.mark.parametrize(("fault", "words"), [*WORDS.items(), *TOO_LARGE.items()])
def test_it_keeps_the_last_pods(
    fault: Fault, words: str, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not garbled(fault, LISTING, read_runpod(configure, monkeypatch))
    kept("runpod", BEFORE, words)


@pytest.mark.parametrize("fault", READ_WELL)
def test_it_reads_pods_of_text(fault: Fault, configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    ports = [{"private": 8000, "public": 41234, "type": "tcp", "ip": "203.0.113.17"}]
    good = {"pods": [{"id": 1, "status": "RUNNING", "cost": 0.69, "runtime": {"uptime": 5, "ports": ports}}]}
    assert garbled(fault, good, read_runpod(configure, monkeypatch))
    listing = snapshots.latest("runpod", Listing)
    assert listing is not None
    assert [(each.id, each.host, each.ports, each.price_usd_h) for each in listing.instances] == [
        ("1", "203.0.113.17", {8000: 41234}, 0.69)
    ]


# --- deployments ----------------------------------------------------------------------------------------------------

HELD = Deployments(deployments=(Deployment(id="old", name="a", model="openai/a"),))


def read_deployments(configure: Configure) -> Callable[[str], bool]:
    def read(url: str) -> bool:
        configure(litellm=url, timeout_s=TIMEOUT_S)
        return fetching.fetch("deployments", waking=False)

    snapshots.publish("deployments", HELD, clock.now() - 60)
    return read


@pytest.mark.parametrize(("fault", "words"), [*WORDS.items(), *DRIPS.items()])
def test_it_keeps_the_last_deployments(fault: Fault, words: str, configure: Configure) -> None:
    assert not garbled(fault, ROWS, read_deployments(configure))
    kept("deployments", HELD, words)


@pytest.mark.parametrize("fault", [*READ_WELL, Fault.HUGE])
def test_it_reads_deployments_that_are_only_odd(fault: Fault, configure: Configure) -> None:
    """10 MB too: a long list is not garbage."""
    assert garbled(fault, ROWS, read_deployments(configure))
    read = snapshots.latest("deployments", Deployments)
    assert read is not None
    assert [row.id for row in read.deployments] == ["llmao-1"]


# --- litellm_health -------------------------------------------------------------------------------------------------


NAMELESS = {"healthy_endpoints": [{"model_id": "x"}], "unhealthy_endpoints": []}


@pytest.mark.parametrize("fault", list(Fault))
def test_it_gives_no_opinion_for_garbage(fault: Fault, configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    """Garbage is no information about the row that was asked about, and none about the others."""
    monkeypatch.setattr(litellm_health, "LIST_S", TIMEOUT_S)
    rows = tuple(Deployment(id=each, name=each, model="openai/a") for each in ("asked", "other"))
    snapshots.publish("deployments", Deployments(deployments=rows), clock.now())
    up = tuple(Opinion(id=row.id, state="up", asked_at=1.0) for row in rows)
    snapshots.publish("litellm_health", Opinions(opinions=up), clock.now() - 60)
    passes.store(clock.now(), View(ask=("asked",)), Plan(), {}, 0.0)

    def read(url: str) -> bool:
        configure(litellm=url, timeout_s=TIMEOUT_S)
        return fetching.fetch("litellm_health", waking=False)

    garbled(fault, NAMELESS, read)
    read_back = snapshots.latest("litellm_health", Opinions)
    assert read_back is not None
    asked, other = read_back.opinions
    assert (asked.id, asked.state) == ("asked", "unknown")
    assert asked.detail
    assert "\n" not in asked.detail
    assert other == up[1]


@pytest.mark.parametrize(("fault", "words"), [(each, said) for each, said in WORDS.items() if each is not Fault.STATUS])
def test_it_keeps_the_opinions_when_the_whole_list_is_garbage(
    fault: Fault, words: str, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(litellm_health, "LIST_S", TIMEOUT_S)
    before = Opinions(opinions=(Opinion(id="asked", state="up", asked_at=1.0),), whole_at=1.0)
    snapshots.publish("litellm_health", before, clock.now() - 60)

    def read(url: str) -> bool:
        configure(litellm=url, timeout_s=TIMEOUT_S)
        return fetching.fetch("litellm_health_list", waking=False)

    assert not garbled(fault, NAMELESS, read)
    kept("litellm_health", before, words if fault is not Fault.REDIRECT else "redirects elsewhere")


# --- vllm -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", list(Fault))
def test_it_notes_what_a_box_sends_and_reads_on(fault: Fault, configure: Configure) -> None:
    """One box's garbage is a fact about that box: the fetch is good, and the probe is not ok."""
    base = "http://127.0.0.1:8000"

    def read(url: str) -> bool:
        configure(allow_private_hosts=True, health_timeout_s=TIMEOUT_S)
        here = Target(base=base, host="127.0.0.1", listen_port=8000, url=url)
        away = Target(base="http://127.0.0.2:8000", host="127.0.0.2", listen_port=8000, url="http://127.0.0.2:1")
        passes.store(clock.now(), View(targets=(here, away)), Plan(), {}, 0.0)
        return fetching.fetch("vllm", waking=False)

    assert garbled(fault, LISTING, read)
    probes = snapshots.latest("vllm", Probes)
    assert probes is not None
    box, away = probes.probes
    assert away.failure == "refused"
    assert _reads_well(box) is (fault in READ_WELL)


def _reads_well(probe: Probe) -> bool:
    listed = (ListedModel(id="qwen3-8b", root="Qwen/Qwen3-8B", max_model_len=32768),)
    return (probe.health_status, probe.models_status, probe.failure, probe.listed) == (200, 200, "", listed)
