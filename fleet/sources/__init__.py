"""The sources: one file each, and this list. A new one is a copy of a neighbour and one more line here."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from fleet.sources.base import SourceKind

_NAMES = ("intended", "boxes", "vast", "vllm", "deployments", "litellm_health", "attempts")
SOURCES: dict[str, SourceKind] = {
    name: import_module(f"fleet.sources.{name}").SOURCE for name in _NAMES if find_spec(f"fleet.sources.{name}")
}
LISTINGS = ("vast",)
