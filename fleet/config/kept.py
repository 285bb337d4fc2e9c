"""The configuration as this process last read it: read again when a file changed, and the last good one beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from django.conf import settings

from fleet.config.errors import ConfigErrors
from fleet.config.files import Files
from fleet.config.reading import load
from fleet.config.shape import Config


@dataclass(frozen=True)
class _Reading:
    path: Path
    files: Files
    errors: ConfigErrors | None
    good: Config | None  # the newest that had no mistake, perhaps an earlier one


_lock = Lock()
_reading: _Reading | None = None


def current() -> Config:
    """The configuration that is in the files now; as long as none of them changes this costs a `stat` each.

    Raises ConfigErrors when they are invalid now, whatever they were before.
    """
    reading = _newest()
    if reading.errors is not None:
        # A fresh one: an exception that is raised again and again would collect the frames of every request.
        raise ConfigErrors(reading.errors.errors)
    assert reading.good is not None  # noqa: S101 - no mistake means that there is a configuration
    return reading.good


def last_good() -> Config | None:
    """The newest configuration without a mistake that this process has read; None when it never saw one."""
    return _newest().good


def _newest() -> _Reading:
    global _reading  # noqa: PLW0603 - a cache of the process, guarded by the lock
    path = Path(settings.LLMAO_CONFIG)
    with _lock:
        if _reading is None or _reading.path != path or not _reading.files.unchanged():
            _reading = _read(path, _reading if _reading and _reading.path == path else None)
        return _reading


def _read(path: Path, earlier: _Reading | None) -> _Reading:
    reading = _Reading(path, Files(), errors=None, good=earlier.good if earlier else None)
    try:
        return replace(reading, good=load(path, reading.files))
    except ConfigErrors as errors:
        return replace(reading, errors=errors)
