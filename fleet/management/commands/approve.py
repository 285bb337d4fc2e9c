"""Release a held action, or one that needs a person. DIGEST is as `manage.py plan` shows it: its first 8 characters, or
more of them, are enough."""

from __future__ import annotations

from getpass import getuser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError, CommandParser

from fleet import approvals, passes
from fleet.management.stored import StoredCommand

SHORTEST = 8  # characters of a digest: shorter ones are guessed, not copied


class Command(StoredCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("digest", metavar="DIGEST", help=f"{SHORTEST} or more characters of it")
        parser.add_argument("--user", metavar="NAME", help="who approves; without it, this shell's login")

    def handle(self, **options: Any) -> None:
        by = _approver(options["user"]) if options["user"] else f"shell: {getuser()}"
        try:
            approval = approvals.approve_action(_whole(options["digest"]), by)
        except approvals.Refused as refused:
            raise CommandError(str(refused)) from refused
        self.stdout.write(f"Approved by {approval.by}: {approval.kind} {approval.name}.")


def _approver(name: str) -> str:
    user = get_user_model().objects.filter(username=name, is_active=True).first()
    if user is None:
        raise CommandError(f"There is no active user {name!r}: `manage.py createsuperuser` makes the first.")
    if not user.has_perm("fleet.add_approval"):
        raise CommandError(f"{name} may not approve an action: give the permission fleet.add_approval in the admin.")
    return user.get_username()


def _whole(start: str) -> str:
    """The digest of the newest plan that begins so; `start` itself when none does. CommandError when it says too
    little."""
    if len(start) < SHORTEST:
        raise CommandError(
            f"{start!r} is too short: type {SHORTEST} or more characters of the digest, as `manage.py plan` shows it."
        )
    shown = passes.latest()
    found = {action.digest for action in shown.plan.actions if action.digest.startswith(start)} if shown else set()
    if len(found) > 1:
        raise CommandError(f"{len(found)} actions have a digest that begins with {start}: type more of it.")
    return found.pop() if found else start
