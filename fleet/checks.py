"""`manage.py check` on the configuration: one message a mistake, in the words that the file's reader has for it."""

from __future__ import annotations

import os
from typing import Any

from django.core import checks

from fleet import config
from fleet.config import ConfigError, ConfigErrors


@checks.register("configuration")
def configuration(**_asked: Any) -> list[checks.CheckMessage]:
    """fleet.E001: a mistake. fleet.W001: there is no config.yaml at the default path yet, so a new clone can migrate;
    a path that LLMAO_CONFIG names has to be there."""
    try:
        config.current()
    except ConfigErrors as errors:
        return [_message(error) for error in errors.errors]
    return []


def _message(error: ConfigError) -> checks.CheckMessage:
    if error.absent and not os.environ.get("LLMAO_CONFIG"):
        return checks.Warning(str(error), id="fleet.W001")
    return checks.Error(str(error), id="fleet.E001")
