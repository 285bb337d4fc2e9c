from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleet import clock, evidence, fetching, snapshots
from fleet.models import SourceState
from fleet.sources import runpod
from fleet.sources.base import NotConfigured, SourceError
from fleet.sources.configuration import configuration
from fleet.sources.runpod import Walk, fetch
from reconcile.inputs import Instance, Listing
from reconcile.view import View
from sim.background import LoopThread
from sim.garbage import Fault
from sim.runpod import API_KEY, SECRET, Pod, RunPodAPI
from tests.fleet.sources.conftest import Configure
from tests.litellm_sync.raw import answer, raw_server

pytestmark = pytest.mark.django_db
FIXTURES = Path(__file__).parents[2] / "fixtures"
NOTHING = Listing()


@pytest.fixture
def api(background: LoopThread) -> Iterator[RunPodAPI]:
    api = RunPodAPI()
    background.run(api.start())
    yield api
    background.run(api.stop())


@pytest.fixture
def listed(api: RunPodAPI, configure: Configure) -> RunPodAPI:
    """The simulated API, configured."""
    configure(runpod={"api_key": API_KEY, "base_url": api.base_url})
    return api


@pytest.fixture
def configured(configure: Configure) -> None:
    configure(runpod={"api_key": API_KEY})


def instances() -> list[Instance]:
    return list(fetch(View()).instances)


def failure() -> str:
    with pytest.raises(SourceError) as caught:
        fetch(View())
    assert API_KEY not in caught.value.message
    return caught.value.message


def page(*pods: Any, **fields: Any) -> dict[str, Any]:
    return {"pods": list(pods), **fields}


def paged(*pods: Any, cursor: Any = None, more: Any = None) -> dict[str, Any]:
    return page(*pods, pagination={"nextCursor": cursor, "hasNextPage": cursor is not None if more is None else more})


def read(*pages: Any, before: Listing = NOTHING) -> list[Instance]:
    """What the source makes of these pages. A page that is not bytes is answered as JSON with 200."""
    answers = [each if isinstance(each, bytes) else answer(200, each) for each in pages]
    with raw_server(*answers) as raw:
        walk = Walk(raw.url, API_KEY, timeout_s=2, hold=lambda wait: f"held for {wait:g} s")
        return list(runpod.listing(configuration(), walk, before).instances)


def fails(*pages: Any) -> str:
    with pytest.raises(SourceError) as caught:
        read(*pages)
    return caught.value.message


# --- whole listings -------------------------------------------------------------------------------------------------


def test_it_is_no_source_without_its_section(configure: Configure) -> None:
    configure()
    with pytest.raises(NotConfigured):
        fetch(View())


def seen() -> dict[str, Any]:
    """Provider → what the next pass has of its listing."""
    for name in ("intended", "runpod"):
        fetching.fetch(name, waking=False)
    return {name: source.body for name, source in evidence.load().listings.items()}


def test_it_tells_not_configured_from_never_read_and_from_empty(configure: Configure, listed: RunPodAPI) -> None:
    listed.fault = Fault.STATUS
    assert seen() == {"runpod": None}, "never read"
    listed.fault = None
    assert seen() == {"runpod": Listing()}, "empty"
    configure()
    assert seen() == {}, "not configured"
    state = SourceState.objects.get(name="runpod")
    assert (state.configured, state.taken_at, state.error) == (False, None, "")


def test_it_reads_a_pod(listed: RunPodAPI) -> None:
    listed.add(Pod("7h9k2m4n6p", "203.0.113.121", {8000: 12891}, name="llm-1", gpu_count=2))
    assert instances() == [
        Instance(
            id="7h9k2m4n6p",
            host="203.0.113.121",
            running=True,
            status="RUNNING",
            ports={22: listed.pods["7h9k2m4n6p"].ssh_port, 8000: 12891},
            label="llm-1",
            gpu="2× NVIDIA GeForce RTX 4090",
            price_usd_h=0.69,
            started_at=1795953720.0,
        )
    ]


