"""The page that refreshes itself: new passes come in, nothing that somebody is at is disturbed, losses are told."""

import re

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from reconcile.view import Plan, View
from tests.fleet.builders import box_asked, know_models, model_view, record, store_pass, unknown_box

from .conftest import OpenPage, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
BOX, OTHER = "203.0.113.77", "198.51.100.23"


@pytest.fixture
def asking(people: None) -> None:
    know_models("qwen3-8b", "gemma4-26b")
    box_asked(BOX)
    box_asked(OTHER)
    store_pass(view=View(models=(model_view(),)), plan=Plan(items=(unknown_box(BOX),)))


def remember(page: Page) -> None:
    """Leave something in the page that a reload would lose."""
    page.evaluate("window.kept = true")


def reloaded(page: Page) -> bool:
    return page.evaluate("window.kept") is not True


def half_typed(page: Page) -> None:
    page.get_by_text("Approve…").first.click()
    page.locator("input[value='gemma4-26b']").check()
    page.get_by_label("Port for gemma4-26b").fill("90")


def test_it_shows_a_new_pass_without_a_reload(asking: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(), "cora")
    remember(page)
    store_pass(view=View(models=(model_view(), model_view("newcomer"))))
    expect(page.get_by_role("heading", name="newcomer")).to_be_visible()
    assert not reloaded(page)


def test_it_keeps_a_half_typed_form_open_and_focused_over_a_refresh(asking: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(), "ada")
    half_typed(page)
    box = unknown_box(OTHER)
    store_pass(plan=Plan(items=(box, unknown_box(BOX))))
    expect(page.get_by_text(f"What should {OTHER} run?")).to_be_attached()
    page.keyboard.type("01")
    port = page.locator(f"[id='box-{BOX}']").get_by_label("Port for gemma4-26b")
    expect(port).to_have_value("9001")
    expect(port).to_be_focused()
    expect(page.locator(f"[id='box-{BOX}'] input[value='gemma4-26b']")).to_be_checked()


def test_it_keeps_what_was_typed_when_a_model_is_added_above(asking: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(), "ada")
    half_typed(page)
    know_models("a-new-one", "qwen3-8b", "gemma4-26b")
    store_pass(plan=Plan(items=(unknown_box(BOX),)))
    expect(page.get_by_label("Port for a-new-one")).to_be_visible()
    expect(page.get_by_label("Port for a-new-one")).to_have_value("")
    expect(page.get_by_label("Port for gemma4-26b")).to_have_value("90")
    expect(page.locator("input[value='gemma4-26b']")).to_be_checked()


def test_it_keeps_a_refusal_and_what_was_typed_over_a_refresh(asking: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(), "ada")
    half_typed(page)
    page.get_by_label("Port for gemma4-26b").fill("99999")
    page.get_by_role("button", name=f"Approve {BOX}").click()
    says = page.get_by_text("Port 99999 for gemma4-26b: type a number from 1 to 65535.")
    expect(says).to_be_visible()
    store_pass(view=View(models=(model_view("newcomer"),)), plan=Plan(items=(unknown_box(BOX),)))
    expect(page.get_by_role("heading", name="newcomer")).to_be_visible()
    expect(says).to_be_visible()
    expect(page.get_by_label("Port for gemma4-26b")).to_have_value("99999")


def test_it_sends_nothing_for_an_unchanged_page(asking: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(), "vera")
    for _ in range(2):
        with page.expect_response("**/models/live*") as unchanged:
            pass
        assert unchanged.value.status == 204


def test_it_lets_ages_tick_and_gives_the_exact_time(asking: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(), "vera")
    age = page.locator("#work time.age").first
    before = _seconds(age.inner_text())
    with page.expect_response("**/models/live*"), page.expect_response("**/models/live*"):
        pass  # an unchanged page must not set the clock back
    page.wait_for_function(f"parseInt(document.querySelector('#work time.age').textContent) >= {before + 5}")
    expect(age).to_have_attribute("title", re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$"))


def test_it_says_that_the_connection_is_lost_and_when_it_is_back(asking: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(), "cora")
    page.context.set_offline(True)
    expect(page.get_by_text("The connection to llmao is lost")).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_text("The connection to llmao is lost")).to_be_hidden()


def test_it_says_that_the_loop_has_stopped_when_no_pass_comes(asking: None, open_page: OpenPage) -> None:
    store_pass(age_s=118)
    page = sign_in(open_page(), "cora")
    expect(page.get_by_text("The loop has not run for a while")).to_be_visible()


def test_it_goes_to_the_sign_in_when_the_session_ends(asking: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(), "cora")
    Session.objects.all().delete()
    page.wait_for_url("**/accounts/login/?next=/models")
    expect(page.get_by_label("Password")).to_be_visible()


def test_it_counts_what_is_needed_in_the_title(asking: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(), "vera")
    expect(page).to_have_title("(1) Models · llmao")
    store_pass()
    expect(page).to_have_title("Models · llmao")
    expect(page.get_by_text("Nothing needs you.")).to_be_visible()


def test_it_copies_the_id_of_a_model(asking: None, open_page: OpenPage) -> None:
    page = sign_in(open_page(permissions=["clipboard-read", "clipboard-write"]), "cora")
    page.get_by_role("button", name="Copy the id qwen3-8b").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "qwen3-8b"


def test_it_stays_on_the_second_page_of_deployments(asking: None, open_page: OpenPage) -> None:
    records = tuple(record(port=port) for port in range(1, 131))
    store_pass(view=View(records=records))
    page = sign_in(open_page(), "vera")
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_text("101–130 of 130")).to_be_visible()
    store_pass(view=View(records=records, models=(model_view("newcomer"),)))
    expect(page.get_by_role("heading", name="newcomer")).to_be_visible()
    expect(page.get_by_text("101–130 of 130")).to_be_visible()


def _seconds(age: str) -> int:
    return int(age.removesuffix(" s ago"))
