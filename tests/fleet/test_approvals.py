"""What people decide: stored with who and when, refused in sentences, and harmless when repeated."""

import pytest
from pytest_django.fixtures import DjangoCaptureOnCommitCallbacks, Settings

from fleet import approvals, clock, fetching, lease, snapshots
from fleet.approvals import Refused
from fleet.models import ActionLog, Approval, Host, HostLabel, IntendedServer, SourceState
from reconcile.inputs import Intended
from reconcile.view import Plan

from .builders import HOST, action, box_asked, know_models, store_pass

pytestmark = pytest.mark.django_db
BOX = "203.0.113.77"


def servers(host: str = BOX) -> list[tuple[str, int, str, str]]:
    rows = IntendedServer.objects.filter(host__address=host, ended_at=None)
    return [(row.model, row.listen_port, row.origin, row.created_by) for row in rows]


def refusal(*args: object) -> tuple[str, ...]:
    with pytest.raises(Refused) as refused:
        approvals.approve_box(*args)  # type: ignore[arg-type]
    return refused.value.sentences


@pytest.fixture
def unknown_box() -> None:
    know_models("qwen3-8b", "gemma4-26b", "tiny", commercial=("claude",))
    box_asked(BOX)


# --- a box ----------------------------------------------------------------------------------------------------


def test_it_gives_an_unknown_box_the_models_in_their_order_on_ports_from_8001(unknown_box: None) -> None:
    approvals.approve_box(BOX, [("gemma4-26b", None), ("qwen3-8b", None)], "ada")
    assert servers() == [("gemma4-26b", 8001, "approval", "ada"), ("qwen3-8b", 8002, "approval", "ada")]


def test_it_keeps_the_ports_that_were_typed(unknown_box: None) -> None:
    approvals.approve_box(BOX, [("gemma4-26b", None), ("qwen3-8b", 8001), ("tiny", None)], "ada")
    assert sorted(servers()) == [
        ("gemma4-26b", 8002, "approval", "ada"),
        ("qwen3-8b", 8001, "approval", "ada"),
        ("tiny", 8003, "approval", "ada"),
    ]


def test_it_labels_the_host_and_logs_who_approved_what(unknown_box: None) -> None:
    approvals.approve_box(BOX, [("qwen3-8b", None)], "ada")
    label = HostLabel.objects.get(host__address=BOX)
    log = ActionLog.objects.get()
    assert (label.label, label.by) == ("approved", "ada")
    assert (log.kind, log.name, log.by, log.reason) == ("approve_box", BOX, "ada", "qwen3-8b on 8001")


def test_it_does_nothing_the_second_time(unknown_box: None) -> None:
    first = approvals.approve_box(BOX, [("qwen3-8b", None)], "ada")
    second = approvals.approve_box(BOX, [("qwen3-8b", None)], "ada")
    assert [row.pk for row in first] == [row.pk for row in second]
    assert IntendedServer.objects.count() == ActionLog.objects.count() == 1


def test_it_takes_an_address_in_any_spelling(unknown_box: None) -> None:
    approvals.approve_box(f" ::ffff:{BOX} ", [("qwen3-8b", None)], "ada")
    assert len(servers()) == 1


def test_it_refuses_what_is_no_address(unknown_box: None) -> None:
    assert refusal("box-7", [("qwen3-8b", None)], "ada") == (
        "'box-7' is not an IP address: write it like 203.0.113.10.",
    )


def test_it_refuses_an_address_that_no_box_can_have(unknown_box: None) -> None:
    assert refusal("169.254.169.254", [("qwen3-8b", None)], "ada") == (
        "169.254.169.254 is a cloud's metadata service: no box can be there.",
    )


def test_it_refuses_a_host_that_never_presented_the_fleet_key(unknown_box: None) -> None:
    (sentence,) = refusal("203.0.113.78", [("qwen3-8b", None)], "ada")
    assert "203.0.113.78 never presented the fleet key" in sentence


