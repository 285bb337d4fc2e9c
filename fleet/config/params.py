"""`litellm_params` of one model: what LiteLLM is given, with every secret in it told apart."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any

import yaml

from fleet.config import secret_source, section
from fleet.config.field import Field

# LiteLLM's own list, from `litellm.provider_list` of the version that requirements-litellm.txt pins.
PROVIDERS = frozenset((Path(__file__).parent / "litellm_providers.txt").read_text(encoding="ascii").split())
BOX_PREFIX = "hosted_vllm"
NO_WILDCARD = "* stands for many models, and LiteLLM lists such a row under each of their names: write a row for each"
_SECRET_WORDS = frozenset(
    ("key", "apikey", "secret", "token", "password", "passwd", "credential", "credentials", "authorization", "auth",
     "cookie", "bearer", "headers")
)  # fmt: skip


def read(field: Field | None, *, self_hosted: bool, missing: Field) -> dict[str, Any]:
    """The parameters, secrets as `Secret`. `model` is always there, perhaps empty; `missing` is blamed for absence."""
    entries = field.entries("litellm_params: {model: hosted_vllm/qwen3-8b}") if field else {}
    if "model" not in entries:
        (field or missing).wrong("litellm_params.model is missing: write it like hosted_vllm/qwen3-8b")
    _check_base(entries, field or missing, self_hosted=self_hosted)
    params = {name: _value(name, each) for name, each in entries.items() if name not in ("model", "api_base")}
    if base := entries.get("api_base"):
        params["api_base"] = "" if self_hosted else section.url(base) or ""
    return {"model": _model(entries.get("model"), self_hosted=self_hosted), **params}


def is_secret_name(name: str) -> bool:
    """Whether a parameter's text is kept from sight by its name alone."""
    return not _SECRET_WORDS.isdisjoint(re.split(r"[^a-z]+", name.lower()))


def _check_base(entries: dict[str, Field], row: Field, *, self_hosted: bool) -> None:
    for name in ("api_base", "api_key"):
        if self_hosted and name in entries:
            entries[name].wrong(f"a self-hosted model has no {name}: llmao fills it in for each box; remove it")
    if not self_hosted and "api_base" not in entries:
        row.wrong("a commercial row needs litellm_params.api_base, as in https://api.example.com/v1")


def _model(field: Field | None, *, self_hosted: bool) -> str:
    text = (field.text("a provider and a name, as in hosted_vllm/qwen3-8b") if field else None) or ""
    provider, slash, name = text.partition("/")
    if field is None or not text:
        return ""
    if slash and not name and provider in PROVIDERS:
        field.wrong(f"{text!r} names a provider and no model: write it like openai/gpt-5-mini")
    elif not slash or not name or provider not in PROVIDERS:
        field.wrong(f"{text!r} has no provider that LiteLLM knows: {_like(text, self_hosted=self_hosted)}")
    elif self_hosted and provider != BOX_PREFIX:
        field.wrong(f"a box is reached by {BOX_PREFIX}/, not {provider}/: write {BOX_PREFIX}/{name}")
    elif "*" in name:
        field.wrong(NO_WILDCARD)
    return text


def _like(text: str, *, self_hosted: bool) -> str:
    provider, _, name = text.partition("/")
    if self_hosted or not name:
        return f"write it like {BOX_PREFIX if self_hosted else 'openai'}/{text}"
    near = difflib.get_close_matches(provider, PROVIDERS, n=1, cutoff=0.5)
    return f"did you mean {near[0]}/{name}?" if near else f"write it like openai/{text}"


def _value(name: str, field: Field, *, hidden: bool = False) -> Any:
    hidden = hidden or is_secret_name(name)
    if secret_source.names_a_secret(field.node) or name == "api_key":
        return field.secret(one_line=name == "api_key")
    if isinstance(field.node, yaml.MappingNode):
        return _mapping(field, hidden=hidden)
    if isinstance(field.node, yaml.SequenceNode):
        return [_value(name, item, hidden=hidden) for item in field.items("[…]")]
    return field.secret(one_line=False) if hidden and field.kind == "text" else field.data()


def _mapping(field: Field, *, hidden: bool) -> dict[str, Any]:
    entries = field.entries("{name: value}")
    if set(entries) == {"secret"}:
        field.wrong("a mapping with the one key `secret` cannot be told from a hidden value: rename the key")
    return {name: _value(name, each, hidden=hidden) for name, each in entries.items()}
