"""The words of a scenario file: what was read, what is remembered, and what must be concluded.

A file is one scenario in an admin's words: servers as "203.0.113.10:8003 qwen3-8b", keys by the name that pages show
("203.0.113.10:8003/qwen3-8b", "acme/gpt-x"), addresses without "http://", ages in seconds. A word that is not named
here is an error. `then` holds later steps: the clock moves on by `after_s`, what a step states replaces what stood,
every other source is read again and says the same, and what happened once (a config fetch, LiteLLM's opinion, a
write) stays when it was. History carries over.

A file with `raw` in the place of `given` has the input of one pass field by field, as `manage.py replay --as-case`
writes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from reconcile.history import History
from reconcile.inputs import Snapshots
from reconcile.settings import Settings
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


class Raw(Words):
    """The input of one pass; a field that is left out has its default."""

    now: float
    settings: Settings
    history: History
    snapshots: Snapshots


class Scenario(Words):
    title: str
    table: tuple[str, ...]  # the rows or sections of the decision table it shows
    expect: Expected
    given: Given | UnsetType = UNSET
    raw: Raw | UnsetType = UNSET
    then: tuple[Step, ...] = ()

    def steps(self) -> tuple[Step, ...]:
        given = Given() if self.given is UNSET else self.given
        return (Step(after_s=0, given=given, expect=self.expect), *self.then)


def files() -> list[Path]:
    return sorted(CASES.glob("*.json"))


def read(text: bytes) -> Scenario:
    """Raises msgspec.ValidationError with the place of a word that is not known, ValueError for what cannot be."""
    scenario = msgspec.json.decode(text, type=Scenario)
    if (scenario.given is UNSET) == (scenario.raw is UNSET) or (scenario.raw is not UNSET and scenario.then):
        raise ValueError("a scenario has either given, with what comes then, or raw, which is one pass")
    if scenario.raw is not UNSET:
        _understood(msgspec.json.decode(text)["raw"], msgspec.to_builtins(scenario.raw, str_keys=True), "$.raw")
    return scenario


def _understood(written: Any, read: Any, place: str) -> None:
    """The structs of the decision ignore a field that they do not have; in a scenario it is a slip."""
    if isinstance(written, dict) and isinstance(read, dict):
        for name, value in written.items():
            if name not in read:
                raise ValueError(f"no input of a pass has {name!r} at {place}")
            _understood(value, read[name], f"{place}.{name}")
    elif isinstance(written, list) and isinstance(read, list | tuple):
        for number, (value, own) in enumerate(zip(written, read, strict=True)):
            _understood(value, own, f"{place}[{number}]")
