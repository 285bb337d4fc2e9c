"""Vast.ai's listing: `GET /api/v1/instances/`, 25 a page, walked to its end.

A listing proves absence only when it is whole: whatever is missing, doubled or counted wrongly is a failed fetch.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import msgspec

from fleet.config import Config
from fleet.sources import listed
from fleet.sources.base import NotConfigured, SourceError, SourceKind
from fleet.sources.configuration import configuration
from litellm_sync import http
from litellm_sync.http import Answer, NoAnswer
from litellm_sync.parsing import Unparsable, parse, real, text, whole
from litellm_sync.sentences import one_line, said
from reconcile.inputs import Instance, Listing
from reconcile.view import View

PATH = "/api/v1/instances/"
PAGE = 25  # the most that Vast gives
MOST_PAGES = 1000
REQUEST_TIMEOUT_S = 30.0
WALK_S = 120.0  # below the time limit of the task that walks
RUNNING = "running"
STATUSES = frozenset(
    ("created", "loading", RUNNING, "stopped", "frozen", "exited", "rebooting", "recycling", "scheduling", "unknown",
     "offline")
)  # fmt: skip


class _Row(msgspec.Struct):
    """What is read of an instance; `onstart`, `extra_env`, `image_args` and `jupyter_token` carry secrets and are not
    even parsed."""

    id: Any = None
    public_ipaddr: Any = None
    ports: Any = None
    actual_status: Any = None
    intended_status: Any = None
    cur_state: Any = None
    label: Any = None
    gpu_name: Any = None
    num_gpus: Any = None
    dph_total: Any = None
    start_date: Any = None


class _Page(msgspec.Struct):
    instances: list[_Row]
    total_instances: Any
    next_token: Any
    success: Any = True
    instances_found: Any = None


class _Refusal(msgspec.Struct):
    success: Any = None
    error: Any = None
    msg: Any = None


def fetch(_: View) -> Listing:
    """The whole listing. Raises NotConfigured without `fleet.vast`, SourceError when it is not whole."""
    settings = configuration()
    vast = settings.fleet.vast
    if vast is None:
        raise NotConfigured
    key = vast.api_key.value()
    walk = Walk(vast.base_url, key, page_wait_s=vast.page_wait_s, timeout_s=REQUEST_TIMEOUT_S)
    return listing(settings, walk)


def listing(settings: Config, walk: Walk) -> Listing:
    """The walk's rows as instances, in the order of the listing. Raises SourceError."""
    return Listing(instances=tuple(_instance(settings, row) for row in walk.rows()))


