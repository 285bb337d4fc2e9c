"""What the commands on stored things have in common: they work beside a wrong config.yaml, and say in a sentence that
the database is not there, or has no tables yet."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError, connection
from django.db.migrations.executor import MigrationExecutor

from fleet import config
from fleet.config import ConfigErrors

MIGRATE_FIRST = (
    "The database is not prepared for this version of llmao: run `manage.py migrate` (or `manage.py up`) first."
)


class StoredCommand(BaseCommand):
    """A command that reads or writes what llmao keeps. A mistake in the configuration does not stop it: what is stored
    was read from an earlier one, and an admin who looks for the mistake needs to see it."""

    requires_system_checks: list[str] = []

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except (OperationalError, ProgrammingError, InterfaceError) as error:
            if says := wrong_with_database(error):
                raise CommandError(says) from None
            raise

    def say_mistakes(self) -> None:
        """The configuration's mistakes on stderr, one a line: what stands above them is from before them."""
        try:
            config.current()
        except ConfigErrors as errors:
            self.stderr.write(str(errors))


def wrong_with_database(error: Exception) -> str:
    """A sentence on why a query failed, "" when the database and its tables are as they should be."""
    try:
        return MIGRATE_FIRST if unmigrated() else ""
    except (DatabaseError, InterfaceError):
        return f"The database does not answer: {str(error).strip()}"


def unmigrated() -> bool:
    """Whether tables or columns of this version are missing. Raises what the database raises when it is away."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
