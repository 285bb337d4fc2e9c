"""Whether llmao is well, for machines: open to anybody who reaches the port, and free of secrets.

`/healthz` says that the web process lives, and asks nobody. `/readyz` says of each part whether it does its work:
`{"ready": bool, "database": {"ok": bool, "says": sentence}, "broker", "worker", "beat", "last_pass",
"sources"}`.
"""

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypedDict

from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError

from fleet import clock, fetching, publishing, timing
from fleet.clock import AHEAD_S
from fleet.models import Heartbeat, Lease

BROKER_PATIENCE_S = 2
SHORTEST_LIMIT_S = 10.0  # fast clocks are for demos; a process may still need a breath


class Part(TypedDict):
    """What /readyz says of one part."""

    ok: bool
    says: str


@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    """200 while the web process lives."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """200 when every part is well, else 503; either way JSON."""
    parts = {name: look() for name, look in PARTS.items()}
    ready = all(part["ok"] for part in parts.values())
    return JsonResponse({"ready": ready, **parts}, status=200 if ready else 503)


def database() -> Part:
    try:
        clock.now()
    except (DatabaseError, InterfaceError):
        return Part(ok=False, says="does not answer")
    return Part(ok=True, says="answers")


def broker() -> Part:
    """Asks the broker itself; the reason of a refusal is not repeated, since an address may hold a password."""
    answers: SimpleQueue[bool] = SimpleQueue()
    # Aside, because no time limit holds for the resolver or for a name with many addresses.
    Thread(target=lambda: answers.put(_broker_answers()), daemon=True).start()
    try:
        well = answers.get(timeout=BROKER_PATIENCE_S)
    except Empty:
        well = False
    return Part(ok=well, says="answers" if well else "does not answer")


def _broker_answers() -> bool:
    with publishing.connection() as connection:
        try:
            connection.ensure_connection(max_retries=0)
        except OperationalError:
            return False
    return True


def since(read: Callable[[], float | None], what: str, never: str) -> Part:
    """A part that proves its life by the time of its last work."""
    try:
        at, now = read(), clock.now()
    except (DatabaseError, InterfaceError):
        return Part(ok=False, says="unknown: the database does not answer")
    if at is None:
        return Part(ok=False, says=never)
    age_s = max(now - at, 0.0)
    if at - now > AHEAD_S:
        return Part(ok=False, says=f"{what} at a time that is still to come: the database's clock was set back")
    return Part(ok=age_s <= limit_s(), says=f"{what} {age_s:.0f} s ago")


def sources() -> Part:
    """Whether no reading is from the future: such a one is not believed, so nothing is decided by it."""
    try:
        names = fetching.ahead()
    except (DatabaseError, InterfaceError):
        return Part(ok=False, says="unknown: the database does not answer")
    if not names:
        return Part(ok=True, says="no reading is ahead of the database's clock")
    return Part(ok=False, says=f"ahead of the database's clock, until they are read again: {', '.join(names)}")


def limit_s() -> float:
    """How old the last sign of life may be: three ticks."""
    return max(3.0 * timing.intervals()["tick"], SHORTEST_LIMIT_S)


def _heartbeat(name: str) -> float | None:
    return Heartbeat.objects.filter(name=name).values_list("at", flat=True).first()


def _passed_at() -> float | None:
    return Lease.objects.filter(name="pass").values_list("passed_at", flat=True).first()


PARTS: dict[str, Callable[[], Part]] = {
    "database": database,
    "broker": broker,
    "worker": lambda: since(lambda: _heartbeat("worker"), "the worker ran a task", "the worker has run nothing yet"),
    "beat": lambda: since(lambda: _heartbeat("beat"), "beat sent its tick", "beat has sent nothing yet"),
    "last_pass": lambda: since(_passed_at, "the last pass ended", "no pass yet"),
    "sources": sources,
}
