"""What each box's vLLM answers: `/health`, `/v1/models` with its key, and now and then with a wrong key.

Facts only: whether that is ok is reconcile's to say. All boxes are asked at once; each answer has its own time.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from fleet import clock, config, keys, snapshots
from fleet.config import Config
from fleet.config.addresses import refused_because
from fleet.sources.base import SourceKind
from fleet.sources.configuration import configuration
from fleet.sources.once import first
from litellm_sync import http
from litellm_sync.http import Answer, NoAnswer, Session
from litellm_sync.parsing import Unparsable, parse, text, whole
from reconcile.identity import canonical_host, host_of
from reconcile.inputs import ListedModel, Probe, Probes
from reconcile.view import Target, View

log = logging.getLogger(__name__)
Failure = Literal["", "refused", "reset", "timeout", "unreachable", "not_json", "page", "too_large", "redirect"]

AT_ONCE = 512  # sockets open at a time: all boxes of most fleets, below the usual limit of 1024 files
WRONG_KEY_EVERY_S = 600.0
MOST_LISTED, LONGEST_NAME = 50, 200  # models of one server and characters of a name: a snapshot keeps all of it
_KINDS: dict[http.Kind, Failure] = {
    "refused": "refused",
    "reset": "reset",
    "timeout": "timeout",
    "unreachable": "unreachable",
    "tls": "unreachable",
    "too_large": "too_large",
    "not_http": "not_json",
}


@dataclass(frozen=True, slots=True)
class Job:
    """A server to ask, with its key; `before` is the last probe of the same URL, `key_hash` what stands for the key."""

    target: Target
    key: str
    before: Probe | None
    key_hash: str = ""


def fetch(view: View) -> Probes:
    """One probe of each of the view's targets that may be dialled. Raises SourceError without a configuration."""
    settings = configuration()
    last = snapshots.latest("vllm", Probes)
    before = {(each.base, each.url): each for each in last.probes} if last else {}
    jobs = [_job(settings, each, before.get((each.base, each.url))) for each in _dialable(settings, view.targets)]
    return Probes(probes=probe(jobs, settings.fleet.health_timeout_s, clock.now()) if jobs else ())


def _job(settings: Config, target: Target, before: Probe | None) -> Job:
    key = keys.server_key(settings, target.host, target.listen_port)
    return Job(target, key, before, keys.secret_hash(settings.salt, key))


def probe(jobs: Iterable[Job], timeout_s: float, now: float) -> tuple[Probe, ...]:
    """Ask all of them, `timeout_s` for each request. `now` is the database's time at the call."""
    return http.run(Prober(timeout_s, now).ask_all(jobs))


def _dialable(settings: Config, targets: Iterable[Target]) -> Iterator[Target]:
    """The targets whose address may be dialled. One that may not is not probed at all: it can then be neither added
    nor, for that, removed."""
    written = {row.host for row in settings.fleet.hosts}
    for target in {each.base: each for each in targets}.values():
        reason = _undialable(settings, target, written)
        if not reason:
            yield target
        elif first("vllm", target.base, reason):
            log.warning("vllm_not_dialled name=%s:%s reason=%s", target.host, target.listen_port, reason)


def _undialable(settings: Config, target: Target, written: set[str]) -> str:
    try:
        host = canonical_host(host_of(target.url))
    except ValueError:
        return "its URL holds no IP address"
    if host != target.host:
        return "its URL is another host's, and the key is this one's"
    if host not in written and not config.allowed_host(settings, host):
        return f"the address {refused_because(host) or 'is private, and fleet.allow_private_hosts is not true'}"
    return refused_because(host)


