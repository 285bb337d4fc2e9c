"""Every deployment and model, as the newest pass saw them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError, CommandParser

from fleet import clock, passes
from fleet.columns import columns, titled
from fleet.management.commands.plan import NOTHING_YET
from fleet.management.stored import StoredCommand
from fleet.pages.deployments import sync_words
from fleet.pages.words import PROBE
from fleet.passes import Shown
from fleet.reports import view_report
from reconcile.words import ago, listed


class Command(StoredCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="for scripts")

    def handle(self, **options: Any) -> None:
        self.say_mistakes()
        shown = passes.latest()
        if shown is None:
            raise CommandError(NOTHING_YET)
        if options["json"]:
            self.stdout.write(json.dumps(view_report(shown), indent=2))
        else:
            self.stdout.write("\n".join(_text(shown, clock.now())))


def _text(shown: Shown, now: float) -> Iterator[str]:
    yield f"Pass {shown.id}, {ago(shown.at, now)}"
    yield from titled("Deployments", columns(_deployments(shown, now)))
    yield from titled("Models", columns(_models(shown)))


def _deployments(shown: Shown, now: float) -> Iterator[tuple[str, ...]]:
    for record in shown.view.records:
        sync = listed([word.text for word in sync_words(record)])
        probe = PROBE[record.probe.state].text
        probe = f"probe {probe} {ago(record.probe.at, now)}" if record.probe.at else probe
        yield record.name, record.lifecycle, sync, probe, record.reason


def _models(shown: Shown) -> Iterator[tuple[str, ...]]:
    for model in shown.view.models:
        context = "context unknown" if model.context is None else f"context {model.context}"
        room = "room unknown" if model.concurrency is None else f"room for {model.concurrency}"
        yield model.name, model.status, model.privacy, context, room, model.sentence
