"""Why one deployment is as it is. KEY is host:port, host:port/model or provider/model."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from fleet import clock, passes
from fleet.explain import explained, named, near_names
from fleet.host_notes import host_in, retired, waiting
from fleet.management.commands.plan import NOTHING_YET
from fleet.management.commands.replay import pass_number
from fleet.management.stored import StoredCommand
from fleet.models import Pass
from fleet.passes import Shown
from reconcile.view import View
from reconcile.words import ago


class Command(StoredCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("key", metavar="KEY", help="host:port, host:port/model or provider/model")
        parser.add_argument("--pass", dest="number", metavar="N", help="as pass N saw it; without it, the newest")

    def handle(self, **options: Any) -> None:
        self.say_mistakes()
        shown = _shown(options["number"])
        records = named(shown.view, options["key"])
        at = shown.at if options["number"] else clock.now()
        notes = [] if options["number"] else _notes(options["key"], at, waits=not records)
        if not records and not notes:
            raise CommandError(_unknown(shown.view, options["key"]))
        for note in notes:
            self.stdout.write(note)
        for record in records:
            self.stdout.write("\n".join([*explained(shown, record, at), ""]))
        told = "; ages count to it" if options["number"] else ""
        self.stdout.write(f"From pass {shown.id}, {ago(shown.at, clock.now())}{told}.")


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


def _shown(number: str | None) -> Shown:
    shown = passes.numbered(pass_number(number)) if number else passes.latest()
    if shown is not None:
        return shown
    newest = Pass.objects.values_list("id", flat=True).first()
    if number is None or newest is None:
        raise CommandError(NOTHING_YET)
    raise CommandError(f"Pass {number} is not stored. {_near(int(number))}")


def _near(number: int) -> str:
    below = Pass.objects.filter(id__lt=number).order_by("-id").values_list("id", flat=True).first()
    above = Pass.objects.filter(id__gt=number).order_by("id").values_list("id", flat=True).first()
    return f"The nearest that are: {' and '.join(str(each) for each in (below, above) if each is not None)}."