def test_it_names_everything_that_is_wrong_at_once(unknown_box: None) -> None:
    sentences = refusal(BOX, [("gpt-9", None), ("qwen3-8b", 70000), ("tiny", 8005), ("gemma4-26b", 8005)], "ada")
    assert sentences == (
        "'gpt-9' is no self-hosted model: choose one of qwen3-8b, gemma4-26b, tiny.",
        "Port 70000 for qwen3-8b: type a number from 1 to 65535.",
        "Port 8005 is given to tiny and gemma4-26b: each needs its own.",
    )
    assert servers() == [] and not Host.objects.exists()


def test_it_refuses_port_0(unknown_box: None) -> None:
    assert refusal(BOX, [("tiny", 0)], "ada") == ("Port 0 for tiny: type a number from 1 to 65535.",)


def test_it_refuses_an_empty_choice(unknown_box: None) -> None:
    assert refusal(BOX, [], "ada") == (f"Choose at least one model for {BOX}.",)


def test_it_refuses_a_commercial_model(unknown_box: None) -> None:
    (sentence,) = refusal(BOX, [("claude", None)], "ada")
    assert "'claude' is no self-hosted model" in sentence


def test_it_says_so_when_no_model_was_read_yet() -> None:
    box_asked(BOX)
    (sentence,) = refusal(BOX, [("qwen3-8b", None)], "ada")
    assert sentence.startswith("No self-hosted model is known yet")


def test_it_refuses_a_box_that_somebody_else_just_approved_otherwise(unknown_box: None) -> None:
    approvals.approve_box(BOX, [("qwen3-8b", None)], "ada")
    (sentence,) = refusal(BOX, [("tiny", 8002)], "grace")
    assert sentence == f"{BOX} is already set to run qwen3-8b on 8001 (by ada): add or end servers in the admin."
    assert [row[0] for row in servers()] == ["qwen3-8b"]


def test_it_refuses_a_host_of_config_yaml(unknown_box: None) -> None:
    host = Host.objects.create(address=BOX)
    IntendedServer.objects.create(host=host, model="tiny", listen_port=8001, origin="config")
    assert refusal(BOX, [("qwen3-8b", 8002)], "ada") == (f"config.yaml already names {BOX}: add its servers there.",)


def test_it_refuses_a_retired_host(unknown_box: None) -> None:
    approvals.set_label(BOX, "retired", "grace")
    assert refusal(BOX, [("qwen3-8b", None)], "ada") == (f"{BOX} is retired: clear that label in the admin first.",)


def test_it_approves_again_a_box_whose_servers_were_ended(unknown_box: None) -> None:
    (row,) = approvals.approve_box(BOX, [("qwen3-8b", None)], "ada")
    approvals.end_server(row, "ada")
    approvals.approve_box(BOX, [("tiny", None)], "grace")
    assert servers() == [("tiny", 8001, "approval", "grace")]


# --- an action ------------------------------------------------------------------------------------------------


def test_it_keeps_what_was_seen_when_an_action_is_approved() -> None:
    held = action("delete_litellm", "held", before={"model_name": "qwen3-8b"})
    store_pass(plan=Plan(actions=(held,)))
    before = clock.now()
    approval = approvals.approve_action(held.digest, "ada")
    assert (approval.kind, approval.key_url, approval.key_model) == ("delete_litellm", held.key.url, held.key.model)
    assert (approval.by, approval.seen["before"], approval.spent_at) == ("ada", {"model_name": "qwen3-8b"}, None)
    assert before - 0.01 <= approval.at <= clock.now()
    assert ActionLog.objects.get().by == "ada"


def test_it_approves_an_action_once_however_often_it_is_clicked() -> None:
    held = action()
    store_pass(plan=Plan(actions=(held,)))
    first, second = approvals.approve_action(held.digest, "ada"), approvals.approve_action(held.digest, "grace")
    assert first.pk == second.pk and second.by == "ada"
    assert ActionLog.objects.count() == 1


def test_it_refuses_a_digest_that_the_newest_plan_does_not_have() -> None:
    held = action()
    store_pass(plan=Plan(actions=(held,)))
    store_pass(plan=Plan())
    with pytest.raises(Refused, match="is in the newest plan: it was done, or things changed"):
        approvals.approve_action(held.digest, "ada")
    assert not Approval.objects.exists()


