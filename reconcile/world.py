"""The evidence of one pass, indexed: which sources count, and quick look-ups into them and into the history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec.structs import replace

from reconcile.history import History, HostMemory, KeyMemory, PlacedHost, RowMemory
from reconcile.identity import Key
from reconcile.inputs import (
    Attempt,
    Box,
    Deployment,
    Instance,
    Intended,
    Model,
    Opinion,
    Probe,
    Snapshots,
    Source,
    UnknownBox,
)
from reconcile.settings import Settings
from reconcile.view import SourceState, SourceView

OUR_OWN = frozenset({"intended", "boxes", "attempts"})  # our tables: they do not age
LONGEST_WAIT_S = 600  # after a refusal
FUTURE_S = 5  # a reading further ahead of the database's clock than this is not believed
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class World:
    """One pass's evidence. Listings, probes, opinions and rows are here only while their source counts; a source
    that is unread, stale or from the future leaves nothing behind but its state."""

    now: float
    settings: Settings
    began_at: float
    sources: dict[str, SourceView]
    intended: Intended
    models: dict[str, Model]
    boxes: dict[str, Box]
    unknown_boxes: tuple[UnknownBox, ...]
    listings: dict[str, dict[str, tuple[Instance, ...]]]  # provider -> host -> instances
    probes: dict[str, Probe]
    deployments: tuple[Deployment, ...]
    opinions: dict[str, Opinion]
    attempts: dict[str, Attempt]
    keys: dict[Key, KeyMemory]
    hosts: dict[str, HostMemory]
    rows: dict[str, RowMemory]
    placed: dict[str, PlacedHost]
    other_configuration_at: float | None

    def counts(self, source: str) -> bool:
        """Whether the source has a reading that is believed now (its newest fetch may still have failed)."""
        return self.sources[source].state in ("fresh", "failed")

    def good(self, source: str) -> bool:
        """Whether its reading is believed and its newest fetch was good."""
        return self.sources[source].state == "fresh"

    def taken_at(self, source: str) -> float:
        return self.sources[source].taken_at or 0.0

    def providers_all_read(self) -> bool:
        """Whether every configured listing is read and fresh (so also when none is configured)."""
        return all(self.counts(provider) for provider in self.listings)

    def stale_after(self, interval_s: float) -> float:
        return max(self.settings.health_fail_threshold, 2) * interval_s


def observe(snapshots: Snapshots, history: History, settings: Settings, now: float) -> World:
    """Index the inputs of a pass. Nothing is judged here but whether each source counts."""
    sources = {name: _seen(name, source, settings, now) for name, source in _named(snapshots)}

    def body(name: str, source: Source[Any]) -> Any:
        return source.body if sources[name].state in ("fresh", "failed") else None

    intended = body("intended", snapshots.intended) or Intended()
    boxes = body("boxes", snapshots.boxes)
    vllm = body("vllm", snapshots.vllm)
    deployments = body("deployments", snapshots.deployments)
    opinions = body("litellm_health", snapshots.litellm_health)
    attempts = body("attempts", snapshots.attempts)
    return World(
        now=now,
        settings=settings,
        began_at=history.began_at,
        sources=sources,
        intended=intended,
        models={model.name: model for model in intended.models if model.self_hosted},
        boxes={box.host: box for box in boxes.boxes} if boxes else {},
        unknown_boxes=boxes.unknown if boxes else (),
        listings={name: _by_host(body(name, source)) for name, source in sorted(snapshots.listings.items())},
        probes={probe.base: probe for probe in vllm.probes if probe.at <= now + FUTURE_S} if vllm else {},
        deployments=tuple(sorted(deployments.deployments, key=lambda row: row.id)) if deployments else (),
        opinions={each.id: each for each in opinions.opinions if each.asked_at <= now + FUTURE_S} if opinions else {},
        attempts={each.deployment_id: _not_ahead(each, settings, now) for each in attempts.attempts}
        if attempts
        else {},
        keys={memory.key: memory for memory in history.keys},
        hosts={memory.host: memory for memory in history.hosts},
        rows={memory.id: memory for memory in history.rows},
        placed={place.host: place for place in history.placed},
        other_configuration_at=snapshots.other_configuration_at,
    )


def _named(snapshots: Snapshots) -> Iterator[tuple[str, Source[Any]]]:
    for name in ("intended", "boxes", "vllm", "deployments", "litellm_health", "attempts"):
        yield name, getattr(snapshots, name)
    yield from sorted(snapshots.listings.items())
    if snapshots.samples is not None:
        yield "samples", snapshots.samples


def _seen(name: str, source: Source[Any], settings: Settings, now: float) -> SourceView:
    return SourceView(
        name=name,
        state=_state(name, source, settings, now),
        interval_s=source.interval_s,
        taken_at=source.taken_at,
        failed_at=source.failed_at,
        error=source.error,
    )


def _state(name: str, source: Source[Any], settings: Settings, now: float) -> SourceState:
    if source.body is None or source.taken_at is None:
        return "unread"
    if source.taken_at > now + FUTURE_S:
        return "future"
    old_at = max(settings.health_fail_threshold, 2) * source.interval_s
    if name not in OUR_OWN and now - source.taken_at > old_at:
        return "stale"
    return "failed" if source.failed_at is not None else "fresh"


def _not_ahead(attempt: Attempt, settings: Settings, now: float) -> Attempt:
    """A write noted before the database's clock was set back counts as one whose waits are over: otherwise its row
    would settle, back off and distrust every opinion until the clock has caught up."""
    newest = max(attempt.sent_at, attempt.answered_at or 0.0)
    if newest <= now + FUTURE_S:
        return attempt
    over = now - settings.settle_s - LONGEST_WAIT_S
    return replace(attempt, sent_at=over, answered_at=None if attempt.answered_at is None else over)


def _by_host(listing: Any) -> dict[str, tuple[Instance, ...]]:
    hosts: dict[str, list[Instance]] = {}
    for instance in listing.instances if listing else ():
        if instance.host:
            hosts.setdefault(instance.host, []).append(instance)
    return {host: tuple(sorted(found, key=lambda each: each.id)) for host, found in hosts.items()}


def index(rows: Iterable[T], key: Any) -> dict[Any, list[T]]:
    """Rows in lists by a key function, each list in the order given."""
    found: dict[Any, list[T]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found
