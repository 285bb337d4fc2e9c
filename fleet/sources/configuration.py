"""The configuration as a fetcher needs it: the one in the files, else the last good one, else a failed fetch."""

from __future__ import annotations

from fleet import config
from fleet.config import Config, ConfigErrors
from fleet.sources.base import SourceError
from litellm_sync.client import LiteLLM


def configuration() -> Config:
    """An invalid edit stops no fetch (the source `intended` shows it). Raises SourceError when there never was a
    valid configuration."""
    try:
        return config.current()
    except ConfigErrors as errors:
        good = config.last_good()
        if good is None:
            raise SourceError(f"no valid configuration yet: {errors.message.splitlines()[0]}") from None
        return good


def litellm() -> LiteLLM:
    """A client of the configured proxy. Raises SourceError."""
    section = configuration().litellm
    return LiteLLM(section.base_url, section.master_key.value(), section.request_timeout_s)
