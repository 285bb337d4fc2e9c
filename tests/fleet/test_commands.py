"""The commands: what they print, their JSON, their exit codes, and sentences for what cannot be."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from fleet import clock, passes, snapshots
from reconcile.view import DeploymentView, InventoryView, Item, OpinionView, Plan, ProbeView, View

from .builders import HOST, action, key, model_view, record, source, store_pass

pytestmark = pytest.mark.django_db
SECRET = {"secret": "a1" * 16}


def run(*args: str) -> str:
    """What a command prints; SystemExit is how `plan` says its exit code."""
    out = StringIO()
    call_command(*args, stdout=out)
    return out.getvalue()


def plan(*args: str) -> tuple[int, str]:
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("plan", *args, stdout=out)
    return int(ended.value.code or 0), out.getvalue()


def refusal(*args: str) -> str:
    with pytest.raises(CommandError) as refused:
        call_command(*args, stdout=StringIO())
    return str(refused.value)


# --- plan -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ([], 0),
        (["ready"], 2),
        (["settling"], 2),
        (["backing_off"], 2),
        (["held"], 3),
        (["needs_human"], 3),
        (["parked"], 3),
        (["observed"], 3),
        (["held", "ready"], 2),
    ],
)
def test_it_says_by_its_exit_code_whether_there_is_something_to_wait_for(statuses: list[str], code: int) -> None:
    actions = tuple(action(status=status, port=port) for port, status in enumerate(statuses, 8001))
    store_pass(plan=Plan(actions=actions, items=(Item(kind="unmanaged", name="x", reason="not ours"),)))
    assert plan("--json")[0] == plan()[0] == code


def test_it_prints_the_plan_as_json() -> None:
    snapshots.not_configured("runpod")
    store_pass(
        view=View(sources=(source("vllm"), source("vast", state="unread", taken_at=None, error="Vast answered 429"))),
        plan=Plan(
            mode="observe",
            actions=(action("update_litellm", "observed", before={"api_key": SECRET}, after={"api_key": SECRET}),),
            items=(Item(kind="unhealthy", name="n", reason="r", key=key(), host=HOST, since=0.5, rule="R10"),),
        ),
    )
    told = json.loads(plan("--json")[1])
    shown = passes.latest()
    assert shown is not None
    assert list(told) == ["pass", "at", "mode", "sources", "actions", "items"]
    assert (told["pass"], told["mode"]) == (shown.id, "observe")
    assert told["at"].endswith("+00:00")
    assert told["sources"]["vllm"]["state"] == "fresh" and 3 <= told["sources"]["vllm"]["age_s"] < 60
    assert told["sources"]["vast"] == {"state": "unread", "age_s": None, "error": "Vast answered 429"}
    assert told["sources"]["runpod"] == {"state": "not configured", "age_s": None, "error": ""}
    own = action("update_litellm", "observed")
    assert told["actions"] == [
        {
            "kind": "update_litellm",
            "key": {"url": "http://203.0.113.10:8001", "model": "qwen3-8b"},
            "name": own.name,
            "deployment_id": own.deployment_id,
            "reason": own.reason,
            "policy": "auto",
            "status": "observed",
            "digest": own.digest,
            "before": {"api_key": "secret"},
            "after": {"api_key": "secret"},
        }
    ]
    assert told["items"] == [
        {
            "kind": "unhealthy",
            "name": "n",
            "reason": "r",
            "key": {"url": "http://203.0.113.10:8001", "model": "qwen3-8b"},
            "host": HOST,
            "since": "1970-01-01T00:00:00.500+00:00",
            "rule": "R10",
        }
    ]


def test_it_prints_the_plan_for_people() -> None:
    write = action("update_litellm", "ready", before={"p": {"k": SECRET}, "n": 1}, after={"p": {"k": {"secret": "b"}}})
    store_pass(
        view=View(sources=(source("vast", state="failed", taken_at=clock.now() - 300, error="Vast answered 429"),)),
        plan=Plan(actions=(write,), items=(Item(kind="unhealthy", name="box", reason="3 probes missed"),)),
    )
    text = plan()[1]
    for said in (
        "mode act", "vast  failed  5 min ago  Vast answered 429", "Actions (1)", "ready", write.name, write.reason,
        "p.k: secret → changed", "n: 1 → –", "Items (1)", "unhealthy  box  3 probes missed",
    ):  # fmt: skip
        assert said in text
    assert "a1a1" not in text


def test_it_says_none_of_nothing() -> None:
    store_pass()
    code, text = plan()
    assert code == 0 and "Actions: none" in text and "Items: none" in text


@pytest.mark.parametrize("command", [("plan",), ("plan", "--json"), ("view",), ("explain", f"{HOST}:8001")])
def test_it_says_what_to_do_before_the_first_pass(command: tuple[str, ...]) -> None:
    assert refusal(*command) == "No pass has run yet: `manage.py reconcile` runs one now."


# --- view -----------------------------------------------------------------------------------------------------


def test_it_prints_the_view_as_json() -> None:
    unplaced = record(port=8003, dialable_url=None, deployment=None, skew=("intended_not_in_litellm",))
    number = store_pass(view=View(records=(record(), unplaced), models=(model_view(concurrency=4),)))
    told = json.loads(run("view", "--json"))
    assert told["pass"] == number
    first, second = told["records"]
    assert set(first) == {
        "key", "name", "host", "lifecycle", "dialable_url", "skew", "deployment", "probe", "reason",
    }  # fmt: skip
    assert first["key"] == {"url": "http://203.0.113.10:8001", "model": "qwen3-8b"}
    assert (first["name"], first["host"], first["lifecycle"]) == (f"{HOST}:8001/qwen3-8b", HOST, "Healthy")
    assert first["dialable_url"] == "http://203.0.113.10:40001" and first["skew"] == []
    assert set(first["deployment"]) == {"id", "api_base"} and first["probe"]["state"] == "ok"
    assert (second["dialable_url"], second["deployment"], second["skew"]) == (None, None, ["intended_not_in_litellm"])
    assert told["models"] == [
        {"name": "qwen3-8b", "status": "Available", "privacy": "Private", "context": 40960, "concurrency": 4}
    ]


def test_it_prints_the_view_for_people() -> None:
    store_pass(view=View(records=(record(),), models=(model_view(context=None),)))
    text = run("view")
    assert f"{HOST}:8001/qwen3-8b  Healthy  In sync  probe ok" in text
    assert "qwen3-8b  Available  Private  context unknown  room unknown" in text


# --- explain --------------------------------------------------------------------------------------------------


@pytest.fixture
def sick() -> str:
    sick = record(
        lifecycle="Unhealthy",
        rule="R10",
        reason="3 probes missed",
        misses=3,
        skew=("vllm_down_litellm_up",),
        unlisted=True,
        placed="vast",
        label="canary",
        config_served_at=clock.now() - 600,
        inventory=InventoryView(state="omitted", provider="vast", instance="4711", read_at=clock.now() - 1800),
        probe=ProbeView(state="unreached", detail="refused", at=clock.now() - 300, url="http://203.0.113.10:40001"),
        litellm_health=OpinionView(state="up", asked_at=clock.now() - 540),
        deployment=DeploymentView(
            id="llmao-x", api_base="http://203.0.113.10:40001/v1", state="ours", differing=("api_base",)
        ),
    )
    commercial = record(
        host="",
        listen_port=None,
        provider="anthropic",
        model="claude",
        name="anthropic/claude",
        key=key(HOST, 1, "claude"),
    )
    held = action(before={"litellm_params": {"api_key": SECRET}})
    item = Item(kind="unhealthy", name=sick.name, reason="3 probes missed", key=sick.key)
    store_pass(
        view=View(records=(sick, commercial, record(port=8003, model="tiny"))),
        plan=Plan(actions=(held,), items=(item,)),
    )
    return sick.name


def test_it_explains_a_deployment_with_the_rule_and_every_reading(sick: str) -> None:
    text = run("explain", sick)
    for said in (
        f"{HOST}:8001/qwen3-8b: Unhealthy  (R10)", "3 probes missed", "config", "vLLM down, LiteLLM up",
        "203.0.113.10:40001 (provider's listing)", "3 running", "gone from the Vast listing", "canary",
        "served 10 min ago",
        "Vast omitted, instance 4711, read 30 min ago", "not reached, refused, 5 min ago at 203.0.113.10:40001",
        "llmao-x at 203.0.113.10:40001, ours, differs in api_base", "up, asked 9 min ago",
        "delete_litellm: held", "litellm_params.api_key: secret → –", "item unhealthy: 3 probes missed",
    ):  # fmt: skip
        assert said in text
    assert "a1a1" not in text


@pytest.mark.parametrize("name", [f"{HOST}:8001", f"{HOST}:8001/qwen3-8b", f" http://{HOST}:8001/ "])
def test_it_knows_a_box_by_its_address_with_and_without_the_model(sick: str, name: str) -> None:
    text = run("explain", name)
    assert "Unhealthy" in text and "tiny" not in text


def test_it_knows_a_commercial_row_by_its_provider(sick: str) -> None:
    text = run("explain", "anthropic/claude")
    assert "anthropic/claude: Healthy" in text and "listing" not in text.partition("Readings")[2].partition("row")[0]


def test_it_names_what_somebody_may_have_meant(sick: str) -> None:
    assert refusal("explain", f"{HOST}:8001/qwen3-8") == (
        f"No deployment is called '{HOST}:8001/qwen3-8'. Did you mean {HOST}:8001/qwen3-8b or {HOST}:8003/tiny?"
    )


def test_it_says_so_when_there_is_no_deployment_at_all() -> None:
    store_pass()
    assert refusal("explain", "x") == "No deployment is called 'x'. There is none yet: name hosts in config.yaml."
