"""The timeline: one event for each change of a verdict, none for what was only not read."""

import zlib
from typing import Any

import pytest

from fleet import clock, events
from fleet.models import Event, Memory
from reconcile.identity import deployment_id
from reconcile.view import DeploymentView, ProbeView, Record, View

from .builders import key, record, source

pytestmark = pytest.mark.django_db
READ = (source("intended", taken_at=1.0), source("deployments", taken_at=1.0))
UNREAD = (source("intended", taken_at=1.0), source("deployments", taken_at=1.0, state="stale"))
NOTHING_WANTED = (source("intended", taken_at=None, state="unread"), source("deployments", taken_at=1.0))


class Passes:
    """Passes one after the other, and what each of them put on the timeline."""

    def __init__(self) -> None:
        self.number = 0

    def see(self, *records: Record, sources: Any = READ, at: float | None = None) -> list[tuple[str, str, str]]:
        self.number += 1
        events.note(self.number, clock.now() if at is None else at, View(records=records, sources=sources))
        noted = Event.objects.filter(pass_id=self.number).order_by("id")
        return [(event.what, event.before, event.after) for event in noted]


@pytest.fixture
def passes() -> Passes:
    return Passes()


def test_it_notes_the_first_appearance_of_a_key(passes: Passes) -> None:
    assert passes.see(record(lifecycle="Loading", reason="fetched its config")) == [("appeared", "", "Loading")]
    event = Event.objects.get()
    assert (event.name, event.reason, event.pass_id) == ("203.0.113.10:8001/qwen3-8b", "fetched its config", 1)
    assert event.key_id == deployment_id(key())
    assert event.at == pytest.approx(clock.now(), abs=30)


def test_it_notes_nothing_when_only_ages_change(passes: Passes) -> None:
    passes.see(record(reason="probed 4 s ago"))
    assert passes.see(record(reason="probed 19 s ago", misses=0)) == []


@pytest.mark.parametrize(
    ("fields", "change"),
    [
        ({"lifecycle": "Unhealthy"}, ("lifecycle", "Healthy", "Unhealthy")),
        ({"skew": ("at_listen_port",)}, ("sync", "in sync", "at listen port")),
        ({"unlisted": True}, ("unlisted", "not unlisted", "unlisted")),
        ({"deployment": None}, ("row", "ours", "none")),
        ({"dialable_url": "http://203.0.113.10:40077"}, ("address", "203.0.113.10:40001", "203.0.113.10:40077")),
        ({"dialable_url": None}, ("address", "203.0.113.10:40001", "unplaced")),
        ({"origin": "none"}, ("wanted", "config", "nobody")),
        ({"probe": ProbeView(state="unreached", detail="timeout")}, ("probe", "ok", "unreached")),
    ],
)
def test_it_notes_each_change_of_a_verdict(
    passes: Passes, fields: dict[str, Any], change: tuple[str, str, str]
) -> None:
    passes.see(record())
    assert passes.see(record(**fields)) == [change]
    assert passes.see(record(**fields)) == []


def test_it_says_what_differs_and_what_the_probe_saw(passes: Passes) -> None:
    row = DeploymentView(id="llmao-x", api_base=None, state="ours", differing=("litellm_params.api_base", "model_name"))
    passes.see(record())
    changed = record(deployment=row, skew=("mismatch",), probe=ProbeView(state="not_ok", detail="a page, not vLLM"))
    assert ("sync", "in sync", "mismatch (api_base, model_name)") in passes.see(changed)
    assert Event.objects.get(what="probe").reason == "a page, not vLLM"


def test_it_takes_what_was_not_read_for_no_change(passes: Passes) -> None:
    passes.see(record())
    blind = record(deployment=None, skew=(), probe=ProbeView(state="stale"))
    assert passes.see(blind, sources=UNREAD) == []
    assert passes.see(record()) == [], "and seeing it again is no news either"


def test_it_notes_a_change_across_a_time_without_readings(passes: Passes) -> None:
    passes.see(record())
    passes.see(record(deployment=None, probe=ProbeView(state="stale")), sources=UNREAD)
    after = record(deployment=None, probe=ProbeView(state="unreached"))
    assert passes.see(after) == [("row", "ours", "none"), ("probe", "ok", "unreached")]


