"""Doors into the loop, no rooms: each task calls one function and returns nothing."""

from __future__ import annotations

from celery import shared_task

from fleet import cycle, fetching, heartbeat


@shared_task(name="fleet.fetch", soft_time_limit=150, time_limit=170)
def fetch(name: str, since: float | None = None) -> None:
    fetching.fetch_unless_busy(name, since)


@shared_task(name="fleet.cycle", soft_time_limit=300, time_limit=330)
def run_cycle() -> None:
    heartbeat.beat("worker")
    cycle.run()


@shared_task(name="fleet.tick", soft_time_limit=300, time_limit=330)
def tick() -> None:
    heartbeat.beat("worker", "beat")
    fetching.read_what_is_ahead()
    cycle.run()
