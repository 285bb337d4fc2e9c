"""What `explain` says of a host that has no deployment: retired, or waiting to be approved."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from fleet.host_notes import host_in
from fleet.models import Host, HostLabel
from reconcile.view import ProbeView, View

from .builders import HOST, box_asked, record, store_pass

pytestmark = pytest.mark.django_db


def explain(key: str) -> str:
    out = StringIO()
    call_command("explain", key, stdout=out)
    return out.getvalue()


def retire(host: str) -> None:
    HostLabel.objects.create(host=Host.objects.create(address=host), label="retired", by="ada")


@pytest.mark.parametrize("key", ["203.0.113.9", "203.0.113.9:8001", "203.0.113.9:8001/qwen3-8b"])
def test_it_says_who_retired_a_host(key: str) -> None:
    retire("203.0.113.9")
    box_asked("203.0.113.9")  # it goes on asking, and is not waiting for anything
    store_pass()
    text = explain(key)
    assert text.startswith("203.0.113.9 is retired by ada since 20") and "approval" not in text


def test_it_says_that_a_host_waits_for_approval() -> None:
    box_asked("203.0.113.77")
    store_pass(view=View(records=(record(),)))
    text = explain("203.0.113.77")
    assert text.startswith("203.0.113.77 waits for approval: it presented the fleet key")
    assert "asked 3 times, last 2 s ago" in text


def test_it_tells_both_of_a_retired_host_whose_row_is_still_there() -> None:
    retire(HOST)
    store_pass(view=View(records=(record(origin="none"),)))
    text = explain(f"{HOST}:8001")
    assert text.startswith(f"{HOST} is retired by ada") and "wanted by   nobody" in text


def test_it_says_nothing_of_waiting_once_the_host_has_deployments() -> None:
    box_asked(HOST)
    store_pass(view=View(records=(record(),)))
    assert "approval" not in explain(f"{HOST}:8001")


def test_it_still_names_what_somebody_may_have_meant() -> None:
    store_pass(view=View(records=(record(),)))
    with pytest.raises(CommandError, match="Did you mean 203.0.113.10:8001/qwen3-8b"):
        explain("203.0.113.11:8001")


@pytest.mark.parametrize(
    ("key", "host"),
    [
        (" http://203.0.113.9:8001/ ", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("[2001:db8::1]:8001/qwen3-8b", "2001:db8::1"),
        ("2001:DB8::1", "2001:db8::1"),
        ("anthropic/claude", ""),
        ("qwen3-8b", ""),
    ],
)
def test_it_finds_the_host_in_a_key(key: str, host: str) -> None:
    assert host_in(key) == host


def test_it_says_of_a_dead_box_what_the_page_says() -> None:
    dead = record(lifecycle="Unhealthy", deployment=None, probe=ProbeView(state="unreached"))
    missing = record(port=8003, deployment=None, skew=("intended_not_in_litellm", "settling"))
    store_pass(view=View(records=(dead, missing)))
    assert "sync        No row" in explain(f"{HOST}:8001") and "not reached" in explain(f"{HOST}:8001")
    assert "sync        Not in LiteLLM and Settling" in explain(f"{HOST}:8003")
    out = StringIO()
    call_command("view", stdout=out)
    assert "No row" in out.getvalue() and "not reached" in out.getvalue() and "intended_" not in out.getvalue()
