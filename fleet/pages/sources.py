"""One row a source, for staff: whether its last good reading still counts, how old it is, what the newest error was."""

from __future__ import annotations

from dataclasses import dataclass

from fleet.models import SourceState
from fleet.pages.words import NOT_CONFIGURED, SOURCE, Word
from reconcile.view import SourceView, View

DAY_S = 24 * 3600.0


@dataclass(frozen=True)
class SourceRow:
    name: str
    state: Word
    taken_at: float | None = None
    failed_at: float | None = None
    interval_s: float | None = None
    error: str = ""
    cost: str = ""  # what reading it that often costs, where it costs anything


def source_rows(view: View) -> list[SourceRow]:
    """The sources of the pass, then the providers that have no API key. One query."""
    rows = [
        SourceRow(
            each.name, SOURCE[each.state], each.taken_at, each.failed_at, each.interval_s, each.error, _cost(view, each)
        )
        for each in view.sources
    ]
    return [*rows, *(SourceRow(name, NOT_CONFIGURED) for name in not_configured(view))]


def _cost(view: View, source: SourceView) -> str:
    """LiteLLM checks a row by a real completion on it."""
    rows = len({record.deployment.id for record in view.records if record.deployment})
    if source.name != "litellm_health" or not rows:
        return ""
    return f"about {rows * DAY_S / source.interval_s:,.0f} completions a day on {rows:,} rows"


def not_configured(view: View) -> list[str]:
    """Names of the providers without an API key."""
    seen = {source.name for source in view.sources}
    names = SourceState.objects.filter(configured=False).order_by("name").values_list("name", flat=True)
    return [name for name in names if name not in seen]