def test_it_does_not_call_a_row_new_that_was_never_looked_for(passes: Passes) -> None:
    passes.see(record(deployment=None), sources=UNREAD)
    assert passes.see(record()) == []


def test_it_notes_the_first_probe_that_says_something(passes: Passes) -> None:
    passes.see(record(probe=ProbeView(state="never")))
    assert passes.see(record()) == [("probe", "", "ok")]


def test_it_notes_that_a_key_went(passes: Passes) -> None:
    passes.see(record(), record(port=8003))
    assert passes.see(record()) == [("gone", "Healthy", "")]
    gone = Event.objects.get(what="gone")
    assert (gone.name, gone.reason) == (
        "203.0.113.10:8003/qwen3-8b",
        "it is no longer wanted, and LiteLLM has no row of it",
    )


@pytest.mark.parametrize("sources", [UNREAD, NOTHING_WANTED])
def test_it_calls_no_key_gone_that_may_only_be_unread(passes: Passes, sources: Any) -> None:
    passes.see(record())
    assert passes.see(sources=sources) == []
    assert passes.see(record()) == []


def test_it_follows_a_key_from_config_to_its_orphaned_row(passes: Passes) -> None:
    passes.see(record())
    orphan = record(origin="none", lifecycle="Unknown", skew=("litellm_only",), probe=ProbeView(state="not_probed"))
    assert passes.see(orphan) == [
        ("wanted", "config", "nobody"),
        ("lifecycle", "Healthy", "Unknown"),
        ("sync", "in sync", "litellm only"),
    ]
    assert passes.see() == [("gone", "Unknown", "")]
    assert Event.objects.get(what="gone").reason == "LiteLLM no longer lists it"


def test_it_tells_the_wanted_record_of_a_key_and_not_a_stray_row(passes: Passes) -> None:
    stray = record(origin="none", lifecycle="Unknown")
    passes.see(record(), stray)
    assert [event.after for event in Event.objects.all()] == ["Healthy"]
    assert passes.see(stray, record()) == []


def test_it_keeps_text_that_a_database_would_refuse(passes: Passes) -> None:
    passes.see(record())
    odd = ProbeView(state="not_ok", detail="it serves a\0b and \ud800")
    passes.see(record(probe=odd, lifecycle="Unhealthy", reason="x" * 5000))
    probed, lifecycle = Event.objects.get(what="probe"), Event.objects.get(what="lifecycle")
    assert probed.reason == "it serves a\N{REPLACEMENT CHARACTER}b and ?"
    assert len(lifecycle.reason) == 2000


def test_it_goes_on_from_now_when_another_version_wrote_what_stood(passes: Passes) -> None:
    passes.see(record())
    Memory.objects.filter(name=events.ROW).update(body=zlib.compress(b'{"keys": [1]}'))
    assert passes.see(record(lifecycle="Unhealthy")) == []
    assert passes.see(record()) == [("lifecycle", "Unhealthy", "Healthy")]


def test_it_forgets_by_age_and_by_count(passes: Passes, monkeypatch: pytest.MonkeyPatch) -> None:
    now = clock.now()
    passes.see(record(), at=now - events.KEPT_S - 10)
    passes.see(record(lifecycle="Unhealthy"), at=now - events.KEPT_S + 10)
    passes.see(record(), at=now)
    assert [event.pass_id for event in Event.objects.all()] == [3, 2]
    monkeypatch.setattr(events, "KEPT", 1)
    passes.see(record(lifecycle="Unhealthy"), at=now)
    assert [event.pass_id for event in Event.objects.all()] == [4]


def test_it_writes_what_stands_only_when_something_changed(passes: Passes) -> None:
    passes.see(record())
    Memory.objects.filter(name=events.ROW).update(passed_at=1.0)
    passes.see(record())
    assert Memory.objects.get(name=events.ROW).passed_at == 1.0


def test_it_gives_the_events_of_one_key_newest_first(passes: Passes) -> None:
    passes.see(record(), record(port=8003))
    passes.see(record(lifecycle="Unhealthy"), record(port=8003, lifecycle="Unhealthy"))
    assert [event.what for event in events.of_key(key())] == ["lifecycle", "appeared"]
