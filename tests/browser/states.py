"""One pass in which everything is to be seen: what a screenshot, a contrast or a width has to cope with."""

from __future__ import annotations

from fleet import clock, snapshots
from reconcile.identity import Key
from reconcile.view import (
    Action,
    DeploymentView,
    Item,
    ModelView,
    OpinionView,
    Plan,
    ProbeView,
    Record,
    SourceView,
    View,
)
from tests.fleet.builders import (
    action,
    box_asked,
    know_models,
    model_view,
    record,
    source,
    store_pass,
    unknown_box,
)

BOX = "203.0.113.77"
SICK, MOVED, GONE = "203.0.113.11", "203.0.113.40", "203.0.113.99"
LONG = "qwen3.8-27b-long-context-instruct-with-a-name-that-goes-on"


def everything() -> None:
    """Store the pass, with the models that an unknown box can be given."""
    know_models("qwen3-8b", "gemma4-26b", LONG)
    box_asked(BOX)
    snapshots.not_configured("runpod")
    store_pass(
        view=View(records=_records(), models=_models(), sources=_sources()),
        plan=Plan(actions=_actions(), items=_items()),
    )


def _records() -> tuple[Record, ...]:
    now = clock.now()
    silent = ProbeView(state="unreached", detail="refused", at=now - 6)
    moved = DeploymentView(id="llmao-1", api_base="http://203.0.113.40:41002", state="ours", differing=("api_base",))
    return (
        record(model="gemma4-26b", litellm_health=OpinionView(state="up", asked_at=now - 300)),
        record(
            SICK, lifecycle="Unhealthy", probe=silent, skew=("vllm_down_litellm_up",), unlisted=True,
            reason="3 probes missed in 45 s; LiteLLM still reaches it",
            litellm_health=OpinionView(state="up", asked_at=now - 12),
        ),
        record("198.51.100.4", 8004, LONG, lifecycle="Loading", deployment=None, probe=silent, reason="loading"),
        record(
            "192.0.2.55", lifecycle="Awaiting", deployment=None, dialable_url=None, dialable_step="", origin="approval",
            probe=ProbeView(state="never"), reason="the box has not asked for its config yet",
        ),
        record(MOVED, 8002, skew=("mismatch",), deployment=moved, reason="the listing maps 8002 to 40017 now"),
        record("2001:db8::7", 8001, lifecycle="Stalled", probe=silent, skew=("settling",), drained=True, label="c"),
        record(
            host="", listen_port=None, provider="anthropic", model="claude", name="anthropic/claude",
            key=Key("https://api.example.org", "claude"), lifecycle="Configured", probe=ProbeView(state="not_probed"),
        ),
    )  # fmt: skip


def _models() -> tuple[ModelView, ...]:
    return (
        model_view("gemma4-26b", shown={"display_name": "Gemma 4 26B"}, context=131072, concurrency=12),
        model_view("qwen3-8b", status="Degraded", sentence="2 of 3 deployments serving, 1 not answering"),
        model_view(LONG, status="Unavailable", sentence="1 deployment, none serving now", context=None),
        model_view("claude", privacy="External", shown={"display_name": "Claude"}, context=200000),
        model_view("both", privacy="Mixed"),
        model_view("unread", privacy="Unknown"),
    )


def _sources() -> tuple[SourceView, ...]:
    now = clock.now()
    failing = "Vast answered 429: too many requests; asked again in 60 s"
    return (
        source("intended"),
        source("vllm"),
        source("deployments", state="stale", taken_at=now - 900, interval_s=60.0),
        source("litellm_health", state="unread", taken_at=None, interval_s=14400.0),
        source("vast", state="failed", taken_at=now - 95, failed_at=now - 30, error=failing),
    )


def _actions() -> tuple[Action, ...]:
    before = {"litellm_params": {"api_base": "http://203.0.113.40:41002/v1", "api_key": {"secret": "a" * 32}}}
    after = {"litellm_params": {"api_base": "http://203.0.113.40:40017/v1", "api_key": {"secret": "b" * 32}}}
    return (
        action(host=SICK, before={"model_name": "qwen3-8b"}),
        action("update_litellm", "ready", MOVED, 8002, before=before, after=after, reason="differs: api_base"),
        action("add_litellm", "backing_off", "203.0.113.41", next_try=clock.now() + 400, reason="serves, has no row"),
        action("prune_orphan", "needs_human", GONE, reason="config drops 4 of 6 deployments"),
        action("add_litellm", "parked", "203.0.113.42", reason="LiteLLM refused it 5 times: unknown provider"),
    )


def _items() -> tuple[Item, ...]:
    return (
        unknown_box(BOX),
        Item(kind="source_failing", name="vast", reason="Vast answered 429", since=clock.now() - 30),
        Item(kind="unhealthy", name=f"{SICK}:8001/qwen3-8b", reason="3 probes missed in 45 s"),
        Item(kind="unmanaged", name="api.example.org/gpt", reason="a row that llmao did not make: never touched"),
    )
