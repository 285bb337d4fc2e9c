"""Prints a digest of what is decided in each scenario and some worlds: `python -m tests.reconcile.digests`.

Two processes must print the same, whatever their hash seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from tests.reconcile.scenario import files
from tests.reconcile.stage import Turn, play, played
from tests.reconcile.worlds import world

WORLDS = 40


def digests() -> Iterator[str]:
    """One line a scenario: its name and the SHA-256 of every decision in it, byte for byte."""
    for path in files():
        yield f"{path.stem} {_digest(played(path))}"
    for number in range(WORLDS):
        yield f"world-{number} {_digest(play(world(number)))}"


def _digest(turns: list[Turn]) -> str:
    return hashlib.sha256(b"\n".join(msgspec.json.encode(turn.decision) for turn in turns)).hexdigest()


if __name__ == "__main__":
    print("\n".join(digests()))
