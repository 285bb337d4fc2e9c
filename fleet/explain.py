"""Why one deployment is as it is: its verdicts and their rules, the readings behind them with their ages, what is
pending, what would change it, and what happened to it lately."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches

from django.db.models import Q

from fleet import events, rules
from fleet.columns import columns
from fleet.models import ActionLog
from fleet.pages.deployments import sync_words
from fleet.pages.words import PROBE, STATUS, STEP
from fleet.passes import Shown
from fleet.prospects import prospects, recall
from fleet.redact import changes
from fleet.reports import DIGEST_SHOWN
from reconcile.identity import box_name
from reconcile.view import Action, Plan, Record, View
from reconcile.words import ago, listed, provider

NEAR = 3
RECENT = 10  # events, and writes, that are shown


def named(view: View, text: str) -> list[Record]:
    """The records of a KEY: `host:port`, `host:port/model` or `provider/model`."""
    wanted = text.strip().removeprefix("http://").rstrip("/")
    return [record for record in view.records if wanted in _names(record)]


def near_names(view: View, text: str) -> list[str]:
    """Names that somebody who typed `text` may have meant: the most alike, else the first of all."""
    names = [record.name for record in view.records]
    return get_close_matches(text.strip(), names, NEAR, 0.5) or names[:NEAR]


def explained(shown: Shown, record: Record, now: float) -> list[str]:
    """The text for a terminal, line by line; ages count to `now`."""
    rule = f"  ({record.rule})" if record.rule else ""
    actions = [action for action in shown.plan.actions if action.key == record.key]
    return [
        f"{record.name}: {record.lifecycle}{rule}",
        *columns(_verdicts(record)),
        *_part("Rules", _rules(record, actions)),
        *_part("Readings", _readings(shown.view, record, now)),
        *_pending(shown.plan, record, actions, now),
        *_changes(shown, record, now),
        *_part("Events", _events(shown, record, now), most=RECENT),
        *_part("Writes", _writes(shown, record, now), most=RECENT),
    ]


def _part(title: str, rows: Iterable[Sequence[str]], most: int = 0) -> list[str]:
    """A heading and its rows, the newest `most` of them; "none" without any."""
    found = list(rows)
    shown = found[:most] if most else found
    more = f"the last {most}" if most and len(found) > most else ""
    heading = title if not more else f"{title} ({more})"
    return ["", heading, *columns(shown)] if shown else ["", f"{title}: none"]


def _rules(record: Record, actions: list[Action]) -> Iterator[tuple[str, str, str]]:
    write = actions[0].rule if actions else ""
    for verdict, rule in rules.of_verdicts(record, write):
        yield verdict, rule or "–", rules.sentence(rule)
    for action in actions:
        yield action.kind, action.rule or "–", rules.sentence(action.rule)
        if status := rules.STATUSES.get(action.status):
            yield action.status.replace("_", " "), status, rules.sentence(status)


def _changes(shown: Shown, record: Record, now: float) -> list[str]:
    recalled = recall(shown)
    if recalled is None:
        return ["", "What would change it: not known, what this pass remembered is no longer kept"]
    return ["", "What would change it", *(f"  {line}" for line in prospects(shown, record, recalled, now))]


def _events(shown: Shown, record: Record, now: float) -> Iterator[tuple[str, str, str, str, str]]:
    for event in events.of_key(record.key).filter(pass_id__lte=shown.id)[: RECENT + 1]:
        change = f"{event.before or '–'} → {event.after or '–'}"
        yield ago(event.at, now), f"pass {event.pass_id}", event.what, change, event.reason


def _writes(shown: Shown, record: Record, now: float) -> Iterator[tuple[str, str, str, str, str]]:
    by_then = Q(pass_id=None, at__lte=datetime.fromtimestamp(now, UTC))
    lines = ActionLog.objects.filter(by_then | Q(pass_id__lte=shown.id), name=record.name)
    for line in lines[: RECENT + 1]:
        by = f"by {line.by}" + (", a revert" if line.revert else "")
        yield ago(line.at.timestamp(), now), line.kind, line.answer or "–", by, line.detail or line.reason


def _names(record: Record) -> set[str]:
    return {record.name, box_name(record.key.url), f"{record.provider}/{record.model}"} - {f"/{record.model}"}


def _verdicts(record: Record) -> Iterator[tuple[str, str]]:
    yield "why", record.reason
    yield "wanted by", {"none": "nobody", "discovered": "nobody (discovered)"}.get(record.origin, record.origin)
    yield "sync", listed([word.text for word in sync_words(record)])
    yield "reached by", _reached(record)
    if record.misses:
        yield "misses", f"{record.misses} running"
    if record.unlisted:
        yield "unlisted", f"gone from the {provider(record.placed or 'provider')} listing"
    if record.drained:
        yield "drained", "yes"
    if record.label:
        yield "label", record.label


def _reached(record: Record) -> str:
    if record.dialable_url is None:
        return "nothing: unplaced"
    return f"{box_name(record.dialable_url)} ({STEP.get(record.dialable_step) or record.dialable_step})"


def _readings(view: View, record: Record, now: float) -> Iterator[tuple[str, str]]:
    if record.origin != "none":
        yield "intended", f"read {ago(_read_at(view, 'intended'), now)}"
    if record.host and record.origin != "none":
        yield "config", f"served {ago(record.config_served_at, now)}"
        yield "listing", _listing(record, now)
        yield "probe", _probe(record, now)
    yield "LiteLLM's row", _comma(_row(record), f"rows read {ago(_read_at(view, 'deployments'), now)}")
    opinion = record.litellm_health
    asked = f"asked {ago(opinion.asked_at, now)}"
    yield "LiteLLM says", _comma(opinion.state, asked if opinion.asked_at else "", opinion.detail)


def _read_at(view: View, source: str) -> float | None:
    return next((each.taken_at for each in view.sources if each.name == source), None)


def _listing(record: Record, now: float) -> str:
    seen = record.inventory
    if seen is None or seen.state == "never":
        return "none ever had this host"
    instance = f"instance {seen.instance}" if seen.instance else ""
    read = f"read {ago(seen.read_at, now)}" if seen.read_at else ""
    return _comma(f"{provider(seen.provider)} {seen.state}", instance, seen.status, seen.gpu, seen.label, read)


def _probe(record: Record, now: float) -> str:
    probe = record.probe
    return _comma(
        PROBE[probe.state].text,
        probe.detail,
        f"{ago(probe.at, now)} at {box_name(probe.url)}" if probe.at and probe.url else "",
        f"{probe.latency_ms:.0f} ms" if probe.latency_ms is not None else "",
        f"max_model_len {probe.max_model_len}" if probe.max_model_len else "",
        f"last ok {ago(probe.last_ok, now)}",
    )


def _row(record: Record) -> str:
    row = record.deployment
    if row is None:
        return "none"
    differs = f"differs in {listed(row.differing)}" if row.differing else ""
    blocked = "blocked" if row.blocked else ""
    at = f"at {box_name(row.api_base)}" if row.api_base else ""
    return _comma(f"{row.id} {at}".strip(), row.state.replace("_", " "), blocked, differs)


def _pending(plan: Plan, record: Record, actions: list[Action], now: float) -> Iterator[str]:
    yield ""
    yield "Pending writes" if actions else "Pending writes: none"
    for action in actions:
        again = f", next try in {max(0.0, action.next_try - now):.0f} s" if action.next_try else ""
        approved = f", approved by {action.approved_by}" if action.approved_by else ""
        rule = f" ({action.rule})" if action.rule else ""
        status = STATUS[action.status].text.lower()
        yield f"  {action.kind}: {status}{again}{approved}, digest {action.digest[:DIGEST_SHOWN]}"
        yield f"    {action.reason}{rule}"
        for change in changes(action.before, action.after):
            yield f"    {change.path}: {change.before or '–'} → {change.after or '–'}"
    for item in plan.items:
        if item.key == record.key:
            yield f"  item {item.kind.replace('_', ' ')}: {item.reason}"


def _comma(*parts: str) -> str:
    return ", ".join(part for part in parts if part)
