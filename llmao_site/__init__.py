"""The frame: settings, addresses, the Celery app and its timetable."""

from llmao_site.celery import app as celery_app

__all__ = ["celery_app"]
