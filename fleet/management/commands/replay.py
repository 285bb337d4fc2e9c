"""Decide a stored pass again and say whether the answer is the same: exit status 0 when it is, 1 when it is not, 2
when the pass cannot be replayed.

PASS is its number; without one, the newest that changed something. With --as-case it becomes a scenario file of the
tests, with every address, secret's hash, label and instance id replaced.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from fleet import cases, passes, replays
from fleet.columns import columns
from fleet.differences import differences
from fleet.models import Replay
from fleet.replays import NotKept, PassInput
from reconcile.decide import Decision
from reconcile.words import count

CASES = Path(settings.BASE_DIR) / "tests" / "reconcile" / "cases"
MOST_LINES = 20
SAME, OTHERWISE, IMPOSSIBLE = 0, 1, 2


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("number", metavar="PASS", nargs="?", help="its number; without it, the newest stored one")
        parser.add_argument("--as-case", metavar="NAME", help="write it as NAME.json, such as R10-dead-in-june")
        parser.add_argument("--to", metavar="FOLDER", type=Path, default=CASES, help=f"where to, default {CASES}")

    def handle(self, **options: Any) -> None:
        number = _number(options["number"])
        try:
            given = replays.load(number)
        except NotKept as why:
            raise CommandError(why.message, returncode=IMPOSSIBLE) from why
        if options["as_case"]:
            self._write_case(options["as_case"], options["to"], given)
            return
        decision = given.decide()
        same = replays.answer_of(decision) == Replay.objects.get(pass_id=number).answer
        self.stdout.write("\n".join(_same(number, decision) if same else _otherwise(number, decision)))
        sys.exit(SAME if same else OTHERWISE)

    def _write_case(self, name: str, folder: Path, given: PassInput) -> None:
        try:
            path, lost = cases.write(name, folder, given)
        except cases.CannotWrite as why:
            raise CommandError(why.message, returncode=IMPOSSIBLE) from why
        self.stdout.write(f"Wrote {path}.")
        for line in lost:
            self.stderr.write(f"Look at it before you keep it: with its names replaced it decides otherwise of {line}.")


def pass_number(text: str) -> int:
    """Raises CommandError for what is no number of a pass."""
    if not text.isascii() or not text.isdecimal():
        raise CommandError(f"{text!r} is no pass: write its number, as in 12.", returncode=IMPOSSIBLE)
    return int(text)


def _number(text: str | None) -> int:
    number = pass_number(text) if text is not None else replays.newest()
    if number is None:
        raise CommandError("No pass can be replayed yet: one is kept when it changes something.", returncode=IMPOSSIBLE)
    return number


def _same(number: int, decision: Decision) -> list[str]:
    actions, items = count(len(decision.plan.actions), "action"), count(len(decision.plan.items), "item")
    return [f"Pass {number} decides the same: {count(len(decision.view.records), 'record')}, {actions}, {items}."]


def _otherwise(number: int, decision: Decision) -> list[str]:
    shown = passes.numbered(number)
    if shown is None:
        return [f"Pass {number} decides otherwise now; its answer is no longer stored, so how is not known."]
    found = differences((shown.view, shown.plan), (decision.view, decision.plan))
    if not found:
        return [f"Pass {number} decides otherwise now, but only in sentences, readings shown, or what it remembers."]
    more = [f"  … and {len(found) - MOST_LINES} more"] if len(found) > MOST_LINES else []
    return [f"Pass {number} decides otherwise now (then → now):", *columns(found[:MOST_LINES]), *more]
