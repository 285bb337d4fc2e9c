"""The admin of events and stored inputs: to look at, without secrets."""

import pytest
from django.test import Client

from fleet import events, replays, snapshots
from fleet.models import Event, Replay, ReplayBody
from fleet.replays import PassInput
from reconcile.history import begin
from reconcile.inputs import Attempts, Boxes, Deployments, Intended, Opinions, Probes, Server, Snapshots, Source
from reconcile.settings import Settings
from reconcile.view import View

from .builders import HOST, record, source, store_pass

pytestmark = pytest.mark.django_db
HASH = "a1" * 16


@pytest.fixture
def noted() -> int:
    """One pass with one key, its event and its input."""
    intended = Intended(servers=(Server(host=HOST, listen_port=8001, model="qwen3-8b", key_hash=HASH),))
    bodies = {
        "intended": intended,
        "boxes": Boxes(),
        "vllm": Probes(),
        "deployments": Deployments(),
        "litellm_health": Opinions(),
        "attempts": Attempts(),
    }
    sources = {name: Source(interval_s=60.0, body=body, taken_at=1.0) for name, body in bodies.items()}
    given = PassInput(
        snapshots=Snapshots(**sources),  # type: ignore[arg-type]
        history=begin(1_796_000_000.0),
        settings=Settings(),
        now=1_796_000_000.0,
    )
    number = store_pass()
    view = View(records=(record(reason="it is <b>well</b>"),), sources=(source("intended"), source("deployments")))
    changed = events.note(number, given.now, view)
    replays.keep(number, given, given.decide(), changed)
    return number


def test_it_shows_the_timeline_and_finds_a_key_in_it(admin: Client, noted: int) -> None:
    page = admin.get("/admin/fleet/event/", {"q": HOST}).content.decode()
    assert "appeared" in page and "it is &lt;b&gt;well&lt;/b&gt;" in page and "2026-11-30" in page
    assert (
        "appeared"
        not in admin.get("/admin/fleet/event/", {"q": "198.51.100.1"}).content.decode().partition("result_list")[2]
    )
    page = admin.get(f"/admin/fleet/event/{Event.objects.get().pk}/change/").content.decode()
    assert f"{HOST}:8001/qwen3-8b" in page and "Save" not in page


def test_it_shows_what_a_pass_was_decided_from(admin: Client, noted: int) -> None:
    assert "1 verdict changed" in admin.get("/admin/fleet/replay/").content.decode()
    page = admin.get(f"/admin/fleet/replay/{noted}/change/").content.decode()
    assert "health_fail_threshold" in page and "Save" not in page
    page = admin.get("/admin/fleet/replaybody/").content.decode()
    assert "KB compressed" in page
    stub = snapshots.unpack(Replay.objects.get().stub, replays.Stub)
    body = ReplayBody.objects.get(digest=stub.snapshots["intended"]["body"])
    page = admin.get(f"/admin/fleet/replaybody/{body.digest}/change/").content.decode()
    assert HOST in page and HASH not in page


@pytest.mark.parametrize("table", ["event", "replay", "replaybody"])
def test_it_lets_nobody_change_it(admin: Client, noted: int, table: str) -> None:
    rows = {"event": Event.objects.all(), "replay": Replay.objects.all(), "replaybody": ReplayBody.objects.all()}
    pk = rows[table][0].pk
    assert admin.get(f"/admin/fleet/{table}/add/").status_code == 403
    assert admin.post(f"/admin/fleet/{table}/{pk}/delete/", {"post": "yes"}).status_code == 403
    assert admin.post(f"/admin/fleet/{table}/{pk}/change/", {}).status_code == 403
