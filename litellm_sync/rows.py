"""`GET /model/info`, read: only the fields that we own or show.

A row is about 8 KB, most of it a cost map; what is not named here is skipped while parsing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import msgspec

from litellm_sync.parsing import Unparsable, parse, text
from reconcile.inputs import Deployment

_NOTHING = msgspec.Raw(b"{}")


class _Params(msgspec.Struct):
    model: Any = None
    api_base: Any = None


class _Info(msgspec.Struct):
    id: Any = None
    db_model: Any = None
    blocked: Any = None
    llmao_key: Any = None
    asf_api_base: Any = None
    llmao_body: Any = None
    llmao_params: Any = None
    llmao_instance: Any = None


class _Row(msgspec.Struct):
    model_name: Any = None
    litellm_params: msgspec.Raw = _NOTHING
    model_info: msgspec.Raw = _NOTHING


class _Listing(msgspec.Struct):
    data: list[_Row]


Part = TypeVar("Part", _Params, _Info)


def deployments(body: bytes) -> tuple[Deployment, ...]:
    """Every deployment in the body, in its order. Raises Unparsable for anything but a whole, well-formed list; what
    a row holds is never a reason: one stranger's row must not hide all others."""
    return _one_an_id([_deployment(place, row) for place, row in enumerate(parse(body, _Listing).data)])


def _deployment(place: int, row: _Row) -> Deployment:
    params, info = _part(row.litellm_params, _Params), _part(row.model_info, _Info)
    identifier = _as_it_is(info.id)
    return Deployment(
        id=identifier or f"(row {place + 1} without an id)",
        name=_as_it_is(row.model_name),
        model=_as_it_is(params.model),
        api_base=_address(text(params.api_base)),
        # A row without an id cannot be named in a write: it counts as one of the config file.
        db_model=bool(identifier) and info.db_model not in (False, "false", "False"),
        blocked=info.blocked in (True, "true", "True"),
        llmao_key=text(info.llmao_key),
        asf_api_base=text(info.asf_api_base),
        llmao_body=text(info.llmao_body),
        llmao_params=_names(info.llmao_params),
        llmao_instance=text(info.llmao_instance),
    )


def _part(raw: msgspec.Raw, kind: type[Part]) -> Part:
    """A sub-object, or an empty one where something else stands: another's row may look as it likes."""
    try:
        return parse(raw, kind)
    except Unparsable:
        return kind()


def _as_it_is(value: Any) -> str:
    """Text as LiteLLM compares it, blanks and all, or a number as text; "" for anything else."""
    return value if isinstance(value, str) else text(value) or ""


def _address(url: str | None) -> str | None:
    """An api_base without what may be a secret in it: user and password, and the query."""
    if url is None or not ("@" in url or "?" in url):
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _names(value: Any) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _one_an_id(listed: Iterable[Deployment]) -> tuple[Deployment, ...]:
    """LiteLLM lists one row several times: under each alias of its group (`router_settings.model_group_alias`), and
    once for each model that a wildcard row ("openai/*") can serve. The first is the row; an alias is kept beside it
    as a row of the config file (it can serve callers under that name, and nothing can be written to it), under an id
    of its own; of a wildcard's many names the first in the alphabet is kept."""
    groups: dict[str, list[Deployment]] = {}
    for row in listed:
        groups.setdefault(row.id, []).append(row)
    return tuple(row for rows in groups.values() for row in _distinct(rows))


def _distinct(rows: list[Deployment]) -> list[Deployment]:
    first = rows[0]
    if len({row.model for row in rows}) > 1:
        return [min(rows, key=lambda row: row.name)]
    aliases = dict.fromkeys(row.name for row in rows if row.name != first.name)
    return [first, *(_alias(first, name) for name in aliases)]


def _alias(row: Deployment, name: str) -> Deployment:
    return Deployment(
        id=f"{row.id}@{name}", name=name, model=row.model, api_base=row.api_base, db_model=False, blocked=row.blocked
    )
