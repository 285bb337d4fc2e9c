"""What llmao would do, from the newest pass.

Exits 0 when there is no action, 2 when one is ready, settling or backing off, 3 when what is left waits: held, for a
person, parked or only observed. Attention items do not count.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError, CommandParser

from fleet import clock, passes
from fleet.columns import columns, titled
from fleet.management.stored import StoredCommand
from fleet.pages.words import STATUS
from fleet.passes import Shown
from fleet.redact import changes
from fleet.reports import DIGEST_SHOWN, exit_code, plan_report, sources_report
from reconcile.view import Action
from reconcile.words import age, ago

NOTHING_YET = "No pass has run yet: `manage.py reconcile` runs one now."


class Command(StoredCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="for scripts")

    def handle(self, **options: Any) -> None:
        self.say_mistakes()
        shown = passes.latest()
        if shown is None:
            raise CommandError(NOTHING_YET)
        now = clock.now()
        if options["json"]:
            self.stdout.write(json.dumps(plan_report(shown, now), indent=2))
        else:
            self.stdout.write("\n".join(_text(shown, now)))
        sys.exit(exit_code(shown.plan))


def _text(shown: Shown, now: float) -> Iterator[str]:
    plan = shown.plan
    yield f"Pass {shown.id}, {ago(shown.at, now)}, mode {plan.mode}"
    yield from titled("Sources", columns(_sources(shown, now)))
    yield ""
    yield f"Actions ({len(plan.actions)})" if plan.actions else "Actions: none"
    for action in plan.actions:
        yield from _action(action, now)
    yield from titled("Items", columns((item.kind.replace("_", " "), item.name, item.reason) for item in plan.items))


def _sources(shown: Shown, now: float) -> Iterator[tuple[str, str, str, str]]:
    for name, source in sources_report(shown, now).items():
        read = f"{age(source['age_s'])} ago" if source["age_s"] is not None else ""
        yield name, source["state"], read, source["error"]


def _action(action: Action, now: float) -> Iterator[str]:
    again = f", next try in {age(action.next_try - now)}" if action.next_try is not None else ""
    status = STATUS[action.status].text.lower()
    yield f"  {status:<14}  {action.kind}  {action.name}{again}  [{action.digest[:DIGEST_SHOWN]}]"
    yield f"                  {action.reason}"
    for change in changes(action.before, action.after):
        yield f"                  {change.path}: {change.before or '–'} → {change.after or '–'}"
