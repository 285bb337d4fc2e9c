"""The forms of `/models`: what they do, whom they refuse, and that nothing typed is lost."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fleet import approvals
from fleet.models import ActionLog, Approval, Attempt, IntendedServer
from reconcile.view import Plan, View

from .builders import (
    HOST,
    action,
    box_asked,
    know_models,
    page_text,
    person,
    record,
    store_pass,
    unknown_box,
)

pytestmark = pytest.mark.django_db
BOX = "203.0.113.77"
HTMX = {"HX-Request": "true"}


# --- approving a box ------------------------------------------------------------------------------------------


@pytest.fixture
def asking(db: None) -> None:
    know_models("qwen3-8b", "gemma4-26b")
    box_asked(BOX)
    store_pass(plan=Plan(items=(unknown_box(BOX),)))


def test_it_approves_a_box_and_redirects(admin: Client, asking: None) -> None:
    given = {"host": BOX, "model": ["gemma4-26b", "qwen3-8b"], "port:gemma4-26b": "", "port:qwen3-8b": "9001"}
    response = admin.post("/models/approve-box", given, follow=True)
    assert response.redirect_chain == [("/models", 302)]
    page = response.content.decode()
    assert f"Approved {BOX}: gemma4-26b on 8001, qwen3-8b on 9001." in page
    assert "Set to run gemma4-26b on 8001 and qwen3-8b on 9001 by ada." in page and "Approve…" not in page
    assert [row.created_by for row in IntendedServer.objects.all()] == ["ada", "ada"]


def test_it_answers_htmx_with_the_fragment(admin: Client, asking: None) -> None:
    response = admin.post("/models/approve-box", {"host": BOX, "model": "qwen3-8b"}, headers=HTMX)
    page = response.content.decode()
    assert response.status_code == 200 and "<html" not in page
    assert 'id="messages"' in page and "hx-swap-oob" in page and f"Approved {BOX}" in page


def test_it_loses_nothing_of_a_refused_form(admin: Client, asking: None) -> None:
    given = {"host": BOX, "model": "qwen3-8b", "port:qwen3-8b": "99999", "port:gemma4-26b": "8007"}
    response = admin.post("/models/approve-box", given)
    page = response.content.decode()
    assert response.status_code == 422
    assert "<li>Port 99999 for qwen3-8b: type a number from 1 to 65535.</li>" in page
    assert 'value="99999"' in page and 'value="8007"' in page
    assert 'value="qwen3-8b" checked' in page and 'value="gemma4-26b" checked' not in page
    assert '<details id="approve-' in page and " open>" in page
    assert not IntendedServer.objects.exists()


def test_it_gives_htmx_only_the_reasons_of_a_refused_form(admin: Client, asking: None) -> None:
    given = {"host": BOX, "model": "qwen3-8b", "port:qwen3-8b": "eighty"}
    response = admin.post("/models/approve-box", given, headers=HTMX)
    assert (response.status_code, response["HX-Reswap"]) == (422, "outerHTML")
    page = response.content.decode()
    assert f'id="{response["HX-Retarget"].removeprefix("#")}"' in page
    assert "Port &#x27;eighty&#x27; for qwen3-8b: type a number from 1 to 65535." in page and "<form" not in page


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_it_says_so_when_the_box_is_no_longer_unknown(admin: Client, asking: None, headers: dict[str, str]) -> None:
    approvals.approve_box(BOX, [("gemma4-26b", None)], "grace")
    response = admin.post("/models/approve-box", {"host": BOX, "model": "qwen3-8b"}, headers=headers)
    assert response.status_code == 422
    assert f"Not done: {BOX} is already set to run gemma4-26b on 8001 (by grace)" in response.content.decode()


def test_it_shows_a_viewer_no_button_and_refuses_the_form(viewer: Client, asking: None) -> None:
    assert BOX in page_text(viewer) and "Approve" not in page_text(viewer)
    response = viewer.post("/models/approve-box", {"host": BOX, "model": "qwen3-8b"})
    assert response.status_code == 403
    assert (
        "You may not approve a box: ask an admin for the permission fleet.add_intendedserver."
        in response.content.decode()
    )
    assert not IntendedServer.objects.exists()


def test_it_lets_staff_with_the_permission_approve(client: Client, asking: None) -> None:
    client.force_login(person("otto", staff=True, may=("add_intendedserver",)))
    assert "Approve…" in page_text(client)
    client.post("/models/approve-box", {"host": BOX, "model": "qwen3-8b"})
    assert IntendedServer.objects.get().created_by == "otto"


def test_it_refuses_a_caller_who_has_the_permission_but_is_not_staff(client: Client, asking: None) -> None:
    client.force_login(person("cora", may=("add_intendedserver",)))
    assert client.post("/models/approve-box", {"host": BOX, "model": "qwen3-8b"}).status_code == 403


@pytest.mark.parametrize("path", ["approve-box", "approve/abc", "withdraw/abc", "retry/abc"])
def test_it_decides_nothing_on_a_get_or_without_a_token(path: str) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.create_superuser("ada"))
    assert strict.get(f"/models/{path}").status_code == 405
    refused = strict.post(f"/models/{path}", {"host": BOX, "model": "qwen3-8b"})
    assert refused.status_code == 403 and b"nothing was changed" in refused.content


# --- approving an action --------------------------------------------------------------------------------------


def test_it_approves_an_action_and_offers_to_withdraw_it(admin: Client) -> None:
    held = action()
    store_pass(plan=Plan(actions=(held,)))
    assert f'action="/models/approve/{held.digest}"' in page_text(admin)
    page = admin.post(f"/models/approve/{held.digest}", follow=True).content.decode()
    assert f"Approved for {held.name}." in page and "Approved by ada" in page
    assert f'action="/models/withdraw/{held.digest}"' in page and f'action="/models/approve/{held.digest}"' not in page
    page = admin.post(f"/models/withdraw/{held.digest}", follow=True).content.decode()
    assert "The approval is withdrawn." in page and f'action="/models/approve/{held.digest}"' in page


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_it_says_why_an_action_cannot_be_approved_any_more(admin: Client, headers: dict[str, str]) -> None:
    store_pass()
    response = admin.post("/models/approve/gone", follow=True, headers=headers)
    assert "Not done: No action gone is in the newest plan" in response.content.decode()
    assert not Approval.objects.exists()


def test_it_says_that_there_is_nothing_to_withdraw(admin: Client) -> None:
    page = admin.post("/models/withdraw/gone", follow=True).content.decode()
    assert "There is no approval left to withdraw" in page


@pytest.mark.parametrize("deed", ["approve", "withdraw", "retry"])
def test_it_refuses_a_viewer_to_release_or_hold(viewer: Client, deed: str) -> None:
    held = action()
    store_pass(plan=Plan(actions=(held,)))
    assert "<button" not in page_text(viewer).partition('id="work"')[2].partition("</section>")[0]
    assert viewer.post(f"/models/{deed}/{held.digest}").status_code == 403


@pytest.mark.parametrize("status", ["parked", "observed", "ready", "backing_off", "settling"])
def test_it_shows_no_button_that_would_refuse(admin: Client, status: str) -> None:
    store_pass(plan=Plan(actions=(action(status=status),)))
    assert "/models/approve/" not in page_text(admin)


def test_it_stays_on_the_page_of_the_table_that_was_open(admin: Client) -> None:
    held = action()
    records = tuple(record(port=port) for port in range(1, 151))
    store_pass(view=View(records=records), plan=Plan(actions=(held,)))
    response = admin.post(f"/models/approve/{held.digest}", {"page": "2"}, headers=HTMX)
    assert f"{HOST}:150<" in response.content.decode()


def test_it_retries_a_parked_write(admin: Client) -> None:
    parked = action("add_litellm", "parked", digest="parked-1")
    Attempt.objects.create(
        deployment_id=parked.deployment_id,
        kind="add_litellm",
        key_url=parked.key.url,
        key_model=parked.key.model,
        digest=parked.digest,
        sent_at=1.0,
        answer="refused",
        refusals=5,
    )
    store_pass(plan=Plan(actions=(parked,)))
    assert b"Retry" in admin.get("/models").content
    answer = admin.post("/models/retry/parked-1", follow=True)
    assert b"its refusals are forgotten" in answer.content
    assert Attempt.objects.get().refusals == 0
    assert ActionLog.objects.get(kind="retry").by == "ada"


def test_it_retries_nothing_that_is_not_parked(admin: Client) -> None:
    store_pass(plan=Plan(actions=(action("add_litellm", "ready", digest="ready-1"),)))
    assert b"it is not parked, its status is ready" in admin.post("/models/retry/ready-1", follow=True).content
    assert b"No such write is planned now" in admin.post("/models/retry/nobody", follow=True).content
