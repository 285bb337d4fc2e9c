"""Wake the loop: somebody learned or decided something. Bursts coalesce, because the lease counts wake-ups and the
task that finds it held does nothing."""

from __future__ import annotations

import logging
from functools import partial

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from fleet import lease, publishing
from fleet.timing import MESSAGE_LIFE_S

log = logging.getLogger(__name__)


def wake(why: str) -> None:
    """Ask for a pass after the present transaction. Without a broker the tick does it later; nothing fails."""
    lease.count_wake_up()
    transaction.on_commit(partial(send, "fleet.cycle", why))


def send(task: str, why: str, *args: str | float, countdown: float = 0) -> None:
    """Send a task by name, to be run in `countdown` seconds. A broker that is away, or takes the message and never
    answers, is logged and no more: it costs a second, and the next 5 s nothing (`fleet.publishing`)."""
    try:
        with publishing.producer() as producer:
            current_app.send_task(
                task, args=args, countdown=countdown, expires=MESSAGE_LIFE_S, ignore_result=True, retry=False,
                producer=producer,
            )  # fmt: skip
    except publishing.Resting:
        log.debug("task_not_sent task=%s why=%s error=resting", task, why)
    except OperationalError as away:
        log.warning("task_not_sent task=%s why=%s error=%s", task, why, type(away).__name__)
