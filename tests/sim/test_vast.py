from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sim.background import LoopThread
from sim.garbage import Fault
from sim.vast import API_KEY, PATH, SECRET, Instance, VastAPI
from tests.sim.asking import Answer, ask

FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.fixture
def vast() -> Iterator[VastAPI]:
    with LoopThread("vast") as background:
        vast = VastAPI()
        background.run(vast.start())
        yield vast
        background.run(vast.stop())


def _list(vast: VastAPI, **query: str) -> Answer:
    return ask(f"{vast.base_url}{PATH}", API_KEY, query=query)


def _walk(vast: VastAPI) -> list[dict[str, Any]]:
    pages = [_list(vast, limit="25").body]
    while pages[-1]["next_token"]:
        pages.append(_list(vast, limit="25", after_token=pages[-1]["next_token"]).body)
    return pages


def _recorded() -> dict[str, Any]:
    page: dict[str, Any] = json.loads((FIXTURES / "vast_v1_list_page1.json").read_text())
    return page


def test_it_shapes_its_page_as_the_recorded_one(vast: VastAPI) -> None:
    vast.add(Instance(31415926, "203.0.113.17", {8000: 41234}))
    page, recorded = _list(vast).body, _recorded()
    running = next(each for each in recorded["instances"] if each["actual_status"] == "running")
    assert page.keys() == recorded.keys()
    assert page["instances"][0].keys() == running.keys()
    assert page["instances"][0]["ports"]["8000/tcp"] == running["ports"]["8000/tcp"]


def test_it_pads_addresses_and_carries_secrets(vast: VastAPI) -> None:
    vast.add(Instance(1, "203.0.113.1"))
    vast.add(Instance(2, "203.0.113.2"))
    answer = _list(vast)
    assert [each["public_ipaddr"] for each in answer.body["instances"]] == ["203.0.113.1\n", " 203.0.113.2 "]
    assert SECRET in answer.text


def test_it_hands_out_at_most_25_a_page_in_the_order_of_ids(vast: VastAPI) -> None:
    for number in range(60, 0, -1):
        vast.add(Instance(number, "203.0.113.17"))
    assert len(_list(vast, limit="100").body["instances"]) == 25
    pages = _walk(vast)
    assert [page["instances_found"] for page in pages] == [25, 25, 10]
    assert {page["total_instances"] for page in pages} == {60}
    assert [each["id"] for page in pages for each in page["instances"]] == list(range(1, 61))


def test_it_answers_an_empty_account_as_recorded(vast: VastAPI) -> None:
    assert _list(vast).body == json.loads((FIXTURES / "vast_v1_list_empty.json").read_text())


def test_it_lists_a_stopped_instance_without_ports(vast: VastAPI) -> None:
    vast.add(Instance(7, "203.0.113.17", {8000: 41234})).stop()
    (instance,) = _list(vast).body["instances"]
    assert (instance["actual_status"], instance["intended_status"]) == ("exited", "stopped")
    assert instance["ports"] is None


def test_it_refuses_a_wrong_key_and_the_old_listing_as_recorded(vast: VastAPI) -> None:
    refused = ask(f"{vast.base_url}{PATH}", "wrong")
    assert (refused.status, refused.body) == (401, json.loads((FIXTURES / "vast_error_bad_key.json").read_text()))
    old = ask(f"{vast.base_url}/api/v0/instances/", API_KEY)
    assert (old.status, old.body) == (410, json.loads((FIXTURES / "vast_v0_list_410.json").read_text()))


def test_it_answers_with_any_status_in_plain_text(vast: VastAPI) -> None:
    vast.fault, vast.status = Fault.STATUS, 429
    answer = _list(vast)
    assert (answer.status, answer.text) == (429, (FIXTURES / "vast_429.txt").read_text().strip())
    vast.fault = None
    assert _list(vast).status == 200


@pytest.mark.parametrize(
    ("fault", "start"),
    [(Fault.HTML, "<!doctype"), (Fault.EMPTY, ""), (Fault.NOT_AN_OBJECT, "42"), (Fault.NULL_LISTS, '{"success": true')],
)
def test_it_answers_200_with_a_spoiled_body(vast: VastAPI, fault: Fault, start: str) -> None:
    vast.add(Instance(1, "203.0.113.1"))
    vast.fault = fault
    answer = _list(vast)
    assert answer.status == 200
    assert answer.text[: len(start) or None] == start
    assert "203.0.113.1" not in answer.text


def test_it_cuts_its_json(vast: VastAPI) -> None:
    vast.add(Instance(1, "203.0.113.1"))
    vast.fault = Fault.TRUNCATED
    with pytest.raises(ValueError):
        assert _list(vast).body


@pytest.mark.parametrize("fault", [Fault.SILENT, Fault.SLOW_BODY])
def test_it_does_not_finish_in_time(vast: VastAPI, fault: Fault) -> None:
    vast.fault = fault
    with pytest.raises(OSError):
        # urllib's timeout is per read, so a drip needs one shorter than its pause
        ask(f"{vast.base_url}{PATH}", API_KEY, timeout_s=0.1)


def test_it_fails_in_the_middle_of_a_walk(vast: VastAPI) -> None:
    for number in range(30):
        vast.add(Instance(number, "203.0.113.17"))
    vast.fault, vast.status, vast.fault_page = Fault.STATUS, 502, 2
    first = _list(vast)
    assert first.status == 200
    assert _list(vast, after_token=first.body["next_token"]).status == 502


def test_it_states_a_wrong_total_and_never_ends(vast: VastAPI) -> None:
    vast.add(Instance(1, "203.0.113.1"))
    vast.stated_total, vast.endless = 5, True
    page = _list(vast).body
    assert page["total_instances"] == 5
    again = _list(vast, after_token=page["next_token"]).body
    assert [each["id"] for each in again["instances"]] == [1]
    assert again["next_token"] is not None
