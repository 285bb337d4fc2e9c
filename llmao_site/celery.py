"""The Celery app. `shared_task`s bind to it in every process, since `llmao_site/__init__.py` imports it."""

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging

from fleet import foreign

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "llmao_site.settings")
foreign.drop_overruling(os.environ)  # Celery asks the environment at every use, before the settings

app = Celery("llmao")
app.set_default()  # the app that is current only in the thread that made it is none to a web server's threads
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def keep_logging_as_django_set_it(**_signal: Any) -> None:
    """A receiver of this signal is what keeps Celery from installing its own log format."""
