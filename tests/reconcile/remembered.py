"""From a scenario's words to the history that the pass before left behind. `now` is the first step's clock."""

from __future__ import annotations

from reconcile.history import History, HostMemory, KeyMemory, PlacedHost, RowMemory, Run
from tests.reconcile import readings
from tests.reconcile.fleet_of_case import Fleet, url
from tests.reconcile.given_words import HistoryWords, HostHistory, KeyHistory, PlacedHistory, RowHistory, RunWords


def history(fleet: Fleet, words: HistoryWords, now: float) -> History:
    began_at = now - words.began_s_ago
    return History(
        began_at=began_at,
        passed_at=max(began_at, now - 15),
        keys=tuple(_key(fleet, name, each, began_at, now) for name, each in words.keys.items()),
        hosts=tuple(_host(host, each, now) for host, each in words.hosts.items()),
        rows=tuple(_row(fleet, name, each, now) for name, each in words.rows.items()),
        placed=tuple(_placed(host, each, now) for host, each in words.placed.items()),
    )


def _host(host: str, words: HostHistory, now: float) -> HostMemory:
    absences = _run(words.absences, now)
    return HostMemory(host=host, read_at=now - words.read_s_ago, absences=absences, unlisted=words.unlisted)


def _row(fleet: Fleet, name: str, words: RowHistory, now: float) -> RowMemory:
    return RowMemory(
        id=readings.row_id(fleet, name),
        last_listed=now - words.listed_s_ago,
        downs=words.downs,
        opinion_at=_ago(words.opinion_age_s, now),
        orphan=_run(words.orphan, now),
    )


def _placed(host: str, words: PlacedHistory, now: float) -> PlacedHost:
    provider, _, instance = words.by.partition(":")
    return PlacedHost(host, provider, instance, now - words.listed_s_ago, words.once_intended)


def _key(fleet: Fleet, name: str, words: KeyHistory, since: float, now: float) -> KeyMemory:
    misses, hits, last_ok = _run(words.misses, now), _run(words.hits, now), _ago(words.last_ok_age_s, now)
    read = [run.last for run in (misses, hits) if run] + ([] if last_ok is None else [last_ok])
    return KeyMemory(
        key=readings.key_of(fleet, name),
        since=since,
        last_ok=last_ok,
        probed_at=max(read, default=None),
        misses=misses,
        hits=hits,
        last_url=url(words.last_url) if words.last_url else None,
        instance=words.instance,
        removals=tuple(now - each for each in words.removed_s_ago),
        delete_wanted_since=_ago(words.delete_wanted_s_ago, now),
        first_asked=_ago(words.first_asked_s_ago, now),
        last_up=_ago(words.last_up_s_ago, now),
        discovered=words.discovered,
        drained=words.drained,
    )


def _run(words: RunWords | None, now: float) -> Run | None:
    if words is None:
        return None
    last = now - words.ended_s_ago
    return Run(words.n, last - words.span_s, last)


def _ago(seconds: float | None, now: float) -> float | None:
    return None if seconds is None else now - seconds
