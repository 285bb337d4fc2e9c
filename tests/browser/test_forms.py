"""The forms, with JavaScript and without: the same deeds, the same refusals."""

import pytest
from playwright.sync_api import Page, expect

from fleet.models import Approval, IntendedServer
from reconcile.view import Plan
from tests.fleet.builders import action, box_asked, know_models, store_pass, unknown_box

from .conftest import PASSWORD, OpenPage, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
BOX = "203.0.113.77"
both = pytest.mark.parametrize("javascript", [True, False], ids=["javascript", "plain"])


@pytest.fixture
def asking(people: None) -> None:
    know_models("qwen3-8b", "gemma4-26b")
    box_asked(BOX)
    store_pass(plan=Plan(actions=(action(),), items=(unknown_box(BOX),)))


def wanted() -> list[tuple[str, int, str]]:
    return list(IntendedServer.objects.values_list("model", "listen_port", "created_by"))


@both
def test_it_signs_in_and_out(people: None, open_page: OpenPage, javascript: bool) -> None:
    page = sign_in(open_page(java_script_enabled=javascript), "cora")
    expect(page.get_by_text("Nothing is known yet.")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/accounts/login/")
    page.goto("/models")
    expect(page.get_by_label("Password")).to_be_visible()


@both
def test_it_refuses_a_wrong_password_in_words(people: None, open_page: OpenPage, javascript: bool) -> None:
    page = open_page(java_script_enabled=javascript)
    page.goto("/models")
    page.get_by_label("Name").fill("cora")
    page.get_by_label("Password").fill(PASSWORD.upper())
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("do not match an account")
    expect(page.get_by_label("Name")).to_have_value("cora")


@both
def test_it_approves_an_unknown_box(asking: None, open_page: OpenPage, javascript: bool) -> None:
    page = sign_in(open_page(java_script_enabled=javascript), "ada")
    _fill(page, port="9001")
    page.get_by_role("button", name=f"Approve {BOX}").click()
    expect(page.get_by_text(f"Approved {BOX}: qwen3-8b on 9001, gemma4-26b on 8001.")).to_be_visible()
    expect(page.get_by_text("Set to run gemma4-26b on 8001 and qwen3-8b on 9001 by ada.")).to_be_visible()
    expect(page.get_by_text("Approve…")).to_have_count(0)
    assert sorted(wanted()) == [("gemma4-26b", 8001, "ada"), ("qwen3-8b", 9001, "ada")]


@both
def test_it_loses_nothing_of_a_form_that_is_refused(asking: None, open_page: OpenPage, javascript: bool) -> None:
    page = sign_in(open_page(java_script_enabled=javascript), "ada")
    _fill(page, port="80 01")
    page.get_by_role("button", name=f"Approve {BOX}").click()
    expect(page.get_by_text("Port '80 01' for qwen3-8b: type a number from 1 to 65535.")).to_be_visible()
    expect(page.get_by_label("Port for qwen3-8b")).to_have_value("80 01")
    page.get_by_label("Port for qwen3-8b").fill("8002")
    page.get_by_role("button", name=f"Approve {BOX}").click()
    expect(page.get_by_text(f"Approved {BOX}")).to_be_visible()
    assert sorted(wanted()) == [("gemma4-26b", 8001, "ada"), ("qwen3-8b", 8002, "ada")]


@both
def test_it_releases_a_held_action_and_takes_that_back(asking: None, open_page: OpenPage, javascript: bool) -> None:
    page = sign_in(open_page(java_script_enabled=javascript), "ada")
    page.get_by_role("button", name="Approve “Remove from LiteLLM” for").click()
    expect(page.get_by_text("Approved by ada")).to_be_visible()
    assert Approval.objects.get().withdrawn_at is None
    page.get_by_role("button", name="Withdraw the approval").click()
    expect(page.get_by_text("The approval is withdrawn.")).to_be_visible()
    expect(page.get_by_role("button", name="Approve “Remove from LiteLLM” for")).to_be_visible()
    assert Approval.objects.get().withdrawn_at is not None


@both
def test_it_offers_a_viewer_no_deed(asking: None, open_page: OpenPage, javascript: bool) -> None:
    page = sign_in(open_page(java_script_enabled=javascript), "vera")
    expect(page.get_by_text(BOX).first).to_be_visible()
    expect(page.locator("#work button, #work form")).to_have_count(0)


def test_it_refuses_a_form_whose_permission_was_taken_away(asking: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(), "ada")
    _fill(page, port="")
    _demote("ada")
    page.get_by_role("button", name=f"Approve {BOX}").click()
    expect(page.get_by_text("That was refused: reload the page.")).to_be_visible()
    assert wanted() == []


def test_it_refuses_in_words_without_javascript(asking: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(java_script_enabled=False), "ada")
    _fill(page, port="")
    _demote("ada")
    page.get_by_role("button", name=f"Approve {BOX}").click()
    expect(page.get_by_text("You may not approve a box")).to_be_visible()


def test_it_says_who_was_faster(asking: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(), "ada")
    _fill(page, port="")
    from fleet import approvals

    approvals.approve_box(BOX, [("gemma4-26b", 8005)], "grace")
    page.get_by_role("button", name=f"Approve {BOX}").click()
    expect(page.get_by_text(f"{BOX} is already set to run gemma4-26b on 8005 (by grace)")).to_be_visible()


def test_it_offers_a_plain_refresh_without_javascript(asking: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(java_script_enabled=False), "cora")
    store_pass()
    page.get_by_role("link", name="Refresh now").click()
    expect(page.get_by_role("heading", name="Models")).to_be_visible()


def _fill(page: Page, port: str) -> None:
    page.get_by_text("Approve…").click()
    for model in ("gemma4-26b", "qwen3-8b"):
        page.locator(f"input[name=model][value='{model}']").check()
    page.get_by_label("Port for qwen3-8b").fill(port)


def _demote(name: str) -> None:
    from django.contrib.auth.models import User

    User.objects.filter(username=name).update(is_superuser=False)
