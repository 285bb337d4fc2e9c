"""What a probe says of one model (decision-table B)."""

from __future__ import annotations

from reconcile.inputs import ListedModel, Model, Probe
from reconcile.view import ProbeState, ProbeView
from reconcile.words import listed as spoken

REFUSED = 401  # what vLLM answers to a key that is not its own
NOT_REACHED = {
    "refused": "connection refused",
    "reset": "connection reset",
    "timeout": "timeout",
    "unreachable": "unreachable",
}
NOT_VLLM = {
    "page": "a page, not vLLM",
    "not_json": "/v1/models is not JSON: not vLLM",
    "too_large": "the answer is too large: not vLLM",
    "redirect": "it redirects elsewhere: not vLLM",
}


def served_name(model: Model) -> str:
    """What follows the first slash of litellm_params.model: the name that a box is told to serve."""
    return str(model.params.get("model", "")).partition("/")[2]


def served_row(probe: Probe, model: Model) -> ListedModel | None:
    """The listed row that is this model: the served name, else the weights by id, else by root without a parent."""
    named = served_name(model)
    weights = model.weights
    rows = [
        row
        for row in probe.listed
        if row.id in (named, weights) or (weights and row.root == weights and row.parent is None)
    ]
    return min(rows, key=lambda row: (row.id != named, row.id), default=None)


def judge(probe: Probe, model: Model | None, *, open_allowed: bool) -> ProbeView:
    """The verdict on a fresh probe of today's dialable URL. `model` is None when models.yaml has no such name."""
    row = served_row(probe, model) if model else None
    state, detail = _state(probe, model, row, open_allowed)
    return ProbeView(
        state=state,
        detail=detail,
        at=probe.at,
        url=probe.url,
        latency_ms=probe.latency_ms,
        served_id=row.id if row else "",
        max_model_len=row.max_model_len if row else None,
    )


def _state(probe: Probe, model: Model | None, row: ListedModel | None, open_allowed: bool) -> tuple[ProbeState, str]:
    trouble = _not_answering(probe) or _not_serving(probe)
    if trouble:
        return trouble
    if probe.wrong_key_status == 200 and not open_allowed:
        return "open", "it takes any key: anyone can use it; is it ours?"
    if row is None:
        return "not_ok", _other_models(probe, model)
    if probe.wrong_key_status != REFUSED and not open_allowed:
        return "not_ok", _unclear_key(probe.wrong_key_status)
    return "ok", ""


def _not_answering(probe: Probe) -> tuple[ProbeState, str] | None:
    if probe.health_status is None and probe.failure in NOT_REACHED:
        return "unreached", NOT_REACHED[probe.failure]
    if probe.failure in NOT_VLLM:
        return "not_ok", NOT_VLLM[probe.failure]
    if probe.health_status != 200:
        return "not_ok", f"/health answers {probe.health_status}"
    return None


def _not_serving(probe: Probe) -> tuple[ProbeState, str] | None:
    if probe.models_status is None:
        return "not_ok", f"/health answers 200 but /v1/models does not: {NOT_REACHED.get(probe.failure, 'no answer')}"
    if probe.models_status == REFUSED:
        return "not_ok", "the box runs with another key"
    if probe.models_status != 200:
        return "not_ok", f"/v1/models answers {probe.models_status}"
    return None


def _other_models(probe: Probe, model: Model | None) -> str:
    if model is None:
        return "models.yaml has no such self-hosted model"
    names = sorted({row.id for row in probe.listed})
    return f"it serves {spoken(names)}, not {served_name(model) or model.name}"


def _unclear_key(status: int | None) -> str:
    if status is None:
        return "not yet seen to refuse a wrong key"
    return f"a wrong key is answered {status}, not 401"
