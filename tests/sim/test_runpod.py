from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sim.background import LoopThread
from sim.garbage import Fault
from sim.runpod import API_KEY, PATH, SECRET, Pod, RunPodAPI
from tests.sim.asking import Answer, ask

FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.fixture
def runpod() -> Iterator[RunPodAPI]:
    with LoopThread("runpod") as background:
        runpod = RunPodAPI()
        background.run(runpod.start())
        yield runpod
        background.run(runpod.stop())


def _list(runpod: RunPodAPI, **query: str) -> Answer:
    return ask(f"{runpod.base_url}{PATH}", API_KEY, query=query)


def _headers(runpod: RunPodAPI) -> dict[str, str]:
    request = urllib.request.Request(f"{runpod.base_url}{PATH}", headers={"Authorization": f"Bearer {API_KEY}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return dict(answer.headers)


def _walk(runpod: RunPodAPI) -> list[dict[str, Any]]:
    pages = [_list(runpod).body]
    while pages[-1]["pagination"]["hasNextPage"]:
        pages.append(_list(runpod, cursor=pages[-1]["pagination"]["nextCursor"]).body)
    return pages


def _recorded(name: str) -> dict[str, Any]:
    page: dict[str, Any] = json.loads((FIXTURES / name).read_text())
    return page


def _same_shape(made: Any, recorded: Any) -> bool:
    if isinstance(recorded, dict):
        return set(made) == set(recorded)
    return type(made) is type(recorded)


def test_it_shapes_a_running_pod_as_the_recorded_one(runpod: RunPodAPI) -> None:
    runpod.add(Pod("7h9k2m4n6p", "203.0.113.121", {8000: 12891}))
    page, recorded = _list(runpod).body, _recorded("runpod_v2_pods.json")
    assert page.keys() == recorded.keys()
    (made,), example = page["pods"], recorded["pods"][0]
    assert made.keys() == example.keys()
    assert [name for name in example if name != "env" and not _same_shape(made[name], example[name])] == []
    assert made["runtime"].keys() == example["runtime"].keys()
    assert made["runtime"]["ports"][1:] == [
        {"private": 8000, "public": 12891, "type": "tcp", "ip": "203.0.113.121"},
        {"private": 8888, "public": None, "type": "http", "ip": None},
    ]


def test_it_pages_as_recorded(runpod: RunPodAPI) -> None:
    runpod.page_size = 2
    for number in range(5):
        runpod.add(Pod(f"pod{number}", "203.0.113.121"))
    pages = _walk(runpod)
    recorded = _recorded("runpod_v2_pods_paginated_p1.json")
    assert pages[0]["pagination"].keys() == recorded["pagination"].keys()
    assert [[pod["id"] for pod in page["pods"]] for page in pages] == [["pod0", "pod1"], ["pod2", "pod3"], ["pod4"]]
    assert pages[-1]["pagination"] == _recorded("runpod_v2_pods_paginated_p2.json")["pagination"]


def test_it_carries_secrets(runpod: RunPodAPI) -> None:
    runpod.add(Pod("p1", "203.0.113.1"))
    assert SECRET in _list(runpod).text


@pytest.mark.parametrize("status", ["PROVISIONING", "STARTING", "EXITED", "ERROR"])
def test_it_has_no_runtime_for_what_does_not_run(runpod: RunPodAPI, status: str) -> None:
    runpod.add(Pod("p1", "203.0.113.1", {8000: 1})).stop(status)
    (pod,) = _list(runpod).body["pods"]
    assert (pod["status"], pod["runtime"], pod["ssh"]["direct"], pod["cost"]) == (status, None, None, 0.0)


def test_it_runs_without_ports_for_a_while(runpod: RunPodAPI) -> None:
    pod = runpod.add(Pod("p1", "203.0.113.1", {8000: 40001}, ports_late=True))
    (shown,) = _list(runpod).body["pods"]
    assert {(port["public"], port["ip"]) for port in shown["runtime"]["ports"]} == {(None, None)}
    assert "203.0.113.1" not in json.dumps(shown)
    pod.ports_late = False
    assert _list(runpod).body["pods"][0]["runtime"]["ports"][1]["public"] == 40001


def test_it_shows_the_old_ports_after_a_reset(runpod: RunPodAPI) -> None:
    pod = runpod.add(Pod("p1", "203.0.113.1", {8000: 40001}))
    pod.reset({8000: 40002}, lag_s=0.4)
    assert (pod.ports, pod.listed_ports) == ({8000: 40002}, {8000: 40001})
    assert _list(runpod).body["pods"][0]["runtime"]["ports"][1]["public"] == 40001
    pod.reset({8000: 40003}, lag_s=0)
    assert _list(runpod).body["pods"][0]["runtime"]["ports"][1]["public"] == 40003


def test_it_refuses_a_wrong_key_and_the_old_listing(runpod: RunPodAPI) -> None:
    refused = ask(f"{runpod.base_url}{PATH}", "wrong")
    assert (refused.status, refused.body["title"]) == (401, "Unauthorized")
    old = ask(f"{runpod.base_url}/v1/pods", API_KEY)
    assert (old.status, old.body["status"]) == (410, 410)


def test_it_says_how_many_requests_are_left_and_then_refuses(runpod: RunPodAPI) -> None:
    runpod.left, runpod.window_s = 2, 30
    assert _headers(runpod)["RateLimit"].startswith('"minute";r=1;t=30, "hour";r=2800;t=1812')
    assert _headers(runpod)["RateLimit"].startswith('"minute";r=0;t=30')
    refused = _list(runpod)
    assert (refused.status, refused.body) == (429, _recorded("runpod_v2_429.json"))
    runpod.left = None
    assert _headers(runpod)["RateLimit"].startswith('"minute";r=60')


@pytest.mark.parametrize(
    ("fault", "start"),
    [(Fault.HTML, "<!doctype"), (Fault.EMPTY, ""), (Fault.NOT_AN_OBJECT, "42"), (Fault.NULL_LISTS, '{"pods": null')],
)
def test_it_answers_200_with_a_spoilt_body(runpod: RunPodAPI, fault: Fault, start: str) -> None:
    runpod.add(Pod("p1", "203.0.113.1"))
    runpod.fault = fault
    answer = _list(runpod)
    assert answer.status == 200
    assert answer.text[: len(start) or None] == start


@pytest.mark.parametrize("fault", [Fault.SILENT, Fault.SLOW_BODY])
def test_it_does_not_finish_in_time(runpod: RunPodAPI, fault: Fault) -> None:
    runpod.fault = fault
    with pytest.raises(OSError):
        ask(f"{runpod.base_url}{PATH}", API_KEY, timeout_s=0.1)


def test_it_fails_in_the_middle_of_a_walk_and_never_ends(runpod: RunPodAPI) -> None:
    runpod.page_size, runpod.fault, runpod.status, runpod.fault_page = 1, Fault.STATUS, 502, 2
    for number in range(2):
        runpod.add(Pod(f"pod{number}", "203.0.113.1"))
    first = _list(runpod)
    assert first.status == 200
    assert _list(runpod, cursor=first.body["pagination"]["nextCursor"]).status == 502
    runpod.fault, runpod.endless = None, True
    last = _list(runpod, cursor="cursor-1").body
    assert last["pagination"] == {"nextCursor": "cursor-1", "hasNextPage": True}
