"""The sources: one file each, and this list. A new one is a copy of a neighbour and one more line here."""

from __future__ import annotations

from fleet.sources import attempts, boxes, deployments, intended, litellm_health, runpod, vast, vllm
from fleet.sources.base import SourceKind

SOURCES: dict[str, SourceKind] = {
    each.SOURCE.name: each.SOURCE
    for each in (intended, boxes, vast, runpod, vllm, deployments, litellm_health, attempts)
}
LISTINGS = ("vast", "runpod")
