"""`/models` for everyone: signing in, and what a caller may see."""

import pytest
from django.test import Client

from reconcile.identity import Key
from reconcile.view import DeploymentView, Item, OpinionView, Plan, ProbeView, View

from .builders import (
    HOST,
    action,
    box_asked,
    know_models,
    model_view,
    page_text,
    person,
    record,
    source,
    store_pass,
    unknown_box,
)

pytestmark = pytest.mark.django_db
BOX = "203.0.113.77"
HTMX = {"HX-Request": "true"}
EVIL = '<script>alert("x")</script>'


# --- signing in -----------------------------------------------------------------------------------------------


def test_it_asks_for_a_sign_in(client: Client) -> None:
    response = client.get("/models")
    assert (response.status_code, response["Location"]) == (302, "/accounts/login/?next=/models")
    page = client.get(response["Location"]).content.decode()
    assert 'name="username"' in page and 'name="password"' in page and 'value="/models"' in page


def test_it_signs_in_and_out(client: Client) -> None:
    person("cora")
    given = {"username": "cora", "password": "correct horse", "next": "/models"}
    assert client.post("/accounts/login/", given)["Location"] == "/models"
    assert client.get("/models").status_code == 200
    client.post("/accounts/logout/")
    assert client.get("/models").status_code == 302


def test_it_says_what_was_wrong_with_a_sign_in_and_keeps_the_name(client: Client) -> None:
    response = client.post("/accounts/login/", {"username": "cora", "password": "wrong", "next": "/models"})
    page = response.content.decode()
    assert "do not match an account" in page and 'value="cora"' in page and "wrong" not in page


def test_it_sends_the_whole_page_to_the_sign_in_when_a_refresh_finds_the_session_over(client: Client) -> None:
    response = client.get("/models/live", headers=HTMX)
    assert response["HX-Redirect"] == "/accounts/login/?next=/models"
    assert b"password" not in response.content


def test_it_sends_a_form_of_an_old_session_to_the_sign_in_as_well(client: Client) -> None:
    assert "HX-Redirect" in client.post("/models/approve-box", {"host": BOX}, headers=HTMX)
    assert client.post("/models/approve-box", {"host": BOX})["Location"] == "/accounts/login/?next=/models"


# --- for everyone ---------------------------------------------------------------------------------------------


def test_it_shows_every_model_with_what_a_caller_asks(caller: Client) -> None:
    shown = {"display_name": "Qwen3 8B"}
    store_pass(view=View(models=(model_view("qwen3-8b", shown=shown, context=131072, concurrency=12),)))
    page = page_text(caller)
    for said in (
        "Qwen3 8B", "<code>qwen3-8b</code>", "Available", "1 of 1 deployment serving", "131,072 tokens",
        "up to 12 full-context requests", "Prompts stay on machines that we run.",
    ):  # fmt: skip
        assert said in page


def test_it_says_unknown_for_what_was_not_measured(caller: Client) -> None:
    store_pass(view=View(models=(model_view(context=None, concurrency=None),)))
    assert page_text(caller).count("<dd>unknown</dd>") == 2


@pytest.mark.parametrize(
    ("privacy", "says"),
    [
        ("External", "Prompts leave our machines"),
        ("Mixed", "treat every prompt as leaving our machines"),
        ("Unknown", "not known yet: treat them as leaving our machines"),
    ],
)
def test_it_says_in_plain_words_where_prompts_go(caller: Client, privacy: str, says: str) -> None:
    store_pass(view=View(models=(model_view(privacy=privacy),)))
    assert says in page_text(caller)


def test_it_puts_unavailable_models_last(caller: Client) -> None:
    models = (model_view("gone", status="Unavailable"), model_view("half", status="Degraded"), model_view("fine"))
    store_pass(view=View(models=models))
    page = page_text(caller)
    assert page.index("<code>fine</code>") < page.index("<code>half</code>") < page.index("<code>gone</code>")


def test_it_shows_a_caller_no_host_port_address_or_provider(caller: Client) -> None:
    commercial = record(
        host="", provider="anthropic", key=Key("https://api.example.org", "claude"), name="anthropic/claude"
    )
    store_pass(
        view=View(
            records=(record(), commercial),
            models=(model_view(shown={"provider": "vast", "display_name": "Qwen3"}),),
            sources=(source("vast", error="vast said no"),),
        ),
        plan=Plan(actions=(action(),), items=(unknown_box(BOX),)),
    )
    for page in (page_text(caller), caller.get("/models/live", headers=HTMX).content.decode()):
        for hidden in (HOST, BOX, "8001", "40001", "anthropic", "vast", "Work needed", "Deployments", "Sources"):
            assert hidden not in page


def test_it_is_useful_before_the_first_pass(caller: Client) -> None:
    page = page_text(caller)
    assert "Nothing is known yet." in page and "manage.py" not in page


def test_it_tells_staff_what_to_do_when_no_pass_comes(viewer: Client) -> None:
    assert "manage.py reconcile" in page_text(viewer)


def test_it_says_that_the_loop_has_stopped(caller: Client) -> None:
    store_pass(age_s=30)
    assert '<p id="late" class="banner" hidden>' in page_text(caller)
    store_pass(age_s=600)
    assert '<p id="late" class="banner" >' in page_text(caller)


def test_it_escapes_what_comes_from_outside(admin: Client) -> None:
    box_asked(BOX)
    know_models(EVIL)
    hostile = record(
        name=EVIL, model=EVIL, label=EVIL, reason=EVIL, provider=EVIL, skew=(EVIL,),
        probe=ProbeView(state="not_ok", detail=EVIL), litellm_health=OpinionView(state="down", detail=EVIL),
        deployment=DeploymentView(id=EVIL, api_base=EVIL, state="ours", differing=(EVIL,)),
    )  # fmt: skip
    store_pass(
        view=View(
            records=(hostile,),
            models=(model_view(EVIL, sentence=EVIL, shown={"display_name": EVIL}),),
            sources=(source(EVIL, state="failed", error=EVIL),),
        ),
        plan=Plan(
            actions=(action(name=EVIL, reason=EVIL, after={EVIL: EVIL}),),
            items=(unknown_box(BOX), Item(kind=EVIL, name=EVIL, reason=EVIL)),
        ),
    )
    page = page_text(admin)
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    assert "<script>alert" not in admin.get("/models/live", headers=HTMX).content.decode()
