"""The refresh of `/models`: when it sends something, and what it costs."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from fleet import approvals
from reconcile.view import Plan, View

from .builders import (
    HOST,
    action,
    know_models,
    model_view,
    page_text,
    record,
    store_pass,
    unknown_box,
)

pytestmark = pytest.mark.django_db
BOX = "203.0.113.77"
HTMX = {"HX-Request": "true"}


def test_it_sends_nothing_when_the_page_has_it_already(viewer: Client) -> None:
    store_pass()
    seen = viewer.get("/models").context["live"].version
    response = viewer.get("/models/live", {"seen": seen}, headers=HTMX)
    assert (response.status_code, response.content) == (204, b"")


def test_it_sends_the_fragment_once_a_new_pass_or_a_decision_is_there(viewer: Client) -> None:
    store_pass()
    seen = viewer.get("/models").context["live"].version
    store_pass(view=View(models=(model_view("newcomer"),)))
    fresh = viewer.get("/models/live", {"seen": seen}, headers=HTMX)
    assert fresh.status_code == 200 and b"newcomer" in fresh.content and b"<html" not in fresh.content
    approvals.set_label(HOST, "approved", "grace")
    assert viewer.get("/models/live", {"seen": fresh.context["live"].version}, headers=HTMX).status_code == 200


def test_it_costs_one_query_beside_the_session_when_nothing_changed(viewer: Client) -> None:
    store_pass()
    seen = viewer.get("/models").context["live"].version
    with CaptureQueriesContext(
        connection,
    ) as queries:
        viewer.get("/models/live", {"seen": seen}, headers=HTMX)
    asked = [
        query["sql"] for query in queries if "django_session" not in query["sql"] and "auth_user" not in query["sql"]
    ]
    assert len(asked) == 1


def test_it_asks_as_much_for_one_deployment_as_for_a_thousand(viewer: Client) -> None:
    def queries(deployments: int) -> int:
        records = tuple(record(port=port) for port in range(1, deployments + 1))
        writes = tuple(action(port=port) for port in range(1, deployments + 1))
        boxes = tuple(unknown_box(f"198.51.100.{each % 250}") for each in range(deployments))
        store_pass(view=View(records=records), plan=Plan(actions=writes, items=boxes))
        with CaptureQueriesContext(connection) as asked:
            page_text(viewer)
        return len(asked)

    know_models("qwen3-8b")
    assert queries(1) == queries(1000)
