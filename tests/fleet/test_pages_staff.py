"""`/models` for staff: what needs them, and the readings behind it."""

import re

import pytest
from django.test import Client

from fleet import snapshots
from reconcile.view import DeploymentView, Item, OpinionView, Plan, ProbeView, View

from .builders import (
    HOST,
    action,
    page_text,
    record,
    source,
    store_pass,
)

pytestmark = pytest.mark.django_db
BOX = "203.0.113.77"
HTMX = {"HX-Request": "true"}


def test_it_says_when_nothing_needs_anybody(viewer: Client) -> None:
    store_pass(age_s=4)
    page = page_text(viewer)
    assert "Nothing needs you." in page and re.search(r"Last pass <time [^>]+>\d+ s ago</time>", page)


def test_it_groups_and_counts_what_is_needed(viewer: Client) -> None:
    items = (
        Item(kind="unhealthy", name="203.0.113.11:8001/qwen3-8b", reason="3 probes missed"),
        Item(kind="unhealthy", name="203.0.113.12:8001/qwen3-8b", reason="4 probes missed"),
        Item(kind="source_failing", name="vast", reason="Vast answered 429"),
    )
    store_pass(plan=Plan(actions=(action(),), items=items))
    page = page_text(viewer)
    assert 'Work needed <span class="count">4</span>' in page
    assert 'Unhealthy <span class="count">2</span>' in page and "4 probes missed" in page
    assert page.index("Held") < page.index("Failing sources") < page.index('Unhealthy <span class="count">')
    assert "<title>(4) Models" in page


def test_it_keeps_rows_of_others_out_of_the_count(viewer: Client) -> None:
    store_pass(plan=Plan(items=(Item(kind="unmanaged", name="x/gpt", reason="not ours, never touched"),)))
    page = page_text(viewer)
    assert "Nothing needs you." in page and "Good to know" in page and "not ours, never touched" in page


def test_it_shows_the_first_of_many_and_counts_the_rest(viewer: Client) -> None:
    items = tuple(Item(kind="stalled", name=f"box-{each}", reason="past its grace") for each in range(40))
    store_pass(plan=Plan(items=items))
    page = page_text(viewer)
    assert page.count("past its grace") == 25 and "and 15 more" in page


def test_it_shows_a_deployment_with_its_verdicts_readings_and_reason(viewer: Client) -> None:
    store_pass(
        view=View(
            records=(
                record(
                    lifecycle="Unhealthy",
                    skew=("vllm_down_litellm_up", "mismatch"),
                    unlisted=True,
                    probe=ProbeView(state="unreached", at=1.0),
                    litellm_health=OpinionView(state="up", asked_at=2.0),
                    deployment=DeploymentView(id="x", api_base=None, state="ours", differing=("api_base",)),
                    reason="3 probes missed",
                ),
            )
        )
    )
    page = page_text(viewer)
    for said in (
        f"{HOST}:8001", "qwen3-8b", "Unhealthy", "vLLM down, LiteLLM up", "Differs", "api_base",
        "gone from the listing",
        "port 40001", "provider&#x27;s listing", "not reached", "1970-01-01 00:00:01 UTC", "up", "3 probes missed",
    ):  # fmt: skip
        assert said in page


def test_it_never_shows_a_url_of_a_deployment(viewer: Client) -> None:
    store_pass(view=View(records=(record(),)))
    assert f"http://{HOST}" not in page_text(viewer)


def test_it_shows_sources_with_state_age_and_error_and_those_not_configured(viewer: Client) -> None:
    snapshots.not_configured("runpod")
    store_pass(view=View(sources=(source("vast", state="failed", failed_at=1.0, error="Vast answered 429"),)))
    page = page_text(viewer)
    for said in ("Failing", "Vast answered 429", 'title="1970-01-01 00:00:01 UTC"', "runpod", "Not configured"):
        assert said in page


def test_it_shows_what_litellm_s_own_checks_cost(viewer: Client) -> None:
    """Three rows, six rounds a day."""
    health = source("litellm_health", interval_s=14400.0)
    store_pass(view=View(sources=(source("vast"), health), records=tuple(record(port=port) for port in (1, 2, 3))))
    page = page_text(viewer)
    assert page.count("completions a day") == 1
    assert "about 18 completions a day on 3 rows" in page
    store_pass(view=View(sources=(health,)))
    assert "completions" not in page_text(viewer)


def test_it_shows_a_changed_secret_as_changed(viewer: Client) -> None:
    one, other = {"secret": "a1" * 16}, {"secret": "b2" * 16}
    write = action("update_litellm", "ready", before={"p": {"api_key": one}}, after={"p": {"api_key": other}})
    store_pass(plan=Plan(actions=(write,)))
    page = page_text(viewer)
    assert "<del>secret</del> <ins>changed</ins>" in page
    assert "a1a1" not in page and "b2b2" not in page


def test_it_says_that_nothing_is_written_in_mode_observe(viewer: Client) -> None:
    store_pass(plan=Plan(mode="observe", actions=(action("add_litellm", "observed"),)))
    page = page_text(viewer)
    assert "policy.mode: observe" in page and "Only shown" in page


def test_it_shows_a_hundred_deployments_a_page(viewer: Client) -> None:
    store_pass(view=View(records=tuple(record(port=port) for port in range(1, 251))))
    assert f"{HOST}:100<" in page_text(viewer) and f"{HOST}:101<" not in page_text(viewer)
    last = page_text(viewer, page="3")
    assert f"{HOST}:250<" in last and "201–250 of 250" in last and 'name="page" value="3"' in last
    assert f"{HOST}:250<" in page_text(viewer, page="99") and f"{HOST}:1<" in page_text(viewer, page="x")
