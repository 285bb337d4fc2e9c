"""`manage.py ready [PART…]`: /readyz for a container that serves no web page."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from fleet import health
from fleet.management.stored import MIGRATE_FIRST, StoredCommand, unmigrated


class Command(StoredCommand):
    """Exit status 0 when every part named (none named: every part) does its work, else 1 and a sentence for each."""

    help = "Says whether database, broker, worker, beat, last_pass and sources are well (all of them, or those named)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(health.PARTS))

    def handle(self, *_: Any, parts: list[str], **__: Any) -> None:
        for name in parts:
            if name not in health.PARTS:
                raise CommandError(f"There is no part {name!r}: write {', '.join(health.PARTS)}.")
        looked = {name: look() for name, look in health.PARTS.items() if name in parts or not parts}
        if not all(part["ok"] for part in looked.values()) and health.database()["ok"] and unmigrated():
            raise CommandError(MIGRATE_FIRST)
        for name, part in looked.items():
            self.stdout.write(f"{name}: {part['says']}")
        if not all(part["ok"] for part in looked.values()):
            raise CommandError("not ready")