class Prober:
    """`timeout_s` bounds each request; times are `now` (the database's) plus what has passed since."""

    def __init__(self, timeout_s: float, now: float) -> None:
        self._timeout_s = timeout_s
        self._offset = now - time.monotonic()
        self._wrong_key = f"sk-vllm-{secrets.token_urlsafe(32)}"

    async def ask_all(self, jobs: Iterable[Job]) -> tuple[Probe, ...]:
        """At most AT_ONCE at a time. Between two starts the loop turns once, so that answers are read as they come:
        else a box would be waiting for us while its timeout runs."""
        free = asyncio.Semaphore(AT_ONCE)
        tasks = []
        async with Session() as session:
            for job in jobs:
                await free.acquire()
                task = asyncio.create_task(self._guarded(session, job))
                task.add_done_callback(lambda _: free.release())
                tasks.append(task)
                await asyncio.sleep(0)
            return tuple(probe for probe in await asyncio.gather(*tasks) if probe)

    async def _guarded(self, session: Session, job: Job) -> Probe | None:
        try:
            return await self._ask(session, job)
        except Exception:  # the top of one box's probing: what it answers must not blind us to the others
            log.exception("vllm_probe_faulty name=%s:%s", job.target.host, job.target.listen_port)
            return None

    async def _ask(self, session: Session, job: Job) -> Probe:
        probe = Probe(
            base=job.target.base,
            url=job.target.url,
            at=self._now(),
            key_hash=job.key_hash,
            last_answered_at=job.before.last_answered_at if job.before else None,
        )
        try:
            health = await self._get(session, job, "/health", job.key)
        except NoAnswer as failure:
            return _with(probe, failure=_KINDS[failure.kind])
        probe = _with(
            probe,
            health_status=health.status,
            failure="redirect" if health.redirects else "",
            latency_ms=round(health.latency_s * 1000, 1),
        )
        return await self._ask_models(session, job, probe) if health.status == 200 else probe

    async def _ask_models(self, session: Session, job: Job, probe: Probe) -> Probe:
        try:
            models = await self._get(session, job, "/v1/models", job.key)
        except NoAnswer as failure:
            return _with(probe, failure=_KINDS[failure.kind])
        trouble, listed = _listed(models)
        probe = _with(probe, models_status=models.status, failure=trouble, listed=listed)
        if models.status != 200 or trouble:
            return probe
        return await self._ask_wrongly(session, job, _with(probe, last_answered_at=probe.at))

    async def _ask_wrongly(self, session: Session, job: Job, probe: Probe) -> Probe:
        """The probe with the answer to a wrong key: a new one when that is due, else the one before. No answer is no
        news: what is believed of the key stays, and the next probe asks again."""
        believed = job.before if job.before and not _missed(job.before, probe) else None
        probe = _with(
            probe,
            wrong_key_status=believed.wrong_key_status if believed else None,
            wrong_key_at=believed.wrong_key_at if believed else None,
        )
        asked = probe.wrong_key_at
        if asked is not None and asked - clock.AHEAD_S <= probe.at < asked + WRONG_KEY_EVERY_S:
            return probe
        asked_at = self._now()
        try:
            answer = await self._get(session, job, "/v1/models", self._wrong_key)
        except NoAnswer:
            return probe
        return _with(probe, wrong_key_status=answer.status, wrong_key_at=asked_at)

    async def _get(self, session: Session, job: Job, path: str, key: str) -> Answer:
        bearer = {"Authorization": f"Bearer {key}"}
        return await session.ask("GET", job.target.url + path, timeout_s=self._timeout_s, headers=bearer)

    def _now(self) -> float:
        return self._offset + time.monotonic()


def _missed(before: Probe, now: Probe) -> bool:
    """Whether the wrong key must be asked again whatever its age: after a miss, and when the box lists other models
    than before, so that another server may stand there."""
    well = before.health_status == 200 and before.models_status == 200 and not before.failure
    return not (well and before.wrong_key_status in (401, 403) and before.listed == now.listed)


class _Row(msgspec.Struct):
    id: Any = None
    root: Any = None
    parent: Any = None
    max_model_len: Any = None


class _Models(msgspec.Struct):
    data: list[_Row]


def _listed(answer: Answer) -> tuple[Failure, tuple[ListedModel, ...]]:
    """The models in an answer of `/v1/models`, and what is wrong with it. An error's body is not looked at."""
    if answer.redirects:
        return "redirect", ()
    if answer.status != 200:
        return "", ()
    if answer.is_page:
        return "page", ()
    try:
        rows = parse(answer.body, _Models).data
    except Unparsable:
        return "not_json", ()
    return "", tuple(_model(row) for row in rows[:MOST_LISTED] if text(row.id))


def _model(row: _Row) -> ListedModel:
    parent = text(row.parent)
    return ListedModel(
        id=(text(row.id) or "")[:LONGEST_NAME],
        root=(text(row.root) or "")[:LONGEST_NAME],
        parent=parent[:LONGEST_NAME] if parent else None,
        max_model_len=whole(row.max_model_len),
    )


def _with(probe: Probe, **fields: Any) -> Probe:
    return msgspec.structs.replace(probe, **fields)


SOURCE = SourceKind("vllm", Probes, "health_interval_s", fetch)
