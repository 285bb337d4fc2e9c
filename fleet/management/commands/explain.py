"""Why one deployment is as it is. KEY is host:port, host:port/model or provider/model."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from fleet import clock, passes
from fleet.explain import explained, named, near_names
from fleet.management.commands.plan import NOTHING_YET
from fleet.management.commands.replay import pass_number
from fleet.models import Pass
from fleet.passes import Shown
from reconcile.words import ago


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("key", metavar="KEY", help="host:port, host:port/model or provider/model")
        parser.add_argument("--pass", dest="number", metavar="N", help="as pass N saw it; without it, the newest")

    def handle(self, **options: Any) -> None:
        shown = _shown(options["number"])
        records = named(shown.view, options["key"])
        if not records:
            near = near_names(shown.view, options["key"])
            hint = f"Did you mean {' or '.join(near)}?" if near else "There is none yet: name hosts in config.yaml."
            raise CommandError(f"No deployment is called {options['key']!r}. {hint}")
        at = shown.at if options["number"] else clock.now()
        for record in records:
            self.stdout.write("\n".join([*explained(shown, record, at), ""]))
        told = "; ages count to it" if options["number"] else ""
        self.stdout.write(f"From pass {shown.id}, {ago(shown.at, clock.now())}{told}.")


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
