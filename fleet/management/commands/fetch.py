"""Read a source now, or all of them; the loop is woken by it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from fleet import fetching
from fleet.management.stored import StoredCommand
from fleet.models import SourceState
from fleet.sources import SOURCES


class Command(StoredCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("source", metavar="SOURCE", nargs="?", help=", ".join(SOURCES))
        which.add_argument("--all", action="store_true", help="every source, one after another")

    def handle(self, **options: Any) -> None:
        names = list(SOURCES) if options["all"] else [options["source"]]
        if unknown := [name for name in names if name not in SOURCES]:
            raise CommandError(f"{unknown[0]!r} is no source: use {', '.join(SOURCES)}.")
        failed = [name for name in names if not self._fetched(name, waking=name == names[-1])]
        if failed:
            raise CommandError(f"{', '.join(failed)} failed; the last good reading stands.")

    def _fetched(self, name: str, *, waking: bool) -> bool:
        good = fetching.fetch(name, waking=waking)
        state = SourceState.objects.get(name=name)
        said = "read" if good else f"failed: {state.error}"
        self.stdout.write(f"{name:<16}{said if state.configured else 'not configured'}")
        return good