def test_it_refuses_before_the_first_pass() -> None:
    with pytest.raises(Refused, match="No action abc is in the newest plan"):
        approvals.approve_action("abc", "ada")


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ("observed", "nothing is written while policy.mode is observe"),
        ("parked", "press Retry once that is mended"),
        ("ready", "it waits for nobody, its status is ready"),
        ("backing_off", "its status is backing off"),
    ],
)
def test_it_refuses_an_action_that_an_approval_would_not_release(status: str, says: str) -> None:
    other = action(status=status)
    store_pass(plan=Plan(actions=(other,)))
    with pytest.raises(Refused, match=says):
        approvals.approve_action(other.digest, "ada")
    assert not Approval.objects.exists()


def test_it_withdraws_an_approval_that_was_not_used() -> None:
    held = action()
    store_pass(plan=Plan(actions=(held,)))
    approvals.approve_action(held.digest, "ada")
    assert approvals.withdraw(held.digest, "grace") == 1
    assert approvals.withdraw(held.digest, "grace") == 0
    assert list(ActionLog.objects.order_by("id").values_list("kind", "by")) == [
        ("approve", "ada"),
        ("withdraw", "grace"),
    ]


def test_it_leaves_a_used_approval_as_it_is() -> None:
    held = action()
    store_pass(plan=Plan(actions=(held,)))
    approvals.approve_action(held.digest, "ada")
    Approval.objects.update(spent_at=clock.now())
    assert approvals.withdraw(held.digest, "grace") == 0
    assert Approval.objects.get().withdrawn_at is None


# --- a host ---------------------------------------------------------------------------------------------------


def test_it_writes_a_label_with_who_and_when_and_only_once() -> None:
    approvals.set_label(HOST, "reboot_requested", "ada")
    label = approvals.set_label(HOST, "reboot_requested", "grace")
    assert (label.by, label.host.address) == ("ada", HOST)
    assert list(ActionLog.objects.values_list("kind", "name", "reason")) == [("set_label", HOST, "reboot requested")]


def test_it_refuses_a_word_that_is_no_label() -> None:
    with pytest.raises(Refused, match="'broken' is no host label: use approved, reboot_requested and retired."):
        approvals.set_label(HOST, "broken", "ada")


def test_it_clears_a_label() -> None:
    approvals.set_label(HOST, "approved", "ada")
    assert approvals.clear_label(HOST, "approved", "grace") is True
    assert approvals.clear_label(HOST, "approved", "grace") is False
    assert not HostLabel.objects.exists() and ActionLog.objects.count() == 2


def test_it_ends_a_server_and_keeps_it() -> None:
    host = Host.objects.create(address=HOST)
    row = IntendedServer.objects.create(host=host, model="tiny", listen_port=8001, origin="admin", created_by="ada")
    assert approvals.end_server(row, "grace") is True
    assert approvals.end_server(row, "eve") is False
    row.refresh_from_db()
    assert row.ended_by == "grace" and row.ended_at is not None


def test_it_does_not_end_a_server_of_config_yaml() -> None:
    host = Host.objects.create(address=HOST)
    row = IntendedServer.objects.create(host=host, model="tiny", listen_port=8001, origin="config")
    with pytest.raises(Refused, match="tiny on 203.0.113.10:8001 is in config.yaml: take it out there."):
        approvals.end_server(row, "grace")


# --- afterwards -----------------------------------------------------------------------------------------------


def test_it_has_the_loop_take_up_what_was_decided(
    configured: None, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    fetching.fetch("intended", waking=False)
    box_asked(BOX)
    woken = lease.wanted()
    with django_capture_on_commit_callbacks(execute=True):
        approvals.approve_box(BOX, [("tiny", None)], "ada")
    intended = snapshots.latest("intended", Intended)
    assert intended is not None and lease.wanted() == woken + 1
    assert [(row.listen_port, row.origin) for row in intended.servers if row.host == BOX] == [(8001, "approval")]


def test_it_decides_although_the_files_are_wrong_at_this_moment(
    configured: None, settings: Settings, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    fetching.fetch("intended", waking=False)
    box_asked(BOX)
    settings.LLMAO_CONFIG.write_text("fleet: [")
    with django_capture_on_commit_callbacks(execute=True):
        approvals.approve_box(BOX, [("tiny", None)], "ada")
    assert len(servers()) == 1 and SourceState.objects.get(name="intended").failed_at is not None