def test_it_reads_the_recorded_listing(configured: None) -> None:
    found = read(json.loads((FIXTURES / "runpod_v2_pods.json").read_text()))
    assert [(each.id, each.host, each.status, each.running, each.ports) for each in found] == [
        ("7h9k2m4n6p", "203.0.113.121", "RUNNING", True, {22: 12890, 8000: 12891}),
        ("k3v8x1q0zt", "", "STARTING", False, {}),
        ("m5c7b2w9ya", "", "RUNNING", True, {}),
        ("q1d4f6h8jk", "", "EXITED", False, {}),
    ]


def test_it_reads_the_recorded_pages(configured: None) -> None:
    pages = [json.loads((FIXTURES / f"runpod_v2_pods_paginated_p{n}.json").read_text()) for n in (1, 2)]
    assert [each.id for each in read(*pages)] == ["7h9k2m4n6p", "k3v8x1q0zt", "m5c7b2w9ya", "q1d4f6h8jk"]


def test_it_walks_every_page(listed: RunPodAPI) -> None:
    listed.page_size = 25
    for number in range(60):
        listed.add(Pod(f"pod{number}", f"203.0.113.{number + 1}", {8000: 40000 + number}))
    assert [each.id for each in instances()] == [f"pod{number}" for number in range(60)]
    assert listed.requests == [{}, {"cursor": "cursor-25"}, {"cursor": "cursor-50"}]


def test_it_shows_the_key_in_the_header_alone(configured: None) -> None:
    with raw_server(answer(200, page())) as raw:
        Walk(raw.url, API_KEY, timeout_s=5, hold=str).pods()
    (request,) = raw.requests
    assert f"\r\nAuthorization: Bearer {API_KEY}\r\n" in request
    assert request.count(API_KEY) == 1
    assert request.startswith("GET /v2/pods HTTP/1.1\r\n")


def test_it_keeps_no_secret_of_a_pod(listed: RunPodAPI) -> None:
    listed.add(Pod("p1", "203.0.113.17", {8000: 41234}))
    listing = fetch(View())
    snapshots.publish("runpod", listing, 1.0)
    assert SECRET not in repr(listing) + repr(snapshots.latest("runpod", Listing))


# --- pods as they come ----------------------------------------------------------------------------------------------


def port(private: Any = 8000, public: Any = 40001, kind: Any = "tcp", ip: Any = "203.0.113.17") -> dict[str, Any]:
    return {"private": private, "public": public, "type": kind, "ip": ip}


def pod(*ports: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "p1", "status": "RUNNING", "runtime": {"ports": list(ports)}, **fields}


def one(*ports: Any, before: Listing = NOTHING, **fields: Any) -> Instance:
    (instance,) = read(page(pod(*ports, **fields)), before=before)
    return instance


@pytest.mark.parametrize(
    ("ports", "mapped"),
    [
        ([], {}),
        ([port()], {8000: 40001}),
        ([port(), port(8001, 40002)], {8000: 40001, 8001: 40002}),
        ([port("8000", " 40001 ")], {8000: 40001}),
        ([port(kind="http"), port(8001, 40002)], {8001: 40002}),
        ([port(kind="udp")], {}),
        ([port(public=None)], {}),
        ([port(ip=None)], {}),
        ([port(ip="")], {}),
        ([port(public=0), port(public=70000), port(private=None), port(private=-1)], {}),
        ([port(), port(public=40009)], {8000: 40001}),
        ([port(), port(8001, 40002, ip="203.0.113.99")], {8000: 40001}),
        ([None, 5, "8000", port()], {8000: 40001}),
    ],
    ids=str,
)
def test_it_reads_the_ports(configured: None, ports: list[Any], mapped: dict[int, int]) -> None:
    instance = one(*ports)
    assert (instance.ports, instance.running) == (mapped, True)
    assert instance.host == ("203.0.113.17" if mapped else "")


