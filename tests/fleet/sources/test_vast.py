from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleet import snapshots
from fleet.sources import vast
from fleet.sources.base import NotConfigured, SourceError
from fleet.sources.configuration import configuration
from fleet.sources.vast import Walk, fetch
from reconcile.inputs import Instance, Listing
from reconcile.view import View
from sim.background import LoopThread
from sim.garbage import Fault
from sim.vast import API_KEY, SECRET, VastAPI
from sim.vast import Instance as Rented
from tests.fleet.sources.conftest import Configure
from tests.litellm_sync.raw import answer, raw_server

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.fixture
def api(background: LoopThread) -> Iterator[VastAPI]:
    api = VastAPI()
    background.run(api.start())
    yield api
    background.run(api.stop())


@pytest.fixture
def listed(api: VastAPI, configure: Configure) -> VastAPI:
    """The simulated API, configured."""
    configure(vast={"api_key": API_KEY, "base_url": api.base_url, "page_wait_s": 0})
    return api


def instances() -> list[Instance]:
    return list(fetch(View()).instances)


def failure() -> str:
    with pytest.raises(SourceError) as caught:
        fetch(View())
    assert API_KEY not in caught.value.message
    return caught.value.message


def page(*rows: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A listing of one page."""
    return {"success": True, "total_instances": len(rows), "next_token": None, "instances": list(rows), **fields}


def read(*pages: Any) -> list[Instance]:
    """What the source makes of these pages. A page that is not bytes is answered as JSON with 200."""
    answers = [each if isinstance(each, bytes) else answer(200, each) for each in pages]
    with raw_server(*answers) as raw:
        return list(vast.listing(configuration(), Walk(raw.url, API_KEY, page_wait_s=0, timeout_s=2)).instances)


def fails(*pages: Any) -> str:
    with pytest.raises(SourceError) as caught:
        read(*pages)
    return caught.value.message


@pytest.fixture
def configured(configure: Configure) -> None:
    configure(vast={"api_key": API_KEY})


# --- whole listings -------------------------------------------------------------------------------------------------


def test_it_is_no_source_without_its_section(configure: Configure) -> None:
    configure()
    with pytest.raises(NotConfigured):
        fetch(View())


def test_it_reads_an_instance(listed: VastAPI) -> None:
    listed.add(Rented(31415926, "203.0.113.17", {8000: 41234}, label="pool-a", num_gpus=2))
    assert instances() == [
        Instance(
            id="31415926",
            host="203.0.113.17",
            running=True,
            status="running",
            ports={22: 35926, 8000: 41234},
            label="pool-a",
            gpu="2× RTX 4090",
            price_usd_h=0.7133333333333334,
            started_at=1795980965.1223178,
        )
    ]


def test_it_reads_the_recorded_pages(configured: None) -> None:
    pages = [json.loads((FIXTURES / f"vast_v1_list_page{n}.json").read_text()) for n in (1, 2)]
    assert [(each.id, each.host, each.status, each.running, each.ports) for each in read(*pages)] == [
        ("31402211", "203.0.113.17", "exited", False, {}),
        ("31415926", "203.0.113.17", "running", True, {22: 41233, 8000: 41234}),
        ("31415990", "203.0.113.44", "loading", False, {}),
        ("31416003", "203.0.113.80", "", False, {}),
    ]


def test_it_reads_the_recorded_empty_listing(configured: None) -> None:
    assert read(json.loads((FIXTURES / "vast_v1_list_empty.json").read_text())) == []


def test_it_walks_every_page_in_order_of_id(listed: VastAPI) -> None:
    for number in range(60):
        listed.add(Rented(1000 + number, f"203.0.113.{number + 1}", {8000: 40000 + number}))
    assert [each.id for each in instances()] == [str(1000 + number) for number in range(60)]
    assert [query["limit"] for query in listed.requests] == ["25", "25", "25"]
    assert json.loads(listed.requests[0]["order_by"]) == [{"col": "id", "dir": "asc"}]
    assert ["after_token" in query for query in listed.requests] == [False, True, True]


def test_it_waits_between_pages(api: VastAPI, configure: Configure) -> None:
    configure(vast={"api_key": API_KEY, "base_url": api.base_url, "page_wait_s": 0.3})
    for number in range(60):
        api.add(Rented(1000 + number, f"203.0.113.{number + 1}"))
    began = time.monotonic()
    fetch(View())
    assert time.monotonic() - began >= 0.6


def test_it_shows_the_key_in_the_header_alone(configured: None) -> None:
    with raw_server(answer(200, page())) as raw:
        Walk(raw.url, API_KEY, page_wait_s=0, timeout_s=5).rows()
    (request,) = raw.requests
    assert f"\r\nAuthorization: Bearer {API_KEY}\r\n" in request
    assert request.count(API_KEY) == 1
    assert request.startswith("GET /api/v1/instances/?limit=25&order_by=")


@pytest.mark.django_db
def test_it_keeps_no_secret_of_a_container(listed: VastAPI) -> None:
    listed.add(Rented(1, "203.0.113.17", {8000: 41234}))
    listing = fetch(View())
    snapshots.publish("vast", listing, 1.0)
    assert SECRET not in repr(listing) + repr(snapshots.latest("vast", Listing))


# --- rows as they come ----------------------------------------------------------------------------------------------


def row(**fields: Any) -> dict[str, Any]:
    return {"id": 7, "public_ipaddr": "203.0.113.17", "actual_status": "running", **fields}


def one(**fields: Any) -> Instance:
    (instance,) = read(page(row(**fields)))
    return instance


@pytest.mark.parametrize(
    ("given", "host"),
    [
        ("203.0.113.17", "203.0.113.17"),
        (" 203.0.113.17\n", "203.0.113.17"),
        ("::ffff:203.0.113.17", "203.0.113.17"),
        ("2001:DB8:0::5", "2001:db8::5"),
        (None, ""),
        ("", ""),
        (" \n", ""),
    ],
)
def test_it_reads_the_address(configured: None, given: Any, host: str) -> None:
    assert one(public_ipaddr=given).host == host


@pytest.mark.parametrize(
    "given",
    ["10.0.0.5", "127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1", "fe80::1", "::ffff:127.0.0.1", "ssh.vast.ai"],
)
def test_it_takes_no_address_that_must_not_be_dialled(
    configured: None, given: str, caplog: pytest.LogCaptureFixture
) -> None:
    instance = one(public_ipaddr=given)
    assert (instance.host, instance.id) == ("", "7"), "the instance is still listed"
    assert f"vast_address_refused instance=7 address='{given}'" in caplog.text
    one(public_ipaddr=given)
    assert caplog.text.count("vast_address_refused") == 1


def test_it_takes_a_private_address_where_they_are_allowed(configure: Configure) -> None:
    configure(vast={"api_key": API_KEY}, allow_private_hosts=True)
    assert one(public_ipaddr="10.0.0.5").host == "10.0.0.5"
    assert one(public_ipaddr="169.254.169.254").host == ""


TWINS = [{"HostIp": "0.0.0.0", "HostPort": "37708"}, {"HostIp": "::", "HostPort": "37708"}]


@pytest.mark.parametrize(
    ("ports", "mapped"),
    [
        (None, {}),
        ({}, {}),
        ([], {}),
        ("8000", {}),
        ({"8000/tcp": TWINS}, {8000: 37708}),
        ({"8000/tcp": TWINS, "8001/tcp": [{"HostPort": 40001}]}, {8000: 37708, 8001: 40001}),
        ({"8000/udp": TWINS}, {}),
        ({"8000/udp": [{"HostPort": "5"}], "8000/tcp": TWINS}, {8000: 37708}),
        ({"8000": TWINS}, {8000: 37708}),
        ({"8000/tcp": None}, {}),
        ({"8000/tcp": []}, {}),
        ({"8000/tcp": [None, {"HostPort": ""}, {"HostPort": " 37708\n"}]}, {8000: 37708}),
        ({"8000/tcp": [{"HostPort": "0"}, {"HostPort": "70000"}, {"HostIp": "::"}]}, {}),
        ({"x/tcp": TWINS, "70000/tcp": TWINS, "-1/tcp": TWINS}, {}),
    ],
)
def test_it_reads_the_ports(configured: None, ports: Any, mapped: dict[int, int]) -> None:
    assert one(ports=ports).ports == mapped


@pytest.mark.parametrize("status", [None, "created", "loading", "stopped", "exited", "offline", "hatching", 5, ""])
def test_it_lists_what_does_not_run_without_a_mapping(configured: None, status: Any) -> None:
    instance = one(actual_status=status, ports={"8000/tcp": TWINS})
    assert (instance.running, instance.ports, instance.host) == (False, {}, "203.0.113.17")
    assert instance.status == str(status or "")


@pytest.mark.parametrize(("status", "shown"), [("running", "running, being stopped"), ("exited", "exited")])
def test_it_says_that_vast_is_stopping_it(configured: None, status: str, shown: str) -> None:
    instance = one(actual_status=status, intended_status="stopped", cur_state="stopped", ports={"8000/tcp": TWINS})
    assert (instance.status, instance.running, instance.ports) == (shown, False, {})


def test_it_logs_an_unknown_status_once(configured: None, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            one(actual_status="hatching")
            one(actual_status="running")
    assert caplog.text.count("vast_unknown_status status='hatching'") == 1
    assert caplog.text.count("vast_unknown_status") == 1


@pytest.mark.parametrize(
    ("fields", "read_as"),
    [
        ({"id": "7"}, {"id": "7"}),
        ({"label": None}, {"label": ""}),
        ({"label": " a \n"}, {"label": "a"}),
        ({"dph_total": "0.71"}, {"price_usd_h": 0.71}),
        ({"dph_total": "free"}, {"price_usd_h": None}),
        ({"start_date": None}, {"started_at": None}),
        ({"gpu_name": "A100", "num_gpus": "1"}, {"gpu": "A100"}),
        ({"gpu_name": "A100", "num_gpus": None}, {"gpu": "A100"}),
        ({"gpu_name": None, "num_gpus": 2}, {"gpu": ""}),
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
        ([page(row(), total_instances=2)], "Vast states 2 instances and gives 1"),
        ([page(row(), total_instances=0)], "Vast states 0 instances and gives 1"),
        ([page(row(), row(), total_instances=2)], "gives 2, 1 of them different"),
        ([page(row(), total_instances=2, next_token="a"), page(row(), total_instances=2)], "1 of them different"),
        ([page(row(), instances_found=2)], "a page of the listing states 2 instances and holds 1"),
        ([page(row(id=None))], "an instance without an id"),
        ([page(row(id="x"))], "an instance without an id"),
        ([page(row(), total_instances=None)], "does not state how many instances"),
        ([page(row(), success=False, error="oops", msg="later")], "Vast answers 200: oops: later"),
        ([page(row(), success=None)], "Vast answers without success"),
        ([page(row(), success="true")], "Vast answers without success"),
        ([{"success": False, "error": "auth_error", "msg": "Invalid user key"}], "(check fleet.vast.api_key)"),
        ([page(row(), next_token="a", total_instances=99)], "one page token twice"),
        ([{"success": True, "total_instances": 0, "instances": []}], "missing required field `next_token`"),
        ([{"success": True, "next_token": None, "instances": []}], "missing required field `total_instances`"),
        ([{"success": True, "next_token": None, "total_instances": 0}], "missing required field `instances`"),
        ([page(instances=None)], "JSON of another shape"),
        ([page(instances={})], "JSON of another shape"),
        ([page(instances=[None])], "JSON of another shape"),
        ([[]], "JSON of another shape"),
        ([answer(200, b"")], "Vast answers with an empty body"),
        ([answer(200, b"<html>")], "Vast answers with a page (HTML)"),
        ([page(row(), next_token="a", total_instances=2), answer(200, b"<html>")], "Vast answers with a page (HTML)"),
        ([page(row(), next_token="a", total_instances=2), answer(500, b"")], "Vast answers 500 without a reason"),
    ],
)  # fmt: skip
def test_it_takes_nothing_but_a_whole_listing(configured: None, pages: list[Any], words: str) -> None:
    assert words in fails(*pages)


def test_it_stops_walking_a_listing_without_an_end(
    configured: None, monkeypatch: pytest.MonkeyPatch, listed: VastAPI
) -> None:
    listed.add(Rented(1, "203.0.113.17"))
    listed.endless = True
    assert "one page token twice" in failure()

    monkeypatch.setattr(vast, "MOST_PAGES", 5)
    pages = [page(row(id=n), next_token=f"t{n}", total_instances=99) for n in range(20)]
    assert "it does not end after 5 pages" in fails(*pages)

    monkeypatch.setattr(vast, "WALK_S", 0.0)
    assert "it does not end after 1 pages" in fails(*pages)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, b'{"success": false, "error": "auth_error", "msg": "Invalid user key"}', "auth_error: Invalid user key"),
        (404, b'{"success": false, "error": "auth_error", "msg": "Invalid user key"}', "(check fleet.vast.api_key)"),
        (404, b'{"detail": "Not Found"}', "Vast answers 404: Not Found"),
        (410, (FIXTURES / "vast_v0_list_410.json").read_bytes(), "deprecated_endpoint: /api/v0/instances/ is deprecat"),
        (429, (FIXTURES / "vast_429.txt").read_bytes(), "raise fleet.listing_interval_s or fleet.vast.page_wait_s"),
        (500, b"<html>Oops</html>", "Vast answers 500: a page (HTML)"),
        (502, b"", "Vast answers 502 without a reason"),
        (302, b"", "write the address that it redirects to into fleet.vast.base_url"),
        (201, b"{}", "Vast answers 201"),
    ],
)
def test_it_says_why_vast_refuses(configured: None, status: int, body: bytes, words: str) -> None:
    assert words in fails(answer(status, body, headers="Location: /\r\n" if status == 302 else ""))


@pytest.mark.parametrize("status", [401, 404])
def test_it_decides_by_the_body_that_a_key_is_bad(listed: VastAPI, status: int) -> None:
    listed.api_key, listed.wrong_key_status = "another", status
    assert failure() == f"Vast answers {status}: auth_error: Invalid user key (check fleet.vast.api_key)"


def test_it_says_that_vast_cannot_be_reached(configure: Configure) -> None:
    configure(vast={"api_key": API_KEY, "base_url": "http://127.0.0.1:1"})
    assert failure() == "Vast at 127.0.0.1:1 refuses the connection"


def test_it_repeats_no_key_that_vast_repeats(configured: None) -> None:
    told = {"success": False, "error": "auth_error", "msg": f"no such key: {API_KEY}"}
    assert API_KEY not in fails(answer(401, told))
    assert API_KEY not in fails(answer(429, f"{API_KEY} asks too often".encode()))


@pytest.mark.parametrize("fault", [Fault.EMPTY, Fault.TRUNCATED, Fault.HTML, Fault.NULL_LISTS, Fault.STATUS])
def test_it_takes_no_first_page_for_a_listing(listed: VastAPI, fault: Fault) -> None:
    for number in range(30):
        listed.add(Rented(1000 + number, f"203.0.113.{number + 1}"))
    listed.fault, listed.fault_page = fault, 2
    assert failure()
    listed.fault = None
    assert len(instances()) == 30
