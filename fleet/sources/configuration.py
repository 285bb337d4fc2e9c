"""The configuration as a fetcher needs it: the one in the files, else the last good one, else a failed fetch."""

from __future__ import annotations

from fleet import config
from fleet.config import Config, ConfigErrors
from fleet.keys import known_secrets
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
    return client(configuration())


def client(config: Config) -> LiteLLM:
    """A client of this configuration's proxy, which shows none of its secrets: LiteLLM repeats what providers say,
    and a provider may repeat the key it was given."""
    section = config.litellm
    master_key = section.master_key.value()
    return LiteLLM(section.base_url, master_key, section.request_timeout_s, secrets=known_secrets(config))