@pytest.mark.parametrize("runtime", [None, {}, [], "none", {"ports": None}, {"ports": {}}, {"ports": "8000"}])
def test_it_lists_a_running_pod_whose_ports_are_late(configured: None, runtime: Any) -> None:
    instance = one(runtime=runtime)
    assert (instance.id, instance.running, instance.host, instance.ports) == ("p1", True, "", {})


def test_it_keeps_the_address_of_a_pod_that_shows_none(configured: None) -> None:
    """Otherwise a box would be missing from the listing whenever its pod restarts."""
    before = Listing(instances=(Instance(id="p1", host="203.0.113.17", running=True, status="RUNNING"),))
    late, stopped = one(before=before), one(before=before, status="EXITED", runtime=None)
    assert (late.host, late.running, late.ports) == ("203.0.113.17", True, {})
    assert (stopped.host, stopped.running, stopped.ports) == ("203.0.113.17", False, {})
    assert one(port(ip="203.0.113.99"), before=before).host == "203.0.113.99"
    assert one(before=before, id="p2").host == ""


def test_it_keeps_it_from_one_fetch_to_the_next(listed: RunPodAPI) -> None:
    pod = listed.add(Pod("p1", "203.0.113.17", {8000: 40001}))
    fetching.fetch("runpod", waking=False)
    for pod.status, pod.ports_late in (("STARTING", False), ("RUNNING", True), ("RUNNING", True)):
        fetching.fetch("runpod", waking=False)
    shown = snapshots.latest("runpod", Listing)
    assert shown is not None
    assert [(each.host, each.ports) for each in shown.instances] == [("203.0.113.17", {})]


@pytest.mark.parametrize("status", ["PROVISIONING", "STARTING", "EXITED", "ERROR", "TERMINATED", "HATCHING", "", None])
def test_it_lists_what_does_not_run_without_a_mapping(configured: None, status: Any) -> None:
    instance = one(port(), status=status)
    assert (instance.running, instance.ports, instance.status) == (False, {}, status or "")


def test_it_logs_an_unknown_status_once(configured: None, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            one(status="HATCHING")
            one(status="RUNNING")
    assert caplog.text.count("runpod_unknown_status status='HATCHING'") == 1
    assert caplog.text.count("runpod_unknown_status") == 1


@pytest.mark.parametrize("given", ["10.0.0.5", "127.0.0.1", "169.254.169.254", "0.0.0.0", "fe80::1", "ssh.invalid"])
def test_it_takes_no_address_that_must_not_be_dialled(
    configured: None, given: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = Listing(instances=(Instance(id="p1", host=given, running=True, status="RUNNING"),))
    for _ in range(2):
        instance = one(port(ip=given), before=before)
        assert (instance.host, instance.ports, instance.id) == ("", {}, "p1"), "the pod is still listed"
    assert caplog.text.count(f"runpod_address_refused instance=p1 address='{given}'") == 1


def test_it_takes_a_private_address_where_they_are_allowed(configure: Configure) -> None:
    configure(runpod={"api_key": API_KEY}, allow_private_hosts=True)
    assert one(port(ip="10.0.0.5")).host == "10.0.0.5"
    assert one(port(ip="169.254.169.254")).host == ""


@pytest.mark.parametrize(
    ("fields", "read_as"),
    [
        ({"id": " p1 \n"}, {"id": "p1"}),
        ({"id": 7}, {"id": "7"}),
        ({"name": None}, {"label": ""}),
        ({"name": " a \n"}, {"label": "a"}),
        ({"cost": "0.69"}, {"price_usd_h": 0.69}),
        ({"cost": None}, {"price_usd_h": None}),
        ({"gpu": None}, {"gpu": ""}),
        ({"gpu": {"id": "A100", "count": "1"}}, {"gpu": "A100"}),
        ({"gpu": {"id": None, "count": 2}}, {"gpu": ""}),
        ({"startedAt": "2026-11-29T12:02:00+02:00"}, {"started_at": 1795946520.0}),
        ({"startedAt": "2026-11-29T12:02:00"}, {"started_at": 1795953720.0}),
        ({"startedAt": "yesterday"}, {"started_at": None}),
        ({"startedAt": 5}, {"started_at": None}),
        ({"status": " RUNNING\n"}, {"status": "RUNNING", "running": True}),
    ],
    ids=str,
)
def test_it_reads_odd_fields(configured: None, fields: dict[str, Any], read_as: dict[str, Any]) -> None:
    instance = one(**fields)
    assert {name: getattr(instance, name) for name in read_as} == read_as


# --- listings that are not whole ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        ([page(pod(), pod())], "RunPod gives 2 pods, 1 of them different"),
        ([paged(pod(), cursor="a"), paged(pod())], "RunPod gives 2 pods, 1 of them different"),
        ([page(pod(id=None))], "a pod without an id"),
        ([page(pod(id=" "))], "a pod without an id"),
        ([paged(pod(), cursor="a"), paged(pod(id="p2"), cursor="a")], "gives one cursor twice"),
        ([paged(pod(), more=True)], "says that a page follows and gives no cursor for it"),
        ([paged(pod(), cursor=" ", more=True)], "says that a page follows and gives no cursor for it"),
        ([paged(pod(), cursor="a"), page(pod(id="p2"))], "a page of it does not say whether another follows"),
        ([{}], "missing required field `pods`"),
        ([{"data": []}], "missing required field `pods`"),
        ([{"pods": None}], "JSON of another shape"),
        ([{"pods": {}}], "JSON of another shape"),
        ([{"pods": [None]}], "JSON of another shape"),
        ([page(pagination="more")], "JSON of another shape"),
        ([[pod()]], "JSON of another shape"),
        ([answer(200, b"")], "RunPod answers with an empty body"),
        ([answer(200, b"<html>")], "RunPod answers with a page (HTML)"),
        ([paged(pod(), cursor="a"), answer(200, b"<html>")], "RunPod answers with a page (HTML)"),
        ([paged(pod(), cursor="a"), answer(500, b"")], "RunPod answers 500 without a reason"),
    ],
)
def test_it_takes_nothing_but_a_whole_listing(configured: None, pages: list[Any], words: str) -> None:
    assert words in fails(*pages)


