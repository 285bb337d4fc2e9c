"""RunPod's listing: `GET /v2/pods`, followed from cursor to cursor where it is paged.

A listing proves absence only when it is whole: whatever is missing, doubled or not walked to its end is a failed
fetch. RunPod says how many requests are left; while none is, none is sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Any
from urllib.parse import urlencode

import msgspec

from fleet import clock, snapshots
from fleet.config import Config
from fleet.sources import listed
from fleet.sources.base import NotConfigured, SourceError, SourceKind
from fleet.sources.configuration import configuration
from fleet.sources.ratelimit import wait_s
from litellm_sync import http
from litellm_sync.http import Answer, NoAnswer
from litellm_sync.parsing import Unparsable, parse, real, text
from litellm_sync.sentences import one_line, said
from reconcile.inputs import Instance, Listing
from reconcile.view import View

NAME = "runpod"
PATH = "/v2/pods"
MOST_PAGES = 1000
REQUEST_TIMEOUT_S = 30.0
WALK_S = 110.0  # with one more request, below the time limit of the task that walks
RUNNING = "RUNNING"
STATUSES = frozenset(("PROVISIONING", "STARTING", RUNNING, "EXITED", "ERROR", "TERMINATED"))
_OLD = "RunPod's API v1 is gone: write https://api.runpod.io into fleet.runpod.base_url"


class _Gpu(msgspec.Struct):
    id: Any = None
    count: Any = None


class _Pod(msgspec.Struct):
    """What is read of a pod; `env` carries secrets and is not even parsed."""

    id: Any = None
    name: Any = None
    status: Any = None
    runtime: Any = None
    gpu: _Gpu | None = None
    cost: Any = None
    startedAt: Any = None  # noqa: N815  # RunPod's spelling


class _Pagination(msgspec.Struct):
    nextCursor: Any = None  # noqa: N815
    hasNextPage: Any = None  # noqa: N815


class _Page(msgspec.Struct):
    pods: list[_Pod]
    pagination: _Pagination | None = None


class _Problem(msgspec.Struct):
    title: Any = None
    detail: Any = None


def fetch(_: View) -> Listing:
    """The whole listing. Raises NotConfigured without `fleet.runpod`, SourceError when it is not whole, and, without
    a request, while RunPod wants none."""
    settings = configuration()
    runpod = settings.fleet.runpod
    if runpod is None:
        raise NotConfigured
    held_until = snapshots.held_until(NAME)
    if held_until > clock.now():
        raise SourceError(f"RunPod's request limit is used up: {_not_before(held_until)}")
    walk = Walk(runpod.base_url, runpod.api_key.value(), timeout_s=REQUEST_TIMEOUT_S, hold=_hold)
    return listing(settings, walk, snapshots.latest(NAME, Listing) or Listing())


def listing(settings: Config, walk: Walk, before: Listing) -> Listing:
    """The walk's pods as instances, in the order of the listing. A pod shows its address only beside its ports, so
    one that shows none keeps the address that `before` has for its id (another machine would be another id).
    Raises SourceError."""
    known = {each.id: each.host for each in before.instances}
    return Listing(instances=tuple(_instance(settings, pod, known.get(_id(pod), "")) for pod in walk.pods()))


def _hold(wait: float) -> str:
    """Send no request for `wait` seconds, from whichever process; the words for it."""
    until = clock.now() + wait
    snapshots.hold(NAME, until)
    return _not_before(until)


def _not_before(until: float) -> str:
    return f"nothing is asked before {datetime.fromtimestamp(ceil(until), UTC):%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True)
class Walk:
    """One walk through the pages. `timeout_s` bounds each request; `hold(seconds)` is told how long RunPod wants to be
    left alone, and gives the words for it."""

    base_url: str
    api_key: str
    timeout_s: float
    hold: Callable[[float], str]

    def pods(self) -> list[_Pod]:
        """Every pod of a whole listing, ids unique. Raises SourceError."""
        pods = [pod for page in self._pages() for pod in page.pods]
        different = len({_id(pod) for pod in pods})
        if different != len(pods):
            raise SourceError(
                f"the listing is not whole: RunPod gives {len(pods)} pods, {different} of them different; it is read "
                "again at the next fetch"
            )
        return pods

    def _pages(self) -> Iterator[_Page]:
        began, cursor, seen = time.monotonic(), None, set[str]()
        while True:
            page, held = self._page(cursor)
            if cursor and page.pagination is None:
                raise SourceError("the listing is not whole: a page of it does not say whether another follows")
            yield page
            cursor = _next(page)
            if cursor is None:
                return
            if cursor in seen:
                raise SourceError("the listing is not whole: RunPod gives one cursor twice")
            seen.add(cursor)
            if len(seen) >= MOST_PAGES or time.monotonic() - began > WALK_S:
                raise SourceError(f"the listing is not whole: it does not end after {len(seen)} pages")
            if held:
                raise SourceError(f"the listing is not whole: RunPod's request limit is used up half-way, {held}")

    def _page(self, cursor: str | None) -> tuple[_Page, str]:
        """One page, and the words for how long no other may be asked for, "" when one may."""
        query = f"?{urlencode({'cursor': cursor})}" if cursor else ""
        key = {"Authorization": f"Bearer {self.api_key}"}
        try:
            answer = http.ask("GET", f"{self.base_url}{PATH}{query}", timeout_s=self.timeout_s, headers=key)
        except NoAnswer as failure:
            raise SourceError(f"RunPod at {failure.message}") from None
        wait = wait_s(answer, clock.now())
        held = self.hold(wait) if wait else ""
        return self._read(answer, held), held

    def _read(self, answer: Answer, held: str) -> _Page:
        if answer.status != 200:
            raise SourceError("; ".join(filter(None, (self._refused(answer), held))))
        try:
            return parse(answer.body, _Page)
        except Unparsable as failure:
            raise SourceError(f"RunPod answers with {failure.message}") from None

    def _refused(self, answer: Answer) -> str:
        """The sentence for another status than 200, with what to do about it."""
        if answer.redirects:
            moved = "it redirects elsewhere; write the address that it redirects to into fleet.runpod.base_url"
            return f"RunPod answers {answer.status}: {moved}"
        hints = {401: "check fleet.runpod.api_key", 403: "check fleet.runpod.api_key", 410: _OLD}
        hint = hints.get(answer.status)
        return f"{self._told(answer)} ({hint})" if hint else self._told(answer)

    def _told(self, answer: Answer) -> str:
        """An `application/problem+json` in one line, and any other body as well as may be."""
        try:
            problem = parse(answer.body, _Problem)
        except Unparsable:
            problem = _Problem()
        words = ": ".join(filter(None, (text(problem.title), text(problem.detail))))
        if not words:
            return said(answer.status, answer.body, [self.api_key], who="RunPod")
        return f"RunPod answers {answer.status}: {one_line(words, [self.api_key])}"


def _next(page: _Page) -> str | None:
    """The cursor of the page that follows, None at the end. Raises SourceError when one should follow and has none."""
    if page.pagination is None:
        return None
    cursor, more = text(page.pagination.nextCursor), page.pagination.hasNextPage
    if more is True and cursor is None:
        raise SourceError("the listing is not whole: RunPod says that a page follows and gives no cursor for it")
    return None if more is False else cursor


def _id(pod: _Pod) -> str:
    identifier = text(pod.id)
    if identifier is None:
        raise SourceError("the listing holds a pod without an id")
    return identifier


def _instance(settings: Config, pod: _Pod, known_host: str) -> Instance:
    status = text(pod.status) or ""
    listed.note_status(NAME, status, STATUSES)
    running = status == RUNNING
    host, ports = _mapping(settings, pod)
    return Instance(
        id=_id(pod),
        host=host or listed.host(settings, NAME, _id(pod), known_host),
        running=running,
        status=status,
        ports=ports if running else {},
        label=text(pod.name) or "",
        gpu=listed.gpu(pod.gpu.id, pod.gpu.count) if pod.gpu else "",
        price_usd_h=real(pod.cost),
        started_at=_time(pod.startedAt),
    )


def _mapping(settings: Config, pod: _Pod) -> tuple[str, dict[int, int]]:
    """The pod's address, and listen port → public port, from `runtime.ports`. There is none before the pod runs, and
    for a while after; a port of type http goes through RunPod's own proxy, which ends requests after 100 s."""
    host, ports = "", dict[int, int]()
    for each in _ports(pod.runtime):
        private, public = listed.port(each.get("private")), listed.port(each.get("public"))
        if text(each.get("type")) != "tcp" or not private or not public:
            continue
        address = listed.host(settings, NAME, _id(pod), each.get("ip"))
        if address and host in ("", address):
            host = address
            ports.setdefault(private, public)
    return host, ports


def _ports(runtime: Any) -> list[dict[str, Any]]:
    ports = runtime.get("ports") if isinstance(runtime, dict) else None
    return [each for each in ports if isinstance(each, dict)] if isinstance(ports, list) else []


def _time(value: Any) -> float | None:
    """Seconds since the epoch, from 2026-11-29T12:00:00Z."""
    try:
        moment = datetime.fromisoformat(value.strip()) if isinstance(value, str) else None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() if moment else None
    except (ValueError, OverflowError):
        return None


SOURCE = SourceKind(NAME, Listing, "listing_interval_s", fetch)
