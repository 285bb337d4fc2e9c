"""LiteLLM's own checks of its rows. Each is a real completion, so single rows are asked about when the last pass wants
to know (`GET /health?model_id=`, a few at a time), and all of them (`GET /health`) once per interval.

The whole list may take minutes, and a second opinion does not wait for it: it is a part of its own. A LiteLLM that
checks its rows in the background answers both questions from a cache, without saying how old that is. Its list is
then taken for as old as it may be, and single rows are tested in earnest (`POST /health/test_connection`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from fleet import clock, snapshots
from fleet.sources.base import SourceError, SourceKind
from fleet.sources.configuration import litellm
from litellm_sync.client import LiteLLM, LiteLLMError
from litellm_sync.opinion import unknown
from reconcile.inputs import Deployment, Deployments, Opinion, Opinions
from reconcile.view import View

NAME = "litellm_health"
AT_ONCE = 4
#: No question is begun later than this into a fetch; the next pass asks for what was left out. With the longest
#: answer that is within the time limit of the task.
ENOUGH_S = 45.0
#: For the whole list, however many rows: within the time limit of the task. 300 rows take 14 s on two cores.
LIST_S = 120.0
Rows = dict[str, Deployment]


def fetch(view: View) -> Opinions:
    """New opinions on the rows in `view.ask` that are still listed. A question without an answer gives the opinion
    "unknown", not a failed fetch. Raises SourceError without a configuration."""
    client, rows = litellm(), _listed()
    asked = [identifier for identifier in view.ask if rows is None or identifier in rows]
    return Opinions(opinions=_ask(client, asked, rows or {}) if asked else ())


def fetch_list(_: View) -> Opinions:
    """New opinions on all rows that LiteLLM's whole list clearly tells about. Raises SourceError: a list that names no
    row is none."""
    client, rows, began_at = litellm(), _listed(), clock.now()
    addresses = None if rows is None else {row.id: row.api_base for row in rows.values()}
    try:
        asked_at = began_at - client.cached_s()
        opinions = client.health_of_all(addresses, asked_at=asked_at, timeout_s=LIST_S)
    except LiteLLMError as failure:
        raise SourceError(failure.message) from None
    return Opinions(opinions=opinions, whole_at=began_at)


def join(stored: Opinions | None, new: Opinions) -> Opinions:
    """The newest opinion of each row that is still listed: what was asked last counts, not what was answered last."""
    before, latest = stored or Opinions(), clock.now() + clock.AHEAD_S
    # What was asked before the database's clock was set back would count as the newest until it has caught up.
    known = [each for each in before.opinions if each.asked_at <= latest]
    newest = {each.id: each for each in sorted((*known, *new.opinions), key=lambda each: each.asked_at)}
    rows = _listed()
    kept = [each for _, each in sorted(newest.items()) if rows is None or each.id in rows]
    return Opinions(opinions=tuple(kept), whole_at=before.whole_at if new.whole_at is None else new.whole_at)


def _listed() -> Rows | None:
    """The rows that LiteLLM lists; None before they were read."""
    listed = snapshots.latest("deployments", Deployments)
    return {row.id: row for row in listed.deployments} if listed else None


def _ask(client: LiteLLM, identifiers: Iterable[str], rows: Rows) -> tuple[Opinion, ...]:
    began_at, began = clock.now(), time.monotonic()
    try:
        ask = client.test if client.cached_s() else client.health
    except LiteLLMError as failure:
        return tuple(unknown(identifier, began_at, failure.message) for identifier in identifiers)

    def question(identifier: str) -> Opinion | None:
        passed_s = time.monotonic() - began
        if passed_s > ENOUGH_S:
            return None
        row = rows.get(identifier)
        return ask(identifier, api_base=row.api_base if row else None, asked_at=began_at + passed_s)

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="litellm-health") as threads:
        return tuple(each for each in threads.map(question, identifiers) if each)


LIST = SourceKind(
    "litellm_health_list",
    Opinions,
    "litellm_health_interval_s",
    fetch_list,
    join=join,
    part_of=NAME,
    busy_s=LIST_S + 30,
)
SOURCE = SourceKind(NAME, Opinions, "litellm_health_interval_s", fetch, join=join, parts=(LIST,))
