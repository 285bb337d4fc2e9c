"""Bodies as people may see them: a secret, and the keyed hash that stands for one, become a word."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

SECRET = "secret"  # noqa: S105 -- the word that is shown instead of one
CHANGED = "changed"
_HASHES = ("key_hash", "key_hashes")


@dataclass(frozen=True)
class Change:
    """One field of a write: dotted path, the text before and after, "" where the field is absent."""

    path: str
    before: str
    after: str


def redact(value: Any) -> Any:
    """The same JSON with `{"secret": hash}` and every `…key_hash` replaced by "secret"."""
    if _is_secret(value):
        return SECRET
    if isinstance(value, dict):
        return {key: SECRET if key.endswith(_HASHES) and inner else redact(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redact(inner) for inner in value]
    return value


def changes(before: dict[str, Any] | None, after: dict[str, Any] | None) -> list[Change]:
    """What a write changes, field by field, in order of path; a secret that differs is "changed"."""
    old, new = dict(_leaves(before or {})), dict(_leaves(after or {}))
    paths = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    return [_change(path, old, new) for path in paths]


def _change(path: str, old: dict[str, Any], new: dict[str, Any]) -> Change:
    both_secret = _is_secret(old.get(path)) and _is_secret(new.get(path))
    after = CHANGED if both_secret else _text(new, path)
    return Change(path, _text(old, path), after)


def _text(leaves: dict[str, Any], path: str) -> str:
    if path not in leaves:
        return ""
    shown = redact(leaves[path])
    return shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False, sort_keys=True)


def _leaves(body: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in body.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict) and value and not _is_secret(value):
            yield from _leaves(value, f"{path}.")
        else:
            yield path, value


def _is_secret(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"secret"}
