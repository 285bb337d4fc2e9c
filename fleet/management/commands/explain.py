"""Why one deployment is as it is. KEY is host:port, host:port/model or provider/model."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from fleet import clock, passes
from fleet.explain import explained, named, near_names
from fleet.host_notes import host_in, retired, waiting
from fleet.management.commands.plan import NOTHING_YET
from fleet.management.stored import StoredCommand
from reconcile.view import View
from reconcile.words import ago


class Command(StoredCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("key", metavar="KEY", help="host:port, host:port/model or provider/model")

    def handle(self, **options: Any) -> None:
        self.say_mistakes()
        shown = passes.latest()
        if shown is None:
            raise CommandError(NOTHING_YET)
        records, now = named(shown.view, options["key"]), clock.now()
        notes = _notes(options["key"], now, waits=not records)
        if not records and not notes:
            raise CommandError(_unknown(shown.view, options["key"]))
        for note in notes:
            self.stdout.write(note)
        for record in records:
            self.stdout.write("\n".join([*explained(shown, record, now), ""]))
        self.stdout.write(f"From pass {shown.id}, {ago(shown.at, now)}.")


def _notes(key: str, now: float, *, waits: bool) -> list[str]:
    """What is to be said of the host in KEY besides its deployments."""
    host = host_in(key)
    if not host:
        return []
    said = retired(host, now)
    return [said] if said else [each for each in [waiting(host, now)] if each and waits]


def _unknown(view: View, key: str) -> str:
    near = near_names(view, key)
    hint = f"Did you mean {' or '.join(near)}?" if near else "There is none yet: name hosts in config.yaml."
    return f"No deployment is called {key!r}. {hint}"