@pytest.mark.parametrize(
    ("first", "followed"),
    [
        (paged(pod()), False),
        (paged(pod(), cursor="a", more=False), False),
        (page(pod(), pagination=None), False),
        (page(pod(), pagination={}), False),
        (page(pod(), pagination={"nextCursor": "a"}), True),
        (page(pod(), pagination={"nextCursor": 5, "hasNextPage": True}), True),
    ],
    ids=str,
)
def test_it_knows_when_a_page_follows(configured: None, first: dict[str, Any], followed: bool) -> None:
    found = read(first, paged(pod(id="p2")))
    assert [each.id for each in found] == (["p1", "p2"] if followed else ["p1"])


def test_it_stops_walking_a_listing_without_an_end(
    configured: None, listed: RunPodAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed.add(Pod("p1", "203.0.113.17"))
    listed.page_size, listed.endless = 1, True
    assert "gives one cursor twice" in failure()

    monkeypatch.setattr(runpod, "MOST_PAGES", 5)
    pages = [paged(pod(id=f"p{n}"), cursor=f"c{n}") for n in range(20)]
    assert "it does not end after 5 pages" in fails(*pages)

    monkeypatch.setattr(runpod, "WALK_S", 0.0)
    assert "it does not end after 1 pages" in fails(*pages)


PROBLEM = {"title": "Unauthorized", "status": 401, "detail": "Invalid key"}


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, PROBLEM, "RunPod answers 401: Unauthorized: Invalid key (check fleet.runpod.api_key)"),
        (403, {"title": "Forbidden"}, "RunPod answers 403: Forbidden (check fleet.runpod.api_key)"),
        (
            410,
            {"detail": "Use /v2."},
            "RunPod answers 410: Use /v2. (RunPod's API v1 is gone: write https://api.runpod",
        ),
        (404, {"error": "no such path"}, "RunPod answers 404: no such path"),
        (500, b"<html>Oops</html>", "RunPod answers 500: a page (HTML)"),
        (502, b"", "RunPod answers 502 without a reason"),
        (500, [], "RunPod answers 500 without a reason"),
        (302, b"", "write the address that it redirects to into fleet.runpod.base_url"),
        (201, {}, "RunPod answers 201"),
        (
            429,
            (FIXTURES / "runpod_v2_429.json").read_bytes(),
            "429: Too Many Requests: Rate limit exceeded.; held for 60",
        ),
    ],
)
def test_it_says_why_runpod_refuses(configured: None, status: int, body: Any, words: str) -> None:
    assert words in fails(answer(status, body, headers="Location: /\r\n" if status == 302 else ""))


