"""One row a public model, for every signed-in person: no host, port or provider in it."""

from __future__ import annotations

from dataclasses import dataclass

from fleet.pages.words import MODEL, PRIVACY, Word
from reconcile.view import ModelView, View
from reconcile.words import count

_ORDER = list(MODEL)
UNKNOWN = "unknown"


@dataclass(frozen=True)
class ModelRow:
    """`context` and `concurrency` are sentences, "unknown" where nothing was measured."""

    name: str
    display_name: str
    status: Word
    sentence: str
    privacy: Word
    context: str
    concurrency: str


def model_rows(view: View) -> list[ModelRow]:
    """Every model, the usable ones first, otherwise in the view's order."""
    return [_row(model) for model in sorted(view.models, key=lambda model: _ORDER.index(model.status))]


def _row(model: ModelView) -> ModelRow:
    return ModelRow(
        name=model.name,
        display_name=str(model.shown.get("display_name") or model.name),
        status=MODEL[model.status],
        sentence=model.sentence,
        privacy=PRIVACY[model.privacy],
        context=UNKNOWN if model.context is None else f"{model.context:,} tokens",
        concurrency=_concurrency(model.concurrency),
    )


def _concurrency(requests: int | None) -> str:
    return UNKNOWN if requests is None else f"up to {count(requests, 'full-context request')}"
