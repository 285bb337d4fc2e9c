"""How long an API asks to be left alone: `RateLimit: "minute";r=0;t=12, "hour";r=2800;t=1812` and `Retry-After`."""

from __future__ import annotations

from collections.abc import Iterator
from email.utils import parsedate_to_datetime

from litellm_sync.http import Answer
from litellm_sync.parsing import real, text

UNTOLD_S = 60.0  # a 429 that does not say how long
MOST_S = 24 * 3600.0  # whatever is said: a typing error must not blind us for a year


def wait_s(answer: Answer, now: float) -> float:
    """Seconds until the next request may be sent: of the longest window that is used up (`r` requests left, `t`
    seconds to go), and of Retry-After on a refusal; 0 when nothing stands in the way. `now` is for a Retry-After that
    is a date, where the answer has none of its own."""
    waits = [*_used_up(answer), *_retry_after(answer, now)]
    if answer.status == 429 and not waits:
        waits = [UNTOLD_S]
    return min(MOST_S, max(waits, default=0.0))


def _used_up(answer: Answer) -> Iterator[float]:
    lines = [value for name, value in answer.headers.items() if name.lower() == "ratelimit"]
    for window in ",".join(lines).split(","):
        said = dict(_pair(part) for part in window.split(";"))
        left, seconds = real(said.get("r")), real(said.get("t"))
        if left is not None and left <= 0 and seconds is not None and seconds > 0:
            yield seconds


def _pair(part: str) -> tuple[str, str]:
    name, _, value = part.partition("=")
    return name.strip().lower(), value.strip()


def _retry_after(answer: Answer, now: float) -> Iterator[float]:
    said = text(answer.headers.get("Retry-After")) if answer.status >= 400 else None
    if said is None:
        return
    seconds = real(said)
    if seconds is None:
        seconds = _date(said, 0.0) - _date(answer.headers.get("Date"), now)
    if seconds > 0:
        yield seconds


def _date(value: str | None, otherwise: float) -> float:
    try:
        return parsedate_to_datetime(value).timestamp() if value else otherwise
    except (ValueError, OverflowError):
        return otherwise
