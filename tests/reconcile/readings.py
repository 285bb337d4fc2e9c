"""From a scenario's words to the bodies that the sources of llmao publish. `now` is the step's own clock."""

from __future__ import annotations

from typing import Any

from reconcile.identity import Key, deployment_id
from reconcile.inputs import (
    Attempt,
    Box,
    Boxes,
    Deployment,
    ListedModel,
    Model,
    Opinion,
    Probe,
    Probes,
    Sample,
    Samples,
    Served,
    ServedServer,
    UnknownBox,
)
from reconcile.probe import served_name
from reconcile.view import Action
from tests.reconcile.fleet_of_case import Fleet, heard, place_of, url
from tests.reconcile.given_words import (
    AttemptWords,
    ConfigWords,
    ListedWords,
    OpinionWords,
    ProbeWords,
    RowWords,
    UnknownWords,
)


def probes(fleet: Fleet, words: tuple[ProbeWords, ...], now: float) -> Probes:
    return Probes(probes=tuple(_probe(fleet, each, now) for each in words))


def _probe(fleet: Fleet, words: ProbeWords, now: float) -> Probe:
    at = now - words.age_s
    lists = words.says.startswith("lists ")
    answer = heard("ok" if lists else words.says)
    serves = (words.says.removeprefix("lists "),) if lists else words.serves
    listed = tuple(map(_listed, serves)) or tuple(map(_as_told, fleet.served(words.of)))
    facts = {"health_status": 200, "models_status": 200, "wrong_key_status": 401, "listed": listed, **answer}
    if facts["models_status"] != 200 or answer.get("failure"):
        facts["listed"] = ()
    answered_at = None if words.answered_s_ago is None else now - words.answered_s_ago
    return Probe(
        base=url(words.of),
        url=url(words.at or words.of),
        at=at,
        wrong_key_at=at,
        key_hash=f"key of {words.key}" if words.key else fleet.key_hash(words.of),
        last_answered_at=answered_at,
        **facts,
    )


def _listed(words: str | ListedWords) -> ListedModel:
    words = words if isinstance(words, ListedWords) else ListedWords(id=words)
    return ListedModel(id=words.id, root=words.root, parent=words.parent, max_model_len=words.max_model_len)


def _as_told(model: Model) -> ListedModel:
    """The row of a box that serves the model under the name it was told to."""
    return ListedModel(id=served_name(model), root=model.weights, max_model_len=model.max_model_len or 32768)


def row(fleet: Fleet, words: RowWords) -> Deployment:
    if not words.of:
        theirs = Deployment(id=words.id, name=words.name, model=words.model, api_base=words.api_base)
        return _changed(theirs, {"db_model": not words.config_file, "blocked": words.blocked, **words.changed})
    body = fleet.body(words.of, words.at, words.serving)
    params, info = body["litellm_params"], body["model_info"]
    ours = Deployment(
        id=words.id or info["id"],
        name=body["model_name"],
        model=params["model"],
        api_base=params["api_base"],
        llmao_key=info["llmao_key"],
        asf_api_base=info["asf_api_base"],
        llmao_body=info["llmao_body"],
        llmao_params=tuple(info["llmao_params"]),
        llmao_instance=info.get("llmao_instance"),
    )
    return _changed(ours, {"blocked": words.blocked, **words.changed})


def _changed(row: Deployment, fields: dict[str, Any]) -> Deployment:
    """The row after somebody changed it; a field that LiteLLM's rows do not have is an error."""
    unknown = set(fields) - set(Deployment.__struct_fields__)
    if unknown:
        raise ValueError(f"a row in LiteLLM has no {sorted(unknown)}: it has {list(Deployment.__struct_fields__)}")
    old = {name: getattr(row, name) for name in Deployment.__struct_fields__}
    return Deployment(**{**old, **fields})


def row_id(fleet: Fleet, name: str) -> str:
    """The id of the key's row; a name that is no key's is an id itself."""
    try:
        return deployment_id(fleet.key(name))
    except ValueError:
        return name


def opinion(fleet: Fleet, words: OpinionWords, now: float) -> Opinion:
    return Opinion(id=row_id(fleet, words.of), state=words.says, asked_at=now - words.age_s)  # type: ignore[arg-type]  # a wrong word fails the comparison


def attempt(fleet: Fleet, words: AttemptWords, planned: Action | None, now: float) -> Attempt:
    """A write of ours: of the body just planned for that key, else of the one that we would write."""
    sent_at = now - words.age_s
    pending = words.answer == "pending"
    answered_at = None if pending else now - (words.age_s if words.answered_age_s is None else words.answered_age_s)
    return Attempt(
        deployment_id=planned.deployment_id if planned else row_id(fleet, words.of),
        kind=words.kind,  # type: ignore[arg-type]  # as above
        key=planned.key if planned else fleet.key(words.of),
        digest=planned.digest if planned else "another digest",
        cause=planned.cause if planned else words.cause,
        after=planned.after if planned else _written(fleet, words),
        sent_at=sent_at,
        answer=words.answer,  # type: ignore[arg-type]  # as above
        answered_at=answered_at,
        detail=words.detail,
        refusals=words.refusals,
    )


def _written(fleet: Fleet, words: AttemptWords) -> dict[str, Any] | None:
    return fleet.body(words.of, words.at) if words.kind in ("add_litellm", "update_litellm") else None


def samples(words: dict[str, int], now: float) -> Samples:
    return Samples(samples=tuple(Sample(name=name, at=now - 1, kv_tokens=tokens) for name, tokens in words.items()))


def boxes(fleet: Fleet, fetches: tuple[ConfigWords, ...], unknown: tuple[UnknownWords, ...], now: float) -> Boxes:
    hosts = dict.fromkeys(each.host for each in fetches)
    return Boxes(
        boxes=tuple(_box(fleet, [each for each in fetches if each.host == host], now) for host in hosts),
        unknown=tuple(
            UnknownBox(host=each.host, first_at=now - each.first_age_s, last_at=now - each.last_age_s, count=each.count)
            for each in unknown
        ),
    )


def _box(fleet: Fleet, fetches: list[ConfigWords], now: float) -> Box:
    newest = min(fetches, key=_last_age_s)
    moved = newest.peer_changed_s_ago
    return Box(
        host=newest.host,
        seen_at=now - _last_age_s(newest),
        peer=newest.peer,
        previous_peer=newest.previous_peer,
        peer_changed_at=None if moved is None else now - moved,
        served=tuple(_served(fleet, each, now) for each in fetches),
    )


def _last_age_s(words: ConfigWords) -> float:
    return words.first_age_s if words.last_age_s is None else words.last_age_s


def _served(fleet: Fleet, words: ConfigWords, now: float) -> Served:
    own = [f"{each.listen_port} {each.model}" for each in fleet.servers if each.host == words.host]
    told = words.servers if words.servers is not None else own
    return Served(
        revision=words.revision,
        first_at=now - words.first_age_s,
        last_at=now - _last_age_s(words),
        servers=tuple(ServedServer(listen_port=int(each.split()[0]), model=each.split()[1]) for each in told),
    )


def key_of(fleet: Fleet, name: str) -> Key:
    """The key of a name, which must be one that the scenario intends."""
    key = fleet.key(name)
    known = {Key(url(place_of(each)), each.model) for each in fleet.servers}
    if key not in known and fleet.bought(name) is None:
        raise ValueError(f"{name!r} is not among this scenario's servers and models")
    return key
