"""A test run touches nothing of the tree it runs in."""

import os
from pathlib import Path

from django.conf import settings
from django.db import connection

ROOT = Path(__file__).parent.parent


def test_it_has_a_data_folder_of_its_own() -> None:
    for path in (settings.LLMAO_VAR, settings.LLMAO_CONFIG, Path(connection.settings_dict["NAME"])):
        assert connection.vendor != "sqlite" or not Path(path).is_relative_to(ROOT)
    assert os.environ["DJANGO_SETTINGS_MODULE"] == "llmao_site.settings"
    assert os.environ["REDIS_URL"] == settings.CELERY_BROKER_URL
