"""The words of a scenario file: what was read, what is remembered, and what must be concluded.

A file is one scenario in an admin's words: servers as "203.0.113.10:8003 qwen3-8b", keys by the name that pages show
("203.0.113.10:8003/qwen3-8b", "acme/gpt-x"), addresses without "http://", ages in seconds. A word that is not named
here is an error. `then` holds later steps: the clock moves on by `after_s`, what a step states replaces what stood,
every other source is read again and says the same, and what happened once (a config fetch, LiteLLM's opinion, a
write) stays when it was. History carries over.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from tests.reconcile.expected_words import Expected
from tests.reconcile.given_words import Given, Words

CASES = Path(__file__).parent / "cases"
NOW = 1_000_000.0  # of the first step


class Step(Words):
    """`restart`: llmao was restarted before this step, so only who placed which host is still known."""

    after_s: float
    restart: bool = False
    given: Given = msgspec.field(default_factory=Given)
    expect: Expected = msgspec.field(default_factory=Expected)


class Scenario(Words):
    title: str
    table: tuple[str, ...]  # the rows or sections of the decision table it shows
    given: Given
    expect: Expected
    then: tuple[Step, ...] = ()

    def steps(self) -> tuple[Step, ...]:
        return (Step(after_s=0, given=self.given, expect=self.expect), *self.then)


def files() -> list[Path]:
    return sorted(CASES.glob("*.json"))


def read(text: bytes) -> Scenario:
    """Raises msgspec.ValidationError with the place of a word that is not known."""
    return msgspec.json.decode(text, type=Scenario)
