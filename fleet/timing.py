"""How often each source is read, in seconds, and the tick of reconcile beside them."""

from __future__ import annotations

from fleet import config
from fleet.config.shape import Fleet

# Our own tables are read when they change; this is for a change that nobody told of, such as an edit of a file.
OWN_S = {"intended": 60.0, "boxes": 60.0, "attempts": 60.0}
# How long a message that nobody takes is worth anything. Celery judges by the clocks of sender and worker, so this has
# to be far longer than two machines' clocks ever differ: else a worker would throw everything away. What piles up
# meanwhile costs little: a source is read by one process at a time, and whoever finds it busy drops the message.
MESSAGE_LIFE_S = 600.0
# Source, or "tick" -> its key in the section `fleet` of config.yaml.
KEYS = {
    "vast": "listing_interval_s",
    "runpod": "listing_interval_s",
    "vllm": "health_interval_s",
    "deployments": "skew_interval_s",
    "litellm_health": "litellm_health_interval_s",
    "tick": "tick_interval_s",
}


def intervals() -> dict[str, float]:
    """Source name -> seconds between two fetches, plus "tick"; all > 0, fractions allowed.

    Never raises: while the configuration is invalid, its last good state counts, and before there was one the defaults.
    """
    good = config.last_good()
    fleet = good.fleet if good else Fleet
    return {**OWN_S, **{name: float(getattr(fleet, key)) for name, key in KEYS.items()}}
