"""Small builders: what a test does not care about has a value; what it cares about is seen in the test."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Permission, User
from django.test import Client

from fleet import clock, passes, snapshots
from fleet.models import BoxContact
from reconcile.identity import Key, address_url, deployment_id
from reconcile.inputs import Intended, Model
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

HOST = "203.0.113.10"
MODEL = "qwen3-8b"


def key(host: str = HOST, port: int = 8001, model: str = MODEL) -> Key:
    return Key(address_url(host, port), model)


def record(host: str = HOST, port: int = 8001, model: str = MODEL, **fields: Any) -> Record:
    """A healthy server whose row in LiteLLM is as it should be."""
    own = key(host, port, model)
    given = {
        "key": own,
        "name": f"{host}:{port}/{model}",
        "host": host,
        "listen_port": port,
        "model": model,
        "origin": "config",
        "dialable_url": address_url(host, port + 32000),
        "dialable_step": "listing",
        "probe": ProbeView(state="ok", at=clock.now() - 4, latency_ms=38.0, max_model_len=40960),
        "deployment": DeploymentView(id=deployment_id(own), api_base=address_url(host, port + 32000), state="ours"),
        "litellm_health": OpinionView(state="unknown"),
        "lifecycle": "Healthy",
        "reason": "answers and lists the model",
        "rule": "R06",
    }
    return Record(**{**given, **fields})


def model_view(name: str = MODEL, **fields: Any) -> ModelView:
    given = {
        "status": "Available",
        "sentence": "1 of 1 deployment serving",
        "privacy": "Private",
        "context": 40960,
        "healthy": 1,
        "total": 1,
    }
    return ModelView(name=name, **{**given, **fields})


def action(
    kind: str = "delete_litellm", status: str = "held", host: str = HOST, port: int = 8001, **fields: Any
) -> Action:
    own = key(host, port)
    given = {
        "kind": kind,
        "key": own,
        "name": f"{host}:{port}/{own.model}",
        "deployment_id": deployment_id(own),
        "reason": "LiteLLM still reaches it at 203.0.113.10:40001",
        "policy": "auto",
        "status": status,
        "digest": f"d1gest-{kind}-{host}-{port}",
        "cause": "health",
        "rule": "R46",
    }
    return Action(**{**given, **fields})


def unknown_box(host: str = "203.0.113.77") -> Item:
    return Item(
        kind="unknown_box",
        name=host,
        host=host,
        reason="presented the fleet key and nothing is assigned to it; asked 3 times, last 2 s ago",
        since=clock.now() - 20,
        rule="R64",
    )


def source(name: str = "vllm", **fields: Any) -> SourceView:
    taken_at = fields.pop("taken_at") if "taken_at" in fields else clock.now() - 3
    return SourceView(**{"name": name, "state": "fresh", "interval_s": 15.0, "taken_at": taken_at, **fields})


def store_pass(*, view: View | None = None, plan: Plan | None = None, age_s: float = 0.0) -> int:
    """Keep a pass that was decided `age_s` ago; returns its number."""
    return passes.store(clock.now() - age_s, view or View(), plan or Plan(), {}, 0.01)


def know_models(*names: str, commercial: tuple[str, ...] = ()) -> None:
    """Let the `intended` source have read these self-hosted models, and these commercial ones."""
    boxed = [Model(name=name, self_hosted=True, params={}, weights=f"Org/{name}") for name in names]
    bought = [Model(name=name, self_hosted=False, params={}) for name in commercial]
    snapshots.publish("intended", Intended(models=(*boxed, *bought)), clock.now())


def box_asked(host: str) -> BoxContact:
    """A box that nobody intended presented the fleet key."""
    now = clock.now()
    return BoxContact.objects.create(host=host, first_at=now - 20, last_at=now - 2, count=3, peer=host)


def person(name: str = "cora", *, staff: bool = False, may: tuple[str, ...] = ()) -> User:
    """Somebody who can sign in with the password "correct horse"; `may` names permissions of the fleet app."""
    user = User.objects.create_user(name, password="correct horse", is_staff=staff)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="fleet", codename__in=may))
    return user


def page_text(client: Client, **query: str) -> str:
    """The whole of `/models` as HTML."""
    response = client.get("/models", query)
    assert response.status_code == 200
    return response.content.decode()
