"""How often each source is read, in seconds, and the tick of reconcile beside them."""

from __future__ import annotations

DEFAULTS = {
    "intended": 60.0,
    "vast": 60.0,
    "vllm": 15.0,
    "deployments": 60.0,
    "tick": 30.0,
}


def intervals() -> dict[str, float]:
    """Source name -> seconds between two fetches, plus "tick"; all > 0, fractions allowed."""
    return dict(DEFAULTS)
