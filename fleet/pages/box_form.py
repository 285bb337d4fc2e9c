"""The Approve form of an unknown box: what was typed, and the form with it filled in again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from django.http import QueryDict

from fleet.approvals import LAST_PORT, Refused, Row
from reconcile.inputs import Model

PORT = "port:"  # a port field is named for its model, so that a changed models.yaml never moves what was typed


@dataclass(frozen=True)
class Typed:
    """One posted form: the models ticked, the ports as they were typed, and why it was refused."""

    host: str
    models: tuple[str, ...]
    ports: dict[str, str]
    errors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Choice:
    """`mark` tells this model's fields from any other's, in ids."""

    model: str
    hint: str
    mark: str
    chosen: bool = False
    port: str = ""


@dataclass(frozen=True)
class BoxForm:
    host: str
    mark: str
    choices: list[Choice]
    errors: tuple[str, ...] = ()


def read(posted: QueryDict) -> Typed:
    ports = {name.removeprefix(PORT): str(text).strip() for name, text in posted.items() if name.startswith(PORT)}
    return Typed(posted.get("host", "").strip(), tuple(posted.getlist("model")), ports)


def rows(typed: Typed) -> list[Row]:
    """The ticked models with their ports, None where none was typed. Raises Refused for a port that is no number."""
    ports = {model: typed.ports.get(model, "") for model in typed.models}
    wrong = [model for model, text in ports.items() if text and not (text.isascii() and text.isdigit())]
    if wrong:
        raise Refused(*(f"Port {ports[model]!r} for {model}: type a number from 1 to {LAST_PORT}." for model in wrong))
    return [(model, int(text[:9]) if text else None) for model, text in ports.items()]


def box_form(host: str, models: Iterable[Model], typed: Typed | None) -> BoxForm:
    """An empty form, or the refused one with everything that was typed."""
    own = typed if typed and typed.host == host else Typed(host, (), {})
    choices = [
        Choice(model.name, model.weights, mark(model.name), model.name in own.models, own.ports.get(model.name, ""))
        for model in models
    ]
    return BoxForm(host, mark(host), choices, own.errors)


def mark(text: str) -> str:
    """A short name for an id attribute: the same for the same text, whatever characters are in it."""
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()
