"""Models as callers see them: can I use it, how much of it, does my prompt leave our machines."""

from __future__ import annotations

from collections.abc import Iterable

from reconcile.identity import Key
from reconcile.inputs import Deployment, Model
from reconcile.join import Joined
from reconcile.lifecycle import Verdict
from reconcile.matching import is_ours
from reconcile.view import ModelStatus, ModelView, Privacy
from reconcile.words import count
from reconcile.world import World, index


def models(world: World, keys: list[tuple[Joined, Verdict]], unclaimed: Iterable[Deployment]) -> tuple[ModelView, ...]:
    """One roll-up per name of models.yaml, by name. Of several rows of one name the self-hosted one is shown."""
    by_name = index(keys, lambda each: each[0].key.model)
    strangers = index(unclaimed, lambda row: row.name)
    seen: dict[str, Model] = {}
    for model in sorted(world.intended.models, key=_shown_first):
        seen.setdefault(model.name, model)
    return tuple(_rolled(world, model, by_name.get(name, []), strangers.get(name, [])) for name, model in seen.items())


def _shown_first(model: Model) -> tuple[str, bool, str]:
    return model.name, not model.self_hosted, str(model.params.get("api_base"))


def _rolled(world: World, model: Model, keys: list[tuple[Joined, Verdict]], strangers: list[Deployment]) -> ModelView:
    healthy = [joined for joined, verdict in keys if verdict.lifecycle == "Healthy" and _fresh(joined)]
    unhealthy = [joined for joined, verdict in keys if verdict.lifecycle == "Unhealthy" and _fresh(joined)]
    status: ModelStatus = "Unavailable" if not healthy else "Degraded" if unhealthy else "Available"
    contexts = [context for joined in healthy if (context := _context(joined)) is not None]
    return ModelView(
        name=model.name,
        status=status,
        sentence=_sentence(len(healthy), len(unhealthy), len(keys)),
        privacy=_privacy(world, model, keys, strangers),
        context=min(contexts, default=None),
        healthy=len(healthy),
        total=len(keys),
        shown=model.shown,
    )


def _fresh(joined: Joined) -> bool:
    """Whether the signal that drives the verdict is fresh: the probe of a box, LiteLLM's word on a provider."""
    return joined.read if joined.server else joined.opinion is not None


def _context(joined: Joined) -> int | None:
    if joined.server and joined.probe.max_model_len is not None:
        return joined.probe.max_model_len
    model = joined.model
    return (model.max_model_len or model.context_window) if model else None


def _sentence(healthy: int, unhealthy: int, total: int) -> str:
    if total == 0:
        return "nothing runs it"
    if healthy == 0:
        return f"{count(total, 'deployment')}, none serving now"
    sick = f", {unhealthy} not answering" if unhealthy else ""
    return f"{healthy} of {count(total, 'deployment')} serving{sick}"


def _privacy(world: World, model: Model, keys: list[tuple[Joined, Verdict]], strangers: list[Deployment]) -> Privacy:
    """Over all rows that LiteLLM lists under the name, ours or not; without any, over what is intended."""
    if not world.counts("deployments"):
        return "Unknown"
    own = {row.id for joined, _ in keys if joined.server for row in _rows(joined)}
    away = {row.id for joined, _ in keys if not joined.server for row in _rows(joined)}
    away |= {row.id for row in strangers if row.id not in own}
    if not own and not away:
        own = {key.url for key in _intended(keys, boxes=True)}
        away = {key.url for key in _intended(keys, boxes=False)}
    if own and away:
        return "Mixed"
    return "External" if away else "Private" if own or model.self_hosted else "External"


def _rows(joined: Joined) -> list[Deployment]:
    """The listed rows under the key's name that are known to lead to it."""
    return [row for row in (*joined.ours, *joined.foreign) if row.name == joined.key.model or is_ours(row)]


def _intended(keys: list[tuple[Joined, Verdict]], *, boxes: bool) -> list[Key]:
    return [joined.key for joined, _ in keys if bool(joined.server) is boxes]
