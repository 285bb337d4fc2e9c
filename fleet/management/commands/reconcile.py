"""Decide now, and write what is ready, until nothing is."""

from __future__ import annotations

from typing import Any

from fleet import cycle, passes
from fleet.management.stored import StoredCommand
from reconcile.words import count


class Command(StoredCommand):
    help = __doc__

    def handle(self, **_options: Any) -> None:
        rounds = cycle.run()
        shown = passes.latest()
        if not rounds or shown is None:
            self.stdout.write("Another process is deciding at this moment: it takes this up.")
            return
        writes, items = count(len(shown.plan.actions), "action"), count(len(shown.plan.items), "item")
        self.stdout.write(f"{count(rounds, 'pass', 'passes')}; pass {shown.id} has {writes} and {items}.")
