"""Answers from outside, parsed: one function, so that no hostile body gets past it as another exception."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec

T = TypeVar("T")
Trouble = Literal["empty", "page", "not_json", "shape"]


class Unparsable(Exception):
    """The body is not what was asked for. `message` completes "it answers with …"; `trouble` is for programs."""

    def __init__(self, trouble: Trouble, message: str) -> None:
        super().__init__(message)
        self.trouble = trouble
        self.message = message


def parse(body: bytes | msgspec.Raw, kind: type[T]) -> T:
    """The JSON body as `kind`, fields that `kind` does not name skipped. Raises Unparsable."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as failure:
        raise Unparsable("shape", f"JSON of another shape: {failure}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _named(bytes(body)) from None


def _named(body: bytes) -> Unparsable:
    start = body[:200].lstrip()
    if not start:
        return Unparsable("empty", "an empty body")
    if start.startswith(b"<"):
        return Unparsable("page", "a page (HTML)")
    return Unparsable("not_json", "something that is not JSON, or not all of it")


def text(value: Any) -> str | None:
    """Text without blanks around it, or a number as text; None for anything else and for blanks alone."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


def whole(value: Any) -> int | None:
    """A whole number, also as text or as 41234.0; None for anything else."""
    number = real(value)
    return int(number) if number is not None and number == int(number) else None


def real(value: Any) -> float | None:
    """A finite number, also as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None  # NaN compares false
