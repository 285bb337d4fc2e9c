"""The Django app that keeps the memory and shows the face."""

from django.apps import AppConfig


class FleetConfig(AppConfig):
    name = "fleet"
    verbose_name = "Fleet"

    def ready(self) -> None:
        from fleet import checks  # noqa: F401, PLC0415 - registers itself; Django's own names have to be there first
