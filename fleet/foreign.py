"""Environment variables of Celery and gunicorn themselves, which overrule what llmao says of the broker, the number of
processes and the rest. Who runs another Celery app in the same shell has some; none of them was meant for llmao."""

from __future__ import annotations

from collections.abc import MutableMapping

# These alone reach every process that has the Celery app, also those that `manage.py up` did not start.
OVERRULE_SETTINGS = (
    "CELERY_BROKER_URL",
    "CELERY_BROKER_READ_URL",
    "CELERY_BROKER_WRITE_URL",
    "CELERY_RESULT_BACKEND",
    "CELERY_CONFIG_MODULE",
    "CELERY_LOADER",
)
_FAMILIES = ("CELERY", "KOMBU_", "GUNICORN_", "MULTIPROCESSING_FORKING", "_MP_FORK")
# As the command lines of Celery and gunicorn, and billiard below them, read them.
_NAMES = frozenset(
    ("BROKER_URL", "RESULT_BACKEND", "LOADER", "CONFIG_MODULE", "SKIP_CHECKS", "WEB_CONCURRENCY",
     "FORKED_BY_MULTIPROCESSING", "MP_MAIN_FILE", "MP_LOG", "C_FAKEFORK", "C_REMDEBUG", "C_WNOCONF", "C_STRICT_APP",
     "C_WARN_APP", "C_IMPDEBUG", "C_BENCH", "REMAP_SIGTERM")
)  # fmt: skip


def is_foreign(name: str) -> bool:
    """Whether a program that llmao starts must not see this variable."""
    return name.startswith(_FAMILIES) or name in _NAMES


def drop_overruling(env: MutableMapping[str, str]) -> None:
    """Take what would overrule the settings out of `env`: REDIS_URL is the one word on the broker."""
    for name in OVERRULE_SETTINGS:
        env.pop(name, None)
