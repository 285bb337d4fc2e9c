"""Why one deployment is as it is. KEY is host:port, host:port/model or provider/model."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from fleet import clock, passes
from fleet.explain import explained, named, near_names
from fleet.management.commands.plan import NOTHING_YET
from reconcile.words import ago


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("key", metavar="KEY", help="host:port, host:port/model or provider/model")

    def handle(self, **options: Any) -> None:
        shown = passes.latest()
        if shown is None:
            raise CommandError(NOTHING_YET)
        records = named(shown.view, options["key"])
        if not records:
            near = near_names(shown.view, options["key"])
            hint = f"Did you mean {' or '.join(near)}?" if near else "There is none yet: name hosts in config.yaml."
            raise CommandError(f"No deployment is called {options['key']!r}. {hint}")
        now = clock.now()
        for record in records:
            self.stdout.write("\n".join([*explained(shown, record, now), ""]))
        self.stdout.write(f"From pass {shown.id}, {ago(shown.at, now)}.")