@dataclass(frozen=True)
class Walk:
    """One walk through the pages. `timeout_s` bounds each request, `page_wait_s` is kept between two."""

    base_url: str
    api_key: str
    page_wait_s: float
    timeout_s: float

    def rows(self) -> list[_Row]:
        """Every row of a whole listing, ids unique. Raises SourceError."""
        rows = {}
        total, counted = 0, 0
        for page in self._pages():
            counted += len(page.instances)
            total = _total(page)
            rows.update({_id(row): row for row in page.instances})
        if counted != total or len(rows) != counted:
            raise SourceError(
                f"the listing is not whole: Vast states {total} instances and gives {counted}, {len(rows)} of them "
                "different; it is read again at the next fetch"
            )
        return list(rows.values())

    def _pages(self) -> Iterator[_Page]:
        began, token, seen = time.monotonic(), None, set[str]()
        while True:
            page = self._page(token)
            yield page
            token = text(page.next_token)
            if token is None:
                return
            if token in seen:
                raise SourceError("the listing is not whole: Vast gives one page token twice")
            seen.add(token)
            if len(seen) >= MOST_PAGES or time.monotonic() - began > WALK_S:
                raise SourceError(f"the listing is not whole: it does not end after {len(seen)} pages")
            time.sleep(self.page_wait_s)

    def _page(self, token: str | None) -> _Page:
        order = '[{"col":"id","dir":"asc"}]'
        query = urlencode({"limit": PAGE, "order_by": order, **({"after_token": token} if token else {})})
        key = {"Authorization": f"Bearer {self.api_key}"}
        try:
            answer = http.ask("GET", f"{self.base_url}{PATH}?{query}", timeout_s=self.timeout_s, headers=key)
        except NoAnswer as failure:
            raise SourceError(f"Vast at {failure.message}") from None
        return self._read(answer)

    def _read(self, answer: Answer) -> _Page:
        if answer.status != 200:
            raise SourceError(self._refused(answer))
        try:
            page = parse(answer.body, _Page)
        except Unparsable as failure:
            raise SourceError(self._not_said(answer) or f"Vast answers with {failure.message}") from None
        if page.success is not True:
            raise SourceError(self._not_said(answer) or "Vast answers without success")
        found = whole(page.instances_found)
        if found is not None and found != len(page.instances):
            raise SourceError(f"a page of the listing states {found} instances and holds {len(page.instances)}")
        return page

    def _refused(self, answer: Answer) -> str:
        """The sentence for another status than 200. Which error it is only the body tells: a bad key is 401 or 404."""
        if answer.redirects:
            moved = "it redirects elsewhere; write the address that it redirects to into fleet.vast.base_url"
            return f"Vast answers {answer.status}: {moved}"
        told = self._not_said(answer) or said(answer.status, answer.body, [self.api_key], who="Vast")
        if answer.status == 429:
            return f"{told} (fewer requests: raise fleet.listing_interval_s or fleet.vast.page_wait_s)"
        return told

    def _not_said(self, answer: Answer) -> str:
        """What a `{"success": false, "error", "msg"}` says; "" when the body is none."""
        try:
            refusal = parse(answer.body, _Refusal)
        except Unparsable:
            return ""
        error = text(refusal.error)
        if error is None:
            return ""
        told = one_line(": ".join(filter(None, (error, text(refusal.msg)))), [self.api_key])
        hint = " (check fleet.vast.api_key)" if error == "auth_error" else ""
        return f"Vast answers {answer.status}: {told}{hint}"


def _total(page: _Page) -> int:
    total = whole(page.total_instances)
    if total is None:
        raise SourceError("the listing does not state how many instances there are (total_instances)")
    return total


def _id(row: _Row) -> str:
    identifier = whole(row.id)
    if identifier is None:
        raise SourceError("the listing holds an instance without an id")
    return str(identifier)


def _instance(settings: Config, row: _Row) -> Instance:
    status = _status(row)
    running = status == RUNNING
    return Instance(
        id=_id(row),
        host=listed.host(settings, "vast", _id(row), row.public_ipaddr),
        running=running,
        status=status,
        ports=_ports(row.ports) if running else {},
        label=text(row.label) or "",
        gpu=listed.gpu(row.gpu_name, row.num_gpus),
        price_usd_h=real(row.dph_total),
        started_at=real(row.start_date),
    )


def _status(row: _Row) -> str:
    """Vast's word for the container, "" when it has none; where Vast is stopping it, that is said too: a container
    that was outbid, or whose image is bad, can be called running or loading to its end."""
    status = text(row.actual_status) or ""
    listed.note_status("vast", status, STATUSES)
    stopping = text(row.intended_status) == "stopped" and text(row.cur_state) == "stopped"
    return f"{status}, being stopped" if stopping and status in ("created", "loading", RUNNING) else status


def _ports(value: Any) -> dict[int, int]:
    """Listen port → public port, from `{"8000/tcp": [{"HostIp", "HostPort"}]}`. The twins for IPv4 and IPv6 repeat one
    number; the first that is a port counts."""
    found = {}
    for name, bindings in value.items() if isinstance(value, dict) else ():
        number, _, protocol = name.partition("/")
        listen, public = listed.port(number), next(filter(None, map(_public, _list(bindings))), None)
        if protocol in ("", "tcp") and listen and public:
            found[listen] = public
    return found


def _public(binding: Any) -> int | None:
    return listed.port(binding.get("HostPort")) if isinstance(binding, dict) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


SOURCE = SourceKind("vast", Listing, "listing_interval_s", fetch)
