"""LiteLLM's error bodies as one line for an admin, without a secret in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from litellm_sync.parsing import Unparsable, parse

LENGTH = 300
HIDDEN = "•••"
#: Bodies hold their keys under these words; what stands there is hidden wherever LiteLLM repeats it.
_SECRET_NAME = re.compile(r"key|secret|token|password|credential|authorization", re.IGNORECASE)
_KEY_FORM = re.compile(r"\b(sk|rpa|hf|gsk)[-_][A-Za-z0-9_\-*.]{4,}|\bAIza[\w-]{8,}|bearer\W+\S+", re.IGNORECASE)
#: `api_key: …`, `"Authorization": "Basic …"`, `API key provided: …`; and, after a blank alone, what can be no word.
_NAMED = re.compile(
    r"""((?:api[-_ ]?key(?:\ provided)?|authorization)["']?\s*[:=]\s*["']?)"""
    r"""(?:(?:bearer|basic|digest|token)\s+)?[^\s"',;}]+"""
    r"""|((?:api[-_ ]?key|authorization)\s+)(?:bearer\s+|basic\s+)?(?=[^\s\d]*\d)\S{8,}""",
    re.IGNORECASE,
)
#: No database column for text and no page takes these: control characters, halves of surrogate pairs, and what turns
#: the direction of the text around it.
_CONTROLS = [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xE000)]
_UNPRINTABLE: dict[int, str | None] = {**dict.fromkeys(_CONTROLS), **dict.fromkeys(map(ord, "\t\n\r"), " ")}
_WRAPPED = re.compile(r"""^\{['"]error['"]:\s*(['"])(.*)\1\}$""", re.DOTALL)
_LOOKED_AT = 20_000  # characters; far more than a sentence, far less than a body can be
_SHORTEST = 4  # hiding "a" everywhere would hide the sentence


def said(status: int, body: bytes, secrets: Iterable[str] = (), *, who: str = "LiteLLM") -> str:
    """`LiteLLM answers 500: …`, at most LENGTH characters of its own words, on one line."""
    words = one_line(_words(body), secrets)
    return f"{who} answers {status}: {words}" if words else f"{who} answers {status} without a reason"


def one_line(text: str, secrets: Iterable[str] = ()) -> str:
    """The text up to a stack trace, on one line, secrets hidden; cut last, or half a secret would stay."""
    told = re.split(r"stack ?trace|Traceback \(most", text[:_LOOKED_AT], maxsplit=1)[0]
    return _cut(hide(" ".join(told.split()), secrets))


def hide(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without control characters, without the given secrets, and without what looks like a key."""
    text = printable(text)
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, HIDDEN)
    return _KEY_FORM.sub(HIDDEN, _NAMED.sub(lambda found: f"{found[1] or found[2]}{HIDDEN}", text))


def printable(text: str) -> str:
    """The text without control characters; a line break or a tab is a blank."""
    return text.translate(_UNPRINTABLE)


def secrets_in(value: Any, *, named: bool = False) -> Iterator[str]:
    """Every text in a body that stands under a name like `api_key`."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from secrets_in(each, named=named or _SECRET_NAME.search(str(name)) is not None)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from secrets_in(each, named=named)
    elif named and isinstance(value, str):
        yield value


def _cut(text: str) -> str:
    return text if len(text) <= LENGTH else text[: LENGTH - 1] + "…"


def _words(body: bytes) -> str:
    """What a body says: LiteLLM has four shapes for an error, a gateway has its own."""
    try:
        return _unwrapped(_message(parse(body, object)))
    except Unparsable as failure:
        return failure.message if failure.trouble == "page" else body[:2000].decode(errors="replace")


def _message(value: Any, depth: int = 4) -> str:
    """`{"error": {"message"}}`, `{"detail": {"error"}}`, `{"detail": [{"msg"}]}`, or text under one of these names."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "; ".join(filter(None, (_message(each, depth - 1) for each in value[:3] if depth)))
    if isinstance(value, dict) and depth:
        found = next((value[name] for name in ("error", "detail", "message", "msg") if value.get(name)), "")
        return _message(found, depth - 1)
    return ""


def _unwrapped(text: str) -> str:
    """LiteLLM puts some messages into the text of a Python dict: `{'error': 'Model with id=… not found in db'}`."""
    wrapped = _WRAPPED.match(text.strip())
    return wrapped.group(2) if wrapped else text
