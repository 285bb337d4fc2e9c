"""LiteLLM's own checks of single rows: `GET /health?model_id=`. Each costs tokens, so only what the last pass asked
for is asked, a few at a time; everything else is carried over from the previous reading."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from fleet import clock, snapshots
from fleet.sources.base import SourceKind
from fleet.sources.configuration import litellm
from litellm_sync.client import LiteLLM
from reconcile.inputs import Deployment, Deployments, Opinion, Opinions
from reconcile.view import View

AT_ONCE = 4
#: No question is begun later than this into a fetch; the next pass asks for what was left out.
ENOUGH_S = 60.0


def fetch(view: View) -> Opinions:
    """The opinions on all rows that are still listed; those in `view.ask` are new. A question without an answer gives
    the opinion "unknown", not a failed fetch. Raises SourceError without a configuration."""
    listed = snapshots.latest("deployments", Deployments)
    rows = {row.id: row for row in listed.deployments} if listed else {}
    asked = [identifier for identifier in view.ask if listed is None or identifier in rows]
    fresh = _ask(litellm(), asked, rows)
    kept = [each for each in _previous(clock.now()) if each.id not in fresh and (listed is None or each.id in rows)]
    return Opinions(opinions=tuple(sorted([*kept, *fresh.values()], key=lambda each: each.id)))


def _previous(now: float) -> tuple[Opinion, ...]:
    """The opinions of the last reading, but for those asked before the database's clock was set back: they would count
    as the newest until it has caught up."""
    before = snapshots.latest("litellm_health", Opinions)
    return tuple(each for each in before.opinions if each.asked_at <= now + clock.AHEAD_S) if before else ()


def _ask(client: LiteLLM, identifiers: Iterable[str], rows: dict[str, Deployment]) -> dict[str, Opinion]:
    began_at, began = clock.now(), time.monotonic()

    def question(identifier: str) -> Opinion | None:
        passed_s = time.monotonic() - began
        if passed_s > ENOUGH_S:
            return None
        row = rows.get(identifier)
        return client.health(identifier, api_base=row.api_base if row else None, asked_at=began_at + passed_s)

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="litellm-health") as threads:
        return {each.id: each for each in threads.map(question, identifiers) if each}


SOURCE = SourceKind("litellm_health", Opinions, "litellm_health_interval_s", fetch)
