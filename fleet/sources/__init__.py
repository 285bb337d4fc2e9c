"""The sources: one file each, and this list. A new one is a copy of a neighbour and one more line here."""

from __future__ import annotations

from fleet.sources import attempts, boxes, deployments, intended, litellm_health, runpod, vast, vllm
from fleet.sources.base import SourceKind

SOURCES: dict[str, SourceKind] = {
    each.SOURCE.name: each.SOURCE
    for each in (intended, boxes, vast, runpod, vllm, deployments, litellm_health, attempts)
}
#: What a fetch can be asked for: the sources, and the parts that some of them have.
KINDS: dict[str, SourceKind] = SOURCES | {part.name: part for kind in SOURCES.values() for part in kind.parts}
LISTINGS = ("vast", "runpod")