def test_it_says_that_runpod_cannot_be_reached(configure: Configure) -> None:
    configure(runpod={"api_key": API_KEY, "base_url": "http://127.0.0.1:1"})
    assert failure() == "RunPod at 127.0.0.1:1 refuses the connection"


def test_it_repeats_no_key_that_runpod_repeats(configured: None) -> None:
    assert API_KEY not in fails(answer(401, {"title": "Unauthorized", "detail": f"no such key: {API_KEY}"}))
    assert API_KEY not in fails(answer(400, f"{API_KEY} is no key".encode()))


@pytest.mark.parametrize("fault", [Fault.EMPTY, Fault.TRUNCATED, Fault.HTML, Fault.NULL_LISTS, Fault.STATUS])
def test_it_takes_no_first_page_for_a_listing(listed: RunPodAPI, fault: Fault) -> None:
    listed.page_size = 25
    for number in range(30):
        listed.add(Pod(f"pod{number}", f"203.0.113.{number + 1}"))
    listed.fault, listed.fault_page = fault, 2
    assert failure()
    listed.fault = None
    assert len(instances()) == 30


# --- how often it may be asked --------------------------------------------------------------------------------------


def test_it_sends_nothing_before_the_window_is_over(listed: RunPodAPI) -> None:
    listed.left, listed.window_s = 0, 30
    listed.retry_after = "3600"
    refused = failure()
    assert refused.startswith("RunPod answers 429: Too Many Requests: Rate limit exceeded.; nothing is asked before 20")
    assert refused.endswith(" UTC")
    until = snapshots.held_until("runpod")
    assert 3590 < until - clock.now() <= 3601
    listed.left = None
    for _ in range(3):
        assert failure() == f"RunPod's request limit is used up: {refused.partition('; ')[2]}"
    assert len(listed.requests) == 1
    snapshots.hold("runpod", clock.now() - 0.1)
    assert instances() == []
    assert len(listed.requests) == 2


def test_it_reads_the_listing_that_used_the_window_up_and_then_waits(listed: RunPodAPI) -> None:
    listed.add(Pod("p1", "203.0.113.17"))
    listed.left, listed.window_s = 1, 30
    assert [each.id for each in instances()] == ["p1"]
    assert 25 < snapshots.held_until("runpod") - clock.now() <= 31
    assert "request limit is used up: nothing is asked before" in failure()
    assert len(listed.requests) == 1


def test_it_takes_no_half_of_a_listing_when_the_window_is_used_up(listed: RunPodAPI) -> None:
    listed.page_size = 1
    for number in range(3):
        listed.add(Pod(f"pod{number}", "203.0.113.17"))
    listed.left = 2
    assert "the listing is not whole: RunPod's request limit is used up half-way, nothing is asked" in failure()
    assert len(listed.requests) == 2


def test_it_keeps_the_last_listing_while_it_waits(listed: RunPodAPI) -> None:
    listed.add(Pod("p1", "203.0.113.17"))
    listed.left, listed.window_s = 1, 30
    assert fetching.fetch("runpod", waking=False)
    assert not fetching.fetch("runpod", waking=False)
    state, kept = SourceState.objects.get(name="runpod"), snapshots.latest("runpod", Listing)
    assert "nothing is asked before" in state.error
    assert kept is not None
    assert [each.id for each in kept.instances] == ["p1"]
