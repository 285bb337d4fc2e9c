"""The commands that do something: approve, fetch, reconcile."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command, load_command_class

from fleet import lease, passes, snapshots
from fleet.models import ActionLog, Approval, IntendedServer, SourceState
from reconcile.inputs import Intended
from reconcile.view import Plan, View

from .builders import HOST, action, person, record, store_pass

pytestmark = pytest.mark.django_db
SECRET = {"secret": "a1" * 16}


def run(*args: str) -> str:
    """What a command prints."""
    out = StringIO()
    call_command(*args, stdout=out)
    return out.getvalue()


def refusal(*args: str) -> str:
    with pytest.raises(CommandError) as refused:
        call_command(*args, stdout=StringIO())
    return str(refused.value)


# --- approve --------------------------------------------------------------------------------------------------


def test_it_approves_as_a_person_who_may() -> None:
    person("otto", staff=True, may=("add_approval",))
    held = action()
    store_pass(plan=Plan(actions=(held,)))
    text = run("approve", held.digest[:12], "--user", "otto")
    assert text == f"Approved by otto: delete_litellm {held.name}.\n"
    assert (Approval.objects.get().digest, Approval.objects.get().by) == (held.digest, "otto")


def test_it_notes_the_shell_without_a_user() -> None:
    held = action()
    store_pass(plan=Plan(actions=(held,)))
    run("approve", held.digest)
    assert ActionLog.objects.get().by.startswith("shell: ")


def test_it_refuses_to_approve_as_nobody_or_as_somebody_who_may_not() -> None:
    person("vera", staff=True)
    held = action()
    store_pass(plan=Plan(actions=(held,)))
    assert "There is no active user 'eve'" in refusal("approve", held.digest, "--user", "eve")
    assert "vera may not approve an action" in refusal("approve", held.digest, "--user", "vera")
    assert not Approval.objects.exists()


def test_it_refuses_a_digest_of_no_action_of_several_or_too_short() -> None:
    store_pass(plan=Plan(actions=(action(digest="abcdefgh1"), action(digest="abcdefgh2"))))
    assert "No action abcdefghx is in the newest plan" in refusal("approve", "abcdefghx")
    assert refusal("approve", "abcdefgh") == "2 actions have a digest that begins with abcdefgh: type more of it."
    assert refusal("approve", "abcdefg") == (
        "'abcdefg' is too short: type 8 or more characters of the digest, as `manage.py plan` shows it."
    )


def test_it_says_in_its_help_how_much_of_a_digest_it_takes() -> None:
    text = load_command_class("fleet", "approve").create_parser("manage.py", "approve").format_help()
    assert "8 or more characters of it" in text


def test_it_takes_what_plan_and_explain_show_of_a_digest() -> None:
    held = action(digest="0123456789abcdef" * 4)
    store_pass(view=View(records=(record(),)), plan=Plan(actions=(held,)))
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("plan", stdout=out)
    assert "[0123456789ab]" in out.getvalue() and "digest 0123456789ab\n" in run("explain", f"{HOST}:8001")
    run("approve", "01234567")
    assert Approval.objects.get().digest == held.digest


# --- fetch and reconcile --------------------------------------------------------------------------------------


def test_it_reads_one_source_and_wakes_the_loop(configured: None) -> None:
    woken = lease.wanted()
    assert run("fetch", "intended") == "intended        read\n"
    intended = snapshots.latest("intended", Intended)
    assert intended is not None and intended.servers[0].model == "tiny"
    assert IntendedServer.objects.get().origin == "config"
    assert lease.wanted() == woken + 1


def test_it_reads_all_sources_and_names_those_that_fail(configured: None) -> None:
    out = StringIO()
    with pytest.raises(CommandError, match="deployments.* failed; the last good reading stands."):
        call_command("fetch", "--all", stdout=out)
    lines = dict(line.split(maxsplit=1) for line in out.getvalue().splitlines())
    assert lines["intended"] == lines["boxes"] == "read"
    assert lines["vast"] == "not configured"
    assert lines["deployments"].startswith("failed: ")
    assert SourceState.objects.get(name="deployments").error in out.getvalue()


def test_it_refuses_a_source_that_is_none() -> None:
    assert refusal("fetch", "vats").startswith("'vats' is no source: use intended, boxes, vast,")


def test_it_wants_a_source_or_all() -> None:
    assert "one of the arguments SOURCE --all is required" in refusal("fetch")


def test_it_runs_a_pass_now(configured: None) -> None:
    run("fetch", "intended")
    text = run("reconcile")
    shown = passes.latest()
    assert shown is not None and text == f"1 pass; pass {shown.id} has 0 actions and 0 items.\n"
    assert [each.name for each in shown.view.records] == [f"{HOST}:8003/tiny"]


def test_it_leaves_a_pass_to_the_process_that_is_at_it(configured: None) -> None:
    held = lease.take("")
    assert held is not None
    assert run("reconcile") == "Another process is deciding at this moment: it takes this up.\n"
    assert passes.latest() is None
